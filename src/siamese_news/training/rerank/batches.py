"""Batches of (query, post) pairs."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import IterableDataset

from siamese_news.model.reranker import EncodedTexts, IdBatch, TextRanker
from siamese_news.training.rerank.data import RerankCollection, Run

Rows = NDArray[np.int64]


def encode_collection(collection: RerankCollection, model: TextRanker) -> EncodedTexts:
    """Turn the texts, which are tokenized already, into ids once."""
    queries, posts = (
        [text.split() for text in texts.values()]
        for texts in (collection.queries, collection.posts)
    )
    return model.encode(queries, posts, list(collection.urls.values()))


class Pairs(IterableDataset[IdBatch]):
    """The pairs of some topics and their candidates, in batches of similar query and post length.

    Length buckets keep the padding small; within them the order is drawn again every epoch from
    (seed, epoch), so a resumed run gets the batches it would have got.

    Args:
        collection: the collection.
        encoded: its texts.
        topics: whose candidates are paired.
        batch_size: pairs per batch.
        shuffle: False serves every pair once, shortest queries and posts first.
        negatives: irrelevant pairs per relevant one, drawn every epoch; None takes all.
        seed: of the order and of the drawn pairs.
    """

    def __init__(
        self,
        collection: RerankCollection,
        encoded: EncodedTexts,
        topics: Sequence[str],
        *,
        batch_size: int = 256,
        shuffle: bool = False,
        negatives: float | None = None,
        seed: int = 0,
    ) -> None:
        self.encoded, self.batch_size = encoded, batch_size
        self.shuffle, self.negatives, self.seed = shuffle, negatives, seed
        self.epoch = 0
        self.names = [(q, p) for q in topics for p in collection.candidates[q]]
        query_rows = {query: row for row, query in enumerate(collection.queries)}
        post_rows = {post: row for row, post in enumerate(collection.posts)}
        self.query = np.array([query_rows[q] for q, _ in self.names], np.int64)
        self.post = np.array([post_rows[p] for _, p in self.names], np.int64)
        grades = [collection.qrels.get(q, {}).get(p, 0) for q, p in self.names]
        self.labels = (np.array(grades, np.int64) >= 1).astype(np.int64)
        self.query_lengths = encoded.queries.lengths[self.query]
        self.post_lengths = encoded.posts.lengths[self.post]

    def __len__(self) -> int:
        count = len(self.labels)
        if self.shuffle and self.negatives is not None:
            positives = int(self.labels.sum())
            count = min(count, positives + round(positives * self.negatives))
        return -(-count // self.batch_size)

    def __iter__(self) -> Iterator[IdBatch]:
        if not self.shuffle:
            order = np.lexsort((self.post_lengths, self.query_lengths))
            yield from map(self._batch, self._cut(order, self.batch_size))
            return
        generator = np.random.default_rng([self.seed, self.epoch])
        rows = np.arange(len(self.labels))
        if self.negatives is not None:
            positive, negative = rows[self.labels == 1], rows[self.labels == 0]
            wanted = min(len(negative), round(len(positive) * self.negatives))
            rows = np.concatenate([positive, generator.choice(negative, wanted, replace=False)])
        rows = generator.permutation(rows)
        # Sorted by query length; inside runs of 16 batches by post length. Both sorts are stable,
        # so ties keep the drawn order.
        rows = rows[np.argsort(self.query_lengths[rows], kind="stable")]
        sorted_runs = [
            run[np.argsort(self.post_lengths[run], kind="stable")]
            for run in self._cut(rows, 16 * self.batch_size)
        ]
        batches = self._cut(np.concatenate([rows[:0], *sorted_runs]), self.batch_size)
        if len(batches) > 1 and len(batches[-1]) == 1:
            # Batch normalization needs two rows.
            batches[-2:] = [np.concatenate(batches[-2:])]
        for number in generator.permutation(len(batches)):
            yield self._batch(batches[number])

    @staticmethod
    def _cut(rows: Rows, size: int) -> list[Rows]:
        return [rows[start : start + size] for start in range(0, len(rows), size)]

    def _batch(self, rows: Rows) -> IdBatch:
        labels, own = torch.from_numpy(self.labels[rows]), torch.from_numpy(rows)
        return self.encoded.batch(self.query[rows], self.post[rows], labels=labels, rows=own)

    def as_run(self, scores: NDArray[np.float32]) -> Run:
        """Scores (pairs,) as a run."""
        run: Run = {}
        for (query, post), score in zip(self.names, scores.tolist(), strict=True):
            run.setdefault(query, {})[post] = score
        return run
