"""The options under `data` in a configuration, checked before anything is read."""

from collections.abc import Collection as Names
from collections.abc import Mapping
from typing import Any

from siamese_news.errors import InputError
from siamese_news.text.truncation import check_limits

_KEYS: dict[str, Names[str]] = {
    "data": ("name", "train", "dev", "test", "split", "batching", "limits"),
    "data.train": ("folder", "split"),
    "data.dev": ("folder", "split", "pool", "one_story"),
    "data.test": ("folder", "split", "pool", "one_story"),
    "data.split": ("by", "fractions", "seed"),
    "data.batching": (
        "kind",
        "articles_per_batch",
        "posts_per_article",
        "chunks_per_epoch",
        "pairs_per_batch",
    ),
    "data.limits": ("article_tokens", "post_tokens", "keep"),
}


def check_options(data: Mapping[str, Any]) -> None:
    """Refuse unknown, missing and impossible options of a data configuration (plain values).

    Raises:
        InputError: naming the option, what it was and what was expected.
    """
    _keys("data", data, _KEYS["data"])
    for entry in data["train"]:
        _keys("data.train", entry, _KEYS["data.train"])
    for side in ("dev", "test"):
        if data[side] is not None:
            _keys(
                f"data.{side}",
                data[side],
                _KEYS[f"data.{side}"],
                optional=("pool", "one_story"),
            )
    _keys("data.split", data["split"], _KEYS["data.split"])
    _keys("data.batching", data["batching"], _KEYS["data.batching"])
    kind = data["batching"]["kind"]
    if kind not in ("articles", "pairs"):
        raise InputError(f"data.batching.kind is '{kind}', expected articles or pairs")
    limits = data["limits"]
    _keys("data.limits", limits, _KEYS["data.limits"])
    check_limits(limits, "data.limits")


def _keys(
    where: str, options: Mapping[str, Any], expected: Names[str], optional: Names[str] = ()
) -> None:
    unknown = sorted(set(options) - set(expected))
    missing = sorted(set(expected) - set(options) - set(optional))
    if unknown or missing:
        parts = [f"unknown: {', '.join(unknown)}"] * bool(unknown)
        parts += [f"missing: {', '.join(missing)}"] * bool(missing)
        raise InputError(f"{where} has {'; '.join(parts)}; expected: {', '.join(expected)}")
