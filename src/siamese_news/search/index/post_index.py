"""An open index: posts to search that were read before."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.model.loading import AnyModel
from siamese_news.model.text_model import BLOCK, TextModel
from siamese_news.scoring import Scorer
from siamese_news.scoring.mixture import MixturePass
from siamese_news.search.index.bounds import Bounds, Learned
from siamese_news.search.index.chunks import (
    Chosen,
    Chunk,
    ahead,
    best_first,
    row_blocks,
)
from siamese_news.search.index.fingerprint import check_model, indexable
from siamese_news.search.index.indexed_scorer import IndexedScorer
from siamese_news.search.index.manifest import NAME, Manifest
from siamese_news.search.index.observing import observe_candidates
from siamese_news.search.index.segment import Segment
from siamese_news.search.index.writing import codes_of
from siamese_news.search.pool import (
    Floats,
    Ints,
    Pool,
    Pruning,
    Scored,
    Window,
    floors_of,
)
from siamese_news.search.ranked_posts import SAMPLE
from siamese_news.text.token_ids import TokenIds
from siamese_news.utils.terminal import counted, verb


class PostIndex(Pool):
    """The posts of an index (`open_index`); `scored` counts those that the last search scored."""

    def __init__(self, path: Path, model: TextModel) -> None:
        self.path = path
        self.manifest = Manifest.read(path)
        self.scored = 0
        check_model(path, self.manifest.model, model)
        if self.manifest.codes != codes_of(model):
            raise InputError(
                f"{path / NAME}: has another number of words than the model; it is damaged: build "
                "the index again"
            )
        self._segments = self.manifest.open_segments(path, model.output_dim)
        self._observed: Ints | None = None  # their rows; None: all posts
        self._learned: Learned | None = None
        self._sample: list[Post] = []

    def __len__(self) -> int:
        return self.manifest.posts

    def __iter__(self) -> Iterator[Post]:
        for segment in self._segments:
            yield from StoredPosts(segment, np.arange(len(segment)))

    def find(self, ids: Iterable[str]) -> dict[str, Post]:
        """Posts by id; missing ones are left out."""
        requested_ids = set(ids)
        return {
            id: segment.post(row)
            for segment in self._segments
            for first_row, segment_ids in segment.ids()
            for row, id in enumerate(segment_ids, first_row)
            if id in requested_ids
        }

    def sample(self) -> list[Post]:
        """See `Pool`: the posts that a scan would have sampled."""
        if not self._sample:
            samples = [segment.sample for segment in self._segments]
            checksums = np.sort(np.concatenate([sample[:, 0] for sample in samples]))
            highest = checksums[:SAMPLE][-1]
            posts: list[Post] = []
            for segment, sample in zip(self._segments, samples, strict=True):
                rows = sample[sample[:, 0] <= highest, 1]
                posts += map(segment.post, rows.tolist())
            self._sample = posts
        return self._sample

    @override
    def counts(self) -> dict[str, int]:
        return {"read": len(self), "rejected": 0, "duplicates": 0, "skipped": 0}

    @override
    def searched(self, scored: int) -> int:
        return len(self)

    @override
    def summary(self, scored: int) -> list[str]:
        return [f"{counted(len(self), 'post')} in the index, {scored:,} scored"]

    @override
    def remarks(self) -> list[str]:
        if self.scored >= len(self):
            return []
        return [
            f"Of {counted(len(self), 'post')} in the index only the {self.scored:,} that could be in "
            f"the results {verb(self.scored, 'were')} scored; the counts of scores are of these."
        ]

    @override
    def job(self) -> list[Any]:
        manifest = (self.path / NAME).stat()
        return [[str(self.path), manifest.st_size, manifest.st_mtime_ns]]

    @override
    def observe(self, scorer: Scorer, window: Window) -> Scorer:
        """See `Pool`: the scorer observes only posts that can matter, where that is known."""
        posts = self._chosen(window)
        indexed = IndexedScorer.of(scorer)
        self._learned = None
        observer = scorer.observer()
        if observer is None:
            exact = indexed is not None and indexed.form.exact
            self._observed = np.zeros(0, np.int64) if exact else None
            return scorer
        if indexed is not None and isinstance(observer, MixturePass):
            self._learned = observe_candidates(observer, indexed.form, posts)
        if self._learned is not None:
            self._observed = self._learned.rows
        else:
            self._observed = None
            for segment, mask in zip(posts.segments, posts.masks, strict=True):
                for rows in row_blocks(mask):
                    observer.observe(segment.token_ids(rows))
        return self._settled(observer)

    def read_again(self) -> Iterator[Post]:
        """The posts that the scorer of the last search observed."""
        if self._observed is None:
            yield from self
            return
        posts = Chosen(self._segments, [], self.manifest.codes)
        for number, segment in enumerate(self._segments):
            yield from StoredPosts(segment, posts.rows_of(number, self._observed))

    def parts(
        self,
        scorer: Scorer,
        articles: int,
        window: Window,
        pruning: Pruning | None,
    ) -> Iterator[Scored]:
        """See `Pool`: the posts that can matter, or all."""
        posts = self._chosen(window)
        self.scored = 0
        indexed = IndexedScorer.of(scorer)
        observed_rows = self._observed
        if indexed is None or pruning is None or observed_rows is None:
            scores = all_scores(scorer, posts, articles)
        else:
            bounds = Bounds(indexed.form, self.manifest.codes, self._learned)
            scores = best_scores(indexed, bounds, posts, observed_rows, pruning)
        for block in scores:
            self.scored += len(block.posts)
            yield block

    def _chosen(self, window: Window) -> Chosen:
        window.start()
        masks = [
            window.mask(segment.dates) if window.asked else np.ones(len(segment), bool)
            for segment in self._segments
        ]
        window.check()
        return Chosen(self._segments, masks, self.manifest.codes)


def open_index(path: str | PathLike[str], model: AnyModel) -> PostIndex:
    """Open an index that ``siamese-news index`` wrote, with the model that it was built with."""
    return PostIndex(Path(path), indexable(model))


# Two sums in single precision, and a sum of squares.
_ROUNDING = np.float32(1e-6)
_ROOTS = np.float32(1.0001)


class StoredPosts(Sequence[Post]):
    """Posts of a segment, each read from the disk when it is used."""

    def __init__(self, segment: Segment, rows: Ints) -> None:
        self._segment = segment
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return StoredPosts(self._segment, self._rows[index])
        return self._segment.post(int(self._rows[index]))


def all_scores(scorer: Scorer, posts: Chosen, articles: int) -> Iterator[Scored]:
    """The scores of all posts, in their order."""
    for number, mask in enumerate(posts.masks):
        for rows in row_blocks(mask, articles):
            yield replace(_part(scorer, posts, number, rows), rows=None)


def best_scores(
    indexed: IndexedScorer,
    bounds: Bounds,
    posts: Chosen,
    observed_rows: Ints,
    pruning: Pruning,
) -> Iterator[Scored]:
    """The scores of the posts that can matter, by a scorer that has observed the pool.

    The posts of the `observed_rows`, over all segments and ascending, are scored first and whatever
    their bounds, because smoothing may raise them. `pruning` is asked again for each chunk.
    """
    for number in range(len(posts.segments)):
        rows = posts.rows_of(number, observed_rows)
        for start in range(0, len(rows), BLOCK):
            yield _part(indexed.scorer, posts, number, rows[start : start + BLOCK])

    reach = _Reach(indexed, bounds, pruning)
    scored = [observed_rows]
    floors_so_far: list[Floats] = []

    def floors() -> Floats:
        floors_so_far.append(floors_of(pruning.floors()))
        return floors_so_far[-1]

    # A second look reads more posts where more look near: its floors may fall.
    while not floors_so_far or (floors() < np.max(floors_so_far, axis=0)).any():
        posts = posts.without(np.sort(np.concatenate(scored)))
        scored = []
        floors_so_far = [floors()]
        chunks = ((chunk, floors()) for chunk in posts.chunks(bounds.articles))
        for (chunk, _), (rows, upper_bounds) in ahead(reach.rows, chunks):
            for best_rows in best_first(rows, upper_bounds, floors):
                scored.append(best_rows + posts.firsts[chunk.number])
                for start in range(0, len(best_rows), BLOCK):
                    batch = best_rows[start : start + BLOCK]
                    yield _part(indexed.scorer, posts, chunk.number, batch)


class _Reach:
    """Finds the posts that can be in the results, by bounds on their scores.

    The cheapest bounds come first: the vectors of few posts are needed, and the tokens of fewer.
    """

    def __init__(
        self, indexed: IndexedScorer, bounds: Bounds, pruning: Pruning
    ) -> None:
        self._indexed = indexed
        self._bounds = bounds
        self._pruning = pruning
        self._scales = indexed.scorer.scales()[:, None]
        # (A, 0), or the one (1, 1) that counts for every post, whose tokens are then not read.
        self._surface = indexed.surface(TokenIds.of([]))
        # The segments come in their order.
        self._squares_of = lru_cache(maxsize=2)(partial(_squares_by_code, indexed))

    def rows(self, chunk_and_floors: tuple[Chunk, Floats]) -> tuple[Ints, Floats]:
        """The n rows of a chunk whose scores can reach the floor of some list.

        With upper bounds (lists, n) of these scores.
        """
        chunk, floors = chunk_and_floors
        bounds = self._bounds
        segment = chunk.segment
        rows = chunk.rows
        squares = self._squares_of(segment)
        above, below = self._surface_bounds(chunk, squares)

        lexical = bounds.roughly(chunk)
        upper_bounds, lower_bounds = bounds.without_vectors(chunk.number, rows, lexical)
        inside, _ = self._inside(floors, upper_bounds, lower_bounds, above, below)
        rows, lexical, above, below = _taken(inside, rows, lexical, above, below)

        cosines, errors = bounds.cosines(segment, rows)
        lower_bounds = bounds.lower_bounds(cosines, errors)
        upper_bounds = bounds.scores(lexical, cosines, errors)
        inside, _ = self._inside(floors, upper_bounds, lower_bounds, above, below)
        rows, cosines, errors = _taken(inside, rows, cosines, errors)
        lower_bounds, above, below = _taken(inside, lower_bounds, above, below)

        upper_bounds = bounds.scores(bounds.lexical(segment, rows), cosines, errors)
        inside, of_lists = self._inside(
            floors, upper_bounds, lower_bounds, above, below
        )
        rows, upper_bounds, lower_bounds = _taken(
            inside, rows, upper_bounds, lower_bounds
        )
        # Where a list is not full, no post is ruled out before the best of them are scored.
        if squares is None or len(rows) == len(chunk.live):
            return rows, of_lists
        surface = self._indexed.surface(segment.token_ids(rows))
        inside, of_lists = self._inside(
            floors, upper_bounds, lower_bounds, surface, surface
        )
        return rows[inside], of_lists

    def _inside(
        self,
        floors: Floats,
        upper_bounds: Floats,
        lower_bounds: Floats,
        above: Floats,
        below: Floats,
    ) -> tuple[NDArray[np.intp], Floats]:
        """The posts of which some list can have a score of its floor or more, and upper bounds of it.

        Without the surface a score is from `lower_bounds` to `upper_bounds`; the surface is from
        `below` to `above`.
        """
        highest = self._scales * upper_bounds + above + _ROUNDING
        lowest = self._scales * lower_bounds + below - _ROUNDING
        reachable = self._pruning.at_most(highest, lowest)
        inside = np.flatnonzero((reachable >= floors).any(axis=0))
        return inside, reachable[:, inside]

    def _surface_bounds(
        self, chunk: Chunk, squares: Floats | None
    ) -> tuple[Floats, Floats]:
        """Upper and lower bounds on the surface of a chunk's posts."""
        if squares is not None:
            above = chunk.of_live(np.sqrt(chunk.words @ squares) * _ROOTS)[None]
            return above, np.zeros_like(above)
        surface = (
            np.broadcast_to(self._surface, (1, len(chunk.rows)))
            if self._surface.size
            else self._indexed.surface(chunk.segment.token_ids(chunk.rows))
        )
        return surface, surface


def _squares_by_code(indexed: IndexedScorer, segment: Segment) -> Floats | None:
    """The bounds of `IndexedScorer.surface_squares` by the codes of a segment."""
    squares = indexed.surface_squares(segment.grams)
    return None if squares is None else segment.by_code(squares)


def _taken(columns: NDArray[np.intp], *arrays: NDArray[Any]) -> list[NDArray[Any]]:
    """Some columns of each array."""
    return [array[..., columns] for array in arrays]


def _part(scorer: Scorer, posts: Chosen, number: int, rows: Ints) -> Scored:
    segment = posts.segments[number]
    scores = scorer.scores(segment.token_ids(rows))
    pool_rows = rows + posts.firsts[number]
    # An index is one block: an interrupted search starts again.
    return Scored(0, StoredPosts(segment, rows), scores, rows=pool_rows)
