"""The runs behind the case study: one story's seeds, a labeled pool, several models and searches.

A result holds ids, scores and counts, and no text.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from papers.ast.sweep import ENCODERS, first_jobs, first_model
from papers.jobs import Job, Results, Setting
from papers.training_runs import compose_training
from siamese_news.data.records import Article, Post

BINS = 50
THRESHOLDS = 15  # at least; their step is a round number
SHOWN = 5
TARGETS = (10, 20, 50, 100, 200, 500, 1000, 2000, 3000, 4000, 5000)


@dataclass(frozen=True, slots=True)
class Query:
    """A search that a person might make: words or #hashtags in any case, all of them or any."""

    title: str
    words: tuple[str, ...]
    every: bool

    def finds(self, text: str) -> bool:
        """Whether a post is found.

        Example:
            >>> Query("", ("boston", "#bostonstrong"), every=False).finds("In Boston, now")
            True
            >>> Query("", ("boston",), every=False).finds("#bostonstrong bostonian")
            False
        """
        found = set(re.findall(r"#?\w+", text.lower()))
        hits = [word in found for word in self.words]
        return all(hits) if self.every else any(hits)


QUERIES = {
    "shared": (
        Query("narrow keywords", ("boston", "marathon"), every=True),
        Query(
            "broad keywords",
            (
                "boston",
                "marathon",
                "bombing",
                "bombings",
                "bomb",
                "explosion",
                "suspect",
            ),
            every=False,
        ),
        Query("narrow hashtag", ("#bostonmarathon",), every=True),
        Query(
            "broad hashtags",
            ("#bostonmarathon", "#prayforboston", "#bostonstrong", "#boston"),
            every=False,
        ),
    ),
    "stories": (
        Query("narrow keywords", ("river", "flood"), every=True),
        Query(
            "broad keywords",
            ("river", "flood", "water", "storm", "rain", "dam"),
            every=False,
        ),
        Query("narrow hashtag", ("#harlowflood",), every=True),
        Query(
            "broad hashtags",
            ("#harlowflood", "#portellory", "#tessalyflood"),
            every=False,
        ),
    ),
}
MODELS = {
    "star_projected": "AST, projected heads",
    "star": "AST, best",
    "shipped": "the shipped model",
}


@dataclass(frozen=True, slots=True)
class Story:
    """Seeds, pool, and the relevant posts of it."""

    name: str
    seeds: Sequence[Article]
    posts: Sequence[Post]
    relevant: frozenset[str]


def story(setting: Setting) -> Story:
    """The Boston collection; of the bundled stories the first event of the test."""
    from siamese_news.training.datamodule import SiameseDataModule

    shared = setting.data == "shared"
    option = "crisislex_boston" if shared else "stories"
    test = SiameseDataModule(
        data=compose_training([f"data={option}"])["data"], seed=0
    ).test
    if test is None:
        raise RuntimeError(f"{option} has no test set")
    seeds = test.articles
    if not shared:
        event = seeds[0].metadata["event"]
        seeds = [article for article in seeds if article.metadata["event"] == event]
    judged = [test.qrels.get(article.id, {}) for article in seeds]
    relevant = frozenset(
        post for grades in judged for post, grade in grades.items() if grade >= 1
    )
    return Story(test.name, seeds, test.posts, relevant)


def model_name(option: str) -> str:
    """The job that scores the pool with one model."""
    return f"case_{option}"


WORDS = "case_searches"


def case_jobs(setting: Setting) -> list[Job]:
    """The searches, and each model over the pool."""
    trained = [option for option in MODELS if option != "shipped"]
    name = (
        "crisislex-boston" if setting.data == "shared" else "bundled stories, one event"
    )
    jobs = [Job(WORDS, partial(_search, setting), 0.3, name)]
    for option in MODELS:
        run = partial(_score, setting, option)
        jobs.append(Job(model_name(option), run, 1.0, name, setting.seeds[:1]))
    return [*first_jobs(setting, "event", trained), *jobs]


STORY = "case_bundled_story"


def story_job() -> Job:
    """The most and the least similar posts of a bundled story, whose texts are ours."""

    def run(folder: Path, results: Results) -> Mapping[str, Any]:
        from siamese_news.model.siamese import Model

        bundled = story(Setting("stories"))
        seed = bundled.seeds[0]
        alone = Story(bundled.name, [seed], bundled.posts, bundled.relevant)
        scores = mean_scores(Model.pretrained(), alone)
        ids = [post.id for post in bundled.posts]
        summary = summarize(
            scores, ids, np.array([post in bundled.relevant for post in ids])
        )
        ends = ("most similar", "least similar")
        return {"article": seed.id, **{end: summary[end] for end in ends}}

    return Job(STORY, run, 0.1, "the bundled stories, invented", ())


def _search(setting: Setting, folder: Path, results: Results) -> Mapping[str, Any]:
    """Hits and relevant hits of each query over the pool."""
    pool = story(setting)
    queries = []
    for query in QUERIES[setting.data]:
        hits = [post.id for post in pool.posts if query.finds(post.text)]
        queries.append(
            {
                "title": query.title,
                "query": (" AND " if query.every else " OR ").join(query.words),
                "hits": len(hits),
                "relevant": sum(hit in pool.relevant for hit in hits),
            }
        )
    counts = {
        "posts": len(pool.posts),
        "relevant": len(pool.relevant),
        "seeds": len(pool.seeds),
    }
    return {"queries": queries, **counts}


def _score(
    setting: Setting, option: str, folder: Path, results: Results
) -> Mapping[str, Any]:
    """The pool, scored by one model."""
    from siamese_news.model.siamese import Model

    if option == "shipped":
        model = Model.pretrained()
    else:
        encoder = next(encoder for encoder in ENCODERS if encoder.option == option)
        model = Model.load(first_model(encoder, "event", folder.parent, results))
    pool = story(setting)
    scores = mean_scores(model, pool)
    ids = [post.id for post in pool.posts]
    relevant = np.array([post in pool.relevant for post in ids])
    return {"kind": model.kind, "scored": len(ids), **summarize(scores, ids, relevant)}


def mean_scores(model: Any, pool: Story) -> np.ndarray:
    """The score of each post, (P,): a mean over the seeds, to six decimals."""
    from siamese_news.evaluation.system_results import model_blocks

    blocks: Callable[[], Any] = model_blocks(
        model, pool.seeds, pool.posts, one_story=True
    )
    scores = np.empty(len(pool.posts))
    for start, block in blocks():
        scores[start : start + block.shape[1]] = block.mean(axis=0)
    return scores.round(6)


def round_thresholds(low: float, high: float) -> list[float]:
    """Round numbers from low to high, a step of 1, 2 or 5 times a power of ten apart.

    Example:
        >>> round_thresholds(0.01, 0.17)[:4]
        [0.01, 0.02, 0.03, 0.04]
    """
    if high <= low:
        return [low]
    power = 10.0 ** np.floor(np.log10((high - low) / THRESHOLDS))
    step = max(
        power * factor
        for factor in (1, 2, 5)
        if power * factor * THRESHOLDS <= high - low
    )
    places = range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1)
    return [round(place * step, 6) for place in places]


def summarize(
    scores: np.ndarray, ids: Sequence[str], relevant: np.ndarray
) -> dict[str, Any]:
    """The small result: histogram, counts at thresholds, first and last posts, effort.

    Of equal scores (P,) the higher of the ids comes first.
    """
    edges = np.linspace(scores.min(), scores.max(), BINS + 1)
    order = sorted(
        range(len(ids)), key=lambda row: (scores[row], ids[row]), reverse=True
    )
    found = relevant[order].cumsum()
    positions = np.flatnonzero(relevant[order]) + 1
    total = int(relevant.sum())

    def shown(rows: Sequence[int]) -> list[dict[str, Any]]:
        return [
            {
                "id": ids[row],
                "score": float(scores[row]),
                "relevant": bool(relevant[row]),
            }
            for row in rows
        ]

    return {
        "edges": edges.round(6).tolist(),
        "relevant": np.histogram(scores[relevant], edges)[0].tolist(),
        "irrelevant": np.histogram(scores[~relevant], edges)[0].tolist(),
        "thresholds": [
            {
                "threshold": threshold,
                "relevant kept": int((relevant & (scores >= threshold)).sum()),
                "irrelevant kept": int((~relevant & (scores >= threshold)).sum()),
            }
            for threshold in round_thresholds(float(scores.min()), float(scores.max()))
        ],
        "totals": {"relevant": total, "irrelevant": len(ids) - total},
        "most similar": shown(order[:SHOWN]),
        "least similar": shown(order[::-1][:SHOWN]),
        "effort": [
            [target, int(positions[target - 1])]
            for target in TARGETS
            if target <= total
        ],
        "AP": float((np.arange(1, total + 1) / positions).mean()),
        "found in the first 1,000": int(found[min(999, len(found) - 1)]),
    }
