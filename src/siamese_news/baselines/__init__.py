"""Lexical peers: BM25, TF-IDF, query likelihood and RM3 over token lists."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from siamese_news.baselines.bm25 import BM25
    from siamese_news.baselines.likelihood import RM3, QueryLikelihood
    from siamese_news.baselines.tfidf import TfIdf

__all__ = ["BM25", "RM3", "QueryLikelihood", "TfIdf"]

# bm25s and scikit-learn take seconds to import.
_HOMES = {
    "bm25": ("BM25",),
    "likelihood": ("RM3", "QueryLikelihood"),
    "tfidf": ("TfIdf",),
}


def __getattr__(name: str) -> Any:
    """A name of `__all__`, on first use."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
