"""Second pass over the score blocks: count exactly how many posts rank above each relevant one."""

import numpy as np
import torch
from torch import Tensor
from torchmetrics import Metric

from siamese_news.metrics.ranking import ranking_figures
from siamese_news.metrics.relevance import Relevance
from siamese_news.metrics.top import key_chunks

_ONE = 1 << 32  # from one score to the next in a key
_TABLE = 1 << 22  # largest (articles x distinct relevant scores) for counts by article


class RankingCounts(Metric):
    """Average precision and ROC-AUC, pooled and per article, exact and in bounded memory.

    The posts are not stored: each is counted between the sorted keys of the relevant ones (no
    binning). Pooled figures are those of ``sklearn.metrics.average_precision_score`` and
    ``roc_auc_score`` on the flattened matrix of rounded scores, ties grouped; per-article
    figures follow `ranking_figures`, ties by id. Blocks may be shared out over processes.

    Example:
        >>> import numpy as np
        >>> from siamese_news.metrics import RankingCounts, RankingTop, Relevance
        >>> relevance = Relevance(article_ids=["a"], post_ids=["x", "y"], qrels={"a": {"x": 1}})
        >>> scores, top = np.array([[0.9, 0.1]]), RankingTop(relevance=relevance)
        >>> top.update(0, scores)
        >>> counts = RankingCounts(relevance=relevance, relevant_keys=top.relevant_keys)
        >>> counts.update(0, scores)
        >>> counts.compute()
        {'AP': 1.0, 'AUC': 1.0}
    """

    full_state_update = False
    pooled_counts: Tensor
    article_counts: Tensor
    seen: Tensor

    def __init__(
        self,
        *,
        relevance: Relevance,
        relevant_keys: np.ndarray | Tensor,
        sync_on_compute: bool = True,
    ) -> None:
        """Make an empty state.

        Args:
            relevance: the matrix and its relevant pairs.
            relevant_keys: (R,) keys of these pairs, `RankingTop.relevant_keys` after its pass.
            sync_on_compute: if several processes train together, join their states before
                computing; False if each has seen all blocks.
        """
        super().__init__(sync_on_compute=sync_on_compute)
        self.relevance = relevance
        keys = np.asarray(relevant_keys)
        rows = relevance.shape[0]
        scores = np.unique(keys >> 32)
        # Counts per article allow the pooled figures to be resampled over articles.
        self.resamples = rows * len(scores) <= _TABLE
        groups = rows if self.resamples else 1
        self._group = np.arange(rows) if self.resamples else np.zeros(rows, dtype=np.int64)
        # At least this score, more than this score.
        self._pooled = np.stack([scores << 32, (scores << 32) + _ONE], axis=1).ravel()
        self._positives = np.zeros((groups, len(scores)), dtype=np.int64)
        np.add.at(
            self._positives,
            (self._group[relevance.articles], np.searchsorted(scores, keys >> 32)),
            1,
        )
        self._pairs = [np.flatnonzero(relevance.articles == row) for row in range(rows)]
        # At least this score, above this post, more than this score.
        floor = (keys >> 32) << 32
        self._needles = np.stack([floor, keys + 1, floor + _ONE], axis=1)
        self.add_state(
            "pooled_counts",
            torch.zeros(groups, len(self._pooled), dtype=torch.int64),
            dist_reduce_fx="sum",
        )
        self.add_state(
            "article_counts",
            torch.zeros(self._needles.shape, dtype=torch.int64),
            dist_reduce_fx="sum",
        )
        self.add_state("seen", torch.tensor(0), dist_reduce_fx="sum")

    def update(self, first: int, scores: np.ndarray) -> None:
        """Count the posts of one block.

        Args:
            first: column of its first post.
            scores: (A, n), the same numbers as in the first pass.

        Raises:
            ValueError: it does not fit the matrix.
            InputError: a score is not finite.
        """
        self.relevance.check(first, scores)
        ranks = self.relevance.post_ranks[first : first + scores.shape[1]]
        pooled, per_article = self.pooled_counts.cpu().numpy(), self.article_counts.cpu().numpy()
        for start, chunk in key_chunks(scores, ranks):
            for row, keys in enumerate(chunk, start):
                pooled[self._group[row]] += _at_least(self._pooled, keys)
                pairs = self._pairs[row]
                if len(pairs):
                    needles = self._needles[pairs].ravel()
                    order = np.argsort(needles)
                    counts = np.empty(len(needles), dtype=np.int64)
                    counts[order] = _at_least(needles[order], keys)
                    per_article[pairs] += counts.reshape(-1, 3)
        self.pooled_counts = torch.from_numpy(pooled).to(self.device)
        self.article_counts = torch.from_numpy(per_article).to(self.device)
        self.seen += scores.shape[1]

    def compute(self) -> dict[str, float]:
        """Pooled AP (micro) and AUC; AUC only where there is a pair that is not relevant."""
        ones = np.ones((1, len(self._positives)))
        return {name: float(v[0]) for name, v in self.weighted(ones).items() if v[0] == v[0]}

    def weighted(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """Pooled AP and AUC with each article's pairs counted `weights` times.

        Args:
            weights: (samples, A), or (samples, 1) where `resamples` is False.

        Returns:
            AP and AUC, (samples,) each; NaN where undefined.
        """
        counts = self.pooled_counts.cpu().numpy()
        width = self.relevance.shape[1]
        sizes = width if self.resamples else width * self.relevance.shape[0]
        step = max(1, _TABLE // counts.shape[1])
        parts = []
        for start in range(0, len(weights), step):
            w = np.asarray(weights[start : start + step], dtype=np.float64)
            parts.append(
                _pooled_figures(
                    w @ self._positives, w @ counts[:, ::2], w @ counts[:, 1::2], w.sum(1) * sizes
                )
            )
        return {name: np.concatenate([part[name] for part in parts]) for name in ("AP", "AUC")}

    def per_article(self, depth: int | None = None) -> dict[str, dict[str, float]]:
        """Figures of every article with a relevant post: metric -> article id -> value.

        Args:
            depth: rank beyond which nothing counts as retrieved (except for AUC), or None.
        """
        counts = self.article_counts.cpu().numpy()
        table: dict[str, dict[str, float]] = {}
        for row, article in enumerate(self.relevance.article_ids):
            all_grades = self.relevance.all_grades[row]
            if not len(all_grades):
                continue
            pairs = self._pairs[row]
            at_least, above, more = counts[pairs].T
            figures = ranking_figures(
                above + 1, self.relevance.grades[pairs], all_grades, depth=depth
            )
            negatives = self.relevance.shape[1] - len(pairs)
            if len(pairs) and negatives:
                positive = np.sort(self._needles[pairs, 0])
                own_more = len(pairs) - np.searchsorted(positive, self._needles[pairs, 0], "right")
                own_least = len(pairs) - np.searchsorted(positive, self._needles[pairs, 0], "left")
                higher, equal_or_higher = more - own_more, at_least - own_least
                wins = negatives - 0.5 * (higher + equal_or_higher)
                figures["AUC"] = float(wins.mean() / negatives)
            for name, value in figures.items():
                table.setdefault(name, {})[article] = value
        return table


def _at_least(needles: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """For each of the ascending `needles` the number of `keys` that are not below it."""
    keys = keys[keys >= needles[0]]
    slots = np.bincount(np.searchsorted(needles, keys, side="right"), minlength=len(needles) + 1)
    return slots[::-1].cumsum()[::-1][1:]


def _pooled_figures(
    positives: np.ndarray, at_least: np.ndarray, more: np.ndarray, pairs: np.ndarray
) -> dict[str, np.ndarray]:
    """AP and AUC from counts at the ascending distinct scores of relevant pairs.

    Args:
        positives: (samples, U) relevant pairs with exactly this score.
        at_least: (samples, U) pairs with at least this score.
        more: (samples, U) pairs with more.
        pairs: (samples,) all pairs.
    """
    relevant_above = positives[:, ::-1].cumsum(axis=1)[:, ::-1]
    total = positives.sum(axis=1)
    negatives = pairs - total
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.divide(
            relevant_above, at_least, out=np.zeros_like(relevant_above), where=at_least > 0
        )
        average = (positives * precision).sum(axis=1) / total
        lost = 0.5 * ((at_least - relevant_above) + (more - (relevant_above - positives)))
        area = (positives * (negatives[:, None] - lost)).sum(axis=1) / (total * negatives)
    return {"AP": average, "AUC": area}
