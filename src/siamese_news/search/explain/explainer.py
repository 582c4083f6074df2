"""Why a post matched: the article's sentences and the words that carried the score, and a test.

A score is a sum. The lexical head's is one product a word; a word's product is split over its
places in the article in proportion to ``1 / (1 + place / lead_half_life)``, the weight that the
head gives a place. The dense head's is split over the tokens by gradient times input, which is
exact for linear encoders; what it leaves over for others is `Explained.rest`.

Both heads compare directions, so a sentence that adds just its part of the article's vector is not
missed: without it the others count more. What carries the score is what adds more than that, and
the sentence with the greatest surplus is the one that an explanation names. Each sentence is then
really taken out and the article scored anew: that tests the explanation and is no part of it.
"""

from collections.abc import Collection, Sequence

import numpy as np

from siamese_news.data.records import Article, Post
from siamese_news.errors import InputError
from siamese_news.model.siamese import Model
from siamese_news.scoring import Scorer, open_scorer
from siamese_news.search.explain.attribution import Reader
from siamese_news.search.explain.records import Explained
from siamese_news.search.explain.sentences import sentence_spans, without

_TOGETHER = 64  # edited articles scored at once


def explain(
    model: Model,
    article: Article,
    posts: Sequence[Post],
    scorer: Scorer | None = None,
    number: int = 0,
    stop_words: Collection[str] = (),
) -> list[Explained]:
    """Explain the scores of posts for an article.

    Args:
        model: any model.
        article: the article.
        posts: the posts.
        scorer: of the model, for this article and any others, after it has seen the pool
            (`Scorer.observe`): scores are then those that it gives. None: those without a pool.
        number: which of the scorer's articles it is, from 0.
        stop_words: tokens that the scorer leaves out of the article (`open_scorer`).

    Raises:
        InputError: there is no post.
    """
    if not posts:
        raise InputError("there is no post to explain; expected at least one")
    learned = scorer.state() if scorer is not None else b""

    def opened(articles: Sequence[str]) -> Scorer:
        other = open_scorer(model, articles, stop_words=[stop_words] * len(articles))
        if learned:
            other.restore(learned, [number] * len(articles))
        return other

    texts = [post.text for post in posts]
    own = opened([article.full_text])
    whole = own.scores(texts)[0]
    training = model.training
    model.eval()
    try:
        spans = sentence_spans(article)
        sentences = [article.full_text[a:b] for a, b in spans]
        reader = Reader(model, article, sentences, stop_words)
        scores = np.tile(whole, (len(spans), 1))
        for start in range(0, len(reader.read), _TOGETHER):
            rows = reader.read[start : start + _TOGETHER]
            edited = [without(article.full_text, spans[row]) for row in rows]
            scores[rows] = opened(edited).scores(texts)
        return [
            reader.explained(post, float(whole[column]), scores[:, column], own)
            for column, post in enumerate(posts)
        ]
    finally:
        model.train(training)


def explain_nearest(
    model: Model,
    articles: Sequence[Article],
    posts: Sequence[Post],
    scorer: Scorer,
    stop_words: Sequence[Collection[str]] | None = None,
) -> list[Explained]:
    """Explain each post's score for the article that it is nearest to.

    Args:
        model: any model.
        articles: the articles that the scorer was opened with.
        posts: the posts.
        scorer: see `explain`.
        stop_words: for each article the tokens that the scorer leaves out of it.

    Returns:
        One explanation a post, in their order.

    Raises:
        InputError: there is no post.
    """
    if not posts:
        raise InputError("there is no post to explain; expected at least one")
    best = scorer.scores([post.text for post in posts]).argmax(axis=0)
    found: dict[int, Explained] = {}
    for number, article in enumerate(articles):
        rows = [row for row in range(len(posts)) if best[row] == number]
        if rows:
            own = stop_words[number] if stop_words else ()
            explained = explain(model, article, [posts[row] for row in rows], scorer, number, own)
            found.update(zip(rows, explained, strict=True))
    return [found[row] for row in range(len(posts))]
