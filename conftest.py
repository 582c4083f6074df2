"""Fixtures shared by every room."""

import functools
import gc
import itertools
import os
import signal
import sys
import zlib
from pathlib import Path

import hypothesis
import pytest
import typer.testing
from hypothesis.internal.conjecture import providers
from tests.bundled import hash_once, model_of

from siamese_news.model import loading
from siamese_news.utils import provenance

# No test is timed: how long an example takes depends on what else the machine does. The examples
# are the same in every run, so that what passes here passes in CI; --hypothesis-profile=explore
# draws others, and `make fuzz` looks for what nobody thought of.
hypothesis.settings.register_profile("explore", deadline=None)
hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=True)
# The first of them, for `make test`; `make test-all` draws them all.
hypothesis.settings.register_profile(
    "first", deadline=None, derandomize=True, max_examples=30
)
hypothesis.settings.load_profile("repeatable")

# What a shell runs in the background ignores Ctrl-C, and what nohup runs SIGHUP; so would every
# process that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_configure(config: pytest.Config) -> None:
    """Keep the constants of our own code out of the examples that are the same in every run.

    Hypothesis draws from the constants of whatever modules of the project are imported by then,
    which differs with the order of the tests and from worker to worker; there is no setting.
    """
    assert callable(providers.is_local_module_file), (
        "hypothesis has another way to find constants"
    )
    if (
        not config.getoption("--hypothesis-profile")
        and "not slow" in config.option.markexpr
    ):
        hypothesis.settings.load_profile("first")
    if config.getoption("--hypothesis-profile") != "explore":
        providers.is_local_module_file = lambda path: False


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test with the mark ``sampled(n)``, n cases stay in `make test`; the others are slow.

    These are the first one, and n - 1 others that a checksum of their names draws.
    """
    cases_of: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled") and not item.get_closest_marker("slow"):
            cases_of.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for main, *further in cases_of.values():
        mark = main.get_closest_marker("sampled")
        assert mark is not None
        further.sort(key=lambda item: zlib.crc32(item.nodeid.encode()))
        for item in further[mark.args[0] - 1 :]:
            item.add_marker("slow")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage while the tests are imported, nor among what was imported: it stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    """Let the interpreter collect at its end what it has imported."""
    gc.unfreeze()


def _folder(variable: str) -> Path:
    value = os.environ.get(variable)
    if not value or not Path(value).is_dir():
        pytest.skip(f"{variable} does not name a folder; see docs/data.md")
    return Path(value)


@pytest.fixture(scope="session", autouse=True)
def once():
    """What each command of a process would make anew: their tree, the revision, the model."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            typer.testing, "_get_command", functools.cache(typer.main.get_command)
        )
        patch.setattr(loading, "model_of", model_of)
        hash_once(patch.setattr)
        # What a test writes need not outlive the machine; each call waits for the disk.
        patch.setattr(os, "fsync", lambda file: None)
        patch.setattr(provenance, "_revision", functools.cache(provenance._revision))
        yield


_STATES = itertools.count()


@pytest.fixture(scope="module", autouse=True)
def own_state_of_the_fixtures(tmp_path_factory):
    """The same for what the fixtures of a module start: their plans are not in the user's list."""
    folder = tmp_path_factory.getbasetemp() / "states" / str(next(_STATES))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder))
        yield


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory, monkeypatch):
    """The user's list of plans: a test knows nothing of the plans of another one.

    Nor of a training that it has started in this process, which asks Hydra for whole errors.
    """
    folder = tmp_path_factory.getbasetemp() / "states" / str(next(_STATES))
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)


@pytest.fixture(autouse=True)
def torch_threads():
    """A test that trains in this process leaves the others their number of threads."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the shared collections (BEIR layout)."""
    return _folder("SIAMESE_NEWS_DATA")


@pytest.fixture(scope="session")
def vectors_dir() -> Path:
    """The folder of word vectors."""
    return _folder("SIAMESE_NEWS_VECTORS")


WORDS = [
    "the",
    "a",
    "of",
    "in",
    "flood",
    "river",
    "water",
    "town",
    "bridge",
    "rescue",
    "fire",
    "smoke",
    "train",
    "strike",
    "vote",
    "mayor",
    "rain",
    "boat",
    "street",
    "night",
    "help",
    "news",
]


@pytest.fixture
def tiny_model():
    """A mean of random word vectors: small, untrained, and everything a model has."""
    import torch

    from siamese_news.encoders import BagEncoder, TokenEmbedding
    from siamese_news.model import Model
    from siamese_news.text import Tokenizer, Vocabulary

    generator = torch.Generator().manual_seed(0)
    embedding = TokenEmbedding(
        torch.randn(len(WORDS), 8, generator=generator),
        trainable=False,
        token_weights=torch.linspace(0.5, 2.0, len(WORDS)),
    )
    options = {
        "class": "BagEncoder",
        "input_dim": 8,
        "weighting": "idf",
        "output_dim": None,
    }
    model = Model(
        tokenizer=Tokenizer(words=WORDS),
        vocabulary=Vocabulary(WORDS, unknown="drop"),
        embedding=embedding,
        encoder=BagEncoder(input_dim=8, weighting="idf", output_dim=None),
        limits={"article_tokens": 50, "post_tokens": 20, "keep": "first"},
        config=options,
    )
    model.trained_on.add("x", articles=["a1"], posts=["p1"])
    return model.eval()
