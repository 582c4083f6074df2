"""What the test part of a collection shares with its training part: python -m benchmarks.leaks.

One row for each way of splitting; needs the folders in $SIAMESE_NEWS_DATA.
"""

import argparse
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from siamese_news.data.records import Collection
from siamese_news.data.sources import open_source
from siamese_news.data.splits import relevant_pairs, resplit, same_text_key
from siamese_news.errors import InputError
from siamese_news.utils.markdown import markdown_table


@dataclass(frozen=True, slots=True)
class Leak:
    """Of `total` things on the test side, `seen` also occur in training."""

    seen: int
    total: int

    def __str__(self) -> str:
        share = 100 * self.seen / self.total if self.total else 0.0
        return f"{self.seen}/{self.total} ({share:.1f} %)"


def leaks(
    collection: Collection, *, train: str = "train", test: str = "test"
) -> dict[str, Leak]:
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
        found = (
            collection.articles[a].metadata.get("event") for a in article_ids(pairs)
        )
        return list(dict.fromkeys(str(event) for event in found if event is not None))

    def article_texts(pairs: Sequence[tuple[str, str]]) -> list[str]:
        keys = (
            same_text_key(collection.articles[a].full_text) for a in article_ids(pairs)
        )
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


def leak_report(collection: Collection, *, seed: int = 0) -> dict[str, dict[str, Leak]]:
    """`leaks` under each way of splitting that the collection allows.

    (No ``given`` without the files' own train and test; no ``event`` without events.)
    """
    report = {}
    for way in ("given", "pair", "article", "event"):
        with suppress(InputError):
            split = resplit(collection, by=way, fractions=(0.8, 0.1, 0.1), seed=seed)
            report[way] = leaks(split)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="usatoday-cnn", help="a folder, or `stories`")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random splits")
    arguments = parser.parse_args()
    report = leak_report(open_source(arguments.data), seed=arguments.seed)
    counts = [
        {name.replace("_", " "): str(n) for name, n in one.items()}
        for one in report.values()
    ]
    rows = [{"split by": way} | row for way, row in zip(report, counts, strict=True)]
    print(markdown_table(rows) if rows else "no split with both train and test pairs")


if __name__ == "__main__":
    main()
