"""A stream through `siamese-news watch`: speed, memory, kills, and what the future is worth.

    python -m benchmarks.watch --posts 2000000 --kills 20
    python -m benchmarks.watch --future

The first makes a stream of the posts of events-dev and Signal1M, again and again with other ids,
and sends it through a process that is killed at random points and through one that is not; both
must write the same bytes. The second sends the crises of events-dev through `watch` by
time, and compares what it found with one search over everything at the end.
"""

import argparse
import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

from benchmarks.measure import machine
from siamese_news.data.sources import open_source

CLI = (sys.executable, "-m", "siamese_news")
THRESHOLDS = (0.1, 0.15, 0.2, 0.3)


def write_seeds(path: Path, articles: list) -> Path:
    """Articles as a file of JSON lines."""
    with path.open("w", encoding="utf-8") as stream:
        for one in articles:
            row = {"id": one.id, "title": one.title, "text": one.text}
            stream.write(json.dumps(row) + "\n")
    return path


def write_stream(path: Path, texts: list[str], count: int) -> Path:
    """So many posts, by repetition."""
    with path.open("w", encoding="utf-8") as stream:
        for number, text in enumerate(islice(cycle(texts), count)):
            stream.write(json.dumps({"id": f"s{number}", "text": text}) + "\n")
    return path


def watching(
    folder: Path, name: str, seeds: Path, stream: Path, *more: str
) -> subprocess.Popen:
    """A process that watches a stream from its beginning."""
    command = (
        *CLI,
        "watch",
        "--articles",
        str(seeds),
        "--source",
        "stdin",
        "--out",
        str(folder / f"{name}.jsonl"),
        *more,
    )
    with stream.open("rb") as source, (folder / f"{name}.log").open("ab") as log:
        return subprocess.Popen(command, stdin=source, stderr=log, stdout=log)


def through(count: int, kills: int, folder: Path) -> None:
    """Print the speed of a whole run, and whether a killed one wrote the same."""
    pool = open_source("events-dev")
    more = open_source("signal1m")
    texts = [post.text for source in (pool, more) for post in source.posts.values()]
    seeds = write_seeds(folder / "seeds.jsonl", list(pool.articles.values())[::3][:5])
    stream = write_stream(folder / "stream.jsonl", texts, count)
    options = ("--threshold", "0.3", "--window", "1000000")
    started = time.monotonic()
    process = watching(folder, "whole", seeds, stream, *options)
    code = process.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert code == 0, (folder / "whole.log").read_text()[-2000:]
    took = time.monotonic() - started
    print(
        f"{count:,} posts, 5 seeds: {took:.1f} s, {count / took:,.0f} posts/s, ", end=""
    )
    print(
        f"processor {used.ru_utime + used.ru_stime:.1f} s, {used.ru_maxrss / 1024:,.0f} MB",
        flush=True,
    )
    if not kills:
        return
    dice = random.Random(0)
    killed = 0
    runs = 0
    while True:
        process = watching(folder, "killed", seeds, stream, *options)
        runs = runs + 1
        limit = dice.uniform(0, 1.2 * took / kills) if killed < kills else None
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            killed += 1
            continue
        assert code == 0, (folder / "killed.log").read_text()[-2000:]
        break
    whole = (folder / "whole.jsonl").read_bytes()
    same = (folder / "killed.jsonl").read_bytes() == whole
    rows = whole.count(b"\n")
    print(
        f"killed {killed} times: {'the same' if same else 'OTHER'} bytes, {rows:,} rows"
    )


def future(folder: Path) -> None:
    """Print recall and precision of rows written as posts come, and of a search at the end."""
    pool = open_source("events-dev")
    posts = sorted(pool.posts.values(), key=lambda post: int(post.id))
    stream = folder / "stream.jsonl"
    with stream.open("w", encoding="utf-8") as out:
        out.writelines(
            json.dumps({"id": post.id, "text": post.text}) + "\n" for post in posts
        )
    least = str(min(THRESHOLDS))
    totals = {}
    for name, article in pool.articles.items():
        relevant = {
            post for post, grade in pool.qrels["dev"][name].items() if grade >= 1
        }
        seeds = write_seeds(folder / "seed.jsonl", [article])
        for way, window in (
            ("watch", "1000000"),
            ("watch, window 2,000", "2000"),
            ("end", ""),
        ):
            out = folder / f"{name}-{way}.jsonl"
            if way == "end":
                command = (
                    *CLI,
                    "filter",
                    "--posts",
                    str(stream),
                    "--articles",
                    str(seeds),
                    "--threshold",
                    least,
                    "--out",
                    str(out),
                )
                done = subprocess.run(command, capture_output=True, text=True)
                assert done.returncode == 0, done.stderr
            else:
                done = watching(
                    folder,
                    out.stem,
                    seeds,
                    stream,
                    "--threshold",
                    least,
                    "--window",
                    window,
                )
                assert done.wait() == 0, (folder / f"{out.stem}.log").read_text()[
                    -2000:
                ]
            found = [json.loads(line) for line in out.open(encoding="utf-8")]
            for threshold in THRESHOLDS:
                kept = {row["post"] for row in found if row["score"] >= threshold}
                hits = len(kept & relevant)
                totals.setdefault((way, threshold), []).append(
                    (hits / len(relevant), hits / len(kept) if kept else 1.0)
                )
    print("| way | threshold | recall | precision |\n|---|---:|---:|---:|")
    for (way, threshold), figures in totals.items():
        recall, precision = (
            sum(side) / len(figures) for side in zip(*figures, strict=True)
        )
        print(f"| {way} | {threshold} | {recall:.3f} | {precision:.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--posts", type=int, default=2_000_000)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--future", action="store_true")
    arguments = parser.parse_args()
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        if arguments.future:
            future(Path(folder))
        else:
            through(arguments.posts, arguments.kills, Path(folder))


if __name__ == "__main__":
    main()
