"""Recall with confidence: down an order that is learned from the labels, then random posts."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from siamese_news.decide.learning import PostWords, TooFewLabels, learn
from siamese_news.decide.plan.design import Order
from siamese_news.decide.plan.texts import Texts, text_key
from siamese_news.decide.stopping.rules import Known, recall_shown
from siamese_news.errors import InputError

Learner = Callable[[Known], NDArray[np.int64]]
"""Labels by rank -> (N,) all ranks, those that look most relevant first; the same for the same."""

_BATCH = 10  # labels of a batch, or a tenth of those that there are
# It turns to random posts when so few of the last posts are relevant: of 50, or of a share of the
# relevant ones that are found.
_WINDOW, _SHARE, _FEW = 50, 10, 0.05
_FIRST = 0.8  # of the error goes to the first round of random posts, of what is left to the second
_HITS = 6  # relevant random posts, after which a round is given up if they say that it is hopeless


class LearnThenRandom:
    """Recall with confidence, in rounds of two parts.

    First down an order that is learned anew from all labels every tenth label, while it pays: any
    order will do, for nothing is concluded from it. Then random posts from the rest: with F found,
    u left, and x of m random ones relevant, it stops when every number of relevant posts in the
    rest that would break the recall is ruled out (`recall_shown`, valid whenever one looks). Where
    the random posts say instead that too much is missing, the next round begins, and learns from
    them. The rounds share the error: .8 of it the first, .8 of what is left the next, and so on.

    Args:
        recall: the wanted share.
        error: 1 - confidence.
        order: random, of one set, the whole pool; fixed before the first label.
        size: posts in all.
        learner: gives the order of the first part.

    Attributes:
        asked: labels by rank, in the order in which the rule asked for them; other labels do not
            count until it does.
    """

    def __init__(
        self, recall: float, error: float, order: Order, size: int, learner: Learner
    ) -> None:
        self._recall = recall
        self._error = error
        self._order = order
        self._size = size
        self._learner = learner
        self._restart()

    def _restart(self) -> None:
        self.asked: dict[int, int] = {}
        self._queue: list[int] = []  # of the batch, without labels yet
        self._last: list[int] = []  # labels of the first part of this round
        self._rest: NDArray[np.int64] | None = None  # the random posts of this round, in order
        self._top = self._drawn = self._hits = self._round = 0
        self._done = False

    def next(self, known: Known) -> list[int]:
        """See `Rule`."""
        self._advance(known)
        if self._done:
            return []
        if self._rest is None:
            return [rank for rank in self._queue if rank not in known]
        ahead = self._rest[self._drawn : self._drawn + 500].tolist()
        return [rank for rank in ahead if rank not in known]

    def status(self, known: Known) -> str:
        """See `Rule`."""
        self._advance(known)
        if self._rest is None:
            return f"down the learned order: {sum(self.asked.values()):,} relevant"
        return (
            f"random posts of the {len(self._rest):,} others: {self._hits} of {self._drawn:,} "
            "relevant"
        )

    def relevant(self, known: Known) -> float | None:
        """See `Rule`."""
        self._advance(known)
        if len(self.asked) == self._size:
            return float(sum(self.asked.values()))
        if self._rest is None or not self._drawn:
            return None
        return self._top + len(self._rest) * self._hits / self._drawn

    def _advance(self, known: Known) -> None:
        """Take the labels in the order in which the rule asks for them, as far as there are any."""
        if any(known.get(rank) != label for rank, label in self.asked.items()):
            self._restart()  # a label was changed or taken back
        while not self._done:
            if self._rest is None and not self._learning(known):
                return
            if self._rest is not None and not self._sampling(known):
                return

    def _learning(self, known: Known) -> bool:
        """The first part of a round; whether it is over."""
        while True:
            while self._queue:
                rank = self._queue[0]
                if rank not in known:
                    return False
                self.asked[rank] = known[rank]
                self._last.append(known[self._queue.pop(0)])
            found = sum(self.asked.values())
            window = max(_WINDOW, found // _SHARE)
            pays = len(self._last) < window or np.mean(self._last[-window:]) > _FEW
            if len(self.asked) == self._size or not pays:
                break
            batch = max(_BATCH, len(self.asked) // 10)
            ranks = self._learner(self.asked).tolist()
            self._queue = [rank for rank in ranks if rank not in self.asked][:batch]
        random = self._order.first(0, self._size)
        self._rest = random[~np.isin(random, list(self.asked))]
        self._top, self._drawn, self._hits = found, 0, 0
        self._round += 1
        return True

    def _sampling(self, known: Known) -> bool:
        """The second part of a round; whether it is over."""
        assert self._rest is not None
        error = self._error * _FIRST * (1 - _FIRST) ** (self._round - 1)
        breaks = self._top * (1 - self._recall) / self._recall
        while True:
            drawn, hits = self._drawn, self._hits
            if drawn == len(self._rest) or recall_shown(
                self._top, hits, drawn, len(self._rest), self._recall, error
            ):
                self._done = True
                return True
            if hits >= _HITS and hits / drawn * len(self._rest) > breaks:
                self._rest, self._last = None, []
                return True
            rank = int(self._rest[drawn])
            if rank not in known:
                return False
            self.asked[rank] = known[rank]
            self._drawn += 1
            self._hits += known[rank]


class WordLearner:
    """A `Learner` of the words of posts, joined with the scores of the search.

    Args:
        scores: (N,) of the search, by rank.
        texts: of the posts.

    Raises:
        InputError: for posts without texts.
    """

    def __init__(self, scores: NDArray[np.float64], texts: Texts) -> None:
        self._scores = scores
        self._texts = texts
        self._words: tuple[PostWords, NDArray[np.int64]] | None = None
        if not texts.units([0])[0].text:
            raise InputError(
                "--rule learn-first learns from the texts of posts, and the results have none; "
                "name the posts with --posts, or take --rule random-first"
            )

    def __call__(self, known: Known) -> NDArray[np.int64]:
        """See `Learner`."""
        if self._words is None:
            units = self._texts.units(range(len(self._scores)))
            keys = [repr(text_key(unit) or unit.name) for unit in units]
            groups = np.unique(keys, return_inverse=True)[1]
            self._words = PostWords.of([unit.text for unit in units]), groups
        return learned_order(self._scores, *self._words, known)


def learned_order(
    scores: NDArray[np.float64], words: PostWords, groups: NDArray[np.int64], known: Known
) -> NDArray[np.int64]:
    """(N,) places of posts in the order learned from labels, or in that of the scores; see `learn`.

    Args:
        scores: (N,) of the search.
        words: of the posts.
        groups: (N,) of near-duplicates.
        known: labels by place.
    """
    try:
        found = learn(words, scores, {place: bool(label) for place, label in known.items()}, groups)
    except TooFewLabels:
        return np.argsort(-scores, kind="stable")
    return np.argsort(-(found.scores if found.helps else scores), kind="stable")
