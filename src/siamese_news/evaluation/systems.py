"""What can be ranked with and compared: a trained model, and the peers by name."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from siamese_news.baselines import BM25, TfIdf
from siamese_news.data.records import Article, Post
from siamese_news.errors import InputError
from siamese_news.evaluation.results import model_blocks
from siamese_news.metrics.blocks import Blocks, blocks_of
from siamese_news.model.siamese import Model
from siamese_news.text.content_words import words_of

Tokenize = Callable[[str], list[str]]


class System(Protocol):
    """Scores every article against every post.

    Attributes:
        name: what the table calls it.
        kind: the kind of its scores (cosine, BM25, ...).
    """

    name: str
    kind: str

    def blocks(self, articles: Sequence[Article], posts: Sequence[Post]) -> Blocks:
        """Score blocks over the articles and posts in the order given."""


class ModelSystem:
    """A trained model."""

    def __init__(self, name: str, model: Model) -> None:
        self.name = name
        self.kind = model.kind
        self.model = model

    def blocks(self, articles: Sequence[Article], posts: Sequence[Post]) -> Blocks:
        """Encode both sides once."""
        return model_blocks(self.model, articles, posts)


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


PEERS = ("bm25", "tfidf_pool", "tfidf_background", "tfidf_background_lead")


def peer(name: str, *, tokenize: Tokenize, background: Sequence[str]) -> LexicalSystem:
    """A lexical peer by name.

    ``bm25`` (k1 .9, b .4, IDF of the pool), ``tfidf_pool`` (IDF of the pool), ``tfidf_background``
    (IDF of the background texts), ``tfidf_background_lead`` (the same, and the article's first
    100 words once more).

    Args:
        name: one of `PEERS`.
        tokenize: text to tokens.
        background: texts, such as the training news.

    Raises:
        InputError: another name, or no background text for a peer that needs it.
    """
    if name not in PEERS:
        raise InputError(f"peer {name!r} is unknown; expected one of {', '.join(PEERS)}")
    if name == "bm25":
        return LexicalSystem(name, BM25(), tokenize)
    if name == "tfidf_pool":
        return LexicalSystem(name, TfIdf(idf="pool"), tokenize)
    if not background:
        raise InputError(
            f"peer {name!r} needs background texts; name data that has training texts, such as "
            "data@background=mixed"
        )
    ranker = TfIdf(idf="background", lead=1.0 if name.endswith("lead") else 0.0)
    return LexicalSystem(name, ranker, tokenize, background)
