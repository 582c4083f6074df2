"""Fine-tuning starts at exactly the model one has, and is kept only if it is better."""

import json
import os

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf

from siamese_news.data.sources import evaluation_set, open_source
from siamese_news.encoders import TwoHeadEncoder, build_encoder
from siamese_news.errors import InputError
from siamese_news.lexical_head.head import TermHead, empty_bigram_counters
from siamese_news.lexical_head.options import FocusedPool, TermOptions
from siamese_news.model import Model
from siamese_news.scoring import open_scorer
from siamese_news.text import Vocabulary
from siamese_news.train import check_groups, train
from siamese_news.training import link
from siamese_news.training.finetune import Verdict, compare, trainable_copy

ARTICLES = [
    "Flood: river floods the town\nThe bridge of Qwertz is gone.",
    "Fire at night",
]
POSTS = ["flood in the town", "qwertz bridge!", "fire fire smoke", "nothing at all", ""]


@pytest.fixture
def shipped(tiny_model):
    words = tiny_model.vocabulary.words
    tiny_model.vocabulary = Vocabulary(words, unknown="hash")
    tiny_model.embedding.unknown_weight = 0.0
    tiny_model.embedding.stored = "int8"
    tiny_model.config = {**tiny_model.config, "lead": 4.0}
    tiny_model.encoder = build_encoder(tiny_model.config)
    tiny_model.terms = TermHead(
        np.arange(len(words)),
        empty_bigram_counters(),
        texts=50,
        typical=(8.0, 8.0),
        options=TermOptions(dense=0.25, focused_pool=FocusedPool(posts=5)),
    )
    return tiny_model


def test_before_training_every_score_is_the_same(shipped, tmp_path):
    shipped.save(tmp_path / "start", card="x")
    start = Model.load(tmp_path / "start")
    tuned = trainable_copy(start)
    assert not list(start.parameters())
    assert sum(p.numel() for p in tuned.parameters()) == 8 + 8 * 8
    expected = open_scorer(start, ARTICLES).scores(POSTS)
    np.testing.assert_allclose(
        open_scorer(tuned, ARTICLES).scores(POSTS), expected, atol=1e-6
    )
    # … and from the folder, whose words are rounded to int8.
    tuned.save(tmp_path / "tuned", card="x")
    again = Model.load(tmp_path / "tuned")
    np.testing.assert_allclose(
        open_scorer(again, ARTICLES).scores(POSTS), expected, atol=1e-6
    )


def test_training_further_drops_the_relevance_of_other_scores(shipped):
    shipped.calibration = Model.pretrained().calibration
    assert trainable_copy(shipped).calibration is None
    assert shipped.calibration is not None


def test_a_tuned_model_is_tuned_on_as_it_is(shipped):
    tuned = trainable_copy(shipped)
    with torch.no_grad():
        tuned.encoder.query.normal_()
    again = trainable_copy(tuned)
    assert again is not tuned
    torch.testing.assert_close(again.encoder.query, tuned.encoder.query)


def test_a_verdict_needs_an_interval_above_zero():
    assert str(Verdict(0.021, 0.004, 0.05, 40)).startswith(
        "better by +0.021 [+0.004, +0.050]"
    )
    assert Verdict(0.021, 0.004, 0.05, 40).better
    worse = Verdict(0.004, -0.002, 0.01, 40)
    assert not worse.better
    assert str(worse).startswith("not better: kept the model it started from")


def _run(shipped, out, *overrides):
    os.environ.setdefault("SIAMESE_NEWS_STAMP", "test")
    shipped.save(out / "start", card="the start's own card")
    options = [
        f"init={out / 'start'}",
        "data=my_pairs",
        "data.name=stories",
        "task.epochs=2",
        "task.bootstrap=20",
        "trainer.threads=1",
        *overrides,
    ]
    with initialize_config_module("siamese_news.conf", version_base="1.3"):
        return train(compose("train", overrides=options), out / "run")


def test_a_tokenizer_beside_that_of_the_start_is_refused():
    with initialize_config_module("siamese_news.conf", version_base="1.3"):
        config = compose("train", overrides=["init=models/star"])
    options = OmegaConf.to_container(config)
    message = (
        r"task\.tokenizer\.urls=… changes nothing in task=link with init=models/star"
    )
    with pytest.raises(InputError, match=message):
        check_groups(options, ["task.tokenizer.urls=keep"])
    check_groups({**options, "init": None}, ["task.tokenizer.urls=keep"])


def test_what_is_not_better_is_not_kept(shipped, tmp_path, caplog):
    # No step at all: the two are equal.
    row = _run(shipped, tmp_path, "task.optimizer.lr=0.0")
    assert row["better"] is False
    assert row["gain"] == pytest.approx(0, abs=1e-4)
    files = [tmp_path / name / "model.safetensors" for name in ("start", "run/model")]
    assert files[0].read_bytes() == files[1].read_bytes()
    kept = json.loads((tmp_path / "run/model/config.json").read_text())
    assert (
        kept["encoder"]
        == json.loads((tmp_path / "start/config.json").read_text())["encoder"]
    )


def test_what_is_better_is_kept_and_knows_its_pairs(
    shipped, tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr(link, "compare", lambda *_: Verdict(0.1, 0.05, 0.2, 9))
    with caplog.at_level("INFO"):
        row = _run(shipped, tmp_path, "task.optimizer.lr=0.01")
    assert row["better"] is True
    assert "better by +0.100" in caplog.text
    model = Model.load(tmp_path / "run/model")
    assert isinstance(model.encoder, TwoHeadEncoder)
    assert model.encoder.query.abs().sum() > 0
    assert model.limits == shipped.limits
    assert len(model.trained_on.articles["stories"]) > 3


def test_the_comparison_is_by_article(shipped):
    held_out = evaluation_set(open_source("stories"), {"split": "test"})
    same = compare(shipped, shipped, [held_out])
    assert (same.gain, same.lower, same.upper) == (0, 0, 0)
    assert same.articles == len(held_out.articles)
    assert not same.better


@pytest.mark.parametrize("better", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_what_decides_is_neither_trained_on_nor_reported(
    shipped, tmp_path, monkeypatch, better
):
    seen = {}

    def judge(tuned, start, held_out):
        seen["articles"] = {
            article.id for part in held_out for article in part.articles
        }
        return Verdict(0.1, 0.05 if better else -0.05, 0.2, 9)

    monkeypatch.setattr(link, "compare", judge)
    row = _run(shipped, tmp_path, "task.optimizer.lr=0.01")
    assert row["better"] is better
    document = json.loads((tmp_path / "run/evaluation/evaluation.json").read_text())
    (system,) = document["systems"].values()
    tested = set(system["per_article"]["AP"])
    assert seen["articles"]
    assert seen["articles"].isdisjoint(tested)
    record = Model.load(tmp_path / "run/model").trained_on
    assert not record.has_articles("stories", seen["articles"]).any()
    assert not record.has_articles("stories", tested).any()
    if better:
        assert len(record.articles["stories"]) > len(seen["articles"])


@pytest.mark.slow
def test_without_a_held_out_part_the_tuned_model_is_kept(shipped, tmp_path):
    row = _run(shipped, tmp_path, "task.optimizer.lr=0.01", "task.held_out=0")
    assert "better" not in row
    tuned = Model.load(tmp_path / "run/model")
    assert isinstance(tuned.encoder, TwoHeadEncoder)


def test_a_held_out_part_keeps_events_together_and_takes_nothing_else():
    from siamese_news.data.splits import HELD_OUT, hold_out

    stories = open_source("stories")
    cut = hold_out(stories, "train", 0.25, seed=3)
    before = stories.qrels["train"]
    train = cut.qrels["train"]
    held = cut.qrels[HELD_OUT]
    assert {**train, **held} == before
    assert train and held and not set(train) & set(held)
    events = [
        {stories.articles[a].metadata["event"] for a in part} for part in (train, held)
    ]
    assert events[0].isdisjoint(events[1])
    assert len(events[1]) == round(0.25 * len(events[0] | events[1]))
    assert (
        cut.qrels["dev"] == stories.qrels["dev"]
        and cut.qrels["test"] == stories.qrels["test"]
    )
    assert hold_out(stories, "train", 0.25, seed=3).qrels == cut.qrels
    with pytest.raises(InputError, match="between 0 and 1"):
        hold_out(stories, "train", 0.0, seed=3)
