"""Readers, records, splits and batches of articles and posts."""

from typing import TYPE_CHECKING, Any

from siamese_news.utils.extras import lazy_attribute

if TYPE_CHECKING:
    from siamese_news.data.articles import read_articles
    from siamese_news.data.beir import bundled, read_collection
    from siamese_news.data.readers import PostStream, open_posts
    from siamese_news.data.records import Article, Collection, Post, Qrels
    from siamese_news.data.sources import EvaluationSet

__all__ = [
    "Article",
    "Collection",
    "EvaluationSet",
    "Post",
    "PostStream",
    "Qrels",
    "bundled",
    "open_posts",
    "read_articles",
    "read_collection",
]

# The records need nothing; readers need the packages of the extra "search".
_HOMES = {
    "articles": ("read_articles",),
    "beir": ("bundled", "read_collection"),
    "readers": ("PostStream", "open_posts"),
    "records": ("Article", "Collection", "Post", "Qrels"),
    "sources": ("EvaluationSet",),
}


def __getattr__(name: str) -> Any:
    """A name of `__all__`, on first use."""
    return lazy_attribute(__name__, _HOMES, name, "search")
