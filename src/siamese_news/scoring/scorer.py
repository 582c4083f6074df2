"""What every scorer can do."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.model.calibration import Evidence
from siamese_news.text.token_ids import TokenIds
from siamese_news.text.tokens import check_texts

Content = Sequence[str] | TokenIds
"""Posts as their texts, or as what `Scorer.token_ids` returned for them."""


@dataclass(frozen=True, slots=True)
class ScoreForm:
    """Scores before smoothing, ``lexical L + cosine D + excess max(0, D - quantile)``.

    L is the sum over a post's different words of ``terms / word scale`` plus that over its
    different pairs of ``terms / pair scale`` (`TermWeights.scales`), D its cosine.

    Attributes:
        columns: (C,) sorted ids of words and pairs.
        terms: (A, C).
        pairs: (3, n) ids, left and right words of the pairs that may be among the columns.
        vectors: (A, D).
        lexical: (A,).
        cosine: (A,).
        excess: (A,).
        quantiles: (A,).
        about: the L above which a post is about an article's story.
        quantile: which of each article's cosines has to be known of the pool; None for none.
        exact: whether these sums are the scores: nothing is smoothed or learned from a pool.
    """

    columns: NDArray[np.int64]
    terms: sparse.csr_matrix
    pairs: NDArray[np.int64]
    vectors: NDArray[np.float64]
    lexical: NDArray[np.float64]
    cosine: NDArray[np.float64]
    excess: NDArray[np.float64]
    quantiles: NDArray[np.float64]
    about: float
    quantile: float | None
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A post that another post's score leans on."""

    ids: NDArray[np.int64]  # of its words
    weight: float  # the addition of a unit of its score
    score: float  # its own, before smoothing
    # (1, D) its vector, if an encoder of whole texts gave it.
    said: NDArray[np.float16] | None

    @property
    def added(self) -> float:
        """The addition of its score."""
        return self.weight * self.score


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """The parts of a post's score for an article.

    Attributes:
        terms: what each word of the post, or two in a row, adds by the lexical head, strongest
            first.
        surface: what each word of the post adds by the n-grams inside it and by a close passage,
            strongest first.
        article_terms: what each word id of the article's own text adds by the lexical head, through
            the post and through its neighbors, and by its n-grams.
        article_vector: (D,), whose product with the article's own vector is what that adds through
            the post and its neighbors; empty where the dense head does not count.
        post_vector: the factor of the cosine of the article's own vector and the post's in the
            score.
        own: the weight of the post's own score before smoothing.
        neighbors: the posts that the score leans on, the greatest addition first.
    """

    terms: dict[str, float] = field(default_factory=dict)
    surface: dict[str, float] = field(default_factory=dict)
    article_terms: dict[int, float] = field(default_factory=dict)
    article_vector: NDArray[np.float32] = field(
        default_factory=lambda: np.zeros(0, np.float32)
    )
    post_vector: float = 1.0
    own: float = 1.0
    neighbors: list[Neighbor] = field(default_factory=list)


class Scorer:
    """Scores posts, a block at a time, for the articles it was made with.

    If it is `observing`, the whole pool must be given to `observe`, in any order and any number of
    parts, and `settle` be called; after that `scores` are those of this pool. `scores` can be asked
    for at any time and changes nothing: before a pool was observed they are those without one.

    A scorer that learns nothing from a pool and knows nothing of words defines `scores` and
    `parts_of` alone.

    Attributes:
        kind: what the scores are: ``cosine``, ``mixture``, …
    """

    kind: str

    @property
    def observing(self) -> bool:
        """Whether the pool is still to be observed."""
        return False

    def token_ids(self, posts: Sequence[str]) -> TokenIds | None:
        """The word ids of P posts, to be kept between the two passes; None where texts are read."""
        return None

    def observe(self, posts: Content) -> None:
        """Gather what P posts teach."""

    def settle(self) -> str:
        """End the observing; returns what was learned, in words, or nothing."""
        return ""

    def scores(self, posts: Content) -> np.ndarray:
        """(A, P) float32 for P posts; they depend on the articles, the post and the pool alone."""
        raise NotImplementedError

    def form(self) -> ScoreForm | None:
        """What the scores before smoothing are sums of now; None where that is not known.

        It is not known where a post's words weigh differently in one pool than in another, and
        where its vector is of more than its words.
        """
        return None

    def scales(self) -> NDArray[np.float32]:
        """(A,) the factor that the sums of `form` have in each article's scores."""
        raise NotImplementedError

    def surface(self, posts: TokenIds) -> NDArray[np.float32]:
        """The scores to add to the scaled sums of `form`: (A, P), or (1, 1) for all.

        Only asked for where there is a form.
        """
        return np.zeros((1, 1), np.float32)

    def surface_squares(self, words: sparse.csr_matrix) -> NDArray[np.float32] | None:
        """Bounds of `surface` by word: (V + U,); the root of a post's sum is at least `surface`.

        `words` are the n-grams (U, BUCKETS) of words outside the vocabulary. The result is None
        where no such bound is known, or it would be too large.
        """
        return None

    def evidence(self, articles: Sequence[int]) -> list[Evidence] | None:
        """The evidence of each of some articles' lists, once a pool was observed.

        None where scores are not of words.
        """
        return None

    def agreement(self) -> NDArray[np.float64]:
        """(A,) how far vectors decide for each article, from 0 to 1, as the pool suggests.

        It is 0 for a scorer that does not weigh words against vectors.
        """
        return np.zeros(len(self.scales()))

    def decisions(self) -> list[str]:
        """The question of each article, ``event``, ``article`` or ``between``; or nothing."""
        return []

    def matched_terms(self, posts: Content, limit: int = 8) -> list[list[str]]:
        """The words that carried each post's best score, strongest first; none if not by words."""
        if not isinstance(posts, TokenIds):
            check_texts(posts, "matched_terms: posts")
        return [[] for _ in posts]

    def parts_of(self, post: str, article: int) -> ScoreParts:
        """The parts of a post's score for an article, from 0."""
        raise NotImplementedError

    def article_term_shares(self, article: int) -> dict[int, float]:
        """Each word's share of an article's own lexical vector, by id; the shares sum to 1."""
        return {}

    def article_weight(self, article: int) -> float:
        """The weight of an article's own vectors; its best posts have the rest of 1."""
        return 1.0

    def state(self) -> bytes:
        """What the scorer has observed so far; empty where it learns nothing."""
        return b""

    def restore(self, state: bytes, of: Sequence[int] | None = None) -> None:
        """Continue from the `state` of a scorer of the same model.

        `of` has for each article of this scorer the number of the same article in that one; None
        means that the articles are the same.
        """

    def merge(self, state: bytes) -> None:
        """Add the `state` of another unsettled scorer of the same articles, of other posts."""
