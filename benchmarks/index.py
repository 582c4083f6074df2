"""An index built and asked: python -m benchmarks.index --posts 1000000 [--copies 10].

The posts are those of `benchmarks.scan`; the 5 seeds are made of other words of the same
vocabulary, as skewed. `siamese-news index` runs as a process of its own on one thread; a question
on as many as --threads says (1). It is `rank` of 5 seeds with 100 posts each, with the model as it
ships: *cold* is the command as a new process, with the index's files put out of the page cache;
*warm* is `Searcher.rank` in a process that has asked before. Times are of the processor and of the
wall clock: on a machine that does other things too, the first is the one to read; it is held
against the target on one thread, the other on several. With --copies the question is asked of an
index that holds so many copies of the segment under other ids, as if so many times the posts had
been indexed; equal texts count once among an article's best, so more different ones would have to
be scored. With --scan the answer is compared with that of a scan.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.measure import machine
from benchmarks.processes import SIAMESE_NEWS, measured
from benchmarks.scan import SHIPPED, invented
from siamese_news.search.index.array_files import Table, TableRows
from siamese_news.search.index.manifest import Manifest
from siamese_news.utils.files import file_sha256

SEEDS = 5
# Seconds and bytes that were asked for, at 10 million posts.
TARGETS = {"build": 900.0, "bytes": 150.0, "warm": 3.0, "cold": 6.0, "memory": 2e9}


def articles(folder: Path, words: list[str]) -> list[Path]:
    """Five invented articles of 300 words."""
    dice = np.random.default_rng(1)
    weights = 1 / (np.arange(len(words)) + 3)
    paths = []
    for number in range(SEEDS):
        picks = dice.choice(len(words), 300, p=weights / weights.sum())
        paths.append(folder / f"seed{number}.txt")
        paths[-1].write_text(" ".join(words[pick] for pick in picks))
    return paths


def sizes(index: Path, posts: int) -> dict[str, float]:
    """Bytes a post of each file, summed over the segments."""
    found: dict[str, float] = {}
    for path in index.glob("*/*"):
        found[path.name] = found.get(path.name, 0.0) + path.stat().st_size / posts
    return found


def copied(index: Path, copies: int) -> Path:
    """An index with several copies of the segments of another one."""
    target = index.with_name(f"{index.name}.x{copies}")
    if target.exists():
        return target
    shutil.copytree(index, target)
    manifest = Manifest.read(target)
    for number in range(1, copies):
        for segment, posts in Manifest.read(index).segments.items():
            folder = target / f"segment-{len(manifest.segments)}"
            shutil.copytree(index / segment, folder)
            rename(folder, f"{number}-")
            for path in folder.iterdir():
                entry = path.stat().st_size, file_sha256(path)
                manifest.files[f"{folder.name}/{path.name}"] = entry
            manifest.segments[folder.name] = posts
    manifest.write(target)
    return target


def rename(segment: Path, prefix: str) -> None:
    """Put a prefix before the ids of a segment."""
    read = TableRows(segment, "fields", 2, packed=True)
    pieces = [columns for _, columns in read.pieces()]
    table = Table(segment, "fields", 2, packed=True)
    for ids, metadata in pieces:
        table.append([[prefix.encode() + id for id in ids], metadata])
    table.close()


def forgotten(index: Path) -> None:
    """Put the files out of the page cache."""
    for path in index.glob("*/*"):
        handle = os.open(path, os.O_RDONLY)
        os.fsync(handle)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)


def warm(index: Path, seeds: list[Path], times: int, threads: int) -> None:
    """Print the seconds of questions in one process."""
    from siamese_news import Searcher
    from siamese_news.data.articles import read_articles
    from siamese_news.search.cpu_threads import use_threads

    use_threads(threads)
    searcher = Searcher()
    opened = searcher.open_index(index)
    question = read_articles([str(path) for path in seeds])
    searcher.rank(question, opened)
    for _ in range(times):
        used = time.process_time()
        started = time.perf_counter()
        searcher.rank(question, opened)
        used = time.process_time() - used
        taken = time.perf_counter() - started
        print(f"{used} {taken} {opened.scored} {len(opened)}")
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def line(what: str, got: str, value: float, target: str) -> None:
    met = "met" if value <= TARGETS[target] else "not met"
    print(f"| {what} | {got} | {TARGETS[target]:,g}: {met} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--posts", type=int, default=100_000)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--scan", action="store_true")
    parser.add_argument(
        "--folder", type=Path, help="keep posts and index there, and use them"
    )
    parser.add_argument("--warm", type=Path, nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.warm:
        warm(
            arguments.warm[0], arguments.warm[1:], arguments.repeats, arguments.threads
        )
        return
    print(f"{machine()}; {arguments.posts:,} posts, {arguments.copies} copies")
    print(f"asked with OMP_NUM_THREADS={arguments.threads}\n")
    print("| what | measured | target at 10 million |")
    print("|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        measure(folder, arguments)


def measure(folder: Path, arguments: argparse.Namespace) -> None:
    posts = arguments.posts
    threads = arguments.threads
    words = (SHIPPED / "vocab.txt").read_text(encoding="utf-8").splitlines()
    seeds = articles(folder, words)
    corpus = folder / "posts.jsonl"
    index = folder / "posts.index"
    if not corpus.exists():
        with corpus.open("wb") as stream:
            stream.writelines(invented(posts, words))
    if not index.exists():
        used, seconds, peak, _ = measured(
            *SIAMESE_NEWS, "index", "--posts", corpus, "--out", index
        )
        got = f"{used:,.0f} s of the processor ({seconds:,.0f} s), {peak / 1e6:,.0f} MB"
        line("build", got, used * 1e7 / posts, "build")
    files = sizes(index, posts)
    text = files.pop("texts.npy") + files.pop("texts_places.npy")
    parts = ", ".join(
        f"{name.partition('.')[0]} {size:.0f}"
        for name, size in files.items()
        if size > 1
    )
    beside = sum(files.values())
    line(
        "bytes a post",
        f"text {text:.0f}; beside it {beside:.1f} ({parts})",
        beside,
        "bytes",
    )
    if arguments.copies > 1:
        index = copied(index, arguments.copies)
    asked = [
        sys.executable,
        "-m",
        "benchmarks.index",
        "--repeats",
        str(arguments.repeats),
    ]
    asked += ["--threads", str(threads), "--warm"]
    done = subprocess.run(
        [*asked, index, *seeds], capture_output=True, text=True, check=True
    )
    *rows, peak_bytes = done.stdout.split("\n")[:-1]
    times = sorted((float(row.split()[1]), float(row.split()[0])) for row in rows)
    scored, total = rows[0].split()[2:]
    seconds, used = times[len(times) // 2]
    got = f"{used:.2f} s of the processor ({seconds:.1f} s); {int(scored):,} scored"
    line(f"warm, {int(total):,} posts", got, seconds if threads > 1 else used, "warm")
    line(
        "memory of the warm process",
        f"{int(peak_bytes) / 1e6:,.0f} MB",
        int(peak_bytes),
        "memory",
    )
    forgotten(index)
    out = folder / "asked.jsonl"
    ask = ["rank", "--articles", *seeds, "--out", out, "--force"]
    used, seconds, peak, _ = measured(
        *SIAMESE_NEWS, *ask, "--index", index, threads=threads
    )
    got = f"{used:.2f} s of the processor ({seconds:.1f} s), {peak / 1e6:,.0f} MB"
    line("cold, the whole command", got, seconds if threads > 1 else used, "cold")
    if arguments.scan and arguments.copies == 1:
        answer = out.read_bytes()
        used, seconds, peak, _ = measured(
            *SIAMESE_NEWS, *ask, "--posts", corpus, threads=threads
        )
        same = "the same bytes" if out.read_bytes() == answer else "ANOTHER ANSWER"
        print(
            f"| scan of the same posts | {used:.0f} s of the processor ({seconds:.0f} s) | {same} |"
        )


if __name__ == "__main__":
    main()
