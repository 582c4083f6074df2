"""First pass over the score blocks: collect the top posts and the keys of the relevant ones."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from siamese_news.metrics.ranking import NOTHING, ranks_of, scores_of, sort_keys
from siamese_news.metrics.relevant_pairs import Relevance

PAPER_ROWS = (50, 100, 200, 500, 1000, 2000, 3000)
"""The thresholds that the table of the AST paper prints."""
ALL_ROWS = (*PAPER_ROWS, 3300)
"""The same with the row that its mRP figures imply (and that its authors' table has)."""

_CHUNK = 1 << 20  # keys held at once


def key_chunks(
    scores: np.ndarray, ranks: np.ndarray
) -> Iterator[tuple[int, np.ndarray]]:
    """Sort keys of a block a few articles at a time: (first article, (a, n) int64)."""
    step = max(1, _CHUNK // max(1, scores.shape[1]))
    for row in range(0, len(scores), step):
        yield row, sort_keys(scores[row : row + step], ranks)


class RankingTop:
    """Pooled r-Precision at `thresholds`, and the top `depth` posts of each article.

    Pooled: all article-post pairs form one ranking (paper of the Adaptive Siamese Transformer,
    its r-Precision table). Ties break by post id, then article id, both descending. The state
    is O(A depth + largest threshold + relevant pairs), however many posts pass through
    `update`; blocks may come in any order.

    Attributes:
        relevant_keys: (R,) sort keys of the relevant pairs.

    Raises:
        ValueError: a threshold or the depth is below 1.
    """

    def __init__(
        self, relevance: Relevance, thresholds: Sequence[int], depth: int
    ) -> None:
        if depth < 1 or min(thresholds, default=0) < 1:
            raise ValueError(
                f"thresholds={thresholds}, depth={depth}; expected whole numbers >= 1"
            )
        self._relevance = relevance
        self._thresholds = thresholds
        rows, width = relevance.shape
        size = min(max(*thresholds, *ALL_ROWS), rows * width)
        self.relevant_keys = np.full(len(relevance.articles), NOTHING)
        self._top = np.full((rows, min(depth, width)), NOTHING)  # ascending
        # Keys and ranks of articles, ascending.
        self._pooled = np.full((size, 2), NOTHING)

    def update(self, first_column: int, scores: np.ndarray) -> None:
        """Merge a block of scores (A, n), which begins with post `first_column`."""
        relevance = self._relevance
        stop = first_column + scores.shape[1]
        pairs = slice(*np.searchsorted(relevance.columns, [first_column, stop]))
        rows = relevance.articles[pairs]
        columns = relevance.columns[pairs] - first_column
        relevant_keys = self.relevant_keys[pairs]  # a view
        for first_row, keys in key_chunks(
            scores, relevance.post_ranks[first_column:stop]
        ):
            chunk = slice(first_row, first_row + len(keys))
            inside = (rows >= chunk.start) & (rows < chunk.stop)
            relevant_keys[inside] = keys[rows[inside] - first_row, columns[inside]]
            for top, row_keys in zip(self._top[chunk], keys, strict=True):
                _push_row(top, row_keys)
            ranks = relevance.article_ranks[chunk]
            self._pooled = _push_pairs(self._pooled, keys, ranks)

    def compute(self) -> dict[str, float]:
        """P@r for every threshold, mRP7 (the paper's printed rows) and mRP8 (with r = 3300)."""
        keys, article_ranks = self._pooled[::-1].T
        column_of_rank = np.argsort(self._relevance.post_ranks)
        row_of_rank = np.argsort(self._relevance.article_ranks)
        filled = keys != NOTHING
        rows = row_of_rank[article_ranks[filled]]
        columns = column_of_rank[ranks_of(keys[filled])]
        is_relevant = np.zeros(len(keys), dtype=bool)
        is_relevant[filled] = self._relevance.contains(rows, columns)
        # Among the first 0, 1, … pairs.
        hits = np.concatenate([[0], is_relevant.cumsum()])
        return self._figures(lambda r: float(hits[min(r, len(keys))] / r))

    def ceilings(self) -> dict[str, float]:
        """The value of each figure of `compute` if every relevant pair came first."""
        positives = len(self._relevance.articles)
        return self._figures(lambda r: min(1.0, positives / r))

    def _figures(self, precision: Callable[[int], float]) -> dict[str, float]:
        figures = {f"P@{r}": precision(r) for r in self._thresholds}
        for name, rows in (("mRP7", PAPER_ROWS), ("mRP8", ALL_ROWS)):
            figures[name] = float(np.mean([precision(r) for r in rows]))
        return figures

    def run(self) -> dict[str, dict[str, float]]:
        """The top posts of each article, best first: article id -> post id -> rounded score."""
        column_of_rank = np.argsort(self._relevance.post_ranks)
        posts = self._relevance.post_ids
        best_first = self._top[:, ::-1]
        result = {}
        for article, line in zip(self._relevance.article_ids, best_first, strict=True):
            keys = line[line != NOTHING]
            ids = [posts[column] for column in column_of_rank[ranks_of(keys)]]
            scores = scores_of(keys).tolist()
            result[article] = dict(zip(ids, scores, strict=True))
        return result


def _push_row(top: np.ndarray, keys: np.ndarray) -> None:
    """Put the greatest of `keys` into the ascending list `top`, in place."""
    keys = keys[keys > top[0]]
    surplus = len(keys) - len(top)
    if surplus > 0:
        keys = np.partition(keys, surplus)[surplus:]
    if len(keys):
        top[:] = np.sort(np.concatenate([top, keys]))[len(keys) :]


def _push_pairs(
    pooled: np.ndarray, keys: np.ndarray, article_ranks: np.ndarray
) -> np.ndarray:
    """The best of the (R, 2) pairs and of the pairs of (a, n) keys, ascending."""
    size = len(pooled)
    # The same post with the same score under two articles has equal keys: keep both here.
    bar = pooled[0, 0]
    candidates = keys[keys >= bar]
    surplus = len(candidates) - size
    if surplus > 0:
        bar = np.partition(candidates, surplus)[surplus]
    rows, columns = np.nonzero(keys >= bar)
    pairs = np.stack([keys[rows, columns], article_ranks[rows]], axis=1)
    merged = np.concatenate([pooled, pairs])
    ascending = np.lexsort((merged[:, 1], merged[:, 0]))
    return merged[ascending[-size:]]
