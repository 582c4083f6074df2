"""Ranking metrics over unique articles x unique posts, TREC runs, intervals and tests."""

from typing import TYPE_CHECKING, Any

from siamese_news.utils.extras import lazy_attribute

if TYPE_CHECKING:
    from siamese_news.metrics.counts import RankingCounts
    from siamese_news.metrics.evaluation import Evaluation, evaluate_blocks
    from siamese_news.metrics.ranking import ranked, ranking_figures, rounded
    from siamese_news.metrics.relevance import Blocks, Relevance, blocks_of, cosine_blocks
    from siamese_news.metrics.runs import LengthGroup, by_length, evaluate_run, means
    from siamese_news.metrics.statistics import bootstrap_interval, randomization_test
    from siamese_news.metrics.top import ALL_ROWS, PAPER_ROWS, RankingTop

__all__ = [
    "ALL_ROWS",
    "PAPER_ROWS",
    "Blocks",
    "Evaluation",
    "LengthGroup",
    "RankingCounts",
    "RankingTop",
    "Relevance",
    "blocks_of",
    "bootstrap_interval",
    "by_length",
    "cosine_blocks",
    "evaluate_blocks",
    "evaluate_run",
    "means",
    "randomization_test",
    "ranked",
    "ranking_figures",
    "rounded",
]

# A search needs `ranking` alone; torchmetrics takes a second to import.
_HOMES = {
    "counts": ("RankingCounts",),
    "evaluation": ("Evaluation", "evaluate_blocks"),
    "ranking": ("ranked", "ranking_figures", "rounded"),
    "relevance": ("Blocks", "Relevance", "blocks_of", "cosine_blocks"),
    "runs": ("LengthGroup", "by_length", "evaluate_run", "means"),
    "statistics": ("bootstrap_interval", "randomization_test"),
    "top": ("ALL_ROWS", "PAPER_ROWS", "RankingTop"),
}


def __getattr__(name: str) -> Any:
    """A name of `__all__`, on first use."""
    return lazy_attribute(__name__, _HOMES, name, "eval")
