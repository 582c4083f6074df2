"""Millions of texts in one array of bytes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Strings:
    """N texts in UTF-8, one after the other: a list of them takes some 60 bytes more for each.

    Example:
        >>> from siamese_news.utils.strings import Strings
        >>> ids = Strings.of(["a1", "", "b22"])
        >>> len(ids), ids.at([2, 0]), list(ids[1:])
        (3, ['b22', 'a1'], ['', 'b22'])
    """

    content: NDArray[np.uint8]  # (n,) bytes of all texts
    starts: NDArray[Any]  # (N + 1,) where each text begins, and the end

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Strings":
        """The texts of a sequence."""
        return cls.of_bytes([text.encode("utf-8", "surrogatepass") for text in texts])

    @classmethod
    def of_bytes(cls, texts: Sequence[bytes]) -> "Strings":
        """Texts that are encoded already."""
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        content = np.frombuffer(b"".join(texts), np.uint8)
        return cls(content, np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]))

    @classmethod
    def joined(cls, pieces: Sequence["Strings"]) -> "Strings":
        """All texts of several."""
        starts = [np.zeros(1, np.int64)]
        end = 0
        for strings in pieces:
            starts.append(
                strings.starts[1:].astype(np.int64) - int(strings.starts[0]) + end
            )
            end = int(starts[-1][-1]) if len(strings) else end
        content = [
            strings.content[int(strings.starts[0]) : int(strings.starts[-1])]
            for strings in pieces
        ]
        return cls(
            np.concatenate([*content, np.zeros(0, np.uint8)]), np.concatenate(starts)
        )

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, rows: slice) -> "Strings":
        start, end, _ = rows.indices(len(self))
        return Strings(self.content, self.starts[start : max(start, end) + 1])

    def __iter__(self) -> Iterator[str]:
        starts = self.starts.tolist()
        for start, end in pairwise(starts):
            yield self.content[start:end].tobytes().decode("utf-8", "surrogatepass")

    def at(self, rows: Iterable[int]) -> list[str]:
        """The texts of some rows, in their order."""
        ends = ((int(self.starts[row]), int(self.starts[row + 1])) for row in rows)
        return [
            self.content[s:e].tobytes().decode("utf-8", "surrogatepass")
            for s, e in ends
        ]
