"""The input of a ranker: queries and posts as padded vectors with masks."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import embedding


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A batch of (query, post) pairs.

    Shapes: B pairs, G distinct queries, Q query tokens, S post tokens, E embedding size. Masks are
    True at real tokens; padding may be on either side and changes no score. `group` has the row of
    `query` that each post is ranked for; without it G is 1 (one query for all posts) or B (row by
    row).
    """

    query: Tensor  # (G, Q, E) vectors of the distinct queries
    query_mask: Tensor  # (G, Q) bool
    post: Tensor  # (B, S, E)
    post_mask: Tensor  # (B, S) bool
    # The distinct words of the posts, where they are known; equal ones are computed once.
    post_words: "WordTexts | None" = None
    group: Tensor | None = None  # (B,) int64
    query_weights: Tensor | None = None  # (G, Q), IDF
    features: Tensor | None = None  # (B, N), more features for the head
    # What the ranker's `pieces_of` reads in queries (G, C), posts (B, C') and links (B, C''): int64
    # ids, -1 = padding.
    pieces: tuple[Tensor, Tensor, Tensor] | None = None

    def __post_init__(self) -> None:
        """Raise ValueError if the shapes do not fit together."""
        groups = len(self.query)
        posts = len(self.post)
        if self.query.shape[:2] != self.query_mask.shape:
            raise ValueError(
                f"query is {tuple(self.query.shape)} but query_mask {tuple(self.query_mask.shape)};"
                " expected (G, Q, E) and (G, Q)"
            )
        if self.post.shape[:2] != self.post_mask.shape:
            raise ValueError(
                f"post is {tuple(self.post.shape)} but post_mask {tuple(self.post_mask.shape)};"
                " expected (B, S, E) and (B, S)"
            )
        if self.group is None and groups not in (1, posts):
            raise ValueError(
                f"{groups} queries for {posts} posts without `group`; give one query, one per "
                "post, or `group` (B,)"
            )

    def texts_of_posts(self) -> "WordTexts":
        """The posts as rows of a table of words; every token is a word of its own if need be."""
        if self.post_words is not None:
            return self.post_words
        return WordTexts.of(self.post, self.post_mask)

    def per_post(self, values: Tensor) -> Tensor:
        """Spread (G, ...) values of the queries to their posts: (B, ...), a view where G is 1."""
        if self.group is not None:
            return values[self.group]
        if len(values) == len(self.post):
            return values
        return values.expand(len(self.post), *values.shape[1:])


@dataclass(frozen=True, slots=True)
class WordTexts:
    """Texts as rows of a table of word vectors, so that what is linear is computed once a word.

    Shapes: U words, E embedding size, N texts, S tokens. The vector of every row is finite, at
    padding as well; masks are True at real tokens.
    """

    words: Tensor  # (U, E)
    rows: Tensor  # (N, S) int64
    mask: Tensor  # (N, S) bool

    @classmethod
    def of(cls, vectors: Tensor, mask: Tensor) -> "WordTexts":
        """Texts (N, S, E), each of whose tokens is a word of its own."""
        rows = torch.arange(mask.numel(), device=mask.device).view(mask.shape)
        return cls(zero_padding(vectors, mask).flatten(0, 1), rows, mask)

    def trimmed(self) -> "WordTexts":
        """Without the columns in which no text has a token; at least one column stays."""
        return WordTexts(self.words, *trim(self.rows, self.mask))

    def vectors(self, table: Tensor) -> Tensor:
        """The rows of a table of words (U, D) for each token: (N, S, D)."""
        return embedding(self.rows, table)


def trim(values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Drop the columns in which no row of the batch has a real token; at least one column stays."""
    real = mask.any(dim=0)
    if bool(real.all()):
        return values, mask
    keep = real.nonzero().squeeze(1)
    if len(keep) == 0:
        return values[:, :1], mask[:, :1]
    start = int(keep[0])
    stop = int(keep[-1]) + 1
    return values[:, start:stop].contiguous(), mask[:, start:stop].contiguous()


def zero_padding(values: Tensor, mask: Tensor) -> Tensor:
    """Vectors with the padding set to zero, even where it was NaN."""
    return torch.where(mask.unsqueeze(-1), values, values.new_zeros(()))
