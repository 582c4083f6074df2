"""An open project: its results, its labels, and what follows from them."""

import json
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from itertools import chain, zip_longest
from typing import Any

import numpy as np

from siamese_news.decide.agreement import machine_lines
from siamese_news.desk.deciding import Deciding
from siamese_news.desk.learning import Learning
from siamese_news.desk.machine import Machine
from siamese_news.desk.project import Project
from siamese_news.desk.results import Asked, Results
from siamese_news.desk.search import Search, command_line
from siamese_news.desk.standing import Standing
from siamese_news.desk.stops import Stops
from siamese_news.desk.threads import Threads
from siamese_news.errors import InputError
from siamese_news.labels.journal import (
    CONFLICT,
    NO,
    SKIP,
    YES,
    Judgment,
    LabelJournal,
    annotator_name,
)

QUEUES = (
    "rank",
    "learned",
    "teach",
    "sample",
    "goal",
    "mixed",
    "threshold",
    "unsure",
    "second",
    "conflict",
)
"""The sources of the posts to label next; see `Desk.queue`."""

BLIND = ("teach", "sample", "goal", "mixed", "threshold", "second")
"""The sources whose posts are shown without their scores."""

_COPIES = 500  # near-duplicates that one label reaches at most


class Desk:
    """A project that is open.

    Args:
        project: its folder, which must be held.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self.log = LabelJournal(project.labels)
        self.search = Search(project)
        self.deciding = Deciding(project, self.log)
        self.stops = Stops(project, self.log)
        self.standing = Standing(project, self.log)
        self.machine = Machine(project)
        self.learning = Learning(project, self.log, self.machine)
        self.threads = Threads(project)
        self._guard = threading.Lock()
        self._results: tuple[str, Results] | None = None

    def results(self) -> Results:
        """The results of the present search.

        Raises:
            InputError: there are none yet.
        """
        path = self.project.results
        with self._guard:
            if self._results is None or self._results[0] != str(path):
                if not path.exists():
                    raise InputError("no results yet; search first")
                database = path.with_name("results.sqlite")
                self._results = (str(path), Results(path, database))
            return self._results[1]

    def meta(self) -> dict[str, Any]:
        """The meta file of the search; empty without one."""
        path = self.project.results.with_name("results.parquet.meta.json")
        try:
            return dict(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return {}

    def threshold(self) -> float:
        """The score from which posts are exported: the user's choice, or that of the search."""
        config = self.project.config()
        chosen = config.get("threshold")
        return float(config["options"]["threshold"] if chosen is None else chosen)

    @property
    def open(self) -> bool:
        """Whether the results are loaded; otherwise the first access may take a while."""
        return self._results is not None and self._results[0] == str(self.project.results)

    def label(self, row: dict[str, Any]) -> "tuple[Judgment, Future[None]]":
        """Pass a label from the page to the writer; see `LabelJournal.begin`.

        Raises:
            InputError: the search did not find the post, or a field is invalid.
            Conflict: it is not the label that the page had seen.
        """
        post, seen = row.get("post"), row.get("seen")
        if not isinstance(post, str) or not (seen is None or type(seen) is int):
            raise InputError("expected the id of a post, and the number of the label that was seen")
        found = self.results().by_id([post]).get(post)
        if found is None:
            raise InputError(f"post {post!r} is not among the results")
        copies: Iterable[str] = ()
        if row.get("together") and found.cluster_size > 1:
            ranks = self.results().copies(found.rank)[:_COPIES]
            copies = [other.id for other in self.results().posts(ranks) if other.id != post]
        return self.log.begin(
            post,
            str(row.get("label")),
            str(row.get("annotator") or ""),
            note=str(row.get("note") or ""),
            copies=tuple(copies),
            seen=seen,
        )

    def queue(self, kind: str, annotator: str, count: int, leave: set[str]) -> list[int]:
        """Ranks of the posts to label next.

        Args:
            kind: ``rank`` (from the top), ``learned`` (from the top of the learned order),
                ``teach`` (what learning gains most from), ``sample`` (what the certificate needs),
                ``goal`` (what the goals need), ``mixed`` (sample and teach), ``threshold`` (random
                posts on both sides of it), ``unsure`` (what this annotator was unsure about),
                ``second`` (what others labelled) or ``conflict`` (on what they, or the machine,
                disagree with this annotator).
            annotator: who asks; posts that they labelled are left out.
            count: how many.
            leave: ids that the page already has.

        Raises:
            InputError: for another kind, and a sample without a plan.
        """
        if kind not in QUEUES:
            raise InputError(f"the queue is {kind!r}; expected one of {', '.join(QUEUES)}")
        name = annotator_name(annotator)
        if kind == "goal":
            return self._from_plan(self.stops.next_posts(count + len(leave)), name, leave)[:count]
        if kind == "threshold":
            random = self.standing.next_posts(self.threshold(), count + len(leave))
            return self._from_plan(random, name, leave)[:count]
        if kind in ("unsure", "second", "conflict"):
            return self._labelled(kind, name, count, leave)
        if kind in ("rank", "learned"):
            return self._from_rank(name, count, leave, learned=kind == "learned")
        drawn = self._from_sample(name, count, leave) if kind != "teach" else []
        teaching = self._from_learning(count, leave) if kind != "sample" else []
        mixed = chain.from_iterable(zip_longest(drawn, teaching))
        return list(dict.fromkeys(rank for rank in mixed if rank is not None))[:count]

    def _from_rank(
        self, annotator: str, count: int, leave: set[str], *, learned: bool = False
    ) -> list[int]:
        results = self.results()
        ranks = results.find(Asked(groups=True))
        places = self.learning.places() if learned else None
        if places is not None:
            ranks = ranks[np.argsort(places[ranks - 1])]
        found: list[int] = []
        for start in range(0, len(ranks), 500):
            for post in results.posts(ranks[start : start + 500]):
                if post.id not in leave and self.log.of(post.id, annotator) is None:
                    found.append(post.rank)
                    if len(found) == count:
                        return found
        return found

    def _from_sample(self, annotator: str, count: int, leave: set[str]) -> list[int]:
        needed = self.deciding.next_posts(count + len(leave))
        found = self._from_plan(needed, annotator, leave)
        # Posts that the page has already will have a label each.
        waiting = sum(not self.log.by_annotator(post) for post in leave)
        return found[: max(0, self.deciding.left() - waiting)] if found else found

    def _from_learning(self, count: int, leave: set[str]) -> list[int]:
        said = {YES: True, NO: False}
        posts = self.results().by_id([*self.log.posts(), *leave]).values()
        known = {post.rank: said.get(self.log.verdict(post.id)) for post in posts}
        return self.learning.next_ranks(known, count)

    def _labelled(self, kind: str, annotator: str, count: int, leave: set[str]) -> list[int]:
        """Posts with labels, for a second one; see `queue`."""
        log, found = self.log, []
        posts = [post for post in log.posts() if post not in leave]
        shown = self.results().by_id(posts)
        for post in posts:
            if post not in shown:
                continue
            mine = log.of(post, annotator)
            if kind == "second":
                wanted = mine is None
            elif kind == "unsure":
                wanted = mine is not None and mine.label == SKIP
            else:
                other = self.machine.said(shown[post].rank)
                wanted = mine is not None and (
                    log.verdict(post) == CONFLICT or {mine.label, other} == {YES, NO}
                )
            if wanted:
                found.append(shown[post].rank)
        return found[:count]

    def _from_plan(self, needed: list[str], annotator: str, leave: set[str]) -> list[int]:
        posts = self.results().by_id(needed)
        return [
            posts[post].rank
            for post in needed
            if post in posts and post not in leave and self.log.of(post, annotator) is None
        ]

    def machine_lines(self) -> list[str]:
        """How the verdicts of the machine agree with the labels of people; none without both."""
        verdicts = self.machine.verdicts()
        if verdicts is None:
            return []
        labelled = self.results().by_id(self.log.posts()).values()
        said = {post.rank - 1: self.log.verdict(post.id) for post in labelled}
        known = {place: one == YES for place, one in said.items() if one in (YES, NO)}
        return machine_lines(verdicts, known, np.arange(1, len(self.results()) + 1))

    def label_command(self) -> str:
        """The command line that labels in the terminal what the page would ask for."""
        folder, results = self.project.folder, self.project.results
        labels = ["--labels", "labels-of-the-terminal.jsonl"]
        if self.deciding.planned:
            plan = str(self.deciding.path.relative_to(folder))
            return command_line(["annotate", "--plan", plan, *labels])
        wanted = self.stops.arguments() if self.stops.planned else ["--find", "100"]
        return command_line(
            ["annotate", "--results", str(results.relative_to(folder)), *wanted, *labels]
        )

    def close(self) -> None:
        """End the writing of labels."""
        self.log.close()
