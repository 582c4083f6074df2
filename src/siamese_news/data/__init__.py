"""Readers, records, splits and batches of articles and posts."""

from siamese_news.data.articles import read_articles
from siamese_news.data.ast_format import read_ast
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
    "read_ast",
    "read_collection",
]
