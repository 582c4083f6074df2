"""The table of words that a reranker trains: those of the collection, with or without a vector."""

from collections import Counter

import numpy as np
import torch
from numpy.typing import NDArray

from siamese_news.encoders.embedding import unknown_vectors
from siamese_news.text.vocabulary import Vocabulary, stable_hash
from siamese_news.training.rerank.data import RerankCollection


def words_of_collection(
    collection: RerankCollection,
    vocabulary: Vocabulary,
    matrix: NDArray[np.float32],
    *,
    least: int,
    unknown_range: float | None,
) -> tuple[Vocabulary, NDArray[np.float32]]:
    """A table of the collection's words, so that training changes words without a vector, too.

    A word without a vector starts with the vector that `TokenEmbedding` gives to an unknown word.
    The texts of all years are read, as in samCNN's released code, and no judgement.

    Args:
        collection: whose queries and posts are read.
        vocabulary: V words with a vector.
        matrix: (V, E) their vectors.
        least: how often a word must occur to stand in the table. A word that occurs once in the
            whole collection joins no two texts, so its vector needs no training.
        unknown_range: see `TokenEmbedding`.

    Returns:
        The vocabulary of W words, most frequent first, and their vectors (W, E).
    """
    counts: Counter[str] = Counter()
    for texts in (collection.queries, collection.posts):
        for text in texts.values():
            counts.update(text.split())
    words = [word for word, count in counts.most_common() if count >= least]
    rows = dict(zip(vocabulary.words, range(len(vocabulary)), strict=True))
    unknown = [word for word in words if word not in rows]
    ids = torch.tensor([len(words) + stable_hash(word) for word in unknown], dtype=torch.int64)
    table = np.empty((len(words), matrix.shape[1]), np.float32)
    has_vector = np.array([word in rows for word in words], dtype=bool)
    table[has_vector] = matrix[[rows[word] for word in words if word in rows]]
    table[~has_vector] = unknown_vectors(ids, matrix.shape[1], unknown_range).numpy()
    return Vocabulary(words, unknown=vocabulary.unknown), table
