"""Which words of a query the posts of a ranking hold (samCNN, Table 4)."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

Pattern = tuple[int, ...]


def distinct_words(query: Sequence[str]) -> list[str]:
    """The words of a query, each once, in their order."""
    return list(dict.fromkeys(query))


def count_patterns(
    query: Sequence[str], posts: Sequence[Sequence[str]], relevant: Sequence[bool]
) -> dict[Pattern, tuple[int, int]]:
    """How many posts hold at least the words of a pattern, for every pattern that occurs.

    A post with the words a and b counts for (a), for (b) and for (a, b), as in the paper's Table 4.

    Args:
        query: the words of the query.
        posts: the words of each post.
        relevant: whether it is relevant.

    Returns:
        Places in `distinct_words` -> (relevant posts, not relevant posts); the patterns with the
        most words come first.

    Example:
        >>> count_patterns(["solar", "flare"], [["solar", "flare"], ["solar"]], [True, False])
        {(0, 1): (1, 0), (0,): (1, 1), (1,): (1, 0)}
    """
    counts: dict[bool, Counter[Pattern]] = {True: Counter(), False: Counter()}
    words = distinct_words(query)
    for post, is_relevant in zip(posts, relevant, strict=True):
        text = set(post)
        held = [place for place, word in enumerate(words) if word in text]
        for size in range(1, len(held) + 1):
            counts[is_relevant].update(combinations(held, size))
    patterns = sorted({*counts[True], *counts[False]}, key=lambda p: (-len(p), p))
    return {pattern: (counts[True][pattern], counts[False][pattern]) for pattern in patterns}
