"""The arguments of `arrays.certify_scores`, checked before anything is written."""

import operator
import os
from collections.abc import Mapping, Sequence, Set
from decimal import Decimal
from numbers import Real
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from siamese_news.data.records import clean_text
from siamese_news.errors import InputError
from siamese_news.utils.missing_values import is_missing
from siamese_news.utils.terminal import counted
from siamese_news_desk.decide.certification import Settings
from siamese_news_desk.labels.journal import annotator_name
from siamese_news_desk.labels.shares import typed_share

# Whether an item is relevant; None for one that cannot be decided, which counts as not relevant.
Verdict = bool | None


def scores_of(scores: ArrayLike) -> NDArray[np.float64]:
    """(n,) the scores; an `InputError` unless they are finite numbers in one dimension."""
    expected = "expected a list or an array of numbers, one for each item"
    try:
        values = np.asarray(scores)
        if np.iscomplexobj(values):
            raise TypeError("complex numbers have no order")
        values = values.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"scores is {_brief(scores)}; {expected} ({error})") from error
    if values.ndim != 1 or not len(values):
        raise InputError(f"scores has the shape {values.shape}; {expected}")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise InputError(
            f"scores[{bad[0]}] is {values[bad[0]]}; expected finite numbers"
        )
    return values


def names_of(ids: Sequence[object], scores: int) -> list[str]:
    """The ids as text; an `InputError` unless they are as many and distinct."""
    values = _listed(ids, "ids", scores)
    first: dict[str, int] = {}
    for row, value in enumerate(values):
        name = str(value)
        if is_missing(value) or not name.strip():
            raise InputError(f"ids[{row}] is {value!r}; expected an id for each item")
        if clean_text(name) != name or "\t" in name:
            raise InputError(
                f"ids[{row}] is {name!r}; expected an id without tabs, NULs and characters that "
                "UTF-8 cannot carry"
            )
        if first.setdefault(name, row) != row:
            raise InputError(
                f"ids[{first[name]}] and ids[{row}] are both {name!r}; expected distinct ids"
            )
    return list(first)


def texts_of(texts: Sequence[str | None] | None, scores: int) -> list[str] | None:
    """The texts, empty for each that is missing; an `InputError` for any value but a string.

    A missing text is not known, so it must not become the same word for several items: they would
    share a label.
    """
    if texts is None:
        return None
    values = _listed(texts, "texts", scores)
    plain = []
    for row, value in enumerate(values):
        if is_missing(value):
            value = ""
        if not isinstance(value, str):
            raise InputError(
                f"texts[{row}] is {_brief(value)}, of type {type(value).__name__}; expected a "
                "string, or None for a text that is missing"
            )
        plain.append(str(value) if value.strip() else "")
    return plain


def settings_of(
    precision: object, confidence: object, budget: object, seed: object
) -> Settings:
    """The settings of the plan; an `InputError` for a value that no plan can have."""
    if isinstance(precision, str | Real | Decimal):
        targets = [_share(precision, "precision")]
    else:
        try:
            targets = [_share(target, "precision") for target in precision]  # type: ignore[attr-defined]
        except TypeError:
            targets = [_share(precision, "precision")]
    settings = Settings(
        tuple(targets),
        _share(confidence, "confidence"),
        _whole(budget, "budget", "the number of labels to plan for, such as 300"),
        seed=_whole(seed, "seed", "a whole number, such as 0"),
    )
    settings.check()
    return settings


def folder_of(folder: str | Path) -> Path:
    """The folder; an `InputError` for anything but a path, and for the path of a file."""
    named = str(folder) if isinstance(folder, str | os.PathLike) else ""
    if not named or "\0" in named:
        raise InputError(
            f"folder is {folder!r}; expected the path of a folder for the plan, the labels and the "
            "certificate"
        )
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise InputError(
            f"{path}: is a file; expected the path of a folder, which is made if it does not exist"
        )
    return path


def verdicts_of(
    labels: Mapping[int, Verdict] | None, names: Sequence[str]
) -> dict[int, Verdict]:
    """Verdicts by row; an `InputError` for any other key or value."""
    if labels is None:
        return {}
    expected = "expected verdicts by row, such as labels={12: True, 40: False}"
    if not isinstance(labels, Mapping):
        raise InputError(f"labels is {_brief(labels)}; {expected}")
    verdicts: dict[int, Verdict] = {}
    for key, verdict in labels.items():
        row = _index(key)
        if row is None:
            hint = ""
            if isinstance(key, str) and key in names:
                hint = f": ids[{names.index(key)}] has the row {names.index(key)}"
            raise InputError(f"labels has the key {_brief(key)}; {expected}{hint}")
        verdicts[row] = verdict_of(verdict, row)
    return verdicts


def verdict_of(verdict: object, row: int) -> Verdict:
    """A verdict; an `InputError` for anything but True, False and None."""
    if isinstance(verdict, np.bool_):
        return bool(verdict)
    if verdict is not None and not isinstance(verdict, bool):
        raise InputError(
            f"the verdict of row {row} is {_brief(verdict)}; expected True, False or None"
        )
    return verdict


def annotator_of(name: str) -> str:
    """The annotator's name; an `InputError` without one."""
    expect_text(name, "annotator")
    if not annotator_name(name):
        raise InputError(f"annotator is {name!r}; expected a name, such as 'ana'")
    return name


def expect_text(value: object, what: str) -> None:
    """Raise an `InputError` for a value that is not a string."""
    if not isinstance(value, str):
        raise InputError(f"{what} is {_brief(value)}; expected a string")


def _listed(values: object, what: str, scores: int) -> list[object]:
    """A sequence as a list, by position: pandas looks up ``values[0]`` in an index."""
    if isinstance(values, str | bytes | Mapping | Set):
        listed = None
    else:
        try:
            listed = list(values)  # type: ignore[call-overload]
        except TypeError:
            listed = None
    if listed is None:
        raise InputError(
            f"{what} is {_brief(values)}; expected a list with a value for each of the "
            f"{counted(scores, 'score')}"
        )
    if len(listed) != scores:
        raise InputError(
            f"{what} has {counted(len(listed), 'value')} for {counted(scores, 'score')}; expected "
            "as many"
        )
    return listed


def _share(value: object, what: str) -> str:
    """A share as a plan quotes it; `Settings.check` refuses those that are none."""
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, str | Real | Decimal
    ):
        raise InputError(
            f"{what} is {_brief(value)}; expected a share such as .9 or '90%'"
        )
    return typed_share(str(value))


def _whole(value: object, what: str, expected: str) -> int:
    number = _index(value)
    if number is None:
        raise InputError(f"{what} is {_brief(value)}; expected {expected}")
    return number


def _index(value: object) -> int | None:
    """A whole number of Python or NumPy; None for anything else."""
    if isinstance(value, bool | np.bool_):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
