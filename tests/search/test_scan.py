"""What the searches are built of, each against plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_news.data.records import Article, Post
from siamese_news.errors import InputError
from siamese_news.scoring import Observer, Scorer
from siamese_news.search import post_ranking, scan
from siamese_news.search.filtering import _order
from siamese_news.search.histogram import ScoreCounts
from siamese_news.search.pool import Window
from siamese_news.search.post_ranking import Ranking, search
from siamese_news.search.python_inputs import CheckedPosts
from siamese_news.search.query import Query
from siamese_news.search.scan import StreamPool
from siamese_news.search.seeds import MILLION, Seeds

A, B, C = (Article(name, f"story {name}") for name in "abc")


@given(
    blocks=st.lists(
        st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), max_size=9),
        max_size=9,
    ),
    size=st.integers(1, 12),
    slack=st.integers(0, 4),
)
@settings(deadline=None)
def test_the_top_lists_are_those_of_a_sort(blocks, size, slack):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(post_ranking, "_SLACK", slack)
        found = Ranking(Once(), Seeds([A, B]), size)
        pairs = []
        for block in blocks:
            # Ids that sort otherwise than they come.
            posts = [
                Post(f"{(len(pairs) + n) * 37 % 101}", "") for n in range(len(block))
            ]
            pairs += zip(posts, block, strict=True)
            best = np.arange(len(block)) % 2
            found.add(posts, np.array(block, np.int64).reshape(-1, 2).T, best)
        lists = [
            [(round(r.score * MILLION), r.post.id) for r in line] for line in found
        ]
    for number in range(2):
        expected = sorted(((s[number], p.id) for p, s in pairs), reverse=True)
        assert lists[number] == expected[:size]
    assert {p.id for p in found.posts()} == {id for line in lists for _, id in line}


@given(st.lists(st.integers(-3, 3), max_size=60))
def test_ties_are_ordered_by_id(scores):
    ids = [str(row * 37 % 101) for row in range(len(scores))]
    expected = sorted(
        range(len(scores)), key=lambda row: (scores[row], ids[row]), reverse=True
    )
    assert (
        _order(np.array(scores, np.int64), lambda place: {"post": ids[place]}).tolist()
        == expected
    )


scores_of_two = st.lists(
    st.tuples(st.floats(-1, 1, width=32), st.floats(-1, 1, width=32)),
    min_size=1,
    max_size=5,
)


@given(scores_of_two)
def test_one_story_takes_the_greatest_score(pairs):
    raw = np.array(pairs, np.float32).T
    greatest = Seeds([A, B], one_story=True).combine(raw)[0][0]
    assert greatest.tolist() == [round(max(map(float, p)) * MILLION) for p in pairs]


@given(scores_of_two)
def test_the_nearest_seed_and_the_negative_seed(pairs):
    raw = np.array(pairs, np.float32).T
    _, best = Seeds([A, B], one_story=True).combine(raw)
    assert all(pair[row] == max(pair) for pair, row in zip(pairs, best, strict=True))
    pushed, _ = Seeds([A], negatives=[B]).combine(raw)
    assert np.abs(pushed[0] - (np.array(pairs) @ [1, -1]) * MILLION).max() <= 1


@given(
    st.lists(st.lists(st.floats(-1, 1, width=32), min_size=3, max_size=3), min_size=1)
)
def test_a_post_stays_for_the_distinct_seed_it_fits_best_and_falls_for_the_others(
    scores,
):
    raw = np.array(scores, np.float32).T
    plain, _ = Seeds([A, B], negatives=[C]).combine(raw)
    apart, best = Seeds([A, B], negatives=[C], distinct=True).combine(raw)
    for post, (a, b, c) in enumerate(scores):
        expected = [s * s / max(a, b) if s > 0 else s for s in (a, b)]
        assert np.abs(apart[:, post] - (np.array(expected) - c) * MILLION).max() <= 1
        assert apart[best[post], post] == plain[best[post], post]
    assert (apart <= plain).all()
    alone, _ = Seeds([A], distinct=True).combine(raw[:1])
    assert (alone == Seeds([A]).combine(raw[:1])[0]).all()


def test_each_seed_has_its_list_unless_one_is_asked_for():
    raw = np.array([[0.5, 0.1], [0.2, 0.4], [0.1, 0.1]], np.float32)
    lists, _ = Seeds([A, B], negatives=[C]).combine(raw)
    assert lists.tolist() == [[400_000, 0], [100_000, 300_000]]
    assert Seeds([A, B], one_story=True).lists == 1
    assert Seeds([A, B], negatives=[C]).texts == ["story a", "story b", "story c"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Seeds([]), "no seed article"),
        (lambda: Query(fusion="both"), "fusion is 'both'"),
        (lambda: Query(about="all"), "about is 'all'"),
        (lambda: Query(one_story=True, distinct=True), "one story and distinct ones"),
        (lambda: Query(about=None), "about is None; expected one of auto, event"),
        (lambda: Query(top=0), "top is 0"),
        (lambda: Query(threshold=float("inf")), "threshold is inf"),
        (lambda: Query(after="soon"), "--after is 'soon'"),
        (lambda: Seeds([A], negatives=[A]), "'a' is a seed and a negative seed"),
        (lambda: Seeds([A]).combine(np.array([[np.nan]])), "a score is nan"),
    ],
)
def test_what_cannot_be_searched_is_said(make, message):
    with pytest.raises(InputError, match=message):
        make()


millionths = st.lists(st.integers(-2_500_000, 2_500_000), min_size=1, max_size=50)


@given(millionths, millionths)
def test_the_histogram_counts_every_score_in_its_bin(first, second):
    counts = ScoreCounts()
    counts.add(np.array(first))
    counts = ScoreCounts(counts.plain())  # as after a resume
    counts.add(np.array([second]))
    found = counts.histogram()
    edges = np.array(found["edges"])
    assert len(edges) == 101
    assert np.allclose(np.diff(edges), edges[1] - edges[0])
    # A score belongs to the bin of its thousandth; what lies beyond 2 counts at the end.
    inside = np.clip((np.array(first + second) // 1000 + 0.5) / 1000, -2, 1.9995)
    assert found["counts"] == np.histogram(inside, bins=edges)[0].tolist()


def test_a_histogram_of_nothing_has_its_shape():
    found = ScoreCounts().histogram()
    assert (len(found["edges"]), sum(found["counts"])) == (101, 0)


class Once(Scorer, Observer):
    """A scorer that wants to see the pool first, and its pass over it."""

    kind = "test"

    def __init__(self):
        self.seen, self.calls, self.score = [], [], 0.1

    def observer(self):
        return self

    @property
    def learned(self):
        return "because"

    def observe(self, posts):
        self.seen.append(list(posts))

    def settle(self):
        self.score = 0.9
        return self

    def merge(self, state):
        raise AssertionError

    def scores(self, posts):
        self.calls.append(list(posts))
        return np.full((1, len(posts)), self.score)


def test_an_iterator_is_read_a_second_time_from_a_copy(monkeypatch):
    monkeypatch.setattr(scan, "BLOCK", 2)
    scorer = Once()
    posts = CheckedPosts(Post(str(n), f"text {n}") for n in range(5))
    [found] = search(scorer, Seeds([A]), StreamPool(posts), top=2)
    blocks = [["text 0", "text 1"], ["text 2", "text 3"], ["text 4"]]
    assert scorer.seen == scorer.calls == blocks
    assert [(r.post.id, r.score) for r in found] == [("4", 0.9), ("3", 0.9)]


def test_a_block_with_very_many_scores_comes_in_parts(monkeypatch):
    monkeypatch.setattr(scan, "BLOCK", 5)
    monkeypatch.setattr(scan, "_CELLS", 20)
    posts = [Post(str(n), f"text {n}") for n in range(8)]
    found = list(StreamPool(posts).parts(Once(), 10, Window(), None))
    sizes = [(block.number, len(block.posts)) for block in found]
    assert sizes == [(0, 2), (0, 2), (0, 1), (1, 2), (1, 1)]
    assert [post.id for block in found for post in block.posts] == [
        post.id for post in posts
    ]


def test_an_id_that_no_format_could_carry_is_refused():
    with pytest.raises(InputError, match="white space"):
        list(CheckedPosts([Post("a b", "x")]))


def test_blocks_are_rows_of_the_input_whatever_the_dates_leave(monkeypatch):
    monkeypatch.setattr(scan, "BLOCK", 2)
    dates = ["2013-01-01", None, "2015-01-01", "2015-01-01", "2014-01-01"]
    posts = [
        Post(str(n), "", {"created_at": d} if d else {}) for n, d in enumerate(dates)
    ]
    scorer = Once()
    window = Window.of("2013-01-01", "2015-01-01")
    said = []
    pool = StreamPool(posts)
    pool.on_second_pass = said.append
    pool.observe(scorer, window)
    assert said == ["because"]
    turn = StreamPool(posts).parts(scorer, 1, window, None)
    assert [(block.number, [p.id for p in block.posts]) for block in turn] == [
        (0, ["0", "1"]),
        (2, ["4"]),
    ]
    assert window.counts() == {"outside the dates": 2, "without a date": 1}
