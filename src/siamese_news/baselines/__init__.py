"""Lexical peers: BM25 and TF-IDF over token lists."""

from typing import TYPE_CHECKING, Any

from siamese_news.utils.extras import lazy_attribute

if TYPE_CHECKING:
    from siamese_news.baselines.bm25 import BM25
    from siamese_news.baselines.tfidf import TfIdf

__all__ = ["BM25", "TfIdf"]

# bm25s and scikit-learn take seconds to import.
_HOMES = {"bm25": ("BM25",), "tfidf": ("TfIdf",)}


def __getattr__(name: str) -> Any:
    """A name of `__all__`, on first use."""
    return lazy_attribute(__name__, _HOMES, name, "eval")
