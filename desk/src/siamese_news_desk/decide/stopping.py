"""When to stop labeling down a ranking: rules with exact guarantees, and a user's goals.

The goals are a number of posts, recall, or both. A label counts for every goal, and for a
certificate over the same scores: each has its own random order, fixed beforehand, and its guarantee
holds whichever other posts are labeled, and at every look.
"""

import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from functools import cache
from itertools import count, islice
from pathlib import Path
from typing import Self, Unpack

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from siamese_news.errors import InputError
from siamese_news.utils.checked_json import fitting
from siamese_news.utils.terminal import counted, verb
from siamese_news_desk.decide.bounds.few_missing import FewMissing
from siamese_news_desk.decide.bounds.sequential import most_relevant
from siamese_news_desk.decide.learning import learn
from siamese_news_desk.decide.learning_examples import TooFewLabels
from siamese_news_desk.decide.learning_views import PostWords
from siamese_news_desk.decide.plan.design import share_of
from siamese_news_desk.decide.plan.plan_fields import StoppingSettings
from siamese_news_desk.decide.plan.population import Population
from siamese_news_desk.decide.plan.sampling_plan import PlanOptions, SamplingPlan
from siamese_news_desk.decide.plan.texts import Texts, text_key
from siamese_news_desk.labels.matching import Labels

# Rank (from 0) -> label: 1 relevant, 0 not relevant or skipped.
Known = Mapping[int, int]

# Labels by rank -> all ranks (N,), the most relevant first; the same order for the same labels.
Learner = Callable[[Known], NDArray[np.int64]]


_AHEAD = 500  # posts that a rule names at a time
_BATCH = 10  # labels of a batch, or a tenth of all labels so far
# The random part begins when so small a share of the last posts is relevant: the last 50, or as
# many as a tenth of the relevant posts found.
_WINDOW = 50
_SHARE = 10
_FEW = 0.05
_FIRST = 0.8  # share of the remaining error that each round may use
_HITS = 6  # relevant random posts after which a hopeless round is given up
_TELLING = 0.1  # a recall below this says nothing


class Rule:
    """A goal of labeling, given all labels so far."""

    def next(self, by_rank: Known) -> list[int]:
        """The ranks to label next, in order; empty if the rule is satisfied."""
        ranks = map(int, self._queue(by_rank))
        return list(islice((rank for rank in ranks if rank not in by_rank), _AHEAD))

    def _queue(self, by_rank: Known) -> Iterable[int]:
        """The ranks to label, in order, whether they have labels or not."""
        raise NotImplementedError

    def status(self, by_rank: Known) -> str:
        """The progress, for people."""
        raise NotImplementedError

    def most_relevant(self, by_rank: Known) -> int | None:
        """The most relevant posts that the pool can have; None if labels do not tell yet.

        The pool has more with a probability of at most the error of the rule, at any look.
        """
        return None


@dataclass(frozen=True, slots=True)
class Find(Rule):
    """From the top down until `count` relevant posts are found, among `size` posts."""

    count: int
    size: int

    def _queue(self, by_rank: Known) -> Iterable[int]:
        return range(0 if sum(by_rank.values()) >= self.count else self.size)

    @override
    def status(self, by_rank: Known) -> str:
        return f"{sum(by_rank.values()):,} of {self.count:,} relevant posts found"


class LearnThenRandom(Rule):
    """Recall with confidence, in rounds of two parts.

    The first part labels down an order that is learned again from all labels after each batch, as
    long as this finds relevant posts. Any order is valid, because nothing is concluded from it. The
    second part labels random posts of the rest. With F relevant posts found, u posts left, and x of
    m random ones relevant, the rule stops when every number of relevant posts in the rest that
    would break the recall is ruled out (`missing.FewMissing`). If the random posts
    show instead that too many are missing, the next round begins and learns from them. The rounds
    share the error: the first may use .8 of it, the next .8 of what is left, and so on.

    The `recall` is missed with a probability of at most `error`, 1 - confidence. `order` (N,) are
    all ranks in a random order that was fixed before the first label; the `learner` returns the
    order of the first part.

    Attributes:
        requested: labels by rank, in the order in which the rule requested them; it ignores others.
    """

    def __init__(
        self,
        recall: float,
        error: float,
        order: NDArray[np.int64],
        learner: Learner,
    ) -> None:
        self._recall = recall
        self._error = error
        self._order = order
        self._learner = learner
        self._restart()

    def _restart(self) -> None:
        self.requested: dict[int, int] = {}
        # Of the random part: relevant posts before it, posts, labels, and relevant ones among them.
        self._sample: tuple[int, int, int, int] | None = None
        self._round_error = 0.0  # of the present round
        self._steps = self._rounds()
        self._needed: Sequence[int] | NDArray[np.int64] | None = None

    @override
    def status(self, by_rank: Known) -> str:
        self._queue(by_rank)
        if self._sample is None:
            return f"down the learned order: {sum(self.requested.values()):,} relevant"
        _, n_unlabeled, drawn, hits = self._sample
        return (
            f"random posts of the other {n_unlabeled:,}: {hits} of {drawn:,} relevant"
        )

    @override
    def most_relevant(self, by_rank: Known) -> int | None:
        self._queue(by_rank)
        if len(self.requested) == len(self._order):
            return sum(self.requested.values())
        if self._sample is None or not self._sample[2]:
            return None
        top, n_unlabeled, drawn, hits = self._sample
        # A beta-binomial prior with a mean near half of what breaks the recall.
        breaks = max(top * (1 - self._recall) / self._recall, 1e-9)
        prior = 1.0, 2 * n_unlabeled / breaks
        return top + most_relevant(hits, drawn, n_unlabeled, *prior, self._round_error)

    def _queue(self, by_rank: Known) -> Sequence[int] | NDArray[np.int64]:
        """Take the labels in the order of the requests, up to the first gap; returns the rest."""
        if any(by_rank.get(rank) != label for rank, label in self.requested.items()):
            self._restart()  # a label was changed or removed
        try:
            needed = next(self._steps) if self._needed is None else self._needed
            while len(needed) and (rank := int(needed[0])) in by_rank:
                self.requested[rank] = by_rank[rank]
                needed = self._steps.send(by_rank[rank])
        except Exception:
            self._restart()  # a generator cannot continue after an error of the learner
            raise
        self._needed = needed
        return needed

    def _rounds(self) -> Generator[Sequence[int] | NDArray[np.int64], int, None]:
        """Yield the posts to label next; the label of the first one is sent back."""
        size = len(self._order)
        for number in count():
            recent_labels: list[int] = []
            while len(self.requested) < size:
                window = max(_WINDOW, sum(self.requested.values()) // _SHARE)
                if (
                    len(recent_labels) >= window
                    and np.mean(recent_labels[-window:]) <= _FEW
                ):
                    break
                ranks = self._learner(self.requested).tolist()
                batch = max(_BATCH, len(self.requested) // 10)
                queue = [rank for rank in ranks if rank not in self.requested][:batch]
                for position in range(len(queue)):
                    recent_labels.append((yield queue[position:]))
            top = sum(self.requested.values())
            hits = 0
            unlabeled = self._order[~np.isin(self._order, list(self.requested))]
            error = self._round_error = self._error * _FIRST * (1 - _FIRST) ** number
            breaks = top * (1 - self._recall) / self._recall
            is_shown = FewMissing(top, len(unlabeled), self._recall, error).shown
            for drawn in range(len(unlabeled) + 1):
                self._sample = top, len(unlabeled), drawn, hits
                if drawn == len(unlabeled) or is_shown(hits, drawn):
                    while True:
                        yield []
                if hits >= _HITS and hits / drawn * len(unlabeled) > breaks:
                    break
                hits += yield unlabeled[drawn:]
            self._sample = None


def word_learner(scores: NDArray[np.float64], texts: Texts) -> Learner:
    """A `Learner` from the words of posts and the scores (N,) of the search, by rank.

    Raises:
        InputError: for posts without texts.
    """
    if not texts.units([0])[0].text:
        raise InputError(
            "a goal of recall learns an order from the texts of posts, and the results have none; "
            "expected results with texts"
        )

    @cache
    def words() -> tuple[PostWords, NDArray[np.int64]]:
        units = texts.units(range(len(scores)))
        keys = [repr(text_key(unit) or unit.name) for unit in units]
        return PostWords.of([unit.text for unit in units]), np.unique(
            keys, return_inverse=True
        )[1]

    return lambda by_rank: learned_order(scores, *words(), by_rank)


def learned_order(
    scores: NDArray[np.float64],
    words: PostWords,
    groups: NDArray[np.int64],
    by_rank: Known,
) -> NDArray[np.int64]:
    """All ranks (N,) in the order learned from the labels, or in that of the search; see `learn`.

    `groups` (N,) are the clusters of near-duplicates.
    """
    try:
        feedback = learn(
            words,
            scores,
            {rank: bool(label) for rank, label in by_rank.items()},
            groups,
        )
    except TooFewLabels:
        return np.argsort(-scores, kind="stable")
    return np.argsort(-(feedback.scores if feedback.helps else scores), kind="stable")


class Goal(StoppingSettings):
    """What to find; see `StoppingSettings`."""

    __slots__ = ()

    def check(self) -> None:
        """Raise an `InputError` for a value that no pool allows."""
        if self.find is None and self.recall is None:
            raise InputError(
                "expected a number of posts, or a share of all relevant posts"
            )
        try:
            fitting(asdict(self), StoppingSettings)
        except ValueError as error:
            raise InputError(f"the goal of labeling: {error}") from None
        if self.recall is not None:
            share_of(self.recall, "recall (the share of all relevant posts)")
        share_of(self.confidence, "confidence")

    def rules(self, population: Population, texts: Texts) -> list[Rule]:
        """The rules, in the order in which they request labels.

        Raises:
            InputError: for a rule that cannot work here.
        """
        size = len(population)
        error = float(1 - Fraction(self.confidence))
        rules: list[Rule] = []
        if self.recall is not None:
            recall = float(Fraction(self.recall))
            order = np.argsort(
                population.keys(self.seed, "stopping")(0, size), kind="stable"
            )
            learner = word_learner(population.scores, texts)
            rules.append(LearnThenRandom(recall, error, order, learner))
        if self.find is not None:
            rules.append(Find(self.find, size))
        return rules


class Stopping(SamplingPlan):
    """A plan to label down a ranking, and the posts it needs next; see `SamplingPlan`."""

    kind = "stopping"

    def _prepare(self) -> None:
        self.goal = Goal(
            **{field.name: self.plan["settings"][field.name] for field in fields(Goal)}
        )
        self.goal.check()
        self.rules = self.goal.rules(self.population, self.texts)
        # The labels for which verdicts were computed last, and these.
        self._latest: tuple[dict[str, str], dict[int, int]] | None = None

    @property
    @override
    def fixes_criteria(self) -> bool:
        """Goals are often set before anybody has written down what counts; these leave it open."""
        return bool(self.plan["criteria"])

    @classmethod
    def start(
        cls, results: Path, path: Path, goal: Goal, **options: Unpack[PlanOptions]
    ) -> Self:
        """Fix the goal and write the plan."""
        goal.check()
        population = Population(results)
        goal.rules(population, Texts(population, options.get("posts")))
        error = Fraction(0)
        if goal.recall is None:
            options["another_plan"] = (
                True  # without a guarantee, further plans cost nothing
            )
        else:
            error = 1 - Fraction(goal.confidence)
        return cls._fix(path, population, asdict(goal), error=error, **options)

    def needed(self, labels: Labels) -> list[int]:
        """The ranks of the posts to label next, in order; empty if every rule is satisfied."""
        by_rank = self._known(labels)
        return next((ranks for rule in self.rules if (ranks := rule.next(by_rank))), [])

    @property
    def recall(self) -> Fraction:
        """The recall that is the goal; 0 without one."""
        return Fraction(self.goal.recall or 0)

    @property
    def confidence(self) -> Fraction:
        """The confidence that is left after earlier plans over the same posts."""
        return max(Fraction(0), Fraction(self.goal.confidence) - self.earlier_error)

    @property
    def promises_recall(self) -> bool:
        """Whether recall is a goal."""
        return self.goal.recall is not None

    def recall_reached(self, labels: Labels) -> bool:
        """Whether the rule of the recall is satisfied."""
        return self.promises_recall and not self.rules[0].next(self._known(labels))

    def status(self, labels: Labels) -> str:
        """The labels given, those that the rules still need, and what they show, in words."""
        by_rank = self._known(labels)
        verdicts = [label.relevant for label in labels.of.values()]
        row = next(
            (n for n, relevant in enumerate(reversed(verdicts)) if relevant),
            len(verdicts),
        )
        parts = [f"{len(verdicts):,} labeled, {sum(verdicts):,} relevant"]
        if copies := self.copies(labels):
            parts.append(f"{counted(len(copies), 'more post')} with their texts")
        parts += [rule.status(by_rank) for rule in self.rules]
        if self.promises_recall and self.plan["earlier"]:
            parts.append(
                f"the confidence of the recall is {float(self.confidence):g}, after "
                f"{counted(len(self.plan['earlier']), 'earlier plan')}"
            )
        parts.append(f"{row} not relevant in a row (which guarantees nothing)")
        return "; ".join(filter(None, [*parts, self._recall_so_far(labels)]))

    def _recall_so_far(self, labels: Labels) -> str:
        """A lower bound on the recall so far, once it says something; else empty."""
        by_rank = self._known(labels)
        hits = sum(by_rank.values())
        bounds = [
            upper_bound
            for rule in self.rules
            if (upper_bound := rule.most_relevant(by_rank)) is not None
        ]
        if not bounds or not hits:
            return ""
        upper_bound = max(min(bounds), hits)
        if hits < _TELLING * upper_bound:
            return ""
        share = math.floor(100 * hits / upper_bound)
        copies = " or have the text of a labeled one" * bool(self.copies(labels))
        return (
            f"with confidence {float(self.confidence):g}, there {verb(upper_bound, 'are')} at most "
            f"{counted(upper_bound, 'relevant post')}; at least {share}% of them ({hits:,}) are "
            f"labeled{copies}"
        )

    def copies(self, labels: Labels) -> dict[int, int]:
        """The verdicts by rank on posts with the text of a labeled one, which nobody is asked for."""
        labeled = set(self.population.ranks_of(list(labels.of)).values())
        return {
            rank: verdict
            for rank, verdict in self._known(labels).items()
            if rank not in labeled
        }

    def _known(self, labels: Labels) -> dict[int, int]:
        """The verdicts by rank: labels, and those that a rule would ask for a second time."""
        label_of = {name: label.verdict for name, label in labels.of.items()}
        if self._latest is not None and self._latest[0] == label_of:
            return dict(self._latest[1])
        rank_of = self.population.ranks_of(list(labels.of))
        by_rank = {
            rank: int(labels.of[name].relevant) for name, rank in rank_of.items()
        }
        decided = [
            rank for name, rank in rank_of.items() if not labels.of[name].skipped
        ]
        keys = self.texts.keys(decided)
        by_text = {
            key: by_rank[rank] for rank, key in zip(decided, keys, strict=True) if key
        }

        def take_copies(ranks: Sequence[int]) -> bool:
            """Give posts the label of their text; whether the first one has it now."""
            for rank, key in zip(ranks, self.texts.keys(ranks), strict=True):
                if key in by_text:
                    by_rank.setdefault(rank, by_text[key])
            return bool(ranks) and ranks[0] in by_rank

        # Those of before come first: a rule that misses one of them begins anew.
        take_copies(list(self._latest[1]) if self._latest else [])
        for rule in self.rules:
            while by_text and take_copies(rule.next(by_rank)):
                pass
        self._latest = label_of, by_rank
        return dict(by_rank)
