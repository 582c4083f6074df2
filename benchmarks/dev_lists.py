"""Lists that a search returns on the development collections, with the truth.

Each story of ``fox-comments`` and ``dast-da`` and each seed of ``events-dev`` with at least 60
relevant posts is a list; so are the 150 claims of each language of ``claims-dev``, and 3 times 100
random articles of ``politifact-dev`` and of ``factcheck-dev``. Lists hold all posts of the
collection.

Long lists are those of several random seeds of ``events-dev`` asked at once, and
``crisislex-boston``, a test, for reporting only.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.replays import LabeledPool
from siamese_news.data.sources import open_source
from siamese_news.search.searcher import Searcher
from siamese_news.utils.files import atomic_write

FEWEST = 60
_ARTICLES, _DRAWS = 100, 3
_SEEDS, _LONG_DRAWS = (2, 3, 4, 6, 9, 12), 2
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
        pool: scores, truth and the estimates of the search, best first.
    """

    group: str
    pool: LabeledPool


def dev_lists(folder: Path) -> Iterator[DevList]:
    """The lists, searched once and kept in a folder."""
    return _lists(folder, _questions_of_collections)


def long_lists(folder: Path) -> Iterator[DevList]:
    """The long lists, searched once and kept in a folder."""
    return _lists(folder, _long_questions)


Question = tuple[str, list[str], list[dict[str, str]], set[str]]
"""Name, articles, posts and the ids of the relevant posts of a list."""


def _lists(
    folder: Path, questions: Callable[[], Iterator[Question]]
) -> Iterator[DevList]:
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "complete").exists():
        _search(folder, questions())
        (folder / "complete").touch()
    for path in sorted(folder.glob("*.npz")):
        columns = np.load(path)
        order = np.argsort(-columns["scores"], kind="stable")
        scores, relevant, relevance = (
            columns[name][order] for name in ("scores", "relevant", "relevance")
        )
        pool = LabeledPool(path.stem, scores, relevant, relevance)
        yield DevList(path.stem.split(".")[0], pool)


def _search(folder: Path, questions: Iterator[Question]) -> None:
    searcher = Searcher()
    for name, articles, posts, relevant in questions:
        rows = searcher.filter(articles, posts, threshold=None, min_score=-4)
        with atomic_write(folder / f"{name}.npz", "wb") as stream:
            np.savez_compressed(
                stream,
                scores=np.array([row["score"] for row in rows]),
                relevance=np.array([row["relevance"] for row in rows], np.float64),
                relevant=np.array([row["post_id"] in relevant for row in rows]),
            )


def _questions_of_collections() -> Iterator[Question]:
    for group in SPLITS:
        for name, articles, texts, relevant in lists_of(group):
            posts = [{"id": post, "text": text} for post, text in texts.items()]
            yield f"{group}.{name}", articles, posts, relevant


def lists_of(
    group: str,
) -> Iterator[tuple[str, list[str], dict[str, str], set[str]]]:
    """Name, articles, texts of posts by id, and ids of the relevant posts of a collection's lists."""
    source = open_source(group)
    qrels = source.split(SPLITS[group])
    texts = {post.id: post.text for post in source.posts.values()}
    for name, seeds in questions_of(group, sorted(qrels)):
        relevant = {
            post for seed in seeds for post, grade in qrels[seed].items() if grade > 0
        }
        if len(relevant) >= FEWEST:
            articles = [source.articles[seed].full_text for seed in seeds]
            yield name, articles, texts, relevant


def _long_questions() -> Iterator[Question]:
    source = open_source("events-dev")
    qrels = source.split("dev")
    posts = [{"id": post.id, "text": post.text} for post in source.posts.values()]
    generator = np.random.default_rng(1)
    for count in _SEEDS:
        for number in range(_LONG_DRAWS):
            seeds = generator.choice(sorted(qrels), count, replace=False).tolist()
            relevant = {
                post
                for seed in seeds
                for post, grade in qrels[seed].items()
                if grade > 0
            }
            articles = [source.articles[seed].full_text for seed in seeds]
            yield f"several crises.{count}.{number}", articles, posts, relevant
    source = open_source("crisislex-boston")
    (relevant,) = (set(grades) for grades in source.split("test").values())
    posts = [{"id": post.id, "text": post.text} for post in source.posts.values()]
    articles = [article.full_text for article in source.articles.values()]
    yield "crisislex-boston.all", articles, posts, relevant


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
