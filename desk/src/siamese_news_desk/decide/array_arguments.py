"""The arguments of `arrays.certify_scores`, checked before anything is written."""

import os
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

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
    row_of: dict[str, int] = {}
    for row, value in enumerate(_listed(ids, "ids", scores)):
        name = str(value)
        if is_missing(value) or not name.strip():
            raise InputError(f"ids[{row}] is {value!r}; expected an id for each item")
        if clean_text(name) != name or "\t" in name:
            raise InputError(
                f"ids[{row}] is {name!r}; expected an id without tabs, NULs and characters that "
                "UTF-8 cannot carry"
            )
        if row_of.setdefault(name, row) != row:
            raise InputError(
                f"ids[{row_of[name]}] and ids[{row}] are both {name!r}; expected distinct ids"
            )
    return list(row_of)


def texts_of(texts: Sequence[str | None] | None, scores: int) -> list[str] | None:
    """The texts, empty for each that is missing; an `InputError` for any value but a string.

    A missing text is not known, so it must not become the same word for several items: they would
    share a label.
    """
    if texts is None:
        return None
    plain = []
    for row, value in enumerate(_listed(texts, "texts", scores)):
        text = "" if is_missing(value) else value
        if not isinstance(text, str):
            raise InputError(
                f"texts[{row}] is {_brief(value)}, of type {type(value).__name__}; expected a "
                "string, or None for a text that is missing"
            )
        plain.append(str(text) if text.strip() else "")
    return plain


def settings_of(
    precision: object, confidence: object, budget: object, seed: object
) -> Settings:
    """The settings of the plan; an `InputError` for a value that no plan can have."""
    targets = [precision] if np.ndim(precision) == 0 else list(precision)  # type: ignore
    settings = Settings(
        tuple(typed_share(str(target)) for target in targets),
        typed_share(str(confidence)),
        _plain(budget),
        seed=_plain(seed),
    )
    settings.check()
    return settings


def folder_of(folder: str | Path) -> Path:
    """The folder; an `InputError` for anything but a path, and for the path of a file."""
    if (
        not isinstance(folder, str | os.PathLike)
        or not str(folder)
        or "\0" in str(folder)
    ):
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
        if isinstance(key, bool) or not isinstance(key, int | np.integer):
            rows = [row for row, name in enumerate(names) if name == str(key)]
            hint = "".join(f": ids[{row}] has the row {row}" for row in rows)
            raise InputError(f"labels has the key {_brief(key)}; {expected}{hint}")
        verdicts[int(key)] = verdict_of(verdict, int(key))
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


def expect_text(value: object, argument: str) -> None:
    """Raise an `InputError` for a value that is not a string."""
    if not isinstance(value, str):
        raise InputError(f"{argument} is {_brief(value)}; expected a string")


def _listed(values: object, argument: str, scores: int) -> list[object]:
    """A sequence as a list, by position: pandas looks up ``values[0]`` in an index."""
    if not isinstance(values, Iterable) or isinstance(
        values, str | bytes | Mapping | Set
    ):
        raise InputError(
            f"{argument} is {_brief(values)}; expected a list with a value for each of the "
            f"{counted(scores, 'score')}"
        )
    listed = list(values)
    if len(listed) != scores:
        raise InputError(
            f"{argument} has {counted(len(listed), 'value')} for {counted(scores, 'score')}; "
            "expected as many"
        )
    return listed


def _plain(number: Any) -> Any:
    """A whole number of NumPy as one of Python; `Settings.check` refuses what is not one."""
    return int(number) if isinstance(number, np.integer) else number


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
