"""Sheets for labelling: CSV for a spreadsheet, JSON lines, Label Studio and Prodigy."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from siamese_news.decide.drawn import Drawn
from siamese_news.decide.labels import check_value
from siamese_news.decide.population import Unit
from siamese_news.errors import InputError
from siamese_news.utils.files import atomic_write
from siamese_news.utils.terminal import guarded

FORMATS = ("csv", "jsonl", "labelstudio", "prodigy")
COLUMNS = ("key", "label", "text", "link", "article", "post", "note", "check")


def format_of(path: Path, asked: str | None = None) -> str:
    """The format of a sheet: the one asked for, else by the ending of its name.

    Raises:
        InputError: the name tells none.
    """
    if asked is not None:
        return asked
    name = path.name.lower()
    for ending, found in (
        (".prodigy.jsonl", "prodigy"), (".jsonl", "jsonl"), (".csv", "csv"),
        (".json", "labelstudio"),
    ):  # fmt: skip
        if name.endswith(ending):
            return found
    raise InputError(
        f"{path}: the name does not tell the format of the sheet; expected an ending .csv, .jsonl, "
        ".json (Label Studio) or .prodigy.jsonl, or --format"
    )


def write_sheet(
    path: Path,
    rows: Iterable[tuple[Drawn, Unit]],
    format: str,
    *,
    titles: Mapping[str, str] | None = None,
) -> None:
    """Write posts to label, in the order to label them, without score or rank.

    Args:
        path: a new file.
        rows: the drawn posts.
        format: one of `FORMATS`.
        titles: of the articles, by id, where posts are judged for one article each.

    Raises:
        InputError: where the file is there already.
    """
    if path.exists():
        raise InputError(
            f"{path}: is there already and may have labels; name another --out, or remove it"
        )
    names = titles or {}
    records = [
        {
            "key": drawn.key, "label": "", "text": unit.text, "link": unit.link,
            "article": names.get(unit.article) or unit.article, "post": unit.post, "note": "",
            "check": check_value(drawn.name, unit.text),
        }
        for drawn, unit in rows
    ]  # fmt: skip
    with atomic_write(path) as stream:
        _WRITERS[format](stream, records)


def _csv(stream: Any, records: Sequence[Mapping[str, str]]) -> None:
    stream.write("\ufeff")  # by which spreadsheets know UTF-8
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for record in records:
        # A carriage return alone would end the row for many programs.
        cells = ("\n".join(record[name].splitlines()) for name in COLUMNS)
        writer.writerow([guarded(cell) for cell in cells])


def _jsonl(stream: Any, records: Sequence[Mapping[str, str]]) -> None:
    for record in records:
        row = {**record, "label": None}
        stream.write(json.dumps(row, ensure_ascii=False) + "\n")


def _label_studio(stream: Any, records: Sequence[Mapping[str, str]]) -> None:
    tasks = [
        {"data": {name: value for name, value in record.items() if name not in ("label", "note")}}
        for record in records
    ]
    json.dump(tasks, stream, indent=1, ensure_ascii=False)
    stream.write("\n")


def _prodigy(stream: Any, records: Sequence[Mapping[str, str]]) -> None:
    for record in records:
        names = ("key", "post", "article", "link", "check")
        meta = {name: record[name] for name in names if record[name]}
        task = {"text": record["text"], "label": "RELEVANT", "meta": meta}
        stream.write(json.dumps(task, ensure_ascii=False) + "\n")


_WRITERS = {"csv": _csv, "jsonl": _jsonl, "labelstudio": _label_studio, "prodigy": _prodigy}
