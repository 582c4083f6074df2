"""TREC runs and qrels: ids are strings from the first byte read to the last written."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from siamese_news.errors import InputError
from siamese_news.utils.files import atomic_write, open_binary


def _rows(path: str | Path, fields: str) -> Iterator[tuple[str, list[str]]]:
    """Lines of a file as (``path:line``, fields); empty lines are left out."""
    expected = len(fields.split())
    with open_binary(path) as stream:
        number = 0
        try:
            for number, line in enumerate(stream, 1):
                where = f"{path}:{number}"
                try:
                    values = line.decode("utf-8").split()
                except UnicodeDecodeError as error:
                    raise InputError(f"{where}: not UTF-8 ({error.reason}); convert it") from None
                if not values:
                    continue
                if len(values) != expected:
                    raise InputError(
                        f"{where}: {len(values)} fields, expected {expected} ({fields}) separated "
                        "by spaces or tabs; ids must not contain any"
                    )
                yield where, values
        except (EOFError, OSError) as error:
            raise InputError(
                f"{path}:{number + 1}: cannot be read ({error}); the file is damaged or cut short"
            ) from error


def read_qrels(path: str | Path) -> dict[str, dict[str, int]]:
    """Read TREC qrels (``query iteration document grade``), plain, .gz or .zst.

    Returns:
        query id -> document id -> grade, in the order of the file.

    Raises:
        InputError: with ``path:line`` for a wrong line, a grade that is not a whole number, or a
            pair that occurs twice.
    """
    qrels: dict[str, dict[str, int]] = {}
    for where, (query, _, document, text) in _rows(path, "query iteration document grade"):
        try:
            grade = int(text)
        except ValueError:
            raise InputError(f"{where}: grade is {text!r}, expected a whole number") from None
        _put(qrels, where, query, document, grade)
    return qrels


def read_run(path: str | Path) -> dict[str, dict[str, float]]:
    """Read a TREC run (``query Q0 document rank score tag``), plain, .gz or .zst.

    As in trec_eval the rank column is not used: the order follows from the scores.

    Returns:
        query id -> document id -> score, in the order of the file.

    Raises:
        InputError: with ``path:line`` for a wrong line, a score that is not finite, or a pair
            that occurs twice.
    """
    run: dict[str, dict[str, float]] = {}
    for where, (query, _, document, _, text, _) in _rows(path, "query Q0 document rank score tag"):
        try:
            score = float(text)
        except ValueError:
            raise InputError(f"{where}: score is {text!r}, expected a number") from None
        if not math.isfinite(score):
            raise InputError(f"{where}: score is {text!r}, expected a finite number")
        _put(run, where, query, document, score)
    return run


def _put(table: dict[str, Any], where: str, query: str, document: str, value: Any) -> None:
    row = table.setdefault(query, {})
    if document in row:
        raise InputError(
            f"{where}: document {document!r} occurs twice under query {query!r}; expected each "
            "pair once; remove one of the lines"
        )
    row[document] = value


def write_run(path: str | Path, run: Mapping[str, Mapping[str, float]], tag: str) -> None:
    """Write a TREC run (query id -> document id -> score), .gz by its name, whole or not at all.

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


def _check_word(what: str, word: str) -> None:
    if word.split() != [word]:
        raise InputError(f"{what} is {word!r}; expected one word without white space")
