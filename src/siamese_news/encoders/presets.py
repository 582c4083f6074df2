"""Encoders by name: the files of ``conf/encoder``, read without Hydra.

A test compares what is read here with what Hydra composes from each of them.
"""

import copy
import functools
from importlib import resources
from typing import Any

from siamese_news.utils.extras import needs


def preset_names() -> tuple[str, ...]:
    """The names of the files in ``conf/encoder``.

    Example:
        >>> from siamese_news.encoders import preset_names
        >>> preset_names()[:4]
        ('bag', 'bag_idf', 'bigru', 'cnn')
    """
    return tuple(sorted(names_of("encoder")))


@functools.cache
def names_of(group: str) -> frozenset[str]:
    """The names of the files of a group of ``conf/``, such as ``data``."""
    files = resources.files("siamese_news.conf").joinpath(group).iterdir()
    return frozenset(
        file.name[: -len(".yaml")] for file in files if file.name.endswith(".yaml")
    )


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


def _merge(options: dict[str, Any], changes: dict[str, Any]) -> None:
    for key, value in changes.items():
        are_mappings = isinstance(value, dict) and isinstance(options.get(key), dict)
        options[key] = {**options[key], **value} if are_mappings else value


def _read(name: str) -> tuple[dict[str, Any], list[str]]:
    """The options that a file itself has, and its ``defaults``, for the level below as ``a@b``."""
    with needs("encoders", "an encoder by the name of its file"):
        import yaml
    file = resources.files("siamese_news.conf").joinpath("encoder", f"{name}.yaml")
    options = yaml.safe_load(file.read_text("utf-8"))
    return _plain(options), options.get("defaults", ["_self_"])


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    """Options as model folders have them: a class for a target, and nothing that is Hydra's own."""
    plain: dict[str, Any] = {}
    for key, value in options.items():
        if key == "_target_":
            plain["class"] = value.rpartition(".")[2]
        elif key in ("defaults", "_partial_") or str(value).startswith("${"):
            continue
        else:
            plain[key] = _plain(value) if isinstance(value, dict) else value
    return plain
