"""Posts filtered per second: python -m benchmarks.scan --posts 100000 1000000.

`siamese-news filter` runs as a separate process on one thread, over invented posts of 14 words on
average, with frequencies as skewed as those of language (`invented`). Seconds are of
the wall clock from start to end, memory is the peak of the process. The scan alone is the
product of 5 seeds with posts that are vectors of 256 numbers, in the same blocks, with and without
aggregation and histogram.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import siamese_news
from benchmarks.measure import machine, side_by_side
from benchmarks.processes import SIAMESE_NEWS, measured
from siamese_news.data.records import Article
from siamese_news.model import BLOCK
from siamese_news.search.histogram import ScoreCounts
from siamese_news.search.seeds import MILLION, Seeds

SHIPPED = Path(siamese_news.__file__).parent / "pretrained"
TARGET_SCAN = 3_000_000  # posts a second, 5 seeds at 256 dimensions
TARGET_MEMORY = 1.5e9
SEEDS = 5
SIZE = 256
VECTORS = 500_000
# Share of the words of an invented post that the vocabulary lacks, and how many there are.
UNKNOWN = 0.058  # of all words: 10.4% of the content words
UNKNOWN_WORDS = 400_000
SIGNS = {
    "@user{number}": 0.377,
    "https://t.co/x{number}Z": 0.088,
    "#BostonMarathon": 0.223,
    "🔥": 0.001,
}
"""What ends a post, and the share of posts."""
# A process counts the memory of the one that started it, so a small one has to start it.


def made_word(rank: int, words: Sequence[str]) -> str:
    """A word that the vocabulary lacks: the beginning of one and the end of another."""
    first = words[rank * 7919 % len(words)]
    second = words[rank * 104_729 % len(words)]
    return f"{first[:5]}{second[-4:]}"


def invented(posts: int, words: list[str]) -> Iterator[bytes]:
    """JSON lines, the same every time: words as frequent as in real posts, and as often unknown.

    The shares of posts with a mention, a link, a hashtag and an emoji, and those of words that the
    vocabulary lacks, that begin with a capital and that end with a mark, are those of the real
    posts of `benchmarks.real_posts`, which prints most of them.
    """
    dice = np.random.default_rng(0)
    words = words[:50_000]
    weights = 1 / (np.arange(len(words)) + 3)
    bounds = np.cumsum(weights / weights.sum())
    number = 0
    while number < posts:
        size = min(10_000, posts - number)
        lengths = dice.integers(6, 23, size)
        picks = np.searchsorted(bounds, dice.random(lengths.sum()))
        picks = np.minimum(picks, len(words) - 1).tolist()
        # The rarer an unknown word, the more of its kind: ranks are uniform in their logarithm.
        ranks = np.exp(dice.random(lengths.sum()) * np.log(UNKNOWN_WORDS)).astype(int)
        unknown = dice.random(lengths.sum()) < UNKNOWN
        ranks = np.where(unknown, ranks, 0).tolist()
        has_sign = dice.random((size, len(SIGNS))) < np.array(list(SIGNS.values()))
        start = 0
        for length, signs in zip(lengths.tolist(), has_sign.tolist(), strict=True):
            places = range(start, start + length)
            sentence = " ".join(
                made_word(ranks[place], words) if ranks[place] else words[picks[place]]
                for place in places
            )
            text = f"{sentence.capitalize()}."
            start += length
            for sign, is_there in zip(SIGNS, signs, strict=True):
                if is_there:
                    text += f" {sign.format(number=number)}"
            row = {
                "id": str(10**18 + 977 * number),
                "created_at": f"2020-01-{number % 28 + 1:02}T03:04:05.000Z",
                "lang": "en",
                "author": f"user{number % 5000}",
                "text": text,
            }
            number += 1
            yield json.dumps(row, ensure_ascii=False).encode() + b"\n"


def filtered(
    folder: Path, model: Path, posts: int, threshold: float
) -> tuple[float, int, str]:
    """Seconds, peak bytes and last line of one run."""
    corpus = folder / "posts.jsonl"
    words = (model / "vocab.txt").read_text(encoding="utf-8").splitlines()
    with corpus.open("wb") as stream:
        stream.writelines(invented(posts, words))
    article = folder / "story.txt"
    article.write_text(
        "A flood in the town\n\nThe river rose at night and took the bridge.\n"
    )
    command = ["filter", "--model", model, "--articles", article, "--posts", corpus]
    command += ["--threshold", threshold, "--out", folder / "out.jsonl"]
    _, seconds, peak, errors = measured(*SIAMESE_NEWS, *command)
    corpus.unlink()
    return seconds, peak, errors.strip().splitlines()[-1].partition(": ")[2]


def scan_alone() -> dict[str, float]:
    """Posts per second of the product alone, and with aggregation and histogram."""
    dice = np.random.default_rng(0)
    vectors = dice.standard_normal((VECTORS, SIZE), dtype=np.float32) / 16
    articles = dice.standard_normal((SEEDS, SIZE), dtype=np.float32) / 16
    seeds = Seeds([Article(str(n), str(n)) for n in range(SEEDS)], one_story=True)

    def product() -> None:
        for start in range(0, VECTORS, BLOCK):
            articles @ vectors[start : start + BLOCK].T

    def combined() -> None:
        counts = ScoreCounts()
        for start in range(0, VECTORS, BLOCK):
            scores, _ = seeds.combine(articles @ vectors[start : start + BLOCK].T)
            counts.add(scores)
            np.flatnonzero(scores[0] >= MILLION)

    times = side_by_side(
        {"product": product, "product, aggregate, histogram": combined}, 5
    )
    return {name: VECTORS / sorted(values)[2] for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--model",
        type=Path,
        default=SHIPPED,
        help="model folder; default: the shipped model",
    )
    parser.add_argument("--posts", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--threshold", type=float, default=0.5)
    arguments = parser.parse_args()
    print(
        f"{machine()}; model {arguments.model.name}, threshold {arguments.threshold}\n"
    )
    print("| scan alone, 5 seeds, 256 dimensions | posts/s |")
    print("|---|---:|")
    for name, rate in scan_alone().items():
        met = f"target {TARGET_SCAN:,}: {'met' if rate >= TARGET_SCAN else 'not met'}"
        print(f"| {name} | {rate:,.0f} ({met}) |", flush=True)
    print("\n| posts | kept | seconds | posts/s | peak MB |")
    print("|---:|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for posts in arguments.posts:
            seconds, peak, summary = filtered(
                Path(folder), arguments.model, posts, arguments.threshold
            )
            met = "met" if peak < TARGET_MEMORY else "not met"
            print(
                f"| {posts:,} | {summary} | {seconds:.1f} | {posts / seconds:,.0f} | "
                f"{peak / 1e6:,.0f} (target {TARGET_MEMORY / 1e6:,.0f}: {met}) |",
                flush=True,
            )


if __name__ == "__main__":
    main()
