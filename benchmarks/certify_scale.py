"""How long sample and certify take over ten million scored posts, and how much memory.

``python -m benchmarks.certify_scale [--posts 10000000] [--relevant 50000]``: the posts are made,
the commands are real processes, the labels are read off the made truth.
"""

import argparse
import csv
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.processes import SIAMESE_NEWS, measured


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
    done = measured(*SIAMESE_NEWS, *arguments, folder=folder)
    print(
        f"{arguments[0]}: {done.seconds:.1f} s, {done.cpu:.1f} s CPU, "
        f"{done.peak / 2**20:.0f} MiB at most; {done.errors.strip()[-200:]}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--posts", type=int, default=10_000_000)
    parser.add_argument("--relevant", type=int, default=50_000)
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        make(options.make, options.posts)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # In a process of its own: what it held would count for the commands.
        own = [
            sys.executable,
            "-m",
            "benchmarks.certify_scale",
            "--posts",
            str(options.posts),
        ]
        subprocess.run([*own, "--make", folder / "scored.parquet"], check=True)
        size = (folder / "scored.parquet").stat().st_size
        print(f"scored.parquet: {size / 2**20:.0f} MiB")
        relevant = set(np.load(folder / "scored.npy")[: options.relevant].tolist())
        budget = ("--budget", "1000", "--at-least", "1000")
        run(
            folder,
            "sample",
            "--results",
            "scored.parquet",
            "--precision",
            ".9",
            "--out",
            "sheet.csv",
            *budget,
        )
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
