"""Every option composes, and every class it names can be built."""

from itertools import zip_longest
from pathlib import Path

import pytest
from hydra import compose, initialize_config_module
from hydra.utils import instantiate
from omegaconf import OmegaConf
from tests import composed

from siamese_news import open_model
from siamese_news.encoders import ENCODERS
from siamese_news.lexical_head.options import TermOptions
from siamese_news.training.build import plain_config

CONF = Path(__file__).parents[2] / "conf"


def options(group):
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


@pytest.fixture(scope="module", autouse=True)
def _conf():
    import os

    os.environ.setdefault("SIAMESE_NEWS_STAMP", "test")
    with initialize_config_module("siamese_news.conf", version_base="1.3"):
        yield


GROUPS = (
    "task",
    "module",
    "encoder",
    "sparsity",
    "objective",
    "data",
    "vectors",
    "trainer",
    "ranker",
    "terms",
    "logger",
    "callbacks",
)


# The first option of each group together, then the second ones, and so on.
ROUNDS = zip_longest(
    *([f"{group}={option}" for option in options(group)] for group in GROUPS)
)
TRAINED = [option for option in options("experiment") if "evaluate" not in option]


@pytest.mark.parametrize(
    "overrides",
    [
        *(list(filter(None, some)) for some in ROUNDS),
        *([f"experiment={one}"] for one in TRAINED),
    ],
    ids=" ".join,
)
def test_every_option_composes(overrides):
    config = compose("train", overrides=overrides)
    OmegaConf.to_container(config, resolve=False)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "override",
    [f"data={option}" for option in options("data")] + ["experiment=demo_evaluate"],
)
def test_evaluate_composes(override):
    compose("evaluate", overrides=[override])


@pytest.mark.parametrize("option", options("encoder"))
def test_every_encoder_builds_and_is_in_the_table(option):
    config = compose("train", overrides=[f"encoder={option}"])
    plain = OmegaConf.to_container(config.encoder, resolve=True)
    encoder = instantiate(plain, input_dim=20)
    assert type(encoder) is ENCODERS[plain_config(plain)["class"]]


@pytest.mark.parametrize("option", options("trainer"))
def test_trainer_options_are_the_trainers_own(option):
    import inspect

    import pytorch_lightning as pl

    assert set(composed.option("trainer", option)) - {"threads", "_target_"} <= set(
        inspect.signature(pl.Trainer).parameters
    )


def test_an_unknown_option_lists_the_choices():
    with pytest.raises(Exception, match="Available options in 'encoder'"):
        compose("train", overrides=["encoder=lstm"])


def test_the_lexical_head_has_the_same_numbers_wherever_they_are_spelled():
    """An option for Hydra, the defaults in Python, and the record in the shipped model."""
    terms = compose("train", overrides=["terms=default"]).terms
    assert OmegaConf.to_container(terms) == TermOptions().plain()
    assert open_model().terms.options == TermOptions()
