"""Tokenization, vocabularies and word vectors, without torch."""

from siamese_news.text.tokens import Tokenizer
from siamese_news.text.vectors import (
    WordVectors,
    load_vectors,
    remove_top_components,
    unit_length,
)
from siamese_news.text.vocabulary import PAD, Vocabulary, stable_hash

__all__ = [
    "PAD",
    "Tokenizer",
    "Vocabulary",
    "WordVectors",
    "load_vectors",
    "remove_top_components",
    "stable_hash",
    "unit_length",
]
