"""Hard negatives: posts of other articles that our own ranking puts near an article."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.records import Article, Post
from siamese_news.data.splits import same_text_key
from siamese_news.errors import InputError
from siamese_news.model.text_model import BLOCK
from siamese_news.scoring import observe_all, open_scorer
from siamese_news.training.finetune import open_start
from siamese_news.training.schema import Number, Share
from siamese_news.training.teacher import taught

# How many posts of the ranking are looked at for each that is taken.
_LOOKED_AT = 5
_TEACHER_WORDS = 150
_ROWS = 256  # articles whose scores are sorted at one time


class HardNegatives(TypedDict, total=False):
    """The values of ``data.hard_negatives``; see `hard_negatives`."""

    per_article: Number
    ranker: str
    teacher: str | None
    below: Share


def hard_negatives(
    articles: Sequence[Article],
    posts: Sequence[Post],
    posts_of: Sequence[Sequence[int]],
    options: HardNegatives,
    *,
    seed: int,
) -> list[list[tuple[int, int]]]:
    """For each of A articles, (article, post) indices of ``per_article`` posts of other articles.

    They are the best of the ranking by ``ranker`` (``pretrained`` or a model folder). A post that
    is relevant too would teach the wrong thing: with a ``teacher``, a post is left out unless its
    cosine to the article is less than ``below`` times the mean of the article's own posts (after
    the positive-aware mining of Moreira et al. 2024, arXiv 2407.15831). Where fewer are left, the
    rest is drawn at random. Posts whose text is under several articles are nobody's negatives.

    Raises:
        InputError: an article has fewer posts of others than it should get.
    """
    count = options["per_article"]
    article_of_post = owners(posts, posts_of)
    candidates = np.array(list(article_of_post), np.int64)
    owner_indices = np.array(
        [article_of_post[post] for post in candidates.tolist()], np.int64
    )
    posts_per_article = np.bincount(owner_indices, minlength=len(articles))
    if (fewest := int(len(candidates) - posts_per_article.max())) < count:
        raise InputError(
            f"data.hard_negatives.per_article is {count}, but an article has only {fewest} posts of "
            "other articles that are no article's but theirs; take fewer, or add pairs"
        )
    candidate_posts = [posts[post] for post in candidates.tolist()]
    nearest = nearest_of_others(
        articles, candidate_posts, owner_indices, options["ranker"], count
    )
    too_near = _too_near(articles, posts, posts_of, candidate_posts, nearest, options)
    dice = np.random.default_rng([seed, 2])
    negatives = []
    for article, (ranking, left_out) in enumerate(zip(nearest, too_near, strict=True)):
        chosen = ranking[~left_out][:count].tolist()
        posts_of_others = np.flatnonzero(owner_indices != article)
        random_posts = dice.permutation(np.setdiff1d(posts_of_others, chosen))[
            : count - len(chosen)
        ]
        negatives.append(
            [
                (int(owner_indices[index]), int(candidates[index]))
                for index in (*chosen, *random_posts.tolist())
            ]
        )
    return negatives


def owners(posts: Sequence[Post], posts_of: Sequence[Sequence[int]]) -> dict[int, int]:
    """The article of each post whose text is under one article alone.

    Of posts with one text only the first is there, and none without words.
    """
    articles_of: defaultdict[str, set[int]] = defaultdict(set)
    first_with: dict[str, int] = {}
    for article, of_article in enumerate(posts_of):
        for post in of_article:
            key = same_text_key(posts[post].text)
            articles_of[key].add(article)
            first_with.setdefault(key, post)
    return {
        first_with[key]: min(of_text)
        for key, of_text in articles_of.items()
        if key and len(of_text) == 1
    }


def nearest_of_others(
    articles: Sequence[Article],
    posts: Sequence[Post],
    owner_of: NDArray[np.int64],
    ranker: str,
    count: int,
) -> list[NDArray[np.int64]]:
    """For each article, the places of the best posts that are not its own, the best first.

    They are told by words and vectors alone: feedback and smoothing cost minutes for ten thousand
    articles, and change few of the first posts.
    """
    model = open_start(ranker)
    without = None if model.terms is None else False
    texts = [post.text for post in posts]
    seeds = [article.full_text for article in articles]
    scorer = open_scorer(model, seeds, expand=without, smooth=without)
    scorer = observe_all(scorer, texts)
    depth = min(count * _LOOKED_AT, len(posts))
    best_scores = np.full((len(articles), depth), -np.inf, np.float32)
    best_posts = np.zeros((len(articles), depth), np.int64)
    for start in range(0, len(texts), BLOCK):
        scores = np.array(scorer.scores(texts[start : start + BLOCK]), np.float32)
        block_indices = np.arange(start, start + scores.shape[1])
        scores[owner_of[block_indices], block_indices - start] = -np.inf
        for row in range(0, len(articles), _ROWS):
            rows = slice(row, row + _ROWS)
            merged_scores = np.concatenate([best_scores[rows], scores[rows]], axis=1)
            post_indices = np.concatenate(
                [best_posts[rows], np.broadcast_to(block_indices, scores[rows].shape)],
                axis=1,
            )
            order = np.argsort(-merged_scores, axis=1, kind="stable")[:, :depth]
            best_scores[rows] = np.take_along_axis(merged_scores, order, axis=1)
            best_posts[rows] = np.take_along_axis(post_indices, order, axis=1)
    return [
        post_indices[np.isfinite(scores)]
        for post_indices, scores in zip(best_posts, best_scores, strict=True)
    ]


def _too_near(
    articles: Sequence[Article],
    posts: Sequence[Post],
    posts_of: Sequence[Sequence[int]],
    candidates: Sequence[Post],
    nearest: Sequence[NDArray[np.int64]],
    options: HardNegatives,
) -> list[NDArray[np.bool_]]:
    """Which of the nearest posts the teacher finds about as near as the article's own."""
    if options["teacher"] is None:
        return [np.zeros(len(post_indices), bool) for post_indices in nearest]
    linked = [posts[post].text for of_article in posts_of for post in of_article]
    teacher: Mapping[str, object] = {
        "source": options["teacher"],
        "words": _TEACHER_WORDS,
        "bf16": False,
    }
    seeds, vectors = taught(
        [article.full_text for article in articles],
        [*linked, *(post.text for post in candidates)],
        teacher,
    )
    ends = np.cumsum([len(of_article) for of_article in posts_of])
    own_vectors = np.split(vectors[: len(linked)].astype(np.float32), ends[:-1])
    candidate_vectors = vectors[len(linked) :].astype(np.float32)
    return [
        candidate_vectors[post_indices] @ seed
        >= options["below"] * float((of_article @ seed).mean())
        for seed, of_article, post_indices in zip(
            seeds.astype(np.float32), own_vectors, nearest, strict=True
        )
    ]
