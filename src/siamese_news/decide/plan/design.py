"""What is fixed before the first label: nested sets of posts and their random order."""

import hashlib
import math
from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from siamese_news.decide.plan.keyed_hash import siphash
from siamese_news.errors import InputError
from siamese_news.utils.strings import Strings

FIRST = 100
"""Posts of the first set, at least (`first_set`)."""

# With m errors expected among the labels of a set that just meets the target, 2.5 m - 4.5 sqrt(m)
# of its errors are to be found: few labels find few for certain. Chosen on the development pools
# (``python -m benchmarks.certify_design``).
_FOUND, _FOUND_LESS = 2.5, 4.5

RATIO = Fraction(102, 100)
"""How many times as many posts the next set has."""

Keys = Callable[[int, int], NDArray[np.uint64]]
"""The keys of the posts from one rank (from 0) up to another; the random order sorts by them."""


def share_of(value: str, what: str) -> Fraction:
    """A share between 0 and 1 (both left out) out of what a user typed, exactly.

    Args:
        value: such as ``.9`` or ``9/10``.
        what: the name of the option, for the message.

    Raises:
        InputError: for anything else.
    """
    try:
        share = Fraction(value)
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{what} is {value!r}; expected a share such as .9") from None
    if not 0 < share < 1:
        raise InputError(f"{what} is {value}; expected a share between 0 and 1, such as .9")
    return share


def least_errors(size: int, target: Fraction, removed: int = 0) -> int:
    """The fewest not relevant posts of a set with which its list misses the target precision.

    In whole numbers: in floating point ``ceil(.55 * 100)`` is 56.

    Args:
        size: posts of the set.
        target: the precision, a share.
        removed: how many not relevant posts are left out of the list.
    """
    needed = -(-target.numerator * (size - removed) // target.denominator)
    return size - needed + 1


def first_set(budget: int) -> int:
    """How many posts the first set has: 150 with 300 planned labels, 100 with fewer than 134.

    Args:
        budget: labels that are planned.
    """
    return max(FIRST, math.isqrt(75 * budget))


def planned_nulls(sizes: NDArray[np.int64], target: Fraction, budget: int) -> NDArray[np.int64]:
    """The fewest errors of each set that its test has to rule out.

    The list that is handed over lacks the errors that were labelled, so a set may have more errors
    than the target allows. How many will be found is fixed beforehand, from the labels that a set
    is expected to have when the next one fails: of the last set, which is the whole pool, none.

    Args:
        sizes: (K,) of the nested sets.
        target: the precision.
        budget: labels that are planned.
    """
    following = np.append(sizes[1:], sizes[-1])
    labels = budget / (1 + np.log(following / sizes[0])) * sizes / following
    errors = float(1 - target) * labels
    found = np.clip(np.floor(_FOUND * errors - _FOUND_LESS * np.sqrt(errors)), 0, sizes // 2)
    found[-1] = 0
    pairs = zip(sizes.tolist(), found.astype(np.int64).tolist(), strict=True)
    return np.array([least_errors(size, target, removed) for size, removed in pairs], np.int64)


def errors_due(
    sizes: NDArray[np.int64], nulls: NDArray[np.int64], target: Fraction
) -> NDArray[np.int64]:
    """How many errors of each set must be found before it can be handed over.

    The fewest with which a list misses the target only if the set has the errors that its test
    rules out, or more.

    Args:
        sizes: (K,) of the nested sets.
        nulls: (K,) see `planned_nulls`.
        target: the precision.
    """
    pairs = zip(sizes.tolist(), nulls.tolist(), strict=True)
    ratio = target.denominator, target.numerator
    due = [size - (size + 1 - null) * ratio[0] // ratio[1] for size, null in pairs]
    return np.maximum(np.array(due, np.int64), 0)


def nested_sets(
    scores: NDArray[np.float64], *, first: int = FIRST, ratio: Fraction = RATIO
) -> NDArray[np.int64]:
    """The sizes of the nested sets from the top of a ranking, cut only where the score changes.

    Args:
        scores: (N,) of all posts, descending.
        first: posts of the first set, or more where the score does not change there; a pool with
            fewer posts is one set.
        ratio: of one size to the size before.

    Returns:
        (K,) strictly increasing; the last one is N.
    """
    total = len(scores)
    rising = scores[::-1]
    sizes: list[int] = []
    nominal = first
    while not sizes or sizes[-1] < total:
        if nominal >= total:
            sizes.append(total)
            break
        # All posts with the score of the last one belong to the set.
        end = total - int(np.searchsorted(rising, scores[nominal - 1], side="left"))
        if not sizes or end > sizes[-1]:
            sizes.append(end)
        nominal = max(nominal + 1, -(-nominal * ratio.numerator // ratio.denominator))
    return np.array(sizes, np.int64)


def kept_back(missing: int, budget: int) -> int:
    """How many labels are kept for the errors that a set still lacks before it is handed over.

    They go to its last posts, of which about half are errors where the next set does not pass.

    Args:
        missing: due errors of the set that are not known.
        budget: labels that are planned.
    """
    return min(2 * missing, budget // 3)


def keys_of(
    seed: int, names: Strings | Iterable[str], *, purpose: str = "certify"
) -> NDArray[np.uint64]:
    """The places of posts in the random order: a keyed hash (SipHash-2-4) of their ids.

    The same seed and id give the same key, in whatever order the rows of a file are.

    Args:
        seed: chosen before the first label.
        names: n ids.
        purpose: orders for different purposes do not depend on each other.

    Returns:
        (n,) keys.
    """
    texts = names if isinstance(names, Strings) else Strings.of(names)
    key = hashlib.blake2b(f"{purpose}:{seed}".encode(), digest_size=16).digest()
    return siphash(texts, key)


class Order:
    """The first posts of each nested set in the random order.

    Sets are visited from the smallest on, so keys are made only as far down as the walk goes, and
    of each set only as many posts are held as somebody asked for.

    Args:
        sizes: (K,) of the nested sets.
        keys: of the posts by rank.
        hold: how many posts of a set to hold at first.
    """

    def __init__(self, sizes: NDArray[np.int64], keys: Keys, *, hold: int = 1024) -> None:
        self._sizes = sizes
        self._make = keys
        self._hold = hold
        self._keys: list[NDArray[np.uint64]] = []
        self._found: list[NDArray[np.int64]] = []
        self._found_keys: list[NDArray[np.uint64]] = []

    def first(self, number: int, count: int) -> NDArray[np.int64]:
        """The ranks (from 0) of the first `count` posts of a set, or of all it has.

        Args:
            number: of the set, from 0.
            count: how many.
        """
        if count > self._hold and self._sizes[number] > self._hold:
            self._hold = max(2 * self._hold, count)
            self._found.clear()
            self._found_keys.clear()
        while len(self._found) <= number:
            self._extend()
        return self._found[number][:count]

    def _extend(self) -> None:
        number = len(self._found)
        start = int(self._sizes[number - 1]) if number else 0
        end = int(self._sizes[number])
        if len(self._keys) == number:
            self._keys.append(self._make(start, end))
        ranks = np.arange(start, end, dtype=np.int64)
        keys = self._keys[number]
        if number:
            ranks = np.concatenate([self._found[-1], ranks])
            keys = np.concatenate([self._found_keys[-1], keys])
        if len(keys) > self._hold:
            chosen = np.argpartition(keys, self._hold)[: self._hold]
            ranks, keys = ranks[chosen], keys[chosen]
        places = np.argsort(keys, kind="stable")
        self._found.append(ranks[places])
        self._found_keys.append(keys[places])


def largest_precise(
    scores: NDArray[np.float64], relevant: NDArray[np.bool_], target: Fraction
) -> int:
    """The most posts that a threshold can return with the target precision, all labels known.

    Args:
        scores: (N,) descending; a threshold cuts only where they change.
        relevant: (N,)
        target: the precision.
    """
    ends = np.append(np.flatnonzero(np.diff(scores)) + 1, len(scores))
    hits = np.cumsum(relevant)[ends - 1]
    good = hits * target.denominator >= ends * target.numerator
    return int(ends[good].max()) if good.any() else 0
