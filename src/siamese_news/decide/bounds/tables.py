"""Exact tables of group-sequential tests in finite populations.

A table says after how many labels how few errors are few enough. The probability of ever being at
or below it, when the set misses the target by the least possible, is computed exactly, for draws
without replacement, and is at most the error budget, however often one looks.

The idea of spending an error budget over looks is that of Lan and DeMets (Biometrika, 1983);
election audits compute it exactly as well (Zagorski et al., USENIX Security 2021).
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

KEPT = 0.1
"""Share of the error budget that is kept for labels beyond the planned ones."""

_TOGETHER = 64  # sets whose tables are computed at once
_FAR = 3  # times the turn: from there on a table is computed for its set alone
_DIGITS = 1e12  # what may be spent is rounded down to this, so machines agree on the tables


def turn_of(budget: int) -> int:
    """After how many labels of a set all but the kept tenth is spent: three quarters of them."""
    return max(1, 3 * budget // 4)


def spent_by(labels: NDArray[np.int64], size: int, error: float, turn: int) -> NDArray[np.float64]:
    """How much of the error budget may be spent after so many labels of a set.

    Straight up to `turn`, but for a tenth, which goes with the logarithm up to the whole set; a
    smaller set spends all of it straight.

    Args:
        labels: (n,) numbers of labels, from 1 to `size`.
        size: posts of the set.
        error: the budget.
        turn: see `turn_of`.
    """
    t = labels.astype(np.float64)
    if size <= turn:
        spent = error * t / size
    else:
        late = KEPT * np.log(np.maximum(t, turn) / turn) / np.log(size / turn)
        spent = error * ((1 - KEPT) * np.minimum(t / turn, 1.0) + late)
    return np.floor(np.minimum(spent, error) * _DIGITS) / _DIGITS


class Tables:
    """The tables of the nested sets, computed when they are asked for.

    Args:
        sizes: posts of each set.
        nulls: the fewest errors with which each set misses the target.
        error: the error budget of each set; not more than one half.
        turn: see `turn_of`.
    """

    def __init__(
        self, sizes: Sequence[int], nulls: Sequence[int], *, error: float, turn: int
    ) -> None:
        if not 0 < error <= 0.5:
            raise ValueError(f"error is {error}; expected more than 0 and at most .5")
        self.sizes = np.asarray(sizes, np.int64)
        self.nulls = np.asarray(nulls, np.int64)
        self.error = error
        self.turn = turn
        self._found: dict[int, NDArray[np.int32]] = {}
        self._far: dict[int, NDArray[np.int32]] = {}

    def bounds(self, number: int, labels: int) -> NDArray[np.int32]:
        """The most errors with which a set is certified after 0, 1, ... labels; -1 for none.

        Args:
            number: of the set, from 0.
            labels: how far the table is needed.

        Returns:
            (min(labels, size) + 1,) never decreasing.
        """
        labels = min(labels, int(self.sizes[number]))
        if labels > _FAR * self.turn:
            return self._far_bounds(number, labels)
        group = number // _TOGETHER
        found = self._found.get(group)
        if found is None or found.shape[1] <= labels:
            start = group * _TOGETHER
            part = slice(start, start + _TOGETHER)
            # Twice as far as needed, so that one label more is no new table.
            upto = labels if found is None else max(labels, 2 * found.shape[1])
            found = _tables(self.sizes[part], self.nulls[part], self.error, self.turn, upto)
            self._found[group] = found
        return found[number % _TOGETHER, : labels + 1]

    def ceiling(self, number: int, labels: int) -> NDArray[np.int64]:
        """What the table of a set never exceeds, without computing it.

        The chance of being at or below the table is at most one half, so it stays below the
        median, which is within one of the mean.

        Args:
            number: of the set, from 0.
            labels: how far.

        Returns:
            (labels + 1,)
        """
        return np.arange(labels + 1) * self.nulls[number] // self.sizes[number] + 2

    def _far_bounds(self, number: int, labels: int) -> NDArray[np.int32]:
        """As `bounds`, for the one set that somebody looks at far beyond the budget."""
        found = self._far.get(number)
        if found is None or len(found) <= labels:
            part = slice(number, number + 1)
            (found,) = _tables(self.sizes[part], self.nulls[part], self.error, self.turn, labels)
            self._far[number] = found
        return found[: labels + 1]

    def fingerprint(self, labels: int) -> str:
        """SHA-256 of all tables up to so many labels."""
        digest = hashlib.sha256()
        for number in range(len(self.sizes)):
            digest.update(np.ascontiguousarray(self.bounds(number, labels), "<i4").tobytes())
        return digest.hexdigest()


def _tables(
    sizes: NDArray[np.int64], nulls: NDArray[np.int64], error: float, turn: int, upto: int
) -> NDArray[np.int32]:
    """The tables of several sets side by side.

    ``mass[k, x]`` is the probability that set k, with exactly ``nulls[k]`` errors, has shown x of
    them so far and was not certified. The chance of being at or below the table is below one half,
    so the table stays below the median, and counts beyond the mean need not be held.
    """
    upto = min(upto, int(sizes.max()))
    mean = upto * nulls // sizes
    width = int(np.minimum(nulls, mean + 2).max()) + 2
    rows = np.arange(len(sizes))
    mass = np.zeros((len(sizes), width))
    mass[:, 0] = 1.0
    missing = (nulls[:, None] - np.arange(width)[None, :]).astype(np.float64)  # errors not shown
    looks = np.arange(1, upto + 1)
    allowed = np.stack([spent_by(np.minimum(looks, n), int(n), error, turn) for n in sizes])
    spent = np.zeros(len(sizes))
    best = np.full(len(sizes), -1, np.int64)
    found = np.full((len(sizes), upto + 1), -1, np.int32)
    for look in range(1, upto + 1):
        left = np.maximum(sizes - look + 1, 1)[:, None]
        hit = mass * np.clip(missing / left, 0.0, 1.0)
        mass -= hit
        mass[:, 1:] += hit[:, :-1]
        while True:
            more = np.minimum(best + 1, width - 1)
            after = spent + mass[rows, more]
            fits = (more > best) & (more < nulls) & (after <= allowed[:, look - 1])
            if not fits.any():
                break
            spent[fits] = after[fits]
            best[fits] = more[fits]
            mass[rows[fits], more[fits]] = 0.0
        found[:, look] = best
    return found
