"""The plan of a certificate: what is fixed before the first label, and where that is written."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.decide.design import RATIO, least_errors, nested_sets
from siamese_news.decide.noise import RESERVED, noisy_nulls
from siamese_news.decide.tables import Tables, turn_of
from siamese_news.errors import InputError

METHOD = "descent over nested sets, exact group-sequential tests without replacement, version 2"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user chooses before the first label.

    Attributes:
        targets: precisions, as typed.
        confidence: as typed.
        budget: labels that are planned.
        first: posts of the first set; None: `Certification.start` takes `first_set`.
        ratio: of one set to the one before.
        seed: of the random order.
        joint: whether all targets together hold at the confidence, or each by itself.
        false_positive: share of not relevant posts that the annotator may call relevant; None where
            the certificate is about the annotator's verdicts.
        false_negative: share of relevant posts that the annotator calls not relevant at least.
    """

    targets: tuple[str, ...]
    confidence: str
    budget: int
    first: int | None = None
    ratio: str = str(RATIO)
    seed: int = 0
    joint: bool = False
    false_positive: float | None = None
    false_negative: float = 0.0

    @property
    def error(self) -> Fraction:
        """The error budget of one target."""
        error = 1 - Fraction(self.confidence)
        return error / len(self.targets) if self.joint else error

    @property
    def spent(self) -> Fraction:
        """The chance that any of the targets is certified wrongly, at most."""
        return min(Fraction(1), self.error * len(self.targets))

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "targets": list(self.targets), "confidence": self.confidence, "budget": self.budget,
            "first": self.first, "ratio": self.ratio, "seed": self.seed, "joint": self.joint,
            "false_positive": self.false_positive, "false_negative": self.false_negative,
        }  # fmt: skip

    @classmethod
    def of(cls, plain: dict[str, Any]) -> "Settings":
        """Out of what `plain` gave."""
        known = {field.name: plain[field.name] for field in fields(cls)}
        return cls(**{**known, "targets": tuple(plain["targets"])})

    def sets(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """The sizes of the nested sets."""
        assert self.first is not None
        return nested_sets(scores, first=self.first, ratio=Fraction(self.ratio))

    def nulls(self, sizes: NDArray[np.int64], copies: NDArray[np.int64] | None) -> list[list[int]]:
        """Of each target the fewest errors with which each set misses it; see `noisy_nulls`."""
        found = []
        for target in self.targets:
            nulls = np.array([least_errors(n, Fraction(target)) for n in sizes.tolist()], np.int64)
            if self.false_positive is not None:
                rates = self.false_positive, self.false_negative
                nulls = noisy_nulls(sizes, nulls, *rates, copies)
            found.append(nulls.tolist())
        return found

    def tables(self, sizes: NDArray[np.int64], nulls: Sequence[Sequence[int]]) -> list[Tables]:
        """The tables of each target.

        Raises:
            InputError: where nothing of the confidence is left.
        """
        error = self.error
        if self.false_positive is not None:
            error -= RESERVED
        if not 0 < error <= Fraction(1, 2):
            raise InputError(
                f"confidence is {self.confidence} for {len(self.targets)} targets; expected at "
                "least .5, and less than "
                + (".995, of which .005 pay for label noise" if self.false_positive else "1")
            )
        turn = turn_of(self.budget)
        return [Tables(sizes.tolist(), own, error=float(error), turn=turn) for own in nulls]


def fingerprint(tables: Sequence[Tables], budget: int) -> list[str]:
    """SHA-256 of the tables of each target up to the budget."""
    return [table.fingerprint(budget) for table in tables]


def beside(sheet: Path, ending: str) -> Path:
    """A file that belongs to a sheet: ``sheet.csv`` has ``sheet.plan.json``.

    Args:
        sheet: of any batch, such as ``sheet.2.csv``.
        ending: what stands instead of the sheet's.
    """
    return sheet.with_name(f"{stem_of(sheet)}.{ending}")


def stem_of(sheet: Path) -> str:
    """The name of a sheet without its endings and the number of its batch."""
    name = sheet.name
    for known in (".plan.json", ".prodigy.jsonl", ".csv", ".jsonl", ".json", ".tsv", ".txt"):
        if name.lower().endswith(known):
            name = name[: -len(known)]
            break
    head, _, number = name.rpartition(".")
    return head if head and number.isdigit() else name


def batch_name(sheet: Path, number: int) -> Path:
    """The file of a further batch: ``sheet.2.csv``."""
    stem = stem_of(sheet)
    ending = sheet.name.removeprefix(stem)
    head, dot, tail = ending[1:].partition(".")
    kept = f".{tail}" if dot and head.isdigit() else ending
    return sheet.with_name(f"{stem}.{number}{kept}")
