"""Lets a scorer learn from the pool of an index; it observes only posts that can matter."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from siamese_news.model.text_model import BLOCK
from siamese_news.scoring.basis import unsmoothed
from siamese_news.scoring.lesson import decided_degrees, likeness_of_best
from siamese_news.scoring.mixture import MixturePass
from siamese_news.scoring.pool_state import BINS, cosine_bins
from siamese_news.search.index.bounds import Bounds, Learned
from siamese_news.search.index.chunks import CELLS, Chosen, Chunk, ahead, best_first
from siamese_news.search.index.indexed_scorer import ScoreForm
from siamese_news.search.pool import Floats, Ints, floors_of
from siamese_news.text.token_ids import TokenIds

_MARGIN = 3.0  # how many times as many cosines are kept as the quantile leaves above it


class CosineTail:
    """The highest cosines of one article over a pool, each within an error, to find a quantile.

    Cosines that are surely not above the `floor` are only counted; the first block sets it if it is
    None.
    """

    def __init__(self, quantile: float, floor: float | None = None) -> None:
        self._quantile = quantile
        self.floor = floor
        self._rows: list[Ints] = []
        self._cosines: list[Floats] = []
        self._errors: list[Floats] = []
        self._posts = 0

    def add(self, rows: Ints, cosines: Floats, errors: Floats) -> None:
        """Take a block of posts: their rows, cosines and bounds on the errors of these."""
        if not len(rows):
            return
        if self.floor is None:
            share = min(1.0, _MARGIN * (1 - self._quantile))
            self.floor = float(np.quantile(cosines, 1 - share)) - 0.01
        in_tail = np.flatnonzero(cosines + errors > self.floor)
        self._rows.append(rows[in_tail])
        self._cosines.append(cosines[in_tail])
        self._errors.append(errors[in_tail])
        self._posts += len(rows)

    def counted(self, exact: Callable[[Ints], Floats]) -> NDArray[np.int32] | None:
        """The histogram of `PoolState`, with the quantile in the right bin.

        `exact` computes the cosines of some rows. None if the floor is too high.
        """
        rows = np.concatenate([np.zeros(0, np.int64), *self._rows])
        cosines = np.concatenate([np.zeros(0, np.float32), *self._cosines])
        errors = np.concatenate([np.zeros(0, np.float32), *self._errors])
        lower_bins = cosine_bins(cosines - errors)
        upper_bins = cosine_bins(cosines + errors)
        need = np.ceil(self._quantile * self._posts)
        # At least, and at most, so many posts are in a bin or below it.
        surely = self._posts - _above(upper_bins)
        maybe = self._posts - _above(lower_bins)
        lowest_bin = int((maybe >= need).argmax())
        highest_bin = int((surely >= need).argmax())
        floor = -1.0 if self.floor is None else self.floor
        (floor_bin,) = cosine_bins(np.array([floor]))
        if lowest_bin <= floor_bin and floor > 0:
            return None
        between = (lower_bins <= highest_bin) & (upper_bins > lowest_bin)
        unclear = np.flatnonzero(between & (lower_bins != upper_bins))
        bins = np.where(upper_bins <= lowest_bin, upper_bins, lower_bins)
        if lowest_bin != highest_bin and len(unclear):
            bins[unclear] = cosine_bins(exact(rows[unclear]))
        counts = np.bincount(bins, minlength=BINS)
        counts[0] += self._posts - len(rows)
        return counts.astype(np.int32)


def _above(bins: Ints) -> Ints:
    """The number of values above each bin."""
    counts = np.bincount(bins, minlength=BINS)
    return counts.sum() - counts.cumsum()


def _cosines(bounds: Bounds, chunk: Chunk) -> tuple[Floats, Floats]:
    """The cosines of a chunk's live rows, and upper bounds on their errors."""
    cosines, errors = bounds.cosines(chunk.segment, slice(chunk.start, chunk.end))
    return chunk.of_live(cosines), chunk.of_live(errors)


def _near(observer: MixturePass, posts: TokenIds) -> Ints:
    """(A,) how many posts are about each article's story."""
    setting = observer.setting
    counts = np.zeros(len(setting), np.int64)
    for _, block in setting.blocks(posts):
        lexical, _ = observer.basis.articles.heads(block)
        counts += setting.counted(lexical > setting.options.focused_pool.score)
    return counts


def observe_candidates(
    observer: MixturePass, form: ScoreForm, posts: Chosen
) -> Learned | None:
    """Observe the posts of a pool that can matter; None if every post has to be observed.

    `form` is that of the scorer before the pool.
    """
    setting = observer.setting
    bounds = Bounds(form, posts.codes)
    best = _Best(observer, posts)

    def bounded(
        chunk: Chunk,
    ) -> tuple[NDArray[np.bool_], Floats, Floats, NDArray[np.intp], Floats]:
        cosines, errors = _cosines(bounds, chunk)
        rough = bounds.roughly(chunk)
        useful = (bounds.scores(rough, cosines, errors) >= best.floors).any(axis=0)
        candidates = np.flatnonzero(useful | (rough > form.about))
        lexical = bounds.lexical(chunk.segment, chunk.rows[candidates])
        upper_bounds = bounds.scores(
            lexical, cosines[:, candidates], errors[candidates]
        )
        return lexical > form.about, cosines, errors, candidates, upper_bounds

    tails = [
        CosineTail(form.quantile)
        for _ in range(bounds.articles)
        if form.quantile is not None
    ]
    most_about = np.zeros(bounds.articles, np.int64)
    near_rows = [np.zeros(0, np.int64)]
    highest = [np.zeros(len(segment), np.float32) for segment in posts.segments]
    for chunk, (near, cosines, errors, candidates, candidate_bounds) in ahead(
        bounded, posts.chunks(bounds.articles)
    ):
        rows = chunk.rows + posts.firsts[chunk.number]
        most_about += setting.counted(near)
        near_rows.append(rows[candidates][near.any(axis=0)])
        for tail, article_cosines in zip(tails, cosines, strict=False):
            tail.add(rows, article_cosines, errors)
        best.add(rows[candidates], candidate_bounds)
        highest[chunk.number][chunk.rows] = cosines.max(axis=0) + errors
    best.score()
    pool = observer.pool
    # Where the rest of the pool may change a degree, the candidates are not enough.
    trust = np.ones(len(setting))
    if setting.foreign.any():
        _, trust = likeness_of_best(setting, pool, len(posts))
    if decided_degrees(setting, most_about, len(posts), trust).any():
        return None
    if setting.foreign.any():  # what is common in the pool counts less for them
        for ids in posts.blocks_of_ids():
            pool.counts.add(*setting.articles.terms.distinct(ids))
    pool.counts.posts = len(posts)
    pool.about = _near(observer, posts.token_ids(np.concatenate(near_rows)))
    counts = _counts(observer, form, bounds, posts, tails)
    if counts is not None:
        pool.cosines = counts
    if observer.basis.surface is not None:
        pool.surface += posts.counted()
    return Learned(np.sort(np.concatenate(best.scored)), form.vectors, highest)


class _Best:
    """Scores the posts that can be among an article's best.

    They wait until there are many, so that the best of them come first: then the lowest useful
    score is high, and few of the others are left.
    """

    def __init__(self, observer: MixturePass, posts: Chosen) -> None:
        self._observer = observer
        self._posts = posts
        self.scored = [np.zeros(0, np.int64)]
        self._waiting: list[tuple[Ints, Floats]] = []
        # The first posts do not wait: they set the lowest useful score.
        self._cells = self._limit = 0
        self.floors = self._scored(TokenIds.of([]))

    def add(self, rows: Ints, upper_bounds: Floats) -> None:
        """Take note of posts: their rows over all segments, and upper bounds on their scores."""
        self._waiting.append((rows, upper_bounds))
        self._cells += upper_bounds.size
        if self._cells > self._limit:
            self.score()
            self._limit = CELLS // 4

    def _scored(self, posts: TokenIds) -> Floats:
        """Score posts; (A, 1) scores below the lowest ones that are still of use."""
        basis = self._observer.basis
        candidates = self._observer.pool.candidates
        for _, block in self._observer.setting.blocks(posts):
            scores = unsmoothed(basis.articles, basis.weights, block)
            candidates.add(scores, block.ids)
        return floors_of(candidates.least())

    def score(self) -> None:
        """Score those waiting posts that can matter."""
        if not self._waiting:
            return
        rows = np.concatenate([rows for rows, _ in self._waiting])
        upper_bounds = np.concatenate(
            [upper_bounds for _, upper_bounds in self._waiting], axis=1
        )
        self._waiting = []
        self._cells = 0
        for best_rows in best_first(rows, upper_bounds, lambda: self.floors):
            for start in range(0, len(best_rows), BLOCK):
                batch = best_rows[start : start + BLOCK]
                self.floors = self._scored(self._posts.token_ids(batch))
                self.scored.append(batch)


def _counts(
    observer: MixturePass,
    form: ScoreForm,
    bounds: Bounds,
    posts: Chosen,
    tails: list[CosineTail],
) -> NDArray[np.int32] | None:
    """(A, bins) histograms of the cosines with each article; None if they are not needed.

    They are those of `PoolState`, of which only the place of the quantile has to be right.
    """
    if form.quantile is None:
        return None

    of_articles = []
    for article, tail in enumerate(tails):

        def exact(rows: Ints, article: int = article) -> Floats:
            vectors, _ = observer.setting.reader.of_best(posts.token_ids(rows), None)
            return observer.basis.articles.cosines(vectors, np.array([article]))[0]

        counts = tail.counted(exact)
        while counts is None:
            # The first block was nearer to the article than the rest.
            assert tail.floor is not None
            tail = CosineTail(form.quantile, max(tail.floor - 0.1, -1.0))
            chunks = posts.chunks(bounds.articles)
            for chunk, (cosines, errors) in ahead(partial(_cosines, bounds), chunks):
                rows = chunk.rows + posts.firsts[chunk.number]
                tail.add(rows, cosines[article], errors)
            counts = tail.counted(exact)
        of_articles.append(counts)
    return np.stack(of_articles)
