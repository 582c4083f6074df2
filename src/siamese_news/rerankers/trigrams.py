"""Character trigrams of words, hashed into a fixed number of buckets."""

from collections.abc import Iterable
from functools import lru_cache
from zlib import crc32


@lru_cache(maxsize=1 << 17)
def word_trigrams(word: str, buckets: int) -> tuple[int, ...]:
    """Trigram ids of one word with a boundary mark on both sides: n letters, n trigrams."""
    marked = f"#{word}#"
    return tuple(
        crc32(marked[i : i + 3].encode("utf-8", "surrogatepass")) % buckets
        for i in range(max(1, len(marked) - 2))
    )


def text_trigrams(tokens: Iterable[str], buckets: int) -> list[int]:
    """Trigram ids of a text, word by word."""
    return [trigram for token in tokens for trigram in word_trigrams(token, buckets)]
