"""First pass over the score blocks: collect the top posts and the keys of the relevant ones."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor
from torchmetrics import Metric

from siamese_news.metrics.ranking import NOTHING, ranks_of, scores_of, sort_keys
from siamese_news.metrics.relevance import Relevance

PAPER_ROWS = (50, 100, 200, 500, 1000, 2000, 3000)
"""The thresholds that the table of the AST paper prints."""
ALL_ROWS = (*PAPER_ROWS, 3300)
"""The same with the row that its mRP figures imply (and that its authors' table has)."""

_CHUNK = 1 << 20  # keys held at once


def key_chunks(scores: np.ndarray, ranks: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Sort keys of a block a few articles at a time: (first article, (a, n) int64)."""
    step = max(1, _CHUNK // max(1, scores.shape[1]))
    for row in range(0, len(scores), step):
        yield row, sort_keys(scores[row : row + step], ranks)


def _best_rows(states: Tensor) -> Tensor:
    """Merge (n, A, depth) top lists into (A, depth), ascending."""
    n, rows, depth = states.shape
    together = states.permute(1, 0, 2).reshape(rows, n * depth)
    return together.sort(dim=1).values[:, n * depth - depth :]


def _best_pairs(states: Tensor) -> Tensor:
    """Merge (n, R, 2) pooled top lists into (R, 2), ascending."""
    flat = states.reshape(-1, 2).cpu().numpy()
    order = np.lexsort((flat[:, 1], flat[:, 0]))[len(flat) - states.shape[1] :]
    return torch.from_numpy(flat[order]).to(states.device)


class RankingTop(Metric):
    """Pooled r-Precision, the top posts of each article and the keys of all relevant pairs.

    Pooled: all article-post pairs form one ranking (paper of the Adaptive Siamese Transformer,
    its r-Precision table). Ties break by post id, then article id, both descending. The state
    is O(A depth + largest threshold + relevant pairs), however many posts pass through
    `update`; blocks may come in any order and be shared out over processes.

    Example:
        >>> import numpy as np
        >>> from siamese_news.metrics import RankingTop, Relevance
        >>> relevance = Relevance(article_ids=["a"], post_ids=["x", "y"], qrels={"a": {"x": 1}})
        >>> top = RankingTop(relevance=relevance, thresholds=(1, 2))
        >>> top.update(0, np.array([[0.9, 0.1]]))
        >>> figures = top.compute()
        >>> figures["P@1"], figures["P@2"]
        (1.0, 0.5)
    """

    full_state_update = False
    relevant_keys: Tensor
    top: Tensor
    pooled: Tensor
    seen: Tensor

    def __init__(
        self,
        *,
        relevance: Relevance,
        thresholds: Sequence[int] = ALL_ROWS,
        depth: int = 1000,
        sync_on_compute: bool = True,
    ) -> None:
        """Make an empty state.

        Args:
            relevance: the matrix and its relevant pairs.
            thresholds: the r of P@r.
            depth: length of the top lists.
            sync_on_compute: if several processes train together, join their states before
                computing; False if each has seen all blocks.

        Raises:
            ValueError: a threshold or the depth is below 1.
        """
        super().__init__(sync_on_compute=sync_on_compute)
        if depth < 1 or min(thresholds, default=0) < 1:
            raise ValueError(f"thresholds={thresholds}, depth={depth}; expected whole numbers >= 1")
        self.relevance, self.thresholds = relevance, tuple(thresholds)
        rows, width = relevance.shape
        size = min(max(*thresholds, *ALL_ROWS), rows * width)
        pairs = len(relevance.articles)
        self.add_state("relevant_keys", torch.full((pairs,), NOTHING), dist_reduce_fx="max")
        top = torch.full((rows, min(depth, width)), NOTHING)
        self.add_state("top", top, dist_reduce_fx=_best_rows)
        self.add_state("pooled", torch.full((size, 2), NOTHING), dist_reduce_fx=_best_pairs)
        self.add_state("seen", torch.tensor(0), dist_reduce_fx="sum")

    def update(self, first: int, scores: np.ndarray) -> None:
        """Merge one block into the state.

        Args:
            first: column of its first post.
            scores: (A, n).

        Raises:
            ValueError: it does not fit the matrix.
            InputError: a score is not finite.
        """
        self.relevance.check(first, scores)
        stop = first + scores.shape[1]
        here = self.relevance.within(first, stop)
        relevant = self.relevant_keys.cpu().numpy()
        top, pooled = self.top.cpu().numpy(), self.pooled.cpu().numpy()
        rows, columns = self.relevance.articles[here], self.relevance.columns[here] - first
        for row, keys in key_chunks(scores, self.relevance.post_ranks[first:stop]):
            inside = (rows >= row) & (rows < row + len(keys))
            relevant[here][inside] = keys[rows[inside] - row, columns[inside]]
            for offset, line in enumerate(keys):
                _push_row(top[row + offset], line)
            ranks = self.relevance.article_ranks[row : row + len(keys)]
            pooled = _push_pairs(pooled, keys, ranks)
        self.relevant_keys = torch.from_numpy(relevant).to(self.device)
        self.top = torch.from_numpy(top).to(self.device)
        self.pooled = torch.from_numpy(pooled).to(self.device)
        self.seen += scores.shape[1]

    def compute(self) -> dict[str, float]:
        """P@r for every threshold, mRP7 (the paper's printed rows) and mRP8 (with r = 3300)."""
        keys, article_ranks = self.pooled.cpu().numpy()[::-1].T
        column = np.argsort(self.relevance.post_ranks)
        article = np.argsort(self.relevance.article_ranks)
        real = keys != NOTHING
        hit = np.zeros(len(keys), dtype=bool)
        hit[real] = self.relevance.contains(
            article[article_ranks[real]], column[ranks_of(keys[real])]
        )
        hits_before = np.concatenate([[0], hit.cumsum()])
        return self._figures(lambda r: float(hits_before[min(r, len(hit))] / r))

    def ceilings(self) -> dict[str, float]:
        """The value of each figure of `compute` if every relevant pair came first."""
        positives = len(self.relevance.articles)
        return self._figures(lambda r: min(1.0, positives / r))

    def _figures(self, precision: Callable[[int], float]) -> dict[str, float]:
        figures = {f"P@{r}": precision(r) for r in self.thresholds}
        for name, rows in (("mRP7", PAPER_ROWS), ("mRP8", ALL_ROWS)):
            figures[name] = float(np.mean([precision(r) for r in rows]))
        return figures

    def run(self) -> dict[str, dict[str, float]]:
        """The top posts of each article, best first: article id -> post id -> rounded score."""
        column = np.argsort(self.relevance.post_ranks)
        posts = self.relevance.post_ids
        result = {}
        for article, line in zip(
            self.relevance.article_ids, self.top.cpu().numpy()[:, ::-1], strict=True
        ):
            keys = line[line != NOTHING]
            ids = (posts[i] for i in column[ranks_of(keys)])
            result[article] = dict(zip(ids, scores_of(keys).tolist(), strict=True))
        return result


def _push_row(top: np.ndarray, keys: np.ndarray) -> None:
    """Put the greatest of `keys` into the ascending list `top`, in place."""
    keys = keys[keys > top[0]]
    if len(keys) > len(top):
        keys = np.partition(keys, len(keys) - len(top))[len(keys) - len(top) :]
    if len(keys):
        top[:] = np.sort(np.concatenate([top, keys]))[len(keys) :]


def _push_pairs(pooled: np.ndarray, keys: np.ndarray, article_ranks: np.ndarray) -> np.ndarray:
    """The best of the (R, 2) pairs and of the pairs of (a, n) keys, ascending."""
    size = len(pooled)
    # The same post with the same score under two articles has equal keys: keep both here.
    bar = pooled[0, 0]
    candidates = keys[keys >= bar]
    if len(candidates) > size:
        bar = np.partition(candidates, len(candidates) - size)[len(candidates) - size]
    rows, columns = np.nonzero(keys >= bar)
    if not len(rows):
        return pooled
    new = np.stack([keys[rows, columns], article_ranks[rows]], axis=1)
    return _best_pairs(torch.from_numpy(np.concatenate([pooled, new])[None])).numpy()[-size:]
