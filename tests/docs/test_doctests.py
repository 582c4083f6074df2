"""The examples of the public docstrings run and print what they say."""

import doctest
import importlib.util
import inspect
import pkgutil
from pathlib import Path

import pytest

ROOMS = (
    "encoders",
    "sparsity",
    "attention",
    "metrics",
    "model",
    "scoring",
    "data.records",
)
MODULES = ["siamese_news", "siamese_news.errors", "siamese_news.search.searcher"]
for room in ROOMS:
    package = importlib.import_module(f"siamese_news.{room}")
    MODULES.append(package.__name__)
    folders = getattr(package, "__path__", [])
    found = pkgutil.iter_modules(folders, f"{package.__name__}.")
    # Loops in C lie next to the modules, and are none.
    loops = {path.stem for folder in folders for path in Path(folder).glob("*.so")}
    MODULES += [m.name for m in found if m.name.rpartition(".")[2] not in loops]
PUBLIC = [
    "siamese_news",
    *(f"siamese_news.{room}" for room in ROOMS if room != "data.records"),
]
DESK = "siamese_news_desk"
if importlib.util.find_spec(DESK):
    desk = importlib.import_module(DESK)
    PUBLIC.append(DESK)
    MODULES += [
        DESK,
        *(found.name for found in pkgutil.walk_packages(desk.__path__, f"{DESK}.")),
    ]
# No example can be shorter than what it says: others implement it.
WITHOUT = {"Scorer"}


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=options)
    assert not failed


@pytest.mark.parametrize("room", PUBLIC)
def test_every_public_name_has_an_example_and_its_arguments(room):
    module = importlib.import_module(room)
    for name in set(module.__all__) - WITHOUT:
        value = getattr(module, name)
        if not getattr(value, "__module__", "").startswith("siamese_news"):
            continue
        if inspect.isclass(value) or inspect.isfunction(value):
            said = inspect.getdoc(value) or ""
            assert ">>> " in said, f"{room}.{name} has no example"
            if inspect.isfunction(value) and inspect.signature(value).parameters:
                assert "Args:" in said, f"{room}.{name} does not name its arguments"
