from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_news.data.collate import conflicts_of, share
from siamese_news.data.samplers import ArticleBatchSampler, PairBatchSampler
from siamese_news.errors import InputError

own_posts = st.lists(st.integers(1, 9), min_size=2, max_size=14)


def separate(counts):
    """Articles with so many posts each, none shared."""
    starts = np.cumsum([0, *counts])
    return [list(range(a, b)) for a, b in pairwise(starts)]


def make(posts, **options):
    options = {"articles_per_batch": 4, "posts_per_article": 3, "seed": 5, **options}
    lengths = [7 + 13 * n % 50 for n in range(len(posts))]
    return ArticleBatchSampler(posts=posts, lengths=lengths, **options)


def bigram_ids(batches):
    return Counter((a, p) for batch in batches for a, posts in batch for p in posts)


shared = st.lists(
    st.lists(st.integers(0, 25), min_size=1, max_size=6, unique=True),
    min_size=2,
    max_size=12,
)


@settings(max_examples=80, deadline=None)
@given(
    counts=own_posts,
    size=st.integers(2, 6),
    m=st.integers(1, 4),
    epoch=st.integers(0, 3),
)
def test_every_pair_once_and_no_article_twice(counts, size, m, epoch):
    posts = separate(counts)
    try:
        sampler = make(posts, articles_per_batch=size, posts_per_article=m)
    except InputError as error:
        assert "no negative" in str(error)
        assert sum(-(-n // m) for n in counts) < 2 * max(-(-n // m) for n in counts)
        return
    batches = sampler.global_batches(epoch)
    assert bigram_ids(batches) == Counter(
        (a, p) for a, own in enumerate(posts) for p in own
    )
    assert len(batches) == len(sampler)
    sizes = [len(batch) for batch in batches]
    assert max(sizes) <= max(size, 3)
    assert min(sizes) >= 2
    assert max(sizes) - min(sizes) <= 2
    for batch in batches:
        assert len({a for a, _ in batch}) == len(batch)
        assert all(1 <= len(own) <= m for _, own in batch)


@settings(max_examples=80, deadline=None)
@given(posts=shared, epoch=st.integers(0, 2))
def test_articles_that_share_a_post_are_never_together(posts, epoch):
    try:
        sampler = make(posts)
        batches = sampler.global_batches(epoch)
    except InputError as error:
        assert "negative" in str(error)
        return
    assert len(batches) == len(sampler)
    trained = Counter((a, p) for a, own in enumerate(posts) for p in own)
    left_out = trained - bigram_ids(batches)
    assert left_out.total() == sampler.left_out and not bigram_ids(batches) - trained
    articles_of = Counter(p for own in posts for p in own)
    assert all(articles_of[p] > sampler.most_articles >= 3 for _, p in left_out)
    for batch in batches:
        articles = [a for a, _ in batch]
        assert len(articles) >= 2
        assert len(set(articles)) == len(articles)
        for article, _ in batch:
            for other, given_posts in batch:
                assert other == article or not set(posts[article]) & set(given_posts)


def test_a_text_that_every_article_has_is_left_out_and_the_batches_stay_full():
    posts = [[n, 60] for n in range(60)]
    sampler = make(posts, articles_per_batch=16)
    assert sampler.left_out == 60 and len(sampler) == 4
    for batch in sampler.global_batches(3):
        assert len(batch) == 15 and all(60 not in own for _, own in batch)
    few = make([[n, 60] if n < 4 else [n] for n in range(60)], articles_per_batch=8)
    assert few.left_out == 0  # four articles are kept apart in eight batches


def test_articles_with_nothing_but_what_all_have_take_no_part():
    posts = [[n, 60] if n < 40 else [60] for n in range(60)]
    seen = bigram_ids(make(posts).global_batches(0))
    assert seen == Counter((n, n) for n in range(40))
    with pytest.raises(
        InputError, match="0 of 60 training articles have posts once the posts"
    ):
        make([[60]] * 60)


def test_a_batch_without_a_negative_is_refused():
    with pytest.raises(InputError, match="articles_per_batch is 1: .* no negative"):
        make(separate([2] * 9), articles_per_batch=1)
    with pytest.raises(InputError, match="1 of 1 training articles .* no negative"):
        make([[0, 1, 2]])
    with pytest.raises(InputError, match="chunks of posts in 20 batches"):
        make(separate([60, 2, 2, 2, 2, 2]))
    with pytest.raises(InputError, match="1 training articles in batches of 5 pairs"):
        PairBatchSampler(posts=[[0, 1, 2]], pairs_per_batch=5)


@settings(max_examples=60, deadline=None)
@given(counts=own_posts, size=st.integers(2, 7), epoch=st.integers(0, 3))
def test_batches_of_pairs_have_a_negative(counts, size, epoch):
    posts = separate(counts)
    sampler = PairBatchSampler(posts=posts, pairs_per_batch=size)
    try:
        batches = sampler.global_batches(epoch)
    except InputError as error:
        assert "one article alone" in str(error)
        return
    assert len(batches) == len(sampler)
    assert bigram_ids(batches) == Counter(
        (a, p) for a, own in enumerate(posts) for p in own
    )
    assert all(len({a for a, _ in batch}) >= 2 for batch in batches)


def test_posts_of_equal_text_count_as_shared():
    posts = separate([1] * 8)
    sampler = make(posts, articles_per_batch=8, text_of=[0, 0, 1, 2, 3, 4, 5, 6])
    for batch in sampler.global_batches(0):
        assert not {0, 1} <= {a for a, _ in batch}


@settings(max_examples=60, deadline=None)
@given(counts=own_posts, world=st.integers(2, 3), epoch=st.integers(0, 2))
def test_ranks_are_disjoint_and_equal(counts, world, epoch):
    posts = separate(counts)
    try:
        samplers = [make(posts, rank=rank, world=world) for rank in range(world)]
    except InputError:
        return
    for sampler in samplers:
        sampler.set_epoch(epoch)
    per_rank = [list(sampler) for sampler in samplers]
    assert {len(batches) for batches in per_rank} == {len(samplers[0])}
    seen = Counter()
    for step in zip(*per_rank, strict=True):
        assert len({len(batch) for batch in step}) == 1
        assert len({sum(len(own) for _, own in batch) for batch in step}) == 1
        assert all(own for batch in step for _, own in batch)
        articles = [a for batch in step for a, _ in batch]
        assert len(set(articles)) == len(articles)
        seen.update(bigram_ids(step))
    assert set(seen.values()) == {1}


def test_share_keeps_all_where_it_divides():
    batch = [(n, (2 * n, 2 * n + 1)) for n in range(6)]
    ranks = share(batch, world=3)
    assert sorted(group for rank in ranks for group in rank) == batch
    assert share(batch, world=1) == [batch]


@pytest.mark.parametrize("kind", ["articles", "pairs"])
def test_same_seed_same_batches_and_another_epoch_differs(kind):
    posts = separate([5, 9, 3, 7, 4, 4, 8, 2])

    def sampler(seed):
        if kind == "articles":
            return make(posts, seed=seed)
        return PairBatchSampler(posts=posts, pairs_per_batch=6, seed=seed)

    first, again, other = sampler(1), sampler(1), sampler(2)
    assert list(first) == list(again)
    assert list(first) != list(other)
    again.set_epoch(1)
    assert list(first) != list(again)
    assert len(list(first)) == len(list(again)) == len(first)


@settings(max_examples=40, deadline=None)
@given(counts=own_posts, epoch=st.integers(0, 2), data=st.data())
def test_resume_equals_uninterrupted(counts, epoch, data):
    posts = separate(counts)
    try:
        whole = make(posts)
    except InputError:  # a batch without a negative
        return
    whole.set_epoch(epoch)
    expected = list(whole)
    done = data.draw(st.integers(0, len(whole)))
    whole.advance(done)
    resumed = make(posts)
    resumed.load_state_dict(whole.state_dict())
    if done < len(whole):
        resumed.set_epoch(epoch)
        assert list(resumed) == expected[done:]
    else:
        assert (resumed.epoch, resumed.batch) == (epoch + 1, 0)
    resumed.set_epoch(epoch + 1)
    assert len(list(resumed)) == len(resumed)


def test_a_position_in_other_data_is_refused():
    state = make(separate([3] * 20)).state_dict()
    with pytest.raises(InputError, match="batches per epoch"):
        make(separate([3] * 40)).load_state_dict(state)


def test_a_dominant_article_takes_turns():
    posts = separate([60, 2, 2, 2, 2, 2])
    capped = make(posts, chunks_per_epoch=2)
    assert len(capped) == 2
    seen = set()
    for epoch in range(10):
        batches = capped.global_batches(epoch)
        taken = [p for batch in batches for a, own in batch for p in own if a == 0]
        assert len(set(taken)) == len(taken) == 6
        assert all(len(batch) >= 3 for batch in batches)
        seen.update(taken)
    assert len(seen) == 60


def test_batches_hold_articles_of_similar_length():
    rng = np.random.default_rng(0)
    lengths = rng.integers(10, 1000, 400)
    sampler = ArticleBatchSampler(
        posts=separate([1] * 400),
        lengths=lengths,
        articles_per_batch=10,
        posts_per_article=1,
    )
    spread = [
        np.ptp([lengths[a] for a, _ in batch]) for batch in sampler.global_batches(0)
    ]
    assert np.mean(spread) < 250  # of 990; random batches: about 810


def test_pair_batches_hold_every_pair_once_and_ranks_share():
    posts = separate([5, 9, 3, 7])
    sampler = PairBatchSampler(posts=posts, pairs_per_batch=5)
    batches = list(sampler)
    assert [len(batch) for batch in batches] == [5, 5, 5, 5, 4]
    assert bigram_ids(batches) == Counter(
        (a, p) for a, own in enumerate(posts) for p in own
    )
    ranks = [
        list(PairBatchSampler(posts=posts, pairs_per_batch=5, rank=r, world=2))
        for r in (0, 1)
    ]
    assert [len(b) for b in ranks[0]] == [len(b) for b in ranks[1]] == [5, 5, 2]
    assert bigram_ids(ranks[0] + ranks[1]) == bigram_ids(batches)


@pytest.mark.parametrize(
    ("posts", "options", "message"),
    [
        ([], {}, "no training pair"),
        ([[0], []], {}, "without a post"),
        ([[0], [1]], {"world": 3}, "2 articles for 3 processes"),
        ([list(range(50)), [50]], {"world": 2}, "chunks_per_epoch=1"),
        ([list(range(50)), [50]], {}, "chunks_per_epoch=1"),
    ],
)
def test_impossible_sizes_are_refused(posts, options, message):
    with pytest.raises(InputError, match=message):
        make(posts, **options)


def test_conflicts_by_hand():
    assert conflicts_of([[0, 1], [1, 2], [3], [2]]) == [{1}, {0, 3}, set(), {1}]
