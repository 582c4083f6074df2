"""Maps from scores to weights: softmax, sparsemax, 1.5-entmax and the adaptive alpha-entmax."""

from siamese_news.sparsity.maps import (
    SPARSITIES,
    AdaptiveEntmax,
    Entmax15,
    Softmax,
    Sparsemax,
    Sparsity,
)

__all__ = [
    "SPARSITIES",
    "AdaptiveEntmax",
    "Entmax15",
    "Softmax",
    "Sparsemax",
    "Sparsity",
]
