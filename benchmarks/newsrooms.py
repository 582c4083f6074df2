"""What five steps of the search bring on newsrooms' fact checks, in halves that share no newsroom.

    python -m benchmarks.newsrooms [--seeds 150]

The newsroom of a fact check of ``factcheck-dev`` is the host of its address. The largest newsroom
goes into the one half, the next into the other, and each further one into the smaller half. Of each
half so many seeds are drawn and searched in the whole pool by the first look: *alone*, each by itself;
*together*, all of a half at once; *distinct*, with each post for the seed that it fits best. Each row
takes one step out of the shipped search; its figures are the change of MAP and its standard error. A
step whose row is above 0 in both halves costs something. The last row is plain scikit-learn: TF-IDF of
words and pairs of words with split hashtags.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from benchmarks.leaderboard.systems import NGrams
from benchmarks.printed_table import print_table
from benchmarks.second_look import average_precision
from siamese_news.data.records import Article
from siamese_news.data.sources import open_source
from siamese_news.lexical_head.options import TermOptions
from siamese_news.model.loading import open_model
from siamese_news.model.text_model import TextModel
from siamese_news.scoring import observe_all, open_scorer, surface
from siamese_news.scoring.rivals import rival_weights
from siamese_news.search.seeds import MILLION, Seeds

Floats = NDArray[np.float64]

_NEVER = {"few": 10.0, "many": 11.0}
# Each step and the numbers of the lexical head that take it out.
_OPTIONS: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    "likeness of feedback (always full)": {"feedback": {"alike": 0.0}},
    "widening": {"widening": _NEVER},
    "agreement": {"agreement": _NEVER},
}
# And the constants of the surface.
_CONSTANTS: Mapping[str, Mapping[str, float]] = {
    "scale": {"_SHIFT": 0.0},
    "counted n-grams": {"_LACKING": 2.0},
}
_WAYS = ("alone", "together", "distinct")


def halves(articles: Mapping[str, Article]) -> tuple[list[str], list[str]]:
    """The ids of articles in two halves that share no newsroom."""
    by_room: dict[str, list[str]] = defaultdict(list)
    for id, article in articles.items():
        host = urlsplit(str(article.metadata.get("url", ""))).netloc
        by_room[host.removeprefix("www.")].append(id)
    one: list[str] = []
    two: list[str] = []
    for room in sorted(by_room, key=lambda room: (-len(by_room[room]), room)):
        smaller = one if len(one) <= len(two) else two
        smaller += by_room[room]
    return one, two


@contextmanager
def _without(model: TextModel, step: str) -> Iterator[None]:
    """The search without a step, as long as it lasts."""
    assert model.terms is not None
    shipped: TermOptions = model.terms.options
    parts = {
        part: replace(getattr(shipped, part), **numbers)
        for part, numbers in _OPTIONS.get(step, {}).items()
    }
    model.terms.options = replace(shipped, **parts)
    try:
        with patch.dict(vars(surface), _CONSTANTS.get(step, {})):
            yield
    finally:
        model.terms.options = shipped


def _of_ways(
    scores: Any, relevant: NDArray[np.bool_], articles: list[Article], model: TextModel
) -> list[Floats]:
    """The average precision (A,) of each article by scores (A, P): alone, together, distinct."""
    alone = Seeds(articles)
    rivals = rival_weights(model, alone.texts)
    ways = (alone, replace(alone, rivals=rivals), replace(alone, distinct=True))
    return [
        np.array(
            [
                average_precision(line / MILLION, truth)
                for line, truth in zip(seeds.combine(scores)[0], relevant, strict=True)
            ]
        )
        for seeds in ways
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.newsrooms", description=__doc__
    )
    parser.add_argument("--seeds", type=int, default=150, help="of each half")
    count = parser.parse_args(arguments).seeds
    collection = open_source("factcheck-dev")
    qrels = collection.split("test")
    posts = [post.text for post in collection.posts.values()]
    model = open_model()
    assert isinstance(model, TextModel)
    generator = np.random.default_rng(0)
    rows = []
    drawn = []
    for half in halves({id: collection.articles[id] for id in qrels}):
        places = sorted(generator.permutation(len(half))[:count].tolist())
        drawn.append([half[place] for place in places])
    shipped: list[list[Floats]] = []
    for step in ("", *_CONSTANTS, *_OPTIONS, "all: scikit-learn"):
        row = {"without": step or "the shipped search: MAP"}
        for number, ids in enumerate(drawn):
            articles = [collection.articles[id] for id in ids]
            relevant = np.array(
                [
                    [qrels[id].get(post, 0) > 0 for post in collection.posts]
                    for id in ids
                ]
            )
            with _without(model, step):
                texts = [article.full_text for article in articles]
                if step.startswith("all"):
                    peer = NGrams(analyzer="word", sizes=(1, 2), split=True)
                    scores = peer(texts, posts)[0]
                else:
                    scores = observe_all(open_scorer(model, texts), posts).scores(posts)
            figures = _of_ways(scores, relevant, articles, model)
            if not step:
                shipped.append(figures)
            for way, precision, before in zip(
                _WAYS, figures, shipped[number], strict=True
            ):
                change = precision - before
                error = change.std() / len(change) ** 0.5
                row[f"half {number + 1}, {way}"] = (
                    f"{change.mean():+.4f} ({error:.4f})"
                    if step
                    else f"{precision.mean():.4f}"
                )
        rows.append(row)
        print(row, flush=True)
    print()
    print_table(rows)


if __name__ == "__main__":
    main()
