"""What a person labels for: so many posts, recall, a certified precision, or several of them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from siamese_news.decide.certification import Certification
from siamese_news.decide.plan.design import Order
from siamese_news.decide.plan.files import read_sealed
from siamese_news.decide.plan.population import Population
from siamese_news.decide.plan.sampling_plan import SamplingPlan
from siamese_news.decide.plan.texts import Texts
from siamese_news.decide.stopping.learned import LearnThenRandom, WordLearner
from siamese_news.decide.stopping.rules import Find, RandomPositives, Rule, not_relevant_in_a_row
from siamese_news.errors import InputError
from siamese_news.labels.matching import Labels
from siamese_news.labels.results import Unit

RANDOM_FIRST, LEARN_FIRST = "random-first", "learn-first"


@dataclass(frozen=True, slots=True)
class Goal:
    """What was chosen before the first label.

    Attributes:
        find: so many relevant posts, or None.
        recall: this share of all relevant posts, as typed, or None.
        rule: ``random-first`` or ``learn-first``.
        positives: random relevant posts to wait for, with ``random-first``.
        confidence: as typed.
        seed: of the random order.
    """

    find: int | None
    recall: str | None
    rule: str
    positives: int
    confidence: str
    seed: int

    def rules(self, population: Population, texts: Texts) -> list[Rule]:
        """The rules, in the order in which they ask.

        Raises:
            InputError: for a rule that cannot work here.
        """
        size = len(population)
        order = Order(np.array([size]), population.keys(self.seed, "stopping"))
        error = float(1 - Fraction(self.confidence))
        found: list[Rule] = []
        if self.recall is not None:
            recall = float(Fraction(self.recall))
            if self.rule == RANDOM_FIRST:
                found.append(RandomPositives(recall, error, self.positives, order, size))
            else:
                learner = WordLearner(population.scores, texts)
                found.append(LearnThenRandom(recall, error, order, size, learner))
        if self.find is not None:
            found.append(Find(self.find, size))
        return found


@dataclass(frozen=True, slots=True)
class Saved:
    """Labels beside those of a random order.

    Attributes:
        found: relevant posts among the labelled ones.
        labels: that were given.
        random: about how many labels a random order takes until it has found as many.
        relevant: about how many relevant posts there are, by the random posts that were labelled.
    """

    found: int
    labels: int
    random: int
    relevant: int

    def sentence(self) -> str:
        """In words."""
        return (
            f"{self.found:,} relevant posts of about {self.relevant:,} found with {self.labels:,} "
            f"labels; a random order takes about {self.random:,} for as many"
        )


class Stopping(SamplingPlan):
    """A plan for labelling down a ranking, and what it asks for next; see `SamplingPlan`."""

    kind = "stopping"

    def __init__(
        self,
        plan: dict[str, Any],
        path: Path,
        population: Population,
        posts: Sequence[Path] | None = None,
    ) -> None:
        super().__init__(plan, path, population, posts)
        self.goal = Goal(**plan["settings"])
        self.rules = self.goal.rules(population, self.texts)

    @classmethod
    def start(
        cls,
        results: Path,
        path: Path,
        goal: Goal,
        *,
        posts: Sequence[Path] | None = None,
        again: bool = False,
        criteria: str = "",
    ) -> Self:
        """Fix the goal and write it down; go on with it where it stands there.

        Raises:
            InputError: where another goal stands there.
        """
        if path.exists():
            plan = read_sealed(path, "plan")
            if plan.get("kind") != cls.kind or plan["settings"] != asdict(goal):
                raise InputError(
                    f"{path}: another plan stands there; what is fixed before the first label "
                    "cannot be changed after it: repeat its options, or name other --labels"
                )
            return cls.resume(path, results=results, posts=posts)
        population = Population(results)
        goal.rules(population, Texts(population, posts))
        promised = goal.recall is not None
        return cls._fix(
            path,
            population,
            asdict(goal),
            posts=posts,
            again=again or not promised,
            error=1 - Fraction(goal.confidence) if promised else Fraction(0),
            own={},
            criteria=criteria,
        )

    def ask(self, labels: Labels) -> Unit | None:
        """The next post; None when every rule is satisfied."""
        ranks = self.needed(labels)
        return self.texts.units(ranks[:1], partial(list, ranks[:500]))[0] if ranks else None

    def needed(self, labels: Labels) -> list[int]:
        """The ranks of the posts to label next, the first one first; none when it is enough."""
        known = self._known(labels)
        return next((ranks for rule in self.rules if (ranks := rule.next(known))), [])

    def saved(self, labels: Labels) -> "Saved | None":
        """What as many relevant posts would have cost in a random order."""
        known = self._known(labels)
        totals = [total for rule in self.rules if (total := rule.relevant(known)) is not None]
        found = sum(known.values())
        if not totals or not found:
            return None
        total = max(totals[0], found)
        random = found * (len(self.population) + 1) / (total + 1)
        return Saved(found, len(known), round(random), round(total))

    def status(self, labels: Labels) -> str:
        """Where it stands."""
        known = self._known(labels)
        said = [label.relevant for label in labels.of.values()]
        row = not_relevant_in_a_row([int(s) for s in said])
        parts = [f"{len(said):,} labelled, {sum(said):,} relevant"]
        parts += [rule.status(known) for rule in self.rules]
        saved = self.saved(labels)
        parts += [saved.sentence()] if saved else []
        return "; ".join([*parts, f"{row} not relevant in a row (which guarantees nothing)"])

    def _known(self, labels: Labels) -> dict[int, int]:
        ranks = self.population.ranks_of(list(labels.of))
        return {
            ranks[name]: int(label.relevant) for name, label in labels.of.items() if name in ranks
        }


class Several:
    """A precision certificate and other goals, all from the same labels.

    First come the posts of the certificate, whose order gives nothing away; then those that the
    other goals still need. A label counts for every goal: each rests on a random order of its own,
    fixed beforehand, and its promise holds whichever posts are labelled besides, and whenever one
    looks.

    Args:
        certification: the certificate.
        stopping: the other goals over the same scores.
    """

    def __init__(self, certification: Certification, stopping: Stopping) -> None:
        self._certification = certification
        self._stopping = stopping
        self.plan = certification.plan
        self.sampled = certification.sampled

    def ask(self, labels: Labels) -> Unit | None:
        """The next post; None when nothing is left to do for any goal."""
        return self._certification.ask(labels) or self._stopping.ask(labels)

    def status(self, labels: Labels) -> str:
        """Where the goals stand; while posts of the certificate come, without rank or score."""
        return f"{self._certification.status(labels)}; {self._stopping.status(labels)}"
