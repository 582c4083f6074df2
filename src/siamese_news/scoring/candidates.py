"""Each article's best posts so far, each text once, whatever the blocks they came in."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.lexical_head.term_ids import finalized
from siamese_news.text.token_ids import TokenIds

Keys = NDArray[np.uint64]

# Candidates of several articles are read together, about so many at once.
_TOGETHER = 20_000
# An article's list is cut back when it has grown by this factor, so that sorting costs little a post.
_SLACK = 1.5


def content_keys(
    texts: Sequence[NDArray[np.int64]], vectors: NDArray[np.float16] | None = None
) -> Keys:
    """(P,) a 64-bit hash of each text's word ids in their order, and of its vector if it has one.

    Posts that read the same after tokenizing have the same key, so a post's key, unlike its place
    in the input, does not depend on the order in which posts are read. The vectors (P, D) are given
    where they are of more than the word ids.
    """
    joined = TokenIds.of(texts)
    lengths = joined.lengths
    ends = joined.offsets[1:]
    flat = joined.flat.astype(np.uint64)
    positions = np.arange(len(flat)) - np.repeat(ends - lengths, lengths)
    by_place = mix(positions.astype(np.uint64) + np.uint64(1))
    sums = np.zeros(len(flat) + 1, np.uint64)
    np.cumsum(mix(flat + by_place), out=sums[1:])  # wraps, and so do the differences
    text_sums = sums[ends] - sums[ends - lengths]
    keys = mix(text_sums ^ lengths.astype(np.uint64))
    if vectors is not None:
        columns = mix(np.arange(vectors.shape[1], dtype=np.uint64))
        bits = np.ascontiguousarray(vectors).view(np.uint16).astype(np.uint64)
        vector_keys: Keys = mix(bits + columns).sum(axis=1, dtype=np.uint64)
        keys = mix(keys ^ vector_keys)
    return keys


def mix(values: Keys) -> Keys:
    """The next number of splitmix64 after each state; sums wrap."""
    return finalized(values + np.uint64(0x9E3779B97F4A7C15))


class Candidates:
    """The `count` best different texts of each of so many articles, with a score above zero.

    Ties are broken by the texts' keys, so the result is the same in whatever order posts are
    added, and two halves of a pool can be merged. `unknown` has at least the words outside the
    vocabulary in the texts, by id, where `add` got them.

    Memory is bounded in two ways, and neither changes a result. A list that has grown by a factor of
    `_SLACK` is cut back to `count`; from then on posts below its last score (`_least`) are not even
    looked at. A text may be in several lists, so cutting drops none; once there are more than
    `_limit` texts, those that are in no list any more are dropped together (`_forget`).
    """

    def __init__(self, articles: int, count: int) -> None:
        self.count = count
        self.articles = articles
        self._keys: list[Keys] = [np.zeros(0, np.uint64) for _ in range(articles)]
        # Millionths, so that equal scores are equal.
        self._scores = [np.zeros(0, np.int32) for _ in range(articles)]
        self._least = np.ones(articles, np.int64)
        self._texts: dict[int, bytes] = {}
        self._vectors: dict[int, bytes] = {}
        self.unknown: dict[int, str] = {}
        self._limit = 4 * count

    def add(
        self,
        scores: NDArray[np.floating],
        texts: Sequence[NDArray[np.int64]],
        vectors: NDArray[np.float16] | None = None,
    ) -> None:
        """Add P posts: their scores (A, P), word ids and, as for `content_keys`, vectors (P, D).

        Unknown words that `TokenIds` bring are kept.
        """
        if not self.count or not len(texts):
            return
        texts = TokenIds.of(texts)
        millionths = np.rint(scores.astype(np.float64) * 1e6).astype(np.int64)
        is_wanted = (millionths >= self._least[:, None]).any(axis=0)
        rows = np.flatnonzero(is_wanted)
        if not len(rows):
            return
        vectors_wanted = None if vectors is None else vectors[rows]
        keys_of_wanted = content_keys(texts.take(rows), vectors_wanted)
        keys, first_with_key = np.unique(keys_of_wanted, return_index=True)
        rows = rows[first_with_key]  # each text once
        is_candidate = np.zeros(len(keys), bool)
        for article, line in enumerate(millionths[:, rows]):
            good = np.flatnonzero(line >= self._least[article])
            if len(good) > self.count:
                cut = len(good) - self.count
                floor = np.partition(line[good], cut)[cut]
                good = good[line[good] >= floor]
            if len(good):
                is_candidate[good] = True
                self._extend(article, keys[good], line[good])
        text_rows = rows[is_candidate]
        vectors_used = None if vectors is None else vectors[text_rows]
        self._remember(keys[is_candidate].tolist(), texts.take(text_rows), vectors_used)
        if len(self._texts) > self._limit:
            self._forget()

    def _remember(
        self,
        keys: Sequence[int],
        texts: TokenIds,
        vectors: NDArray[np.float16] | None,
    ) -> None:
        """Store the texts that are new, by their keys, with their vectors and unknown words."""
        content = texts.flat.tobytes()
        ends = (texts.offsets * texts.flat.itemsize).tolist()
        for key, (start, end) in zip(keys, pairwise(ends), strict=True):
            self._texts.setdefault(key, content[start:end])
        if texts.unknown:
            ids = np.unique(texts.flat).tolist()
            self.unknown |= {id: texts.unknown[id] for id in ids if id in texts.unknown}
        if vectors is not None:
            for key, vector in zip(keys, vectors, strict=True):
                self._vectors.setdefault(key, vector.tobytes())

    def _extend(self, article: int, keys: Keys, scores: NDArray[Any]) -> None:
        self._keys[article] = np.concatenate([self._keys[article], keys])
        self._scores[article] = np.concatenate(
            [self._scores[article], scores.astype(np.int32)]
        )
        if len(self._keys[article]) > _SLACK * self.count:
            self._cut(article)

    def _cut(self, article: int) -> None:
        """Sort an article's list, best first, without repetitions, and cut it to size."""
        keys = self._keys[article]
        scores = self._scores[article]
        # By key, the highest score of each first; nothing before the first key equals it.
        by_key = np.lexsort((-scores, keys))
        steps = np.diff(keys[by_key], prepend=~keys[by_key[:1]])
        different = by_key[np.flatnonzero(steps)]
        best_first = np.lexsort((keys[different], -scores[different]))
        order = different[best_first][: self.count]
        self._keys[article] = keys[order]
        self._scores[article] = scores[order]
        if len(order) == self.count > 0:
            self._least[article] = int(scores[order[-1]])

    def _forget(self) -> None:
        """Drop the texts that are in no list."""
        for article in range(self.articles):
            self._cut(article)
        live = np.unique(_joined(self._keys, np.uint64)).tolist()
        self._texts = {key: self._texts[key] for key in live}
        self._vectors = {
            key: self._vectors[key] for key in live if key in self._vectors
        }
        if self.unknown:
            content = b"".join(self._texts.values())
            ids = np.unique(np.frombuffer(content, np.int64)).tolist()
            self.unknown = {id: self.unknown[id] for id in ids if id in self.unknown}
        self._limit = 2 * len(live) + 4 * self.count

    def best(self, article: int) -> tuple[Keys, NDArray[np.int32]]:
        """The keys of an article's texts, best first, and their scores in millionths."""
        self._cut(article)
        return self._keys[article], self._scores[article]

    def together(
        self, articles: Sequence[int], count: int
    ) -> Iterator[tuple[list[int], Keys, list[Keys]]]:
        """Groups of articles whose texts are read together, their union, and each article's own.

        An article has at most `count` texts, best first; one without a text is in no group.
        """
        best_keys = {article: self.best(article)[0][:count] for article in articles}
        ends = np.cumsum([len(keys) for keys in best_keys.values()])
        group_of = dict(zip(best_keys, (ends // _TOGETHER).tolist(), strict=True))
        with_texts = [article for article in articles if len(best_keys[article])]
        for _, group in groupby(with_texts, group_of.__getitem__):
            members = list(group)
            lists = [best_keys[article] for article in members]
            yield members, np.unique(np.concatenate(lists)), lists

    def least(self) -> NDArray[np.int64]:
        """(A,) the scores in millionths below which a post is none of an article's best now."""
        for article in range(self.articles):
            self._cut(article)
        return self._least.copy()

    def text(self, key: int) -> NDArray[np.int64]:
        """The word ids of a text by its key."""
        return np.frombuffer(self._texts[key], np.int64)

    def vectors(self, keys: Sequence[int]) -> NDArray[np.float16] | None:
        """(len(keys), D) the vectors that were given with texts; None where none were."""
        if not self._vectors or not keys:
            return None
        return np.stack([np.frombuffer(self._vectors[key], np.float16) for key in keys])

    def merge(self, candidates: "Candidates") -> None:
        """Add the lists of another scorer of the same articles, over other posts."""
        for article in range(self.articles):
            self._extend(article, *candidates.best(article))
        self._texts |= candidates._texts
        self._vectors |= candidates._vectors
        self.unknown |= candidates.unknown
        self._forget()

    def plain(self) -> dict[str, NDArray[Any]]:
        """As arrays: the lists one behind the other, and each text once."""
        self._forget()
        texts = sorted(self._texts.items())
        words = [np.frombuffer(text, np.int64) for _, text in texts]
        vectors = self.vectors([key for key, _ in texts])
        if vectors is None:
            vectors = np.zeros((0, 0), np.float16)
        unknown_words = "\n".join(self.unknown.values())
        spelled = unknown_words.encode("utf-8", "surrogatepass")
        return {
            "text_vectors": vectors,
            "candidate_counts": np.array([len(keys) for keys in self._keys], np.int64),
            "candidate_keys": _joined(self._keys, np.uint64),
            "candidate_scores": _joined(self._scores, np.int32),
            "text_keys": np.array([key for key, _ in texts], np.uint64),
            "text_lengths": np.array([len(text) for text in words], np.int64),
            "text_words": _joined(words, np.int64),
            "unknown_ids": np.array(list(self.unknown), np.int64),
            "unknown_words": np.frombuffer(spelled, np.uint8),
        }

    @classmethod
    def restored(
        cls,
        saved: Mapping[str, NDArray[Any]],
        count: int,
        of: Sequence[int] | None = None,
    ) -> "Candidates":
        """The same from the arrays of `plain`; `of` as in `Scorer.restore`."""
        counts = saved["candidate_counts"]
        which = range(len(counts)) if of is None else of
        candidates = cls(len(which), count)
        starts_of_next = np.cumsum(counts)[:-1]
        keys = np.split(saved["candidate_keys"], starts_of_next)
        scores = np.split(saved["candidate_scores"], starts_of_next)
        for article, saved_article in enumerate(which):
            candidates._keys[article] = keys[saved_article]
            candidates._scores[article] = scores[saved_article]
            if len(keys[saved_article]) >= count:
                candidates._least[article] = int(scores[saved_article].min())
        text_keys = saved["text_keys"].tolist()
        ends = np.cumsum(saved["text_lengths"])
        starts = ends - saved["text_lengths"]
        for key, start, end in zip(text_keys, starts, ends, strict=True):
            candidates._texts[key] = saved["text_words"][start:end].tobytes()
        if len(saved["text_vectors"]):
            vectors = map(bytes, saved["text_vectors"])
            candidates._vectors = dict(zip(text_keys, vectors, strict=True))
        unknown_words = saved["unknown_words"].tobytes()
        words = unknown_words.decode("utf-8", "surrogatepass").split("\n")
        unknown_ids = saved["unknown_ids"].tolist()
        # Nothing, split, is one word.
        candidates.unknown = dict(zip(unknown_ids, words, strict=False))
        candidates._limit = 2 * len(candidates._texts) + 4 * count
        return candidates


class TextTable:
    """Values of each article's texts, given by their keys, looked up by the content of a post."""

    def __init__(
        self, keys: Sequence[Keys], values: Sequence[NDArray[np.float32]]
    ) -> None:
        all_keys = _joined(keys, np.uint64)
        order = np.argsort(all_keys, kind="stable")
        self._keys = all_keys[order]
        counts = np.array([len(article_keys) for article_keys in keys], np.int64)
        articles = np.arange(len(keys), dtype=np.int32)
        self._articles = np.repeat(articles, counts)[order]
        self._values = _joined(values, np.float32)[order]

    def find(
        self, texts: Sequence[NDArray[np.int64]], vectors: NDArray[np.float16] | None
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float32]]:
        """Articles, places among P texts, and values, of the texts that are in the table."""
        keys = content_keys(texts, vectors)
        first_rows = np.searchsorted(self._keys, keys, side="left")
        counts = np.searchsorted(self._keys, keys, side="right") - first_rows
        positions = np.repeat(np.arange(len(keys)), counts)
        # A text's rows in the table are its first one and those that follow.
        matches_before = np.cumsum(counts) - counts
        rows = np.arange(len(positions)) + np.repeat(
            first_rows - matches_before, counts
        )
        return self._articles[rows], positions, self._values[rows]


def _joined(arrays: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    """The arrays one behind the other; of this type even if there are none."""
    return np.concatenate([*arrays, np.zeros(0, dtype)])
