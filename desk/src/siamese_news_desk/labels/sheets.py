"""Rows of files with labels, as programs save them, and the words for labels."""

import csv
import hashlib
import io
import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar

from siamese_news.data.jsonl import decode_object
from siamese_news.data.lines import refused_at
from siamese_news.data.readers.inputs import Input
from siamese_news.data.records import clean_text
from siamese_news.errors import InputError
from siamese_news.utils.csv_files import write_csv
from siamese_news.utils.files import atomic_write, expect_regular, reading
from siamese_news.utils.terminal import unguarded
from siamese_news.utils.unicode import normalized
from siamese_news_desk.labels.journal import NO, SKIP, YES, read_judgments
from siamese_news_desk.labels.units import Unit

T = TypeVar("T")

_KNOWN = {"key", "post", "article", "text", "link", "label", "check"}
# Words that annotators use, and those of spreadsheets for true and false; see `_verdict`.
_WORDS = {
    YES: "1 1.0 yes y true relevant r accept x ja j wahr oui o vrai pertinent si verdadero vero "
    "sim verdadeiro tak 1,0",
    NO: "0 0.0 no n false irrelevant not_relevant reject nein falsch nicht_relevant non faux "
    "non_pertinent falso nao nie nee nej 0,0",
    SKIP: "skip skipped ? unsure ignore unklar unsicher",
}
_VERDICTS = {
    word: verdict for verdict, words in _WORDS.items() for word in words.split()
}


@dataclass(frozen=True, slots=True)
class RawLabel:
    """A row of a file.

    `label` is empty if there is none yet, `check` None if labels cannot have moved to other posts,
    `annotator` empty if the file does not name them.
    """

    location: str
    key: str
    post: str
    article: str
    label: str
    text: str
    check: str | None
    annotator: str = ""

    @property
    def name(self) -> str:
        """The name of its unit; empty if the row has a key alone."""
        return f"{self.article}\t{self.post}" if self.article else self.post

    def verdict(self) -> str:
        """``yes``, ``no`` or ``skip``; empty if there is no label yet."""
        if not self.label.strip():
            return ""
        verdict = _verdict(self.label)
        if verdict is None:
            raise InputError(
                f"{self.location}: label is {self.label!r}; expected one of "
                + "; or ".join(
                    f"{', '.join(words.split())}" for words in _WORDS.values()
                )
                + "; or an empty cell for a post that has no label yet"
            )
        return verdict


def _verdict(label: str) -> str | None:
    """The meaning of a word, whatever its case and accents; a blank is an underscore."""
    plain = normalized("NFKD", "_".join(label.split()).lower())
    return _VERDICTS.get("".join(c for c in plain if not unicodedata.combining(c)))


_LABELS = ("label",)


def read_rows(path: Path, columns: Sequence[str] = _LABELS) -> Iterator[RawLabel]:
    """The rows of a file of labels.

    CSV (comma, semicolon or tab; any line ends; UTF-8, UTF-16 or Windows; also the exports of
    ASReview and Label Studio), Parquet, JSON lines, Label Studio JSON, Prodigy JSON lines, or a
    journal. Of
    the `columns` for labels, the first one that the file has counts.

    Raises:
        InputError: for a missing file, one that is not a sheet, and labels in a wrong column.
    """
    text = _decoded(path)
    start = text.lstrip()[:1]
    if start == "[":
        yield from _label_studio(path, text)
    elif start == "{" and '"n"' in text.partition(":")[0]:
        for judgment in read_judgments(path):
            article, _, post = judgment.post.rpartition("\t")
            yield RawLabel(
                f"{path}:{judgment.number}",
                "",
                post,
                article,
                judgment.label,
                "",
                None,
                judgment.annotator,
            )
    elif start == "{":
        yield from _json_lines(path, text, columns)
    else:
        yield from _table(path, text, columns)


def _decoded(path: Path) -> str:
    expect_regular(path, "a sheet of labels")
    with reading(path):
        raw = path.read_bytes()
    if raw.startswith(b"PAR1"):
        from siamese_news.data.readers.parquet import parquet_columns, parquet_rows

        table = Input(str(path), path)
        rows = parquet_rows(table, tuple(parquet_columns(table)), lambda share: None)
        return "\n".join(json.dumps(record, default=str) for _, record, _ in rows)
    if raw.startswith((b"PK\x03\x04", b"\x1f\x8b", b"\x28\xb5\x2f\xfd")):
        raise InputError(
            f"{path}: is an Excel file, or packed (.gz, .zst), and neither is read here; save it as "
            "CSV UTF-8, or unpack it"
        )
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = raw.decode("utf-16", "replace")
    else:
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            # Spreadsheets on Windows save CSV like this; keys and labels are ASCII.
            text = raw.decode("cp1252", "replace")
    if not text.strip():
        raise InputError(
            f"{path}: the file is empty; expected a sheet that sample wrote"
        )
    return text


def _table(path: Path, text: str, columns: Sequence[str]) -> Iterator[RawLabel]:
    delimiter = max(",;\t", key=text.splitlines()[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows: list[tuple[int, list[str]]] = []
    line = 0
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells) or not rows:
                rows.append((line + 1, cells))
            line = reader.line_num
    except csv.Error as error:
        raise InputError(
            f"{path}:{line + 1}: not CSV ({error}); save the sheet again"
        ) from error
    names = [name.strip().strip('"').lower() for name in rows.pop(0)[1]]
    exported = _exported_column(path, names, rows) if columns == _LABELS else None
    column = _column(
        f"{path}:1", "columns", names, columns if exported is None else (exported,)
    )
    if exported is None:
        _refuse_wrong_column(path, names, column, rows)
    for number, cells in rows:
        row = {k: unguarded(v).strip() for k, v in zip(names, cells, strict=False)}
        label = row.get(column, "")
        if column in _ASREVIEW and label in _NOT_SEEN:
            label = ""
        yield _raw(f"{path}:{number}", row | {"label": label})


# Where ASReview 2 and 1 write the labels, and what stands for none in their data sets. The labels
# that a file had before the review are in `asreview_label_to_validate`, or stay in `label`.
_ASREVIEW = ("asreview_label", "included")
_NOT_SEEN = ("-1", "-1.0")
# The columns that Label Studio adds to those of a task and of its result.
_LABEL_STUDIO = {"annotation_id", "annotator", "lead_time"}
_OF_TASKS = {*_KNOWN, *_LABEL_STUDIO, "note", "id", "created_at", "updated_at"}


def _exported_column(
    path: Path, names: list[str], rows: list[tuple[int, list[str]]]
) -> str | None:
    """The column of the labels in an export of ASReview or Label Studio; None for another table.

    Label Studio names it as the project's configuration does, and has one row for each annotation.
    """
    columns = zip_longest(*(cells for _, cells in rows), fillvalue="")
    filled = {
        name: [stripped for cell in cells if (stripped := cell.strip())]
        for name, cells in zip(names, columns, strict=False)
    }
    if filled.get("label") and "asreview_label" not in names:
        return None
    reviewed = next((name for name in _ASREVIEW if name in names), None)
    if reviewed is not None or not _LABEL_STUDIO <= set(names):
        return reviewed
    results = [
        name
        for name, cells in filled.items()
        # Label Studio writes an object for several choices.
        if name not in _OF_TASKS
        and cells
        and all(_verdict(c) is not None or c.startswith('{"choices"') for c in cells)
    ]
    if len(results) == 1:
        return results[0]
    several = ", ".join(results)
    raise InputError(
        f"{path}:1: is an export of Label Studio, and "
        + (
            f"several columns may be the labels ({several})"
            if results
            else "no column has labels"
        )
        + "; expected one column with words such as relevant and not relevant: name it 'label'"
    )


def _column(
    location: str, noun: str, names: Collection[str], columns: Sequence[str]
) -> str:
    """The column of the labels, in a table that also identifies the posts."""
    column = next((name for name in columns if name in names), None)
    if column is None or not {"key", "post"} & set(names):
        raise InputError(
            f"{location}: the {noun} are {', '.join(names) or 'none'}; expected "
            f"{' or '.join(columns)}, and key or post, as in the sheet that sample wrote"
        )
    return column


def _refuse_wrong_column(
    path: Path, names: list[str], column: str, rows: list[tuple[int, list[str]]]
) -> None:
    """Refuse labels in another column while their own is empty."""
    position = names.index(column)
    if any(len(cells) > position and cells[position].strip() for _, cells in rows):
        return
    for column_index, cells in enumerate(
        zip_longest(*(cells for _, cells in rows), fillvalue="")
    ):
        name = names[column_index] if column_index < len(names) else ""
        filled = [
            (row[0], cell)
            for row, cell in zip(rows, cells, strict=True)
            if cell.strip()
        ]
        if name not in _KNOWN and filled and all(_verdict(cell) for _, cell in filled):
            description = (
                f"column '{name}'"
                if name
                else f"column {column_index + 1}, which has no name"
            )
            raise InputError(
                f"{path}:{filled[0][0]}: the labels seem to be in {description}, and the column "
                f"'{column}' is empty; move the labels there"
            )


def _raw(location: str, row: dict[str, Any]) -> RawLabel:
    row_values = {
        **row,
        "label": _said(location, {str(name).lower(): row[name] for name in row}),
    }
    values = map(row_values.get, "key post article label text check annotator".split())
    cells = ("" if value is None else clean_text(str(value)) for value in values)
    return RawLabel(location, *cells)


# What programs write next to a label that its annotator did not mean to give: Label Studio and
# Doccano flags, the status of a response in Argilla and of an assignment in Mechanical Turk.
_FLAGS = (
    "was_cancelled",
    "was_skipped",
    "cancelled",
    "skipped",
    "discarded",
    "ignored",
)
_STATES = (
    "status",
    "state",
    "response_status",
    "annotation_status",
    "assignmentstatus",
)
_SET_ASIDE = {"skipped", "cancelled", "canceled", "discarded", "rejected", "ignored"}
_UNFINISHED = {"draft", "pending"}


def _said(location: str, row: Mapping[str, Any]) -> Any:
    """The label of a row with names in lower case; `SKIP` if the annotator set the post aside."""
    label = row.get("label")
    if isinstance(label, list):  # Doccano
        if len(label) > 1:
            raise InputError(
                f"{location}: has {len(label)} labels ({label}); expected one"
            )
        label = label[0] if label else ""
    states = {str(row[name]).strip().lower() for name in _STATES if row.get(name)}
    if states & _SET_ASIDE or any(
        _verdict(str(row.get(name, ""))) == YES for name in _FLAGS
    ):
        return SKIP
    if states & _UNFINISHED:
        return ""
    answer = str(row.get("answer") or "").strip().lower()
    return _answered(label, answer) if answer in _ANSWERS else label


_ANSWERS = ("accept", "reject", "ignore")


def _answered(question: Any, answer: str) -> str:
    """The label that an answer of Prodigy gives: whether the label that it asked about is right."""
    if answer == "ignore":
        return SKIP
    about_irrelevance = (
        _verdict(str(question)) == NO and str(question).strip().lower() not in _ANSWERS
    )
    return NO if about_irrelevance == (answer == "accept") else YES


def _json_lines(path: Path, text: str, columns: Sequence[str]) -> Iterator[RawLabel]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        location = f"{path}:{number}"
        with refused_at(location):
            row = decode_object(line.encode())
        if "answer" in row or ("meta" in row and "key" not in row):
            meta = row.get("meta")
            row = {
                **(meta if isinstance(meta, dict) else {}),
                "text": row.get("text"),
                **_prodigy_answer(location, row),
            }
        else:
            row["label"] = row[_column(location, "fields", row, columns)]
        yield _raw(location, row)


def _prodigy_answer(location: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """The label of a task of Prodigy; of several options, the one that was chosen."""
    answer = row.get("answer")
    if "accept" not in row:
        if answer in _ANSWERS:
            return {"label": row.get("label"), "answer": answer}
        return {"label": answer}
    chosen = row["accept"]
    if not isinstance(chosen, list) or len(chosen) > 1:
        raise InputError(
            f"{location}: accept is {chosen!r}; expected a list with one option"
        )
    return {"label": chosen[0] if chosen and answer == "accept" else SKIP}


def _label_studio(path: Path, text: str) -> Iterator[RawLabel]:
    try:
        tasks = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: not JSON ({error}); export from Label Studio as JSON"
        ) from error
    for number, task in enumerate(tasks, 1):
        location = f"{path}: task {number}"
        data = task.get("data") if isinstance(task, dict) else None
        if not isinstance(data, dict):
            raise InputError(
                f"{location}: has no data; expected Label Studio's JSON export"
            )
        choices = [
            _choice(annotation, location)
            for annotation in _listed(task.get("annotations"), dict, location)
        ]
        for label in [label for label in choices if label] or [""]:
            yield _raw(location, {**data, "label": label})


def _choice(annotation: dict[str, Any], location: str) -> str:
    # Label Studio's name for a skipped task, in its spelling; a choice made before it stays there.
    if annotation.get("was_cancelled"):
        return SKIP
    chosen: list[str] = []
    for result in _listed(annotation.get("result"), dict, location):
        (value,) = _listed([result.get("value") or {}], dict, location)
        chosen += _listed(value.get("choices"), str, location)
    if len(chosen) > 1:
        raise InputError(
            f"{location}: has {len(chosen)} choices ({', '.join(chosen)}); expected one"
        )
    return chosen[0] if chosen else ""


def _listed(value: Any, kind: type[T], location: str) -> list[T]:
    """A list of objects or texts; empty if it is missing."""
    items = [] if value is None else value
    if not isinstance(items, list) or not all(isinstance(item, kind) for item in items):
        raise InputError(
            f"{location}: its annotations are not in Label Studio's format; export them as JSON"
        )
    return items


_ENDINGS = {
    ".prodigy.jsonl": "prodigy",
    ".jsonl": "jsonl",
    ".csv": "csv",
    ".json": "labelstudio",
}
COLUMNS = ("key", "label", "text", "link", "article", "post", "note", "check")


def format_of(path: Path, format: str | None) -> str:
    """The format of a sheet: the given one, else that of the ending of its name."""
    if format is not None:
        return format
    for ending, format_of_ending in _ENDINGS.items():
        if path.name.lower().endswith(ending):
            return format_of_ending
    raise InputError(
        f"{path}: the format of the sheet is unknown; expected a name that ends with .csv, .jsonl, "
        ".json (Label Studio) or .prodigy.jsonl; sample, audit and certify take --format as well"
    )


def write_sheet(path: Path, rows: Iterable[tuple[str, Unit]], format: str) -> None:
    """Write posts to label with their keys, in the order to label them, without scores or ranks.

    Raises:
        InputError: the file exists.
    """
    if path.exists():
        raise InputError(
            f"{path}: already exists and may have labels; use another --out, or remove it"
        )
    records = [
        {
            "key": key,
            "label": "",
            "text": unit.text,
            "link": unit.link,
            "article": unit.article,
            "post": unit.post,
            "note": "",
            "check": check_value(unit.name, unit.text),
        }
        for key, unit in rows
    ]
    with atomic_write(path) as stream:
        if format == "csv":
            # Spreadsheets show a carriage return as a sign or not at all.
            cells = (
                ["\n".join(record[name].splitlines()) for name in COLUMNS]
                for record in records
            )
            write_csv(stream, COLUMNS, cells, bom=True)
        else:
            _write_json(stream, records, format)


def _write_json(stream: Any, records: Sequence[Mapping[str, str]], format: str) -> None:
    rows: list[dict[str, Any]] = []
    for record in records:
        if format == "jsonl":
            rows.append({**record, "label": None})
        elif format == "prodigy":
            meta = {
                name: record[name]
                for name in ("key", "post", "article", "link", "check")
                if record[name]
            }
            rows.append({"text": record["text"], "label": "RELEVANT", "meta": meta})
        else:
            data = {
                name: record[name] for name in record if name not in ("label", "note")
            }
            rows.append({"data": data})
    if format == "labelstudio":
        json.dump(rows, stream, indent=1, ensure_ascii=False)
        stream.write("\n")
    else:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


_BOUND = 500  # characters of a text behind its check value


def check_value(name: str, text: str) -> str:
    """The check value of a row, which reveals a text that was moved to another row.

    Only the ASCII letters and digits of the first 500 characters count: programs change line ends
    and quotes, and Excel's CSV turns what Windows-1252 lacks into question marks.
    """
    plain = re.sub(
        "[^0-9A-Za-z]", "", text[:_BOUND].encode("ascii", "ignore").decode()
    ).lower()
    # A letter first, so that no spreadsheet takes it for a number.
    return "c" + hashlib.blake2b(f"{name}\t{plain}".encode()).hexdigest()[:6]
