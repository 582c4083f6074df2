"""Fit the table that turns scores into relevance, and print how well it holds on pools left out.

    python -m benchmarks.calibration [--model FOLDER] [--write] [--diagrams docs/calibration.svg]
    python -m benchmarks.calibration [--model FOLDER] --tests

Every development pool is left out once: the table is fitted on the others and judged on it. The
table that ``--write`` puts into the model's folder, without ``--model`` the one that ships, is
fitted on all. A collection of which there are two pools is left out whole. Each pool counts alike,
and within it each seed. Of the four parts of a table (`SIDES`), the first is fitted on all seeds, the
second on those that show whether they check a claim, the third on pools of events, and the fourth on
the others. The pools with few posts about each event (`few_pools`) are for the third part alone. With
``--tests`` the table of the model's folder is judged on two tests, on which nothing is fitted.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from benchmarks.dev_pools import trec_posts
from siamese_news.data.records import Article
from siamese_news.data.sources import open_source
from siamese_news.data.splits import same_text_key
from siamese_news.model.base import PRETRAINED, TextModel
from siamese_news.model.calibration import SIDES, Calibration, Evidence
from siamese_news.model.folder import write_sums
from siamese_news.model.loading import open_model
from siamese_news.scoring import observe_all, open_scorer
from siamese_news.scoring.rivals import rival_weights
from siamese_news.search.relevance import is_unsure, list_relevance
from siamese_news.search.seeds import MILLION, Seeds
from siamese_news.text.languages import BACKGROUND, language_of_seed
from siamese_news.utils.files import atomic_write
from siamese_news.utils.markdown import markdown_table
from siamese_news.utils.provenance import provenance

SPLITS = {
    "events-dev": "dev",
    "politifact-dev": "dev",
    "factcheck-dev": "test",
    "claims-dev": "test",
    "webis-clickbait": "train",
    "fox-comments": "test",
    "dast-da": "test",
}
"""Development collections whose every post is labeled, and the split of their pairs."""

TESTS = {"crisislex-boston": "test", "signal1m": "test"}
"""Collections on which nothing was fitted, and the split of their pairs."""

MOST_SEEDS = 125
"""Seeds of a pool that are scored, evenly over all."""

OTHERS = 6000
"""Posts of no story in the pool of `usatoday-cnn` dev."""

FEW, MANY = 20, 20_000
"""Posts about each event, and posts of no story, in the pools of `few_pools`."""

EVENTS = ("events-dev", "usatoday-cnn", "fox-comments", "dast-da")
"""Pools of events: many posts are relevant to a seed."""

_FITTED = 1500  # best posts of a seed that a table is fitted on
_JUDGED = 300  # best posts of a seed that the error is of
_JUDGED_ALONE = 10  # kept posts of a seed whose expected precision is judged by itself
_BINS = 10
_RIDGE = {"headline": 1e-3, "article": 1e-3, "many": 3e-5, "few": 3e-4}
_CAUTION, _WORDS = 0.4, 8


def _source(name: str) -> str:
    """The collection that a pool is of."""
    return name.partition(",")[0]


@dataclass(frozen=True, slots=True)
class Scored:
    """A development pool: scores and relevance (A, P), and the evidence of its A lists."""

    name: str
    scores: NDArray[np.float64]
    relevant: NDArray[np.bool_]
    evidence: Sequence[Evidence]
    seeds: Sequence[Article]
    events: bool  # whether many posts are relevant to a seed
    # (A, P) the scores where all seeds are searched at once.
    rivaled: NDArray[np.float64]

    @property
    def source(self) -> str:
        """The collection, of which there may be two pools."""
        return _source(self.name)

    @property
    def scarce(self) -> bool:
        """Whether it is one of `few_pools`."""
        return self.source != self.name

    def asked(self, side: str) -> NDArray[np.float64]:
        """(S, F) the features of how likely many posts answer, of the seeds that have this side."""
        if side == "headline":
            evidence = [replace(about, checking=None) for about in self.evidence]
        else:
            evidence = [about for about in self.evidence if about.side == side]
        rows = [about.asked() for about in evidence]
        return np.array(rows).reshape(len(rows), len(SIDES[side]))

    def best(self, side: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The features of a side, and relevance, of each seed's best posts, one after another."""
        features, relevant = [], []
        for number, about in enumerate(self.evidence):
            places = np.argsort(-self.scores[number], kind="stable")[:_FITTED]
            best = self.scores[number][places]
            features.append(about.many(best) if side == "many" else about.few(best))
            relevant.append(self.relevant[number][places])
        return np.concatenate(features), np.concatenate(relevant)


Pool = tuple[list[Article], list[str], NDArray[np.bool_]]
"""Seeds, texts of posts, and which posts are relevant (A, P)."""


def labeled_pools(splits: Mapping[str, str]) -> dict[str, Pool]:
    """The pools of collections, which are named with the split of their pairs."""
    pools = {}
    for name, split in splits.items():
        collection = open_source(name)
        qrels = collection.split(split)
        names = list(qrels)[:: max(1, -(-len(qrels) // MOST_SEEDS))]
        columns = {post: column for column, post in enumerate(collection.posts)}
        relevant = np.zeros((len(names), len(columns)), bool)
        for row, article in enumerate(names):
            answers = [
                columns[post] for post, grade in qrels[article].items() if grade > 0
            ]
            relevant[row, answers] = True
        texts = [post.text for post in collection.posts.values()]
        pools[name] = (
            [collection.articles[article] for article in names],
            texts,
            relevant,
        )
    return pools


def dev_pools() -> dict[str, Pool]:
    """The development pools by name."""
    usatoday = _events("usatoday-cnn", ["dev"], posts_of_event=None, others=OTHERS)
    return labeled_pools(SPLITS) | {"usatoday-cnn": usatoday}


def few_pools() -> dict[str, Pool]:
    """Pools with few posts about each event among many of no story."""
    return {
        f"{name}, few": _events(name, splits, posts_of_event=FEW, others=MANY)
        for name, splits in {
            "usatoday-cnn": ["train", "dev"],
            "events-dev": ["dev"],
        }.items()
    }


def _events(
    name: str, splits: Sequence[str], *, posts_of_event: int | None, others: int
) -> Pool:
    """Articles about events; a post is relevant to every article of its event.

    Of each event there are so many posts, or all, next to those that are about none of them.
    """
    collection = open_source(name)
    qrels = {
        article: {post for post, grade in posts.items() if grade > 0}
        for split in splits
        for article, posts in collection.split(split).items()
    }
    articles = [collection.articles[article] for article in qrels]
    events = [str(article.metadata["event"]) for article in articles]
    posts_of: dict[str, set[str]] = {}
    for event, linked in zip(events, qrels.values(), strict=True):
        posts_of.setdefault(event, set()).update(linked)
    generator = np.random.default_rng(0)
    some = {
        event: sorted(generator.permutation(sorted(posts))[:posts_of_event].tolist())
        for event, posts in posts_of.items()
    }
    posts = sorted(set().union(*some.values()))
    taken = {
        same_text_key(post.text) for post in open_source("signal1m").posts.values()
    }
    texts = [collection.posts[post].text for post in posts]
    texts += trec_posts(others, without=taken)
    relevant = np.zeros((len(articles), len(texts)), bool)
    for row, event in enumerate(events):
        relevant[row, np.searchsorted(posts, some[event])] = True
    return articles, texts, relevant


def scored(
    model: TextModel,
    name: str,
    seeds: list[Article],
    posts: list[str],
    relevant: NDArray[np.bool_],
) -> Scored:
    """Score a pool as `siamese-news rank` does, each seed by itself and all at once."""
    several = Seeds(seeds)
    scorer = open_scorer(model, several.texts)
    scorer = observe_all(scorer, posts)
    of_lists = list_relevance(scorer, several, _NEUTRAL)
    assert of_lists is not None
    scores = scorer.scores(posts)
    lists, _ = several.combine(scores)
    rivaled, _ = replace(several, rivals=rival_weights(model, several.texts)).combine(
        scores
    )
    return Scored(
        name,
        lists / MILLION,
        relevant,
        of_lists.evidence,
        seeds,
        _source(name) in EVENTS,
        rivaled / MILLION,
    )


_NEUTRAL = Calibration(
    {side: dict.fromkeys(names, 0.0) for side, names in SIDES.items()}, 0, 0, (), 0
)


def fitted(pools: Sequence[Scored]) -> Calibration:
    """The table of some pools."""
    tables = {}
    for side in ("headline", "article"):
        asked = [(pool.asked(side), pool.events) for pool in pools if not pool.scarce]
        parts = [(rows, np.full(len(rows), events)) for rows, events in asked]
        tables[side] = _regression(side, [part for part in parts if len(part[0])])
    for side in ("many", "few"):
        some = [pool.best(side) for pool in pools if pool.events == (side == "many")]
        tables[side] = _regression(side, some)
    seeds = [seed for pool in pools for seed in pool.seeds]
    languages = sorted(
        {language_of_seed(seed.full_text) or BACKGROUND for seed in seeds}
    )
    return Calibration(tables, _CAUTION, _WORDS, tuple(languages), 0.0)


def _regression(
    side: str, parts: Sequence[tuple[NDArray[np.float64], NDArray[np.bool_]]]
) -> dict[str, float]:
    """The weights of a side: a logistic regression with a small ridge.

    Each part has features (N, F), the first of them constant, and whether each of its rows is
    positive; parts count alike.
    """
    features = np.concatenate([rows for rows, _ in parts])[:, 1:]
    positive = np.concatenate([truth for _, truth in parts])
    weights = np.concatenate(
        [np.full(len(rows), 1 / (len(rows) * len(parts))) for rows, _ in parts]
    )
    means = weights @ features
    spread = np.sqrt(weights @ (features - means) ** 2)
    spread[spread == 0] = 1.0
    model = LogisticRegression(C=1 / _RIDGE[side], tol=1e-9, max_iter=1000)
    model.fit((features - means) / spread, positive, sample_weight=weights)
    slopes = model.coef_[0] / spread
    values = [float(model.intercept_[0] - slopes @ means), *slopes.tolist()]
    return {
        name: round(value, 4) for name, value in zip(SIDES[side], values, strict=True)
    }


@dataclass(frozen=True, slots=True)
class Judged:
    """How well a table holds on a pool."""

    name: str
    precision: float  # of the posts with relevance .5 or more
    expected: float  # the mean of their relevance
    recall: float
    error: float  # expected calibration error of each seed's best posts
    # How far the expected precision of one seed is off, on average; NaN where none keeps enough.
    off: float
    # Precision and recall where all seeds are searched at once.
    together: tuple[float, float]
    before: tuple[float, float]  # precision and recall of the score .1
    bins: Sequence[tuple[float, float, int]]  # mean relevance, share relevant, how many


def judged(table: Calibration, pool: Scored) -> Judged:
    """Judge a table on a pool."""
    evidence = [
        replace(about, cautious=is_unsure(seed, table))
        for about, seed in zip(pool.evidence, pool.seeds, strict=True)
    ]
    relevance, together = (
        np.stack(
            [table.relevance(*pair) for pair in zip(scores, evidence, strict=True)]
        )
        for scores in (pool.scores, pool.rivaled)
    )
    kept = relevance >= 0.5
    offs = [
        abs(float(truth[posts].mean()) - float(expected[posts].mean()))
        for truth, expected, posts in zip(pool.relevant, relevance, kept, strict=True)
        if posts.sum() >= _JUDGED_ALONE
    ]
    chosen = np.argsort(-pool.scores, axis=1, kind="stable")[:, :_JUDGED]
    values = np.take_along_axis(relevance, chosen, axis=1).ravel()
    truth = np.take_along_axis(pool.relevant, chosen, axis=1).ravel()
    places = np.minimum((values * _BINS).astype(int), _BINS - 1)
    bins = [
        (float(values[mine].mean()), float(truth[mine].mean()), int(mine.sum()))
        for place in range(_BINS)
        if (mine := places == place).any()
    ]
    error = sum(count * abs(mean - share) for mean, share, count in bins) / len(values)
    precision, recall = _precision_recall(pool.relevant, kept)
    return Judged(
        pool.name,
        precision,
        _share(relevance[kept]),
        recall,
        error,
        float(np.mean(offs)) if offs else float("nan"),
        _precision_recall(pool.relevant, together >= 0.5),
        _precision_recall(pool.relevant, pool.scores >= 0.1),
        bins,
    )


def _precision_recall(
    relevant: NDArray[np.bool_], kept: NDArray[np.bool_]
) -> tuple[float, float]:
    return _share(relevant[kept]), float(relevant[kept].sum() / max(relevant.sum(), 1))


def _share(values: NDArray[np.generic]) -> float:
    return float(values.mean()) if values.size else float("nan")


def left_out(pools: Sequence[Scored]) -> list[Judged]:
    """Each pool judged by the table of the others."""
    return [
        judged(fitted([other for other in pools if other.source != pool.source]), pool)
        for pool in pools
    ]


def table_of(results: Sequence[Judged], kind: str = "pool left out") -> str:
    """The figures as a Markdown table."""
    rows = [
        {
            kind: pool.name,
            "precision": f"{pool.precision:.2f}",
            "expected": f"{pool.expected:.2f}",
            "recall": f"{pool.recall:.2f}",
            "calibration error": f"{pool.error:.3f}",
            "all seeds at once: precision": f"{pool.together[0]:.2f}",
            "recall ": f"{pool.together[1]:.2f}",
            "score .1: precision": f"{pool.before[0]:.2f}",
            "recall  ": f"{pool.before[1]:.2f}",
        }
        for pool in results
    ]
    mean = np.mean([pool.error for pool in results])
    return f"{markdown_table(rows)}\nMean calibration error: {mean:.3f}"


_PLOT = 150
_GAP = 42
_COLUMNS = 4


def diagrams(results: Sequence[Judged]) -> str:
    """Reliability diagrams as SVG, one for each pool: share relevant over relevance."""
    rows = -(-len(results) // _COLUMNS)
    width = _COLUMNS * (_PLOT + _GAP) + _GAP
    height = rows * (_PLOT + _GAP) + _GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        'aria-label="Reliability diagrams of the development pools, each left out of the fit" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for number, pool in enumerate(results):
        left = _GAP + number % _COLUMNS * (_PLOT + _GAP)
        top = _GAP // 2 + number // _COLUMNS * (_PLOT + _GAP)
        bottom = top + _PLOT
        points = [(left + x * _PLOT, bottom - y * _PLOT) for x, y, _ in pool.bins]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts += [
            f'<text x="{left}" y="{top - 5}" fill="#111">{pool.name}</text>',
            f'<rect x="{left}" y="{top}" width="{_PLOT}" height="{_PLOT}" fill="none" '
            'stroke="#999"/>',
            f'<line x1="{left}" y1="{bottom}" x2="{left + _PLOT}" y2="{top}" stroke="#999" '
            'stroke-dasharray="4 3"/>',
            f'<polyline points="{line}" fill="none" stroke="#0b57a4" stroke-width="1.5"/>',
            *(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="#0b57a4"/>'
                for x, y in points
            ),
            f'<text x="{left}" y="{bottom + 13}" fill="#555">0</text>',
            f'<text x="{left + _PLOT - 6}" y="{bottom + 13}" fill="#555">1</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def write_table(table: Calibration, folder: Path) -> None:
    """Put a table into a model folder."""
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8")) | {
        "calibration": table.plain()
    }
    with atomic_write(path) as stream:
        stream.write(json.dumps(config, indent=2, ensure_ascii=False) + "\n")
    write_sums(folder)


def main(arguments: list[str] | None = None) -> None:
    """Print the table, and write what is asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.calibration", description=__doc__
    )
    parser.add_argument("--model", type=Path, default=PRETRAINED, help="a model folder")
    parser.add_argument("--write", action="store_true", help="into the model's folder")
    parser.add_argument(
        "--diagrams", type=Path, help="file of the reliability diagrams (.svg)"
    )
    parser.add_argument(
        "--tests", action="store_true", help="judge the model's table on two tests"
    )
    options = parser.parse_args(arguments)
    model = open_model(options.model)
    assert isinstance(model, TextModel)
    contents = labeled_pools(TESTS) if options.tests else dev_pools() | few_pools()
    pools = []
    for name, content in contents.items():
        print(f"scoring {name}", file=sys.stderr)
        pools.append(scored(model, name, *content))
    if options.tests:
        assert model.calibration is not None
        print(table_of([judged(model.calibration, pool) for pool in pools], "test"))
        return
    report(
        pools, folder=options.model if options.write else None, picture=options.diagrams
    )


def report(
    pools: Sequence[Scored], *, folder: Path | None, picture: Path | None
) -> None:
    """Print how the tables of all pools but one hold, and write the table of all."""
    results = left_out(pools)
    print(table_of(results))
    table = fitted(pools)
    off = float(np.nanmean([pool.off for pool in results]))
    table = replace(table, error=round(off, 2))
    print(json.dumps(table.plain()))
    if picture is not None:
        picture.write_text(diagrams(results), encoding="utf-8")
    if folder is not None:
        write_table(table, folder)
    about = provenance()
    print(
        about["command"], about["date"], about["revision"], about["machine"], sep=" · "
    )


if __name__ == "__main__":
    main()
