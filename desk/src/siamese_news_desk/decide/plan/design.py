"""Everything fixed before the first label: nested sets of posts and their random order."""

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError
from siamese_news.utils.strings import Strings
from siamese_news_desk.decide.plan.keyed_hash import siphash
from siamese_news_desk.labels.shares import exact

# The fewest posts of the first set (`first_set`).
FIRST = 100

# If m errors are expected among the labels of a set that just meets the target, 2.5 m - 4.5 sqrt(m)
# errors are due: a few labels are sure to find only a few errors. Chosen on the development pools
# (``python -m benchmarks.certify_design``).
_FOUND, _FOUND_LESS = 2.5, 4.5

# Chosen on the lists of two to four crises (``python -m benchmarks.promises --starts``) and judged on
# those of six to twelve: with larger first sets, more plans certify nothing.
# Times the allowed errors that the estimate, which is cautious, may expect.
_MARGIN = Fraction(3, 2)
_PART = Fraction(1, 2)  # of the posts from which the labels that are left may continue
_POSTS_A_LABEL = 4  # the most posts of the first set
# With m labels and no error, about 3/m of a large set may be errors (confidence .95).
_TELLING = 3

_SMALLEST = 10  # posts of a first set that ends before many equal scores

_JUMP = 1.25  # a next set that is larger by this factor is so because of equal scores

# The size of each set divided by the one before.
RATIO = Fraction(102, 100)

# The keys of the posts between two ranks; the random order sorts by them.
Keys = Callable[[int, int], NDArray[np.uint64]]


def share_of(value: str, quantity: str) -> Fraction:
    """A share strictly between 0 and 1, such as ``.9`` or ``9/10``, read exactly.

    Raises:
        InputError: for anything else; it calls the value by the name `quantity`.
    """
    try:
        share = exact(value)
    except (ValueError, ZeroDivisionError):
        raise InputError(
            f"{quantity} is {value!r}; expected a share such as .9 or 90%"
        ) from None
    if not 0 < share < 1:
        raise InputError(
            f"{quantity} is {value}; expected a share between 0 and 1, such as .9"
        )
    return share


def distinct_shares(values: Sequence[str], quantity: str) -> list[Fraction]:
    """The shares of several targets, each once.

    Raises:
        InputError: there is no target, a target is not a share, or two have the same value.
    """
    shares = [share_of(value, quantity) for value in values]
    if not shares:
        raise InputError(
            f"expected one or several precisions for {quantity}, such as .9"
        )
    if len(set(shares)) < len(shares):
        raise InputError(f"{quantity} has the same target twice; expected each once")
    return shares


def least_errors(size: int, target: Fraction, removed: int = 0) -> int:
    """The fewest not relevant posts with which a set, without `removed` of them, misses the target.

    In integers, because ``ceil(.55 * 100)`` is 56 in floating point.
    """
    needed = -(-target.numerator * (size - removed) // target.denominator)
    return size - needed + 1


def first_set(
    budget: int,
    target: Fraction | None = None,
    relevance: NDArray[np.float64] | None = None,
) -> int:
    """The posts of the first set: 150 with 300 planned labels, 100 with fewer than 134.

    A descent that starts there spends its labels before it is through a large list, so an estimate of
    the `relevance` (M,) of the best posts may name a larger set for a `target`. Even without errors
    a set needs about 3 / (1 - target) labels to pass. The larger a part of the labels this is, the
    fewer sets can follow: the first set is half that part of the posts that are likely good enough.
    The estimate chooses where the tests begin and enters none of them: any first set is valid that
    is fixed before the first label.
    """
    minimum = max(FIRST, math.isqrt(75 * budget))
    if target is None or relevance is None or budget * (1 - target) < _TELLING:
        return minimum
    posts = np.arange(1, len(relevance) + 1)
    precision = float(1 - _MARGIN * (1 - target))
    good = np.flatnonzero(np.cumsum(relevance) >= precision * posts)
    likely = int(good[-1]) + 1 if len(good) else 0
    share = _PART * _TELLING / (budget * (1 - target))
    return max(minimum, min(int(share * likely), _POSTS_A_LABEL * budget))


def planned_nulls(
    sizes: NDArray[np.int64], target: Fraction, budget: int
) -> NDArray[np.int64]:
    """The smallest number of errors (K,) that the test of each set must rule out.

    The list leaves out the labeled errors, so a set may have more errors than the target allows.
    The number of errors that will be found is fixed beforehand, from the number of labels that a
    set should have when the next one fails. It is 0 for the last set, which is the whole pool, and
    for a set that ends before many equal scores: the next one may fail although this one has no
    error, and errors that do not exist cannot be found.
    """
    following = np.append(sizes[1:], sizes[-1])
    labels = budget / (1 + np.log(following / sizes[0])) * sizes / following
    errors = float(1 - target) * labels
    nulls = np.clip(
        np.floor(_FOUND * errors - _FOUND_LESS * np.sqrt(errors)), 0, sizes // 2
    )
    nulls[-1] = 0
    nulls[following > _JUMP * sizes] = 0
    pairs = zip(sizes.tolist(), nulls.astype(np.int64).tolist(), strict=True)
    return np.array(
        [least_errors(size, target, removed) for size, removed in pairs], np.int64
    )


def errors_due(
    sizes: NDArray[np.int64], nulls: NDArray[np.int64], target: Fraction
) -> NDArray[np.int64]:
    """The number of errors (K,) of each set that must be found before it can be returned.

    It is the smallest number for which the list can only miss the target if the set has at least
    the errors that its test rules out (`nulls`, (K,)).
    """
    pairs = zip(sizes.tolist(), nulls.tolist(), strict=True)
    ratio = target.denominator, target.numerator
    required = [size - (size + 1 - null) * ratio[0] // ratio[1] for size, null in pairs]
    return np.maximum(np.array(required, np.int64), 0)


def nested_sets(
    scores: NDArray[np.float64], *, first_size: int = FIRST, ratio: Fraction = RATIO
) -> NDArray[np.int64]:
    """The sizes (K,) of the nested sets from the top of a ranking, strictly increasing up to N.

    `scores` (N,) are descending. A set never splits equal scores, so it may be larger than asked; a
    pool with fewer posts than the `first_size` set is one set. If equal scores make the first set more
    than twice as large as asked, as those of a classifier do, a smaller one ends before them.
    """
    total = len(scores)
    rising = scores[::-1]
    sizes: list[int] = []
    nominal = first_size
    while not sizes or sizes[-1] < total:
        if nominal >= total:
            sizes.append(total)
            break
        # All posts with the score of the last one belong to the set.
        begin = total - int(np.searchsorted(rising, scores[nominal - 1], side="right"))
        end = total - int(np.searchsorted(rising, scores[nominal - 1], side="left"))
        if not sizes and end > 2 * first_size and begin >= _SMALLEST:
            sizes.append(begin)
        if not sizes or end > sizes[-1]:
            sizes.append(end)
        nominal = max(nominal + 1, -(-nominal * ratio.numerator // ratio.denominator))
    return np.array(sizes, np.int64)


def reserved_labels(missing: int, budget: int) -> int:
    """Labels reserved for the `missing` errors that a set needs before it can be returned.

    They go to its last posts; about half of these are errors if the next set does not pass.
    """
    return min(2 * missing, budget // 3)


def keys_of(
    seed: int, names: Strings | Iterable[str], *, purpose: str = "certify"
) -> NDArray[np.uint64]:
    """The places (n,) of posts in the random order: a keyed hash (SipHash-2-4) of their ids.

    The same seed, purpose and id give the same key, whatever the order of the rows in a file.
    Orders for different purposes are independent.
    """
    key = hashlib.blake2b(f"{purpose}:{seed}".encode(), digest_size=16).digest()
    return siphash(names if isinstance(names, Strings) else Strings.of(names), key)


class Order:
    """The first posts of each nested set in the random order.

    Sets, of these sizes (K,), are visited from the smallest on. Keys are computed only as far down
    as the descent goes, and only the requested posts of each set are held, `hold` of them at first.
    """

    def __init__(
        self, sizes: NDArray[np.int64], keys: Keys, *, hold: int = 1024
    ) -> None:
        self._sizes = sizes
        self._make = keys
        self._hold = hold
        self._keys: list[NDArray[np.uint64]] = []
        self._found: list[NDArray[np.int64]] = []
        self._found_keys: list[NDArray[np.uint64]] = []

    def first(self, number: int, count: int) -> NDArray[np.int64]:
        """The ranks (from 0) of the first `count` posts of set `number`, or of all its posts."""
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
            ranks = ranks[chosen]
            keys = keys[chosen]
        by_key = np.argsort(keys, kind="stable")
        self._found.append(ranks[by_key])
        self._found_keys.append(keys[by_key])
