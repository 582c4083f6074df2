"""The goals of labeling down a ranking: a number of posts, recall, or both.

A label counts for every goal, and for a certificate over the same scores: each has its own random
order, fixed beforehand, and its guarantee holds whichever other posts are labeled, and at every
look.
"""

from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Self, Unpack

import numpy as np

from siamese_news.decide.plan.design import share_of
from siamese_news.decide.plan.files import read_sealed
from siamese_news.decide.plan.population import Population
from siamese_news.decide.plan.sampling_plan import PlanOptions, SamplingPlan
from siamese_news.decide.plan.texts import Texts
from siamese_news.decide.stopping.rules import (
    Find,
    LearnThenRandom,
    RandomPositives,
    Rule,
    word_learner,
)
from siamese_news.errors import InputError
from siamese_news.labels.matching import Labels
from siamese_news.labels.results import Unit

RANDOM_FIRST, LEARN_FIRST = "random-first", "learn-first"


@dataclass(frozen=True, slots=True)
class Goal:
    """The user's choices, fixed before the first label; shares as typed.

    Attributes:
        find: number of relevant posts to find, or None.
        recall: share of all relevant posts to find, or None.
        rule: `RANDOM_FIRST` or `LEARN_FIRST`.
        positives: with ``random-first``: random relevant posts to wait for.
    """

    find: int | None
    recall: str | None
    rule: str
    positives: int
    confidence: str
    seed: int

    def check(self) -> None:
        """Raise an `InputError` for a value that no pool allows."""
        if self.find is None and self.recall is None:
            raise InputError("expected a number of posts, or a share of all relevant posts")
        for name, number in (("find", self.find), ("positives", self.positives)):
            if number is not None and number < 1:
                raise InputError(f"{name} is {number}; expected at least 1 relevant post")
        if self.recall is not None:
            share_of(self.recall, "recall (the share of all relevant posts)")
        share_of(self.confidence, "confidence")
        if self.rule not in (RANDOM_FIRST, LEARN_FIRST):
            raise InputError(f"rule is {self.rule!r}; expected {RANDOM_FIRST} or {LEARN_FIRST}")

    def rules(self, population: Population, texts: Texts) -> list[Rule]:
        """The rules, in the order in which they request labels.

        Raises:
            InputError: for a rule that cannot work here.
        """
        size = len(population)
        error = float(1 - Fraction(self.confidence))
        found: list[Rule] = []
        if self.recall is not None:
            recall = float(Fraction(self.recall))
            keys = population.keys(self.seed, "stopping")(0, size)
            order = np.argsort(keys, kind="stable")
            if self.rule == RANDOM_FIRST:
                found.append(RandomPositives(recall, error, self.positives, order))
            else:
                learner = word_learner(population.scores, texts)
                found.append(LearnThenRandom(recall, error, order, learner))
        if self.find is not None:
            found.append(Find(self.find, size))
        return found


class Stopping(SamplingPlan):
    """A plan to label down a ranking, and the posts it needs next; see `SamplingPlan`."""

    kind = "stopping"

    def _prepare(self) -> None:
        self.goal = Goal(**self.plan["settings"])
        self.rules = self.goal.rules(self.population, self.texts)

    @classmethod
    def start(cls, results: Path, path: Path, goal: Goal, **options: Unpack[PlanOptions]) -> Self:
        """Fix the goal and write the plan; resume it if the file has the same goal."""
        goal.check()
        posts = options.get("posts")
        if path.exists():
            plan = read_sealed(path, "plan")
            if plan.get("kind") != cls.kind or plan["settings"] != asdict(goal):
                raise InputError(
                    f"{path}: this file has another plan. What is fixed before the first label "
                    "cannot be changed afterwards: repeat its options, or use another --labels"
                )
            return cls.resume(path, results=results, posts=posts)
        population = Population(results)
        goal.rules(population, Texts(population, posts))
        error = Fraction(0)
        if goal.recall is None:
            options["again"] = True  # without a guarantee, further plans cost nothing
        else:
            error = 1 - Fraction(goal.confidence)
        return cls._fix(path, population, asdict(goal), error=error, **options)

    def ask(self, labels: Labels) -> Unit | None:
        """The next post to label; None if every rule is satisfied."""
        ranks = self.needed(labels)
        return self.texts.units(ranks[:1], partial(list, ranks[:500]))[0] if ranks else None

    def needed(self, labels: Labels) -> list[int]:
        """The ranks of the posts to label next, in order; empty if every rule is satisfied."""
        known = self._known(labels)
        return next((ranks for rule in self.rules if (ranks := rule.next(known))), [])

    def compared(self, labels: Labels) -> tuple[int, int, int] | None:
        """The comparison with a random order; None before random posts allow an estimate.

        Returns the number of labels, about how many a random order takes to find as many relevant
        posts, and about how many relevant posts the pool has.
        """
        known = self._known(labels)
        totals = [total for rule in self.rules if (total := rule.relevant(known)) is not None]
        found = sum(known.values())
        if not totals or not found:
            return None
        total = max(totals[0], found)
        random = found * (len(self.population) + 1) / (total + 1)
        return len(known), round(random), round(total)

    def status(self, labels: Labels) -> str:
        """The progress in words."""
        known = self._known(labels)
        said = [label.relevant for label in labels.of.values()]
        row = next((n for n, relevant in enumerate(reversed(said)) if relevant), len(said))
        parts = [f"{len(said):,} labeled, {sum(said):,} relevant"]
        parts += [rule.status(known) for rule in self.rules]
        if compared := self.compared(labels):
            given, random, relevant = compared
            parts.append(
                f"{sum(known.values()):,} of about {relevant:,} relevant posts found with "
                f"{given:,} labels; a random order would take about {random:,}"
            )
        return "; ".join([*parts, f"{row} not relevant in a row (which guarantees nothing)"])

    def _known(self, labels: Labels) -> dict[int, int]:
        ranks = self.population.ranks_of(list(labels.of))
        return {
            ranks[name]: int(label.relevant) for name, label in labels.of.items() if name in ranks
        }
