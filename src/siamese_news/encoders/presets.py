"""Encoders by name: the files of ``conf/encoder``, read without Hydra and without a YAML library.

The files have one option a line, and at most one level below it; a test compares what is read here
with what Hydra composes from each of them.
"""

import copy
import functools
import json
from importlib import resources
from typing import Any


@functools.cache
def preset_names() -> tuple[str, ...]:
    """The names of the files in ``conf/encoder``.

    Example:
        >>> from siamese_news.encoders import preset_names
        >>> preset_names()[:4]
        ('bag', 'bag_idf', 'bigru', 'cnn')
    """
    folder = resources.files("siamese_news.conf").joinpath("encoder")
    files = [file.name for file in folder.iterdir()]
    return tuple(sorted(name[: -len(".yaml")] for name in files if name.endswith(".yaml")))


def preset(name: str) -> dict[str, Any]:
    """The options of a file in ``conf/encoder``, with ``class`` as model folders have it.

    An option that refers to another group (``${sparsity}``) is left to the default of the class.

    Args:
        name: one of `preset_names`.

    Example:
        >>> from siamese_news.encoders import preset
        >>> preset("bigru")
        {'class': 'GRUEncoder', 'hidden_dim': 150, 'layers': 1, 'bidirectional': True}
    """
    return copy.deepcopy(_composed(name))


@functools.cache
def _composed(name: str) -> dict[str, Any]:
    """A file on top of those in its ``defaults``; ``star@context`` is one for the level below."""
    lines, bases = _read(name)
    options: dict[str, Any] = {}
    for base in bases:
        if base == "_self_":
            _merge(options, lines)
        elif "@" in base:
            inner, _, key = base.partition("@")
            options[key] = {**_composed(inner), **options.get(key, {})}
        else:
            _merge(options, _composed(base))
    return options


def _merge(options: dict[str, Any], more: dict[str, Any]) -> None:
    for key, value in more.items():
        both = isinstance(value, dict) and isinstance(options.get(key), dict)
        options[key] = {**options[key], **value} if both else value


def _read(name: str) -> tuple[dict[str, Any], list[str]]:
    """The options that a file itself has, and its ``defaults``."""
    file = resources.files("siamese_news.conf").joinpath("encoder", f"{name}.yaml")
    options: dict[str, Any] = {}
    bases: list[str] = []
    group = ""
    for line in file.read_text("utf-8").splitlines():
        content = line.partition("#")[0].strip()
        key, _, value = (part.strip() for part in content.partition(":"))
        if content.startswith("- "):
            bases.append(content.removeprefix("- "))
        elif content.endswith(":"):
            group = key
        elif content and not value.startswith("${") and key != "_partial_":
            inner = line.startswith(" ")
            place = options.setdefault(group, {}) if inner else options
            place.update(_option(key, value))
    return options, bases or ["_self_"]


def _option(key: str, value: str) -> dict[str, Any]:
    if key == "_target_":
        return {"class": value.rpartition(".")[2]}
    try:
        return {key: json.loads(value)}  # numbers, lists, true, false and null are those of JSON
    except json.JSONDecodeError:
        return {key: value}
