"""Batches of (query, post) pairs and the LightningDataModule that serves them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, IterableDataset

from siamese_news.model.reranker import IdBatch, TextRanker, rows_of
from siamese_news.text.patterns import link_matches
from siamese_news.text.token_ids import TokenIds
from siamese_news.training.rerank.data import Fold, RerankCollection


@dataclass(frozen=True, slots=True)
class EncodedPosts:
    """Queries and posts of a collection as ids; trigrams and links only for rankers that read them.

    `links` holds the known words of every query and the link of every post.
    """

    queries: TokenIds
    posts: TokenIds
    query_trigrams: TokenIds | None
    post_trigrams: TokenIds | None
    url_trigrams: TokenIds | None
    links: tuple[list[list[str]], list[str]] | None
    query_rows: dict[str, int]
    post_rows: dict[str, int]


def encode_collection(collection: RerankCollection, model: TextRanker) -> EncodedPosts:
    """Turn the texts, which are tokenised already, into ids once."""
    queries, query_trigrams = model.encode([text.split() for text in collection.queries.values()])
    posts, post_trigrams = model.encode([text.split() for text in collection.posts.values()])
    urls = list(collection.urls.values())
    links = None
    if model.link_match:
        links = ([model.known(text.split()) for text in collection.queries.values()], urls)
    return EncodedPosts(
        queries,
        posts,
        query_trigrams,
        post_trigrams,
        model.encode_links(urls),
        links,
        {query: row for row, query in enumerate(collection.queries)},
        {post: row for row, post in enumerate(collection.posts)},
    )


class Pairs(IterableDataset[IdBatch]):
    """The pairs of some topics, in batches of similar query and post length.

    Length buckets keep the padding small; within them the order is drawn again every epoch from
    (seed, epoch), so a resumed run gets the batches it would have got.
    """

    def __init__(
        self,
        collection: RerankCollection,
        encoded: EncodedPosts,
        topics: Sequence[str],
        *,
        batch_size: int,
        shuffle: bool,
        negatives: float | None = None,
        seed: int = 0,
    ) -> None:
        """Collect the pairs of the topics.

        Args:
            collection: the collection.
            encoded: its texts.
            topics: whose candidates are paired.
            batch_size: pairs per batch.
            shuffle: False serves every pair once, shortest queries and posts first.
            negatives: irrelevant pairs per relevant one, drawn every epoch; None takes all.
            seed: seed of the order and of the drawn pairs.
        """
        self.encoded, self.batch_size = encoded, batch_size
        self.shuffle, self.negatives, self.seed = shuffle, negatives, seed
        self.epoch = 0
        self.names = [(q, p) for q in topics for p in collection.candidates[q]]
        self.query = np.array([encoded.query_rows[q] for q, _ in self.names], np.int64)
        self.post = np.array([encoded.post_rows[p] for _, p in self.names], np.int64)
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
        for rows in self._plan():
            yield self._batch(rows)

    def _plan(self) -> list[NDArray[np.int64]]:
        if not self.shuffle:
            order = np.lexsort((self.post_lengths, self.query_lengths))
            return self._cut(order)
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
        pool = 16 * self.batch_size
        rows = np.concatenate(
            [
                part[np.argsort(self.post_lengths[part], kind="stable")]
                for part in (rows[i : i + pool] for i in range(0, len(rows), pool))
            ]
        )
        batches = self._cut(rows)
        return [batches[i] for i in generator.permutation(len(batches))]

    def _cut(self, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        size = self.batch_size
        batches = [rows[i : i + size] for i in range(0, len(rows), size)]
        if self.shuffle and len(batches) > 1 and len(batches[-1]) == 1:
            # Batch normalisation needs two rows.
            last = batches.pop()
            batches[-1] = np.concatenate([batches[-1], last])
        return batches

    def _batch(self, rows: NDArray[np.int64]) -> IdBatch:
        queries, group = np.unique(self.query[rows], return_inverse=True)
        posts, encoded = self.post[rows], self.encoded

        links = None
        if encoded.links is not None:
            words, urls = encoded.links
            matches = link_matches([words[i] for i in self.query[rows]], [urls[i] for i in posts])
            links = torch.from_numpy(matches)
        return IdBatch(
            query_ids=rows_of(encoded.queries, queries),
            post_ids=rows_of(encoded.posts, posts),
            group=torch.from_numpy(group),
            query_trigrams=rows_of(encoded.query_trigrams, queries),
            post_trigrams=rows_of(encoded.post_trigrams, posts),
            url_trigrams=rows_of(encoded.url_trigrams, posts),
            links=links,
            labels=torch.from_numpy(self.labels[rows]),
            rows=torch.from_numpy(rows),
        )

    def as_run(self, scores: NDArray[np.float32]) -> dict[str, dict[str, float]]:
        """Scores (pairs,) as a run."""
        run: dict[str, dict[str, float]] = {}
        for (query, post), score in zip(self.names, scores.tolist(), strict=True):
            run.setdefault(query, {})[post] = score
        return run


class RerankDataModule(pl.LightningDataModule):
    """Training and validation pairs of a fold; the test pairs are made on demand."""

    def __init__(
        self,
        *,
        collection: RerankCollection,
        encoded: EncodedPosts,
        fold: Fold,
        batch_size: int,
        negatives: float | None,
        seed: int,
    ) -> None:
        """Make the pairs; see `Pairs`."""
        super().__init__()
        self.collection, self.encoded, self.fold = collection, encoded, fold
        self.train = Pairs(
            collection,
            encoded,
            fold.train,
            batch_size=batch_size,
            shuffle=True,
            negatives=negatives,
            seed=seed,
        )
        self.dev = Pairs(collection, encoded, fold.dev, batch_size=256, shuffle=False)

    def test_pairs(self) -> Pairs:
        """The candidates of the test year."""
        return Pairs(self.collection, self.encoded, self.fold.test, batch_size=256, shuffle=False)

    def train_dataloader(self) -> DataLoader[IdBatch]:
        """Batches of one epoch; `RerankModule` tells the pairs which epoch it is."""
        return DataLoader(self.train, batch_size=None)

    def val_dataloader(self) -> DataLoader[IdBatch]:
        """The validation pairs, each once."""
        return DataLoader(self.dev, batch_size=None)
