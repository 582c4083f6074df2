"""Hard negatives: the best posts of other articles, without those that a teacher finds relevant."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_news import SiameseDataModule
from siamese_news.data.records import Article, Post
from siamese_news.data.splits import same_text_key
from siamese_news.errors import InputError
from siamese_news.training import hard_negatives as module
from siamese_news.training.hard_negatives import hard_negatives, owners

OPTIONS = {"per_article": 2, "ranker": "pretrained", "teacher": None, "below": 0.95}


def posts_with(*texts):
    return [Post(str(number), text) for number, text in enumerate(texts)]


def articles(count):
    return [Article(str(number), "", f"story {number}") for number in range(count)]


@pytest.fixture
def ranking(monkeypatch):
    """Scores (A, P) of the candidates take the place of the model that ships."""

    def use(scores, block=2):
        class Ranking:
            def __init__(self, texts):
                self.texts = texts

            def scores(self, texts):
                return scores[:, [self.texts.index(text) for text in texts]]

        monkeypatch.setattr(module, "BLOCK", block)
        monkeypatch.setattr(module, "open_start", lambda _: SimpleNamespace(terms=None))
        monkeypatch.setattr(module, "open_scorer", lambda *_, **options: None)
        monkeypatch.setattr(module, "observe_all", lambda _, texts: Ranking(texts))

    return use


def test_a_text_under_two_articles_and_one_without_words_are_nobodys():
    posts = posts_with(
        "the river rose", "THE river rose", "a bridge fell", "...", "boats"
    )
    assert owners(posts, [[0, 2, 3], [1, 4], [4]]) == {2: 0}
    assert owners(posts[:3], [[0, 1, 2]]) == {0: 0, 2: 0}, "one of two equal texts"


@given(st.integers(0, 1000), st.integers(1, 3), st.integers(1, 7))
@settings(deadline=None, max_examples=40)
def test_they_are_the_best_of_the_others(seed, count, block):
    dice = np.random.default_rng(seed)
    owner_of = np.repeat(np.arange(4), 3)
    scores = dice.random((4, 12)).astype(np.float32)
    posts_of = [np.flatnonzero(owner_of == article).tolist() for article in range(4)]
    with pytest.MonkeyPatch.context() as patch:
        ranking.__wrapped__(patch)(scores, block)
        negatives = hard_negatives(
            articles(4),
            posts_with(*(f"post {n}" for n in range(12))),
            posts_of,
            {**OPTIONS, "per_article": count},
            seed=0,
        )
    for article, pairs in enumerate(negatives):
        ranked = sorted(range(12), key=lambda post: -scores[article, post])
        wanted = [post for post in ranked if owner_of[post] != article][:count]
        assert pairs == [(owner_of[post], post) for post in wanted]


def test_a_post_that_the_teacher_finds_as_near_as_the_articles_own_is_left_out(
    ranking, monkeypatch
):
    # Article 0 has post 0; of the others the ranking prefers 1, then 2, then 3.
    ranking(np.array([[1, 0.9, 0.8, 0.7], *([[0.1] * 4] * 3)], np.float32))
    cosines = {"post 0": 0.8, "post 1": 0.77, "post 2": 0.75, "post 3": 0.1}

    def taught(seeds, texts, options):
        assert options["source"] == "some teacher"
        to_first = np.array([cosines[text] for text in texts])
        return (
            np.array([[1.0, 0.0]] * len(seeds), np.float16),
            np.stack([to_first, np.sqrt(1 - to_first**2)], axis=1).astype(np.float16),
        )

    monkeypatch.setattr(module, "taught", taught)
    posts = posts_with(*cosines)
    options = {**OPTIONS, "teacher": "some teacher"}
    first = hard_negatives(articles(4), posts, [[0], [1], [2], [3]], options, seed=0)[0]
    assert first == [(2, 2), (3, 3)], ".77 is above .95 times .8, .75 is below"
    options["below"] = 0.5
    first = hard_negatives(articles(4), posts, [[0], [1], [2], [3]], options, seed=0)[0]
    assert first[0] == (3, 3) and len(first) == 2, "the rest is drawn at random"


def test_every_article_of_a_batch_has_as_many_with_the_labels_of_their_own_articles():
    data = SiameseDataModule(
        "stories",
        vectors="glove50",
        hard_negatives={"per_article": 2},
        batching={"articles_per_batch": 8},
    )
    plain = SiameseDataModule(
        "stories", vectors="glove50", batching={"articles_per_batch": 8}
    )
    with_them, without = (list(module.train_dataloader()) for module in (data, plain))
    assert len(with_them) == len(without)
    train = data.train_set
    negatives = data._dataset.negatives
    for more, batch in zip(with_them, without, strict=True):
        assert more["article_labels"].tolist() == batch["article_labels"].tolist()
        added = len(more["post_labels"]) - len(batch["post_labels"])
        assert added == 2 * len(batch["article_labels"])
        assert len(more["post_ids"]) == len(more["post_labels"])
    for article, pairs in enumerate(negatives):
        own = {
            same_text_key(train.posts[post].text) for post in train.posts_of[article]
        }
        assert len({post for _, post in pairs}) == 2
        for owner, post in pairs:
            assert owner != article and post in train.posts_of[owner]
            assert same_text_key(train.posts[post].text) not in own


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"per_article": -1}, "expected a whole number, 0 or more"),
        ({"per_article": 1, "below": 0.0}, "expected a number, above 0"),
        ({"per_article": 1.5}, "expected a whole number"),
        ({"of": 2}, "unknown"),
    ],
)
def test_impossible_values_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        SiameseDataModule("stories", hard_negatives=options)


def test_batches_of_pairs_take_none():
    with pytest.raises(InputError, match="kind=articles"):
        SiameseDataModule(
            "stories", hard_negatives={"per_article": 1}, batching={"kind": "pairs"}
        )


def test_too_few_posts_of_other_articles_are_said(ranking):
    ranking(np.zeros((2, 2), np.float32))
    with pytest.raises(InputError, match="only 1 posts of other"):
        hard_negatives(
            articles(2), posts_with("one", "two"), [[0], [1]], OPTIONS, seed=0
        )


@pytest.mark.slow
def test_a_training_with_them_differs_from_one_without(tmp_path):
    import pytorch_lightning as pl

    from siamese_news import SiameseModule

    losses = []
    for count in (0, 3):
        pl.seed_everything(0)
        data = SiameseDataModule("stories", hard_negatives={"per_article": count})
        model = SiameseModule(encoder="cnn", vectors="glove50")
        trainer = pl.Trainer(
            max_steps=3,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            limit_val_batches=0,
            accelerator="cpu",
        )
        trainer.fit(model, datamodule=data)
        losses.append(float(trainer.callback_metrics["train/loss"]))
    assert losses[0] != losses[1]
