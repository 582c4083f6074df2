"""Names of a package that are imported when they are first asked for."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from siamese_news.utils.extras import needs


def lazy_attribute(package: str, homes: Mapping[str, Sequence[str]], name: str, extra: str) -> Any:
    """What a package's ``__getattr__`` gives for a name.

    Args:
        package: the package's ``__name__``.
        homes: module below the package -> names that it holds.
        name: the name that is asked for.
        extra: the extra that brings what the module imports.

    Raises:
        AttributeError: no module holds the name.
        MissingExtraError: something of the extra is not installed.
    """
    for home, names in homes.items():
        if name in names:
            with needs(extra, f"{package}.{name}"):
                return getattr(import_module(f"{package}.{home}"), name)
    raise AttributeError(f"module {package!r} has no attribute {name!r}")
