"""Peak memory of reading files that are large, or are made to be: python -m benchmarks.memory.

A JSON array of 1 GB on one line, the same indented, and a Parquet file of a few megabytes that
holds 20 GB of text when decoded. Each is read in a process of its own. Prints Markdown.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from siamese_news import __version__

CHILD = """
import re, sys, time
from siamese_news.data.readers import open_posts
from siamese_news.errors import InputError
try:
    said = f"{sum(1 for _ in open_posts([sys.argv[1]])):,} posts"
except InputError as error:
    said = str(error).partition(": ")[2]
peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024
print(f"{said}|{peak} MB|{time.process_time():.1f} s")
"""
GIGABYTE = 10**9


def post(number: int) -> dict[str, object]:
    """A post with fields around its text, about 700 bytes."""
    text = f"the river is over the bridge, number {number} " * 5
    user = {
        "id_str": str(number % 997),
        "screen_name": "ann",
        "description": "a person " * 20,
    }
    return {"id_str": str(number), "full_text": text, "user": user, "lang": "en"}


def array(path: Path, *, indent: int | None) -> None:
    """Write a JSON array of a gigabyte."""
    number = size = 0
    with path.open("w") as stream:
        stream.write("[")
        while size < GIGABYTE:
            row = ("" if number == 0 else ", ") + json.dumps(
                post(number), indent=indent
            )
            stream.write(row)
            size += len(row)
            number += 1
        stream.write("]")


def bomb(path: Path) -> None:
    """Write a Parquet file of which every row is the same megabyte."""
    text = pa.DictionaryArray.from_arrays(
        pa.array([0] * 20_000, pa.int32()), pa.array(["flood " * 170_000])
    )
    ids = [str(number) for number in range(20_000)]
    pq.write_table(pa.table({"id": ids, "text": text}), path, store_schema=False)


def main() -> None:
    """Write, read and measure one file after the other."""
    files = {
        "a JSON array in one line": (
            "posts.json",
            lambda path: array(path, indent=None),
        ),
        "a JSON array, indented": ("posts.json", lambda path: array(path, indent=1)),
        "Parquet, 20 GB when decoded": ("bomb.parquet", bomb),
    }
    print("| file | bytes | outcome | peak | CPU time |\n|---|---:|---|---:|---:|")
    for name, (file, write) in files.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / file
            write(path)
            done = subprocess.run(
                [sys.executable, "-c", CHILD, str(path)],
                capture_output=True,
                text=True,
                check=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
            said, peak, seconds = done.stdout.strip().split("|")
            size = path.stat().st_size
            print(f"| {name} | {size:,} | {said} | {peak} | {seconds} |", flush=True)
    print(
        f"\nsiamese_news {__version__}, Python {platform.python_version()}, {platform.machine()}"
    )


if __name__ == "__main__":
    main()
