"""Options by name, options that installed packages add, and a command's options as plain values."""

import copy
import functools
import re
from collections.abc import Mapping
from importlib import resources
from inspect import signature
from typing import Any, cast

import numpy as np
from hydra import compose, initialize_config_module
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pytorch_lightning.utilities.parsing import collect_init_args

from siamese_news.encoders import REGISTERED
from siamese_news.errors import InputError
from siamese_news.training.launch import argument_error
from siamese_news.training.schema import check_config
from siamese_news.utils.plugins import Kind, added, load

_PLAIN = (bool, int, float, str, list, tuple, dict, type(None))


def init_values(frame: Any, base: type) -> dict[str, Any]:
    """The plain values among the arguments of a constructor and of those that called it.

    Args:
        frame: of the constructor of `base`; those of its subclasses are looked for behind it.
        base: the class.
    """
    values: dict[str, Any] = {}
    for arguments in collect_init_args(frame, [], classes=(base,)):
        values |= arguments
    # A checkpoint with numbers of numpy cannot be read without running code.
    values = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in values.items()
    }
    return {name: value for name, value in values.items() if is_plain(value)}


def is_plain(value: Any) -> bool:
    """Whether a value is made of numbers, texts, lists and mappings alone."""
    if isinstance(value, dict):
        return all(map(is_plain, value.values()))
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    return isinstance(value, _PLAIN)


def options_of(module_class: type, base: type) -> list[str]:
    """The arguments that a class takes, with those that it passes to the classes up to `base`."""
    names: dict[str, None] = {}
    for ancestor in module_class.__mro__:
        if "__init__" not in vars(ancestor):
            continue
        parameters = list(signature(ancestor).parameters.values())
        names |= {p.name: None for p in parameters if p.kind is not p.VAR_KEYWORD}
        if ancestor is base or not any(p.kind is p.VAR_KEYWORD for p in parameters):
            break
    return list(names)


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


@functools.cache
def names_of(group: str) -> frozenset[str]:
    """The names of the options of a group, such as ``data``."""
    files = resources.files("siamese_news.conf").joinpath(group).iterdir()
    return frozenset(
        file.name[: -len(".yaml")] for file in files if file.name.endswith(".yaml")
    )


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
