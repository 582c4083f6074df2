"""Options that installed packages add, and values of the wrong type found before any reading."""

from collections.abc import Iterator, Mapping
from inspect import signature
from typing import Any, cast

from hydra import compose
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from siamese_news.errors import InputError
from siamese_news.utils.plugins import Kind, added, load, package_of

_PLAIN = (bool, int, float, str, list, tuple, dict, type(None))
# Examples of values for keys that the files of conf/ leave null.
_NULL = {
    "chunks_per_epoch": 4,
    "collection_words": 2,
    "gradient_clip": 1.0,
    "gradient_clip_val": 1.0,
    "lead": 20.0,
    "max_words": 100000,
    "monitor": "dev/map",
    "negatives": 4,
    "output_dim": 300,
    "patience": 5,
    "project_to": 100,
    "remove_components": 3,
    "scale": 1.0,
    "threads": 2,
    "unknown_range": 0.05,
}
# Keys that take values of several types, which their users check.
_SEVERAL = set(
    "model trainer.deterministic trainer.devices trainer.fast_dev_run trainer.precision "
    "trainer.profiler".split()
)
_EXPECTED = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a mapping",
}


def add_installed() -> None:
    """Make the encoders and rerankers of installed packages options: ``encoder=NAME``.

    Each has the plain values that its class has as defaults.
    """
    for kind, group in (("encoders", "encoder"), ("rerankers", "ranker")):
        for name, point in added(cast(Kind, kind)).items():
            parameters = signature(load(point)).parameters.values()
            defaults = {
                one.name: one.default
                for one in parameters
                # The word vectors and the task set these.
                if one.name not in ("input_dim", "features") and isinstance(one.default, _PLAIN)
            }
            node = {"_target_": f"{point.module}.{point.attr}", **defaults}
            ConfigStore.instance().store(f"{name}.yaml", node, group, provider=package_of(point))


def plain_options(config: DictConfig) -> dict[str, Any]:
    """The composed configuration of a command as plain values of the right types.

    A value is compared with that of the option files it was composed from, before any value was
    changed on the command line or by an experiment.

    Raises:
        InputError: a value has another type than that in the files, or refers to one that is
            missing.
    """
    try:
        plain: Any = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        raise InputError(
            f"{error.full_key}: {str(error).splitlines()[0]}; give it on the command line: "
            f"{error.full_key}=VALUE"
        ) from error
    settings = HydraConfig.get()
    chosen = {
        group: choice
        for group, choice in settings.runtime.choices.items()
        if choice is not None and group.partition("/")[0] not in ("experiment", "hydra")
    }
    overrides = [f"{group}={choice}" for group, choice in chosen.items()]
    try:
        files = compose(settings.job.config_name, overrides=["~experiment", *overrides])
    except HydraException:  # groups that the user's own files add
        return plain
    for key, value, example in _changed(plain, files, ""):
        expected = _EXPECTED[type(example)]
        quoted = f"; as text, it needs quotes: \"{key}='{value}'\"" if expected == "text" else ""
        shown = str(example).lower() if isinstance(example, bool) else example
        raise InputError(f"{key}={value}: expected {expected}, such as {shown}{quoted}")
    return plain


def _changed(value: Any, example: Any, key: str) -> Iterator[tuple[str, Any, Any]]:
    """Key, value and example of each value that has another type than its example."""
    if value is None or key in _SEVERAL:
        return
    if example is None:
        example = _NULL.get(key.rpartition(".")[2])
    kind = type(value)
    if isinstance(example, Mapping):
        if kind is not dict:
            yield key, value, OmegaConf.to_container(example)
        elif value.get("_target_") == _item(example, "_target_"):
            for name, inner in value.items():
                dotted = f"{key}.{name}" if key else str(name)
                yield from _changed(inner, _item(example, name), dotted)
    elif OmegaConf.is_list(example):
        if kind is not list:
            yield key, value, OmegaConf.to_container(example)
        elif len(example):
            for number, item in enumerate(value):
                yield from _changed(item, _item(example, 0), f"{key}[{number}]")
    elif example is not None:
        if kind is not type(example) and (type(example), kind) != (float, int):
            yield key, value, example


def _item(node: Any, name: Any) -> Any:
    """An entry of a configuration; None where there is none or it refers to one that is missing."""
    try:
        return node.get(name) if isinstance(node, Mapping) else node[name]
    except OmegaConfBaseException:
        return None
