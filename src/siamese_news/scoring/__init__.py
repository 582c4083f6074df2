"""Scores of posts for seed articles: one interface over every kind of model.

`open_scorer` gives the `Scorer` of a model. One that learns from the pool (which words are rare in
it, its best posts, ranks) is asked to `adapt` after a pass over all posts, and the pool is scored
again where it says so.
"""

from siamese_news.utils.extras import needs

with needs("model", "siamese_news.scoring"):
    from siamese_news.scoring.cosine import CosineScorer
    from siamese_news.scoring.mixture import MixtureScorer
    from siamese_news.scoring.opening import Fusion, open_scorer
    from siamese_news.scoring.protocol import Scorer
    from siamese_news.scoring.reciprocal import ReciprocalScorer

__all__ = [
    "CosineScorer",
    "Fusion",
    "MixtureScorer",
    "ReciprocalScorer",
    "Scorer",
    "open_scorer",
]
