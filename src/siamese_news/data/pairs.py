"""Pairs and relevance."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from siamese_news.data.records import Article, Post, Qrels


def relevant_pairs(qrels: Mapping[str, Mapping[str, int]]) -> list[tuple[str, str]]:
    """All (article id, post id) with a grade of 1 or more, in the order of the qrels."""
    return [
        (article, post)
        for article, judged in qrels.items()
        for post, grade in judged.items()
        if grade >= 1
    ]


def same_event_qrels(articles: Iterable[Article], posts: Iterable[Post]) -> Qrels:
    """Relevance by event: a post is relevant to every article with its ``metadata.event``.

    Articles and posts without an event have no relevant partner.
    """
    by_event: dict[str, list[str]] = defaultdict(list)
    for post in posts:
        event = post.metadata.get("event")
        if event is not None:
            by_event[str(event)].append(post.id)
    qrels: Qrels = {}
    for article in articles:
        event = article.metadata.get("event")
        if event is not None and by_event.get(str(event)):
            qrels[article.id] = dict.fromkeys(by_event[str(event)], 1)
    return qrels
