"""What installed packages add through entry points: commands, encoders, readers, rerankers."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from types import NoneType
from typing import Any, Literal, cast

from siamese_news.errors import InputError
from siamese_news.utils.extras import OUR_MODULES

Kind = Literal["commands", "encoders", "readers", "report_parts", "rerankers"]
"""The kinds of objects that a package can add: the entry-point group is ``siamese_news.<kind>``."""

_PACKAGE = re.compile(r"[A-Za-z0-9]([\w.-]*[A-Za-z0-9])?")


def added(kind: Kind) -> dict[str, EntryPoint]:
    """The entry points of installed packages, by the name that a user types.

    No package replaces what this project registers itself.
    """
    return {
        point.name: point
        for point in sorted(entry_points(group=f"siamese_news.{kind}"), key=is_ours)
    }


def is_ours(point: EntryPoint) -> bool:
    """Whether an entry point names code of the library or the desk."""
    return point.module.partition(".")[0] in OUR_MODULES


def package_of(point: EntryPoint) -> str:
    """The package that an entry point belongs to, as pip calls it."""
    return str(point.dist.name) if point.dist else point.module.partition(".")[0]


def load(point: EntryPoint) -> Any:
    """Load an entry point.

    Raises:
        InputError: it cannot be imported; the message names the package. Errors of our own modules
            are raised unchanged: they say which extra is missing.
    """
    try:
        return point.load()
    except Exception as error:
        if is_ours(point):
            raise
        raise InputError(
            f"the package {package_of(point)} adds '{point.name}' ({point.value}), which cannot be "
            f"imported ({type(error).__name__}: {error}); update or uninstall the package"
        ) from error


def report_part(name: str) -> Callable[..., str]:
    """What renders a part of a report as HTML, such as a certificate of the desk.

    Raises:
        InputError: the package that registers it is not installed.
    """
    point = added("report_parts").get(name)
    if point is None:
        raise InputError(
            f"--{name} needs the package siamese-news-desk, which is not installed; run pip install "
            "'siamese-news[desk]', or in a clone pip install ./desk"
        )
    return cast(Callable[..., str], load(point))


def class_in_folder(
    kind: Kind, ours: Mapping[str, type], class_name: type
) -> dict[str, str]:
    """How a model folder names a class: ``class`` and, if a package adds it, ``package``.

    An encoder of no package is named by its ``module``, which its user imports again.

    Raises:
        InputError: loading the folder could not find it again.
    """
    name = class_name.__name__
    if ours.get(name) is class_name:
        return {"class": name}
    for point in added(kind).values():
        if point.attr == name and load(point) is class_name:
            return {"class": name, "package": package_of(point)}
    if kind == "encoders":
        return {"class": class_name.__qualname__, "module": class_name.__module__}
    raise InputError(
        f"{class_name.__module__}.{name} is in no entry point of the group siamese_news.{kind}, so its "
        "model folder could not be loaded; see "
        f"https://github.com/siamese-news/siamese_news/blob/main/docs/add-a-{kind[:-1]}.md"
    )


def _subclasses(base: type) -> Iterator[type]:
    inherited: type
    for inherited in base.__subclasses__():
        yield inherited
        yield from _subclasses(inherited)


def find_class(
    kind: Kind,
    ours: Mapping[str, type],
    options: dict[str, Any],
    *,
    also: Iterable[str] = (),
    base: type = NoneType,
) -> Any:
    """The class that ``class``, ``package`` and ``module`` name, which are taken out of `options`.

    `ours` has this package's classes by name; `also` other names that a user can type. A ``module``
    is never imported: its class is looked for among the subclasses of `base` that there are.

    Raises:
        InputError: the class is unknown; the message names the package that it comes with.
    """
    name = options.pop("class", None)
    package = options.pop("package", None)
    if module := options.pop("module", None):
        for subclass in _subclasses(base):
            if (subclass.__module__, subclass.__qualname__) == (module, name):
                return subclass
        raise InputError(
            f"{kind[:-1]} {str(name)[:99]!r} is a class of the module {str(module)[:99]!r}, which is "
            "not imported here, and nothing from a model folder is; if you trust it, import it "
            "before you open the folder"
        )
    if name in ours:
        return ours[name]
    plugins = added(kind)
    for point in plugins.values():
        if name in (point.name, point.attr):
            return load(point)
    if isinstance(package, str) and _PACKAGE.fullmatch(package):
        raise InputError(
            f"{name!r} of siamese_news.{kind} is not installed. Its model's folder says that a package "
            f"called {package!r} has it; the sender of the folder chose that name, so make sure "
            "which package it is, and that you trust it, before you install one"
        )
    names = ", ".join([*also, *ours, *plugins])
    raise InputError(f"{kind[:-1]} class is {name!r}; expected one of {names}")
