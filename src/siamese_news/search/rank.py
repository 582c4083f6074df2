"""Rank a stream of posts for each seed article: one pass, memory bounded, the same every time."""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from siamese_news.data.records import Article, Post
from siamese_news.errors import InputError
from siamese_news.model import BLOCK, Model

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class RankedPost:
    """A post at its rank for one article.

    Attributes:
        article: the seed article.
        rank: from 1.
        score: the cosine similarity, rounded to 6 decimals.
        post: the post.
    """

    article: Article
    rank: int
    score: float
    post: Post


def rank_posts(
    model: Model, articles: Sequence[Article], posts: Iterable[Post], *, top: int
) -> list[list[RankedPost]]:
    """The `top` posts of each article, best first.

    Scores are rounded to 6 decimals; ties break by post id, descending, as trec_eval breaks them.
    Posts are encoded in blocks of 8,192 input rows, so only one block and the best are in memory.

    Args:
        model: the encoder.
        articles: the seeds.
        posts: any number of posts, read once.
        top: how many posts to keep for each article.

    Returns:
        One list an article, in the order of `articles`.

    Raises:
        InputError: no articles, no posts, a post id twice, or `top` below 1.
    """
    if top < 1:
        raise InputError(f"top is {top}; expected at least 1")
    if not articles:
        raise InputError("there is no article to rank posts for; give at least one")
    seeds = model.encode_articles([article.full_text for article in articles])
    best: list[list[tuple[int, str, Post]]] = [[] for _ in articles]
    seen: set[str] = set()
    for block in _blocks(posts):
        for post in block:
            if post.id in seen:
                raise InputError(f"post id {post.id!r} occurs twice; ids must be unique")
            seen.add(post.id)
        vectors = model.encode_posts([post.text for post in block])
        scores = np.rint(seeds @ vectors.T * MILLION).astype(np.int64)
        for row, kept in enumerate(best):
            kept.extend(
                (int(scores[row, column]), block[column].id, block[column])
                for column in _candidates(scores[row], top)
            )
            best[row] = heapq.nlargest(top, kept, key=lambda item: item[:2])
    if not seen:
        raise InputError("there is no post to rank; the posts file has no record")
    return [
        [
            RankedPost(article, rank, score / MILLION, post)
            for rank, (score, _, post) in enumerate(kept, 1)
        ]
        for article, kept in zip(articles, best, strict=True)
    ]


def _candidates(scores: np.ndarray, top: int) -> np.ndarray:
    """Columns that can be among the best `top`: all ties of the last place included."""
    if len(scores) <= top:
        return np.arange(len(scores))
    last = np.partition(scores, len(scores) - top)[len(scores) - top]
    return np.flatnonzero(scores >= last)


def _blocks(posts: Iterable[Post]) -> Iterator[list[Post]]:
    stream = iter(posts)
    while block := list(islice(stream, BLOCK)):
        yield block
