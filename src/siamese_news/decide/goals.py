"""What a person labels for: so many posts, recall, a certified precision, or several of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from siamese_news.decide import ledger
from siamese_news.decide.certification import Certification
from siamese_news.decide.design import Order
from siamese_news.decide.drawn import Drawn, DrawnFile
from siamese_news.decide.labels import Labels
from siamese_news.decide.plan import beside
from siamese_news.decide.population import Population, Unit, file_sha256
from siamese_news.decide.sealed import SEAL, read_sealed, write_sealed
from siamese_news.decide.stopping import (
    Find,
    RandomPositives,
    Rule,
    TopThenRandom,
    not_relevant_in_a_row,
)
from siamese_news.decide.texts import Texts
from siamese_news.decide.unchanged import check_unchanged, model_of
from siamese_news.errors import InputError
from siamese_news.utils.provenance import command

KIND = "stopping"
RANDOM_FIRST, TOP_FIRST = "random-first", "top-first"


@dataclass(frozen=True, slots=True)
class Goal:
    """What was chosen before the first label.

    Attributes:
        find: so many relevant posts, or None.
        recall: this share of all relevant posts, as typed, or None.
        rule: ``random-first`` or ``top-first``.
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

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "find": self.find, "recall": self.recall, "rule": self.rule,
            "positives": self.positives, "confidence": self.confidence, "seed": self.seed,
        }  # fmt: skip

    def rules(self, population: Population) -> list[Rule]:
        """The rules, in the order in which they ask."""
        size = len(population)
        order = Order(np.array([size]), population.keys(self.seed, "stopping"))
        error = float(1 - Fraction(self.confidence))
        found: list[Rule] = []
        if self.recall is not None:
            recall = float(Fraction(self.recall))
            if self.rule == RANDOM_FIRST:
                found.append(RandomPositives(recall, error, self.positives, order, size))
            else:
                found.append(TopThenRandom(recall, error, order, size))
        if self.find is not None:
            found.append(Find(self.find, size))
        return found


class Stopping:
    """A plan for labelling down a ranking, and what it asks for next.

    Args:
        plan: the content of its file.
        path: of that file.
        population: the scored posts.
        posts: files with the texts, where the results have none.
    """

    def __init__(
        self,
        plan: dict[str, Any],
        path: Path,
        population: Population,
        posts: Sequence[Path] | None = None,
    ) -> None:
        self.plan = plan
        self.path = path
        self.population = population
        self.goal = Goal(**plan["settings"])
        self.texts = Texts(population, posts)
        self.drawn = DrawnFile(beside(path, "drawn.jsonl"), plan[SEAL])
        self.rules = self.goal.rules(population)
        self._ranks: dict[str, int] = {}

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
    ) -> "Stopping":
        """Fix the goal and write it down; go on with it where it stands there.

        Raises:
            InputError: where another goal stands there.
        """
        if path.exists():
            plan = read_sealed(path, "plan")
            if plan.get("kind") != KIND or plan["settings"] != goal.plain():
                raise InputError(
                    f"{path}: another plan stands there; what is fixed before the first label "
                    "cannot be changed after it: repeat its options, or name other --labels"
                )
            corpus = list(posts) if posts else [Path(f["file"]) for f in plan["corpus"]]
            return cls(plan, path, check_unchanged(plan, results, corpus), corpus)
        population = Population(results)
        goal.rules(population)
        scores = file_sha256(results)
        entry = {"kind": KIND, "scores": scores, "settings": goal.plain()}
        promised = goal.recall is not None
        error = 1 - Fraction(goal.confidence) if promised else Fraction(0)
        ledger.register(results, entry, error=error, plan=path, again=again or not promised)
        plan = {
            "format": "siamese_news plan 1",
            "kind": KIND,
            "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
            "command": command(),
            "settings": goal.plain(),
            "population": {
                "file": results.name, "posts": len(population), "sha256": scores,
                "pairs": population.pairs,
            },
            "sets": [len(population)],
            "cuts": [float(population.scores[-1])],
            "model": model_of(results),
            "corpus": [{"file": str(p), "sha256": file_sha256(p)} for p in posts or []],
            "criteria": criteria,
        }  # fmt: skip
        write_sealed(path, plan)
        return cls(read_sealed(path, "plan"), path, population, posts)

    def ask(self, labels: Labels) -> tuple[Unit, Drawn] | None:
        """The next post; None when every rule is satisfied."""
        known = self._known(labels)
        for rule in self.rules:
            ranks = rule.next(known)
            if ranks:
                (unit,) = self.texts.units(ranks[:1], partial(list, ranks[:500]))
                (drawn,) = self.drawn.draw([unit])
                return unit, drawn
        return None

    def status(self, labels: Labels) -> str:
        """Where it stands."""
        known = self._known(labels)
        said = [label.relevant for label in labels.of.values()]
        row = not_relevant_in_a_row([int(s) for s in said])
        parts = [f"{len(said):,} labelled, {sum(said):,} relevant"]
        parts += [rule.status(known) for rule in self.rules]
        return "; ".join([*parts, f"{row} not relevant in a row (which guarantees nothing)"])

    def _known(self, labels: Labels) -> dict[int, int]:
        new = [name for name in labels.of if name not in self._ranks]
        if new:
            self._ranks |= self.population.ranks_of(new)
        return {self._ranks[name]: int(label.relevant) for name, label in labels.of.items()}


class Certifying:
    """A precision certificate, asked one post at a time: no label is wasted.

    Args:
        work: the plan and its population.
    """

    def __init__(self, work: Certification) -> None:
        self.work = work
        self.path = work.path
        self.plan = work.plan
        self.drawn = work.drawn

    def ask(self, labels: Labels) -> tuple[Unit, Drawn] | None:
        """The next post; None when the budget is spent or nothing more can be shown."""
        ranks = self.work.next_posts(labels)
        if not ranks:
            return None
        (unit,) = self.work.units(ranks[:1])
        (drawn,) = self.drawn.draw([unit])
        return unit, drawn

    def status(self, labels: Labels) -> str:
        """Where it stands, without what would give rank or score away."""
        relevant = sum(label.relevant for label in labels.of.values())
        budget = self.work.settings.budget
        return f"{len(labels.of):,} of {budget:,} planned labels, {relevant:,} relevant"
