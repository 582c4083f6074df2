"""Whether plans over a cleaned copy of the same posts are recognized, and unrelated ones are not.

``python -m benchmarks.same_posts [--parts copies translations alarms]``: for pools of one platform,
the share of the copies with new ids that a list of plans recognizes, whole and as a random third,
by the way their texts were cleaned or translated; and the share of pairs of unrelated pools that it
takes for related. Needs ``pip install snowballstemmer`` and the folders in $SIAMESE_NEWS_DATA.

Translations are of two kinds: the words of a tweet are gone, and links, names of users and hashtags
stay, as a translator leaves them; and lines of subtitles with their English by people
(``texts-other``, 1,000 lines of each language), which have no such marks.

The pools are the events of ``events-dev`` and ``usatoday-cnn`` (in quarters for the pairs), the
stories of ``fox-comments`` and ``dast-da``, and ``trec-microblog`` in pools of 1,000 posts drawn at
random, which report the same news in the same weeks. The limits were chosen on the events.
"""

import argparse
import gzip
import json
import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, count
from pathlib import Path

import numpy as np
import snowballstemmer
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from siamese_news.data.sources import open_posts_of, open_source
from siamese_news.utils.markdown import markdown_table
from siamese_news_desk.decide.bounds.hypergeometric import interval
from siamese_news_desk.decide.plan.population import Population
from siamese_news_desk.decide.plan.sketch import Relation, Sketch
from siamese_news_desk.decide.plan.texts import Texts

_ENGLISH = snowballstemmer.stemmer("english")
_PORTER = snowballstemmer.stemmer("porter")
_WORD = re.compile(r"\w+")
_FEWEST = 100  # posts of a pool
_QUARTERS = 4
_DRAWN = 1000
# A plan over such posts pays, or, by their marks alone, is named.
_NOTICED = (Relation.SAME, Relation.PART, Relation.MARKS)

Pools = dict[str, list[str]]
"""The texts of pools by name; those of one event or story begin with its name."""


def without_stop_words(text: str) -> str:
    words = text.split()
    return " ".join(
        w for w in words if w.lower().strip(".,!?:;'\"") not in ENGLISH_STOP_WORDS
    )


def stemmed(text: str) -> str:
    return " ".join(_ENGLISH.stemWords(_WORD.findall(text.lower())))


def stemmed_without_stop_words(text: str) -> str:
    plain = re.sub(r"https?://\S+|@\w+", "", text.lower())
    words = [w for w in _WORD.findall(plain) if w not in ENGLISH_STOP_WORDS]
    return " ".join(_PORTER.stemWords(words))


def tweet_tokens(text: str) -> str:
    shortened = re.sub(r"(\w)\1{2,}", r"\1\1", text)
    return " ".join(re.findall(r"[#@]?\w[\w'-]*|[^\w\s]", shortened))


def letters_alone(text: str) -> str:
    words = re.sub(r"[^a-zA-Z ]", "", text.lower()).split()
    return " ".join(word for word in words if len(word) > 2)


def hashtags_split(text: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text.replace("#", ""))


def pieces_of_words(text: str) -> str:
    words = _WORD.findall(text.lower())
    return " ".join(
        piece
        for word in words
        for piece in ([word] if len(word) < 8 else [word[:6], f"##{word[6:]}"])
    )


def words_sorted(text: str) -> str:
    return " ".join(sorted(text.lower().split()))


def marks_alone(text: str) -> str:
    return " ".join(re.findall(r"https?://\S+|[@#]\w+", text))


CLEANINGS: list[Callable[[str], str]] = [
    without_stop_words,
    stemmed,
    stemmed_without_stop_words,
    tweet_tokens,
    letters_alone,
    hashtags_split,
    pieces_of_words,
    words_sorted,
]


def events() -> Pools:
    """The events of two collections of tweets."""
    pools: Pools = defaultdict(list)
    for name, field in (("events-dev", "collected_for"), ("usatoday-cnn", "event")):
        for post in open_source(name).posts.values():
            pools[f"{name}/{post.metadata[field]}"].append(post.text)
    return _large(pools)


def halves(divisions: int = 20) -> Iterator[tuple[list[str], list[str]]]:
    """Random halves of development pools, whose posts are about the same matters."""
    for name in ("claims-dev", "factcheck-dev", "politifact-dev", "fox-comments"):
        texts = [post.text for post in open_posts_of(name).values()]
        for seed in range(divisions):
            order = np.random.default_rng(seed).permutation(len(texts))
            yield [texts[n] for n in order[::2]], [texts[n] for n in order[1::2]]


def stories() -> Pools:
    """The comments on the stories of two collections."""
    pools: Pools = defaultdict(list)
    for name in ("fox-comments", "dast-da"):
        source = open_source(name)
        for article, grades in source.split("test").items():
            relevant = [post for post, grade in grades.items() if grade > 0]
            pools[f"{name}/{article}"] += [source.posts[p].text for p in relevant]
    return _large(pools)


def weeks(seed: int = 0) -> Pools:
    """Random pools of one stream of tweets."""
    texts = [post.text for post in open_posts_of("trec-microblog").values()]
    order = np.random.default_rng(seed).permutation(len(texts))
    return {
        f"trec-microblog/{start}": [texts[n] for n in order[start : start + _DRAWN]]
        for start in range(0, len(texts) - _DRAWN, _DRAWN)
    }


def _large(pools: Pools) -> Pools:
    return {name: texts for name, texts in pools.items() if len(texts) >= _FEWEST}


class Sketches:
    """Sketches of pools, by the functions of the product; every pool has ids of its own."""

    def __init__(self, folder: Path) -> None:
        self._numbers = count()
        self._folder = folder

    def of(self, texts: Iterable[str]) -> Sketch:
        """The sketch of posts with these texts."""
        number = next(self._numbers)
        path = self._folder / f"{number}.jsonl"
        with path.open("w", encoding="utf-8") as stream:
            for row, text in enumerate(texts):
                post = {"post": f"file {number}:{row}", "score": 1 / (row + 2)}
                stream.write(json.dumps({**post, "text": text}) + "\n")
        population = Population(path)
        sketch = Sketch.of(population, Texts(population))
        path.unlink()
        return sketch


def quarters(pools: Pools) -> Iterator[tuple[str, list[str]]]:
    """Each pool in four, with the name of its event."""
    for name, texts in pools.items():
        if len(texts) >= _QUARTERS * _FEWEST:
            for number in range(_QUARTERS):
                yield name, texts[number::_QUARTERS]
        else:
            yield name, texts


def copies(
    pools: Pools, cleanings: Iterable[Callable[[str], str]], sketches: Sketches
) -> list[list[str]]:
    """For each cleaning, the recognized copies and thirds of these pools."""
    whole = [sketches.of(texts) for texts in pools.values()]
    rows = []
    for clean in cleanings:
        recognized = []
        for part in (1, 3):
            made = [
                sketches.of([clean(text) for text in texts[::part]])
                for texts in pools.values()
            ]
            pairs = zip(whole, made, strict=True)
            relations = [a.relation(b) for a, b in pairs]
            recognized.append(sum(relation in _NOTICED for relation in relations))
        total = len(pools)
        rows.append(
            [clean.__name__.replace("_", " "), *(f"{n} of {total}" for n in recognized)]
        )
    return rows


def subtitles(sketches: Sketches) -> str:
    """How many pools of lines are recognized in their English, in words."""
    languages: dict[str, list[dict[str, str]]] = defaultdict(list)
    path = Path(os.environ["SIAMESE_NEWS_DATA"]) / "texts-other" / "pairs.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            row = json.loads(line)
            languages[row["lang"]].append(row)
    related = [
        sketches.of(row["text"] for row in rows[:_DRAWN]).relation(
            sketches.of(row["english"] for row in rows[:_DRAWN])
        )
        in _NOTICED
        for rows in languages.values()
        if len(rows) >= _DRAWN
    ]
    return f"{sum(related)} of {len(related)} languages recognized in English"


def alarms(pools: Iterable[tuple[str, list[str]]], sketches: Sketches) -> list[int]:
    """How many pairs of pools of different events are taken for related, and of how many."""
    made = [(name, sketches.of(texts)) for name, texts in pools]
    related = [
        first.relation(second) in _NOTICED
        for (one, first), (other, second) in combinations(made, 2)
        if one != other and one.split("/")[0] == other.split("/")[0]
    ]
    return [sum(related), len(related)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("copies", "translations", "alarms")
    parser.add_argument("--parts", nargs="+", choices=parts, default=parts)
    options = parser.parse_args()
    cleanings = [
        *(CLEANINGS if "copies" in options.parts else ()),
        *([marks_alone] if "translations" in options.parts else ()),
    ]
    with tempfile.TemporaryDirectory() as folder:
        sketches = Sketches(Path(folder))
        if "translations" in options.parts:
            print(f"subtitles: {subtitles(sketches)}")
        if "alarms" in options.parts:
            pairs = [(sketches.of(a), sketches.of(b)) for a, b in halves()]
            related = sum(a.relation(b) in _NOTICED for a, b in pairs)
            print(f"halves of a pool: {related} of {len(pairs)} taken for related")
        kinds = {"events": events(), "stories": stories()}
        kinds["a stream"] = weeks()
        for name, pools in kinds.items():
            some = dict(list(pools.items())[:30])
            if cleanings:
                print(f"\n{name}: copies recognized")
                columns = ["cleaning", "whole", "a random third"]
                rows = [
                    dict(zip(columns, row, strict=True))
                    for row in copies(some, cleanings, sketches)
                ]
                print(markdown_table(rows), flush=True)
            if "alarms" not in options.parts:
                continue
            wrong, total = (
                alarms(quarters(pools), sketches)
                if name == "events"
                else alarms(pools.items(), sketches)
            )
            low, high = interval(wrong, total)
            print(
                f"{name}: {wrong} of {total:,} unrelated pairs [{low:.4%}, {high:.4%}]",
                flush=True,
            )


if __name__ == "__main__":
    main()
