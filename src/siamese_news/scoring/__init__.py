"""Scores of posts for seed articles: one interface over every kind of model.

`open_scorer` returns the `Scorer` of a model. If it is `observing`, the whole pool is passed to
`observe`, which gathers statistics (document frequencies, each article's best posts), and
`settle` ends the pass; `scores` are then those of this pool. The statistics can be saved, and
merged in any order.
"""

from siamese_news.scoring.opening import observe_all, open_scorer
from siamese_news.scoring.scorer import Content, Scorer
from siamese_news.utils.choices import About, Fusion

__all__ = ["About", "Content", "Fusion", "Scorer", "observe_all", "open_scorer"]
