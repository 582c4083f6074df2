"""A search and what comes after it, on posts of real words: python -m benchmarks.real_posts.

The posts are those of five collections in SIAMESE_NEWS_DATA, in random order, and then posts of the
first half of one and the second half of another, so that their words, mentions, links and emoji
are as frequent as people have them; the first line says how frequent. Every command is a process
of its own on one thread. With --since, the revision that it names and this one run in turns.
"""

import argparse
import json
import os
import random
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.measure import machine
from benchmarks.processes import SIAMESE_NEWS, measured
from benchmarks.speed_history import write_revision
from siamese_news.data.articles import read_articles
from siamese_news.data.readers import open_posts
from siamese_news.model.loading import open_model
from siamese_news.model.text_model import TextModel
from siamese_news.utils.provenance import provenance

COLLECTIONS = "usatoday-cnn signal1m crisislex-boston events-dev trec-microblog".split()
ACCEPTED = 211  # posts whose keywords are asked for
FEW = 100_000  # of which all are kept
EMOJI = range(0x1F300, 0x1FB00)
# A process counts the memory of the process that started it, so a small one has to.


def texts(data: Path) -> Iterator[str]:
    """Texts without end, the same every time."""
    different: dict[str, None] = {}
    for name in COLLECTIONS:
        posts = open_posts(data / name / "corpus.jsonl.gz")
        different |= dict.fromkeys(" ".join(post.text.split()) for post in posts)
    dice = random.Random(0)
    real = sorted(filter(None, different))
    dice.shuffle(real)
    yield from real
    while True:
        first, second = dice.choice(real).split(), dice.choice(real).split()
        yield " ".join([*first[: len(first) // 2], *second[len(second) // 2 :]])


def row(number: int, text: str) -> bytes:
    """The line of a post in a file of JSON lines."""
    post = {"id": str(10**18 + 977 * number), "text": text}
    return f"{json.dumps(post, ensure_ascii=False)}\n".encode()


def described(posts: Sequence[str]) -> str:
    """How frequent words outside the vocabulary, mentions, links, hashtags and emoji are."""
    model = open_model(None)
    assert isinstance(model, TextModel)
    ids = model.token_ids(posts).flat
    unknown = (ids >= len(model.vocabulary)).mean()
    signs = {"a mention": "@", "a link": "http", "a hashtag": "#"}
    shares = {
        name: sum(sign in text for text in posts) / len(posts)
        for name, sign in signs.items()
    }
    shares["an emoji"] = sum(
        any(ord(character) in EMOJI for character in text) for text in posts
    ) / len(posts)
    with_signs = ", ".join(f"{share:.1%} with {name}" for name, share in shares.items())
    return (
        f"{unknown:.1%} of the content words are outside the vocabulary; {with_signs}"
    )


def commands(folder: Path, posts: int) -> Iterator[tuple[str, list[Any], Path]]:
    """What is measured, in an order in which each finds its files, and what it writes."""
    seed = ["--articles", folder / "story.txt"]
    pool = ["--posts", folder / "posts.jsonl"]
    matches, out = folder / "matches.jsonl", folder / "out.jsonl"
    search = ["filter", *seed, "--force"]
    yield (
        f"`filter --threshold 0.5` of {posts:,} posts",
        [*search, *pool, "--threshold", 0.5, "--out", matches],
        matches,
    )
    lines = matches.read_bytes().splitlines(keepends=True)
    some = random.Random(0).sample(lines, min(ACCEPTED, len(lines)))
    (folder / "accepted.jsonl").write_bytes(b"".join(some))
    rest = ["--out", out, "--format", "jsonl", "--force"]
    yield (
        f"`keywords` of {len(some)} of the results",
        ["keywords", "--results", folder / "accepted.jsonl", *pool, *rest],
        out,
    )
    post = ["--post", json.loads(some[0])["post"]]
    yield "`explain` of one of them", ["explain", *seed, *pool, *post, *rest], out
    few = ["--posts", folder / "few.jsonl", "--out", out]
    yield (
        f"`filter` of {FEW:,} posts that keeps none",
        [*search, *few, "--min-score", 0.9],
        out,
    )
    yield (
        f"`filter` of {FEW:,} posts that keeps all over 0",
        [*search, *few, "--min-score", 0],
        out,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--posts", type=int, default=250_000)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--since", help="a revision to compare with")
    arguments = parser.parse_args()
    data = Path(os.environ["SIAMESE_NEWS_DATA"])
    here = str(provenance()["revision"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        real = list(islice(texts(data), max(arguments.posts, FEW)))
        rows = [row(number, text) for number, text in enumerate(real)]
        for file, count in (("posts.jsonl", arguments.posts), ("few.jsonl", FEW)):
            (folder / file).write_bytes(b"".join(rows[:count]))
        article = read_articles([data / "crisislex-boston" / "queries.jsonl.gz"])[0]
        (folder / "story.txt").write_text(article.full_text, encoding="utf-8")
        print(f"{machine()}; seed 0; real words: {described(real[:FEW])}\n")
        of_source: dict[str, dict[str, str]] = {here: {}}
        if arguments.since:
            older = write_revision(arguments.since, folder / "older")
            of_source = {arguments.since: {"PYTHONPATH": str(older)}, here: {}}
        print(
            f"| real words | {' | '.join(f'{s}: CPU s, MB' for s in of_source)} | same bytes |"
        )
        print("|---|" + "---:|" * (len(of_source) + 1))
        for what, command, out in commands(folder, arguments.posts):
            cells: dict[str, list[tuple[float, int]]] = {name: [] for name in of_source}
            written = set()
            for _ in range(arguments.turns):
                for name in of_source:
                    done = measured(
                        *SIAMESE_NEWS, *command, environment=of_source[name]
                    )
                    cells[name].append((done.cpu, done.peak))
                    written.add(out.read_bytes())
            texts_of_cells = [
                f"{statistics.median(seconds for seconds, _ in runs):.1f}, "
                f"{max(peak for _, peak in runs) / 1e6:,.0f}"
                for runs in cells.values()
            ]
            same = "yes" if len(written) == 1 else "no"
            print(f"| {what} | {' | '.join(texts_of_cells)} | {same} |", flush=True)


if __name__ == "__main__":
    main()
