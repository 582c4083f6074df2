"""Attributes of a package that are imported on first use."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from siamese_news.utils.extras import needs


def lazy_attribute(package: str, homes: Mapping[str, Sequence[str]], name: str, extra: str) -> Any:
    """Import an attribute of a package, for use in the package's ``__getattr__``.

    Args:
        package: the package's ``__name__``.
        homes: module below the package -> names that it defines.
        name: the attribute to import.
        extra: the extra that brings what the module imports.

    Raises:
        AttributeError: no module defines the name.
        MissingExtraError: something of the extra is not installed.
    """
    for home, names in homes.items():
        if name in names:
            with needs(extra, f"{package}.{name}"):
                return getattr(import_module(f"{package}.{home}"), name)
    raise AttributeError(f"module {package!r} has no attribute {name!r}")
