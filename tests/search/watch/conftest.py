"""A watch in this process, over the stories that ship."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

import siamese_news.data
from siamese_news.data.articles import read_articles
from siamese_news.data.readers import open_posts
from siamese_news.search.opened_query import open_query
from siamese_news.search.query import FILTER
from siamese_news.search.seeds import Seeds
from siamese_news.search.watch.stream_sources import Batch
from siamese_news.search.watch.watcher import Watch

WINDOW = 250
STORIES = Path(siamese_news.data.__file__).parent / "stories"


@pytest.fixture(scope="session")
def stories():
    """The posts that ship in a random order, and the articles."""
    posts = list(open_posts(STORIES / "corpus.jsonl"))
    random.Random(0).shuffle(posts)
    return posts, read_articles(STORIES / "queries.jsonl")


@pytest.fixture
def watching(tmp_path, stories):
    """A function that watches batches of posts; returns the watch and the rows so far."""
    posts, articles = stories

    def watch(
        source=None,
        *,
        sizes=(7,),
        seeds=None,
        warm=(),
        rows=None,
        out="found.jsonl",
        min_score=0.05,
        many=None,
        **settings,
    ):
        query = replace(
            FILTER, min_score=min_score, out=tmp_path / out, articles=("-",)
        )
        seeds = Seeds(seeds or articles[::24], one_story=True)
        said = []
        values = {"source": "test", "window": WINDOW, **settings}
        one = Watch(open_query(query, seeds), said.append, **values)
        one.said = said
        one.rows = lambda: [
            json.loads(line) for line in (tmp_path / out).open(encoding="utf-8")
        ]
        if one.fresh:
            one.begin(warm)
        if source is None:
            given = (posts if rows is None else rows)[:many]
            source = batches(given, sizes, one.cursor.get("at", 0))
        try:
            one.run(source)
        finally:
            one.close()
        return one

    watch.batches = batches
    return watch


def batches(posts, sizes, at=0):
    """Posts in batches of these sizes, over and over."""
    number = 0
    while at < len(posts):
        start, at = at, min(at + sizes[number % len(sizes)], len(posts))
        number += 1
        yield Batch(posts[start:at], {"at": at})
