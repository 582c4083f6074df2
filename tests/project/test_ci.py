"""The workflows: every action is pinned by its hash, and they test what the package promises."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_and_permissions_named(path):
    text = path.read_text(encoding="utf-8")
    uses = re.findall(r"uses: (?!\./)(.*)", text)  # those of other repositories
    assert all(
        re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use) for use in uses
    ), uses
    workflow = yaml.safe_load(text)
    assert "permissions" in workflow
    assert all(
        "timeout-minutes" in job or "uses" in job for job in workflow["jobs"].values()
    )
    for target in set(re.findall(r"run: make ([a-z -]+)", text)):
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        names = [word for word in target.split() if re.fullmatch(r"[a-z-]+", word)]
        assert all(re.search(rf"^{name}:", makefile, flags=re.M) for name in names), (
            target
        )


def test_a_job_that_may_write_runs_no_code_of_ours_or_of_packages():
    writing = {}
    for path in WORKFLOWS:
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert "write" not in dict(workflow["permissions"]).values(), path.name
        for name, job in workflow["jobs"].items():
            if "write" in job.get("permissions", {}).values():
                ran = [step["run"] for step in job["steps"] if "run" in step]
                writing[path.stem, name] = ran
    assert set(writing) == {
        ("release", "publish"),
        ("release", "announce"),
        ("docs", "deploy"),
    }
    for ran in writing.values():
        assert all(re.match(r"(git|gh) ", line) for line in ran), ran


def test_a_release_waits_for_every_test_and_for_the_documentation_with_its_notebooks():
    jobs = yaml.safe_load(
        (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    )["jobs"]
    called = ROOT / jobs["checks"]["uses"]
    assert "checks" in jobs["publish"]["needs"]
    steps = yaml.safe_load(called.read_text(encoding="utf-8"))["jobs"]["slow"]["steps"]
    assert {"make test-all", "make docs"} <= {step.get("run") for step in steps}


def test_a_release_is_built_by_tools_with_hashes_from_one_index():
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    assert "INDEX" not in text and "make build" in text
    version = re.search(r"gh-action-pypi-publish@\w+ # v(\d+)\.(\d+)", text)
    assert tuple(map(int, version.groups())) >= (1, 13)  # GHSA-vxmw-7h4f-hqxh
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = makefile.partition("\nbuild:")[2].partition("\n\n")[0]
    assert "--require-hashes" in recipe and "--no-isolation" in recipe
    tools = re.search(r"BUILD_TOOLS := (.*)", makefile)[1].split("|")
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for tool in tools:
        assert re.search(rf"^{tool}==\S+ \\\n +--hash=sha256:", lock, flags=re.M), tool


def test_every_promised_system_and_python_is_tested():
    ci = yaml.safe_load(
        (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    )
    matrix = ci["jobs"]["test"]["strategy"]["matrix"]
    assert {name.partition("-")[0] for name in matrix["os"]} == {
        "ubuntu",
        "macos",
        "windows",
    }
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    promised = set(re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project))
    assert promised == set(matrix["python"]) and f'">={min(promised)}"' in project
