"""The README's Python code runs and prints what it says; its options exist."""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.S)


def test_the_import_example_prints_its_shapes():
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(BLOCKS[0], {})
    promised = re.search(r"print\(.*# (.*)", BLOCKS[0]).group(1)
    assert out.getvalue().strip() == promised
    assert len(BLOCKS[0].strip().splitlines()) <= 10


def test_the_model_example_runs():
    names: dict = {}
    exec(BLOCKS[1], names)
    assert names["scores"].shape == (1, 1)


@pytest.mark.parametrize(
    ("group", "options"),
    re.findall(r"^\| `(\w+)` \| (`[^|]*) \|$", README, flags=re.M),
)
def test_named_options_exist(group, options):
    for option in re.findall(r"`(\w+)`", options):
        assert (ROOT / "conf" / group / f"{option}.yaml").is_file(), f"{group}={option}"


def test_named_targets_are_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"\bmake ([a-z][a-z-]*)", README)):
        assert re.search(rf"^{target}:", makefile, flags=re.M), target
