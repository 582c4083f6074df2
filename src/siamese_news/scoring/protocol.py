"""What every scorer can do."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.scoring.form import ScoreForm
from siamese_news.scoring.parts import ScoreParts
from siamese_news.text.token_ids import TokenIds

Content = Sequence[str] | TokenIds
"""Posts as their texts, or as what `Scorer.token_ids` made of these."""


class Scorer(Protocol):
    """Scores posts, a block at a time, for the articles it was made with.

    While `observing`, the whole pool must be given to `observe`, in any order and any number of
    parts, and `settle` be called; after that `scores` are those of this pool. `scores` can be asked
    for at any time and changes nothing: before a pool was observed they are those without one.

    Attributes:
        kind: what the scores are: ``cosine``, ``mixture``, …
        observing: whether a pass over the pool is still to be observed.
        known_texts: how many of an article's best texts `choices` looks at.
    """

    kind: str
    known_texts: int

    @property
    def observing(self) -> bool:
        """Whether a pass over the pool is still to be observed."""

    def token_ids(self, posts: Sequence[str]) -> TokenIds | None:
        """What is read of P posts, to be kept between passes; None where it is their texts."""

    def observe(self, posts: Content) -> None:
        """Gather what P posts teach."""

    def settle(self) -> str:
        """End a pass of `observe`.

        Returns:
            What was learned, in words; empty where it is nothing.
        """

    def scores(self, posts: Content) -> np.ndarray:
        """(A, P) float32 for P posts; they depend on the articles, the post and the pool alone."""

    def form(self) -> ScoreForm | None:
        """What the scores before smoothing are sums of now; None where that is not known."""

    def surface(self, posts: TokenIds) -> tuple[float, NDArray[np.float32]]:
        """What the sums of `form` are multiplied by, and what is added: (A, P), or (1, 1) for all.

        Only asked for where there is a form.
        """

    def surface_squares(self, words: sparse.csr_matrix) -> NDArray[np.float32] | None:
        """What bounds `surface`, by word: (V + U, A); the root of a post's sum is at least that.

        Args:
            words: the n-grams (U, BUCKETS) of words outside the vocabulary.

        Returns:
            None where no such bound is known, or it would be too large.
        """

    def decisions(self) -> list[str]:
        """What each article's scores ask for, ``event``, ``article`` or ``between``; or nothing."""

    def choices(self, least: float) -> dict[str, list[set[int]]]:
        """What another `About` would find, where that is known; otherwise nothing.

        Args:
            least: a score.

        Returns:
            For ``decided``, and for ``event`` and ``article`` where they would be another question,
            each article's texts that reach the score, by their keys. A text counts once however
            many posts have it, and only an article's best 2,000 are known (`known_texts`).
        """

    def matched_terms(self, posts: Sequence[str], limit: int = 8) -> list[list[str]]:
        """The words that carried each post's best score, strongest first; none if not by words."""

    def parts_of(self, post: str, article: int) -> ScoreParts:
        """What a post's score for an article, from 0, is made of."""

    def article_term_shares(self, article: int) -> dict[int, float]:
        """Each word's share of an article's own lexical vector, by id; the shares sum to 1."""

    def article_weight(self, article: int) -> float:
        """The weight of an article's own vectors; its best posts have the rest of 1."""

    def state(self) -> bytes:
        """What the scorer has observed so far; empty where it learns nothing."""

    def restore(self, state: bytes, of: Sequence[int] | None = None) -> None:
        """Go on from the `state` of a scorer of the same model.

        Args:
            state: what that scorer has observed.
            of: for each article of this scorer, the number of the same article in that one; None
                means that the articles are the same.
        """

    def merge(self, state: bytes) -> None:
        """Add what another scorer of the same articles has observed of other posts.

        Args:
            state: the other's, not settled either.
        """
