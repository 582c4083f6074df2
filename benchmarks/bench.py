"""Every speed figure, side by side: python -m benchmarks.bench --out FILE [ROW ...].

Each row runs in a process of its own, on one thread; the table is Markdown.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from siamese_news.files import atomic_write

VERSIONS = ("siamese-news", "torch", "entmax", "numpy", "sentence-transformers", "model2vec")
# One thread, and memory that goes back at once, so that a peak is what was in use.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
MEMORY = {"MALLOC_MMAP_THRESHOLD_": "65536"}


def main() -> None:
    from benchmarks import rows, texts

    table = {
        name: row
        for module in (rows, texts)
        for name, row in vars(module).items()
        if getattr(row, "__module__", None) == module.__name__
        and callable(row)
        and not name.startswith(("_", "at_", "Line"))
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", help=f"among {', '.join(table)}; none is all")
    parser.add_argument("--out", type=Path, default=Path("bench.md"))
    parser.add_argument("--in-process", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    unknown = set(arguments.rows) - set(table)
    if unknown:
        parser.error(f"no row {', '.join(sorted(unknown))}; choose among {', '.join(table)}")
    if arguments.in_process:
        print(json.dumps([line for name in arguments.rows for line in table[name]()]))
        return
    lines = []
    for name in arguments.rows or table:
        print(name, end=" ", flush=True)
        extra = MEMORY if name.startswith("memory") else {}
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.bench", name, "--in-process"],
            env={**os.environ, **ENVIRONMENT, **extra},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
            lines.append([name, "", f"failed: {reason}", False])
        else:
            lines += json.loads(done.stdout.strip().splitlines()[-1])
        print(lines[-1][2], flush=True)
        # After every row: an interrupted run keeps what it has measured.
        with atomic_write(arguments.out) as out:
            out.write(markdown(lines))
    print(arguments.out)


def markdown(lines: list[list]) -> str:
    from benchmarks.measure import machine

    words = {True: "yes", False: "**no**", None: ""}
    found = []
    for package in VERSIONS:
        try:
            found.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            found.append(f"{package} not installed")
    body = [f"| {what} | {target} | {got} | {words[met]} |" for what, target, got, met in lines]
    head = [
        "# Speed",
        "",
        f"{machine()}; Python {platform.python_version()}, {', '.join(found)}.",
        "CPU time, medians of ratios taken in turns; one process for each row.",
        "",
        "| figure | target | measured | met |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *body, ""])


if __name__ == "__main__":
    main()
