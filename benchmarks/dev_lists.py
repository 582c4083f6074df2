"""Lists that a search returns on the development collections, with the truth.

Each story of ``fox-comments`` and ``dast-da`` and each seed of ``events-dev`` with at least 60
relevant posts is a list; so are the 150 claims of each language of ``claims-dev``, and 3 times 100
random articles of ``politifact-dev`` and of ``factcheck-dev``. Lists hold all posts of the
collection.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.sources import open_source
from siamese_news.search.searcher import Searcher
from siamese_news.utils.files import atomic_write
from siamese_news_desk.decide.simulation import LabeledPool

FEWEST = 60
_ARTICLES, _DRAWS = 100, 3
SPLITS = {
    "fox-comments": "test",
    "dast-da": "test",
    "claims-dev": "test",
    "events-dev": "dev",
    "politifact-dev": "dev",
    "factcheck-dev": "test",
}


@dataclass(frozen=True, slots=True)
class DevList:
    """A list of a development collection.

    Attributes:
        group: the collection.
        pool: scores and truth, best first.
        relevance: (N,) the estimates of the search.
    """

    group: str
    pool: LabeledPool
    relevance: NDArray[np.float64]


def dev_lists(folder: Path) -> Iterator[DevList]:
    """The lists, searched once and kept in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "complete").exists():
        _search(folder)
        (folder / "complete").touch()
    for path in sorted(folder.glob("*.npz")):
        columns = np.load(path)
        order = np.argsort(-columns["scores"], kind="stable")
        pool = LabeledPool(
            path.stem, columns["scores"][order], columns["relevant"][order]
        )
        yield DevList(path.stem.split(".")[0], pool, columns["relevance"][order])


def _search(folder: Path) -> None:
    searcher = Searcher()
    for group, split in SPLITS.items():
        source = open_source(group)
        qrels = source.split(split)
        posts = [{"id": post.id, "text": post.text} for post in source.posts.values()]
        for name, seeds in questions_of(group, sorted(qrels)):
            relevant = {
                post
                for seed in seeds
                for post, grade in qrels[seed].items()
                if grade > 0
            }
            if len(relevant) < FEWEST:
                continue
            articles = [source.articles[seed].full_text for seed in seeds]
            rows = searcher.filter(articles, posts, threshold=None, min_score=-4)
            with atomic_write(folder / f"{group}.{name}.npz", "wb") as stream:
                np.savez_compressed(
                    stream,
                    scores=np.array([row["score"] for row in rows]),
                    relevance=np.array([row["relevance"] for row in rows], np.float64),
                    relevant=np.array([row["post_id"] in relevant for row in rows]),
                )


def questions_of(group: str, seeds: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The names and the seeds of the lists of a collection."""
    if group == "claims-dev":
        for language in sorted({seed[:3] for seed in seeds}):
            yield language, [seed for seed in seeds if seed.startswith(language)]
    elif group in ("politifact-dev", "factcheck-dev"):
        generator = np.random.default_rng(0)
        for number in range(_DRAWS):
            yield (
                str(number),
                generator.choice(seeds, _ARTICLES, replace=False).tolist(),
            )
    else:
        for seed in seeds:
            yield seed.replace("/", "_"), [seed]
