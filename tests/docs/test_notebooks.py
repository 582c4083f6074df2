"""The notebooks run from top to bottom, in a real kernel, without the real collections and with."""

import os
from pathlib import Path

import pytest

nbclient = pytest.importorskip(
    "nbclient", reason="the extra [notebook] is not installed"
)
nbformat = pytest.importorskip("nbformat")
FOLDER = Path(__file__).parents[2] / "notebooks"
# What each draws at least, and whether it takes seconds or minutes.
PICTURES = {
    "01_find_posts_about_a_story": 2,
    "02_learned_sparsity": 2,
    "03_case_study_boston": 2,
    "04_rerank_tweets": 1,
    "05_bring_your_own_encoder": 0,
    "06_the_library": 0,
    "07_certify_any_ranking": 1,
    "08_students_of_a_teacher": 2,
}
QUICK = {"03_case_study_boston"}
REAL = {"03_case_study_boston", "04_rerank_tweets"}  # take a collection where it is
NOTEBOOKS = sorted(path.stem for path in FOLDER.glob("*.ipynb"))


def read(name):
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


@pytest.fixture
def executed(tmp_path, monkeypatch):
    """What the cells of a notebook print and draw."""

    def execute(name):
        monkeypatch.setenv("TMPDIR", str(tmp_path))  # the kernels leave folders behind
        notebook = read(name)
        if any("siamese_news_desk" in cell.source for cell in notebook.cells):
            pytest.importorskip("siamese_news_desk")
        resources = {"metadata": {"path": str(tmp_path)}}
        nbclient.NotebookClient(notebook, timeout=1800, resources=resources).execute()
        outputs = [
            output for cell in notebook.cells for output in cell.get("outputs", [])
        ]
        said = "".join(o["text"] for o in outputs if o.get("name") == "stdout")
        return said, sum("image/png" in output.get("data", {}) for output in outputs)

    return execute


def test_all_are_known():
    assert set(NOTEBOOKS) == set(PICTURES)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_they_are_thin_and_committed_without_output(name):
    cells = [cell for cell in read(name).cells if cell.cell_type == "code"]
    lines = [
        line for cell in cells for line in cell.source.splitlines() if line.strip()
    ]
    assert 0 < len(lines) < 60
    assert not any(cell.outputs for cell in cells), (
        "clear the outputs before committing"
    )


@pytest.mark.parametrize(
    "name",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in PICTURES
    ],
)
def test_runs_on_the_bundled_stories(name, executed, monkeypatch):
    for variable in ("SIAMESE_NEWS_DATA", "SIAMESE_NEWS_VECTORS"):
        monkeypatch.delenv(variable, raising=False)
    said, pictures = executed(name)
    assert said
    assert pictures >= PICTURES[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(REAL & set(PICTURES)))
def test_runs_on_the_real_collection(name, executed):
    if "SIAMESE_NEWS_DATA" not in os.environ:
        pytest.skip("SIAMESE_NEWS_DATA does not name a folder; see docs/data.md")
    said, pictures = executed(name)
    assert "the bundled, invented stories" not in said
    assert pictures >= PICTURES[name]
