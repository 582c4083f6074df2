"""Files and commands for the tests of sheets."""

import csv
import json
import re
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from siamese_news.cli import app


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


SYLLABLES = [a + b for a in "bdfgklmnprst" for b in "aeiou"]


def own_text(number):
    """A text with words that no other number has, so that posts are recognized by it."""
    first, second = (SYLLABLES[digit] for digit in divmod(number % 3600, 60))
    return f"text {number} {first}{second}nda {second}{first}rim"


def scored(
    path,
    *,
    size=600,
    cut=300,
    ids=lambda n: f"p{n}",
    text=own_text,
    ties=1,
):
    """A results file; returns the ids of the relevant posts."""
    generator = np.random.default_rng(0)
    chance = 1 / (1 + np.exp((np.arange(size) - cut) / (cut / 8)))
    relevant = generator.random(size) < np.where(np.arange(size) < cut / 2, 1, chance)
    rows = [
        {
            "article": "all",
            "rank": n + 1,
            "score": round(0.9 - (n // ties) / size, 6),
            "post": ids(n),
            "text": text(n),
        }
        for n in range(size)
    ]
    generator.shuffle(rows)
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text(
            "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
        )
    return {str(ids(n)) for n in np.flatnonzero(relevant)}


def rows_of(sheet):
    with Path(sheet).open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def save(sheet, rows, *, delimiter=",", encoding="utf-8", end="\n"):
    with Path(sheet).open("w", encoding=encoding, newline="") as stream:
        names = list(dict.fromkeys(name for row in rows for name in row))
        writer = csv.DictWriter(stream, names, delimiter=delimiter, lineterminator=end)
        writer.writeheader()
        writer.writerows(rows)


def fill(sheet, relevant, **how):
    rows = rows_of(sheet)
    for row in rows:
        row["label"] = "1" if row["post"] in relevant else "0"
    save(sheet, rows, **how)
    return rows


def start(folder, *more, results="scored.jsonl", precision=".8", out="sheet.csv"):
    return run(
        "sample",
        "--results",
        folder / results,
        "--precision",
        precision,
        "--out",
        folder / out,
        *more,
    )


def certify(folder, *sheets, more=()):
    given = [
        part
        for sheet in sheets or ("sheet.csv",)
        for part in ("--labels", folder / sheet)
    ]
    return run("certify", *given, *more)


def finish(folder, relevant, *, at_least=100, sheet="sheet.csv"):
    """Label batch after batch until there is none; returns the last result and the sheets."""
    sheets = [sheet]
    for _ in range(60):
        fill(folder / sheets[-1], relevant)
        done = certify(folder, *sheets, more=("--at-least", at_least))
        assert done.exit_code == 0, done.stderr
        found = re.search(r"([^/\s]+): \d+ more posts? to label", done.stderr)
        if not found:
            return done, sheets
        sheets.append(found[1])
    raise AssertionError("no end")


def certificate(folder):
    return json.loads((folder / "sheet.certificate.json").read_text())
