"""A precision certificate from its plan to its claims."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from siamese_news.decide.bounds.descent import (
    UNKNOWN,
    Outcome,
    Step,
    descend,
    handed_over,
    likely_labels,
)
from siamese_news.decide.bounds.label_noise import RESERVED, noisy_nulls
from siamese_news.decide.bounds.tables import Tables, turn_of
from siamese_news.decide.plan.design import (
    RATIO,
    Order,
    errors_due,
    first_set,
    kept_back,
    least_errors,
    nested_sets,
    planned_nulls,
)
from siamese_news.decide.plan.files import batch_name, misfit, sheets_of, whole
from siamese_news.decide.plan.population import Population
from siamese_news.decide.plan.sampling_plan import SamplingPlan
from siamese_news.decide.plan.texts import KnownVerdicts, Texts, distinct
from siamese_news.errors import InputError
from siamese_news.labels.matching import Labels
from siamese_news.labels.results import Unit
from siamese_news.labels.sheets import format_of, write_sheet

METHOD = (
    "descent over nested sets, exact group-sequential tests without replacement, labelled errors "
    "taken out, version 3"
)


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
        return {**asdict(self), "targets": list(self.targets)}

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
        """Of each target the fewest errors of each set that its test has to rule out.

        Where the annotator may err, labelled errors stay in the list, for some are none.
        """
        found = []
        for target in map(Fraction, self.targets):
            if self.false_positive is None:
                nulls = planned_nulls(sizes, target, self.budget)
            else:
                nulls = np.array([least_errors(n, target) for n in sizes.tolist()], np.int64)
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


_PIECE = 1024  # posts whose labels are looked up first to see whether all have one


@dataclass(frozen=True, slots=True)
class Claim:
    """What can be said about one target precision.

    Attributes:
        target: as typed.
        size: posts at the threshold or above; 0 where nothing is certified.
        threshold: the lowest score that is certified; None where none is.
        taken_out: ranks of the posts above that are left out, for they were labelled not relevant.
        put_in: ranks of the posts below that are part of the list, for they were labelled relevant.
        outcome: of the descent.
        step: the set that is handed over; None where there is none, or it is the whole pool.
        exact: whether every post above was labelled, so that nothing is left to chance.
        given: labels behind the verdicts of the certified set; the others were given to copies.
        more: about how many more labels the next set needs if errors go on as they came; None where
            there is no telling, or no next set.
    """

    target: str
    size: int
    threshold: float | None
    taken_out: tuple[int, ...]
    put_in: tuple[int, ...]
    outcome: Outcome
    step: Step | None
    exact: bool
    given: int
    more: int | None

    @property
    def posts(self) -> int:
        """In the list that is handed over."""
        return self.size - len(self.taken_out) + len(self.put_in)


class Certification(SamplingPlan):
    """A plan over a population, and where its labels have brought it; see `SamplingPlan`."""

    kind = "precision"

    def __init__(
        self,
        plan: dict[str, Any],
        path: Path,
        population: Population,
        posts: Sequence[Path] | None = None,
    ) -> None:
        super().__init__(plan, path, population, posts)
        self.settings = Settings.of(plan["settings"])
        self.sizes = np.array(plan["sets"], np.int64)
        nulls = self._nulls()
        self.tables = self.settings.tables(self.sizes, nulls)
        self.order = Order(self.sizes, population.keys(self.settings.seed))

    @classmethod
    def start(
        cls,
        results: Path,
        path: Path,
        settings: Settings,
        *,
        posts: Sequence[Path] | None = None,
        again: bool = False,
        withdraw: Sequence[Path] = (),
        criteria: str = "",
    ) -> Self:
        """Fix everything, before the first label, and write it down.

        Args:
            results: scored posts.
            path: of the plan, a new file, or one with the very same plan.
            settings: what the user chose.
            posts: files with the texts.
            again: whether this may be a further plan over the same scores.
            withdraw: earlier plans that this one replaces; see `ledger.register`.
            criteria: what counts as relevant.

        Raises:
            InputError: for settings that cannot be, and a plan that may not.
        """
        population = Population(results)
        if settings.first is None:
            settings = replace(settings, first=first_set(settings.budget))
        sizes = settings.sets(population.scores)
        noisy = settings.false_positive is not None
        nulls = settings.nulls(sizes, Texts(population, posts).copies() if noisy else None)
        if not any(of_target[0] for of_target in nulls):
            raise InputError(
                f"{results}: with --false-positive-rate {settings.false_positive} no labels can "
                f"certify the first set of {sizes[0]:,} posts: the annotator may have called as "
                "many relevant by mistake as it takes to miss the target (copies share one "
                "verdict); expected a lower rate, a lower --precision or a larger --first"
            )
        own = {
            "method": METHOD,
            "sets": sizes.tolist(),
            "cuts": population.scores[sizes - 1].tolist(),
            "nulls": nulls,
            "tables": fingerprint(settings.tables(sizes, nulls), settings.budget),
        }
        return cls._fix(
            path,
            population,
            settings.plain(),
            error=settings.spent,
            own=own,
            posts=posts,
            again=again,
            withdraw=withdraw,
            criteria=criteria,
        )

    @classmethod
    def resume(
        cls, path: Path, *, results: Path | None = None, posts: Sequence[Path] | None = None
    ) -> Self:
        """See `SamplingPlan.resume`; method, sets and tables must be those of the plan as well."""
        found = super().resume(path, results=results, posts=posts)
        if found.sizes.tolist() != found.settings.sets(found.population.scores).tolist():
            raise InputError(
                f"{path}: its sets are not those of these scores; restore it, or plan anew with "
                "sample --again"
            )
        if fingerprint(found.tables, found.settings.budget) != found.plan["tables"]:
            raise InputError(
                f"{path}: this version of the program computes other tables than the plan has; "
                "finish with the version that made it"
            )
        return found

    def _nulls(self) -> list[list[int]]:
        if self.plan["method"] != METHOD:
            raise InputError(
                f"{self.path}: another version of the program made this plan, with another test; "
                "finish with the version that made it, or plan anew with sample --again"
            )
        nulls: Any = self.plan.get("nulls")
        rows = len(self.settings.targets), len(self.sizes)
        if misfit(nulls, [[whole]]) or (len(nulls), *{len(row) for row in nulls}) != rows:
            raise InputError(
                f"{self.path}: its 'nulls' are missing or damaged; restore the file, or plan anew "
                "with sample --again"
            )
        found: list[list[int]] = nulls
        return found

    @property
    def error(self) -> Fraction:
        """The chance of a wrong certificate, earlier plans over the same scores included."""
        return min(Fraction(1), self.earlier_error + self.settings.error)

    @property
    def joint_error(self) -> Fraction:
        """The chance that any target is certified wrongly, earlier plans included."""
        return min(Fraction(1), self.error - self.settings.error + self.settings.spent)

    def verdicts(self, labels: Labels) -> KnownVerdicts:
        """The labels by rank."""
        return KnownVerdicts(labels, self.population, self.texts, self.order, self.sizes)

    def claims(self, labels: Labels) -> list[Claim]:
        """What the labels show, target by target."""
        verdicts = self.verdicts(labels)
        sure = self.settings.false_positive is None  # that a label says what is true
        whole = self._whole_pool(verdicts) if len(labels.of) else None
        found = []
        for target, tables in zip(self.settings.targets, self.tables, strict=True):
            outcome = descend(tables, self.order, verdicts)
            due, errors = np.zeros_like(self.sizes), np.empty(0, np.int64)
            if sure:
                due = errors_due(self.sizes, tables.nulls, Fraction(target))
                errors = verdicts.not_relevant(outcome.steps[-1].size)
            step = handed_over(outcome, due, errors)
            size = step.size if step else 0
            exact, more = step is not None and step.labels == step.size, None
            if whole is not None and sure:
                step, exact, errors = None, True, np.flatnonzero(whole == 0)
                size = len(whole) if len(errors) < len(whole) else 0
            elif not outcome.done:
                more = self._more(outcome, tables, verdicts)
            threshold = float(self.population.scores[size - 1]) if size else None
            given = verdicts.given(self.order.first(step.number, step.labels)) if step else 0
            taken_out = tuple(errors[errors < size].tolist())
            put_in = tuple(verdicts.relevant_from(size).tolist()) if size and sure else ()
            found.append(
                Claim(target, size, threshold, taken_out, put_in, outcome, step, exact, given, more)
            )
        return found

    def next_posts(self, labels: Labels, *, more: int = 0, at_least: int = 1) -> list[int]:
        """Ranks of the posts to label next; none where the budget would not change anything.

        With several targets each has an equal share of the budget, and what those before it leave.

        Args:
            labels: that there are.
            more: labels allowed beyond those that there are, whatever the budget.
            at_least: fill the batch up to so many posts with those that come next if all of it are
                relevant; some of them may turn out not to be needed.
        """
        verdicts = self.verdicts(labels)
        used, total = len(labels.of), len(self.population)
        budget = max(self.settings.budget, used + more)
        if budget >= total:
            ranks = self.order.first(len(self.sizes) - 1, total)
            return self._distinct(ranks[verdicts(ranks) == UNKNOWN].tolist())
        count = len(self.tables)
        for place, (target, tables) in enumerate(
            zip(self.settings.targets, self.tables, strict=True), 1
        ):
            allowed = budget * place // count - used
            outcome = descend(tables, self.order, verdicts)
            passed = outcome.certified
            missing = self._missing(passed, target, tables, verdicts) if passed else 0
            needed = self._distinct(outcome.needed)
            free = allowed - kept_back(missing, budget)
            if not needed or len(needed) > free:
                if passed and missing and allowed > 0:
                    return self._last_posts(passed.size, min(missing, allowed), verdicts)
                continue
            wanted = min(at_least, free)
            hoped, assumed = outcome, list(outcome.needed)
            while len(needed) < wanted and hoped.needed:
                # Texts are looked up once for many sets; there may be copies among them.
                more_of_them = len(assumed) + wanted - len(needed)
                while len(assumed) < more_of_them and hoped.needed:
                    start = hoped.steps[-1].number
                    hoped = descend(tables, self.order, _Hoping(verdicts, assumed), start=start)
                    assumed += hoped.needed
                needed = self._distinct(assumed)[:wanted]
            return needed
        return []

    def ask(self, labels: Labels) -> Unit | None:
        """The next post; None when the budget is spent or nothing more can be shown."""
        ranks = self.next_posts(labels)
        return self.units(ranks[:1])[0] if ranks else None

    def status(self, labels: Labels) -> str:
        """How far the labeling is, without what would give rank or score away."""
        relevant = sum(label.relevant for label in labels.of.values())
        planned = f"{len(labels.of):,} of {self.settings.budget:,} planned labels"
        return f"{planned}, {relevant:,} relevant"

    def _missing(self, step: Step, target: str, tables: Tables, verdicts: KnownVerdicts) -> int:
        """How many errors of a set are due and not known."""
        if self.settings.false_positive is not None:
            return 0
        due = errors_due(self.sizes, tables.nulls, Fraction(target))[step.number]
        return max(0, int(due) - len(verdicts.not_relevant(step.size)))

    def _last_posts(self, size: int, count: int, verdicts: KnownVerdicts) -> list[int]:
        """The last posts of a set that have no label."""
        found: list[int] = []
        end = size
        while end and len(found) < count:
            start = max(0, end - _PIECE)
            ranks = np.arange(start, end)[::-1]
            found = self._distinct([*found, *ranks[verdicts(ranks) == UNKNOWN].tolist()])
            end = start
        return found[:count]

    def _distinct(self, ranks: Sequence[int]) -> list[int]:
        return distinct(self.texts.units(ranks), ranks) if ranks else []

    def _more(self, outcome: Outcome, tables: Any, verdicts: KnownVerdicts) -> int | None:
        step = outcome.steps[-1]
        likely = likely_labels(tables, step, budget=self.settings.budget)
        if likely is None:
            return None
        ranks = self.order.first(step.number, likely)
        return int((verdicts(ranks) == UNKNOWN).sum())

    def _whole_pool(self, verdicts: KnownVerdicts) -> NDArray[np.int8] | None:
        """The labels by rank where every post has one."""
        if len(verdicts.ranks) < min(len(self.population), self.settings.budget):
            return None
        pieces: list[NDArray[np.int8]] = []
        start, end, total = 0, _PIECE, len(self.population)
        while start < total:  # piece by piece, for nearly always the first one has a gap
            pieces.append(verdicts(np.arange(start, min(end, total))))
            if (pieces[-1] == UNKNOWN).any():
                return None
            start, end = end, 2 * end
        return np.concatenate(pieces)


class _Hoping:
    """Verdicts as if posts that are not labelled yet were relevant."""

    def __init__(self, verdicts: KnownVerdicts, ranks: Sequence[int]) -> None:
        self._verdicts = verdicts
        self._ranks = np.array(ranks, np.int64)

    def __call__(self, ranks: NDArray[np.int64]) -> NDArray[np.int8]:
        found = self._verdicts(ranks)
        found[(found == UNKNOWN) & np.isin(ranks, self._ranks)] = 1
        return found


@dataclass(frozen=True, slots=True)
class Batch:
    """What is to be done next.

    Attributes:
        sheet: the new sheet; None where none was needed.
        posts: in the new sheet.
        waiting: posts of earlier sheets that have no label yet and are needed.
    """

    sheet: Path | None
    posts: int
    waiting: int


def expect_all(plan: Path, sheets: Sequence[Path]) -> None:
    """Refuse to go on without one of the sheets of a plan.

    Raises:
        InputError: names it.
    """
    given = {sheet.resolve() for sheet in sheets}
    left_out = [sheet for sheet in sheets_of(plan) if sheet.resolve() not in given]
    if left_out and any(sheet.resolve() in given for sheet in sheets_of(plan)):
        raise InputError(
            f"{left_out[0]}: is a sheet of this plan too; name all of them: "
            + " ".join(f"--labels {sheet}" for sheet in [*sheets, *left_out])
        )


def next_batch(
    work: Certification,
    labels: Labels,
    sheet: Path,
    *,
    more: int = 0,
    at_least: int = 1,
    format: str | None = None,
) -> Batch:
    """Draw the posts that are needed next and write those that no sheet has yet.

    Args:
        work: the plan and its population.
        labels: that there are.
        sheet: any sheet of the plan; the new one is called after it.
        more: labels beyond those that there are, whatever the budget.
        at_least: posts of the batch, though fewer may turn out to do.
        format: of the new sheet; else by its ending.
    """
    ranks = work.next_posts(labels, more=more, at_least=at_least)
    units = work.units(ranks)
    before = set(work.sampled.by_name)
    new = [unit for unit in units if unit.name not in before]
    if not new:
        return Batch(None, 0, len(units))
    number = len(sheets_of(work.path)) + 1
    path = batch_name(sheet, number)
    while path.exists():
        number += 1
        path = batch_name(sheet, number)
    write_sheet(path, work.sampled.keyed(new), format_of(path, format))
    return Batch(path, len(new), len(units) - len(new))
