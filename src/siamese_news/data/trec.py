"""TREC runs and qrels: ids are strings from the first byte read to the last written."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from siamese_news.data.lines import read_lines
from siamese_news.errors import InputError
from siamese_news.utils.files import atomic_write


def rows_of(
    path: str | Path, columns: str, separator: str | None = None
) -> Iterator[tuple[str, list[str]]]:
    """Yield (``path:line``, fields) for each line of a table; a header and empty lines are skipped.

    Columns are separated by white space, or by the `separator`.
    """
    names = columns.split()
    for number, line in read_lines(path):
        fields = line.split(separator)
        if not line or line.isspace() or (number == 1 and fields[0] == names[0]):
            continue
        if len(fields) != len(names):
            raise InputError(
                f"{path}:{number}: {len(fields)} fields, expected {len(names)} ({columns}) "
                f"separated by {'tabs' if separator else 'spaces or tabs'}; ids must not have any"
            )
        yield (
            f"{path}:{number}",
            fields if separator is None else [f.strip() for f in fields],
        )


def read_qrels(path: str | Path) -> dict[str, dict[str, int]]:
    """Read TREC qrels (``query iteration document grade``), plain, .gz or .zst, in their order.

    Raises:
        InputError: with ``path:line`` for a wrong line, a grade that is not a whole number, or a
            pair that occurs twice.
    """
    qrels: dict[str, dict[str, int]] = {}
    for location, (query, _, document, text) in rows_of(
        path, "query iteration document grade"
    ):
        put_grade(qrels, location, query, document, text)
    return qrels


def read_run(path: str | Path) -> dict[str, dict[str, float]]:
    """Read a TREC run (``query Q0 document rank score tag``), plain, .gz or .zst, in its order.

    As in trec_eval the rank column is not used: the order follows from the scores.

    Raises:
        InputError: with ``path:line`` for a wrong line, a score that is not finite, or a pair
            that occurs twice.
    """
    run: dict[str, dict[str, float]] = {}
    for location, (query, _, document, _, text, _) in rows_of(
        path, "query Q0 document rank score tag"
    ):
        try:
            score = float(text)
        except ValueError:
            score = math.nan
        if not math.isfinite(score):
            raise InputError(f"{location}: score is {text!r}, expected a finite number")
        _put(run, location, query, document, score)
    return run


def put_grade(
    qrels: dict[str, dict[str, int]],
    location: str,
    query: str,
    document: str,
    text: str,
) -> None:
    """Add one judgment to qrels.

    Raises:
        InputError: the grade is not a whole number, or the pair occurs twice.
    """
    try:
        grade = int(text)
    except ValueError:
        raise InputError(
            f"{location}: grade is {text!r}, expected a whole number such as 1"
        ) from None
    _put(qrels, location, query, document, grade)


def _put(
    table: dict[str, Any], location: str, query: str, document: str, value: Any
) -> None:
    row = table.setdefault(query, {})
    if document in row:
        raise InputError(
            f"{location}: document {document!r} occurs twice under query {query!r}; expected each "
            "pair once; remove one of the lines"
        )
    row[document] = value


def write_run(
    path: str | Path, run: Mapping[str, Mapping[str, float]], tag: str
) -> None:
    """Write a TREC run (query id -> document id -> score) atomically; .gz by its name.

    Queries keep their order. Documents are sorted by the written score (6 decimals), ties by id
    descending, as trec_eval sorts them; ranks count from 1. The `tag` is the system's name.

    Raises:
        InputError: for a score that is not finite, or an id or tag that is empty or has white
        space.
    """
    _check_word(f"{path}: the tag", tag)
    with atomic_write(path) as stream:
        for query, scores in run.items():
            _check_word(f"{path}: query id", query)
            rows = []
            for document, score in scores.items():
                _check_word(f"{path}: document id under query {query!r}", document)
                if not math.isfinite(score):
                    raise InputError(
                        f"{path}: the score of document {document!r} under query {query!r} is "
                        f"{score}, expected a finite number"
                    )
                # Adding 0.0 turns -0.0 into 0.0.
                rows.append((round(float(score), 6) + 0.0, document))
            rows.sort(reverse=True)
            for rank, (value, document) in enumerate(rows, 1):
                stream.write(f"{query} Q0 {document} {rank} {value:.6f} {tag}\n")


def _check_word(label: str, word: str) -> None:
    if word.split() != [word]:
        raise InputError(f"{label} is {word!r}; expected one word without white space")
