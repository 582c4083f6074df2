"""An option of conf/ as training composes it, from its file and those it is based on."""

import functools
import os
from typing import Any

from hydra import compose, initialize_config_module
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf

os.environ.setdefault("SIAMESE_NEWS_STAMP", "test")


@functools.cache
def _text(group: str, name: str) -> str:
    before = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_module("siamese_news.conf", version_base="1.3"):
            return OmegaConf.to_yaml(
                compose("train", overrides=[f"{group}={name}"])[group]
            )
    finally:
        GlobalHydra.instance().hydra = before


def option(group: str, name: str) -> dict[str, Any]:
    """The values of one option; references such as ``${sparsity}`` are left as they are."""
    return OmegaConf.to_container(OmegaConf.create(_text(group, name)), resolve=False)
