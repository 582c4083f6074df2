"""Second pass over the score blocks: count exactly how many posts rank above each relevant one."""

import numpy as np

from siamese_news.metrics.ranking import ranking_figures
from siamese_news.metrics.relevant_pairs import Relevance
from siamese_news.metrics.top import key_chunks

_ONE = 1 << 32  # from one score to the next in a key
_TABLE = 1 << 22  # largest (articles x distinct relevant scores) for counts by article


class RankingCounts:
    """Average precision and ROC-AUC, pooled and per article, exact and in bounded memory.

    The posts are not stored: each is counted between the sorted keys of the relevant ones (no
    binning). Pooled figures are those of ``sklearn.metrics.average_precision_score`` and
    ``roc_auc_score`` on the flattened matrix of rounded scores, ties grouped; per-article
    figures follow `ranking_figures`, ties by id. `relevant_keys` (R,) come from `RankingTop`.

    Attributes:
        resamples: whether there is memory to resample the pooled figures over articles.
    """

    def __init__(self, relevance: Relevance, relevant_keys: np.ndarray) -> None:
        self._relevance = relevance
        rows = relevance.shape[0]
        pair_scores = relevant_keys >> 32
        scores = np.unique(pair_scores)
        self.resamples = rows * len(scores) <= _TABLE
        groups = 1
        self._group = np.zeros(rows, dtype=np.int64)
        if self.resamples:
            groups = rows
            self._group = np.arange(rows)
        # At least this score, more than this score.
        floors = scores << 32
        self._pooled = np.stack([floors, floors + _ONE], axis=1).ravel()
        group_of_pair = self._group[relevance.articles]
        score_of_pair = np.searchsorted(scores, pair_scores)
        self._positives = np.zeros((groups, len(scores)), dtype=np.int64)
        np.add.at(self._positives, (group_of_pair, score_of_pair), 1)
        self._pairs = [np.flatnonzero(relevance.articles == row) for row in range(rows)]
        # At least this score, above this post, more than this score.
        floor = pair_scores << 32
        self._needles = np.stack([floor, relevant_keys + 1, floor + _ONE], axis=1)
        self._pooled_counts = np.zeros((groups, len(self._pooled)), dtype=np.int64)
        self._article_counts = np.zeros(self._needles.shape, dtype=np.int64)

    def update(self, first_column: int, scores: np.ndarray) -> None:
        """Count a block of the scores (A, n) of the first pass; `first_column` is its first post."""
        ranks = self._relevance.post_ranks[
            first_column : first_column + scores.shape[1]
        ]
        for start, chunk in key_chunks(scores, ranks):
            for row, keys in enumerate(chunk, start):
                self._pooled_counts[self._group[row]] += _at_least(self._pooled, keys)
                pairs = self._pairs[row]
                if len(pairs):
                    needles = self._needles[pairs].ravel()
                    order = np.argsort(needles)
                    counts = np.empty(len(needles), dtype=np.int64)
                    counts[order] = _at_least(needles[order], keys)
                    self._article_counts[pairs] += counts.reshape(-1, 3)

    def compute(self) -> dict[str, float]:
        """Pooled AP (micro) and AUC; AUC only where there is a pair that is not relevant."""
        once = np.ones((1, len(self._positives)))
        return {
            name: float(values[0])
            for name, values in self.weighted(once).items()
            if not np.isnan(values[0])
        }

    def weighted(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """Pooled AP and AUC with each article's pairs counted `weights` times.

        `weights` are (samples, A), or (samples, 1) where `resamples` is False. Returns (samples,)
        each; NaN where undefined.
        """
        counts = self._pooled_counts
        rows, width = self._relevance.shape
        sizes = width if self.resamples else width * rows
        step = max(1, _TABLE // counts.shape[1])
        parts = []
        for start in range(0, len(weights), step):
            samples = np.asarray(weights[start : start + step], dtype=np.float64)
            figures = _pooled_figures(
                positives=samples @ self._positives,
                at_least=samples @ counts[:, ::2],
                above=samples @ counts[:, 1::2],
                pairs=samples.sum(1) * sizes,
            )
            parts.append(figures)
        return {
            name: np.concatenate([chunk_figures[name] for chunk_figures in parts])
            for name in ("AP", "AUC")
        }

    def per_article(self, depth: int | None = None) -> dict[str, dict[str, float]]:
        """Figures of every article with a relevant post: metric -> article id -> value.

        Beyond rank `depth`, nothing counts as retrieved (except for AUC).
        """
        table: dict[str, dict[str, float]] = {}
        for row, article in enumerate(self._relevance.article_ids):
            all_grades = self._relevance.all_grades[row]
            if not len(all_grades):
                continue
            pairs = self._pairs[row]
            ranks = self._article_counts[pairs, 1] + 1
            grades = self._relevance.grades[pairs]
            figures = ranking_figures(ranks, grades, all_grades, depth=depth)
            negatives = self._relevance.shape[1] - len(pairs)
            if len(pairs) and negatives:
                figures["AUC"] = self._area(pairs, negatives)
            for name, value in figures.items():
                table.setdefault(name, {})[article] = value
        return table

    def _area(self, pairs: np.ndarray, negatives: int) -> float:
        """ROC-AUC of an article by its relevant pairs and the number of its other posts."""
        at_least, _, above = self._article_counts[pairs].T
        scores = self._needles[pairs, 0]
        ascending = np.sort(scores)
        relevant_above = len(pairs) - np.searchsorted(ascending, scores, "right")
        relevant_at_least = len(pairs) - np.searchsorted(ascending, scores, "left")
        # Of the counts, those of posts that are not relevant.
        irrelevant_above = above - relevant_above
        irrelevant_at_least = at_least - relevant_at_least
        # A tie is half a win.
        wins = negatives - 0.5 * (irrelevant_above + irrelevant_at_least)
        return float(wins.mean() / negatives)


def _at_least(needles: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """For each of the ascending `needles` the number of `keys` that are not below it."""
    keys = keys[keys >= needles[0]]
    needles_below = np.searchsorted(needles, keys, side="right")
    counts = np.bincount(needles_below, minlength=len(needles) + 1)
    from_highest = counts[::-1].cumsum()
    return from_highest[::-1][1:]


def _pooled_figures(
    positives: np.ndarray, at_least: np.ndarray, above: np.ndarray, pairs: np.ndarray
) -> dict[str, np.ndarray]:
    """AP and AUC from counts at the ascending distinct scores of relevant pairs.

    Args:
        positives: (samples, U) relevant pairs with exactly this score.
        at_least: (samples, U) pairs with at least this score.
        above: (samples, U) pairs with a higher one.
        pairs: (samples,) all pairs.
    """
    relevant_above = positives[:, ::-1].cumsum(axis=1)[:, ::-1]
    total = positives.sum(axis=1)
    negatives = pairs - total
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.divide(
            relevant_above,
            at_least,
            out=np.zeros_like(relevant_above),
            where=at_least > 0,
        )
        average = (positives * precision).sum(axis=1) / total
        # Pairs that are not relevant, with at least this score and with more; a tie is half lost.
        irrelevant_at_least = at_least - relevant_above
        irrelevant_above = above - (relevant_above - positives)
        lost = 0.5 * (irrelevant_at_least + irrelevant_above)
        wins = positives * (negatives[:, None] - lost)
        area = wins.sum(axis=1) / (total * negatives)
    return {"AP": average, "AUC": area}
