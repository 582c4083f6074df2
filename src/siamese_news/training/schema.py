"""Types of a configuration, checked before any data are read: those that the classes declare.

An option with a ``_target_`` has the types of the parameters of that class or function; a task has
those of its `TypedDict`. msgspec compares the values with them.
"""

import inspect
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import msgspec
from msgspec import Meta

from siamese_news.errors import InputError
from siamese_news.lexical_head.options import TermOptions
from siamese_news.training.build import class_of

_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}
# A bound of msgspec in words, which follow the type.
_BOUNDS = {">=": "{} or more", ">": "above {}", "<=": "{} at most", "<": "below {}"}

Count = Annotated[int, Meta(ge=1)]
Number = Annotated[int, Meta(ge=0)]
Amount = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(gt=0, le=1)]
InnerShare = Annotated[float, Meta(gt=0, lt=1)]


class VectorOptions(TypedDict):
    """The keys of ``conf/vectors``."""

    source: str
    max_words: int | None
    trainable: bool
    unit_length: bool
    remove_components: int
    project_to: int | None
    unknown: Literal["drop", "hash"]
    dropout: float


#: The values of train.yaml and evaluate.yaml that are in no group.
TOP: dict[str, Any] = {
    "seed": Annotated[int, Meta(ge=0, lt=2**32)],
    "fold": int,
    "teacher": str,
    "init": str | None,
    "resume": str | None,
    "split": Literal["dev", "test"],
    "relevance": Literal["own", "event"],
    "about": str,
    "peers": list[str],
    "allow_overlap": bool,
    "bootstrap": Number,
    "randomization": Count,
    "model": str | list[str] | None,
    "vectors": VectorOptions,
}


def check_config(config: Mapping[str, Any]) -> None:
    """Check every value of a composed configuration.

    Raises:
        InputError: a value has another type than its option declares, or an option is unknown.
    """
    reads = class_of(config["task"], "task").task.groups
    if "module" not in reads:
        config = {key: value for key, value in config.items() if key != "module"}
    # The module's options repeat those of other groups, which the user named.
    for key, value in sorted(config.items(), key=lambda item: item[0] == "module"):
        for complaint in complaints(key, value, TOP.get(key, Any)):
            raise InputError(complaint)
    if "terms" in config:
        TermOptions.of(config["terms"])


def complaints(key: str, value: Any, kind: Any) -> Iterator[str]:
    """What is wrong with a value and with those inside it, one line each.

    Args:
        key: its dotted name.
        value: plain values.
        kind: its type; a `TypedDict` names the options that a mapping may and must have.
    """
    if not isinstance(value, Mapping):
        (member,) = get_args(kind) if get_origin(kind) is list else (None,)
        if is_typeddict(member) and isinstance(value, list):
            for number, inner in enumerate(value):
                yield from complaints(f"{key}[{number}]", inner, member)
        else:
            yield from _wrong(key, value, kind)
        return
    if get_origin(kind) in (Union, UnionType):
        kind = next(filter(is_typeddict, get_args(kind)), kind)
    yield from _complaints_of_mapping(key, value, kind)


def _complaints_of_mapping(
    key: str, value: Mapping[str, Any], kind: Any
) -> Iterator[str]:
    """What is wrong with the names in a mapping, and with their values."""
    required: frozenset[str] = frozenset()
    several = False  # names of any kind
    if "_target_" in value:
        kinds, several = _kinds(value, key)
    elif is_typeddict(kind):
        kinds = hints_of(kind)
    else:
        yield from _wrong(key, value, kind)
        kinds, several = {}, True
    if is_typeddict(kind):
        # A caller may leave out all of them, which are then merged with those of a file; what is
        # merged lacks none but those that are NotRequired.
        typed = get_type_hints(kind, include_extras=True).items()
        required = frozenset(
            name for name, hint in typed if get_origin(hint) is not NotRequired
        )
    missing = [name for name in kinds if name in required and name not in value]
    if missing:
        yield f"{key}: {', '.join(missing)} is missing; expected {', '.join(kinds)}"
    if key in ("task.optimizer", "task.schedule") and "_target_" not in value:
        group = key.replace(".", "/")
        yield f"{key}: names no class; expected {group}=NAME, which has one, next to its values"
    for name, member in value.items():
        if str(name).startswith("_"):
            continue
        # What an encoder does not take is explained where it is built (`build_model`).
        if name in kinds or several or key.endswith("encoder"):
            yield from complaints(f"{key}.{name}", member, kinds.get(name, Any))
        else:
            yield f"{key}.{name}: is unknown; expected in {key} one of {', '.join(kinds)}"


def _kinds(option: Mapping[str, Any], key: str) -> tuple[dict[str, Any], bool]:
    """The types of an option's values by name, and whether there may be others."""
    target = class_of(option, key)
    if task := getattr(target, "task", None):
        return hints_of(task.options), False
    if not callable(target):
        raise InputError(
            f"{key}._target_={option['_target_']}: expected a class or a function"
        )
    hints = _hints(target)
    kinds: dict[str, Any] = {}
    several = False
    for name, parameter in inspect.signature(target).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            inner = getattr(hints.get(name), "__args__", ())  # Unpack[…] of a TypedDict
            kinds |= hints_of(inner[0]) if inner and is_typeddict(inner[0]) else {}
            several = not inner
        else:
            kinds[name] = hints.get(name, _like(parameter.default))
    if key == "trainer":  # ours, next to those of the class
        kinds["threads"] = int | None
    if key.startswith("logger."):  # null is the folder of the run
        kinds["save_dir"] = str | None
    if key.endswith(".schedule"):
        kinds |= {"interval": Literal["step", "epoch"], "warmup": float}
    return kinds, several


def hints_of(kind: Any) -> dict[str, Any]:
    """The types of the keys of a `TypedDict`, with their bounds."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        name: get_args(hint)[0] if get_origin(hint) is NotRequired else hint
        for name, hint in hints.items()
    }


def _hints(target: Any) -> dict[str, Any]:
    made_by = target.__init__ if inspect.isclass(target) else target
    try:
        return get_type_hints(made_by)
    except (NameError, TypeError):  # names that exist for a type checker alone
        return {}


def _like(default: Any) -> Any:
    """The type of a parameter that declares none, by its default."""
    kind = type(default)
    if kind in (int, float):
        return float
    return kind if kind in (bool, str) else Any


def _wrong(key: str, value: Any, kind: Any) -> Iterator[str]:
    """What is wrong with a value that is no option with a class."""
    if kind is Any:
        return
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at ")
        inner_key = path.strip("`").removeprefix("$")
        if message.startswith("Invalid enum value"):
            message = f"Expected {' | '.join(map(str, _literals(kind)))}"
        expected, _, _ = (
            message.replace("`", "").removeprefix("Expected ").partition(", got ")
        )
        types = [_in_words(member) for member in expected.split(" | ")]
        assignment = "" if inner_key else f"={value}"
        yield f"{key}{inner_key}{assignment}: expected {' or '.join(types)}"
    except TypeError:  # classes among the types, whose objects no file holds
        members = [
            member
            for member in get_args(kind)
            if get_origin(kind) in (Union, UnionType)
        ]
        complaints_of = [
            list(_wrong(key, value, member))
            for member in members
            if not _is_class(member)
        ]
        if complaints_of and all(complaints_of):
            yield min((complaints[0] for complaints in complaints_of), key=len)


def _in_words(expected: str) -> str:
    """A type of msgspec, with its bound if it has one: ``int >= 1`` is a whole number, 1 or more."""
    name, _, bound = expected.partition(" ")
    sign, _, limit = bound.partition(" ")
    words = _WORDS.get(name, name)
    return (
        f"{words}, {_BOUNDS[sign].format(limit.removesuffix('.0'))}"
        if sign in _BOUNDS
        else words
    )


def _literals(kind: Any) -> list[Any]:
    """The values that a type names, in it or in the types that it joins."""
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    return [value for member in get_args(kind) for value in _literals(member)]


def _is_class(kind: Any) -> bool:
    return isinstance(kind, type) and kind not in (
        bool,
        int,
        float,
        str,
        list,
        dict,
        type(None),
    )
