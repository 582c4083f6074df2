"""From labels to a certificate, by way of the room that knows how; nothing is computed here."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from siamese_news.decide.bounds.hypergeometric import lower_bound, upper_bound
from siamese_news.decide.certificate import (
    certificate_of,
    sentence_of,
    with_files,
    write_certificate,
    write_lists,
    write_page,
)
from siamese_news.decide.certification import Certification, Claim, Settings
from siamese_news.decide.plan.design import share_of
from siamese_news.decide.plan.files import SEAL, beside
from siamese_news.decide.plan.ledger import plans_over
from siamese_news.decide.plan.population import Population
from siamese_news.desk.project import Project
from siamese_news.desk.search import command_line
from siamese_news.errors import InputError
from siamese_news.labels.journal import CONFLICT, LabelJournal, write_judgments
from siamese_news.labels.matching import Labels, labels_in

BUDGET_CAP = 100_000

_SHOWN = 12  # sets of a descent on the page
_RENEWED = 10  # labels after which progress is said again; a label counts as looked at then


@dataclass(frozen=True, slots=True)
class SetSoFar:
    """What the labels say of one set of posts from the top.

    Attributes:
        size: posts in it.
        score: of the last one.
        labels: of a random sample of it.
        errors: not relevant ones among them.
        estimate: of its precision; None without labels.
        low: of the exact 95% interval, for a number of labels that was fixed beforehand.
        high: of it.
        certified: whether the descent passed it.
    """

    size: int
    score: float
    labels: int
    errors: int
    estimate: float | None
    low: float
    high: float
    certified: bool


@dataclass(frozen=True, slots=True)
class Findings:
    """What the labels show now.

    Attributes:
        content: of the certificate, as the command writes it.
        claims: which posts it is about.
        sentences: what each claim says.
        conflicts: drawn posts of which annotators say different things; they count as not relevant.
        descents: of each claim the last sets that were tested, the last one first.
    """

    content: dict[str, Any]
    claims: list[Claim]
    sentences: list[str]
    conflicts: int
    descents: list[list[SetSoFar]]


class Deciding:
    """The plan of a project's present search, and what its labels have shown.

    Args:
        project: whose.
        log: the labels.
    """

    def __init__(self, project: Project, log: LabelJournal) -> None:
        self._project = project
        self._log = log
        self._guard = threading.RLock()
        self._work: Certification | None = None
        self._found: tuple[int, Findings] | None = None
        self._told: tuple[int, str] | None = None

    @property
    def sheet(self) -> Path:
        """The sheet that the commands take: the drawn posts with their labels."""
        return self._project.search / "sheet.jsonl"

    @property
    def path(self) -> Path:
        """The file of the plan."""
        return beside(self.sheet, "plan.json")

    @property
    def planned(self) -> bool:
        """Whether there is a plan for the present search."""
        return self.path.exists()

    def earlier(self) -> int:
        """How many plans were made over the posts of the results."""
        results = self._project.results
        return plans_over(Population(results)) if results.exists() and not self.planned else 0

    def plan(
        self, precision: Sequence[str], confidence: str, budget: int, criteria: str, *, again: bool
    ) -> None:
        """Fix everything before the first label.

        Raises:
            InputError: for shares that cannot be, without results, and where a plan stands.
        """
        with self._guard:
            project = self._project
            if not project.results.exists():
                raise InputError("there are no results yet; search first")
            if self.planned:
                raise InputError("the plan is fixed already; what was fixed cannot be changed")
            targets = [share_of(target, "precision") for target in precision]
            if not targets or len(set(targets)) < len(targets):
                raise InputError("expected one or several different precisions, such as .9")
            share_of(confidence, "confidence")
            if not 1 <= budget <= BUDGET_CAP:
                raise InputError(f"budget is {budget}; expected 1 to {BUDGET_CAP:,} labels")
            settings = Settings(targets=tuple(precision), confidence=confidence, budget=budget)
            work = Certification.start(
                project.results, self.path, settings, again=again, criteria=criteria.strip()[:5000]
            )
            self._work, self._found, self._told = work, None, None
            self.next_posts(1)

    def next_posts(self, count: int) -> list[str]:
        """Ids of the posts to label next for the certificate; none where no label would help."""
        with self._guard:
            work = self._open()
            labels = self._labels(work)
            ranks = work.next_posts(labels, at_least=count)
            units = work.units(ranks)
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
            return max(0, work.settings.budget - len(self._labels(work).of))

    def findings(self) -> Findings:
        """What the labels show; computed anew where there are new ones."""
        with self._guard:
            version = self._log.version
            if self._found is None or self._found[0] != version:
                work = self._open()
                labels = self._labels(work)
                work.log.look(labels)
                claims = work.claims(labels)
                content = certificate_of(work, claims, labels)
                conflicts = sum(
                    self._log.verdict(drawn.post) == CONFLICT
                    for drawn in work.sampled.by_key.values()
                )
                sentences = [sentence_of(content, claim) for claim in content["claims"]]
                descents = [_descent(work, claim) for claim in content["claims"]]
                found = Findings(content, claims, sentences, conflicts, descents)
                self._found = (version, found)
            return self._found[1]

    def progress(self) -> str:
        """How far the labels are, in a sentence for those who give them; renewed every ten."""
        if not self.planned:
            return ""
        if self._told is None or abs(self._log.version - self._told[0]) >= _RENEWED:
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
            self._told = self._log.version, " ".join(said)
        return self._told[1]

    def certify(self) -> Findings:
        """Write the certificate and its page beside the plan."""
        with self._guard:
            found = self.findings()
            self._write_sheet()
            content = with_files(found.content, [self.sheet])
            write_certificate(beside(self.path, "certificate.json"), content)
            write_page(beside(self.path, "certificate.html"), content)
            write_lists(beside(self.path, "certificate.csv"), self._open(), found.claims)
            return found

    def certified(self, threshold: float) -> Claim | None:
        """The claim about the list that is handed over from this threshold on."""
        claims = self.findings().claims if self.planned else []
        return next((claim for claim in claims if claim.threshold == threshold), None)

    def files(self) -> list[Path]:
        """The files of plan and certificate that there are."""
        endings = (
            "plan.json",
            "drawn.jsonl",
            "verdicts.jsonl",
            "certificate.csv",
            "certificate.json",
            "certificate.html",
        )
        found = [self.sheet, *(beside(self.sheet, ending) for ending in endings)]
        return [path for path in found if path.exists()]

    def commands(self) -> list[str]:
        """The command lines that do the same."""
        project = self._project
        sheet = str(self.sheet.relative_to(project.folder))
        lines = []
        if self.planned:
            self._write_sheet()
            settings = self._open().settings
            arguments = ["sample", "--results", str(project.results.relative_to(project.folder))]
            for target in settings.targets:
                arguments += ["--precision", target]
            arguments += ["--confidence", settings.confidence, "--budget", str(settings.budget)]
            if criteria := self._open().plan["criteria"]:
                arguments += ["--criteria", criteria]
            lines.append(command_line([*arguments, "--out", sheet]))
        lines.append(command_line(["certify", "--labels", sheet]))
        return lines

    def chance(self) -> Fraction | None:
        """The chance of a wrong certificate, all plans over the scores included."""
        with self._guard:
            return self._open().error if self.planned else None

    def _open(self) -> Certification:
        if self._work is None or self._work.path != self.path:
            if not self.planned:
                raise InputError("there is no plan yet; fix the target before labelling for it")
            self._work = Certification.resume(self.path, results=self._project.results)
            self._found = self._told = None
        return self._work

    def _labels(self, work: Certification) -> Labels:
        return labels_in(self._log, work.sampled)

    def _write_sheet(self) -> None:
        """The labels of the sampled posts as the commands read them."""
        work = self._open()
        labels = {name: label.said for name, label in self._labels(work).of.items()}
        write_judgments(self.sheet, labels, "all", work.plan[SEAL])


def _descent(work: Certification, claim: dict[str, Any]) -> list[SetSoFar]:
    found = []
    for size, labels, errors, certified in reversed(claim["descent"][-_SHOWN:]):
        low, high = 0, size
        if labels:
            low = lower_bound(size, labels, labels - errors, 0.025)
            high = upper_bound(size, labels, labels - errors, 0.025)
        found.append(
            SetSoFar(
                size,
                float(work.population.scores[size - 1]),
                labels,
                errors,
                1 - errors / labels if labels else None,
                low / size,
                high / size,
                certified,
            )
        )
    return found
