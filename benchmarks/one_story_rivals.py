"""Seeds that tell one story are no rivals: python -m benchmarks.one_story_rivals.

Where each seed has a list, a post that fits an unrelated seed better falls. It must not fall where
two seeds tell one story: in two languages (``events-dev``), or as articles about one event
(``usatoday-cnn``, train and dev), whose relevant posts are those of all articles of the event. The
table has the mean average precision of `rank` as it ships, and with ``--no-distinct``, where no list
depends on another seed; the largest fall of a seed; and the lists that differ at all.
"""

import argparse
import logging
from collections.abc import Iterator, Mapping, Sequence

from benchmarks.printed_table import print_table
from siamese_news import Searcher
from siamese_news.data.records import Article, Collection, Post
from siamese_news.data.sources import open_source
from siamese_news.metrics import evaluate_run

Judgments = Mapping[str, Mapping[str, int]]


def in_two_languages(collection: Collection) -> tuple[list[Article], Judgments]:
    """The seeds of events that are told in two languages."""
    judgments = collection.split("dev")
    events = [id.rpartition("-")[0] for id in judgments]
    several = {event for event in events if events.count(event) > 1}
    ids = [id for id, event in zip(judgments, events, strict=True) if event in several]
    return [collection.articles[id] for id in ids], {id: judgments[id] for id in ids}


def by_event(collection: Collection) -> tuple[list[Article], Judgments]:
    """The articles of events, each with the posts of its whole event."""
    linked = {**collection.split("train"), **collection.split("dev")}
    events = {id: str(collection.articles[id].metadata["event"]) for id in linked}
    posts_of: dict[str, dict[str, int]] = {event: {} for event in events.values()}
    for id, posts in linked.items():
        posts_of[events[id]] |= {post: 1 for post, grade in posts.items() if grade > 0}
    return (
        [collection.articles[id] for id in linked],
        {id: posts_of[event] for id, event in events.items()},
    )


def row(
    name: str,
    posts: Sequence[Post],
    searches: Sequence[Sequence[Article]],
    judgments: Judgments,
    about: str,
) -> dict[str, object]:
    """The figures of some sets of seeds, each searched at once among the same posts."""
    runs = []
    for distinct in (None, False):
        run: dict[str, dict[str, float]] = {}
        for seeds in searches:
            run |= {seed.id: {} for seed in seeds}
            ranked = Searcher().rank(
                seeds, posts, top=len(posts), distinct=distinct, about=about
            )
            for record in ranked:
                run[record["article_id"]][record["post_id"]] = record["score"]
        runs.append(run)
    searched = {seed.id: judgments[seed.id] for seeds in searches for seed in seeds}
    compared, alone = (evaluate_run(run, searched)["AP"] for run in runs)
    falls = [alone[id] - compared[id] for id in alone]
    return {
        "seeds": f"{name}: {len(alone)}, {len(posts):,} posts",
        "`--about`": about,
        "MAP of `rank`": f"{sum(compared.values()) / len(alone):.4f}",
        "`--no-distinct`": f"{sum(alone.values()) / len(alone):.4f}",
        "largest fall of a seed": f"{max(falls):.4f}",
        "lists that differ": sum(runs[0][id] != runs[1][id] for id in alone),
    }


def rows() -> Iterator[dict[str, object]]:
    """The rows of the table."""
    crises, news = open_source("events-dev"), open_source("usatoday-cnn")
    seeds, judgments = in_two_languages(crises)
    posts = list(crises.posts.values())
    name = "events-dev, four events in two languages"
    yield row(name, posts, [seeds], judgments, "auto")
    seeds, judgments = by_event(news)
    linked = {post for posts_of in judgments.values() for post in posts_of}
    posts = [post for id, post in news.posts.items() if id in linked]
    for about in ("auto", "event"):
        yield row("usatoday-cnn by event", posts, [seeds], judgments, about)
    events: dict[str, list[Article]] = {}
    for seed in seeds:
        events.setdefault(str(seed.metadata["event"]), []).append(seed)
    searches = [seeds for seeds in events.values() if len(seeds) > 1]
    name = "usatoday-cnn, a search for each event"
    for about in ("auto", "event"):
        yield row(name, posts, searches, judgments, about)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.parse_args()
    logging.disable()
    print_table(list(rows()))


if __name__ == "__main__":
    main()
