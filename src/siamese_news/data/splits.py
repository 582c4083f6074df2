"""Relevant pairs, and their splits into train, dev and test: as in the files, or new ones."""

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from siamese_news.data.records import Article, Collection, Post, Qrels
from siamese_news.errors import InputError
from siamese_news.utils.choices import check_choice
from siamese_news.utils.terminal import counted

_LINKS = re.compile(r"https?://\S+|www\.\S+|@\w+")
_RETWEET = re.compile(r"^\s*rt\b")
_WORDS = re.compile(r"\w+")


def relevant_pairs(qrels: Mapping[str, Mapping[str, int]]) -> list[tuple[str, str]]:
    """All (article id, post id) with a grade of 1 or more, in the order of the qrels."""
    return [
        (article, post)
        for article, judged in qrels.items()
        for post, grade in judged.items()
        if grade >= 1
    ]


def same_text_key(text: str) -> str:
    """The key of near-identical texts: lower-case words without links, mentions and ``RT``."""
    return " ".join(_WORDS.findall(_RETWEET.sub("", _LINKS.sub(" ", text.lower()))))


def same_event_qrels(articles: Iterable[Article], posts: Iterable[Post]) -> Qrels:
    """Relevance by event: a post is relevant to every article with its ``metadata.event``.

    Articles and posts without an event have no relevant partner.
    """
    by_event: dict[str, dict[str, int]] = defaultdict(dict)
    for post in posts:
        if (event := post.metadata.get("event")) is not None:
            by_event[str(event)][post.id] = 1
    events = {article.id: article.metadata.get("event") for article in articles}
    event_of = {id: str(event) for id, event in events.items() if event is not None}
    return {
        id: dict(by_event[event]) for id, event in event_of.items() if event in by_event
    }


SPLITS = ("train", "dev", "test")
SplitBy = Literal["given", "pair", "article", "event"]


def resplit(
    collection: Collection,
    *,
    by: SplitBy,
    fractions: Sequence[float] = (0.8, 0.1, 0.1),
    seed: int = 0,
) -> Collection:
    """The same articles and posts with new ``train``, ``dev`` and ``test`` pairs.

    Args:
        collection: all its splits are pooled first.
        by: ``"given"`` changes nothing. ``"pair"`` deals single pairs at random, as the paper
            did (Adaptive Siamese Transformer, section 4): most test articles are then seen in
            training. ``"article"`` keeps an article's pairs together, ``"event"`` those of all
            articles with one ``metadata.event``.
        fractions: shares of the pairs (by pair), articles or events that go to train, dev and
            test; they sum to 1. A share above 0 gets at least one where there are enough.
        seed: the same seed makes the same splits, whatever the order of the files.

    Raises:
        InputError: for another `by`, other fractions, an article without the event it needs, too
            few units to cut.
    """
    check_choice("data.split.by", by, SplitBy)
    if by == "given":
        return collection
    shares = [float(share) for share in fractions]
    if len(shares) != 3 or min(shares) < 0 or abs(sum(shares) - 1) > 1e-6:
        raise InputError(
            f"data.split.fractions is {list(fractions)}, expected three numbers of 0 or more "
            "(train, dev, test) that sum to 1, such as [0.8, 0.1, 0.1]"
        )
    pooled = pool_qrels(collection.qrels)
    unit = _unit(collection, by)
    pairs = [
        (article, post, grade)
        for article, judged in pooled.items()
        for post, grade in judged.items()
        if by != "pair" or grade >= 1
    ]
    # Sorted, so that the order of lines and files does not matter.
    units = sorted({unit(article, post) for article, post, _ in pairs}, key=repr)
    needed = sum(share > 0 for share in shares)
    if len(units) < needed:
        raise InputError(
            f"collection '{collection.name}' has {counted(len(units), by)} to split, expected at "
            f"least {needed}; set data.split.by=given"
        )
    order = np.random.default_rng([seed, len(units)]).permutation(len(units))
    split_of = dict(
        zip((units[i] for i in order), _deal(len(units), shares), strict=True)
    )
    qrels: dict[str, Qrels] = {name: {} for name in SPLITS}
    for article, post, grade in pairs:
        name = split_of[unit(article, post)]
        qrels[name].setdefault(article, {})[post] = grade
    return replace(
        collection,
        qrels={name: split for name, split in qrels.items() if relevant_pairs(split)},
    )


HELD_OUT = "held_out"


def hold_out(collection: Collection, split: str, share: float, seed: int) -> Collection:
    """The same collection with a share of one split moved to the split ``held_out``.

    Articles of one event stay together if every article of the split names its event. At least one
    event or article is taken, and at least one is left.

    Raises:
        InputError: the share is not between 0 and 1, or there is only one event or article.
    """
    if not 0 < share < 1:
        raise InputError(
            f"the share to hold out is {share}, expected a number between 0 and 1"
        )
    pairs = collection.split(split)
    events = {
        article: collection.articles[article].metadata.get("event") for article in pairs
    }
    by_event = all(event is not None for event in events.values())
    unit = {article: str(events[article]) if by_event else article for article in pairs}
    units = sorted(set(unit.values()))
    if len(units) < 2:
        raise InputError(
            f"split '{split}' of '{collection.name}' has "
            f"{counted(len(units), 'event' if by_event else 'article')}, expected at least 2 to "
            "hold one out"
        )
    count = min(len(units) - 1, max(1, round(share * len(units))))
    order = np.random.default_rng([seed, len(units)]).permutation(len(units))
    held_units = {units[index] for index in order[:count]}
    qrels = dict(collection.qrels)
    qrels[split] = {
        a: judged for a, judged in pairs.items() if unit[a] not in held_units
    }
    qrels[HELD_OUT] = pool_qrels(
        {
            "before": qrels.get(HELD_OUT, {}),
            "now": {a: judged for a, judged in pairs.items() if unit[a] in held_units},
        }
    )
    return replace(collection, qrels=qrels)


def pool_qrels(splits: Mapping[str, Qrels]) -> Qrels:
    """All splits' pairs as one; where two splits grade one pair, the higher grade counts."""
    pooled: Qrels = {}
    for name in sorted(splits):
        for article, judged in splits[name].items():
            target = pooled.setdefault(article, {})
            for post, grade in judged.items():
                target[post] = max(grade, target.get(post, grade))
    return pooled


def _unit(collection: Collection, by: SplitBy) -> Callable[[str, str], Hashable]:
    if by == "pair":
        return lambda article, post: (article, post)
    if by == "article":
        return lambda article, post: article

    def event(article: str, post: str) -> Hashable:
        value = collection.articles[article].metadata.get("event")
        if value is None:
            raise InputError(
                f"collection '{collection.name}': article '{article}' has no metadata.event, "
                "which data.split.by=event needs; use data.split.by=article"
            )
        return str(value)

    return event


def _deal(count: int, shares: Sequence[float]) -> list[str]:
    """`count` split names in order, by largest remainder, at least one for a share above 0."""
    exact = [count * share for share in shares]
    sizes = [
        max(int(value), int(share > 0))
        for value, share in zip(exact, shares, strict=True)
    ]
    while sum(sizes) > count:
        sizes[sizes.index(max(sizes))] -= 1
    while sum(sizes) < count:
        gaps = [
            value - size if value else -count
            for value, size in zip(exact, sizes, strict=True)
        ]
        sizes[gaps.index(max(gaps))] += 1
    return [name for name, size in zip(SPLITS, sizes, strict=True) for _ in range(size)]
