"""What an article's best posts and the pool decide: the question, the feedback, the excess.

The best posts are given by their scores, in millionths and best first, and by their keys.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from siamese_news.lexical_head.options import (
    Agreement,
    DenseExcess,
    FocusedPool,
    RocchioFeedback,
    Widening,
)
from siamese_news.utils.choices import About

# Posts that say how much an article's words find.
STRONGEST = 3
# The posts whose mean score tells which posts are near an article.
BEST = 10
# How many of an article's best posts those for feedback are compared with.
AROUND = 100
# In a pool of fewer posts, those about one event resemble each other less.
DENSE = 2000
# At least so many of an article's best posts are kept where those near it are counted.
COUNTED = 1000
# From this share of words that the vocabulary lacks, an article is in a language whose function
# words the background takes for rare.
FOREIGN = 0.3
# A word in up to this share of the posts that are not near an article is rare.
RARE = 0.03
# A word from this share on is a function word.
COMMON = 0.4
# From this trust on, the best posts of such an article are about an event.
EVENT = 0.3
# The meaning of each degree of `article_degrees`.
DECISIONS = {0.0: "event", 0.5: "between", 1.0: "article"}
_UNIT = 1_000_000
# Added to the standard deviation of cosines, so that equal ones say nothing.
_STEADY = 0.01


def article_degrees(
    rule: FocusedPool,
    question: About,
    about: NDArray[np.int64],
    posts: int,
    positives: int,
) -> NDArray[np.float64]:
    """How much each article's question is about itself: (A,) 0 (its event), .5 or 1 (the article).

    Of the pool's posts, `about` (A,) are about an article's story. The `question` holds for the
    first articles, the `positives`; ``event`` leaves the others to the pool.
    """
    if posts < rule.posts:
        return np.zeros(len(about))
    if question == "article":
        return np.ones(len(about))
    position = (about / posts - rule.share) / (rule.full - rule.share)
    degrees: NDArray[np.float64] = np.rint(2 * np.clip(position, 0.0, 1.0)) / 2
    if question == "event":
        degrees[:positives] = 0.0
    return degrees


def rarity(counts: NDArray[np.floating], posts: float) -> NDArray[np.float64]:
    """How much words count by how many of so many posts have them, from 0 to 1.

    A word in at most `RARE` of the posts counts fully, one in `COMMON` of them or more does not; in
    between it is linear in the logarithm of the share.
    """
    shares = np.clip(counts / max(posts, 1.0), RARE, COMMON)
    rarity_of: NDArray[np.float64] = np.log(COMMON / shares) / math.log(COMMON / RARE)
    return rarity_of


def excess_weight(options: DenseExcess, scores: NDArray[np.int32]) -> float:
    """The weight of an article's excess: the less its words find, the more vectors count."""
    mean_of_best = float(np.sum(scores[:STRONGEST])) / STRONGEST / _UNIT
    weak = 1 - _ramp(mean_of_best, options.weak, options.strong)
    minimum = min(options.strong_weight, options.weight)
    return minimum + weak * (options.weight - minimum)


def agreement(
    options: Agreement, lexical: NDArray[np.float32], cosines: NDArray[np.float32]
) -> float:
    """How far the vectors decide for an article, from 0 to 1 (`Agreement`).

    By the lexical scores and the cosines of its best posts, best first.
    """
    cosines_of_best = cosines[: options.first]
    cosines_of_next = cosines[options.first :]
    if not len(cosines_of_next):
        return 0.0
    apart = float(
        cosines_of_best.mean(dtype=np.float64) - cosines_of_next.mean(dtype=np.float64)
    )
    z = apart / (float(cosines_of_next.std(dtype=np.float64)) + _STEADY)
    best = np.sort(lexical)[::-1].astype(np.float64)
    mean_of_first = float(best[: options.first].mean())
    mean_of_strongest = float(best[:STRONGEST].mean())
    gate = _ramp(z, options.low, options.high)
    gate *= _ramp(mean_of_first, options.few, options.many)
    gate *= 1 - _ramp(mean_of_strongest, options.weak, options.strong)
    return round(gate, 4)  # sums differ in their last digits


def widening(
    options: Widening,
    lexical: NDArray[np.float32],
    alike: float,
    shared: Callable[[], float],
) -> float:
    """How far an article's scores lean on less similar posts too, from 0 to 1 (`Widening`).

    By the lexical scores of its best posts, by how far these resemble each other, and by how much
    of the article's words they have in common, which is asked for where the others open the gate.
    """
    best = np.sort(lexical)[::-1]
    best_lexical = best[: options.first].astype(np.float64)
    # Where there are fewer posts, the missing ones share nothing.
    mean_of_first = float(best_lexical.sum()) / options.first
    gate = _ramp(mean_of_first, options.few, options.many)
    gate *= 1 - _ramp(alike, options.unlike, options.alike)
    if gate:
        gate *= 1 - _ramp(shared(), options.scattered, options.shared)
    return round(gate, 4)  # sums differ in their last digits


def _ramp(value: float, start: float, end: float) -> float:
    """0 up to `start`, 1 from `end` on, linear between them."""
    return min(max((value - start) / (end - start), 0.0), 1.0)


def trust(options: RocchioFeedback, likeness: float, posts: int) -> float:
    """How far an article may follow its best posts, from 0 to 1 (`RocchioFeedback.alike`).

    It depends on how alike its feedback posts are, and on the number of the pool's posts.
    """
    large = min(posts / DENSE, 1.0)
    ramp = likeness / (options.alike * large) - 1 if large else 0.0
    return min(max(ramp, 1 - large), 1.0)


def feedback_posts(
    options: RocchioFeedback,
    keys: NDArray[np.uint64],
    scores: NDArray[np.int32],
    focused: bool,
) -> list[int]:
    """The keys of the posts for pseudo-relevance feedback; none where they are too few.

    `focused` tells whether the article's question is about itself.
    """
    if not options.weight:
        return []
    maximum = options.focused_posts if focused else options.posts
    good = scores[:maximum] >= round(options.score * _UNIT)
    best: list[int] = keys[:maximum][good].tolist()
    return best if len(best) >= options.least else []


def foreign_posts(
    options: RocchioFeedback,
    keys: NDArray[np.uint64],
    scores: NDArray[np.int32],
    languages: Callable[[list[int]], list[str | None]],
) -> list[int]:
    """The keys of the posts in other languages for pseudo-relevance feedback.

    What they share with the article are names, numbers and hashtags, so their scores are low; the
    words around these lead to the posts of their language that share nothing with the article.
    `languages` are those of posts by their keys; None where one may be the article's.
    """
    if not options.weight or not options.foreign_posts:
        return []
    posts_by_language: dict[str, list[int]] = {}
    floor = round(options.foreign_score * _UNIT)
    good = int(np.searchsorted(-scores, -floor, side="right"))
    good_keys = keys[: min(good, COUNTED)].tolist()
    for key, name in zip(good_keys, languages(good_keys), strict=True):
        if name:
            posts_by_language.setdefault(name, []).append(key)
    best = []
    for group in posts_by_language.values():
        if len(group) >= options.foreign_least:
            best += group[: options.foreign_posts]
    return best


def near(scores: NDArray[np.int32]) -> int:
    """How many of an article's best posts score more than half of what the first ten do."""
    sum_of_best = scores[:BEST].sum(dtype=np.int64)
    above_half = 2 * BEST * scores.astype(np.int64) > sum_of_best
    return int(above_half.sum())


def what_was_learned(
    degrees: NDArray[np.float64], *, feedback: bool, smoothed: bool
) -> str:
    """The changes that a pass over the pool has made, in words.

    The degrees are those that `article_degrees` decided by seed, none where they were asked for.
    """
    sentences = []
    focused = int((degrees > 0).sum())
    if focused:
        several = f"{focused} of {len(degrees)} seeds"
        whose = several if len(degrees) > 1 else "the seed"
        sentences.append(
            f"the pool is mostly about the story of {whose}, so rare words count"
        )
    if feedback:
        sentences.append("the best posts expand the articles")
    if smoothed:
        sentences.append("scores are smoothed over similar posts")
    return "; ".join(sentences)
