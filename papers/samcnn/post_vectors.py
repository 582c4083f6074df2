"""Word vectors of the posts themselves, next to GloVe's: a file for ``vectors.source``."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from papers.jobs import Setting
from siamese_news.data.sources import open_posts_of
from siamese_news.text.tokens import Tokenizer
from siamese_news.text.vectors import KUMO, WordVectors, load_vectors
from siamese_news.training.rerank_data import RerankCollection
from siamese_news.utils.files import atomic_write

#: Vectors that the others are appended to.
GLOVE = {"shared": "glove.6B.100d.150k.bin.gz", "stories": KUMO}
#: Collections without a test here, whose posts are read as well.
COLLECTIONS = (
    "events-dev",
    "politifact-dev",
    "facebook-teasers",
    "webis-clickbait",
    "fnc1",
    "reuters",
)
SIZE, EPOCHS = 100, 10
LEAST = 2  # a word that occurs once joins no two texts


def post_vectors(setting: Setting, collection: RerankCollection, path: Path) -> Path:
    """Write the vectors of the collection's words to a word2vec file, unless it exists.

    FastText (Bojanowski et al., TACL 2017) learns from the posts of all years (texts without
    judgments) and from those of `COLLECTIONS`. A word's vector is GloVe's, zeros where it has none,
    followed by FastText's. Returns the path.
    """
    if path.is_file():
        return path
    posts = [text.split() for text in collection.posts.values()]
    if setting.data == "shared":
        tokenize = Tokenizer(urls="drop", mentions="drop")
        for name in COLLECTIONS:
            posts += [tokenize(post.text) for post in open_posts_of(name).values()]
    counts = Counter(word for post in posts for word in post)
    words = [word for word, count in counts.most_common() if count >= LEAST]
    vectors = joined(load_vectors(GLOVE[setting.data]), words, fasttext(posts, words))
    write_vectors(path, words, vectors)
    return path


def fasttext(
    posts: Iterable[Sequence[str]], words: Sequence[str]
) -> NDArray[np.float32]:
    """FastText's vectors (V, `SIZE`) of V words: skip-gram, n-grams of 3 to 6 characters."""
    from gensim.models import FastText

    # One thread: with more, the same seed yields other vectors.
    model = FastText(
        sentences=posts,
        vector_size=SIZE,
        window=5,
        min_count=LEAST,
        sg=1,
        epochs=EPOCHS,
        bucket=200_000,
        seed=0,
        workers=1,
    )
    return np.stack([model.wv[word] for word in words]).astype(np.float32)


def joined(
    first: WordVectors, words: Sequence[str], second: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Both vectors of V words, (V, E + D): zeros for a word that the first does not have.

    The second (V, D) are scaled to the mean length of the first.
    """
    rows = {word: row for row, word in enumerate(first.words)}
    known = [place for place, word in enumerate(words) if word in rows]
    left = np.zeros((len(words), first.matrix.shape[1]), np.float32)
    left[known] = first.matrix[[rows[words[place]] for place in known]]
    scale = 1.0
    if known:
        scale = (
            np.linalg.norm(left[known], axis=1).mean()
            / np.linalg.norm(second, axis=1).mean()
        )
    return np.concatenate([left, second * np.float32(scale)], axis=1)


def write_vectors(
    path: Path, words: Sequence[str], vectors: NDArray[np.float32]
) -> None:
    """Write a word2vec binary file, whole or not at all."""
    with atomic_write(path, "wb") as stream:
        stream.write(f"{len(words)} {vectors.shape[1]}\n".encode())
        for word, vector in zip(words, vectors.astype("<f4"), strict=True):
            stream.write(f"{word} ".encode() + vector.tobytes())
