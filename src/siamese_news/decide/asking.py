"""The posts to label next to learn most: from the top, uncertain ones, and random ones."""

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError

MIX = "1:1:2"
"""Parts of the posts: from the top of the order, uncertain ones, and random ones."""

_REGION, _SHARE, _LEAST = 2000, 6, 200  # random posts: the best 2,000, or a sixth of the pool
_WIDE, _FEW = 4, 10  # times the region, with this many labels or more that all say relevant


def next_posts(
    scores: NDArray[np.float64],
    odds: NDArray[np.float64] | None,
    groups: NDArray[np.int64],
    labeled: Mapping[int, bool | None],
    count: int,
    *,
    mix: str = MIX,
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
        mix: see `MIX`; three whole numbers.
        seed: of the random posts.

    Raises:
        InputError: for an invalid mix.
    """
    if not re.fullmatch(r"\d+:\d+:\d+", mix) or not sum(parts := list(map(int, mix.split(":")))):
        raise InputError(f"--mix is {mix!r}; expected three whole numbers, such as {MIX}")
    top, unsure, _ = (round(count * part / sum(parts)) for part in parts)
    if odds is None:
        unsure = 0
    order = np.argsort(-scores, kind="stable")
    said = list(labeled.values())
    wide = _WIDE if said.count(True) >= _FEW and False not in said else 1
    region = order[: wide * min(_REGION, max(_LEAST, len(order) // _SHARE))]
    generator = np.random.default_rng([seed, len(labeled)])
    found: list[int] = []
    taken = set(groups[list(labeled)].tolist())
    nearest = order if odds is None else np.argsort(np.abs(odds), kind="stable")
    for places, end in (
        (order, top),
        (nearest, top + unsure),
        (generator.permutation(region), count),
        (order, count),
    ):
        for place in places.tolist():
            if len(found) >= end:
                break
            if groups[place] not in taken:
                taken.add(groups[place])
                found.append(place)
    return generator.permutation(found).tolist()
