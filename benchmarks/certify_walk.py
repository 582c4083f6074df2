"""From seed articles to a certificate through the commands alone, labels taken from qrels.

``python -m benchmarks.certify_walk [--pool crisislex-boston] [--precision .9] [--seed 0]``: `filter`,
`sample`, then `certify` again and again, each a process of its own as a user starts it. The truth
is put into the column `label` of every sheet; the commands see nothing else of it.
"""

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

_ROUNDS = 400


@dataclass(slots=True)
class Walk:
    """What the commands wrote and took.

    Attributes:
        seconds: of every command, by its name.
        sheets: in the order in which they were written.
        certificate: the last one.
        said: standard output of the last `certify`: what may be quoted.
        ended: standard error of it.
    """

    seconds: dict[str, list[float]] = field(default_factory=dict)
    sheets: list[Path] = field(default_factory=list)
    certificate: dict[str, object] = field(default_factory=dict)
    said: str = ""
    ended: str = ""


def relevant_posts(qrels: Path) -> set[str]:
    """The posts that are relevant to any article."""
    with qrels.open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream, delimiter="\t")
        return {row["corpus-id"] for row in rows if int(row["score"]) > 0}


def label(sheet: Path, relevant: set[str]) -> int:
    """Put the truth into the column `label` of a sheet; returns its number of posts."""
    with sheet.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        row["label"] = str(int(row["post"] in relevant))
    with sheet.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return len(rows)


def walk(
    folder: Path,
    articles: Sequence[Path],
    posts: Sequence[Path],
    relevant: set[str],
    *options: str,
    ranking: Sequence[str] = (),
) -> Walk:
    """Rank, draw, label and certify until `certify` says that it is done.

    Args:
        folder: an empty one, for everything that is written.
        articles: the seeds' files.
        posts: the corpus.
        relevant: the true ids, for the labels.
        options: of `sample`.
        ranking: further options of `filter`.
    """
    found = Walk()

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "siamese_news", *map(str, arguments)],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        name = str(arguments[0])
        found.seconds.setdefault(name, []).append(time.perf_counter() - started)
        if done.returncode:
            raise RuntimeError(f"{name} ended with {done.returncode}: {done.stderr}")
        return done

    run(
        "filter",
        "--articles",
        *articles,
        "--posts",
        *posts,
        "--min-score",
        "-4",
        *ranking,
        "--out",
        "scored.parquet",
    )
    run("sample", "--results", "scored.parquet", *options, "--out", "sheet.csv")
    found.sheets.append(folder / "sheet.csv")
    for _ in range(_ROUNDS):
        label(found.sheets[-1], relevant)
        given = [part for sheet in found.sheets for part in ("--labels", sheet.name)]
        done = run("certify", *given)
        found.said = done.stdout
        found.ended = done.stderr
        following = re.search(r"(\S+\.csv): [\d,]+ more posts? to label", done.stderr)
        if following is None:
            break
        found.sheets.append(folder / following[1])
    else:
        raise RuntimeError(f"no end after {_ROUNDS} rounds")
    found.certificate = json.loads((folder / "sheet.certificate.json").read_text())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--pool", default="crisislex-boston", help="a folder of SIAMESE_NEWS_DATA"
    )
    parser.add_argument("--split", default="test")
    parser.add_argument("--precision", default=".9")
    parser.add_argument("--budget", default="300")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--at-least", default="25")
    options = parser.parse_args()
    pool = Path(os.environ["SIAMESE_NEWS_DATA"]) / options.pool
    relevant = relevant_posts(pool / "qrels" / f"{options.split}.tsv")
    with tempfile.TemporaryDirectory() as name:
        found = walk(
            Path(name),
            [pool / "queries.jsonl.gz"],
            [pool / "corpus.jsonl.gz"],
            relevant,
            "--precision",
            options.precision,
            "--budget",
            options.budget,
            "--seed",
            options.seed,
            "--at-least",
            options.at_least,
        )
        listed = Path(name) / "sheet.certificate.csv"
        rows = (
            list(csv.DictReader(listed.open(encoding="utf-8")))
            if listed.exists()
            else []
        )
    print(found.said.strip())
    print(found.ended.strip())
    for command, seconds in found.seconds.items():
        middle = sorted(seconds)[len(seconds) // 2]
        print(
            f"{command}: {len(seconds)} times, {sum(seconds):.1f} s, {middle:.1f} s in the median, "
            f"{max(seconds):.1f} s at most"
        )
    for claim in found.certificate["claims"]:  # type: ignore[attr-defined]
        if claim["threshold"] is None:
            continue
        column = f"precision {claim['target']}"
        kept = [row["post"] in relevant for row in rows if row[column] == "1"]
        print(
            f"target {claim['target']}: {len(kept):,} posts in the list, "
            f"{sum(kept):,} relevant: precision {sum(kept) / len(kept):.4f}, "
            f"recall {sum(kept) / len(relevant):.4f}"
        )


if __name__ == "__main__":
    main()
