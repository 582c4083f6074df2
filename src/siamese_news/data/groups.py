"""Groups: an article with some of its posts. Batches of them, shared out to ranks."""

from collections import defaultdict
from collections.abc import Collection, Sequence

Group = tuple[int, tuple[int, ...]]
"""(article index, post indices)."""
Batch = list[Group]


def share(batch: Batch, *, world: int) -> list[Batch]:
    """Deal a global batch to `world` ranks: equally many articles and equally many posts each.

    What does not divide is left out: the last articles, then posts of articles that have others.
    """
    if world == 1:
        return [batch]
    kept = batch[: len(batch) // world * world]
    ranks: list[Batch] = [[] for _ in range(world)]
    # Rows of `world` groups of similar size, dealt back and forth, keep the ranks close.
    ordered = sorted(kept, key=lambda group: -len(group[1]))
    for row in range(0, len(ordered), world):
        line = range(world) if row // world % 2 == 0 else reversed(range(world))
        for rank, group in zip(line, ordered[row : row + world], strict=True):
            ranks[rank].append(group)
    target = min(sum(len(posts) for _, posts in groups) for groups in ranks)
    for groups in ranks:
        surplus = sum(len(posts) for _, posts in groups) - target
        while surplus > 0:
            largest = max(range(len(groups)), key=lambda index: len(groups[index][1]))
            article, posts = groups[largest]
            groups[largest] = (article, posts[:-1])
            surplus -= 1
    return ranks


def conflicts_of(posts: Sequence[Collection[int]]) -> list[set[int]]:
    """For each article the others that share a post with it."""
    articles_of: dict[int, list[int]] = defaultdict(list)
    for article, own in enumerate(posts):
        for post in own:
            articles_of[post].append(article)
    conflicts: list[set[int]] = [set() for _ in posts]
    for sharing in articles_of.values():
        if len(sharing) > 1:
            for article in sharing:
                conflicts[article].update(other for other in sharing if other != article)
    return conflicts
