"""How much of the test side a model has already met in training."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from siamese_news.data.records import Collection
from siamese_news.data.splits import relevant_pairs

_LINKS = re.compile(r"https?://\S+|www\.\S+|@\w+")
_RETWEET = re.compile(r"^\s*rt\b")
_WORDS = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Leak:
    """Of `total` things on the test side, `seen` also occur in training."""

    seen: int
    total: int

    def __str__(self) -> str:
        share = 100 * self.seen / self.total if self.total else 0.0
        return f"{self.seen}/{self.total} ({share:.1f} %)"


def same_text_key(text: str) -> str:
    """What near-identical texts share: lower-case words without links, mentions and ``RT``."""
    return " ".join(_WORDS.findall(_RETWEET.sub("", _LINKS.sub(" ", text.lower()))))


def leaks(collection: Collection, *, train: str = "train", test: str = "test") -> dict[str, Leak]:
    """Count what of split `test` also occurs in split `train`.

    Returns:
        ``pairs`` (the same article and post), ``articles``, ``posts``, ``events`` (of the test
        articles), ``article_texts`` and ``post_texts`` (equal `same_text_key` under any id; texts
        without a word are not counted).
    """
    known = relevant_pairs(collection.split(train))
    asked = relevant_pairs(collection.split(test))

    def article_ids(pairs: Sequence[tuple[str, str]]) -> list[str]:
        return list(dict.fromkeys(article for article, _ in pairs))

    def post_ids(pairs: Sequence[tuple[str, str]]) -> list[str]:
        return list(dict.fromkeys(post for _, post in pairs))

    def events(pairs: Sequence[tuple[str, str]]) -> list[str]:
        found = (collection.articles[a].metadata.get("event") for a in article_ids(pairs))
        return list(dict.fromkeys(str(event) for event in found if event is not None))

    def article_texts(pairs: Sequence[tuple[str, str]]) -> list[str]:
        keys = (same_text_key(collection.articles[a].full_text) for a in article_ids(pairs))
        return [key for key in keys if key]

    def post_texts(pairs: Sequence[tuple[str, str]]) -> list[str]:
        keys = (same_text_key(collection.posts[p].text) for p in post_ids(pairs))
        return [key for key in keys if key]

    return {
        "pairs": _leak(known, asked),
        "articles": _leak(article_ids(known), article_ids(asked)),
        "posts": _leak(post_ids(known), post_ids(asked)),
        "events": _leak(events(known), events(asked)),
        "article_texts": _leak(article_texts(known), article_texts(asked)),
        "post_texts": _leak(post_texts(known), post_texts(asked)),
    }


def _leak(known: Iterable[object], asked: Sequence[object]) -> Leak:
    seen = set(known)
    return Leak(sum(item in seen for item in asked), len(asked))
