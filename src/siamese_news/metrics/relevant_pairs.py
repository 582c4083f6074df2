"""The relevant pairs of an article x post matrix, and its scores in blocks of columns."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from siamese_news.errors import InputError
from siamese_news.metrics.ranking import id_ranks

Blocks = Callable[[], Iterable[tuple[int, np.ndarray]]]
"""A matrix of scores that can be read again and again, a few columns at a time: (first column,
(A, n) scores) for each block of posts."""

COLUMNS = 16_384


def blocks_of(scores: Callable[[int, int], np.ndarray], n_posts: int) -> Blocks:
    """Blocks from a function that scores the posts of the columns [start, stop).

    Args:
        scores: (start, stop) -> (A, stop - start) float32.
        n_posts: P, how many posts there are.

    Returns:
        A restartable source of (first column, (A, n) scores).

    Example:
        >>> import numpy as np
        >>> from siamese_news.metrics import blocks_of
        >>> scores = np.array([[0.9, 0.1, 0.5]], dtype=np.float32)
        >>> [(first, block.shape) for first, block in blocks_of(lambda a, b: scores[:, a:b], 3)()]
        [(0, (1, 3))]
    """

    def blocks() -> Iterator[tuple[int, np.ndarray]]:
        for start in range(0, n_posts, COLUMNS):
            yield start, scores(start, min(start + COLUMNS, n_posts))

    return blocks


class Relevance:
    """Relevant pairs (grade >= 1) of unique articles x unique posts.

    `qrels`: article id -> post id -> grade. Their other articles are left out.

    Attributes:
        article_ids: (A,) ids.
        post_ids: (P,) ids.
        article_ranks: (A,) ranks of the article ids in ascending order.
        post_ranks: (P,) ranks of the post ids in ascending order.
        articles: (R,) row of each relevant pair in the matrix, pairs ordered by column.
        columns: (R,) column of each, ascending.
        grades: (R,) grade of each.
        all_grades: for each of the A articles the grades of all its relevant posts, including
            those outside the pool: trec_eval counts them in its denominators.

    Raises:
        InputError: an id is used twice, or no pair of the matrix is relevant.
    """

    def __init__(
        self,
        article_ids: Sequence[str],
        post_ids: Sequence[str],
        qrels: Mapping[str, Mapping[str, int]],
    ) -> None:
        self.article_ids = article_ids
        self.post_ids = post_ids
        self.article_ranks = id_ranks(article_ids)
        self.post_ranks = id_ranks(post_ids)
        column_of = {post: column for column, post in enumerate(post_ids)}
        pairs: list[tuple[int, int, int]] = []
        self.all_grades: list[np.ndarray] = []
        for row, article in enumerate(article_ids):
            judged = qrels.get(article, {})
            grades = {post: grade for post, grade in judged.items() if grade >= 1}
            self.all_grades.append(np.array(list(grades.values()), dtype=np.int64))
            pairs += [
                (column_of[post], row, grade)
                for post, grade in grades.items()
                if post in column_of
            ]
        if not pairs:
            raise InputError(
                f"the qrels ({len(qrels)} articles) call no pair of these {len(article_ids)} "
                f"articles and {len(post_ids)} posts relevant (grade >= 1); expected at least "
                "one; check that articles, posts and qrels belong together"
            )
        table = np.array(sorted(pairs), dtype=np.int64)
        self.columns, self.articles, self.grades = table.T.copy()

    @property
    def shape(self) -> tuple[int, int]:
        """(A, P)."""
        return len(self.article_ids), len(self.post_ids)

    @property
    def missing(self) -> int:
        """How many relevant posts of these articles are not in the pool."""
        return sum(map(len, self.all_grades)) - len(self.articles)

    def contains(self, articles: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Whether each (row, column) is a relevant pair."""
        width = self.shape[1]
        relevant = self.articles * width + self.columns
        return np.isin(articles * width + columns, relevant)
