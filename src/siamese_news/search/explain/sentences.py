"""An article in sentences, by their places in its text."""

import re

from siamese_news.data.records import Article

Span = tuple[int, int]

_LINE = re.compile(r"\n")
_BLANK = re.compile(r"\n[^\S\n]*\n")


def sentence_spans(article: Article) -> list[Span]:
    """(start, end) of each sentence in `Article.full_text`, in order, without white space around.

    The title is one sentence. A blank line ends a sentence; so does every line end in an article
    without blank lines, which has a paragraph a line. Whatever is no white space is in a span.
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
