"""How long a new user waits: python -m benchmarks.coldstart.

Every command is a process of its own on one thread, and the files lie in the page cache. Seconds
are medians over turns, of the wall clock and of CPU time, which other work on the machine affects
less. The posts are invented, as in `benchmarks.scan`, and every thousandth is about one
of three invented stories, which come as saved web pages.
"""

import argparse
import csv
import gzip
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.measure import machine
from benchmarks.reading import jetstream_event
from benchmarks.scan import SHIPPED, invented

STORIES = {
    "bridge": "The river rose at night and took the old bridge of Harlow away.",
    "strike": "Nurses of the county hospital walked out over pay on Monday morning.",
    "satellite": "A weather satellite lost contact with its ground station after launch.",
}
PAGE = """<!DOCTYPE html><html lang="en"><head><title>{name}</title></head><body>
<nav><a href="/">Home</a></nav><article><h1>{name}</h1>{paragraphs}</article></body></html>
"""
EVERY = 1000  # one of this many posts is about a story
PAGE_OF_TWEETS = 100


def posts(count: int) -> list[dict[str, Any]]:
    """Rows as `benchmarks.scan.invented` has them, some of them about a story."""
    words = (SHIPPED / "vocab.txt").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in invented(count, words)]
    texts = list(STORIES.values())
    for number in range(0, count, EVERY):
        rows[number]["text"] = (
            f"{texts[number // EVERY % len(texts)]} {rows[number]['text']}"
        )
    return rows


def write_pages(folder: Path) -> None:
    """The three stories as web pages."""
    folder.mkdir()
    for name, text in STORIES.items():
        page = PAGE.format(name=name.title(), paragraphs=f"<p>{text}</p>" * 3)
        (folder / f"{name}.html").write_text(page, encoding="utf-8")


def write_dumps(folder: Path, rows: list[dict[str, Any]]) -> None:
    """A third of the posts as twarc has them, a third from Jetstream, a third as CSV."""
    folder.mkdir()
    tweets = rows[0::3]
    skeets = iter(rows[1::3])
    table = rows[2::3]
    with gzip.open(
        folder / "tweets.jsonl.gz", "wt", compresslevel=1, encoding="utf-8"
    ) as out:
        left = iter(tweets)
        while page := list(islice(left, PAGE_OF_TWEETS)):
            data = [
                {"author_id": row["author"]}
                | {k: v for k, v in row.items() if k != "author"}
                for row in page
            ]
            out.write(
                json.dumps({"data": data, "meta": {"result_count": len(data)}}) + "\n"
            )
    with (folder / "bluesky.jsonl").open("w", encoding="utf-8") as out:
        for row in skeets:
            out.write(json.dumps(jetstream_event(row)) + "\n")
    with (folder / "comments.csv").open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, list(table[0]))
        writer.writeheader()
        writer.writerows(table)


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds(*commands: list[Any], source: Path | None = None) -> tuple[float, float]:
    """Seconds of the wall clock and of CPU time of `siamese-news` commands, one after the other.

    `source` is the `src` of another revision to run; None is the one that is installed.
    """
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # to compile each time takes .2 s
    if source is not None:
        environment["PYTHONPATH"] = str(source)
    started = time.perf_counter()
    before = _processor()
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", "siamese_news", *map(str, command)],
            capture_output=True,
            text=True,
            env=environment,
        )
        if done.returncode:
            raise SystemExit(done.stderr)
    return time.perf_counter() - started, _processor() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--posts", type=int, default=300_000, help="of the search to a report"
    )
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    print(f"{machine()}; median of {arguments.turns} turns\n")
    print("| what | seconds | CPU seconds | target |")
    print("|---|---:|---:|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_pages(folder / "pages")
        write_dumps(folder / "dumps", posts(arguments.posts))
        few = folder / "few.jsonl"
        few.write_text(
            "".join(json.dumps(row) + "\n" for row in posts(10_000)), encoding="utf-8"
        )
        matches = folder / "found.jsonl"
        search = ["rank", "--articles", folder / "pages", "--posts"]
        runs: dict[str, tuple[list[list[Any]], float | None]] = {
            "`--help`": ([["--help"]], 0.5),
            "10,000 posts, three articles as web pages, to a table": (
                [[*search, few]],
                5.0,
            ),
            f"{arguments.posts:,} posts (twarc, Jetstream, CSV), three web pages, to a report": (
                [
                    [
                        *search,
                        folder / "dumps",
                        "--one-story",
                        "--top",
                        1000,
                        "--out",
                        matches,
                    ],
                    ["report", "--results", matches, "--out", folder / "report.html"],
                ],
                None,
            ),
        }
        for what, (commands, target) in runs.items():
            turns = [seconds(*commands) for _ in range(arguments.turns)]
            taken, used = (
                statistics.median(times) for times in zip(*turns, strict=True)
            )
            met = (
                ""
                if target is None
                else f"{target:g}: {'met' if taken < target else 'not met'}"
            )
            print(f"| {what} | {taken:.2f} | {used:.2f} | {met} |", flush=True)


if __name__ == "__main__":
    main()
