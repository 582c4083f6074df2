"""The bundled stories as a small reranking collection, for use without the shared data."""

import json
import re
from collections.abc import Iterable
from pathlib import Path

from papers.samcnn.likelihood import RM3, QueryLikelihood
from papers.samcnn.published import YEARS
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
    queries = {
        name: _words(article.title) for name, article in collection.articles.items()
    }
    years = {query: YEARS[place % len(YEARS)] for place, query in enumerate(queries)}
    likelihood = QueryLikelihood().fit(texts)
    scores = likelihood.scores(list(queries.values()), 0, len(texts))
    feedback = RM3().fit(texts)
    pools: dict[str, dict[str, float]] = {}
    expanded: dict[str, dict[str, float]] = {}
    for row, (query, words) in enumerate(queries.items()):
        best = (-scores[row]).argsort(kind="stable")[:CANDIDATES]
        pools[query] = {ids[column]: float(scores[row, column]) for column in best}
        again = feedback.rerank(words, best).tolist()
        expanded[query] = dict(zip(pools[query], again, strict=True))
    topics = (
        _record(query, words, year=years[query]) for query, words in queries.items()
    )
    _write(folder / "queries.jsonl.gz", topics)
    corpus = (_record(post, words) for post, words in zip(ids, texts, strict=True))
    _write(folder / "corpus.jsonl.gz", corpus)
    for year in YEARS:
        own = [query for query in queries if years[query] == year]
        for name, run in (("candidates", pools), ("ql", pools), ("rm3", expanded)):
            path = folder / "runs" / f"{name}.{year}.txt.gz"
            write_run(path, {query: run[query] for query in own}, name)
        judged = (
            (query, *pair) for query in own for pair in qrels.get(query, {}).items()
        )
        lines = (f"{query} 0 {post} {grade}" for query, post, grade in judged)
        _write(folder / _QRELS.format(year), lines)
    return folder


def _record(name: str, words: list[str], **metadata: int) -> str:
    return json.dumps({"_id": name, "text": " ".join(words), "metadata": metadata})


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _write(path: Path, lines: Iterable[str]) -> None:
    with atomic_write(path) as stream:
        stream.writelines(line + "\n" for line in lines)
