"""Further pools that choices are made on: labeled crises, fact checks, and big pools of events."""

from collections.abc import Callable

import numpy as np

from benchmarks.dev_pools import MOST_POSTS, Stories, trec_posts
from benchmarks.pools import Pool, Ranking
from siamese_news.data.records import Collection
from siamese_news.data.sources import open_source
from siamese_news.data.splits import same_text_key

BIG = 40_000
"""Posts of no story in the pools of `big_pools`."""

FEWEST = 100
"""Posts of an event, for a big pool."""


def labeled_pools() -> list[Pool]:
    """The dev collections whose every post was labeled, a pool each.

    ``events-dev`` (figures ``crises``, and ``crises_foreign`` for seeds in other languages than
    English), ``politifact-dev`` (``fact_checks``), ``webis-clickbait`` (``webis``),
    ``factcheck-dev`` (``newsrooms``) and ``claims-dev`` (``claims_fra`` and so on, by language).

    Raises:
        InputError: as `open_source`.
    """
    return [
        labeled_pool("crises", open_source("events-dev"), "dev", _foreign),
        labeled_pool("fact_checks", open_source("politifact-dev"), "dev"),
        labeled_pool("webis", open_source("webis-clickbait"), "train"),
        labeled_pool("newsrooms", open_source("factcheck-dev"), "test"),
        labeled_pool("claims", open_source("claims-dev"), "test", "claims_{}".format),
    ]


def _foreign(language: str) -> str:
    return "crises" if language == "en" else "crises_foreign"


def labeled_pool(
    figure: str,
    collection: Collection,
    split: str,
    by_language: Callable[[str], str] | None = None,
) -> Pool:
    """Every article of a split against all posts of the collection.

    Args:
        figure: its name.
        collection: articles and posts.
        split: whose pairs are relevant.
        by_language: the figure that an article of a language (``metadata.lang``) counts in instead.
    """
    qrels = collection.split(split)
    columns = {post: column for column, post in enumerate(collection.posts)}
    places = np.arange(len(columns))
    rankings = []
    for row, article in enumerate(qrels):
        relevant = np.zeros(len(columns), bool)
        relevant[
            [columns[post] for post, grade in qrels[article].items() if grade > 0]
        ] = True
        language = collection.articles[article].metadata.get("lang", "en")
        name = by_language(language) if by_language else figure
        rankings.append(Ranking(name, "", np.array([row]), places, relevant))
    texts = [post.text for post in collection.posts.values()]
    return Pool(
        figure, [collection.articles[a].full_text for a in qrels], texts, rankings
    )


def big_pools(*, seed: int = 0, distractors: int = BIG) -> list[Pool]:
    """Training events of at least `FEWEST` posts among all posts of other events and many others.

    Figures: ``big``, the event by the mean score over its articles, and ``big_single``, the event
    by one article at a time.

    Args:
        seed: of every draw.
        distractors: how many posts that belong to no story, at most.

    Raises:
        InputError: as `open_source`.
    """
    taken = {
        same_text_key(post.text) for post in open_source("signal1m").posts.values()
    }
    others = trec_posts(distractors, without=taken, seed=seed)
    stories = Stories(open_source("usatoday-cnn"), others, ("train", "dev"))
    pools = []
    for number, event in enumerate(stories.events):
        inside = np.flatnonzero(stories.event_of_post == number)
        if len(inside) < FEWEST:
            continue
        generator = np.random.default_rng([seed, number, 7])
        some = generator.choice(inside, min(MOST_POSTS, len(inside)), replace=False)
        columns = np.concatenate(
            [np.sort(some), np.flatnonzero(stories.event_of_post != number)]
        )
        rows = np.flatnonzero(stories.event_of_article == number)
        everywhere = np.arange(len(columns))
        relevant = everywhere < len(some)
        found = [Ranking("big", event, np.arange(len(rows)), everywhere, relevant)]
        found += [
            Ranking("big_single", event, np.array([place]), everywhere, relevant)
            for place in range(len(rows))
        ]
        pools.append(stories.pool(f"big {event}", rows, columns, found))
    return pools
