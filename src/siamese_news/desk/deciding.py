"""The certificate of a project and the goals of its labeling; `decide` computes both."""

import threading
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from siamese_news.decide.certificate import (
    certificate_of,
    sentence_of,
    write_certificate,
    write_lists,
    write_page,
)
from siamese_news.decide.certification import Certification, Claim, Settings
from siamese_news.decide.plan.files import SEAL, beside
from siamese_news.decide.plan.ledger import plans_over
from siamese_news.decide.plan.population import Population
from siamese_news.decide.stopping.goals import Goal, Stopping
from siamese_news.desk.estimates import precision_interval
from siamese_news.desk.project import Project
from siamese_news.errors import InputError
from siamese_news.labels.journal import CONFLICT, LabelJournal, write_judgments
from siamese_news.labels.matching import Label, labels_in

BUDGET_CAP = 100_000

_SHOWN = 12  # sets of a descent on the page
_RENEWED = 10  # labels after which progress is worded again; each wording counts as a look

Plan = TypeVar("Plan", Certification, Stopping)


class _Planned(Generic[Plan]):
    """A plan of the current search, fixed before labels are given for it.

    Its commands read the labels from a file with the name `sheet`.
    """

    def __init__(self, project: Project, log: LabelJournal, kind: type[Plan], sheet: str) -> None:
        self._project = project
        self._log = log
        self._kind: type[Plan] = kind
        self._sheet = sheet
        self._guard = threading.RLock()
        self._work: Plan | None = None

    @property
    def sheet(self) -> Path:
        """The file from which the commands read the labels."""
        return self._project.search / self._sheet

    @property
    def path(self) -> Path:
        """The file of the plan."""
        return beside(self.sheet, "plan.json")

    @property
    def planned(self) -> bool:
        """Whether the current search has a plan."""
        return self.path.exists()

    def _results_to_plan(self) -> Path:
        results = self._project.require_results()
        if self.planned:
            raise InputError("the plan is fixed already and cannot be changed any more")
        return results

    def _open(self) -> Plan:
        if self._work is None or self._work.path != self.path:
            if not self.planned:
                raise InputError("nothing is fixed yet; fix a target before labeling for it")
            self._work = self._kind.resume(self.path, results=self._project.results)
        return self._work

    def _write_sheet(self, labels: Mapping[str, Label]) -> None:
        said = {name: label.said for name, label in labels.items()}
        write_judgments(self.sheet, said, "all", self._open().plan[SEAL])


class Findings(NamedTuple):
    """The state of a certificate.

    Attributes:
        content: of the certificate, as the command writes it.
        claims: the posts of each claim.
        sentences: each claim in words.
        conflicts: sampled posts whose annotators disagree; they count as not relevant.
        descents: of each claim the last sets that were tested, the last one first.
    """

    content: dict[str, Any]
    claims: list[Claim]
    sentences: list[str]
    conflicts: int
    descents: list[list[dict[str, Any]]]


class Certificate(_Planned[Certification]):
    """The plan of the certificate for the current search, and its findings."""

    def __init__(self, project: Project, log: LabelJournal) -> None:
        super().__init__(project, log, Certification, "sheet.jsonl")
        # The file of the plan and the version of the labels, with the result.
        self._found: tuple[Path, int, Findings] | None = None
        self._told: tuple[Path, int, str] | None = None

    def earlier(self) -> int:
        """How many plans were made over the posts of the results."""
        results = self._project.results
        return plans_over(Population(results)) if results.exists() and not self.planned else 0

    def plan(self, settings: Settings, *, again: bool) -> None:
        """Fix everything before the first label.

        Raises:
            InputError: invalid values, no results, or there is a plan already.
        """
        with self._guard:
            results = self._results_to_plan()
            if not 1 <= settings.budget <= BUDGET_CAP:
                raise InputError(
                    f"budget is {settings.budget}; expected 1 to {BUDGET_CAP:,} labels"
                )
            criteria = self._project.criteria.strip()
            self._work = Certification.start(
                results, self.path, settings, again=again, criteria=criteria
            )
            self.next_posts(1)

    def next_posts(self, count: int) -> list[str]:
        """Ids of the posts to label next for the certificate; none if no label would help."""
        with self._guard:
            work = self._open()
            units = work.texts.units(
                work.next_posts(labels_in(self._log, work.sampled), at_least=count)
            )
            work.sampled.draw(units)
            return [unit.post for unit in units]

    def keys(self) -> dict[str, str]:
        """The ids of the sampled posts by their keys in sheets; none without a plan."""
        if not self.planned:
            return {}
        with self._guard:
            return {key: one.post for key, one in self._open().sampled.by_key.items()}

    def left(self) -> int:
        """How many of the planned labels are not given yet."""
        with self._guard:
            work = self._open()
            return max(0, work.settings.budget - len(labels_in(self._log, work.sampled).of))

    def findings(self) -> Findings:
        """The state of the certificate with the present labels."""
        with self._guard:
            path, version = self.path, self._log.version
            if self._found is None or self._found[:2] != (path, version):
                work = self._open()
                labels = labels_in(self._log, work.sampled)
                work.log.look(labels)
                claims = work.claims(labels)
                content = certificate_of(work, claims, labels)
                sampled = work.sampled.by_key.values()
                found = Findings(
                    content,
                    claims,
                    [sentence_of(content, claim) for claim in content["claims"]],
                    sum(self._log.verdict(one.post) == CONFLICT for one in sampled),
                    [_descent(work, claim) for claim in content["claims"]],
                )
                self._found = path, version, found
            return self._found[2]

    def progress(self) -> str:
        """The progress in a sentence for the annotator; renewed every ten labels."""
        if not self.planned:
            return ""
        path, version = self.path, self._log.version
        told = self._told
        if told is None or told[0] != path or abs(version - told[1]) >= _RENEWED:
            content = self.findings().content
            said = [f"{content['labels']['used']:,} of {content['settings']['budget']:,} labels."]
            for claim in content["claims"]:
                if claim["threshold"] is not None:
                    said.append(f"{claim['posts']:,} posts are certified at {claim['target']}.")
                if claim["more_labels"] and claim["next_set"]:
                    said.append(
                        f"About {claim['more_labels']:,} more labels to certify "
                        f"{claim['next_set']['posts']:,} posts at {claim['target']}."
                    )
            self._told = told = path, version, " ".join(said)
        return told[2]

    def certify(self) -> Findings:
        """Write the certificate and its page next to the plan."""
        with self._guard:
            found, work = self.findings(), self._open()
            labels = labels_in(self._log, work.sampled)
            self._write_sheet(labels.of)
            content = certificate_of(work, found.claims, labels, [self.sheet])
            write_certificate(beside(self.path, "certificate.json"), content)
            write_page(beside(self.path, "certificate.html"), content)
            write_lists(beside(self.path, "certificate.csv"), work, found.claims)
            return found

    def certified(self, threshold: float) -> Claim | None:
        """The claim about the list that is exported from this threshold on."""
        claims = self.findings().claims if self.planned else []
        return next((claim for claim in claims if claim.threshold == threshold), None)

    def commands(self) -> list[str]:
        """The equivalent command lines; writes the sheet that they read."""
        work = self._open()
        self._write_sheet(labels_in(self._log, work.sampled).of)
        command, settings = self._project.command, work.settings
        return [
            command(
                "sample",
                results=self._project.results,
                precision=settings.targets,
                confidence=settings.confidence,
                budget=settings.budget,
                criteria=work.plan["criteria"],
                out=self.sheet,
            ),
            command("certify", labels=self.sheet),
        ]


class Goals(_Planned[Stopping]):
    """When to stop labeling: the goals of `annotate`; every label counts for them."""

    def __init__(self, project: Project, log: LabelJournal) -> None:
        super().__init__(project, log, Stopping, "goals.jsonl")

    def plan(self, goal: Goal, *, again: bool) -> None:
        """Fix the goals.

        Raises:
            InputError: the goals are impossible, or some are fixed already.
        """
        with self._guard:
            results = self._results_to_plan()
            self._work = Stopping.start(
                results, self.path, goal, again=again, criteria=self._project.criteria
            )

    def next_posts(self, count: int) -> list[str]:
        """Ids of the posts to label next; empty once all goals are reached."""
        with self._guard:
            work = self._open()
            return [
                unit.post for unit in work.texts.units(work.needed(labels_in(self._log))[:count])
            ]

    def state(self) -> dict[str, Any]:
        """The state of the goals with the present labels.

        Returns:
            ``done``, whether all are reached; the ``goal``; its ``status`` in words; ``saved``, the
            labels saved compared with a random order (None if unknown).
        """
        with self._guard:
            work, labels = self._open(), labels_in(self._log)
            compared = work.compared(labels)
            return {
                "done": not work.needed(labels),
                "goal": work.goal,
                "status": work.status(labels),
                "saved": max(compared[1] - compared[0], 0) if compared else None,
            }

    def command(self) -> str:
        """The command line that continues with the same labels; writes the file that it reads."""
        with self._guard:
            work, labels = self._open(), labels_in(self._log)
            ranks = work.population.ranks_of(list(labels.of))
            work.sampled.draw(work.texts.units(list(ranks.values())))
            self._write_sheet({name: labels.of[name] for name in ranks})
            return self._project.command(
                "annotate", results=self._project.results, **self.options(), labels=self.sheet
            )

    def options(self) -> dict[str, Any]:
        """The options of `annotate` for these goals."""
        with self._guard:
            options = asdict(self._open().goal)
            del options["seed"]
            return options


def _descent(work: Certification, claim: dict[str, Any]) -> list[dict[str, Any]]:
    """The last sets from the top that were tested, with the exact interval of their precision."""
    return [
        {
            "size": size,
            "score": float(work.population.scores[size - 1]),
            "labels": labels,
            "errors": errors,
            "certified": certified,
            **precision_interval(size, labels, labels - errors),
        }
        for size, labels, errors, certified in reversed(claim["descent"][-_SHOWN:])
    ]
