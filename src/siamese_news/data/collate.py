"""Groups of an article with its posts, shared out to ranks, and batches padded from them."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from siamese_news.text import PAD

# (article index, post indices).
Group = tuple[int, tuple[int, ...]]
Batch = list[Group]


def share(batch: Batch, *, world: int) -> list[Batch]:
    """Deal a global batch to `world` ranks: equally many articles and equally many posts each.

    A remainder that does not divide is left out: the last articles, then posts of articles that
    have others.
    """
    if world == 1:
        return [batch]
    divisible = batch[: len(batch) // world * world]
    ranks: list[Batch] = [[] for _ in range(world)]
    # Rows of `world` groups of similar size, dealt back and forth, keep the ranks close.
    ordered = sorted(divisible, key=lambda group: -len(group[1]))
    for row in range(0, len(ordered), world):
        line = range(world) if row // world % 2 == 0 else reversed(range(world))
        for rank, group in zip(line, ordered[row : row + world], strict=True):
            ranks[rank].append(group)
    target = min(sum(len(posts) for _, posts in groups) for groups in ranks)
    for groups in ranks:
        for _ in range(sum(len(posts) for _, posts in groups) - target):
            largest = max(range(len(groups)), key=lambda index: len(groups[index][1]))
            article, posts = groups[largest]
            groups[largest] = (article, posts[:-1])
    return ranks


def conflicts_of(posts: Sequence[Collection[int]]) -> list[set[int]]:
    """For each article, the others that share a post with it."""
    articles_of: dict[int, list[int]] = defaultdict(list)
    for article, post_keys in enumerate(posts):
        for post in post_keys:
            articles_of[post].append(article)
    conflicts: list[set[int]] = [set() for _ in posts]
    for sharing in articles_of.values():
        if len(sharing) > 1:
            for article in sharing:
                conflicts[article].update(
                    rival for rival in sharing if rival != article
                )
    return conflicts


# (article index, its token ids, the article index and the token ids of each post).
Item = tuple[int, np.ndarray, list[tuple[int, np.ndarray]]]


class GroupDataset(Dataset[Item]):
    """A group of a sampler -> its article, its posts, and posts of other articles.

    Args:
        articles: token ids of each article.
        posts: token ids of each post.
        negatives: for each article, (article index, post index) of posts of other articles, equally
            many for every article; none by default.
    """

    def __init__(
        self,
        *,
        articles: Sequence[np.ndarray],
        posts: Sequence[np.ndarray],
        negatives: Sequence[Sequence[tuple[int, int]]] = (),
    ) -> None:
        self.articles = articles
        self.posts = posts
        self.negatives = negatives or [()] * len(articles)

    def __len__(self) -> int:
        return len(self.articles)

    def __getitem__(self, group: Group) -> Item:
        article, posts = group
        labeled = [*((article, post) for post in posts), *self.negatives[article]]
        return (
            article,
            self.articles[article],
            [(label, self.posts[post]) for label, post in labeled],
        )


def collate(items: Sequence[Item]) -> dict[str, Tensor]:
    """Pad groups into a batch, in int64.

    ``article_ids (A, S)`` and ``post_ids (P, S')`` are padded with -1 on the right. The labels
    ``article_labels (A,)`` and ``post_labels (P,)`` are the article's index in the whole training
    set, so that labels of different processes agree. Posts follow their articles' order; behind
    them come those of other articles that the dataset adds.
    """
    return {
        "article_ids": pad([article for _, article, _ in items]),
        "post_ids": pad([post for _, _, posts in items for _, post in posts]),
        "article_labels": torch.tensor(
            [label for label, _, _ in items], dtype=torch.int64
        ),
        "post_labels": torch.tensor(
            [label for _, _, posts in items for label, _ in posts]
        ).long(),
    }


def pad(texts: Sequence[np.ndarray]) -> Tensor:
    """Token ids of B texts as (B, S) int64, padded with -1; S is at least 1."""
    width = max([1, *(len(text) for text in texts)])
    ids = np.full((len(texts), width), PAD, dtype=np.int64)
    for row, text in zip(ids, texts, strict=True):
        row[: len(text)] = text
    return torch.from_numpy(ids)


def length_batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Rows in order of length, in batches of at most `budget` padded tokens (at least one row)."""
    rows: list[int] = []
    for row in sorted(range(len(lengths)), key=lambda row: (lengths[row], row)):
        # Ascending, so the newest row is the longest and sets the padded width.
        if rows and (len(rows) + 1) * max(lengths[row], 1) > budget:
            yield rows
            rows = []
        rows.append(row)
    if rows:
        yield rows


def word_blocks(
    texts: Sequence[np.ndarray], budget: int
) -> Iterator[tuple[list[int], np.ndarray, list[np.ndarray]]]:
    """Texts of like length in blocks of at most `budget` padded tokens.

    Yields the rows of a block's texts, its distinct token ids (U,) with 0 among them, and for each
    text the places of its tokens in these ids.
    """
    for block in length_batches([len(text) for text in texts], budget):
        block_texts = [texts[row] for row in block]
        ids, positions = np.unique(
            np.concatenate([*block_texts, np.zeros(1, np.int64)]), return_inverse=True
        )
        yield (
            block,
            ids,
            np.split(positions, np.cumsum([len(text) for text in block_texts]))[:-1],
        )
