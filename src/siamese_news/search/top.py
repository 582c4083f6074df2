"""The best posts of each list out of any number of blocks."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.records import Post
from siamese_news.metrics.ranking import id_ranks

# Candidates more than needed before a list is cut down: of one list, and of all together.
_SLACK, _ALL_SLACK = 8192, 1 << 22


class TopPosts:
    """Keeps the `top` posts of every list; ties go by post id, descending.

    Only posts that some list may still need are held, with numpy arrays of scores beside them, so
    lists as long as the pool cost little more than the pool.

    Args:
        lists: how many there are.
        top: posts of each.
    """

    def __init__(self, lists: int, top: int) -> None:
        self._top = top
        self._scores = [np.empty(0, np.int64) for _ in range(lists)]
        self._rows = [np.empty(0, np.int64) for _ in range(lists)]
        self._floors: list[int | None] = [None] * lists
        self._posts: dict[int, tuple[Post, int]] = {}
        self._slack = min(_SLACK, _ALL_SLACK // max(lists, 1))
        self._limit = 2 * _SLACK
        self.seen = 0

    def add(
        self,
        posts: Sequence[Post],
        scores: NDArray[np.int64],
        best: NDArray[np.intp],
        rows: NDArray[np.int64] | None = None,
    ) -> None:
        """Take a block.

        Args:
            posts: P posts; only those that are kept are looked at.
            scores: (lists, P) whole numbers.
            best: (P,) number of the seed each post is nearest to.
            rows: (P,) their places in the pool, where they do not come in its order.
        """
        if rows is None:
            rows = np.arange(self.seen, self.seen + len(posts))
        wanted = np.zeros(len(posts), bool)
        for number, line in enumerate(scores):
            columns = self._candidates(number, line)
            wanted[columns] = True
            self._scores[number] = np.concatenate([self._scores[number], line[columns]])
            self._rows[number] = np.concatenate([self._rows[number], rows[columns]])
        for column in np.flatnonzero(wanted).tolist():
            self._posts[int(rows[column])] = (posts[column], int(best[column]))
        self.seen += len(posts)
        for number, kept in enumerate(self._scores):
            if len(kept) > 2 * self._top + self._slack:
                self._cut(number)
        if len(self._posts) > self._limit:
            self._forget()

    def least(self) -> NDArray[np.int64]:
        """(lists,) the score below which a post has no place in a list any more."""
        for number in range(len(self._scores)):
            self._cut(number)
        lowest = np.iinfo(np.int64).min
        full = [len(scores) >= self._top for scores in self._scores]
        return np.array(
            [s.min() if f else lowest for s, f in zip(self._scores, full, strict=True)], np.int64
        )

    def lists(self) -> Iterator[list[tuple[int, Post, int]]]:
        """(score, post, number of the nearest seed) of each list, best first."""
        self._forget()
        live = np.array(list(self._posts), np.int64)  # ascending
        ranks = id_ranks([post.id for post, _ in self._posts.values()])
        for scores, rows in zip(self._scores, self._rows, strict=True):
            order = np.lexsort((-ranks[np.searchsorted(live, rows)], -scores))
            yield [
                (score, *self._posts[row])
                for score, row in zip(scores[order].tolist(), rows[order].tolist(), strict=True)
            ]

    def best(self) -> list[int]:
        """The best score of each list; there must be a post."""
        return [int(scores.max()) for scores in self._scores]

    def posts(self) -> list[Post]:
        """The different posts in the lists, in the order of the pool."""
        self._forget()
        return [post for post, _ in self._posts.values()]

    def _candidates(self, number: int, line: NDArray[np.int64]) -> NDArray[np.intp]:
        """Columns that can be among the best, all ties of the last place included."""
        floor = self._floors[number]
        columns = np.arange(len(line)) if floor is None else np.flatnonzero(line >= floor)
        if not len(columns):
            return columns
        known = np.concatenate([self._scores[number], line[columns]])
        if len(known) > self._top:
            place = len(known) - self._top
            floor = self._floors[number] = int(np.partition(known, place)[place])
            columns = columns[line[columns] >= floor]
        return columns

    def _cut(self, number: int) -> None:
        scores, rows = self._scores[number], self._rows[number]
        if len(scores) <= self._top:
            return
        place = len(scores) - self._top
        last = int(np.partition(scores, place)[place])
        above = np.flatnonzero(scores > last)
        ties = np.flatnonzero(scores == last).tolist()
        ties.sort(key=lambda index: self._posts[int(rows[index])][0].id, reverse=True)
        keep = np.sort(np.concatenate([above, ties[: self._top - len(above)]]).astype(np.intp))
        self._scores[number], self._rows[number] = scores[keep], rows[keep]
        self._floors[number] = last

    def _forget(self) -> None:
        """Cut every list down and let go of the posts that none has."""
        for number in range(len(self._rows)):
            self._cut(number)
        live = np.unique(np.concatenate(self._rows)).tolist()
        self._posts = {row: self._posts[row] for row in live}
        self._limit = 2 * len(live) + 2 * _SLACK
