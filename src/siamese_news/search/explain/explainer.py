"""Why a post matched: the article's sentences and the words that carried the score, and a test.

A score is a sum. The lexical head adds one product for each word; a word's product is split over
its places in the article in proportion to ``1 / (1 + place / lead_half_life)``, the weight that the
head gives a place. The part of the dense head is split over the tokens by gradient times input,
which is exact for linear encoders; for others the remainder is in `Explained.rest`.

Both heads compare directions, so a sentence that adds just its part of the article's vector is not
missed: without it the others count more. A sentence carries the score if it adds more than that,
and an explanation names the sentence with the greatest surplus. To test the explanation, each
sentence is then actually removed and the article scored again.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np

from siamese_news.data.records import Article, Post
from siamese_news.errors import InputError
from siamese_news.model.base import TextModel
from siamese_news.scoring import Scorer, open_scorer
from siamese_news.search.explain.attribution import Reader
from siamese_news.search.explain.records import Explained, NeighborPost

Span = tuple[int, int]

_LINE = re.compile(r"\n")
_BLANK = re.compile(r"\n[^\S\n]*\n")


def sentence_spans(article: Article) -> list[Span]:
    """(start, end) of each sentence in `Article.full_text`, in order, without white space around.

    The title is one sentence. A blank line ends a sentence; so does every line end in an article
    without blank lines, where each line is a paragraph. Every character that is not white space
    is in a span.
    """
    from nupunkt import sentence_spans as split

    text = article.full_text
    start = len(article.title) + 1 if article.title else 0
    spans = [_tight(text, 0, start)]
    break_ = _BLANK if _BLANK.search(text, start) else _LINE
    ends = [(found.start(), found.end()) for found in break_.finditer(text, start)]
    for end, following in [*ends, (len(text), len(text))]:
        for first, last in split(text[start:end]):
            spans.append(_tight(text, start + first, start + last))
        start = following
    return [span for span in spans if span[0] < span[1]]


def without(text: str, span: Span) -> str:
    """The text without a span."""
    return text[: span[0]] + text[span[1] :]


def _tight(text: str, start: int, end: int) -> Span:
    """The span without white space around it."""
    piece = text[start:end]
    left = start + len(piece) - len(piece.lstrip())
    return left, max(left, start + len(piece.rstrip()))


_TOGETHER = 64  # edited articles scored at once


def explain(
    model: TextModel,
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
        scorer: a scorer of the model, for this article and any others, that has observed the pool,
            to explain its scores; None to explain scores without a pool.
        number: of the article among the scorer's, from 0.
        stop_words: tokens that the scorer leaves out of the article (`open_scorer`).

    Raises:
        InputError: there is no post.
    """
    if not posts:
        raise InputError("no posts to explain; expected at least one")
    learned = scorer.state() if scorer is not None else b""

    def opened(articles: Sequence[str]) -> Scorer:
        other = open_scorer(model, articles, stop_words=[stop_words] * len(articles))
        if learned:
            other.restore(learned, [number] * len(articles))
        return other

    texts = [post.text for post in posts]
    own = opened([article.full_text])
    whole = own.scores(texts)[0]
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


def explain_nearest(
    model: TextModel,
    articles: Sequence[Article],
    posts: Sequence[Post],
    scorer: Scorer,
    stop_words: Sequence[Collection[str]] | None = None,
) -> list[Explained]:
    """Explain each post's score for the article it is closest to, in the order of the posts.

    `scorer` was opened with these articles and `stop_words`, a collection for each; see `explain`.
    """
    if not posts:
        raise InputError("no posts to explain; expected at least one")
    best = scorer.scores([post.text for post in posts]).argmax(axis=0)
    found: dict[int, Explained] = {}
    for number, article in enumerate(articles):
        rows = [row for row in range(len(posts)) if best[row] == number]
        if rows:
            own = stop_words[number] if stop_words else ()
            explained = explain(model, article, [posts[row] for row in rows], scorer, number, own)
            found.update(zip(rows, explained, strict=True))
    return [found[row] for row in range(len(posts))]


def name_neighbors(
    explained: Sequence[Explained], posts: Iterable[Post], model: TextModel
) -> list[Explained]:
    """Give each neighbor the id and text of the first post that is the same to the model.

    The pool, `posts`, is read until all neighbors are found.
    """
    missing = {near.key for one in explained for near in one.neighbors}
    found: dict[bytes, Post] = {}
    for post in posts if missing else ():
        key = model.ids(post.text).tobytes()
        if key in missing:
            found[key] = post
            missing.discard(key)
            if not missing:
                break

    def named(near: NeighborPost) -> NeighborPost:
        post = found.get(near.key)
        return near if post is None else replace(near, post=post.id, text=post.text)

    return [replace(one, neighbors=list(map(named, one.neighbors))) for one in explained]
