"""The workflows: every action is pinned by its hash, and they test what the package promises."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_and_permissions_named(path):
    text = path.read_text(encoding="utf-8")
    uses = re.findall(r"uses: (.*)", text)
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use) for use in uses), uses
    workflow = yaml.safe_load(text)
    assert "permissions" in workflow
    assert all("timeout-minutes" in job for job in workflow["jobs"].values())
    for target in set(re.findall(r"run: make ([a-z -]+)", text)):
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        names = [word for word in target.split() if re.fullmatch(r"[a-z-]+", word)]
        assert all(re.search(rf"^{name}:", makefile, flags=re.M) for name in names), target


def test_every_promised_system_and_python_is_tested():
    ci = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    matrix = ci["jobs"]["test"]["strategy"]["matrix"]
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    promised = set(re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project))
    assert promised == set(matrix["python"]) and f'">={min(promised)}"' in project
