"""Exact tables of group-sequential tests in finite populations.

A table says how few errors are few enough after each number of labels. The probability of ever
being at or below it, if the set misses the target by the least possible, is computed exactly for
draws without replacement, and never exceeds the error budget, however often one looks.

Spending an error budget over looks is the idea of Lan and DeMets (Biometrika, 1983); election
audits also compute it exactly (Zagorski et al., USENIX Security 2021).
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siamese_news.utils.cache import load_arrays, private_folder, save_arrays

# Passes on the steps of a long computation, and may show its progress.
WithProgress = Callable[[Sequence[int]], Iterable[int]]

# Share of the error budget that is reserved for labels beyond the planned ones.
KEPT = 0.1

_TOGETHER = 64  # sets whose tables are computed together
_FAR = 3  # times the turn: beyond it, a table is computed for one set only
# Numbers to compute in about half a second; such tables are kept on the disk.
_LONG = 10**8
# The budget is rounded down to this, so all machines compute the same tables.
_DIGITS = 1e12


def turn_of(budget: int) -> int:
    """The labels of a set by which 90% of its error budget is spent: 3/4 of the planned ones."""
    return max(1, 3 * budget // 4)


def spent_by(
    labels: NDArray[np.int64], size: int, error: float, turn: int
) -> NDArray[np.float64]:
    """The error budget (n,) that may be spent after each number of labels (n,), from 1 to `size`.

    It grows linearly to 90% at `turn`, then with the logarithm up to the whole set. A set smaller
    than `turn` spends all of it linearly.
    """
    t = labels.astype(np.float64)
    if size <= turn:
        spent = error * t / size
    else:
        late = KEPT * np.log(np.maximum(t, turn) / turn) / np.log(size / turn)
        spent = error * ((1 - KEPT) * np.minimum(t / turn, 1.0) + late)
    return np.floor(np.minimum(spent, error) * _DIGITS) / _DIGITS


class Tables:
    """The tables of nested sets of these sizes, computed on demand.

    `nulls` are the smallest numbers of errors with which the sets miss the target, `error` is the
    error budget of each, at most one half; for `turn` see `turn_of`. `with_progress` is told of long
    computations.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        nulls: Sequence[int],
        *,
        error: float,
        turn: int,
        with_progress: WithProgress = iter,
    ) -> None:
        self.sizes = np.asarray(sizes, np.int64)
        self.nulls = np.asarray(nulls, np.int64)
        self.error = error
        self.turn = turn
        self._with_progress = with_progress
        self._found: dict[tuple[int, int], NDArray[np.int32]] = {}

    def bounds(self, number: int, labels: int) -> NDArray[np.int32]:
        """The most errors with which set `number` is certified after 0, 1, ... `labels` labels.

        -1 where no number is few enough; (min(labels, size) + 1,), never decreasing.
        """
        labels = min(labels, int(self.sizes[number]))
        together = 1 if labels > _FAR * self.turn else _TOGETHER
        start = number - number % together
        bounds = self._found.get((start, together))
        if bounds is None or bounds.shape[1] <= labels:
            numbers = slice(start, start + together)
            # Twice as far as needed, so that one more label needs no new table.
            upto = labels if bounds is None else max(labels, 2 * bounds.shape[1])
            bounds = self._tables(self.sizes[numbers], self.nulls[numbers], upto)
            self._found[start, together] = bounds
        return bounds[number - start, : labels + 1]

    def ceiling(self, number: int, labels: int) -> NDArray[np.int64]:
        """Upper bounds (labels + 1,) of the table of a set, without computing it.

        The probability of being at or below the table is at most one half, so the table stays below
        the median, which is within one of the mean.
        """
        return np.arange(labels + 1) * self.nulls[number] // self.sizes[number] + 2

    def fingerprint(self, labels: int) -> str:
        """SHA-256 of all tables up to this number of labels."""
        digest = hashlib.sha256()
        for number in range(len(self.sizes)):
            digest.update(
                np.ascontiguousarray(self.bounds(number, labels), "<i4").tobytes()
            )
        return digest.hexdigest()

    def _tables(
        self, sizes: NDArray[np.int64], nulls: NDArray[np.int64], upto: int
    ) -> NDArray[np.int32]:
        """The tables of several sets; those that take long are kept in the user's cache."""
        upto = min(upto, int(sizes.max()))
        width = int(np.minimum(nulls, upto * nulls // sizes + 2).max()) + 2
        if len(sizes) * width * upto < _LONG:
            return _computed(sizes, nulls, self.error, self.turn, upto, width)
        code = Path(__file__).read_bytes()  # another version may compute others
        bounds = [
            sizes.tolist(),
            nulls.tolist(),
            self.error,
            self.turn,
            upto,
            np.__version__,
        ]
        name = hashlib.sha256(code + repr(bounds).encode()).hexdigest()
        folder = private_folder("tables")
        path = None if folder is None else folder / f"{name}.npz"
        saved = None if path is None else load_arrays(path)
        if saved is not None and "tables" in saved:
            tables: NDArray[np.int32] = saved["tables"]
            if tables.shape == (len(sizes), upto + 1) and tables.dtype == np.int32:
                return tables
        computed = _computed(
            sizes, nulls, self.error, self.turn, upto, width, self._with_progress
        )
        if path is not None:
            with suppress(OSError):  # a folder that cannot be written
                save_arrays(path, tables=computed)
        return computed


def _computed(
    sizes: NDArray[np.int64],
    nulls: NDArray[np.int64],
    error: float,
    turn: int,
    upto: int,
    width: int,
    with_progress: WithProgress = iter,
) -> NDArray[np.int32]:
    """The tables of several sets, computed together.

    ``mass[x, k]`` is the probability that set k, with exactly ``nulls[k]`` errors, has shown x of
    them so far and was not certified. The table stays below the median (see `Tables.ceiling`), so
    counts beyond the mean (`width`) are not stored. Only the rows from `lowest_row` to
    `end_row` can differ from 0.
    """
    rows = np.arange(len(sizes))
    mass = np.zeros((width, len(sizes)))
    mass[0] = 1.0
    missing = (nulls - np.arange(width)[:, None]).astype(np.float64)  # errors not shown
    hits = np.empty_like(mass)
    looks = np.arange(1, upto + 1)
    allowed = np.stack(
        [spent_by(np.minimum(looks, n), int(n), error, turn) for n in sizes]
    )
    spent = np.zeros(len(sizes))
    best = np.full(len(sizes), -1, np.int64)
    bounds = np.full((len(sizes), upto + 1), -1, np.int32)
    lowest_row, end_row = 0, 1
    for look in with_progress(looks.tolist()):
        live = mass[lowest_row:end_row]
        unlabeled = np.maximum(sizes - look + 1, 1)
        hit = np.divide(
            missing[lowest_row:end_row], unlabeled, out=hits[lowest_row:end_row]
        )
        np.maximum(hit, 0.0, out=hit)
        np.minimum(hit, 1.0, out=hit)
        hit *= live
        live -= hit
        end_row = min(end_row + 1, width)
        mass[lowest_row + 1 : end_row] += hit[: end_row - lowest_row - 1]
        while True:
            next_best = np.minimum(best + 1, width - 1)
            next_spent = spent + mass[next_best, rows]
            affordable = (
                (next_best > best)
                & (next_best < nulls)
                & (next_spent <= allowed[:, look - 1])
            )
            if not affordable.any():
                break
            spent[affordable] = next_spent[affordable]
            best[affordable] = next_best[affordable]
            mass[next_best[affordable], rows[affordable]] = 0.0
        lowest_row = min(int(best.min()) + 1, end_row - 1)
        bounds[:, look] = best
    return bounds
