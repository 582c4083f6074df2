"""When to stop labelling: the goals of `annotate` for the labels of a project."""

import threading
from dataclasses import dataclass
from pathlib import Path

from siamese_news.decide.plan.design import share_of
from siamese_news.decide.plan.files import SEAL, beside
from siamese_news.decide.stopping.goals import LEARN_FIRST, RANDOM_FIRST, Goal, Saved, Stopping
from siamese_news.desk.project import Project
from siamese_news.desk.search import command_line
from siamese_news.errors import InputError
from siamese_news.labels.journal import LabelJournal, write_judgments
from siamese_news.labels.matching import Labels, labels_in


@dataclass(frozen=True, slots=True)
class Stands:
    """The state of the goals.

    Attributes:
        done: whether all of them are reached.
        goal: what was fixed.
        status: in words.
        saved: the effort that a random order would have taken; None if unknown.
    """

    done: bool
    goal: Goal
    status: str
    saved: Saved | None


class Stops:
    """The goals of a project's present search.

    Args:
        project: whose.
        log: the labels; every one counts, whatever it was given for.
    """

    def __init__(self, project: Project, log: LabelJournal) -> None:
        self._project = project
        self._log = log
        self._guard = threading.RLock()
        self._work: Stopping | None = None

    @property
    def labels(self) -> Path:
        """The file of labels for `annotate`."""
        return self._project.search / "goals.jsonl"

    @property
    def path(self) -> Path:
        """The file of the plan."""
        return beside(self.labels, "plan.json")

    @property
    def planned(self) -> bool:
        """Whether the current search has a goal."""
        return self.path.exists()

    def plan(
        self,
        find: int | None,
        recall: str | None,
        rule: str,
        positives: int,
        confidence: str,
        criteria: str,
        *,
        again: bool = False,
    ) -> None:
        """Fix the goals.

        Raises:
            InputError: the goals are impossible, or some are fixed already.
        """
        with self._guard:
            if not self._project.results.exists():
                raise InputError("there are no results yet; search first")
            if self.planned:
                raise InputError("the goal is fixed already; what was fixed cannot be changed")
            if find is None and recall is None:
                raise InputError("expected a number of posts, or a share of all relevant posts")
            if find is not None and find < 1:
                raise InputError(f"the number of posts is {find}; expected at least 1")
            if recall is not None:
                share_of(recall, "the share of all relevant posts")
            share_of(confidence, "confidence")
            if rule not in (RANDOM_FIRST, LEARN_FIRST):
                raise InputError(f"the rule is {rule!r}; expected {RANDOM_FIRST} or {LEARN_FIRST}")
            if positives < 1:
                raise InputError(f"{positives} random relevant posts; expected at least 1")
            goal = Goal(find, recall, rule, positives, confidence, 0)
            self._work = Stopping.start(
                self._project.results, self.path, goal, again=again, criteria=criteria
            )

    def next_posts(self, count: int) -> list[str]:
        """Ids of the posts to label next; empty once all goals are reached."""
        with self._guard:
            work = self._open()
            ranks = work.needed(self._labels())[:count]
            return [unit.post for unit in work.units(ranks)]

    def stands(self) -> Stands:
        """The state of the goals with the present labels."""
        with self._guard:
            work = self._open()
            labels = self._labels()
            done = not work.needed(labels)
            return Stands(done, work.goal, work.status(labels), work.saved(labels))

    def command(self) -> str:
        """The command line that continues with the same labels; writes the file it reads."""
        with self._guard:
            self._write(self._open())
            folder = self._project.folder
            arguments = ["annotate", "--results", str(self._project.results.relative_to(folder))]
            arguments += self.arguments()
            return command_line([*arguments, "--labels", str(self.labels.relative_to(folder))])

    def arguments(self) -> list[str]:
        """The options of `annotate` for these goals."""
        with self._guard:
            goal, found = self._open().goal, []
            if goal.find is not None:
                found += ["--find", str(goal.find)]
            if goal.recall is not None:
                found += ["--recall", goal.recall]
            found += ["--rule", goal.rule, "--positives", str(goal.positives)]
            return [*found, "--confidence", goal.confidence]

    def _open(self) -> Stopping:
        if self._work is None or self._work.path != self.path:
            if not self.planned:
                raise InputError("there is no goal yet; fix one before labelling for it")
            self._work = Stopping.resume(self.path, results=self._project.results)
        return self._work

    def _labels(self) -> Labels:
        return labels_in(self._log)

    def _write(self, work: Stopping) -> None:
        """All labels of these results in a file for `annotate`."""
        labels = {name: label.said for name, label in self._labels().of.items()}
        ranks = work.population.ranks_of(list(labels))
        work.sampled.draw(work.units(list(ranks.values())))
        write_judgments(self.labels, {n: labels[n] for n in ranks}, "all", work.plan[SEAL])
