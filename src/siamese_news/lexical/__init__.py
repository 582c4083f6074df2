"""Lexical peers: BM25, TF-IDF, query likelihood and RM3 over token lists."""

from siamese_news.lexical.bm25 import BM25
from siamese_news.lexical.likelihood import RM3, QueryLikelihood
from siamese_news.lexical.tfidf import TfIdf
from siamese_news.lexical.words import content_words, words_of

__all__ = ["BM25", "RM3", "QueryLikelihood", "TfIdf", "content_words", "words_of"]
