"""Which posts are asked for next."""

import numpy as np
import pytest

from siamese_news_desk.decide.learning import next_posts

SCORES = -np.arange(3000.0)
ALONE = np.arange(3000)


def asked(
    count=40, mix="1:1:2", odds=None, labeled=(), groups=ALONE, seed=0, said=None
):
    known = dict.fromkeys(labeled, said)
    return next_posts(SCORES, odds, groups, known, count, mix=mix, seed=seed)


def test_each_part_of_the_mix_is_asked_for():
    odds = np.full(3000, 5.0)
    odds[900:910] = 0.1
    found = set(asked(odds=odds))
    assert len(found) == 40
    assert set(range(10)) <= found and set(range(900, 910)) <= found
    # The others come at random from the best of the pool, a sixth of so small a one.
    assert len(rest := found - set(range(10)) - set(range(900, 910))) == 20
    assert max(rest) < 500 and np.median(sorted(rest)) > 100


def test_random_posts_come_from_further_down_while_every_label_says_relevant():
    for said, end in ((True, 2000), (False, 500), (None, 500)):
        assert end * 0.8 < max(asked(200, "0:0:1", labeled=range(10), said=said)) < end
    assert max(asked(200, "0:0:1", labeled=range(9), said=True)) < 500
    mixed = dict.fromkeys(range(10), True) | {10: False}
    assert max(next_posts(SCORES, None, ALONE, mixed, 200, mix="0:0:1")) < 500


def test_from_the_top_alone_it_is_the_order():
    assert sorted(asked(mix="1:0:0", labeled=[0, 2])) == [1, *range(3, 42)]


@pytest.mark.parametrize(
    ("labels", "best", "unsure"),
    [(49, 10, 10), (50, 30, 10), (299, 30, 10), (300, 40, 0)],
)
def test_the_first_labels_teach_and_later_ones_find(labels, best, unsure):
    odds = np.full(3000, 5.0)
    odds[2000:2100] = 0.1
    labeled = range(2500, 2500 + labels)
    posts = set(asked(mix=None, odds=odds, labeled=labeled))
    assert set(range(best)) <= posts
    assert len(posts & set(range(2000, 2100))) == unsure
    assert (
        len(posts)
        == 40
        == best + unsure + len(posts - set(range(best)) - set(range(2000, 2100)))
    )


def test_neither_copies_nor_labeled_posts_are_asked_for():
    groups = np.arange(3000) // 3
    found = asked(count=200, groups=groups, labeled=[1, 4])
    assert len(set(groups[found])) == len(found) == 200
    assert not {0, 1} & set(groups[found].tolist())


def test_a_small_pool_is_asked_for_whole_and_other_seeds_ask_for_others():
    found = next_posts(np.array([3.0, 2, 1]), None, np.arange(3), {1: None}, 20)
    assert sorted(found) == [0, 2]
    assert asked() == asked() and asked() != asked(seed=1)
