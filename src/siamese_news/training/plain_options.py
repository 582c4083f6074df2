"""Options by name, options that installed packages add, and a command's options as plain values."""

import copy
import functools
import re
from collections.abc import Mapping
from contextlib import suppress
from inspect import Parameter, signature, stack
from typing import Any, Self, cast

import numpy as np
import pytorch_lightning as pl
from hydra import compose, initialize_config_module
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from siamese_news.encoders import REGISTERED
from siamese_news.errors import InputError
from siamese_news.training.launch import argument_error
from siamese_news.training.schema import check_config
from siamese_news.utils.plugins import Kind, added, load

_PLAIN = (bool, int, float, str, list, tuple, dict, type(None))


class KeepsArguments:
    """A Lightning class whose objects know the arguments that their caller gave.

    Its constructors, and those of subclasses, may change theirs before these are saved.

    Attributes:
        arguments: the plain values among them, by name, with the defaults.
        objects: the names of the others, which no checkpoint holds.
    """

    arguments: dict[str, Any]
    objects: list[str]

    def __new__(cls, *positional: Any, **keywords: Any) -> Self:
        """Called before any constructor."""
        instance = super().__new__(cls)
        made_by = signature(instance.__init__)  # type: ignore[misc]
        parameters = made_by.parameters.values()
        defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        with suppress(TypeError):  # the constructor says that there are too many
            keywords |= made_by.bind_partial(*positional).arguments
        instance.arguments = plain_values(defaults | keywords)
        instance.objects = sorted(keywords.keys() - instance.arguments.keys())
        return instance


def plain_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Copies of those values that a checkpoint can hold without code to run when it is read."""
    plain = {}
    for name, value in values.items():
        with suppress(TypeError):
            plain[name] = _plain(value)
    return plain


def _plain(value: Any) -> Any:
    """A copy of a value that is made of numbers, texts, lists and mappings alone."""
    if OmegaConf.is_config(value):
        return OmegaConf.to_container(value, resolve=True)
    value = value.item() if isinstance(value, np.generic) else value
    if type(value) is dict:
        return {name: _plain(member) for name, member in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    # A subclass, such as an Enum, would be read by its code.
    if type(value) not in _PLAIN:
        raise TypeError
    return value


def save_as_hyperparameters(
    module: pl.LightningModule | pl.LightningDataModule, values: Mapping[str, Any]
) -> None:
    """Save those of the values that are plain.

    Lightning would compare them with each argument of the constructors, which an array cannot be.
    """
    outermost = stack(0)[-1].frame
    module.save_hyperparameters(plain_values(values), frame=outermost)


def options_of(subclass: type, base: type) -> dict[str, type]:
    """The arguments that a class takes or passes on, and the classes up to `base` that name them."""
    names: dict[str, type] = {}
    for ancestor in subclass.__mro__:
        if "__init__" not in vars(ancestor):
            continue
        parameters = list(signature(ancestor).parameters.values())
        open_ended = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        introduced = {p.name: ancestor for p in parameters if p.kind not in open_ended}
        names = introduced | names
        if ancestor is base or not any(p.kind is p.VAR_KEYWORD for p in parameters):
            break
    return names


def composed(*overrides: str, values: Mapping[str, str] = {}) -> dict[str, Any]:
    """The plain values of a training with these options, as its command would have them.

    Args:
        *overrides: as on the command line.
        values: texts by their dotted keys, such as paths, in which no sign has a meaning.

    Raises:
        InputError: an option does not exist; the message lists those that do.
    """
    return copy.deepcopy(_composed(overrides, tuple(values.items())))


@functools.cache
def _composed(
    overrides: tuple[str, ...], values: tuple[tuple[str, str], ...]
) -> dict[str, Any]:
    add_installed()
    # Of the command that calls this, if it is one of Hydra.
    command = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_module("siamese_news.conf", version_base="1.3"):
            config = compose("train", overrides=list(overrides))
            for key, value in values:
                # No interpolation, and no escape before one.
                text = re.sub(r"(\\*)\$\{", r"\1\1\\${", value)
                OmegaConf.update(config, key, text)
            plain: Any = OmegaConf.to_container(config, resolve=True)
    except HydraException as error:
        raise InputError(argument_error(error)) from error
    finally:
        GlobalHydra.instance().hydra = command
    return dict(plain)


def merged(options: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The options with the changes; anything but a mapping without a class takes its place."""
    result = dict(options)
    for name, value in changes.items():
        original = result.get(name)
        if OmegaConf.is_config(value):
            value = OmegaConf.to_container(value, resolve=True)
        are_mappings = isinstance(original, Mapping) and isinstance(value, Mapping)
        differs = are_mappings and "_target_" not in value
        result[name] = merged(original, value) if differs else value  # type: ignore[arg-type]
    return result


def add_installed() -> None:
    """Make encoders and rerankers of installed packages options, and those of `register_encoder`.

    Each has the plain values that its class has as defaults.
    """
    for kind, group in (("encoders", "encoder"), ("rerankers", "ranker")):
        of_packages = {
            name: load(point) for name, point in added(cast(Kind, kind)).items()
        }
        of_scripts = REGISTERED if kind == "encoders" else {}
        for name, component in {**of_scripts, **of_packages}.items():
            defaults = {
                parameter.name: parameter.default
                for parameter in signature(component).parameters.values()
                # The word vectors and the task set these.
                if parameter.name not in ("input_dim", "features")
                and isinstance(parameter.default, _PLAIN)
            }
            node = {
                "_target_": f"{component.__module__}.{component.__qualname__}",
                **defaults,
            }
            ConfigStore.instance().store(f"{name}.yaml", node, group)


def plain_options(config: DictConfig) -> dict[str, Any]:
    """The composed configuration of a command as plain values of the right types.

    Raises:
        InputError: a value has another type than its option declares, is unknown, or refers to one
            that is missing.
    """
    try:
        plain: Any = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        raise InputError(
            f"{error.full_key}: {str(error).splitlines()[0]}; give it on the command line: "
            f"{error.full_key}=VALUE"
        ) from error
    check_config(plain)
    return dict(plain)
