"""The model that ships: small, whole, and useful at once."""

from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from siamese_news.data.beir import bundled
from siamese_news.data.sources import evaluation_set
from siamese_news.evaluation.system_results import evaluate_model
from siamese_news.model import Model
from siamese_news.scoring import open_scorer

FOLDER = Path(str(resources.files("siamese_news"))) / "pretrained"


@pytest.fixture(scope="module")
def model():
    return Model.pretrained()


def test_it_is_at_most_6_megabytes():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) <= 6_000_000


def test_it_finds_the_posts_of_invented_stories(model):
    """The stories' test part was not trained on; a dense mean of GloVe has .2 there."""
    test = evaluation_set(bundled(), {"split": "test"})
    result = evaluate_model(model, "shipped", test, bootstrap=0).evaluation
    assert result.macro["AP"] > 0.6
    assert result.pooled["AUC"] > 0.85


def test_the_card_says_what_a_reader_needs():
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    for part in (
        "## Use",
        "licenses",
        "## Where it fails",
        "Satire",
        "revision",
        "dev map",
    ):
        assert part in card, part


def test_it_remembers_what_it_was_trained_on(model):
    trained = model.trained_on.articles
    assert {"usatoday-cnn", "fnc1", "stories"} <= set(trained)
    assert not {"signal1m", "crisislex-boston"} & set(trained)
    test = bundled().qrels["test"]
    assert (
        len(trained["stories"])
        and not model.trained_on.has_articles("stories", test).any()
    )


def test_its_config_is_short_and_the_training_ids_are_hashes(model):
    assert (FOLDER / "config.json").stat().st_size < 5_000
    assert model.trained_on.has_articles(
        "usatoday-cnn", ["usa-000", "none"]
    ).tolist() == [1, 0]
    assert model.trained_on.has_posts("stories", ["s05-p01", "s01-p01"]).tolist() == [
        1,
        0,
    ]
    assert model.trained_on.has_fingerprints(
        ["000854c7162a2563", "0" * 16]
    ).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("article", "post"),
    [
        ("", "flood"),
        ("Überschwemmung in Köln", "flood"),
        ("flood", ""),
        ("🔥", "🔥🔥"),
        ("a", "a"),
    ],
)
def test_odd_texts_have_finite_scores(model, article, post):
    assert np.isfinite(open_scorer(model, [article]).scores([post])).all()


def test_the_same_words_score_higher_than_others(model):
    scorer = open_scorer(
        model, ["Ferry sinks off Lesbos\nThirteen migrants drowned on Tuesday."]
    )
    same, near, other = scorer.scores(
        [
            "13 migrants drowned as ferry sinks",
            "boat with refugees capsized",
            "new phone is out",
        ]
    )[0]
    assert same > near > other
