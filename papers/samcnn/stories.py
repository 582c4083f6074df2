"""The bundled stories as a small reranking collection, where there is no shared data."""

import json
import re
from collections.abc import Iterable
from pathlib import Path

from papers.samcnn.published import YEARS
from siamese_news.baselines import RM3, QueryLikelihood
from siamese_news.data.beir import bundled
from siamese_news.data.trec import write_run
from siamese_news.utils.files import atomic_write

#: Posts to rerank for each topic.
CANDIDATES = 100
_QRELS = "qrels.microblog{}.txt.gz"


def stories_collection(folder: Path) -> Path:
    """Write the collection unless it exists; returns the folder's absolute path.

    A story's title is the query; the stories are dealt to the four years in turn; the candidates
    are the best posts by query likelihood over all posts.
    """
    folder = folder.resolve()
    last = folder / _QRELS.format(YEARS[-1])
    if last.is_file():
        return folder
    collection = bundled()
    qrels: dict[str, dict[str, int]] = {}
    for grades in collection.qrels.values():
        for article, posts in grades.items():
            qrels.setdefault(article, {}).update(posts)
    texts = [_words(post.text) for post in collection.posts.values()]
    ids = list(collection.posts)
    queries = {name: _words(article.title) for name, article in collection.articles.items()}
    years = {query: YEARS[place % len(YEARS)] for place, query in enumerate(queries)}
    likelihood = QueryLikelihood().fit(texts)
    scores = likelihood.scores(list(queries.values()), 0, len(texts))
    feedback = RM3().fit(texts)
    runs: dict[str, dict[int, dict[str, dict[str, float]]]] = {
        name: {year: {} for year in YEARS} for name in ("candidates", "ql", "rm3")
    }
    for row, (query, words) in enumerate(queries.items()):
        best = (-scores[row]).argsort(kind="stable")[:CANDIDATES]
        pool = {ids[column]: float(scores[row, column]) for column in best}
        expanded = feedback.rerank(words, best).tolist()
        year = years[query]
        runs["candidates"][year][query] = runs["ql"][year][query] = pool
        runs["rm3"][year][query] = dict(zip(pool, expanded, strict=True))
    _write(
        folder / "queries.jsonl.gz",
        (
            json.dumps({"_id": query, "text": " ".join(words), "metadata": {"year": years[query]}})
            for query, words in queries.items()
        ),
    )
    _write(
        folder / "corpus.jsonl.gz",
        (
            json.dumps({"_id": post, "text": " ".join(words), "metadata": {}})
            for post, words in zip(ids, texts, strict=True)
        ),
    )
    for name, by_year in runs.items():
        for year, run in by_year.items():
            write_run(folder / "runs" / f"{name}.{year}.txt.gz", run, name)
    for year in YEARS:
        lines = (
            f"{query} 0 {post} {grade}"
            for query in queries
            if years[query] == year
            for post, grade in qrels.get(query, {}).items()
        )
        _write(folder / _QRELS.format(year), lines)
    return folder


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _write(path: Path, lines: Iterable[str]) -> None:
    with atomic_write(path) as stream:
        stream.writelines(line + "\n" for line in lines)
