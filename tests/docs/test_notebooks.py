"""The notebooks run: with one batch an epoch in `make test`, as they are in `make test-all`."""

import json
import logging
import os
import sys
import types
import warnings
from pathlib import Path

import pytest

nbclient = pytest.importorskip(
    "nbclient", reason="the extra [notebook] is not installed"
)
nbformat = pytest.importorskip("nbformat")
FOLDER = Path(__file__).parents[2] / "notebooks"
# What each draws at least.
PICTURES = {
    "01_find_posts_about_a_story": 1,
    "02_learned_sparsity": 2,
    "03_case_study_boston": 2,
    "04_rerank_tweets": 1,
    "05_bring_your_own_encoder": 0,
    "06_the_library": 0,
    "07_certify_any_ranking": 1,
    "08_students_of_a_teacher": 2,
}
SECONDS = {"07_certify_any_ranking"}  # which nothing shortens
REAL = {"03_case_study_boston", "04_rerank_tweets"}  # take a collection where it is
NOTEBOOKS = sorted(path.stem for path in FOLDER.glob("*.ipynb"))


def read(name):
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def code_of(name):
    return [cell.source for cell in read(name).cells if cell.cell_type == "code"]


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


@pytest.fixture
def shortened(tmp_path, monkeypatch):
    """Runs a notebook's code here, every option as it is written, with one batch an epoch."""
    from siamese_news import train as command
    from siamese_news.encoders import ENCODERS

    for variable in ("SIAMESE_NEWS_DATA", "SIAMESE_NEWS_VECTORS"):
        monkeypatch.setenv(variable, "")  # restored afterwards, if a notebook sets it
        monkeypatch.delenv(variable)
    for part in ("TRAIN", "VAL", "TEST"):
        monkeypatch.setenv(f"PL_TRAINER_LIMIT_{part}_BATCHES", "1")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("matplotlib.pyplot.show", lambda: None)
    known = dict(ENCODERS)
    train = command.train

    def one_batch(config, out):
        config.trainer.update(limit_train_batches=1, limit_val_batches=1)
        return train(config, out)

    monkeypatch.setattr(command, "train", one_batch)
    page = types.ModuleType("notebook_page")
    monkeypatch.setitem(sys.modules, page.__name__, page)

    def run(cells):
        import matplotlib.pyplot as plt

        with warnings.catch_warnings():
            for source in cells:
                exec(compile(source, "<cell>", "exec"), page.__dict__)
        figures = len(plt.get_fignums())
        plt.close("all")
        return figures

    yield run
    ENCODERS.clear()
    ENCODERS.update(known)
    logging.disable(logging.NOTSET)
    logging.getLogger("pytorch_lightning").setLevel(logging.NOTSET)


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


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", sorted(set(PICTURES) - SECONDS))
def test_every_option_that_it_names_is_taken(name, shortened, capsys):
    assert shortened(code_of(name)) >= PICTURES[name]
    assert capsys.readouterr().out


def test_an_option_that_training_refuses_is_seen_in_a_notebook(shortened, tmp_path):
    """As in the cell that asked for no epochs and ran for nobody."""
    from siamese_news.errors import InputError

    cell = """
from pathlib import Path
from hydra import compose, initialize_config_module
from siamese_news.train import train
options = ["encoder=cnn", "vectors=glove50", "task.bootstrap=0", {option}]
with initialize_config_module("siamese_news.conf", version_base="1.3"):
    train(compose("train", overrides=options), Path({folder}))
"""
    folder = json.dumps(str(tmp_path / "out"))
    for option, says in (
        ("task.epochs=0", "expected 1 or more"),
        ("trainer.gradient_clip_val=-1", "a number from 0"),
    ):
        with pytest.raises(InputError, match=says):
            shortened([cell.format(option=json.dumps(option), folder=folder)])


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
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
