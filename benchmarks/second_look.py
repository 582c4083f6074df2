"""What a second look brings on dev pools: python -m benchmarks.second_look MODEL [--every N].

MODEL is ``star``, a folder as for ``--second-look``, or ``minilm`` or ``mpnet``, the encoders of the
leaderboard. Each seed is a question of its own, as `siamese-news rank` asks it; *alone* is the
order by the model's own cosines, *as --model* that by its cosines with our words. *Micro* is the
average precision of all pairs of a seed and a post in one list, *right* the share of relevant posts
among those with a relevance of .5 or more, both by the first look and with the second. Seconds are of
the processor, for a question with the number of posts that the scores say: what the model needs for
the seed, and for the posts that no seed before had among its best.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.leaderboard.sentences import ENCODERS, SentenceEncoder
from benchmarks.measure import machine
from siamese_news.data.sources import open_source
from siamese_news.model.loading import (
    ExternalModel,
    is_cross_encoder,
    library_of,
    open_model,
)
from siamese_news.model.text_model import STAR, TextModel
from siamese_news.scoring import observe_all, open_scorer
from siamese_news.search.list_relevance import list_relevance
from siamese_news.search.query import SHIPPED_STAR
from siamese_news.search.second_look import SecondLook
from siamese_news.search.seeds import MILLION, Seeds
from siamese_news.utils.markdown import markdown_table

POOLS = {
    "politifact-dev": "dev",
    "factcheck-dev": "test",
    "claims-dev": "test",
    "events-dev": "dev",
    "fox-comments": "test",
    "dast-da": "test",
    "webis-clickbait": "train",
}
COUNTS = (50, 200, None, 5000)
"""Posts of a list that are read; None: as many as the scores say."""

_SEEDS = 100  # that are scored at once


def average_precision(scores: np.ndarray, relevant: np.ndarray) -> float:
    """Of one list."""
    hits = relevant[np.argsort(-scores, kind="stable")]
    return float((np.cumsum(hits)[hits] / (np.flatnonzero(hits) + 1)).mean())


def figures(name: str, folder: Path, every: int) -> dict[str, str]:
    """A row of the table.

    Args:
        name: of the pool.
        folder: of the model.
        every: only one seed of so many.
    """
    collection = open_source(name)
    qrels = collection.split(POOLS[name])
    seeds = [collection.articles[id] for id in list(qrels)[::every]]
    ids = list(collection.posts)
    all_posts = list(collection.posts.values())
    texts = [post.text for post in all_posts]
    model = open_model()
    scores = []
    factors = []
    decided = []
    floors: list[int] = []
    for start in range(0, len(seeds), _SEEDS):
        some = seeds[start : start + _SEEDS]
        scorer = open_scorer(model, [a.full_text for a in some])
        scorer = observe_all(scorer, texts)
        scores.append(scorer.scores(texts))
        factors.append(scorer.scales())
        decided.append(scorer.agreement())
        relevance = list_relevance(scorer, Seeds(some), model.calibration)
        floors += [relevance.least(number, 0.5) for number in range(len(some))]
    scales = np.concatenate(factors)
    agreed = np.concatenate(decided)
    first = np.rint(np.concatenate(scores).astype(np.float64) * MILLION).astype(
        np.int64
    )
    relevant = np.array([[qrels[a.id].get(id, 0) > 0 for id in ids] for a in seeds])

    def mean(lists: np.ndarray) -> str:
        pairs = zip(lists, relevant, strict=True)
        return f"{np.mean([average_precision(*pair) for pair in pairs]):.4f}"

    def micro(lists: np.ndarray) -> str:
        return f"{average_precision(lists.ravel(), relevant.ravel()):.4f}"

    def right(lists: np.ndarray) -> str:
        kept = lists >= np.array(floors)[:, None]
        return f"{np.count_nonzero(relevant[kept])} of {np.count_nonzero(kept)}"

    def texts_at(places: np.ndarray) -> list[str]:
        return [texts[place] for place in places.tolist()]

    row = {
        "pool": name,
        "seeds": f"{len(seeds):,}",
        "posts": f"{len(ids):,}",
        "first": mean(first),
    }
    for count in (None, *(one for one in COUNTS if one)):
        look = SecondLook(folder, Seeds(seeds), count)
        look.read_sample(all_posts)
        used = time.process_time()
        lists = first.copy()
        for number, line in enumerate(lists):
            order = np.argsort(-line, kind="stable")
            look.reread(number, line, order, texts_at, scales, agreed)
        used = time.process_time() - used
        if count is None:
            row["seconds"] = f"{used / len(seeds):.2f}"
            row["micro"] = f"{micro(first)}, {micro(lists)}"
            row["right"] = f"{right(first)}, {right(lists)}"
        row["by the scores" if count is None else f"{count:,}"] = mean(lists)
    if not is_cross_encoder(folder):
        other = _opened(folder)
        cosines = (
            other.encode_articles([a.full_text for a in seeds])
            @ other.encode_posts(texts).T
        )
        row["alone"] = mean(cosines)
        scorer = open_scorer(other, [a.full_text for a in seeds])
        scorer = observe_all(scorer, texts)
        row["as --model"] = mean(scorer.scores(texts))
    return row


def _opened(folder: Path) -> TextModel:
    if folder == SHIPPED_STAR:
        return open_model(STAR)
    return ExternalModel(folder) if library_of(folder) else open_model(folder)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--every", type=int, default=1, help="only one seed of so many")
    parser.add_argument("--pools", nargs="*", choices=POOLS, default=list(POOLS))
    options = parser.parse_args()
    named = options.model in ENCODERS
    folder = SentenceEncoder(options.model).folder if named else Path(options.model)
    with tempfile.TemporaryDirectory() as cache:  # so that every run reads all texts
        os.environ["SIAMESE_NEWS_CACHE"] = cache
        rows = [figures(name, folder, options.every) for name in options.pools]
    print(markdown_table(rows))
    print(f"{machine()}; every seed number {options.every} of each pool")


if __name__ == "__main__":
    main()
