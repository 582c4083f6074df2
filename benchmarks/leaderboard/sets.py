"""The tests, by the names of the table."""

from functools import cache

from benchmarks.leaderboard.rows import digest, option
from siamese_news.data.sources import EvaluationSet
from siamese_news.errors import InputError
from siamese_news.training.datamodule import SiameseDataModule

DATA = {
    "usatoday-cnn": "usatoday_cnn",
    "signal1m": "signal1m",
    "crisislex-boston": "crisislex_boston",
    "usatoday-cnn-pairs": "usatoday_cnn_pairs",
    "events-dev": "events_dev",
    "politifact-dev": "politifact_dev",
    "factcheck-dev": "factcheck_dev",
    "claims-dev": "claims_dev",
    "fox-comments": "fox_comments",
    "dast-da": "dast_da",
    "webis": "webis_whole",
    "stories": "stories",
}
"""Test -> option of conf/data."""

LEAK = {"usatoday-cnn-pairs"}
"""Tests whose articles are in training by design: the paper's split of single pairs."""


@cache
def open_test(name: str) -> EvaluationSet:
    """A test by its name.

    Raises:
        InputError: the name is unknown, or its data does not exist.
    """
    if name not in DATA:
        raise InputError(f"no test {name!r}; expected one of {', '.join(DATA)}")
    test = SiameseDataModule(data=option("data", DATA[name]), seed=0).test
    if test is None:
        raise InputError(f"conf/data/{DATA[name]}.yaml names no test")
    return test


def print_of(test: EvaluationSet) -> str:
    """A short hash of everything in a test."""
    articles = [[article.id, article.full_text] for article in test.articles]
    return digest([articles, [[post.id, post.text] for post in test.posts], test.qrels])
