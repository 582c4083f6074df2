"""Pools for making choices; they hold training and dev texts only, nothing of a test.

A pool holds what a user would score at once, and its rankings say which posts should come first.
Rules that depend on the pool (its size, document frequencies or scores) work as they would there.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from benchmarks.pools import Pool, Ranking
from siamese_news.data.records import Collection
from siamese_news.data.sources import open_posts_of, open_source
from siamese_news.data.splits import pool_qrels, relevant_pairs, same_text_key

SHARES = (0.03, 0.14, 0.3, 0.6, 0.9)
"""Shares of the story in the pools ``event@…`` and ``own@…``."""

DISTRACTORS = 20_000
OWN = 20  # relevant posts in a ranking of `links` and `topic`, at most
DRAWS = 4  # rankings of an article in `topic`
# Posts of the event's other articles, for an article to stand in `topic`.
FEWEST_SIBLINGS = 10
FEWEST_POSTS = 40  # of an event, for pools at every share
MOST_POSTS = 400
OTHERS = 6  # posts of other stories for each of the event, in `event`

# Tweet ids from 2012 on (milliseconds since the first, then 22 bits). The stories begin in July
# 2012, so that no earlier post is about one of them, judged or not.
_YEAR_2012 = (1_325_376_000_000 - 1_288_834_974_657) << 22
_BRACKETS = re.compile(r"-[LR]RB-", re.IGNORECASE)


def shared_dev_pools(*, seed: int = 0, distractors: int = DISTRACTORS) -> list[Pool]:
    """All pools, from the folders in ``$SIAMESE_NEWS_DATA``.

    Events are those of ``usatoday-cnn`` train and dev; distractors are TREC microblog posts of
    2011 that ``signal1m`` does not have; ``teasers`` and ``headlines`` are the dev pairs of
    ``facebook-teasers`` and ``fnc1``.

    Args:
        seed: of every draw.
        distractors: how many posts that belong to no story.

    Raises:
        InputError: as `open_source`.
    """
    taken = {
        same_text_key(post.text) for post in open_source("signal1m").posts.values()
    }
    others = trec_posts(distractors, without=taken, seed=seed)
    return [
        *event_pools(
            open_source("usatoday-cnn"), others, splits=("train", "dev"), seed=seed
        ),
        pair_pool("teasers", open_source("facebook-teasers"), "dev"),
        pair_pool("headlines", open_source("fnc1"), "dev"),
    ]


def trec_posts(count: int, *, without: set[str], seed: int = 0) -> list[str]:
    """Texts of at most `count` TREC microblog posts of 2011, each text once.

    Args:
        count: how many at most.
        without: keys (`same_text_key`) of texts to leave out.
        seed: of the draw.
    """
    text_by_key: dict[str, str] = {}
    for post in open_posts_of("trec-microblog").values():
        if int(post.id) >= _YEAR_2012:
            continue
        text = " ".join(_BRACKETS.sub(" ", post.text).split())
        key = same_text_key(text)
        if key and key not in without:
            text_by_key.setdefault(key, text)
    texts = [text_by_key[key] for key in sorted(text_by_key)]
    order = np.random.default_rng([seed, len(texts)]).permutation(len(texts))[:count]
    return [texts[i] for i in order]


def event_pools(
    collection: Collection,
    distractors: Sequence[str],
    *,
    splits: Sequence[str],
    seed: int = 0,
    shares: Sequence[float] = SHARES,
) -> list[Pool]:
    """Build the pools of a collection whose articles have a ``metadata.event``.

    ``all`` holds every post and all distractors, with the rankings ``links`` (an article's own
    posts, at most 20, against every post that is not of its event) and ``topic`` (instead of its
    own, 20 posts linked to other articles of the event, 4 draws: nothing to be won by copied
    headlines). A pool an event: all its posts and 6 times as many others, ranking ``event``
    (posts of the event by the mean score over its articles). And for events of 40 posts, at
    every share of the event in the pool, ``event@share`` and ``own@share`` (each article's own
    posts).

    Args:
        collection: articles with events; a post is linked to articles of one event.
        distractors: texts of posts that are about none of the events.
        splits: the splits whose pairs are used.
        seed: of every draw; another seed draws other posts.
        shares: of the event, in the pools at given shares.
    """
    stories = Stories(collection, distractors, splits)
    everything = np.arange(len(stories.posts))
    pools = [
        stories.pool(
            "all",
            list(range(len(stories.articles))),
            everything,
            [*_links(stories, seed), *_topic(stories, seed)],
        )
    ]
    for number in range(len(stories.events)):
        generator = np.random.default_rng([seed, number])
        inside = np.flatnonzero(stories.event_of_post == number)
        pools.append(
            _story_pool(
                stories, number, "event", inside, OTHERS * len(inside), generator
            )
        )
        if len(inside) >= FEWEST_POSTS:
            some = generator.choice(inside, min(MOST_POSTS, len(inside)), replace=False)
            for share in shares:
                count = round(len(some) * (1 - share) / share)
                pools.append(
                    _story_pool(
                        stories, number, f"event@{share:g}", some, count, generator
                    )
                )
    return pools


def pair_pool(figure: str, collection: Collection, split: str) -> Pool:
    """Every article of a split against all posts of the split: own-article relevance."""
    pairs = relevant_pairs(collection.split(split))
    rows = {article: row for row, article in enumerate(sorted({a for a, _ in pairs}))}
    columns = {
        post: column for column, post in enumerate(sorted({p for _, p in pairs}))
    }
    linked = np.zeros((len(rows), len(columns)), dtype=bool)
    for article, post in pairs:
        linked[rows[article], columns[post]] = True
    places = np.arange(len(columns))
    return Pool(
        figure,
        [collection.articles[article].full_text for article in rows],
        [collection.posts[post].text for post in columns],
        [
            Ranking(figure, "", np.array([r]), places, linked[r])
            for r in range(len(rows))
        ],
    )


class Stories:
    """Articles and posts of some splits by number, distractors behind the posts.

    Args:
        collection: see `event_pools`.
        distractors: see `event_pools`.
        splits: see `event_pools`.

    Attributes:
        events: names, in order.
        articles: A full texts.
        posts: P texts.
        linked: (A, P) bool.
        event_of_article: (A,) numbers of events.
        event_of_post: (P,) the same; -1 for a distractor.
    """

    def __init__(
        self, collection: Collection, distractors: Sequence[str], splits: Sequence[str]
    ) -> None:
        qrels: Mapping[str, Mapping[str, int]] = pool_qrels(
            {name: collection.split(name) for name in splits}
        )
        pairs = sorted(relevant_pairs(qrels))
        rows = {
            article: row
            for row, article in enumerate(dict.fromkeys(a for a, _ in pairs))
        }
        columns = {post: c for c, post in enumerate(sorted({p for _, p in pairs}))}
        events = [
            str(collection.articles[article].metadata["event"]) for article in rows
        ]
        self.events = sorted(set(events))
        self.articles = [collection.articles[article].full_text for article in rows]
        self.posts = [collection.posts[post].text for post in columns] + list(
            distractors
        )
        self.linked = np.zeros((len(self.articles), len(self.posts)), dtype=bool)
        self.event_of_article = np.array([self.events.index(event) for event in events])
        self.event_of_post = np.full(len(self.posts), -1)
        for article, post in pairs:
            self.linked[rows[article], columns[post]] = True
            self.event_of_post[columns[post]] = self.event_of_article[rows[article]]

    def pool(
        self,
        name: str,
        rows: Sequence[int] | np.ndarray,
        columns: np.ndarray,
        rankings: list[Ranking],
    ) -> Pool:
        """The pool of some of the articles and posts.

        Args:
            name: of the pool.
            rows: articles.
            columns: posts.
            rankings: its rankings.
        """
        return Pool(
            name,
            [self.articles[row] for row in rows],
            [self.posts[c] for c in columns],
            rankings,
        )


def _story_pool(
    stories: Stories,
    number: int,
    figure: str,
    event_posts: np.ndarray,
    count: int,
    generator: np.random.Generator,
) -> Pool:
    """A pool of posts of one event and `count` others; with ``@`` in its name own-article too."""
    event = stories.events[number]
    outside = np.flatnonzero(stories.event_of_post != number)
    drawn = generator.choice(outside, min(count, len(outside)), replace=False)
    columns = np.concatenate([event_posts, drawn])
    rows = np.flatnonzero(stories.event_of_article == number)
    everywhere = np.arange(len(columns))
    rankings = [
        Ranking(
            figure,
            event,
            np.arange(len(rows)),
            everywhere,
            everywhere < len(event_posts),
        )
    ]
    if "@" in figure:
        for place, row in enumerate(rows):
            relevant = stories.linked[row][columns]
            if relevant.any():
                name = figure.replace("event", "own")
                rankings.append(
                    Ranking(name, event, np.array([place]), everywhere, relevant)
                )
    return stories.pool(f"{figure} {event}", rows, columns, rankings)


def _links(stories: Stories, seed: int) -> Iterator[Ranking]:
    for row, event in enumerate(stories.event_of_article):
        linked = np.flatnonzero(stories.linked[row])
        yield _against_others(stories, "links", row, int(event), linked, seed, 0)


def _topic(stories: Stories, seed: int) -> Iterator[Ranking]:
    for row, event in enumerate(stories.event_of_article):
        siblings = np.flatnonzero(
            (stories.event_of_post == event) & ~stories.linked[row]
        )
        if len(siblings) >= FEWEST_SIBLINGS:
            for draw in range(1, DRAWS + 1):
                yield _against_others(
                    stories, "topic", row, int(event), siblings, seed, draw
                )


def _against_others(
    stories: Stories,
    figure: str,
    row: int,
    event: int,
    relevant_posts: np.ndarray,
    seed: int,
    draw: int,
) -> Ranking:
    generator = np.random.default_rng([seed, row, draw])
    some = generator.choice(
        relevant_posts, min(OWN, len(relevant_posts)), replace=False
    )
    columns = np.concatenate([some, np.flatnonzero(stories.event_of_post != event)])
    relevant = np.arange(len(columns)) < len(some)
    return Ranking(figure, stories.events[event], np.array([row]), columns, relevant)
