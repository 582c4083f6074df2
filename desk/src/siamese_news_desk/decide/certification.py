"""A precision certificate from its plan to its claims."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Self, Unpack

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError
from siamese_news.utils.checked_json import converted
from siamese_news.utils.terminal import counted
from siamese_news_desk.decide.bounds.descent import (
    UNKNOWN,
    Outcome,
    Step,
    Verdicts,
    descend,
    likely_labels,
    returned_set,
)
from siamese_news_desk.decide.bounds.label_noise import RESERVED, noisy_nulls
from siamese_news_desk.decide.bounds.tables import Tables, turn_of
from siamese_news_desk.decide.plan.design import (
    FIRST,
    RATIO,
    Order,
    distinct_shares,
    errors_due,
    first_set,
    least_errors,
    nested_sets,
    planned_nulls,
    reserved_labels,
    share_of,
)
from siamese_news_desk.decide.plan.plan_fields import PrecisionSettings
from siamese_news_desk.decide.plan.population import Population
from siamese_news_desk.decide.plan.remedies import ANOTHER_PLAN, PlanRefused
from siamese_news_desk.decide.plan.sampling_plan import PlanOptions, SamplingPlan
from siamese_news_desk.decide.plan.sealed_files import read_sealed
from siamese_news_desk.decide.plan.texts import KnownVerdicts, Texts, distinct
from siamese_news_desk.labels.matching import Labels
from siamese_news_desk.labels.shares import exact

METHOD = (
    "descent over nested sets, exact group-sequential tests without replacement, labeled errors "
    "taken out, labels that are left for the best posts, version 4"
)


@dataclass(frozen=True, slots=True)
class Settings(PrecisionSettings):
    """What to certify; before there is a plan, None stands for `first_set` of the budget."""

    first: int | None = None  # type: ignore[assignment]
    ratio: str = str(RATIO)
    seed: int = 0
    false_positive: float | None = None
    false_negative: float = 0.0

    def check(self) -> None:
        """Raise an `InputError` for a value that no pool allows."""
        distinct_shares(self.targets, "precision")
        share_of(self.confidence, "confidence")
        if isinstance(self.budget, bool) or not (
            isinstance(self.budget, int) and self.budget > 0
        ):
            raise InputError(
                f"budget is {self.budget!r}; expected the number of labels to plan for, such as 300"
            )
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise InputError(
                f"seed is {self.seed!r}; expected a whole number, such as 0"
            )
        try:
            growing = exact(self.ratio) > 1
        except (ValueError, ZeroDivisionError):
            growing = False
        if not growing:
            raise InputError(
                f"ratio is {self.ratio!r}; expected a number above 1, such as 1.02"
            )
        if self.false_negative and self.false_positive is None:
            raise InputError("--false-negative-rate requires --false-positive-rate")
        if (
            self.false_positive is not None
            and self.false_positive + self.false_negative >= 1
        ):
            raise InputError(
                f"--false-positive-rate is {self.false_positive:g} and --false-negative-rate "
                f"{self.false_negative:g}; expected a sum below 1: such labels tell nothing, or "
                "the opposite of the truth"
            )

        self._tested_error()

    def _tested_error(self) -> Fraction:
        """The error budget of the tests of one target; an `InputError` if they have none."""
        error = self.error
        if self.false_positive is not None:
            error -= RESERVED
        if not 0 < error <= Fraction(1, 2):
            raise InputError(
                f"confidence is {self.confidence} for {counted(len(self.targets), 'target')}; "
                "expected at least .5, and less than "
                + (
                    ".995, of which .005 pay for label noise"
                    if self.false_positive
                    else "1"
                )
            )
        return error

    @property
    def error(self) -> Fraction:
        """The error budget of one target."""
        return 1 - Fraction(self.confidence)

    @property
    def spent(self) -> Fraction:
        """The largest probability that any target is certified wrongly."""
        return min(Fraction(1), self.error * len(self.targets))

    def sets(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """The sizes of the nested sets."""
        first_size = self.first or FIRST
        return nested_sets(scores, first_size=first_size, ratio=Fraction(self.ratio))

    def nulls(
        self, sizes: NDArray[np.int64], copies: NDArray[np.int64] | None
    ) -> list[list[int]]:
        """For each target, the smallest number of errors that the test of each set must rule out.

        If the annotator may err, labeled errors stay in the list, because some are relevant.
        """
        of_targets = []
        for target in map(Fraction, self.targets):
            if self.false_positive is None:
                nulls = planned_nulls(sizes, target, self.budget)
            else:
                nulls = np.array(
                    [least_errors(n, target) for n in sizes.tolist()], np.int64
                )
                rates = self.false_positive, self.false_negative
                nulls = noisy_nulls(sizes, nulls, *rates, copies)
            of_targets.append(nulls.tolist())
        return of_targets

    def tables(
        self, sizes: NDArray[np.int64], nulls: Sequence[Sequence[int]]
    ) -> list[Tables]:
        """The tables of each target."""
        error = self._tested_error()
        return [
            Tables(
                sizes.tolist(),
                of_target,
                error=float(error),
                turn=turn_of(self.budget),
                with_progress=_with_progress,
            )
            for of_target in nulls
        ]


def _first(path: Path, population: Population, settings: Settings) -> int:
    """The posts of the first set of a new plan, or of the one that is in the file already."""
    if path.exists():
        first_size = read_sealed(path, "plan")["settings"].get("first")
        if isinstance(first_size, int):
            return first_size
    return first_set(
        settings.budget, max(map(Fraction, settings.targets)), population.relevance()
    )


def _with_progress(looks: Sequence[int]) -> Iterable[int]:
    """The looks of exact tables, with a progress bar on a terminal."""
    if not sys.stderr.isatty():
        return looks
    from rich.console import Console
    from rich.progress import track

    return track(
        looks, "computing exact tables", console=Console(stderr=True), transient=True
    )


_PIECE = 1024  # posts looked up first to check whether all have labels
_FEW_SETS = 3
_BEST = 500  # best posts in one sheet, once the descent asks for nothing more


@dataclass(frozen=True, slots=True)
class Claim:
    """The findings of the labels for one target precision.

    Attributes:
        size: posts at the threshold or above; 0 if nothing is certified.
        threshold: the lowest certified score; None if nothing is certified.
        taken_out: ranks of posts above the threshold that were labeled not relevant and are left
            out of the list.
        put_in: ranks of posts below the threshold that were labeled relevant and are in the list.
            They are the whole list if nothing is certified.
        step: the set behind the list; None if there is none, or if it is the whole pool.
        exact: whether every post above was labeled, so that nothing is left to chance.
        labels_given: labels behind the verdicts of the certified set; the others are of copies.
        more_labels: about how many more labels the next set needs if errors continue at the present
            rate; None if that cannot be estimated, or if there is no next set.
    """

    target: str
    size: int
    threshold: float | None
    taken_out: tuple[int, ...]
    put_in: tuple[int, ...]
    outcome: Outcome
    step: Step | None
    exact: bool
    labels_given: int
    more_labels: int | None

    @property
    def posts(self) -> int:
        """Posts in the list."""
        return self.size - len(self.taken_out) + len(self.put_in)


@dataclass(frozen=True, slots=True)
class Request:
    """The posts to label next.

    Attributes:
        ranks: in the order in which they are to be labeled.
        best: whether they are the best posts without a label: no label can certify a larger set
            any more, and each of them that is labeled relevant joins the list.
    """

    ranks: list[int]
    best: bool = False


class Certification(SamplingPlan):
    """A plan to certify precision, and the findings of its labels; see `SamplingPlan`."""

    kind = "precision"

    def _prepare(self) -> None:
        if self.plan["method"] != METHOD:
            raise PlanRefused(
                "another version of the program made this plan, with another test; finish with "
                "that version, or ",
                ANOTHER_PLAN,
            )
        self.settings = converted(self.plan["settings"], Settings)
        self.settings.check()
        scores = self.population.scores
        # Before the tables, whose size follows from these numbers.
        self.sizes = self.settings.sets(scores)
        sets = self.sizes.tolist()
        cuts = scores[self.sizes - 1].tolist()
        if (self.plan["sets"], self.plan["cuts"]) != (sets, cuts):
            raise PlanRefused(
                "its sets do not match these scores; restore the plan, or ",
                ANOTHER_PLAN,
            )
        nulls = self.settings.nulls(self.sizes, self._copies())
        if self.plan["nulls"] != nulls:
            raise PlanRefused(
                "its 'nulls' are not those of its settings and scores; restore the file, or ",
                ANOTHER_PLAN,
            )
        self.tables = self.settings.tables(self.sizes, nulls)
        if self.plan["tables"] != [
            t.fingerprint(self.settings.budget) for t in self.tables
        ]:
            raise InputError(
                "this version of the program computes different tables than the plan has; finish "
                "with the version that made it"
            )
        self.keys = self.population.keys(self.settings.seed)
        self.order = Order(self.sizes, self.keys)

    def _copies(self) -> NDArray[np.int64] | None:
        """The copies of texts, on which the nulls depend if the annotator may err."""
        return None if self.settings.false_positive is None else self.texts.copies()

    @classmethod
    def start(
        cls,
        results: Path,
        path: Path,
        settings: Settings,
        **options: Unpack[PlanOptions],
    ) -> Self:
        """Fix everything before the first label and write the plan, unless it exists already.

        Raises:
            InputError: for impossible settings, and a plan that is not allowed.
        """
        settings.check()
        population = Population(results)
        if settings.first is None:
            settings = replace(settings, first=_first(path, population, settings))
        sizes = settings.sets(population.scores)
        noisy = settings.false_positive is not None
        texts = Texts(population, options.get("posts"))
        nulls = settings.nulls(sizes, texts.copies() if noisy else None)
        if not any(of_target[0] for of_target in nulls):
            raise InputError(
                f"{results}: with --false-positive-rate {settings.false_positive} no labels can "
                f"certify the first set of {sizes[0]:,} posts: the annotator may call enough posts "
                "relevant by mistake to miss the target (copies share one verdict); expected a "
                "lower rate, a lower --precision or a larger --first"
            )
        fields_of_kind = {
            "method": METHOD,
            "sets": sizes.tolist(),
            "cuts": population.scores[sizes - 1].tolist(),
            "nulls": nulls,
            "tables": [
                t.fingerprint(settings.budget) for t in settings.tables(sizes, nulls)
            ],
        }
        return cls._fix(
            path,
            population,
            {**asdict(settings), "targets": list(settings.targets)},
            error=settings.spent,
            fields_of_kind=fields_of_kind,
            **options,
        )

    def remarks(self) -> list[str]:
        """What the scores and the number of posts mean for the plan, if it is not the usual."""
        total = len(self.population)
        ends = self.sizes.tolist()
        if total <= self.settings.budget:
            return [
                f"The plan has {counted(self.settings.budget, 'label')} for "
                f"{counted(total, 'post')}, so every post is asked for, and the result is certain "
                "once all of them are labeled."
            ]
        scores = self.population.scores
        if scores[0] == scores[-1]:
            return [
                f"All {total:,} posts have the same score: they are certified together or not at "
                "all, and the best posts are those that come first in the file."
            ]
        if len(ends) <= _FEW_SETS and len(np.unique(scores)) <= _FEW_SETS:
            sizes = " or ".join(f"{end:,}" for end in ends)
            return [
                f"The scores have {len(np.unique(scores))} different values, and a list ends where "
                f"the score changes: after {sizes} posts."
            ]
        return []

    def first_remark(self) -> str:
        """What a large first set means for the plan; empty for the usual one."""
        usual = first_set(self.settings.budget)
        first_size = int(self.sizes[0])
        if (self.settings.first or 0) <= usual or first_size <= usual:
            return ""
        return (
            f"The first set has {first_size:,} posts in place of {usual}, so that the labels reach "
            "further in a long list; if its precision is in doubt there, nothing is certified. "
            f"--first {usual} is the surer choice, and the shorter list."
        )

    @property
    def error(self) -> Fraction:
        """The largest probability of a wrong certificate, including earlier plans."""
        return min(Fraction(1), self.earlier_error + self.settings.error)

    @property
    def joint_error(self) -> Fraction:
        """The same for any of the targets, also those of withdrawn plans on the same labels."""
        tried = sum(
            (Fraction(plan["error"]) for plan in self.charged.same_labels), Fraction(0)
        )
        return min(Fraction(1), self.earlier_error + tried + self.settings.spent)

    def verdicts(self, labels: Labels) -> KnownVerdicts:
        """The labels by rank, those of copies included."""
        return KnownVerdicts(
            labels, self.population, self.texts, self.order, self.sizes
        )

    def claims(self, labels: Labels) -> list[Claim]:
        """The findings for each target."""
        return self._claims(self.verdicts(labels))

    def _claims(self, verdicts: KnownVerdicts) -> list[Claim]:
        sure = self.settings.false_positive is None  # labels count as the truth
        pool_labels = self._whole_pool(verdicts) if verdicts.ranks else None
        claims = []
        for target, tables in zip(self.settings.targets, self.tables, strict=True):
            outcome = descend(tables, self.order, verdicts)
            errors_needed = np.zeros_like(self.sizes)
            errors = np.empty(0, np.int64)
            if sure:
                errors_needed = errors_due(self.sizes, tables.nulls, Fraction(target))
                errors = verdicts.not_relevant(outcome.steps[-1].size)
            step = returned_set(outcome, errors_needed, errors)
            size = step.size if step else 0
            exact = step is not None and step.labels == step.size
            more_labels = None
            if pool_labels is not None and sure:
                step = None
                exact = True
                errors = np.flatnonzero(pool_labels == 0)
                size = len(pool_labels) if len(errors) < len(pool_labels) else 0
            elif not outcome.done:
                more_labels = self._more(outcome, tables, verdicts)
            threshold = float(self.population.scores[size - 1]) if size else None
            labels_given = (
                verdicts.given(self.order.first(step.number, step.labels))
                if step
                else 0
            )
            taken_out = tuple(errors[errors < size].tolist())
            put_in = (
                tuple(verdicts.relevant_from(size).tolist()) if sure or not size else ()
            )
            claims.append(
                Claim(
                    target,
                    size,
                    threshold,
                    taken_out,
                    put_in,
                    outcome,
                    step,
                    exact,
                    labels_given,
                    more_labels,
                )
            )
        return claims

    def request(
        self, labels: Labels, *, extra_labels: int = 0, at_least: int = 1
    ) -> Request:
        """The posts to label next; none if the labels are spent or cannot change the result.

        They are those that the descent needs. Once it needs more than there are labels, or nothing,
        they are the best posts without a label. With several targets, each has an equal share of
        the labels and what the others leave.

        Args:
            labels: all labels so far.
            extra_labels: labels to allow beyond these, whatever the budget.
            at_least: fill the batch up to this size with the posts that follow if the whole batch
                turns out relevant; some of them may not be needed.
        """
        verdicts = self.verdicts(labels)
        n_labels = len(labels.of)
        total = len(self.population)
        budget = max(self.settings.budget, n_labels + extra_labels)
        if budget >= total:
            ranks = self.order.first(len(self.sizes) - 1, total)
            return Request(self._distinct(ranks[verdicts(ranks) == UNKNOWN].tolist()))
        needed = self._needed(verdicts, n_labels, budget, at_least)
        if needed or budget <= n_labels:
            return Request(needed)
        return Request(
            self._best_posts(self._claims(verdicts), verdicts, budget - n_labels), True
        )

    def choice(self, claims: Sequence[Claim], labels: Labels) -> dict[str, int] | None:
        """What the labels that are left can still bring; None while the descent needs labels.

        Returns:
            ``labels``, which are saved by stopping now, and the best ``posts`` without a label for
            which they suffice.
        """
        verdicts = self.verdicts(labels)
        n_labels = len(labels.of)
        budget = self.settings.budget
        if not n_labels < budget < len(self.population) or self._needed(
            verdicts, n_labels, budget, 1
        ):
            return None
        posts = self._best_posts(claims, verdicts, budget - n_labels)
        return {"labels": budget - n_labels, "posts": len(posts)}

    def _needed(
        self, verdicts: KnownVerdicts, n_labels: int, budget: int, at_least: int
    ) -> list[int]:
        """The posts that the descent needs next and for which there are labels; see `request`."""
        targets = list(zip(self.settings.targets, self.tables, strict=True))
        shares = len(targets)
        turns = list(enumerate(targets, 1)) + [
            (shares, target) for target in targets[:-1]
        ]
        for share, (target, tables) in turns:
            allowed = budget * share // shares - n_labels
            outcome = descend(tables, self.order, verdicts)
            passed = outcome.certified
            missing = self._missing(passed, target, tables, verdicts) if passed else 0
            needed = self._distinct(outcome.needed)
            free = allowed - reserved_labels(missing, budget)
            if needed and len(needed) <= free:
                return self._filled(
                    needed, min(at_least, free), outcome, tables, verdicts
                )
            if passed and missing and allowed > 0:
                from_last = range(passed.size - 1, -1, -1)
                return self._unlabeled(from_last, min(missing, allowed), verdicts)
        return []

    def _filled(
        self,
        needed: list[int],
        n_posts: int,
        outcome: Outcome,
        tables: Tables,
        verdicts: KnownVerdicts,
    ) -> list[int]:
        """The needed posts, filled up to the wanted number; see `request`."""
        hoped = outcome
        assumed = list(outcome.needed)
        while len(needed) < n_posts and hoped.needed:
            # Texts are looked up once for many sets; there may be copies among them.
            n_assumed = len(assumed) + n_posts - len(needed)
            while len(assumed) < n_assumed and hoped.needed:
                start = hoped.steps[-1].number
                hoped = descend(
                    tables, self.order, _hoping(verdicts, assumed), start=start
                )
                assumed += hoped.needed
            needed = self._distinct(assumed)[:n_posts]
        return needed

    def _best_posts(
        self, claims: Sequence[Claim], verdicts: KnownVerdicts, labels_left: int
    ) -> list[int]:
        """The best posts without a label below the shortest certified set, at most `labels_left`.

        They come in the random order, so that a sheet does not reveal their ranks. None if every
        post is certified, and where the annotator may err, because a certified set then takes no
        single posts.
        """
        sizes = [claim.size for claim in claims]
        if self.settings.false_positive is not None and any(sizes):
            return []
        below = range(min(sizes), len(self.population))
        n_posts = min(labels_left, _BEST)
        best = np.array(self._unlabeled(below, n_posts, verdicts), np.int64)
        if not len(best):
            return []
        highest_rank = int(best[0])
        keys = self.keys(highest_rank, int(best[-1]) + 1)[best - highest_rank]
        return [int(rank) for rank in best[np.argsort(keys, kind="stable")]]

    def _missing(
        self, step: Step, target: str, tables: Tables, verdicts: KnownVerdicts
    ) -> int:
        """How many errors of a set must still be found before it can be returned."""
        if self.settings.false_positive is not None:
            return 0
        errors_needed = errors_due(self.sizes, tables.nulls, Fraction(target))[
            step.number
        ]
        return max(0, int(errors_needed) - len(verdicts.not_relevant(step.size)))

    def _unlabeled(
        self, ranks: range, count: int, verdicts: KnownVerdicts
    ) -> list[int]:
        """The next `count` posts without a label in the order of these ranks."""
        unlabeled: list[int] = []
        for start in range(0, len(ranks), _PIECE):
            if len(unlabeled) >= count:
                break
            piece = np.array(ranks[start : start + _PIECE])
            unlabeled = self._distinct(
                [*unlabeled, *piece[verdicts(piece) == UNKNOWN].tolist()]
            )
        return unlabeled[:count]

    def _distinct(self, ranks: Sequence[int]) -> list[int]:
        return distinct(self.texts.units(ranks), ranks) if ranks else []

    def _more(
        self, outcome: Outcome, tables: Tables, verdicts: KnownVerdicts
    ) -> int | None:
        step = outcome.steps[-1]
        likely = likely_labels(tables, step, budget=self.settings.budget)
        if likely is None:
            return None
        return int((verdicts(self.order.first(step.number, likely)) == UNKNOWN).sum())

    def _whole_pool(self, verdicts: KnownVerdicts) -> NDArray[np.int8] | None:
        """The labels by rank, if every post of the pool has one."""
        pieces: list[NDArray[np.int8]] = []
        start = 0
        end = _PIECE
        total = len(self.population)
        while start < total:  # piece by piece, because usually the first one has a gap
            pieces.append(verdicts(np.arange(start, min(end, total))))
            if (pieces[-1] == UNKNOWN).any():
                return None
            start, end = end, 2 * end
        return np.concatenate(pieces)


def _hoping(verdicts: KnownVerdicts, assumed: Sequence[int]) -> Verdicts:
    """The verdicts as if the posts at the assumed ranks were relevant."""

    def hoping(ranks: NDArray[np.int64]) -> NDArray[np.int8]:
        values = verdicts(ranks)
        values[(values == UNKNOWN) & np.isin(ranks, assumed)] = 1
        return values

    return hoping
