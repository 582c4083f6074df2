"""Every speed figure, side by side: python -m benchmarks.bench --out FILE [ROW ...].

Each row runs in a process of its own, on one thread; the table is Markdown. An interrupted run
continues with the missing rows: FILE.part holds the finished ones until the table is complete.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, TypedDict

from siamese_news.utils.files import atomic_write

VERSIONS = (
    "siamese-news",
    "torch",
    "entmax",
    "numpy",
    "sentence-transformers",
    "model2vec",
)
# One thread. Freed memory is returned at once, so that a peak shows the memory in use.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
MEMORY = {"MALLOC_MMAP_THRESHOLD_": "65536"}


def main() -> None:
    from benchmarks import rows, texts

    table = rows.ROWS | texts.ROWS
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "rows", nargs="*", help=f"among {', '.join(table)}; none is all"
    )
    parser.add_argument("--out", type=Path, default=Path("bench.md"))
    parser.add_argument("--in-process", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    unknown = set(arguments.rows) - set(table)
    if unknown:
        parser.error(
            f"no row {', '.join(sorted(unknown))}; choose among {', '.join(table)}"
        )
    if arguments.in_process:
        print(json.dumps([line for name in arguments.rows for line in table[name]()]))
        return
    partial = Path(f"{arguments.out}.part")
    measured_rows: dict[str, Row] = (
        json.loads(partial.read_text()) if partial.exists() else {}
    )
    names = arguments.rows or list(table)
    for name in names:
        if name not in measured_rows:
            measured_rows[name] = measured(name)
            with atomic_write(partial) as out:
                json.dump(measured_rows, out)
        print(name, measured_rows[name]["lines"][-1][2], flush=True)
    with atomic_write(arguments.out) as out:
        out.write(markdown([measured_rows[name] for name in names]))
    partial.unlink()
    print(arguments.out)


class Row(TypedDict):
    """What a row measured, when it was done, and how busy the machine was then."""

    lines: list[list[Any]]
    when: str
    load: float


def measured(name: str) -> Row:
    """Measure one row in a separate process."""
    extra = MEMORY if name.startswith("memory") else {}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench", name, "--in-process"],
        env={**os.environ, **ENVIRONMENT, **extra},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        lines = [[name, "", f"failed: {reason}", False]]
    else:
        lines = json.loads(done.stdout.strip().splitlines()[-1])
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return {"lines": lines, "when": when, "load": os.getloadavg()[0]}


def markdown(rows: list[Row]) -> str:
    """The table, with the machine, the versions and when it was measured."""
    from benchmarks.measure import machine

    words = {True: "yes", False: "**no**", None: ""}
    version_list = []
    for package in VERSIONS:
        try:
            version_list.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            version_list.append(f"{package} not installed")
    body = [
        f"| {what} | {target} | {got} | {words[met]} |"
        for row in rows
        for what, target, got, met in row["lines"]
    ]
    loads = [row["load"] for row in rows]
    head = [
        "# Speed",
        "",
        f"{machine()}; Python {platform.python_version()}, {', '.join(version_list)}.",
        "CPU time, medians of ratios taken in turns; one process for each row.",
        f"Rows done from {rows[0]['when']} to {rows[-1]['when']}; load average of the machine "
        f"{min(loads):.1f} to {max(loads):.1f}.",
        "",
        "| figure | target | measured | met |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *body, ""])


if __name__ == "__main__":
    main()
