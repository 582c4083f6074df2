"""A new order learned from labels and a machine's verdicts, and whether it is better.

Labels mostly come from the top, where a word may count against a post although further down it
counts for it; so random posts from far down, which are almost all not relevant, are also used to
learn. Two views of the posts are mixed, by how likely they make labels that were not learned from:

- a regression and naive Bayes on the words alone, whose prediction is added to the score of the
  search with a weight that is nothing without evidence;
- a regression on the words and on vectors by the star that ships, next to the score of the search,
  so that they only correct it.

The order is used if it explains labels better than the search, and if labels go with words better
than labels dealt at random would.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.utils.terminal import counted
from siamese_news_desk.decide.learning_examples import (
    CHOSEN,
    Examples,
    examples_of,
    folds_of,
    standardized,
)
from siamese_news_desk.decide.learning_judgment import (
    Judgment,
    agreement_by_chance,
    judgment_of,
)
from siamese_news_desk.decide.learning_views import (
    PostWords,
    added_up,
    columns_of,
    corrected,
    cross_validated,
    learn_words,
    surprise_of,
    unseen_words,
)

# The weight of a machine's verdicts relative to the search, both standardized, without labels.
MACHINE = 1.0

# Parts of the posts: from the top of the order, uncertain ones, and random ones.
TEACHING, FINDING, READING = "1:1:2", "3:1:0", "1:0:0"

# The best posts that have vectors: 1,500 texts cost a second.
_BEST = 5000

# The numbers of labels from which `mix_after` takes the second and the third of them.
_FINDING_FROM = 50
_READING_FROM = 300

# Random posts: the best 2,000, or a sixth of the pool.
_REGION = 2000
_SHARE = 6
_LEAST = 200
# Times the region, with this many labels or more that all say relevant.
_WIDE = 4
_FEW = 10


@dataclass(frozen=True, slots=True)
class Feedback:
    """The learned order, and its comparison with that of the search.

    Attributes:
        relevant: number of labeled posts that are relevant; `irrelevant` are not.
        scores: (N,) of the posts: that of the search, standardized, plus the learned part.
        odds: (N,) logits that the posts are relevant.
        far: random posts from far down that were taken as not relevant.
        judgment: None if there are too few labels to judge.
        chance: probability that an uninformed machine ranks the relevant labeled posts this far
            above the others (Mann and Whitney, one-sided, each text once); 1 without a machine.
        added: log-likelihood that the machine adds to search and words, in nats; 0 without one.
        uses_machine: whether the order has the machine's verdicts. Labels of people must bear it
            out in two ways: it agrees with them better than by chance, and it tells something that
            search and words do not.
        words: that count most for a post, and most against it.
    """

    relevant: int
    irrelevant: int
    scores: NDArray[np.float64]
    odds: NDArray[np.float64]
    far: int = 0
    judgment: Judgment | None = None
    chance: float = 1.0
    added: float = 0.0
    uses_machine: bool = False
    words: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    machine: str = ""

    @property
    def helps(self) -> bool:
        """Whether the learned order is better on posts that it was not learned from."""
        judgment = self.judgment
        if judgment is None:
            return True
        machine_helps = (
            self.uses_machine and judgment.learned_precision > judgment.search_precision
        )
        return (
            self.irrelevant > 0
            and judgment.information > CHOSEN.gained
            and (judgment.coincidence <= CHOSEN.coincidence or machine_helps)
        )

    def sentence(self) -> str:
        """The result of cross-validation in words."""
        labels = self.relevant + self.irrelevant
        judgment = self.judgment
        if judgment is None:
            return (
                f"{counted(labels, 'label')} of people ({self.relevant:,} relevant) cannot judge the "
                f"new order yet: {self.machine} counts {MACHINE:g} times as much as the search, both "
                "standardized."
            )
        far = f" and {counted(self.far, 'random post')} from far down, taken as not relevant"
        return (
            f"Average precision on {counted(labels, 'labeled post')} ({self.relevant:,} relevant)"
            f"{far if self.far else ''}: {judgment.search_precision:.3f} in the order of the search, "
            f"{judgment.learned_precision:.3f} learned"
            f"{f' with {self.machine}' if self.uses_machine else ''} (cross-validated)."
            f"{self._machine_sentence()}{'' if self.helps else self._refusal(judgment)}"
        )

    def _refusal(self, judgment: Judgment) -> str:
        if not self.irrelevant:
            reason = "no post is labeled not relevant"
        elif judgment.information <= CHOSEN.gained:
            reason = (
                f"the new order explains the labels by {judgment.information:.1f} nats better; "
                f"expected more than {CHOSEN.gained:g}"
            )
        else:
            reason = (
                "labels dealt at random would go with the words as well with a probability of "
                f"{judgment.coincidence:.2g}; expected at most {CHOSEN.coincidence:g}"
            )
        return f" This is not a sure gain, so the order stays the same: {reason}."

    def _machine_sentence(self) -> str:
        if not self.machine:
            return ""
        by_chance = (
            f"an uninformed machine would agree with people as well with a probability of "
            f"{self.chance:.1g}, and it tells {self.added:.1f} nats more than search and words"
        )
        if self.uses_machine:
            return f" {self.machine} counts: {by_chance}."
        return (
            f" {self.machine} is not used: {by_chance}; expected less than {CHOSEN.chance:g} and "
            f"more than {CHOSEN.nats:g}."
        )

    def word_lines(self) -> list[str]:
        """The words that count for and against a post, a line each."""
        return [
            f"words that count {side} a post: {', '.join(words) or 'none'}"
            for side, words in zip(("for", "against"), self.words, strict=True)
        ]

    def plain(self) -> dict[str, Any]:
        """The result as JSON, without the scores."""
        judgment = self.judgment
        return {
            "relevant": self.relevant,
            "other": self.irrelevant,
            "far": self.far,
            "before": judgment and judgment.search_precision,
            "after": judgment and judgment.learned_precision,
            "information": judgment and judgment.information,
            "coincidence": judgment and judgment.coincidence,
            "chance": judgment and self.chance,
            "added": judgment and self.added,
            "helps": self.helps,
            "machine": self.machine,
            "words": [list(words) for words in self.words],
            "sentence": self.sentence(),
        }


def learn(
    words: PostWords,
    scores: NDArray[np.float64],
    verdicts: Mapping[int, bool],
    groups: NDArray[np.int64],
    *,
    machine: NDArray[np.float64] | None = None,
    seed: int = 0,
) -> Feedback:
    """Learn from labels.

    Args:
        words: of N posts.
        scores: (N,) of the search.
        verdicts: place of a labeled post -> whether it is relevant.
        groups: (N,) clusters of near-duplicates, which never judge each other.
        machine: (N,) its verdicts; NaN where it has none.
        seed: of the folds.

    Raises:
        TooFewLabels: for fewer than `LEAST` different relevant texts.
    """
    generator = np.random.default_rng(seed)
    examples = examples_of(scores, verdicts, groups, generator)
    folds = folds_of(examples.relevant, examples.groups, generator)
    columns, by_words, typical = learn_words(words, examples)
    features = words.features[:, columns]
    unseen = unseen_words(features, examples, folds)
    views, chance, added = _trial(machine, scores, examples, folds, unseen)
    total, shares = added_up(views, by_words, unseen, examples, folds)
    base = np.stack(views, axis=1) @ (shares / shares[0])
    best = np.argsort(-scores, kind="stable")[:_BEST]
    vectors = words.vectors(np.union1d(best, examples.rows))
    joined = sparse.csr_array(sparse.hstack([features, vectors]))
    prediction = total.mixed_with(corrected(joined, base, examples, folds), examples)
    return Feedback(
        relevant=int(examples.relevant.sum()),
        irrelevant=examples.labels - int(examples.relevant.sum()),
        scores=(prediction.odds - prediction.intercept) / prediction.slope,
        odds=prediction.odds,
        far=examples.far,
        judgment=judgment_of(
            features, examples, folds, views[0], prediction, generator
        ),
        chance=chance,
        added=added,
        uses_machine=len(views) > 1,
        words=typical,
    )


def _trial(
    machine: NDArray[np.float64] | None,
    scores: NDArray[np.float64],
    examples: Examples,
    folds: NDArray[np.int64],
    unseen: NDArray[np.float64],
) -> tuple[list[NDArray[np.float64]], float, float]:
    """Compare a machine's verdicts (N,) with the labels; `unseen` (n,) is the words' prediction.

    Returns the views in use (N,), the search first, and `chance` and `added` of `Feedback`.
    """
    views = [standardized(scores)]
    if machine is None:
        return views, 1.0, 0.0
    chance = agreement_by_chance(
        machine[examples.rows[: examples.labels]],
        examples.relevant[: examples.labels],
        examples.groups[: examples.labels],
    )
    joined = [*views, standardized(machine)]
    without, with_it = (
        surprise_of(
            examples,
            cross_validated(examples, folds, columns_of(seen, examples.rows, unseen)),
        )
        for seen in (views, joined)
    )
    counts = chance < CHOSEN.chance and without - with_it > CHOSEN.nats
    return joined if counts else views, chance, without - with_it


def unjudged(
    scores: NDArray[np.float64],
    verdicts: Mapping[int, bool],
    machine: NDArray[np.float64],
) -> Feedback:
    """The order of search and machine while people's labels are too few to judge it."""
    joined = standardized(scores) + MACHINE * standardized(machine)
    relevant = sum(verdicts.values())
    odds = joined - np.quantile(joined, 0.95)
    return Feedback(relevant, len(verdicts) - relevant, joined, odds, uses_machine=True)


def mix_after(labels: int) -> str:
    """The parts of the next posts after so many labels: first they teach, then they find.

    Chosen on the development lists (``python -m benchmarks.learning --parts queue reading``): the
    posts at the top find most, and the uncertain ones among them keep the order as good as teaching
    does, until there are so many labels that it no longer matters.
    """
    if labels < _FINDING_FROM:
        return TEACHING
    return FINDING if labels < _READING_FROM else READING


def next_posts(
    scores: NDArray[np.float64],
    odds: NDArray[np.float64] | None,
    groups: NDArray[np.int64],
    labeled: Mapping[int, bool | None],
    count: int,
    *,
    mix: str | None = None,
    seed: int = 0,
) -> list[int]:
    """Places of the posts to label next, in a random order, without copies or labeled texts.

    Posts from the top alone teach little: almost all are relevant, and those with other wording are
    further down. So some are drawn at random from the best of the pool, and from four times as many
    posts while every label so far says relevant.

    Args:
        scores: (N,) of the present order.
        odds: (N,) logits that the posts are relevant; None before anything was learned: random
            posts then replace the uncertain ones.
        groups: (N,) clusters of near-duplicates.
        labeled: places of posts with labels -> whether they are relevant; None for skipped posts.
        count: number of posts; fewer if the pool has no more texts.
        mix: parts as in `TEACHING`; None for `mix_after` these labels.
        seed: of the random posts.
    """
    parts = [int(number) for number in (mix or mix_after(len(labeled))).split(":")]
    top, unsure, _ = (round(count * number / sum(parts)) for number in parts)
    if odds is None:
        unsure = 0
    order = np.argsort(-scores, kind="stable")
    verdicts = list(labeled.values())
    wide = _WIDE if verdicts.count(True) >= _FEW and False not in verdicts else 1
    region = order[: wide * min(_REGION, max(_LEAST, len(order) // _SHARE))]
    generator = np.random.default_rng([seed, len(labeled)])
    chosen: list[int] = []
    excluded = set(groups[list(labeled)].tolist())
    nearest = order if odds is None else np.argsort(np.abs(odds), kind="stable")
    for ranking, end in (
        (order, top),
        (nearest, top + unsure),
        (generator.permutation(region), count),
        (order, count),
    ):
        for row in ranking.tolist():
            if len(chosen) >= end:
                break
            if groups[row] not in excluded:
                excluded.add(groups[row])
                chosen.append(row)
    return generator.permutation(chosen).tolist()
