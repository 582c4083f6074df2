"""Why a post matched: the article's sentences and the words that carried the score, and a test.

A score is a sum. The lexical head's is one product a word; a word's product is split over its
places in the article in proportion to ``1 / (1 + place / lead_half_life)``, the weight that the
head gives a place. The dense head's is split over the tokens by gradient times input, which is
exact for linear encoders; what it leaves over for others is `Explained.rest`.

Both heads compare directions, so a sentence that adds just its part of the article's vector is not
missed: without it the others count more. What carries the score is what adds more than that, and
the sentence with the greatest surplus is the one that an explanation names. Each sentence is then
actually removed and the article scored again: this tests the explanation and is not part of it.
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
from siamese_news.search.explain.records import Explained

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
        scorer: of the model, for this article and any others, after it has seen the pool
            (`Scorer.observe`): scores are then those that it gives. None: those without a pool.
        number: which of the scorer's articles it is, from 0.
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
    """Give each neighbor the id and the text of the first post that reads the same.

    Args:
        explained: explanations by one model.
        posts: the pool; it is read until all neighbors are found, and not at all where there are
            none.
        model: the model.
    """
    missing = {near.key for one in explained for near in one.neighbors}
    found: dict[bytes, Post] = {}
    if missing:
        for post in posts:
            key = model.ids(post.text).tobytes()
            if key in missing:
                found[key] = post
                missing.discard(key)
                if not missing:
                    break
    return [
        replace(
            one,
            neighbors=[
                replace(near, post=found[near.key].id, text=found[near.key].text)
                if near.key in found
                else near
                for near in one.neighbors
            ],
        )
        for one in explained
    ]
