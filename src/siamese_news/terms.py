"""The lexical head: a text as weights on the words that occur in it, compared by their product.

An article's weight on a word is ``idf ** power * lead * (1 + log tf)``, where ``lead = 1 / (1 +
p / half)`` for the place p of its first occurrence among the article's content words: news puts
first what matters most. The vector has length 1. A post's weight is ``idf ** power``; its vector is
divided by ``(1 - pivot) * typical + pivot * length``, the pivoted length normalisation of Singhal
et al. (SIGIR 1996), with the typical length over background posts.

The IDF comes from background text. In a pool that is mostly about the story itself (`Narrow`) it
is mixed with the pool's, geometrically, and the first words of the article, its headline, count as
a second vector: there what tells articles apart is rare in the pool and stands in the headline.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor, nn

from siamese_news.errors import InputError

Ids = NDArray[np.int64]
_BUCKETS = 1 << 20


@dataclass(frozen=True, slots=True)
class Narrow:
    """When a pool counts as mostly about the story, and what is done then.

    Attributes:
        score: a post with a best score over the seeds above this counts as about the story.
        share: the rule applies from this share of the pool on.
        posts: … and from so many posts on.
        pool: the exponent of the pool's IDF; that of the background's is 1 - pool.
        headline: how many content words the headline vector has; 0 for none.
    """

    score: float = 0.15
    share: float = 0.25
    posts: int = 100
    pool: float = 0.75
    headline: int = 12


@dataclass(frozen=True, slots=True)
class TermOptions:
    """Every number of the lexical head; the module's docstring says what they do.

    Attributes:
        power: exponent of the IDF.
        half: place in the article at which a word counts half.
        pivot: slope of the length normalisation of posts, 0 to 1.
        article_tokens: content words read of an article.
        dense: weight of the dense cosine in the score; the lexical head has 1 - dense.
        narrow: the rule for pools that are mostly about the story.
    """

    power: float = 1.5
    half: float = 100.0
    pivot: float = 0.6
    article_tokens: int = 2000
    dense: float = 0.15
    narrow: Narrow = field(default_factory=Narrow)

    def __post_init__(self) -> None:
        if self.power < 0 or self.half <= 0 or self.article_tokens < 1:
            raise InputError(
                f"terms: power={self.power}, half={self.half}, article_tokens="
                f"{self.article_tokens}; expected power >= 0, half > 0, article_tokens >= 1"
            )
        if not (0 <= self.pivot <= 1 and 0 <= self.dense <= 1 and 0 <= self.narrow.pool <= 1):
            raise InputError(
                f"terms: pivot={self.pivot}, dense={self.dense}, narrow.pool={self.narrow.pool}; "
                "expected numbers from 0 to 1"
            )

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "TermOptions":
        """From plain values, such as those of a model folder."""
        options = dict(values)
        return cls(narrow=Narrow(**options.pop("narrow")), **options)

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


class TermHead(nn.Module):
    """Background document frequencies and the options of the lexical head.

    Args:
        frequencies: (V,), in how many background texts each word occurs.
        texts: how many background texts there were.
        typical: root mean square length of a background post's vector; None reckons it later
            (`set_typical`).
        options: the numbers.
    """

    frequencies: Tensor

    def __init__(
        self, frequencies: Tensor, *, texts: int, typical: float | None, options: TermOptions
    ) -> None:
        super().__init__()
        self.register_buffer("frequencies", frequencies.to(torch.int32))
        self.texts = texts
        self.typical = typical
        self.options = options

    def config(self) -> dict[str, Any]:
        """Plain values to rebuild it with the frequencies."""
        return {"texts": self.texts, "typical": self.typical, **self.options.plain()}

    def background(self) -> "TermWeights":
        """Weights by the background IDF."""
        counts = self.frequencies.cpu().numpy()
        return TermWeights(
            _idf(counts, self.texts) ** self.options.power,
            np.full(1, _idf(np.zeros(1), self.texts)[0] ** self.options.power),
            self.typical or 1.0,
            self.options,
            headline=0,
        )

    def narrowed(self, pool: "PoolCounts") -> "TermWeights":
        """Weights for a pool that is mostly about the story."""
        narrow, power = self.options.narrow, self.options.power

        def mixed(background: NDArray[Any], counts: NDArray[Any]) -> NDArray[Any]:
            mine = _idf(background, self.texts) ** (1 - narrow.pool)
            return (mine * _idf(counts, pool.posts) ** narrow.pool) ** power

        known = mixed(self.frequencies.cpu().numpy(), pool.known)
        unknown = mixed(np.zeros(1), pool.unknown)
        squares = pool.known @ known**2 + pool.unknown @ unknown**2
        typical = float(np.sqrt(squares / max(pool.posts, 1))) or 1.0
        return TermWeights(known, unknown, typical, self.options, headline=narrow.headline)

    def set_typical(self, posts: Sequence[Ids]) -> None:
        """Reckon the typical length from background posts."""
        pool = PoolCounts(len(self.frequencies))
        pool.add(*distinct(posts))
        weights = self.background()
        squares = pool.known @ weights.known**2 + pool.unknown.sum() * weights.unknown[0] ** 2
        self.typical = float(np.sqrt(squares / max(pool.posts, 1))) or 1.0


class PoolCounts:
    """Document frequencies of a pool in bounded memory.

    Words outside the vocabulary share 2^20 counters by their hash.

    Args:
        words: V.
    """

    def __init__(self, words: int) -> None:
        self.posts = 0
        self.known = np.zeros(words, np.int64)
        self.unknown = np.zeros(_BUCKETS, np.int64)

    def add(self, rows: Ids, ids: Ids, posts: int) -> None:
        """Add `posts` texts with the distinct (row, id) pairs."""
        words = len(self.known)
        self.known += np.bincount(ids[ids < words], minlength=words)
        hashed = (ids[ids >= words] - words) % _BUCKETS
        self.unknown += np.bincount(hashed, minlength=_BUCKETS)
        self.posts += posts


@dataclass(frozen=True, slots=True)
class TermWeights:
    """Weights of words and what turns texts into vectors with them.

    Attributes:
        known: (V,) weights.
        unknown: weights of words outside the vocabulary, by hash modulo the length.
        typical: the typical length of a post's vector.
        options: the numbers.
        headline: content words of the headline vector; 0 for none.
    """

    known: NDArray[Any]
    unknown: NDArray[Any]
    typical: float
    options: TermOptions
    headline: int

    def of(self, ids: Ids) -> NDArray[Any]:
        """The weights of ids."""
        words = len(self.known)
        inside = ids < words
        found = self.known[np.where(inside, ids, 0)]
        outside = (ids[~inside] - words) % len(self.unknown)
        found[~inside] = self.unknown[outside]
        return found

    def articles(self, texts: Sequence[Ids], columns: Ids) -> sparse.csr_matrix:
        """Vectors of A articles over the sorted ids `columns`, which hold all of theirs."""
        vectors = self._article_rows(texts, columns, lead=True)
        if self.headline:
            first = [ids[: self.headline] for ids in texts]
            vectors = (vectors + self._article_rows(first, columns, lead=False)) / 2
        return sparse.csr_matrix(vectors)

    def _article_rows(self, texts: Sequence[Ids], columns: Ids, *, lead: bool) -> sparse.csr_matrix:
        rows, places, values = [], [], []
        for row, text in enumerate(texts):
            ids, first, counts = np.unique(
                text[: self.options.article_tokens], return_index=True, return_counts=True
            )
            weights = self.of(ids) * (1 + np.log(counts))
            if lead:
                weights = weights / (1 + first / self.options.half)
            length = np.linalg.norm(weights)
            rows.append(np.full(len(ids), row))
            places.append(np.searchsorted(columns, ids))
            values.append(weights / (length if length > 0 else 1.0))
        return _csr(values, rows, places, (len(texts), len(columns)))

    def posts(self, rows: Ids, ids: Ids, posts: int, columns: Ids) -> sparse.csr_matrix:
        """Vectors of posts over `columns`, from their distinct (row, id) pairs."""
        weights = self.of(ids)
        lengths = np.sqrt(np.bincount(rows, weights=weights**2, minlength=posts))
        pivot = self.options.pivot
        scale = (1 - pivot) * self.typical + pivot * lengths
        scale[scale == 0] = 1.0
        places = np.searchsorted(columns, ids)
        hit = places < len(columns)
        hit[hit] = columns[places[hit]] == ids[hit]
        values = weights[hit] / scale[rows[hit]]
        return _csr([values], [rows[hit]], [places[hit]], (posts, len(columns)))


def distinct(texts: Sequence[Ids]) -> tuple[Ids, Ids, int]:
    """(row, id) pairs of the texts without repetitions, and how many texts there are."""
    lengths = [len(ids) for ids in texts]
    rows = np.repeat(np.arange(len(texts)), lengths)
    ids = np.concatenate([*texts, np.zeros(0, np.int64)])
    found, place = np.unique(ids, return_inverse=True)
    pairs = np.unique(rows * max(len(found), 1) + place)
    return pairs // max(len(found), 1), found[pairs % max(len(found), 1)], len(texts)


def _idf(frequencies: NDArray[Any], texts: int) -> NDArray[Any]:
    """ln((1 + N) / (1 + df)) + 1, scikit-learn's smoothed IDF."""
    return np.log((1.0 + texts) / (1.0 + frequencies)) + 1.0


def _csr(
    values: list[Any], rows: list[Any], columns: list[Any], shape: tuple[int, int]
) -> sparse.csr_matrix:
    def joined(parts: list[Any]) -> NDArray[Any]:
        return np.concatenate(parts) if parts else np.zeros(0)

    places = (joined(rows).astype(np.int64), joined(columns).astype(np.int64))
    return sparse.csr_matrix((joined(values).astype(np.float32), places), shape=shape)
