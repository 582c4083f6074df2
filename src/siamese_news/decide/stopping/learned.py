"""Recall with confidence: down an order that is learned from the labels, then random posts."""

from collections.abc import Callable, Generator, Sequence
from functools import cache
from itertools import count

import numpy as np
from numpy.typing import NDArray

from siamese_news.decide.learning import PostWords, TooFewLabels, learn
from siamese_news.decide.plan.texts import Texts, text_key
from siamese_news.decide.stopping.rules import Known, recall_shown, unlabeled
from siamese_news.errors import InputError

Learner = Callable[[Known], NDArray[np.int64]]
"""Labels by rank -> all ranks (N,), the most relevant first; the same order for the same labels."""

_BATCH = 10  # labels of a batch, or a tenth of all labels so far
# The random part begins when so small a share of the last posts is relevant: the last 50, or as
# many as a tenth of the relevant posts found.
_WINDOW, _SHARE, _FEW = 50, 10, 0.05
_FIRST = 0.8  # share of the remaining error that each round may use
_HITS = 6  # relevant random posts after which a hopeless round is given up


class LearnThenRandom:
    """Recall with confidence, in rounds of two parts.

    The first part labels down an order that is learned again from all labels after each batch, as
    long as this finds relevant posts. Any order is valid, because nothing is concluded from it. The
    second part labels random posts of the rest. With F relevant posts found, u posts left, and x of
    m random ones relevant, the rule stops when every number of relevant posts in the rest that
    would break the recall is ruled out (`recall_shown`, valid at every look). If the random posts
    show instead that too many are missing, the next round begins and learns from them. The rounds
    share the error: the first may use .8 of it, the next .8 of what is left, and so on.

    Args:
        recall: the wanted share.
        error: 1 - confidence.
        order: (N,) all ranks in a random order that was fixed before the first label.
        learner: returns the order of the first part.

    Attributes:
        asked: labels by rank, in the order in which the rule requested them; it ignores others.
    """

    def __init__(
        self, recall: float, error: float, order: NDArray[np.int64], learner: Learner
    ) -> None:
        self._recall = recall
        self._error = error
        self._order = order
        self._learner = learner
        self._restart()

    def _restart(self) -> None:
        self.asked: dict[int, int] = {}
        # Of the random part: relevant posts before it, posts, labels, and relevant ones among them.
        self._sample: tuple[int, int, int, int] | None = None
        self._steps = self._rounds()
        self._needed: Sequence[int] | NDArray[np.int64] | None = None

    def next(self, known: Known) -> list[int]:
        """See `Rule`."""
        return unlabeled(self._advance(known), known)

    def status(self, known: Known) -> str:
        """See `Rule`."""
        self._advance(known)
        if self._sample is None:
            return f"down the learned order: {sum(self.asked.values()):,} relevant"
        _, rest, drawn, hits = self._sample
        return f"random posts of the other {rest:,}: {hits} of {drawn:,} relevant"

    def relevant(self, known: Known) -> float | None:
        """See `Rule`."""
        self._advance(known)
        if len(self.asked) == len(self._order):
            return float(sum(self.asked.values()))
        if self._sample is None or not self._sample[2]:
            return None
        top, rest, drawn, hits = self._sample
        return top + rest * hits / drawn

    def _advance(self, known: Known) -> Sequence[int] | NDArray[np.int64]:
        """Take the labels in the order of the requests, up to the first gap; returns the rest."""
        if any(known.get(rank) != label for rank, label in self.asked.items()):
            self._restart()  # a label was changed or removed
        try:
            needed = next(self._steps) if self._needed is None else self._needed
            while len(needed) and (rank := int(needed[0])) in known:
                self.asked[rank] = known[rank]
                needed = self._steps.send(known[rank])
        except Exception:
            self._restart()  # a generator cannot continue after an error of the learner
            raise
        self._needed = needed
        return needed

    def _rounds(self) -> Generator[Sequence[int] | NDArray[np.int64], int, None]:
        """Yield the posts to label next; the label of the first one is sent back."""
        size = len(self._order)
        for number in count():
            last: list[int] = []
            while len(self.asked) < size:
                window = max(_WINDOW, sum(self.asked.values()) // _SHARE)
                if len(last) >= window and np.mean(last[-window:]) <= _FEW:
                    break
                ranks = self._learner(self.asked).tolist()
                batch = max(_BATCH, len(self.asked) // 10)
                queue = [rank for rank in ranks if rank not in self.asked][:batch]
                for place in range(len(queue)):
                    last.append((yield queue[place:]))
            top, hits = sum(self.asked.values()), 0
            rest = self._order[~np.isin(self._order, list(self.asked))]
            error = self._error * _FIRST * (1 - _FIRST) ** number
            breaks = top * (1 - self._recall) / self._recall
            for drawn in range(len(rest) + 1):
                self._sample = top, len(rest), drawn, hits
                if drawn == len(rest) or recall_shown(
                    top, hits, drawn, len(rest), self._recall, error
                ):
                    while True:
                        yield []
                if hits >= _HITS and hits / drawn * len(rest) > breaks:
                    break
                hits += yield rest[drawn:]
            self._sample = None


def word_learner(scores: NDArray[np.float64], texts: Texts) -> Learner:
    """A `Learner` from the words of posts and the scores (N,) of the search, by rank.

    Raises:
        InputError: for posts without texts.
    """
    if not texts.units([0])[0].text:
        raise InputError(
            "--rule learn-first learns from the texts of posts, and the results have none; name "
            "the posts with --posts, or use --rule random-first"
        )

    @cache
    def words() -> tuple[PostWords, NDArray[np.int64]]:
        units = texts.units(range(len(scores)))
        keys = [repr(text_key(unit) or unit.name) for unit in units]
        return PostWords.of([unit.text for unit in units]), np.unique(keys, return_inverse=True)[1]

    return lambda known: learned_order(scores, *words(), known)


def learned_order(
    scores: NDArray[np.float64], words: PostWords, groups: NDArray[np.int64], known: Known
) -> NDArray[np.int64]:
    """All ranks (N,) in the order learned from the labels, or in that of the search; see `learn`.

    `groups` (N,) are the clusters of near-duplicates.
    """
    try:
        found = learn(words, scores, {place: bool(label) for place, label in known.items()}, groups)
    except TooFewLabels:
        return np.argsort(-scores, kind="stable")
    return np.argsort(-(found.scores if found.helps else scores), kind="stable")
