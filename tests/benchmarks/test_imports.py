"""Benchmarks, tables of the papers and examples can be imported: what they use exists."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for folder in ("benchmarks", "papers", "examples")
    for path in (ROOT / folder).rglob("*.py")
    if not path.stem.startswith("__")
)


@pytest.mark.parametrize("name", MODULES)
def test_it_can_be_imported(name):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        assert missing not in ("siamese_news", "benchmarks", "papers"), error
        pytest.skip(f"needs {missing}")
