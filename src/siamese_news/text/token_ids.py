"""The token ids of many texts, one text after the other in one array."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, Literal, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError
from siamese_news.text.patterns import joined_letters

Ids = NDArray[np.int64]

_MEMO_CHUNKS = 3 << 16
_MEMO_CHARACTERS = 64


@dataclass(frozen=True, slots=True, eq=False)
class TokenIds(Sequence[Ids]):
    """The ids of B texts; as a sequence it returns each text's own, without a copy.

    `unknown` has at least the words outside the vocabulary among them, by id, where that was kept.

    Example:
        >>> from siamese_news.text.token_ids import TokenIds
        >>> texts = TokenIds.of([[3, 1], [], [4]])
        >>> len(texts), texts[0].tolist(), texts.lengths.tolist()
        (3, [3, 1], [2, 0, 1])
    """

    flat: Ids  # (N,) int64, the ids of all texts
    offsets: Ids  # (B + 1,) int64, where in `flat` each text begins, and the end
    unknown: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, texts: "Sequence[Any] | TokenIds", unknown: Mapping[int, str] | None = None
    ) -> "TokenIds":
        """The ids of texts that come one by one; joined ones stay unchanged."""
        if isinstance(texts, TokenIds):
            return texts
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        flat = np.concatenate([*texts, np.zeros(0, np.int64)])
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return cls(flat.astype(np.int64, copy=False), offsets, unknown or {})

    @classmethod
    def joined(cls, batches: "Sequence[TokenIds]") -> "TokenIds":
        """The texts of all batches, one after the other."""
        unknown = {id: word for batch in batches for id, word in batch.unknown.items()}
        flat = np.concatenate([batch.flat for batch in batches])
        ends = np.cumsum(np.concatenate([batch.lengths for batch in batches]))
        return cls(flat, np.concatenate([[0], ends]), dict(sorted(unknown.items())))

    @property
    def lengths(self) -> Ids:
        """(B,) how many ids each text has."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> Ids:
        """(N,) which text each id belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def where(self, selected: NDArray[np.bool_]) -> "TokenIds":
        """The same texts with only those ids of `flat` that the mask `selected` (N,) selects."""
        if selected.all():
            return self
        selected_before = np.concatenate([[0], np.cumsum(selected)])
        return TokenIds(
            self.flat[selected], selected_before[self.offsets], self.unknown
        )

    def take(self, rows: NDArray[np.int64]) -> "TokenIds":
        """The texts of these rows, in their order."""
        positions, lengths = ragged(self.offsets, rows)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return TokenIds(self.flat[positions], offsets, self.unknown)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> Ids: ...
    @overload
    def __getitem__(self, index: slice) -> "TokenIds": ...

    def __getitem__(self, index: "int | slice") -> "Ids | TokenIds":
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                raise ValueError(f"TokenIds got the step {step}; expected 1")
            offsets = self.offsets[start : max(start, stop) + 1]
            flat = self.flat[offsets[0] : offsets[-1]]
            return TokenIds(flat, offsets - offsets[0], self.unknown)
        row = range(len(self))[index]
        return self.flat[self.offsets[row] : self.offsets[row + 1]]

    def __iter__(self) -> Iterator[Ids]:
        offsets = self.offsets.tolist()
        for start, end in pairwise(offsets):
            yield self.flat[start:end]


def ragged(starts: NDArray[Any], rows: Ids) -> tuple[Ids, NDArray[Any]]:
    """The places of the items of n rows, and how many items each row has.

    The items of P rows are in one array; `starts` (P + 1,) says where those of each row begin.
    """
    starts_of_rows = starts[rows].astype(np.int64)
    lengths = starts[rows + 1].astype(np.int64) - starts_of_rows
    items_before = np.cumsum(lengths) - lengths
    shifts = np.repeat(starts_of_rows - items_before, lengths)
    return shifts + np.arange(len(shifts)), lengths


class ChunkIds(dict[str, tuple[int, ...]]):
    """Chunk of a text between blanks -> its token ids, remembered up to a bound.

    No token spans a blank, so the ids of a text are those of its chunks in their order. Remembering
    them saves four of five steps of tokenizing; it never changes a result. `ids` makes the token
    ids of any text, and the words outside the vocabulary of V `words` by their ids, from V on.
    After `capacity` chunks all are forgotten.
    """

    __slots__ = ("_ids", "_most", "_unknown", "_words")

    def __init__(
        self,
        ids: Callable[[str], tuple[Sequence[int], Mapping[int, str]]],
        words: int,
        capacity: int = _MEMO_CHUNKS,
    ) -> None:
        super().__init__()
        self._ids = ids
        self._words = words
        self._most = capacity
        self._unknown: dict[int, str] = {}

    def __missing__(self, chunk: str) -> tuple[int, ...]:
        ids, unknown = self._ids(chunk)
        chunk_ids = tuple(ids)
        self._unknown.update(unknown)
        # Links hardly ever repeat, so they are not remembered.
        is_link = len(chunk) > _MEMO_CHARACTERS or chunk.startswith("http")
        if len(self) < self._most and not is_link:
            self[chunk] = chunk_ids
        return chunk_ids

    def of(self, texts: Sequence[str], longest: int) -> TokenIds:
        """The ids of texts, each cut after `longest` characters."""
        if max(len(self), len(self._unknown)) >= self._most:
            self.clear()
            self._unknown.clear()
        look_up = self.__getitem__
        flat: list[int] = []
        ends = [0]
        for text in texts:
            if len(text) > longest:
                text = text[:longest]
            flat.extend(chain.from_iterable(map(look_up, joined_letters(text).split())))
            ends.append(len(flat))
        ids = np.array(flat, np.int64)
        unknown_ids = np.unique(ids[ids >= self._words]).tolist()
        unknown = {id: self._unknown[id] for id in unknown_ids}
        return TokenIds(ids, np.array(ends, np.int64), unknown)


Side = Literal["article", "post"]
"""Which of the two a text is: each has its own limit of tokens."""

Tokens = TypeVar("Tokens", list[str], np.ndarray)


def check_limits(limits: Mapping[str, Any], location: str = "limits") -> None:
    """Refuse limits of another form than `truncate` reads; `location` begins the message."""
    for name in limits:
        if name not in ("article_tokens", "post_tokens", "keep"):
            raise InputError(
                f"{location}.{name} is unknown; expected article_tokens, post_tokens or keep"
            )
    if limits["keep"] not in ("first", "last"):
        raise InputError(
            f"{location}.keep is {limits['keep']!r}, expected 'first' or 'last'"
        )
    for name in ("article_tokens", "post_tokens"):
        limit = limits[name]
        if limit is not None and (type(limit) is not int or limit < 1):
            raise InputError(
                f"{location}.{name} is {limit!r}, expected 1 or more, or null for all"
            )


def truncate(tokens: Tokens, limits: Mapping[str, Any], side: Side) -> Tokens:
    """The tokens (S,), words or ids, of a text that a model reads.

    The limits are ``article_tokens`` and ``post_tokens`` (None: all), of which that of `side`
    applies, and ``keep``: ``"first"``, or ``"last"`` as the released code of the AST paper does.
    """
    limit = limits[f"{side}_tokens"]
    if limit is None:
        return tokens
    return tokens[-limit:] if limits["keep"] == "last" else tokens[:limit]


def truncated(texts: TokenIds, limits: Mapping[str, Any], side: Side) -> TokenIds:
    """`truncate` of many texts at once."""
    limit = limits[f"{side}_tokens"]
    lengths = texts.lengths
    if limit is None or lengths.max(initial=0) <= limit:
        return texts
    positions = np.arange(len(texts.flat)) - np.repeat(texts.offsets[:-1], lengths)
    if limits["keep"] == "last":
        return texts.where(positions >= np.repeat(lengths - limit, lengths))
    return texts.where(positions < limit)
