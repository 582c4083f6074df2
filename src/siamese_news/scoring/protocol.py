"""What every scorer can do."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np


class Scorer(Protocol):
    """Scores posts, a block at a time, for the articles it was made with.

    Attributes:
        kind: what the scores are: ``cosine``, ``mixture``, …
    """

    kind: str

    def scores(self, posts: Sequence[str]) -> np.ndarray:
        """(A, P) float32 for P posts; a post's scores do not depend on the block it comes in."""

    def adapt(self) -> str:
        """Choose by what the posts scored so far are like, once that was the whole pool.

        Returns:
            Why scores are others from now on, so that the pool must be scored once more; empty
            where they are not. It is called after every pass until it says nothing.
        """

    def matched_terms(self, posts: Sequence[str], limit: int = 8) -> list[list[str]]:
        """The words that carried each post's best score, strongest first; none if not by words."""

    def term_contributions(self, post: str, article: int, *, own: bool = False) -> dict[str, float]:
        """What each word adds to the post's score for an article, exactly; strongest first.

        Args:
            post: its text.
            article: which, from 0.
            own: only what the article's own words add, and not those of its best posts.
        """

    def article_term_shares(self, article: int) -> dict[int, float]:
        """Each word's share of an article's own lexical vector, by id; together 1."""

    def article_weight(self, article: int) -> float:
        """The weight of an article's own vectors; what is left to 1 is that of its best posts."""

    def state(self) -> bytes:
        """What the scorer has learned from the posts so far; empty where it learns nothing."""

    def restore(self, state: bytes, of: Sequence[int] | None = None) -> None:
        """Go on from the `state` of a scorer of the same model.

        Args:
            state: what that scorer has learned.
            of: which of its articles each of these stands for; None: they are the same.
        """
