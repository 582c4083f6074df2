"""How often the interval of `feedback` holds the real gain: python -m benchmarks.feedback_interval.

Pools of 2,400 posts are generated: the search ranks the relevant ones high, more or less clearly,
another story may be ranked high too, and words tell the story in some pools and not in others.
Labels are asked for as `feedback --next` does. The real gain is the difference in average precision
between the learned order and that of the search, on the posts without a label.
"""

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from siamese_news.utils.markdown import markdown_table
from siamese_news_desk.decide import learning_judgment
from siamese_news_desk.decide.bounds.hypergeometric import interval
from siamese_news_desk.decide.learning import Feedback, learn, next_posts
from siamese_news_desk.decide.learning_examples import CHOSEN, TooFewLabels
from siamese_news_desk.decide.learning_views import PostWords

_POSTS = 2400
SIZES = (20, 50, 100, 300)


@dataclass(frozen=True, slots=True)
class State:
    """What `feedback` says after so many labels, and the real gain."""

    labels: int
    feedback: Feedback
    gain: float

    @property
    def held(self) -> bool:
        """Whether the interval holds the real gain."""
        return self.feedback.low <= self.gain <= self.feedback.high


def generated(seed: int) -> tuple[PostWords, NDArray[np.float64], NDArray[np.bool_]]:
    """Words, scores of the search (N,) and truth (N,) of a pool."""
    generator = np.random.default_rng(seed)
    count = int(generator.integers(60, 400))
    strength = generator.uniform(1.2, 3.2)
    noise = generator.uniform(0.8, 1.4)
    telling = generator.uniform(0, 0.95)
    mistaken = generator.uniform(0, 0.15)
    relevant = np.arange(_POSTS) < count
    scores = strength * relevant + generator.normal(0, noise, _POSTS)
    other_story = ~relevant & (generator.random(_POSTS) < 0.05)
    scores[other_story] += generator.uniform(0, 2.5)
    texts = []
    for place, words in enumerate(generator.integers(0, 400, (_POSTS, 8))):
        has_words = generator.random() < (telling if relevant[place] else mistaken)
        story = "concert stage" if other_story[place] else "today"
        filling = " ".join(f"w{word}" for word in words)
        texts.append(f"{'levee sandbags' if has_words else story} {filling}")
    return PostWords.of(texts), scores, relevant


def states(seed: int) -> Iterator[State]:
    """The states of a pool, as long as ten relevant posts have no label."""
    words, scores, relevant = generated(seed)
    groups = np.arange(_POSTS)
    labeled = dict[int, bool]()
    order, odds = scores, None
    for size in SIZES:
        places = next_posts(
            order, odds, groups, labeled, size - len(labeled), seed=seed
        )
        labeled |= {place: bool(relevant[place]) for place in places}
        try:
            learned = learn(words, scores, labeled, groups, seed=seed)
        except TooFewLabels:
            continue
        order, odds = (
            (learned.scores, learned.odds) if learned.helps else (scores, None)
        )
        rest = np.setdiff1d(groups, list(labeled))
        if relevant[rest].sum() < 10:
            return
        before, after = (
            float(average_precision_score(relevant[rest], one[rest]))
            for one in (scores, learned.scores)
        )
        yield State(len(labeled), learned, after - before)


def coverage(seeds: Iterable[int]) -> list[State]:
    """All states of the pools of these seeds."""
    return [state for seed in seeds for state in states(seed)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pools", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the first pool")
    parser.add_argument("--margin", type=float, default=CHOSEN.margin)
    parser.add_argument("--scarcity", type=float, default=CHOSEN.scarcity)
    options = parser.parse_args()
    learning_judgment.CHOSEN = replace(
        CHOSEN, margin=options.margin, scarcity=options.scarcity
    )
    all_states = coverage(range(options.seed, options.seed + options.pools))
    rows = []
    for size in (*SIZES, None):
        part = [state for state in all_states if size in (None, state.labels)]
        held = sum(state.held for state in part)
        low, high = interval(held, len(part))
        width = np.mean([state.feedback.high - state.feedback.low for state in part])
        rows.append(
            {
                "labels": size or "all",
                "states": len(part),
                "held": f"{100 * held / len(part):.1f}%",
                "99% interval": f"{100 * low:.1f} to {100 * high:.1f}%",
                "mean width": f"{width:.3f}",
            }
        )
    print(markdown_table(rows))


if __name__ == "__main__":
    main()
