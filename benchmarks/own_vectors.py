"""Word vectors of the posts themselves beside GloVe: do samCNN's attentions rank better with them?

    python -m benchmarks.own_vectors [--out bench-results/own_vectors.bin] [--epochs 10]

Needs SIAMESE_NEWS_DATA and SIAMESE_NEWS_VECTORS. FastText of gensim learns 100-d vectors of words
and of their character n-grams, which give rare words theirs, from the posts of the reranking
collection (all years: texts alone, no judgement) and of the shared collections that are no test. A
word's vector is GloVe's, zeros where it has none, followed by this one at GloVe's mean length.
Writes a word2vec file that `vectors.source` takes:

    python -m siamese_news.train experiment=rerank_samcnn ranker=patt fold=2013 \
        vectors.source=$PWD/bench-results/own_vectors.bin
"""

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.sources import open_posts_of
from siamese_news.text.tokens import Tokenizer
from siamese_news.text.vectors import load_vectors
from siamese_news.training.rerank.data import read_reranking
from siamese_news.utils.files import atomic_write

GLOVE = "glove.6B.100d.150k.bin.gz"
COLLECTION = "trec-microblog"
OTHERS = (
    "events-dev", "politifact-dev", "facebook-teasers", "webis-clickbait", "fnc1", "reuters",
)  # fmt: skip
LEAST = 2  # a word that occurs once joins no two texts


def sentences() -> list[list[str]]:
    """The tokens of every post; those of the reranking collection are tokenised already."""
    posts = [text.split() for text in read_reranking(COLLECTION).posts.values()]
    tokenize = Tokenizer(urls="drop", mentions="drop")
    for name in OTHERS:
        posts += [tokenize(post.text) for post in open_posts_of(name).values()]
    return posts


def learnt(posts: list[list[str]], words: list[str], epochs: int) -> NDArray[np.float32]:
    """FastText's vectors (V, 100) of the words: skip-gram, n-grams of 3 to 6 characters."""
    from gensim.models import FastText

    # One thread: with more, the same seed gives other vectors.
    model = FastText(
        sentences=posts, vector_size=100, window=5, min_count=LEAST, sg=1, epochs=epochs,
        bucket=200_000, seed=0, workers=1,
    )  # fmt: skip
    return np.stack([model.wv[word] for word in words]).astype(np.float32)


def beside_glove(words: list[str], own: NDArray[np.float32]) -> NDArray[np.float32]:
    """(V, 200): GloVe's vectors of the words, zeros where it has none, and the others.

    Args:
        words: V words.
        own: (V, 100), scaled to the mean length of the GloVe vectors beside them.
    """
    glove = load_vectors(GLOVE)
    rows = {word: row for row, word in enumerate(glove.words)}
    left = np.zeros((len(words), glove.matrix.shape[1]), np.float32)
    known = [place for place, word in enumerate(words) if word in rows]
    left[known] = glove.matrix[[rows[words[place]] for place in known]]
    scale = np.linalg.norm(left[known], axis=1).mean() / np.linalg.norm(own, axis=1).mean()
    return np.concatenate([left, own * np.float32(scale)], axis=1)


def word2vec_lines(words: list[str], vectors: NDArray[np.float32]) -> Iterator[bytes]:
    """The parts of a word2vec binary file."""
    yield f"{len(words)} {vectors.shape[1]}\n".encode()
    for word, vector in zip(words, vectors, strict=True):
        yield word.encode() + b" " + vector.astype("<f4").tobytes() + b"\n"


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.own_vectors", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("bench-results/own_vectors.bin"))
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()
    started = time.process_time()
    posts = sentences()
    counts = Counter(word for post in posts for word in post)
    words = [word for word, count in counts.most_common() if count >= LEAST]
    vectors = beside_glove(words, learnt(posts, words, options.epochs))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(options.out, "wb") as stream:
        stream.writelines(word2vec_lines(words, vectors))
    took = time.process_time() - started
    without = int((vectors[:, :100] == 0).all(axis=1).sum())
    print(
        f"{options.out}: {len(words):,} words of {len(posts):,} posts, {without:,} of them without "
        f"a GloVe vector, {vectors.shape[1]} dimensions, {took / 60:.1f} minutes of CPU"
    )


if __name__ == "__main__":
    main()
