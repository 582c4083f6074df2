"""The pools that relevance is fitted and judged on: every shape that the development data give.

A pool has a kind, and a source, the collection that it was made from. Kinds differ in what is asked
and in how much of the pool answers: crises, news events, comments, fact checks, claims in four
languages, clickbait, articles of one event by article, events with twenty posts among thousands,
needles (one post among thousands), posts as seeds, and tiny pools of 12 to 100 posts. Sub-pools have
another share of relevant posts, of seeds or of languages than their collection.
"""

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.dev_pools import trec_posts
from siamese_news.data.records import Article
from siamese_news.data.sources import data_path, open_source
from siamese_news.data.splits import same_text_key
from siamese_news.utils.choices import About

# Not Thai, whose words are pairs of characters: there, a score means something else.
_LANGUAGES = {"fra": "fr", "deu": "de", "hi-": "hi", "ara": "ar"}
_SHARES = (0.03, 0.1, 0.2, 0.4, 0.7)
_TINY = ((12, 0.3), (20, 0.4), (30, 0.2), (60, 0.2), (100, 0.1), (60, 0.4), (30, 0.5))
# Of pools of fewer than ten posts.
_HANDFUL = ((4, 0.5), (5, 0.4), (6, 0.3), (7, 0.5), (8, 0.25), (9, 0.35))
_FEW = 20  # posts about an event in a pool with few


@dataclass(frozen=True, slots=True)
class Shape:
    """A pool with its truth (A, P)."""

    name: str
    kind: str
    source: str
    seeds: Sequence[Article]
    posts: Sequence[str]
    relevant: NDArray[np.bool_]
    about: About = "auto"


Answers = Mapping[str, set[str]]
"""The ids of the relevant posts by article."""


class Source:
    """A collection, and the answers of some splits of it."""

    def __init__(self, name: str, splits: Sequence[str]) -> None:
        self.name = name
        collection = open_source(name)
        self.articles = collection.articles
        self.posts = collection.posts
        self.answers: dict[str, set[str]] = {}
        for split in splits:
            for article, grades in collection.split(split).items():
                own = {post for post, grade in grades.items() if grade > 0}
                self.answers.setdefault(article, set()).update(own)
        self.ids = list(collection.posts)

    def events(self) -> dict[str, list[str]]:
        """The articles of each event."""
        articles: dict[str, list[str]] = {}
        for article in self.answers:
            event = str(self.articles[article].metadata["event"])
            articles.setdefault(event, []).append(article)
        return articles

    def of_events(self) -> dict[str, set[str]]:
        """The answers where the posts of all articles of an event answer each of them."""
        return {
            article: set().union(*(self.answers[other] for other in articles))
            for articles in self.events().values()
            for article in articles
        }

    def shape(
        self,
        name: str,
        kind: str,
        articles: Sequence[str],
        posts: Sequence[str] | None = None,
        more: Sequence[str] = (),
        answers: Answers | None = None,
        about: About = "auto",
    ) -> Shape:
        """The pool of some of its posts, and `more` that answer nothing."""
        ids = self.ids if posts is None else posts
        answers = self.answers if answers is None else answers
        relevant = np.zeros((len(articles), len(ids) + len(more)), bool)
        for row, article in enumerate(articles):
            relevant[row, : len(ids)] = [post in answers[article] for post in ids]
        texts = [self.posts[post].text for post in ids]
        seeds = [self.articles[article] for article in articles]
        return Shape(name, kind, self.name, seeds, [*texts, *more], relevant, about)


def evenly(values: Sequence[str], most: int) -> list[str]:
    """At most so many of some values, evenly over all."""
    return list(values[:: max(1, -(-len(values) // most))])


def part(
    shape: Shape, generator: np.random.Generator, posts: int, share: float
) -> Shape:
    """A draw of posts of which a share is relevant to a seed."""
    answers = shape.relevant.any(axis=0)
    inside = generator.permutation(np.flatnonzero(answers))
    outside = generator.permutation(np.flatnonzero(~answers))
    count = min(round(posts * share), len(inside))
    others = min(round(count * (1 - share) / share), len(outside))
    columns = np.sort(np.concatenate([inside[:count], outside[:others]]))
    texts = [shape.posts[column] for column in columns.tolist()]
    return replace(shape, posts=texts, relevant=shape.relevant[:, columns])


def _foreign(language: str, count: int) -> list[str]:
    """Posts without labels in a language."""
    path = data_path("texts-other") / "posts.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        rows = map(json.loads, stream)
        texts = [row["text"] for row in rows if row["lang"] == language]
    order = np.random.default_rng(0).permutation(len(texts))[:count]
    return [texts[place] for place in order.tolist()]


def _post_as_seed(
    source: Source,
    generator: np.random.Generator,
    most: int,
    prefix: str = "",
    more: Sequence[str] = (),
) -> Shape:
    """One relevant post of an article asks for the others."""
    chosen = {
        article: str(generator.choice(sorted(posts)))
        for article, posts in source.answers.items()
        if len(posts) > 1 and article.startswith(prefix)
    }
    articles = evenly(list(chosen), most)
    seeds = [
        Article(f"{name} post", source.posts[chosen[name]].text) for name in articles
    ]
    taken = {chosen[name] for name in articles}
    ids = [post for post in source.ids if post not in taken and post.startswith(prefix)]
    name = f"post as seed: {source.name} {prefix}".strip()
    shape = source.shape(name, "post as seed", articles, ids, more)
    return replace(shape, seeds=seeds)


def shapes() -> Iterator[Shape]:
    """All pools."""
    generator = np.random.default_rng(0)
    taken = {
        same_text_key(post.text) for post in open_source("signal1m").posts.values()
    }
    others = trec_posts(21_000, without=taken)
    crises = Source("events-dev", ["dev"])
    news = Source("usatoday-cnn", ["train", "dev"])
    held = Source("usatoday-cnn", ["dev"])
    comments = Source("fox-comments", ["test"])
    danish = Source("dast-da", ["test"])
    politicians = Source("politifact-dev", ["dev"])
    newsrooms = Source("factcheck-dev", ["test"])
    claims = Source("claims-dev", ["test"])
    clickbait = Source("webis-clickbait", ["train"])
    for source in (comments, danish):
        yield source.shape(source.name, "comments", list(source.answers))
        for number, story in enumerate(evenly(list(source.answers), 3)):
            one = source.shape(f"{source.name} few {number}", "comments", [story])
            yield part(one, generator, 1500, 0.03)
    for source, most in ((politicians, 60), (newsrooms, 100)):
        articles = evenly(list(source.answers), most)
        yield source.shape(source.name, "fact checks", articles)
        many = others[:12_000]
        name = f"{source.name} many"
        yield source.shape(name, "needles", articles[:60], more=many)
    yield clickbait.shape(
        clickbait.name, "clickbait", evenly(list(clickbait.answers), 60)
    )
    for prefix, language in _LANGUAGES.items():
        asked = [article for article in claims.answers if article.startswith(prefix)]
        yield claims.shape(f"claims {language}", "claims", evenly(asked, 40))
        ids = [post for post in claims.ids if post.startswith(prefix)]
        more = _foreign(language, 4000)
        name = f"claims {language} alone"
        yield claims.shape(name, "needles", evenly(asked, 40), ids, more)
        if language in ("ar", "fr", "de"):
            yield _post_as_seed(claims, generator, 40, prefix, more[:3000])
    titles = newsrooms.shape(
        "factcheck-dev by title",
        "needles",
        evenly(list(newsrooms.answers), 60),
        more=others[:8000],
    )
    seeds = [replace(seed, text=seed.title, title="") for seed in titles.seeds]
    yield replace(titles, seeds=seeds)
    yield _post_as_seed(newsrooms, generator, 40)
    yield _post_as_seed(politicians, generator, 30)
    yield from _news(news, held, others, generator)
    yield from _crises(crises, others, generator)
    for source in (comments, danish):
        for (count, share), story in zip(_TINY, source.answers, strict=False):
            one = source.shape(f"tiny {source.name} {count} {share}", "tiny", [story])
            yield part(one, generator, max(count, 20), share)
    for source, count, share in (
        (newsrooms, 100, 0.1),
        (politicians, 60, 0.2),
        (claims, 80, 0.15),
    ):
        some = evenly(list(source.answers), 10)
        yield part(
            source.shape(f"tiny {source.name}", "tiny", some), generator, count, share
        )
    for source in (comments, danish, crises):
        stories = sorted(source.answers)[:10]
        for number, (story, (count, share)) in enumerate(
            zip(stories, (*_HANDFUL, *_HANDFUL), strict=False)
        ):
            one = source.shape(f"handful {source.name} {number}", "handful", [story])
            yield part(one, generator, count, share)


def _news(
    news: Source, held: Source, others: list[str], generator: np.random.Generator
) -> Iterator[Shape]:
    """Articles of events, by event and by article."""
    of_events = news.of_events()
    posts = sorted(set().union(*news.answers.values()))
    yield held.shape(
        "usatoday-cnn dev",
        "news events",
        list(held.answers),
        sorted(set().union(*held.answers.values())),
        others[:6000],
        held.of_events(),
        "event",
    )
    crowded = [articles for articles in news.events().values() if len(articles) > 2]
    crowded.sort(key=lambda articles: -len(of_events[articles[0]]))
    asked = [article for articles in crowded for article in articles]
    for by, answers in (("article", news.answers), ("event", of_events)):
        kind = "articles" if by == "article" else "news events"
        about: About = "article" if by == "article" else "event"
        name = f"usatoday-cnn train by {by}"
        yield news.shape(name, kind, evenly(asked, 60), posts, (), answers, about)
        for number, articles in enumerate(crowded[:4]):
            own = sorted(of_events[articles[0]])[:1500]
            more = others[: int(2.2 * len(own))]
            name = f"one event {number} by {by}"
            yield news.shape(
                name, kind, evenly(articles, 12), own, more, answers, about
            )
    first = [articles[0] for articles in news.events().values()]
    few = {
        article: set(generator.permutation(sorted(of_events[article]))[:_FEW].tolist())
        for article in first
    }
    yield news.shape(
        "usatoday-cnn few",
        "needle events",
        first,
        sorted(set().union(*few.values())),
        others[:15_000],
        few,
        "event",
    )
    for (count, share), article in zip(_TINY, first, strict=False):
        name = f"tiny news {count} {share}"
        own = sorted(of_events[article])
        one = news.shape(name, "tiny", [article], own, others[:300], of_events, "event")
        yield part(one, generator, count, share)


def _crises(
    crises: Source, others: list[str], generator: np.random.Generator
) -> Iterator[Shape]:
    """Crises, whole and in parts."""
    whole = crises.shape(crises.name, "crises", list(crises.answers))
    yield whole
    first = [articles[0] for articles in crises.events().values()]
    for share in _SHARES:
        some = generator.permutation(sorted(crises.answers))[:8].tolist()
        name = f"{crises.name} {share}"
        yield part(crises.shape(name, "crises", some), generator, 3000, share)
    for number, article in enumerate(first[:10]):
        share = (0.02, 0.05, 0.1, 0.2, 0.4)[number % 5]
        one = crises.shape(f"one crisis {number} {share}", "crises", [article])
        yield part(one, generator, 2500, share)
    for (count, share), article in zip(_TINY, first, strict=False):
        one = crises.shape(f"tiny crisis {count} {share}", "tiny", [article])
        yield part(one, generator, count, share)
    few = {
        article: set(
            generator.permutation(sorted(crises.answers[article]))[:_FEW].tolist()
        )
        for article in first
    }
    posts = sorted(set().union(*few.values()))
    yield crises.shape(
        "events-dev few", "needle events", first, posts, others[:15_000], few, "event"
    )
