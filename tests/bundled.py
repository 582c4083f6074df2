"""What is in the package and a process reads once, however many commands of it ask for it."""

import copy
import functools
import pickle
from pathlib import Path
from typing import Any

import pytest
from hydra._internal.core_plugins.importlib_resources_config_source import (
    ImportlibResourcesConfigSource,
)

from siamese_news.model import loading
from siamese_news.model.base import TextModel

_model_of = loading.model_of
_bundled = functools.cache(loading.model_of)
_read_config = ImportlibResourcesConfigSource._read_config
_configs: dict[str, bytes] = {}


def model_of(folder: Path) -> TextModel:
    """As `loading.model_of`; the bundled model is a copy, so that a test may change it."""
    return (
        copy.copy(_bundled(folder))
        if folder == loading.PRETRAINED
        else _model_of(folder)
    )


def read_config(source: ImportlibResourcesConfigSource, file: Path) -> Any:
    """As Hydra reads a file of conf/; to parse YAML takes a third of a composition."""
    config = _configs.get(str(file))
    if config is None:
        config = _configs[str(file)] = pickle.dumps(_read_config(source, file))
    return pickle.loads(config)


def read_once(patch: pytest.MonkeyPatch) -> None:
    """Let this process read both once, until the patch is undone."""
    patch.setattr(loading, "model_of", model_of)
    patch.setattr(ImportlibResourcesConfigSource, "_read_config", read_config)
