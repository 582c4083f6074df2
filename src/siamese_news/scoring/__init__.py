"""Scores of posts for seed articles: one interface over every kind of model.

`open_scorer` returns the `Scorer` of a model, which never changes. If it learns from a pool, its
`observer` begins a pass: the whole pool is given to `Observer.observe`, which gathers statistics
(document frequencies, each article's best posts), and `Observer.settle` returns the scorer of this
pool. The statistics can be saved, and merged in any order.
"""

from siamese_news.scoring.scorer import Content, Observer, Scorer
from siamese_news.scoring.scorer_of_model import observe_all, open_scorer
from siamese_news.utils.choices import About, Fusion

__all__ = [
    "About",
    "Content",
    "Fusion",
    "Observer",
    "Scorer",
    "observe_all",
    "open_scorer",
]
