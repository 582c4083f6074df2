"""Bounds of lexical scores against sums that are made word by word."""

import random
from types import SimpleNamespace

import numpy as np
import pytest

from siamese_news import open_model, open_scorer
from siamese_news.lexical_head.term_ids import bigram_ids
from siamese_news.search.index import indexed_scorer
from siamese_news.search.index.bounds import Bounds
from siamese_news.search.index.chunks import Chosen, Chunk
from siamese_news.search.index.indexed_scorer import IndexedScorer
from siamese_news.search.index.post_index import open_index
from siamese_news.search.index.segment import Codes

from .conftest import SEEDS, WORDS, rows_of, run


def texts() -> list[str]:
    """Posts with words and pairs of the seeds, some of them again and again, some with none."""
    dice = random.Random(1)
    seeds = " ".join(SEEDS.values()).split()
    found = ["", "river", "river river river river"]
    for number in range(200):
        if number % 2:
            start = dice.randrange(len(seeds) - 8)
            found.append(" ".join(seeds[start : start + dice.randint(1, 8)]))
        else:
            found.append(" ".join(dice.choices(WORDS, k=dice.randint(0, 14))))
    return found


def test_bounds_are_above_the_scores_and_hardly_above_where_nothing_repeats() -> None:
    model = open_model()
    form = IndexedScorer.of(open_scorer(model, list(SEEDS.values()))).form
    ids = model.token_ids(texts())
    codes = Codes.of(len(model.vocabulary), 4)
    scales = (
        np.random.default_rng(0).uniform(0.1, 1.0, (len(ids), 2)).astype(np.float16)
    )
    segment = SimpleNamespace(
        starts=ids.offsets,
        codes=codes(ids.flat).astype(codes.dtype),
        scales=scales,
        width=codes.words + codes.buckets,
    )

    def chunk(start: int, end: int) -> Chunk:
        return Chunk(0, segment, start, end, np.arange(end - start))

    terms = dict(zip(form.columns.tolist(), form.terms.toarray().T, strict=True))
    nothing = np.zeros(len(SEEDS))
    bounds = Bounds(form, codes)
    found = bounds.lexical(segment, np.arange(len(ids)))
    rough = bounds.roughly(chunk(0, len(ids)))
    pairs = 0
    for number, own in enumerate(ids):
        words, both = set(own.tolist()), set(bigram_ids(own).tolist())
        pairs += len(both & terms.keys())
        score = scales[number, 0] * sum(
            (terms.get(one, nothing) for one in words), nothing
        )
        score = score + scales[number, 1] * sum(
            (terms.get(one, nothing) for one in both), nothing
        )
        assert (found[:, number] >= score).all()
        np.testing.assert_allclose(found[:, number], score, rtol=1e-3, atol=1e-6)
        assert rough[number] >= found[:, number].max() * (1 - 1e-6)  # single precision
    assert pairs > 100
    np.testing.assert_allclose(bounds.roughly(chunk(50, 120)), rough[50:120], rtol=1e-6)
    some = bounds.lexical(segment, np.array([7, 50, 119]))
    np.testing.assert_allclose(some, found[:, [7, 50, 119]], rtol=1e-6)
    one_seed = open_scorer(model, [SEEDS[next(iter(SEEDS))]])
    alone = Bounds(IndexedScorer.of(one_seed).form, codes)
    words_alone = alone.lexical(segment, np.arange(len(ids)))[0]
    assert (alone.roughly(chunk(0, len(ids))) >= words_alone * (1 - 1e-6)).all()


@pytest.mark.parametrize(
    ("articles", "most"), [(1, 1 << 16), (5, 1 << 16), (10_000, 419)]
)
def test_bounds_of_many_articles_are_made_of_few_posts_at_once(articles, most):
    chosen = Chosen([range(300_000)], [np.ones(300_000, bool)], Codes.of(100, 4))
    sizes = [chunk.end - chunk.start for chunk in chosen.chunks(articles)]
    assert max(sizes) == most and sum(sizes) == 300_000


def test_what_is_counted_of_posts_is_what_a_scorer_counts(pool) -> None:
    model = open_model()
    scorer = open_scorer(model, list(SEEDS.values()))
    index = open_index(pool / "posts.index", model)
    dice, posts = np.random.default_rng(0), list(index)
    for share in (0.0, 0.2, 0.8, 1.0):
        masks = [dice.random(len(one)) < share for one in index._segments]
        chosen = Chosen(index._segments, masks, index.manifest.codes)
        kept = [
            post.text
            for post, kept in zip(posts, np.concatenate(masks), strict=True)
            if kept
        ]
        counts = np.zeros_like(chosen.counted())
        scorer.basis.surface.count(model.token_ids(kept), counts)
        np.testing.assert_array_equal(chosen.counted(), counts)
    assert counts[len(model.vocabulary) :].sum() > 100


def test_a_search_without_a_table_of_squares_finds_the_same(pool, monkeypatch) -> None:
    ask = (
        "rank",
        "--articles",
        *(pool / name for name in SEEDS),
        "--index",
        pool / "posts.index",
    )
    run(*ask, "--top", 7, "--out", pool / "by_table.jsonl")
    monkeypatch.setattr(indexed_scorer, "_CELLS", 1)
    run(*ask, "--top", 7, "--out", pool / "by_posts.jsonl")
    assert rows_of(pool / "by_table.jsonl") == rows_of(pool / "by_posts.jsonl")
