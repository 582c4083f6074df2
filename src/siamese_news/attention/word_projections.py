"""The states that a ring projects: one column for each token, or distinct words to look up.

A text collection has few distinct words for its tokens. The projection of a word before any
attention does not depend on the text, so it is computed once for each distinct word and looked
up: the products of the first ring are paid per word, not per token, and the result is the same.

Shape letters: B texts, S tokens, E size of a state, U distinct words, M = B * S.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from typing_extensions import override

from siamese_news.sparsity.plain_calls import is_traced


def projected(linear: nn.Linear, states: Tensor, out: Tensor | None = None) -> Tensor:
    """The projection of each column: (E, M) -> (out, M), written to `out` if that is given."""
    result = torch.mm(linear.weight, states, out=out)
    return result if linear.bias is None else result.add_(linear.bias[:, None])


class Columns:
    """States (E, M), one column for each token."""

    def __init__(self, states: Tensor) -> None:
        self.states = states

    def __getitem__(self, tokens: slice) -> "Columns":
        """The columns of some tokens."""
        return Columns(self.states[:, tokens])

    def through(self, linear: nn.Linear) -> Tensor:
        """The projection of each column: (out, M)."""
        return projected(linear, self.states)


class Words:
    """Distinct word vectors (U, E), with their cached projections."""

    def __init__(self, vectors: Tensor) -> None:
        self.vectors = vectors
        self._projected: dict[nn.Linear, Tensor] = {}

    def at(self, rows: Tensor) -> "WordColumns":
        """The words of tokens: rows (B, S) int64 in [0, U)."""
        return WordColumns(self, rows.flatten())

    def dense(self, rows: Tensor, mask: Tensor) -> Tensor:
        """The vectors of tokens (B, S, E), zero at padding; rows and mask (B, S)."""
        vectors = nn.functional.embedding(rows, self.vectors)
        if is_traced() or not mask.all():
            vectors = vectors * mask[:, :, None]
        return vectors

    def through(self, linear: nn.Linear) -> Tensor:
        """The projection of each word: (U, out), computed once."""
        if linear not in self._projected:
            self._projected[linear] = linear(self.vectors)
        return self._projected[linear]


class WordColumns(Columns):
    """States (E, M) that are looked up; `rows` (M,) is the word of each token."""

    def __init__(self, words: Words, rows: Tensor) -> None:
        self.words = words
        self.rows = rows

    @override
    def __getitem__(self, tokens: slice) -> "WordColumns":
        return WordColumns(self.words, self.rows[tokens])

    @override
    def through(self, linear: nn.Linear) -> Tensor:
        # Whole rows and a transpose: columns of a large table would each miss the cache.
        of_words = self.words.through(linear)  # (U, out)
        return of_words.index_select(0, self.rows).t().contiguous()


def tiles(batch: int, length: int, size: int | None) -> Iterator[tuple[slice, slice]]:
    """Slices of texts and columns in tiles of about `size`; a single tile for None.

    A tile consists of whole texts or lies within one text.
    """
    if size is None or batch * length == 0:
        yield slice(0, batch), slice(0, batch * length)
        return
    rows = max(size // length, 1)
    even = 16 // math.gcd(length, 16)  # this many texts fill a multiple of 16 columns
    rows = rows // even * even or rows
    for first_text in range(0, batch, rows):
        texts = slice(first_text, min(first_text + rows, batch))
        end = texts.stop * length
        for start in range(first_text * length, end, size):
            yield texts, slice(start, min(start + size, end))


def repeated(texts: Tensor, tile: slice) -> Tensor:
    """(H, head_dim, texts) -> (H, head_dim, M), one column a token."""
    length = (tile.stop - tile.start) // max(texts.shape[-1], 1)
    return texts.unsqueeze(-1).expand(-1, -1, -1, length).flatten(-2)
