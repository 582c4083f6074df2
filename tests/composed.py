"""An option of conf/ as Hydra composes it, from its file and those it is based on."""

import copy
import functools
import os
from typing import Any

from hydra import compose, initialize_config_module
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf

os.environ.setdefault("SIAMESE_NEWS_STAMP", "test")


@functools.cache
def _composed(group: str, name: str) -> dict[str, Any]:
    before = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_module("siamese_news.conf", version_base="1.3"):
            return OmegaConf.to_container(
                compose(f"{group}/{name}")[group], resolve=False
            )
    finally:
        GlobalHydra.instance().hydra = before


def option(group: str, name: str) -> dict[str, Any]:
    """The values of one option; references such as ``${sparsity}`` are left as they are."""
    return copy.deepcopy(_composed(group, name))
