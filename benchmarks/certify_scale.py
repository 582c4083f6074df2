"""How long sample and certify take over ten million scored posts, and how much memory.

``python -m benchmarks.certify_scale [--posts 10000000] [--relevant 50000]``: the posts are made,
the commands are real processes, the labels are read off the made truth.
"""

import argparse
import csv
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def make(path: Path, posts: int) -> None:
    """Ids of 18 digits in a random order, scores that differ."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng(0)
    ids = (generator.permutation(posts) + 325_208_201_740_000_000).astype(str)
    scores = np.round(1 - np.arange(posts) / posts, 6)
    order = generator.permutation(posts)
    table = pa.table({"post": pa.array(ids[order]), "score": pa.array(scores[order])})
    pq.write_table(table, path, compression="zstd", row_group_size=65_536)
    np.save(path.with_suffix(".npy"), ids[:200_000])


def run(folder: Path, *arguments: str) -> None:
    """One command, its seconds and the most memory it held."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "siamese_news", *arguments],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    seconds = time.perf_counter() - started
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{arguments[0]}: {seconds:.1f} s, {used.ru_utime + used.ru_stime:.1f} s CPU so far, "
        f"{used.ru_maxrss / 1024:.0f} MiB at most; {(done.stderr or done.stdout).strip()[:300]}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--posts", type=int, default=10_000_000)
    parser.add_argument("--relevant", type=int, default=50_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder / "scored.parquet", options.posts)
        size = (folder / "scored.parquet").stat().st_size
        print(f"scored.parquet: {size / 2**20:.0f} MiB")
        relevant = set(np.load(folder / "scored.npy")[: options.relevant].tolist())
        budget = ("--budget", "1000", "--at-least", "1000")
        run(
            folder, "sample", "--results", "scored.parquet", "--precision", ".9", "--out",
            "sheet.csv", *budget,
        )  # fmt: skip
        with (folder / "sheet.csv").open(encoding="utf-8-sig", newline="") as stream:
            rows = list(csv.DictReader(stream))
        for row in rows:
            row["label"] = str(int(row["post"] in relevant))
        with (folder / "sheet.csv").open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        run(folder, "certify", "--labels", "sheet.csv")


if __name__ == "__main__":
    main()
