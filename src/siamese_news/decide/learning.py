"""A new order learned from labels, and whether it is the better one on posts it has not seen.

A logistic regression (L2) on the words of posts. Labels mostly come from the top, where a word may
speak against a post that far below speaks for it; so random posts from far down, which are nearly
all not relevant, are learned from and judged as well, and what is learned only moves the score of
the search. It is worth using only where it is surely better, by cross-validation.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError
from siamese_news.labels.journal import SKIP, YES
from siamese_news.labels.results import read_table
from siamese_news.labels.sheets import read_rows
from siamese_news.text.tokens import Tokenizer
from siamese_news.utils.extras import needs
from siamese_news.utils.files import atomic_write
from siamese_news.utils.provenance import provenance

LEAST = 10
"""Labels of relevant posts without which nothing is learned."""

_FOLDS, _REPEATS, _RESAMPLES = 5, 4, 1000
_SHOWN = 8
_GAIN = 0.002
# Assumed not to be relevant: so many random posts from below a third of the pool, or this rank.
_FAR_POSTS, _FAR_RANK = 1500, 8000
_FAR_RELEVANT = 0.05  # not where a larger share of the labelled posts there is relevant
_STRENGTH, _SHARE = 3.0, 0.5  # C of the regression; its part of the new score, both standardised


@dataclass(frozen=True, slots=True)
class Feedback:
    """What labels taught.

    Attributes:
        relevant: number of labelled posts that are relevant.
        other: number of those that are not.
        far: number of random posts from far down that were taken as not relevant.
        before: average precision of the search's order on the labelled and the far posts.
        after: that of the learned order, each post judged by what was learned without it.
        low: lower end of the 95% interval of the difference (paired bootstrap over texts).
        high: upper end.
        words: that speak most for a post, and most against it.
        scores: (N,) of the posts in the learned order's own measure.
    """

    relevant: int
    other: int
    far: int
    before: float
    after: float
    low: float
    high: float
    words: tuple[tuple[str, ...], tuple[str, ...]]
    scores: NDArray[np.float64]

    @property
    def helps(self) -> bool:
        """Whether the learned order is surely the better one, and by more than next to nothing."""
        return self.low > _GAIN

    def sentence(self) -> str:
        """What cross-validation says."""
        far = (
            f" and {self.far:,} random ones from far down, taken as not relevant"
            if self.far
            else ""
        )
        said = (
            f"Average precision on {self.relevant + self.other:,} labelled posts "
            f"({self.relevant:,} relevant){far}: {self.before:.3f} in the order of the search, "
            f"{self.after:.3f} learned (cross-validated; difference "
            f"{self.after - self.before:+z.3f}, 95% interval {self.low:+z.3f} to "
            f"{self.high:+z.3f})."
        )
        return said + ("" if self.helps else " That is no sure gain: the order stays as it was.")

    def word_lines(self) -> list[str]:
        """The words that speak for and against a post, a line each."""
        return [
            f"words that speak {what} a post: {', '.join(words) or 'none'}"
            for what, words in zip(("for", "against"), self.words, strict=True)
        ]

    def plain(self) -> dict[str, Any]:
        """What was learned, as JSON has it, without the scores."""
        return {
            "relevant": self.relevant, "other": self.other, "far": self.far,
            "before": self.before, "after": self.after, "low": self.low, "high": self.high,
            "helps": self.helps, "words": [list(words) for words in self.words],
            "sentence": self.sentence(),
        }  # fmt: skip


def read_verdicts(paths: Sequence[Path]) -> dict[str, bool]:
    """Posts with the one thing that all their labels say; skipped and disputed posts are left out.

    Args:
        paths: sheets, or any files with the columns post and label.

    Raises:
        InputError: with ``path:line``, for a label that is none.
    """
    said: dict[str, set[bool]] = {}
    for path in paths:
        for row in read_rows(path):
            if (value := row.verdict()) and value != SKIP:
                said.setdefault(row.post, set()).add(value == YES)
    return {post: value for post, (value, *others) in said.items() if not others}


def learn(
    texts: Sequence[str],
    scores: NDArray[np.float64],
    verdicts: dict[int, bool],
    *,
    clusters: NDArray[np.int64] | None = None,
    seed: int = 0,
) -> Feedback:
    """Learn from labels.

    Args:
        texts: of N posts.
        scores: (N,) of the search.
        verdicts: place of a labelled post -> whether it is relevant.
        clusters: (N,) of near-duplicates, which never judge each other; else posts with the same
            words are one.
        seed: of the folds.

    Raises:
        InputError: for fewer than `LEAST` labels of relevant posts, or of a kind.
    """
    with needs("learn", "learning from labels"):
        from sklearn.feature_extraction.text import TfidfVectorizer

    labelled = np.array(sorted(verdicts), np.int64)
    relevant = sum(verdicts.values())
    other = len(labelled) - relevant
    if relevant < LEAST:
        raise InputError(
            f"{relevant} labelled posts are relevant; expected at least {LEAST}: label more first"
        )
    generator = np.random.default_rng(seed)
    below = np.argsort(-scores, kind="stable")[min(len(scores) // 3, _FAR_RANK) :]
    there = [verdicts[row] for row in np.intersect1d(below, labelled).tolist()]
    below = np.setdiff1d(below, labelled)
    if len(there) >= LEAST and sum(there) > _FAR_RELEVANT * len(there):
        below = below[:0]  # the labels say that much is relevant there, so they have to judge
    if not len(below) and other < LEAST:
        raise InputError(
            f"{other} labelled posts are not relevant; expected at least {LEAST}: label more first"
        )
    far = generator.choice(below, min(_FAR_POSTS, len(below)), replace=False)
    rows = np.concatenate([labelled, far])
    said = np.zeros(len(rows), bool)
    said[: len(labelled)] = [verdicts[row] for row in labelled.tolist()]
    weights = np.ones(len(rows))
    weights[len(labelled) :] = max(other, LEAST) / max(len(far), 1)
    # In judging, a far post stands for all that could have been drawn in its place.
    stands_for = np.ones(len(rows))
    stands_for[len(labelled) :] = len(below) / max(len(far), 1)

    words = TfidfVectorizer(analyzer=_tokens(), sublinear_tf=True)
    words.fit([texts[row] for row in rows.tolist()])
    features = words.transform(texts)
    copies = (
        [" ".join(_tokens()(texts[row])) for row in rows] if clusters is None else clusters[rows]
    )
    groups = np.unique(copies, return_inverse=True)[1].ravel()
    own = np.zeros(len(rows))
    for train, test in _folds(said, groups, seed):
        learned, _ = _learned(features, scores, rows[train], said[train], weights[train])
        own[test] += learned[rows[test]] / _REPEATS
    low, high = _interval(said, scores[rows], own, groups, stands_for, generator)
    before = _weighted(said, scores[rows], stands_for[None])
    after = _weighted(said, own, stands_for[None])
    learned, coefficients = _learned(features, scores, rows, said, weights)
    names, order = words.get_feature_names_out(), np.argsort(coefficients, kind="stable")
    telling = (
        tuple(str(names[n]) for n in order[::-1][:_SHOWN] if coefficients[n] > 0),
        tuple(str(names[n]) for n in order[:_SHOWN] if coefficients[n] < 0),
    )
    return Feedback(
        relevant, other, len(far), float(before[0]), float(after[0]), low, high, telling, learned
    )


def _learned(
    features: Any,
    scores: NDArray[np.float64],
    rows: NDArray[np.int64],
    said: NDArray[np.bool_],
    weights: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(N,) new scores of the whole pool, and the coefficients of the words."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=_STRENGTH, max_iter=1000)
    model.fit(features[rows], said, sample_weight=weights)
    found = _standardised(scores) + _SHARE * _standardised(model.decision_function(features))
    return found, model.coef_[0]


def _standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return (values - values.mean()) / (values.std() or 1.0)


@lru_cache
def _tokens() -> Tokenizer:
    return Tokenizer()


def _folds(said: NDArray[np.bool_], groups: NDArray[np.int64], seed: int) -> Any:
    """Parts to learn from and to judge; posts with the same words are never in both."""
    with needs("learn", "learning from labels"):
        from sklearn.model_selection import StratifiedGroupKFold

    for repeat in range(_REPEATS):
        folds = StratifiedGroupKFold(_FOLDS, shuffle=True, random_state=seed + repeat)
        for train, test in folds.split(said, said, groups):
            if len(np.unique(said[train])) < 2:
                raise InputError(
                    "the labelled posts are copies of a few texts; expected different texts among "
                    "the relevant and the other ones: label more first"
                )
            yield train, test


def _interval(
    said: NDArray[np.bool_],
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    groups: NDArray[np.int64],
    stands_for: NDArray[np.float64],
    generator: np.random.Generator,
) -> tuple[float, float]:
    """95% of the differences when the texts are drawn anew, with replacement."""
    count = int(groups.max()) + 1
    drawn = generator.multinomial(count, np.full(count, 1 / count), _RESAMPLES)[:, groups]
    times = drawn * stands_for
    found = _weighted(said, after, times) - _weighted(said, before, times)
    low, high = np.nanquantile(found, [0.025, 0.975])
    return float(low), float(high)


def _weighted(
    said: NDArray[np.bool_], scores: NDArray[np.float64], times: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Average precision where each post counts so many times.

    Args:
        said: (n,) whether a post is relevant.
        scores: (n,)
        times: (R, n)

    Returns:
        (R,)
    """
    order = np.argsort(-scores, kind="stable")
    times = times[:, order]
    hits = times * said[order]
    precision = np.cumsum(hits, axis=1) / np.maximum(np.cumsum(times, axis=1), 1e-9)
    total = hits.sum(axis=1)
    return np.where(total > 0, (hits * precision).sum(axis=1) / np.maximum(total, 1), np.nan)


BEFORE = "rank_before"
"""The column with the rank in the order of the search."""


def _clusters(table: Any) -> Any:
    """The clusters of near-duplicates, (N,), where the search found them; else None."""
    known = "cluster" in table.column_names and not table.column("cluster").null_count
    return table.column("cluster").to_numpy() if known and len(table) else None


def learn_order(
    results: Path,
    verdicts: Mapping[str, bool],
    out: Path,
    *,
    command_line: str,
    seed: int = 0,
    anyway: bool = False,
) -> Feedback:
    """Learn from labels, and write the posts in the learned order where it helps.

    Args:
        results: Parquet with one list of posts and their texts.
        verdicts: ids of posts to whether they are relevant; ids of other posts are left out.
        out: the same posts in the learned order.
        command_line: that does this, to be kept in ``<out>.meta.json``.
        seed: of the folds.
        anyway: whether to write an order that is no sure gain.

    Raises:
        InputError: for results that cannot be used, and labels that teach nothing.
    """
    table = read_table(results)
    places = {post: place for place, post in enumerate(table.column("post").to_pylist())}
    known = {places[post]: said for post, said in verdicts.items() if post in places}
    if verdicts and not known:
        raise InputError(f"{results}: has none of the labeled posts; check both files")
    scores = table.column("score").to_numpy()
    texts = table.column("text").to_pylist()
    found = learn(texts, scores, known, clusters=_clusters(table), seed=seed)
    if found.helps or anyway:
        _write(out, table, found, results, command_line)
    return found


def _write(path: Path, table: Any, found: Feedback, results: Path, command_line: str) -> None:
    """Write the posts in the learned order, with their former ranks; what is known beside them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    scores = np.round(found.scores, 6)
    order = np.lexsort([table.column("rank").to_numpy(), -scores])
    ranks = table.column("rank")
    table = table.set_column(table.column_names.index("score"), "score", pa.array(scores))
    if BEFORE in table.column_names:
        table = table.drop_columns([BEFORE])
    table = table.append_column(BEFORE, ranks).take(pa.array(order))
    new = pa.array(np.arange(1, len(table) + 1))
    table = table.set_column(table.column_names.index("rank"), "rank", new)
    with atomic_write(path, "wb") as stream:
        pq.write_table(table, stream, compression="zstd", row_group_size=65_536)
    meta = {
        "command": command_line,
        "provenance": provenance(),
        "feedback": found.plain() | {"of": results.name},
    }
    with atomic_write(path.with_name(path.name + ".meta.json")) as stream:
        json.dump(meta, stream, indent=1, ensure_ascii=False)
        stream.write("\n")
