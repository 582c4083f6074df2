"""Search in a language that nobody has data for: python -m benchmarks.invented_language.

English pools are rewritten into a language that no model, stop word list or background text knows:
each letter becomes another one, vowels remain vowels, and, in the inflected kind, longer words get
one of eight endings at random. Links and names of accounts are unchanged. The model that ships and
the plainest peers rank the same texts: TF-IDF of words, and of 3 to 5 characters inside words, both
with the IDF of the pool.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from zlib import crc32

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.dev_collections import labeled_pools
from benchmarks.dev_pools import pair_pool
from benchmarks.dev_table import dev_figures
from benchmarks.pools import Pool, evaluate_pools
from benchmarks.printed_table import print_table
from siamese_news.data.sources import open_source
from siamese_news.model.loading import open_model

_LETTERS = "aeioubcdfghjklmnpqrstvwxyz"
_OTHERS = "oaeuiknlmpqrstvwxyzbcdfghj"
_TABLE = str.maketrans(_LETTERS + _LETTERS.upper(), _OTHERS + _OTHERS.upper())
_ENDINGS = ["", "", "", "", "o", "ama", "ovo", "ih", "em", "u", "ega", "ala"]
_WORD = re.compile(r"https?://\S+|@\w+|[A-Za-z]+")
KINDS: dict[str, Callable[[str], str]] = {
    "English": str,
    "invented": lambda text: invented(text, inflected=False),
    "invented, inflected": lambda text: invented(text, inflected=True),
}
POOLS = ("fact_checks", "newsrooms", "webis", "crises")
SEEDS = 200


def invented(text: str, *, inflected: bool) -> str:
    """A text in the invented language."""

    def word(match: re.Match[str]) -> str:
        found = match.group()
        if found.startswith(("http", "@")):
            return found
        drawn = crc32(f"{match.start()} {text[:40]}".encode()) % len(_ENDINGS)
        return found.translate(_TABLE) + (
            _ENDINGS[drawn] if inflected and len(found) > 3 else ""
        )

    return _WORD.sub(word, text)


def some_seeds(pool: Pool) -> Pool:
    """The pool with at most about `SEEDS` seeds, evenly chosen, and none in another language."""
    kept = [ranking for ranking in pool.rankings if ranking.figure == pool.name]
    kept = kept[:: max(1, len(kept) // SEEDS)]
    articles = [pool.articles[ranking.rows[0]] for ranking in kept]
    rankings = [replace(one, rows=np.array([row])) for row, one in enumerate(kept)]
    return replace(pool, articles=articles, rankings=rankings)


def peer(**options: object) -> Callable[[list[str], list[str]], np.ndarray]:
    """Cosines of TF-IDF vectors with the IDF of the posts."""

    def scored(articles: list[str], posts: list[str]) -> np.ndarray:
        vectorizer = TfidfVectorizer(sublinear_tf=True, **options)
        vectors = vectorizer.fit_transform(posts)
        found: np.ndarray = (vectorizer.transform(articles) @ vectors.T).toarray()
        return found

    return scored


def main() -> None:
    """Print the table."""
    pools = [pool for pool in labeled_pools() if pool.name in POOLS]
    pools.append(pair_pool("teasers", open_source("facebook-teasers"), "dev"))
    pools = list(map(some_seeds, pools))
    model = open_model()
    peers = {
        "words": peer(),
        "characters": peer(analyzer="char_wb", ngram_range=(3, 5)),
    }
    rows = []
    for kind, rewritten in KINDS.items():
        for pool in pools:
            articles, posts = (
                list(map(rewritten, t)) for t in (pool.articles, pool.posts)
            )
            some = [replace(pool, articles=articles, posts=posts)]
            found = {"shipped model": dev_figures(model, some)}
            found |= {
                f"TF-IDF of {name}": evaluate_pools(some, by)
                for name, by in peers.items()
            }
            figures = {name: f"{own[pool.name]:.3f}" for name, own in found.items()}
            rows.append({"language": kind, "pool": pool.name, **figures})
            print(rows[-1], flush=True)
    print_table(rows)


if __name__ == "__main__":
    main()
