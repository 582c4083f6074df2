"""When to stop labelling down a ranking: rules that are exact, and one count that is none."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from siamese_news.decide.plan.design import Order
from siamese_news.errors import InputError

Known = Mapping[int, int]
"""Rank (from 0) to label: 1 relevant, 0 not relevant or skipped."""


Values = float | NDArray[Any]


class Rule(Protocol):
    """Something to label for."""

    def next(self, known: Known) -> list[int]:
        """The ranks to label next, the first one first; none when the rule is satisfied."""

    def status(self, known: Known) -> str:
        """Where it stands, for a person."""

    def relevant(self, known: Known) -> float | None:
        """About how many relevant posts there are, by the random ones among the labelled."""


class Find:
    """Top down until so many relevant posts are found.

    Args:
        wanted: how many.
        size: posts in all.
    """

    def __init__(self, wanted: int, size: int) -> None:
        self._wanted = wanted
        self._size = size

    def next(self, known: Known) -> list[int]:
        """See `Rule`."""
        if sum(known.values()) >= self._wanted:
            return []
        return _unlabelled(range(self._size), known)

    def status(self, known: Known) -> str:
        """See `Rule`."""
        return f"{sum(known.values()):,} of {self._wanted:,} relevant posts found"

    def relevant(self, known: Known) -> float | None:
        """None: a list from the top tells nothing about the rest."""
        return None


class RandomPositives:
    """Recall with confidence: random posts first, then down the ranking to a place they fix.

    Posts are labelled at random until `positives` relevant ones are known; they are a random sample
    of all relevant posts. If the part of the ranking down to the j-th of them held less than the
    wanted share, at least j of them would lie in it with a probability below `error` (QBCB, Lewis,
    Yang and Frieder, CIKM 2021, arXiv 2108.12746; j by the binomial tail, which bounds the
    hypergeometric one from above here).

    Args:
        recall: the wanted share.
        error: 1 - confidence.
        positives: how many random relevant posts to wait for.
        order: of one set, the whole pool.
        size: posts in all.

    Raises:
        InputError: where so few positives can show nothing.
    """

    def __init__(
        self, recall: float, error: float, positives: int, order: Order, size: int
    ) -> None:
        place = binomial_place(recall, error, positives)
        if place is None:
            least = math.ceil(math.log(error) / math.log(recall))
            raise InputError(
                f"with {positives} random positives a recall of {recall:g} cannot be shown with "
                f"confidence {1 - error:g}; expected at least --positives {least}"
            )
        self.place = place
        self._recall = recall
        self._positives = positives
        self._order = order
        self._size = size

    def next(self, known: Known) -> list[int]:
        """See `Rule`."""
        found = self._random(known)
        if isinstance(found, list):
            return found
        return _unlabelled(range(found + 1), known)

    def status(self, known: Known) -> str:
        """See `Rule`."""
        found = self._random(known)
        if isinstance(found, list):
            hits = sum(self._drawn(known))
            return f"random posts: {hits} of {self._positives} relevant ones found"
        left = sum(rank not in known for rank in range(found + 1))
        return f"recall {self._recall:g}: down to post {found + 1:,}, {left:,} to label"

    def relevant(self, known: Known) -> float | None:
        """See `Rule`."""
        drawn = self._drawn(known)
        return self._size * sum(drawn) / len(drawn) if drawn else None

    def _drawn(self, known: Known) -> list[int]:
        """The labels of the random posts, as far as they have no gap."""
        found: list[int] = []
        for rank in self._walk():
            if rank not in known:
                break
            found.append(known[rank])
        return found

    def _random(self, known: Known) -> list[int] | int:
        """Ranks to label at random, or the rank down to which everything is labelled."""
        found: list[int] = []
        for place, rank in enumerate(self._walk()):
            if rank not in known:
                return [
                    r for r in self._order.first(0, place + 500)[place:].tolist() if r not in known
                ]
            if known[rank]:
                found.append(rank)
                if len(found) == self._positives:
                    return sorted(found)[self.place - 1]
        return self._size - 1  # fewer relevant posts than positives: everything is labelled

    def _walk(self) -> Sequence[int]:
        return _Walk(self._order, self._size)


def recall_shown(
    top: int, hits: Values, drawn: Values, rest: int, recall: float, error: float
) -> NDArray[np.bool_]:
    """Whether every number of relevant posts that would break a recall is ruled out.

    With x of m random ones relevant, a number K of the rest is ruled out when its prior-posterior
    ratio reaches 1/error (Waudby-Smith and Ramdas, NeurIPS 2020, arXiv 2006.04347), which holds
    whenever one looks; the prior is beta-binomial with parameters 1 and 2u/K0 for u posts of the
    rest, K0 = F (1 - recall) / recall, F the relevant posts found before.

    Args:
        top: relevant posts found before, F.
        hits: (n,) relevant ones among the random posts of the rest.
        drawn: (n,) how many those are.
        rest: posts of the rest.
        recall: the wanted share.
        error: 1 - confidence.

    Returns:
        (n,)
    """
    hits, drawn = np.asarray(hits, np.float64), np.asarray(drawn, np.float64)
    bad = np.floor((top + hits) / recall + 1e-9) + 1 - top  # the fewest that break it
    second = 2 * rest / max(top * (1 - recall) / recall, 1e-9)
    ratio = prior_posterior(bad, hits, drawn, rest, 1.0, second)
    # Beyond the most likely number, more are the less likely the more they are.
    likely = (bad * drawn >= hits * rest) & (ratio >= math.log(1 / error))
    return (bad > rest - (drawn - hits)) | likely


def prior_posterior(
    relevant: Values, hits: Values, drawn: Values, size: int, first: float, second: float
) -> NDArray[np.float64]:
    """Logarithm of the prior-posterior ratio of a number of relevant posts, element by element.

    Args:
        relevant: the number.
        hits: relevant ones among the drawn.
        drawn: without replacement.
        size: posts in all.
        first: of the beta-binomial prior.
        second: likewise.
    """
    from scipy.special import betaln, gammaln

    relevant, hits, drawn = (np.asarray(n, np.float64) for n in (relevant, hits, drawn))
    rest, misses = size - relevant, drawn - hits
    marginal = betaln(first + hits, second + misses) - betaln(first, second)
    likelihood = (
        gammaln(relevant + 1)
        - gammaln(np.maximum(relevant - hits, 0) + 1)
        + gammaln(np.maximum(rest, 0) + 1)
        - gammaln(np.maximum(rest - misses, 0) + 1)
        - gammaln(size + 1)
        + gammaln(size - drawn + 1)
    )
    impossible = (relevant < hits) | (rest < misses)
    return np.where(impossible, np.inf, marginal - likelihood)


def not_relevant_in_a_row(labels: Sequence[int]) -> int:
    """How many of the last labels are not relevant; no guarantee rests on it."""
    count = 0
    for label in reversed(labels):
        if label:
            break
        count += 1
    return count


def _unlabelled(ranks: range, known: Known) -> list[int]:
    found: list[int] = []
    for rank in ranks:
        if rank not in known:
            found.append(rank)
            if len(found) == 500:
                break
    return found


class _Walk(Sequence[int]):
    """The random order of a pool, a stretch at a time."""

    def __init__(self, order: Order, size: int) -> None:
        self._order = order
        self._size = size
        self._found: list[int] = []

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, place):  # type: ignore[no-untyped-def]
        if place >= self._size:
            raise IndexError
        if place >= len(self._found):
            self._found = self._order.first(0, 2 * place + 1024).tolist()
        return self._found[place]


def binomial_place(recall: float, error: float, positives: int) -> int | None:
    """The smallest j with at most `error` chance of j or more of the positives; None if none has.

    Args:
        recall: the chance of each of them to lie in the part.
        error: the largest chance.
        positives: how many there are.
    """
    from scipy.stats import binom

    places = np.arange(1, positives + 1)
    good = np.flatnonzero(binom.sf(places - 1, positives, recall) <= error)
    return int(places[good[0]]) if len(good) else None
