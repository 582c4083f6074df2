"""The certificate, goals and running estimates of a project; `decide` computes them."""

import threading
from collections.abc import Iterable, Iterator
from itertools import chain, islice, takewhile, zip_longest
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from msgspec.structs import replace

from siamese_news.errors import InputError
from siamese_news.utils.files import readable_name
from siamese_news.utils.terminal import counted
from siamese_news_desk.decide import recall
from siamese_news_desk.decide.bounds.hypergeometric import (
    lower_bound,
    recall_bound,
    upper_bound,
)
from siamese_news_desk.decide.certificate import (
    certificate_of,
    findings_of,
    left_sentence,
    sentence_of,
    write_files,
)
from siamese_news_desk.decide.certificate_page import answers_html, page_of
from siamese_news_desk.decide.certification import Certification, Claim, Settings
from siamese_news_desk.decide.plan.design import (
    Keys,
    Order,
)
from siamese_news_desk.decide.plan.ledger import plans_over
from siamese_news_desk.decide.plan.population import Population
from siamese_news_desk.decide.plan.sealed_files import SEAL, sibling, write_sealed
from siamese_news_desk.decide.plan.texts import distinct
from siamese_news_desk.decide.stopping import Goal, Stopping
from siamese_news_desk.labels.journal import (
    CONFLICT,
    SKIP,
    YES,
    LabelJournal,
    write_judgments,
)
from siamese_news_desk.labels.matching import Labels, changed_sentence, labels_in
from siamese_news_desk.labels.units import Unit
from siamese_news_desk.page.project import Project

BUDGET_CAP = 100_000

# Labels after which progress is worded again; each wording counts as a look.
_RENEWED = 10
_FIRST = 256  # posts of an order whose labels are looked up together at first
_SEED = 0  # of the random order of the estimates; the default of `audit`
_AUDITED = 200  # labels of the audit that the page suggests

# Posts, how many of them were labeled, how many of those are relevant.
Sample = tuple[int, int, int]

Plan = TypeVar("Plan", Certification, Stopping)


class _Planned(Generic[Plan]):
    """A plan of the current search, fixed before labels are given for it; `file` is its name."""

    def __init__(
        self, project: Project, log: LabelJournal, kind: type[Plan], file: str
    ) -> None:
        self._project = project
        self._log = log
        self._kind: type[Plan] = kind
        self._file = file
        self._guard = threading.RLock()
        self._plan: Plan | None = None

    @property
    def path(self) -> Path:
        """The file of the plan."""
        return self._project.search / self._file

    @property
    def planned(self) -> bool:
        """Whether the current search has a plan."""
        return self.path.exists()

    def _results_to_plan(self) -> Path:
        results = self._project.require_results()
        if self.planned:
            raise InputError("the plan is already fixed and can no longer be changed")
        return results

    def opened(self) -> Plan:
        """The plan, which must exist."""
        if self._plan is None or self._plan.path != self.path:
            if not self.planned:
                raise InputError(
                    "nothing is fixed yet; fix a target before labeling for it"
                )
            self._plan = self._kind.resume(self.path, results=self._project.results)
        return self._plan


class Findings(NamedTuple):
    """The state of a certificate."""

    content: dict[str, Any]  # as the command writes it
    claims: list[Claim]
    labels: Labels
    sentences: list[str]  # each claim in words
    # What stopping now saves, once the certificate needs no more labels.
    left_sentence: str


class Certificate(_Planned[Certification]):
    """The plan of the certificate for the current search, and its findings."""

    def __init__(self, project: Project, log: LabelJournal) -> None:
        super().__init__(project, log, Certification, "sheet.plan.json")
        # The file of the plan and the version of the labels, with the result.
        self._findings: tuple[Path, int, Findings] | None = None

    @property
    def sheet(self) -> Path:
        """The file from which the commands read the labels."""
        return self._project.search / "sheet.jsonl"

    def earlier(self) -> int:
        """How many plans were made over the posts of the results."""
        results = self._project.results
        return (
            plans_over(Population(results))
            if results.exists() and not self.planned
            else 0
        )

    def plan(self, settings: Settings, *, another_plan: bool) -> None:
        """Fix everything before the first label; an `InputError` if there is a plan already."""
        with self._guard:
            results = self._results_to_plan()
            if not 1 <= settings.budget <= BUDGET_CAP:
                raise InputError(
                    f"budget is {settings.budget}; expected 1 to {BUDGET_CAP:,} labels"
                )
            criteria = self._project.criteria.strip()
            self._plan = Certification.start(
                results,
                self.path,
                settings,
                another_plan=another_plan,
                criteria=criteria,
            )
            self.next_posts(1)

    def next_posts(self, count: int) -> list[str]:
        """Ids of the posts to label next for the certificate; none if no label would help."""
        with self._guard:
            certification = self.opened()
            units = certification.texts.units(
                certification.request(
                    labels_in(self._log, certification.sampled), at_least=count
                ).ranks
            )
            certification.sampled.draw(units)
            return [unit.post for unit in units]

    def keys(self) -> dict[str, str]:
        """The ids of the sampled posts by their keys in sheets; none without a plan."""
        if not self.planned:
            return {}
        with self._guard:
            return {
                key: sampled.post
                for key, sampled in self.opened().sampled.by_key.items()
            }

    def labels_left(self) -> int:
        """How many of the planned labels are not given yet."""
        with self._guard:
            certification = self.opened()
            return max(
                0,
                certification.settings.budget
                - len(labels_in(self._log, certification.sampled).of),
            )

    def findings(self) -> Findings:
        """The state of the certificate with the present labels."""
        with self._guard:
            path = self.path
            version = self._log.version
            if self._findings is None or self._findings[:2] != (path, version):
                certification = self.opened()
                labels = labels_in(self._log, certification.sampled)
                certification.log.look(labels)
                claims = certification.claims(labels)
                content = findings_of(certification, claims, labels)
                findings = Findings(
                    content,
                    claims,
                    labels,
                    [sentence_of(content, claim) for claim in content["claims"]],
                    left_sentence(content),
                )
                self._findings = path, version, findings
            return self._findings[2]

    def progress(self) -> str:
        """The progress in a sentence for the annotator; renewed every ten labels."""
        if not self.planned:
            return ""
        with self._guard:
            certification = self.opened()
            latest = self._findings
            # A count is no look at the result.
            n_labels = len(labels_in(self._log, certification.sampled).of)
            planned = certification.settings.budget
            if (
                latest is None
                or latest[0] != self.path
                or abs(self._log.version - latest[1]) >= _RENEWED
            ):
                self.findings()
                latest = self._findings
        assert latest is not None
        content = latest[2].content
        used_at_findings = content["labels"]["used"]
        sentences = [f"{n_labels:,} of {planned:,} labels."]
        if used_at_findings != n_labels:
            sentences.append(f"After {used_at_findings:,} of them:")
        for claim in content["claims"]:
            if claim["threshold"] is not None:
                sentences.append(
                    f"{counted(claim['posts'], 'certified post')} at {claim['target']}."
                )
            if (n_more_labels := claim["more_labels"]) and claim["next_set"]:
                beyond = used_at_findings + n_more_labels - planned
                sentences.append(
                    # Replayed: ``python -m benchmarks.labels_ahead``.
                    f"About {counted(n_more_labels, 'more label')}"
                    f"{f' ({beyond:,} more than planned)' if beyond > 0 else ''}, enough in 3 of 4 "
                    "replayed plans, to certify "
                    f"{counted(claim['next_set']['posts'], 'post')} at {claim['target']}."
                )
        sentences += filter(None, [latest[2].left_sentence])
        return " ".join(
            sentences
            if len(sentences) > 2 or used_at_findings == n_labels
            else sentences[:1]
        )

    def answers(self) -> str:
        """The answers to a reviewer with the present labels, as HTML."""
        with self._guard:
            findings = self.findings()
            content = certificate_of(self.opened(), findings.claims, findings.labels)
            return readable_name(answers_html(content))

    def certify(self) -> Findings:
        """Write the certificate and its page next to the plan."""
        with self._guard:
            findings = self.findings()
            certification = self.opened()
            self._write_sheet(findings.labels.of)
            content = certificate_of(
                certification, findings.claims, findings.labels, [self.sheet]
            )
            write_files(certification, findings.claims, content, page_of(content))
            return findings

    def _write_sheet(self, posts: Iterable[str]) -> None:
        """Write the labels of all annotators, from which a command finds the same."""
        judgments = (
            replace(judgment, post=post)
            for post in posts
            for judgment in self._log.by_annotator(post).values()
        )
        write_judgments(self.sheet, judgments, self.opened().plan[SEAL])

    def list_at(self, threshold: float) -> Claim | None:
        """The claim about the list that is exported from this threshold on."""
        if not self.planned:
            return None
        lists = zip(self.findings().claims, self.thresholds(), strict=True)
        return next(
            (claim for claim, cut in lists if cut == threshold and claim.posts), None
        )

    def thresholds(self) -> list[float]:
        """The threshold by which the list of each claim is chosen.

        If nothing is certified, it is above all scores, so that only labeled posts are in the list.
        """
        above_all = self._project.load_results().least_score("posts", 0)
        return [
            above_all if claim.threshold is None else claim.threshold
            for claim in self.findings().claims
        ]

    def commands(self) -> list[str]:
        """The equivalent command lines; writes the sheet that they read."""
        certification = self.opened()
        self._write_sheet(labels_in(self._log, certification.sampled).of)
        command = self._project.command
        settings = certification.settings
        return [
            command(
                "sample",
                results=self._project.results,
                precision=settings.targets,
                confidence=settings.confidence,
                budget=settings.budget,
                criteria=certification.plan["criteria"],
                out=self.sheet,
            ),
            command("certify", labels=self.sheet),
        ]


class Goals(_Planned[Stopping]):
    """When to stop labeling: the goals of a project; every label counts for them."""

    def __init__(self, project: Project, log: LabelJournal) -> None:
        super().__init__(project, log, Stopping, "goals.plan.json")

    def plan(self, goal: Goal, *, another_plan: bool) -> None:
        """Fix the goals; an `InputError` if they are impossible, or some are fixed already."""
        with self._guard:
            results = self._results_to_plan()
            self._plan = Stopping.start(
                results,
                self.path,
                goal,
                another_plan=another_plan,
                criteria=self._project.criteria,
            )

    def next_posts(self, count: int) -> list[str]:
        """Ids of the posts to label next; empty once all goals are reached."""
        with self._guard:
            stopping = self.opened()
            ranks = stopping.needed(labels_in(self._log))
            ranks = distinct(stopping.texts.units(ranks), ranks)[:count]
            return [unit.post for unit in stopping.texts.units(ranks)]

    def _labels(self) -> Labels:
        """The labels of the posts of the results; such a post counts as drawn once it has one."""
        stopping = self.opened()
        ranks = stopping.population.ranks_of(self._log.posts())
        stopping.sampled.draw([Unit(name, name) for name in ranks])
        return labels_in(self._log, stopping.sampled)

    def state(self) -> dict[str, Any]:
        """The state of the goals with the present labels.

        Returns:
            ``done``, whether all are reached; the ``goal`` and its ``status`` in words; ``changed``,
            a sentence on labels that were changed after an earlier look at the recall; the
            ``sentence`` to quote once the recall is reached, which is sealed next to the plan.
        """
        with self._guard:
            stopping = self.opened()
            labels = self._labels()
            sentence = ""
            if stopping.promises_recall:
                stopping.log.look(labels)
            if stopping.recall_reached(labels):
                content = recall.findings(stopping, labels)
                write_sealed(sibling(stopping.path, "recall.json"), content)
                sentence = recall.sentence_of(content)
            return {
                "done": not stopping.needed(labels),
                "goal": stopping.goal,
                "sentence": sentence,
                "status": stopping.status(labels),
                "changed": changed_sentence(stopping.log.changed),
            }


class Estimates:
    """Precision and recall at a threshold, from random posts on both sides of it.

    The posts are those that `audit` draws for the same threshold, in the order of its keyed hash. A
    label counts once every post before it in that order has one, so the labels that count are a
    random sample without replacement, whatever else was labeled.
    """

    def __init__(self, project: Project, log: LabelJournal) -> None:
        self._project = project
        self._log = log
        self._guard = threading.Lock()
        self._held: tuple[str, Population, Keys] | None = None

    def at(self, threshold: float) -> dict[str, Any]:
        """Precision and recall at a threshold, by the labels so far.

        Returns:
            The ``threshold``; ``above`` and ``below``, a `Sample` each; ``precision`` of the posts
            above and ``recall`` of all (None if there are none below), each with ``estimate`` (None
            without labels), ``low`` and ``high`` of its 95% interval.
        """
        with self._guard:
            samples = []
            for side, (size, posts) in enumerate(self._sides(threshold)):
                verdicts = list(takewhile(bool, map(self._log.verdict, posts)))
                # As in `audit`, an undecided post counts against the list: as relevant below it.
                relevant = (YES,) if side == 0 else (YES, SKIP, CONFLICT)
                samples.append(
                    (size, len(verdicts), sum(map(relevant.count, verdicts)))
                )
        above, below = samples
        return {
            "threshold": threshold,
            "above": above,
            "below": below,
            "precision": _precision_interval(*above),
            "recall": _recall_interval(above, below) if below[0] else None,
        }

    def next_posts(self, threshold: float, count: int) -> list[str]:
        """Ids of the posts to label next, alternately above and below."""
        with self._guard:
            sides = [
                list(
                    islice(
                        (post for post in posts if not self._log.verdict(post)), count
                    )
                )
                for _, posts in self._sides(threshold)
            ]
        mixed = chain.from_iterable(zip_longest(*sides))
        return [post for post in mixed if post is not None][:count]

    def command(self, at: dict[str, Any]) -> str:
        """The command line that draws such a sample of a fixed size, for a guarantee."""
        results = self._project.results
        recall = {}
        if at["recall"] is not None:
            total = at["above"][0] + at["below"][0]
            recall = {"threshold": at["threshold"], "population": total}
        out = results.with_name("audit.jsonl")
        return self._project.command(
            "audit", results=results, **recall, budget=_AUDITED, out=out
        )

    def _sides(self, threshold: float) -> list[tuple[int, Iterator[str]]]:
        """How many posts are above and below a threshold, and their ids in random order."""
        path = str(self._project.results)
        if self._held is None or self._held[0] != path:
            population = Population(self._project.results)
            self._held = path, population, population.keys(_SEED, "audit")
        _, population, keys = self._held
        size = population.size_at(threshold)
        total = len(population)
        return [
            (end - start, _shuffled(population, keys, start, end))
            for start, end in ((0, size), (size, total))
        ]


def _shuffled(
    population: Population, keys: Keys, start: int, end: int
) -> Iterator[str]:
    """The ids of the posts at the ranks [start, end) in random order."""
    order = Order(
        np.array([end - start]),
        lambda order_start, order_end: keys(order_start + start, order_end + start),
    )
    seen, count = 0, _FIRST
    while seen < end - start:
        ranks = (order.first(0, count)[seen:] + start).tolist()
        seen = seen + len(ranks)
        count = 4 * count
        # A population may name its posts with their article before them.
        yield from (name.rpartition("\t")[2] for name in population.names_at(ranks))


def _precision_interval(
    size: int, labeled: int, relevant: int
) -> dict[str, float | None]:
    """The precision of a set by a random sample of it, with the exact 95% interval."""
    if not labeled:
        return {"estimate": None, "low": 0.0, "high": 1.0}
    min_relevant, max_relevant = (
        bound(size, labeled, relevant, 0.025) for bound in (lower_bound, upper_bound)
    )
    return {
        "estimate": relevant / labeled,
        "low": min_relevant / size,
        "high": max_relevant / size,
    }


def _recall_interval(above: Sample, below: Sample) -> dict[str, float | None]:
    """The recall of the posts above, with its exact 95% interval."""
    estimate, lowest_recall = recall_bound(above, below, 0.025)
    _, missed = recall_bound(below, above, 0.025)
    is_estimated = above[1] and below[1] and not np.isnan(estimate)
    return {
        "estimate": estimate if is_estimated else None,
        "low": lowest_recall,
        "high": 1 - missed,
    }
