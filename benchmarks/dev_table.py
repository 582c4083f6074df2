"""The dev figures of a model's scores, with and without their parts.

    python -m benchmarks.dev_table [--model FOLDER] [--rows "all; words"] [--set NAME=VALUE ...]

Every number of the scores was chosen on these pools. No test is read for figures; of signal1m the
texts alone, so that none of them is a distractor. Single articles are scored as `siamese-news rank`
does, the figures of events as one story (`--one-story`).
"""

import argparse
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dev_collections import big_pools, labeled_pools
from benchmarks.dev_pools import shared_dev_pools
from benchmarks.pools import Pool, Score, evaluate_pools
from benchmarks.printed_table import print_table
from siamese_news.data.records import Article
from siamese_news.lexical_head.options import TermOptions
from siamese_news.model.loading import AnyModel, ExternalModel, open_model
from siamese_news.scoring import observe_all, open_scorer
from siamese_news.scoring.rivals import rival_weights
from siamese_news.search.seeds import MILLION, Seeds

ROWS: dict[str, dict[str, Any]] = {
    "all": {},
    "all, event": {"about": "event"},
    "all, article": {"about": "article"},
    "all, distinct": {"distinct": True},
    "all, rivals": {"rivals": True},
    "without smoothing": {"smooth": False},
    "without feedback": {"expand": False},
    "words": {"fusion": "words"},
    "words, without smoothing": {"fusion": "words", "smooth": False},
    "vectors": {"fusion": "vectors"},
}
"""Rows of the table -> options of `dev_figures`."""


def story(figure: str) -> bool:
    """Whether a figure is of rankings by several articles as one story."""
    return figure.startswith("event") or figure == "big"


def dev_figures(
    model: AnyModel,
    pools: list[Pool],
    *,
    distinct: bool = False,
    rivals: bool = False,
    **options: Any,
) -> dict[str, float]:
    """The figures of a model on dev pools.

    Args:
        model: with a lexical head, or another library's.
        pools: the pools.
        distinct: whether single articles tell different stories (``rank --distinct``).
        rivals: whether posts that fit an unrelated article better fall, as `rank` does it.
        options: of `open_scorer`.
    """

    def score(one_story: bool) -> Score:
        def scored(articles: list[str], posts: list[str]) -> np.ndarray:
            scorer = open_scorer(model, articles, one_story=one_story, **options)
            scorer = observe_all(scorer, posts)
            if one_story or not (distinct or rivals):
                return scorer.scores(posts)
            seeds = [
                Article(id=str(number), text=text)
                for number, text in enumerate(articles)
            ]
            words = model.words if isinstance(model, ExternalModel) else model
            weights = rival_weights(words, articles) if rivals else None
            several = Seeds(seeds, distinct=distinct, rivals=weights)
            return several.combine(scorer.scores(posts))[0] / MILLION

        return scored

    figures: dict[str, float] = {}
    for one_story in (False, True):
        kept = [
            replace(
                pool,
                rankings=[r for r in pool.rankings if story(r.figure) == one_story],
            )
            for pool in pools
        ]
        figures |= evaluate_pools(
            [pool for pool in kept if pool.rankings], score(one_story)
        )
    for name in ("event@", "own@"):
        shares = [
            figures.pop(figure) for figure in list(figures) if figure.startswith(name)
        ]
        if shares:
            figures[name] = float(np.mean(shares))
    return figures


def changed(options: TermOptions, settings: list[str]) -> TermOptions:
    """Options with ``a.b=number`` put in."""
    plain = asdict(options)
    for setting in settings:
        name, _, value = setting.partition("=")
        *path, last = name.split(".")
        place = plain
        for key in path:
            place = place[key]
        place[last] = type(place[last])(float(value))
    return TermOptions.of(plain)


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.dev_table", description=__doc__
    )
    parser.add_argument("--model", type=Path, help="folder; else the model that ships")
    parser.add_argument("--rows", help="names, separated by semicolons and blanks")
    parser.add_argument("--set", nargs="*", default=[], help="numbers of the mixture")
    parser.add_argument(
        "--pools", help="only pools whose names begin with one of these"
    )
    options = parser.parse_args(arguments)
    model = open_model(options.model)
    if isinstance(model, ExternalModel):
        model.options = changed(model.options, options.set)
    else:
        assert model.terms is not None
        model.terms.options = changed(model.terms.options, options.set)
    pools = [*shared_dev_pools(), *labeled_pools(), *big_pools()]
    if options.pools:
        pools = [
            pool
            for pool in pools
            if pool.name.startswith(tuple(options.pools.split(",")))
        ]
    rows = []
    for name in options.rows.split("; ") if options.rows else ROWS:
        figures = dev_figures(model, pools, **ROWS[name])
        values = {figure: f"{value:.4f}" for figure, value in figures.items()}
        rows.append(
            {"scores": name, **values, "mean": f"{np.mean(list(figures.values())):.4f}"}
        )
        print(rows[-1], flush=True)
    print_table(rows)


if __name__ == "__main__":
    main()
