"""Score blocks: the whole article x post matrix, a few columns at a time."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

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


def cosine_blocks(articles: np.ndarray, posts: np.ndarray) -> Blocks:
    """Blocks of cosine similarities of unit vectors.

    Args:
        articles: (A, D) float32.
        posts: (P, D) float32.

    Returns:
        See `blocks_of`.

    Example:
        >>> import numpy as np
        >>> from siamese_news.metrics import cosine_blocks
        >>> next(iter(cosine_blocks(np.eye(2), np.eye(2)[:1])()))
        (0, array([[1.],
               [0.]]))
    """
    return blocks_of(lambda start, stop: articles @ posts[start:stop].T, len(posts))
