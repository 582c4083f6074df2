"""Posts read per second from every form of file: python -m benchmarks.reading --posts 200000.

One thread, CPU time, the median of turns that follow each other; the posts are generated, about 14
words each from a vocabulary as skewed as language is. `tokenized` also cuts each text into tokens.
With `--ids N` the memory that N different ids take is measured as well.

Processor time varies by several percent on a shared machine. To compare two checkouts, count the
instructions of reading instead, which repeat to a thousandth (with valgrind, half a minute each):
`python -m benchmarks.reading --instructions .venv/bin/python ../other/.venv/bin/python`.
"""

import argparse
import csv
import itertools
import json
import os
import random
import re
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measure import machine, peak_bytes, seconds
from siamese_news.data.readers import open_posts
from siamese_news.data.readers.duplicates import SeenIds
from siamese_news.text import Tokenizer
from siamese_news.utils.files import atomic_write

TARGET = 100_000  # posts read from JSON lines and tokenized per second
BLOCK = 8192
COUNTED = 2000, 8000  # posts: the difference leaves out what a start costs
NAMES = ("id", "created_at", "lang", "author", "text")


def generated(posts: int) -> Iterator[dict[str, str]]:
    """Invented posts, the same every time."""
    dice = random.Random(0)
    letters = "eeeettaaooiinnsshhrrddllcumwfgypbvk"
    words = [
        "".join(dice.choices(letters, k=dice.randint(2, 9))) for _ in range(30_000)
    ]
    weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(words))))
    endings = (
        "",
        ".",
        "!",
        " #flood",
        " #BostonMarathon",
        " 🔥",
        " https://t.co/x1Y2z3",
        "…",
    )
    for number in range(posts):
        text = " ".join(dice.choices(words, cum_weights=weights, k=dice.randint(6, 22)))
        yield {
            "id": str(10**18 + 977 * number),
            "created_at": f"2020-01-{number % 28 + 1:02}T03:04:05.000Z",
            "lang": "en",
            "author": f"user{number % 5000}",
            "text": text + dice.choice(endings),
        }


def jetstream_event(row: Mapping[str, Any]) -> dict[str, Any]:
    """A post as Bluesky's Jetstream sends it."""
    return {
        "did": row["author"],
        "time_us": 1,
        "kind": "commit",
        "commit": {
            "operation": "create",
            "collection": "app.bsky.feed.post",
            "rkey": row["id"],
            "record": {
                "text": row["text"],
                "createdAt": row["created_at"],
                "langs": [row["lang"]],
            },
        },
    }


def write_files(folder: Path, posts: int) -> dict[str, Path]:
    """The same posts in every form."""
    import pyarrow
    import pyarrow.parquet
    import zstandard

    rows = list(generated(posts))
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    files = {
        "JSON lines": folder / "posts.jsonl",
        "JSON lines, zst": folder / "posts.jsonl.zst",
        "JSON lines, gz": folder / "posts.jsonl.gz",
        "Jetstream": folder / "jetstream.jsonl",
        "CSV": folder / "posts.csv",
        "Parquet": folder / "posts.parquet",
    }
    files["JSON lines"].write_bytes(lines)
    files["JSON lines, zst"].write_bytes(zstandard.compress(lines))
    with atomic_write(files["JSON lines, gz"], "wb") as stream:
        stream.write(lines)
    with files["Jetstream"].open("w", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps(jetstream_event(row), ensure_ascii=False) + "\n")
    with files["CSV"].open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, NAMES)
        writer.writeheader()
        writer.writerows(rows)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), files["Parquet"])
    return files


def read(path: Path) -> None:
    for _ in open_posts([path]):
        pass


def read_and_tokenize(path: Path) -> None:
    tokenize = Tokenizer()
    for post in open_posts([path]):
        tokenize(post.text)


def hold_ids(count: int) -> None:
    seen = SeenIds()
    for start in range(0, count, BLOCK):
        seen.add([str(10**18 + n) for n in range(start, min(start + BLOCK, count))])


def rate(run: Callable[[], None], posts: int, turns: int) -> float:
    return posts / statistics.median(seconds(run) for _ in range(turns))


def instructions(python: str, path: Path) -> int:
    """Processor instructions of a process of this interpreter that reads a file."""
    read_all = (
        "import sys, pathlib; from siamese_news.data.readers import open_posts; "
        "sum(1 for _ in open_posts([pathlib.Path(sys.argv[1])]))"
    )
    options = ["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    counted = subprocess.run(
        ["valgrind", *options, python, "-c", read_all, str(path)],
        env={**os.environ, "PYTHONHASHSEED": "0"},
        check=True,
        capture_output=True,
        text=True,
    )
    return int(re.sub(r"\D", "", counted.stderr.rpartition("refs:")[2]))


def print_instructions(pythons: list[str]) -> None:
    """Print the instructions that a post costs in every form, an interpreter a column."""
    with tempfile.TemporaryDirectory() as small, tempfile.TemporaryDirectory() as large:
        files = [
            write_files(Path(folder), posts)
            for folder, posts in zip((small, large), COUNTED, strict=True)
        ]
        print("| form |", " | ".join(pythons), "|")
        print("|---|" + "---:|" * len(pythons))
        for form in files[0]:
            costs = [
                (
                    instructions(python, files[1][form])
                    - instructions(python, files[0][form])
                )
                / (COUNTED[1] - COUNTED[0])
                for python in pythons
            ]
            print(
                f"| {form} |",
                " | ".join(f"{cost:,.0f}" for cost in costs),
                "|",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--posts", type=int, default=200_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument(
        "--ids", type=int, default=0, help="measure the memory of this many ids"
    )
    parser.add_argument(
        "--instructions",
        nargs="+",
        metavar="PYTHON",
        help="count these interpreters' instructions",
    )
    arguments = parser.parse_args()
    if arguments.instructions:
        print_instructions(arguments.instructions)
        return
    print(
        f"{machine()}; {arguments.posts:,} posts, median of {arguments.turns} turns\n"
    )
    print("| form | MB | read, posts/s | read and tokenized, posts/s |")
    print("|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for form, path in write_files(Path(folder), arguments.posts).items():
            plain = rate(partial(read, path), arguments.posts, arguments.turns)
            tokens = rate(
                partial(read_and_tokenize, path), arguments.posts, arguments.turns
            )
            met = ""
            if form == "JSON lines":
                met = (
                    f" (target {TARGET:,}: {'met' if tokens >= TARGET else 'not met'})"
                )
            size = path.stat().st_size / 1e6
            print(
                f"| {form} | {size:.0f} | {plain:,.0f} | {tokens:,.0f}{met} |",
                flush=True,
            )
    if arguments.ids:
        peak = peak_bytes(partial(hold_ids, arguments.ids))
        print(f"\n{arguments.ids:,} ids: peak of {peak / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
