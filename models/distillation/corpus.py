"""The texts that a student learns from: of pairs, of posts without articles, and cut from both."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from siamese_news.data.readers import open_posts
from siamese_news.data.sources import open_posts_of
from siamese_news.data.splits import same_text_key
from siamese_news.errors import InputError
from siamese_news.text import Tokenizer
from siamese_news.text.content_words import words_of
from siamese_news.training.datamodule import SiameseDataModule

#: A cut or a sample has at least so many words.
SHORTEST = 4


class CutOptions(TypedDict):
    """How more texts are made of a text; see `student_texts`."""

    passages: list[int]
    spans: int
    samples: int


def read_corpus(
    data: SiameseDataModule, task: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    """The training texts: articles and posts of the configuration, and posts without articles.

    A post without an article is left out if its text, links and case aside, occurs in a collection
    that ``task.leave_out`` names: it may be a distractor of a test.
    """
    articles: list[str] = []
    posts: list[str] = []
    for entry in data.data["train"]:
        collection = data.collection(entry["folder"])
        pairs = collection.split(entry["split"])
        articles += [collection.articles[article].full_text for article in pairs]
        linked = dict.fromkeys(post for judged in pairs.values() for post in judged)
        posts += [collection.posts[post].text for post in linked]
    if task["unlabeled"]:
        left_out, more = (
            [
                post.text
                for folder in task[which]
                for post in open_posts_of(folder).values()
            ]
            for which in ("leave_out", "unlabeled")
        )
        left_out_keys = set(map(same_text_key, left_out))
        posts += [text for text in more if same_text_key(text) not in left_out_keys]
    return articles, posts


def count_words(
    texts: Sequence[str], task: Mapping[str, Any]
) -> tuple[list[str], np.ndarray]:
    """The words of the vocabulary, the most frequent first, and the number of texts with each.

    The texts are read twice, because hashtags are cut by the words of the first reading.
    """
    for option in ("max_words", "min_texts"):
        if task[option] < 1:
            raise InputError(f"task.{option}={task[option]}: expected 1 or more")
    words: list[str] = []
    for _ in range(2):
        tokenizer = Tokenizer(words=words or None, **task["tokenizer"])
        frequencies = Counter(
            word for text in texts for word in set(words_of(tokenizer(text)))
        )
        ranked = [
            (-n, word) for word, n in frequencies.items() if n >= task["min_texts"]
        ]
        words = [word for _, word in sorted(ranked)[: task["max_words"]]]
    if not words:
        raise InputError(
            f"no word occurs in task.min_texts={task['min_texts']} of {len(texts)} training texts; "
            "give more text or a smaller number"
        )
    return words, np.array([frequencies[word] for word in words], np.int32)


def read_texts(paths: str | Sequence[str]) -> list[str]:
    """The texts of files and folders of posts in any format that `open_posts` reads.

    Raises:
        InputError: a path does not exist, or has no posts.
    """
    sources = [paths] if isinstance(paths, str) else list(paths)
    for path in sources:
        if not Path(path).exists():
            raise InputError(
                f"data.texts={path}: no such file or folder; expected posts or articles, such as "
                "JSON lines, CSV, a folder of them, or a dump of a platform"
            )
    return [post.text for post in open_posts(sources)]


def student_texts(
    articles: Sequence[str], posts: Sequence[str], options: CutOptions, *, seed: int
) -> list[str]:
    """What a student reads, each text once: passages of the articles, posts, and parts of both.

    Args:
        articles: long texts.
        posts: short texts.
        options: ``passages``, lengths in words: an article is cut into consecutive passages of each
            of them. ``spans``, how many runs of neighboring words of random length are added for
            each text, and ``samples``, how many random choices of its words in their order, which
            read as a list of keywords does.
        seed: of the random parts.
    """
    for name, number in options.items():
        sizes = number if isinstance(number, list) else [number]
        least = 1 if name == "passages" else 0
        if min(sizes, default=least) < least:
            raise InputError(f"task.cut.{name}={number}: expected {least} or more")
    generator = np.random.default_rng(seed)
    whole = [" ".join(text.split()) for text in posts]
    whole += [
        passage for text in articles for passage in _passages(text, options["passages"])
    ]
    parts = [
        part for text in whole for part in _parts(text.split(), options, generator)
    ]
    return [text for text in dict.fromkeys([*whole, *parts]) if text]


def _passages(text: str, lengths: Sequence[int]) -> Iterator[str]:
    words = text.split()
    for length in lengths:
        for start in range(0, len(words), length):
            yield " ".join(words[start : start + length])


def _parts(
    words: Sequence[str], options: CutOptions, generator: np.random.Generator
) -> Iterator[str]:
    """Random spans and samples of a text that is long enough to have some."""
    count = len(words)
    if count < 2 * SHORTEST:
        return
    for _ in range(options["spans"]):
        length = int(generator.integers(SHORTEST, count))
        start = int(generator.integers(0, count - length + 1))
        yield " ".join(words[start : start + length])
    for _ in range(options["samples"]):
        size = int(generator.integers(SHORTEST, 2 * SHORTEST + 1))
        places = np.sort(generator.choice(count, min(size, count), replace=False))
        yield " ".join(words[place] for place in places)
