"""Ranking metrics over unique articles x unique posts, TREC runs, intervals and tests.

The metrics are r-Precision and its mean over the rows of the AST paper's table (mRP), average
precision, AUC, precision at k, nDCG and reciprocal rank: `evaluate_blocks` has those over pooled
pairs, `evaluate_run` those of trec_eval.
"""

from siamese_news.metrics.evaluation import evaluate_blocks
from siamese_news.metrics.ranking import ranked
from siamese_news.metrics.relevant_pairs import Blocks, blocks_of
from siamese_news.metrics.runs import evaluate_run, means
from siamese_news.metrics.statistics import bootstrap_interval, randomization_test
from siamese_news.metrics.top import ALL_ROWS, PAPER_ROWS

__all__ = [
    "ALL_ROWS",
    "PAPER_ROWS",
    "Blocks",
    "blocks_of",
    "bootstrap_interval",
    "evaluate_blocks",
    "evaluate_run",
    "means",
    "randomization_test",
    "ranked",
]
