"""The reranking collection: topics by year, candidates, judgments, folds, vocabulary, batches."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import IterableDataset

from siamese_news.data.beir import read_corpus
from siamese_news.data.jsonl import read_jsonl
from siamese_news.data.lines import refused_at
from siamese_news.data.readers.values import id_of, metadata_of, text_of
from siamese_news.data.sources import data_path
from siamese_news.data.trec import read_qrels, read_run
from siamese_news.encoders.embedding import unknown_vectors
from siamese_news.errors import InputError
from siamese_news.model.reranker import EncodedTexts, IdBatch, TextRanker
from siamese_news.text.vocabulary import Vocabulary, stable_hash

Run = dict[str, dict[str, float]]
Qrels = dict[str, dict[str, int]]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RerankCollection:
    """Topics and the posts to rerank for each, by id; texts are tokenized (split at spaces)."""

    name: str
    queries: dict[str, str]
    years: dict[str, int]  # the fold of a topic
    posts: dict[str, str]
    urls: dict[str, str]  # "" where a post has none
    candidates: Run  # scores of the first stage (query likelihood)
    qrels: Qrels  # relevant is a grade >= 1
    runs: Path  # folder of the peers' runs, <name>.<year>.txt.gz

    def of_year(self, year: int) -> list[str]:
        """Topics of a year, in their order."""
        return [query for query in self.queries if self.years[query] == year]

    def judged(self, topics: Iterable[str]) -> Qrels:
        """The judgments of some topics, empty for one without any."""
        return {query: self.qrels.get(query, {}) for query in topics}

    def peer(self, name: str, years: Iterable[int]) -> Run:
        """A peer's run over some years, with every topic of them."""
        run: Run = {}
        for year in years:
            path = self.runs / f"{name}.{year}.txt.gz"
            year_run = read_run(path)
            if missing := [
                query for query in self.of_year(year) if query not in year_run
            ]:
                raise InputError(
                    f"{path}: topic {missing[0]} is missing ({len(missing)} in all); expected "
                    f"every topic of {year}: is it the run of another year?"
                )
            run.update(year_run)
        return run


@dataclass(frozen=True, slots=True)
class Fold:
    """The topics of a fold, by their use."""

    year: int  # the test year
    train: list[str]
    dev: list[str]  # held out of the training years for selection and tuning
    test: list[str]


def read_reranking(name: str) -> RerankCollection:
    """Read a reranking collection: a folder in ``$SIAMESE_NEWS_DATA``, or an absolute path.

    It holds ``queries.jsonl.gz`` (with ``metadata.year``), ``corpus.jsonl.gz``,
    ``runs/candidates.<year>.txt.gz`` and ``qrels.microblog<year>.txt.gz``.

    Raises:
        InputError: a file is missing or malformed, or they do not belong together.
    """
    folder = data_path(name)
    queries, years = read_queries(folder)
    corpus = read_corpus(folder)
    posts = {id: post.text for id, post in corpus.items()}
    urls = {id: str(post.metadata.get("url") or "") for id, post in corpus.items()}
    candidates: Run = {}
    qrels: Qrels = {}
    for year in sorted(set(years.values())):
        path = folder / "runs" / f"candidates.{year}.txt.gz"
        for query, run in read_run(path).items():
            if query not in queries:
                raise InputError(
                    f"{path}: topic {query} is not in {folder / 'queries.jsonl.gz'}"
                )
            if unknown := run.keys() - posts.keys():
                raise InputError(
                    f"{path}: post {min(unknown)} of topic {query} is not in the corpus; "
                    "candidates and corpus must belong together"
                )
            candidates[query] = run
        qrels |= read_qrels(folder / f"qrels.microblog{year}.txt.gz")
    if empty := [query for query in queries if query not in candidates]:
        raise InputError(
            f"{folder / 'runs'}: topic {empty[0]} has no candidate post to rerank"
        )
    return RerankCollection(
        name, queries, years, posts, urls, candidates, qrels, folder / "runs"
    )


def newest_first(collection: RerankCollection) -> RerankCollection:
    """With each topic's candidates by the numbers that are their ids, from the greatest down."""
    return replace(
        collection,
        candidates={
            query: dict(
                sorted(run.items(), key=lambda post: (len(post[0]), post), reverse=True)
            )
            for query, run in collection.candidates.items()
        },
    )


def read_queries(folder: Path) -> tuple[dict[str, str], dict[str, int]]:
    """Texts and years of the topics: topic id -> text, topic id -> year."""
    queries = {}
    years = {}
    path = folder / "queries.jsonl.gz"
    for line, record in read_jsonl(path):
        location = f"{path}:{line}"
        with refused_at(location):
            query = id_of(record, "_id")
            text = text_of(record, "text")
            year = metadata_of(record).get("year")
        if not isinstance(year, int):
            raise InputError(
                f"{location}: metadata.year is {year!r}; expected a year, e.g. 2013"
            )
        queries[query] = text
        years[query] = year
    return queries, years


def make_fold(
    collection: RerankCollection,
    year: int,
    *,
    share: float,
    seed: int,
    dev_topics: Sequence[str] | None = None,
) -> Fold:
    """Hold one year out for the test, and a share of each other year's topics for validation.

    `share` is 15% after Rao et al.; the topics that `seed` draws of a year do not depend on the
    fold. `dev_topics` topics are held out in place of drawn ones; those of the test year are tested.

    Raises:
        InputError: no topic of that year, or no relevant post to train on or
            to select by.
    """
    if dev_topics is not None and (
        unknown := sorted(set(dev_topics) - collection.queries.keys())
    ):
        raise InputError(
            f"task.validation_topics: '{collection.name}' has no topic {unknown[0]} "
            f"({len(unknown)} unknown in all); expected ids of its topics"
        )
    years = sorted(set(collection.years.values()))
    if year not in years:
        raise InputError(
            f"fold={year}: no such year in '{collection.name}'; it has {years}"
        )
    train: list[str] = []
    dev: list[str] = []
    for training_year in sorted({*years} - {year}):
        topics = collection.of_year(training_year)
        drawn = random.Random(f"{seed}-{training_year}").sample(
            topics, round(share * len(topics))
        )
        held = set(drawn if dev_topics is None else dev_topics)
        dev += [query for query in topics if query in held]
        train += [query for query in topics if query not in held]
    for role, topics in (("training", train), ("validation", dev)):
        relevant = (
            grade >= 1 and post in collection.candidates[query]
            for query, grades in collection.judged(topics).items()
            for post, grade in grades.items()
        )
        if not any(relevant):
            raise InputError(
                f"fold={year}: the {len(topics)} {role} topics have no relevant candidate; "
                "expected at least one (grade >= 1 in the qrels)"
            )
    return Fold(year, train, dev, collection.of_year(year))


def words_of_collection(
    collection: RerankCollection,
    vocabulary: Vocabulary,
    matrix: NDArray[np.float32],
    *,
    minimum_count: int,
    unknown_range: float | None,
) -> tuple[Vocabulary, NDArray[np.float32]]:
    """A table of the collection's words, so that training changes words without a vector, too.

    A word without a vector starts with the vector that `TokenEmbedding` gives to an unknown word.
    The texts of all years are read, as in samCNN's released code, but no judgments.

    A word must occur at least `minimum_count` times to be in it: one that occurs once in the whole
    collection joins no two texts, so its vector needs no training. The result has the words, the
    most frequent first, and their vectors (W, E).
    """
    texts = (*collection.queries.values(), *collection.posts.values())
    counts = Counter(word for text in texts for word in text.split())
    words = [word for word, count in counts.most_common() if count >= minimum_count]
    rows = {word: row for row, word in enumerate(vocabulary.words)}
    has_vector = np.array([word in rows for word in words], dtype=bool)
    unknown = [len(words) + stable_hash(word) for word in words if word not in rows]
    table = np.empty((len(words), matrix.shape[1]), np.float32)
    table[has_vector] = matrix[[rows[word] for word in words if word in rows]]
    ids = torch.tensor(unknown, dtype=torch.int64)
    table[~has_vector] = unknown_vectors(ids, matrix.shape[1], unknown_range).numpy()
    return Vocabulary(words, unknown=vocabulary.unknown), table


def encode_collection(collection: RerankCollection, model: TextRanker) -> EncodedTexts:
    """Turn the texts, which are tokenized already, into ids once."""
    queries = [text.split() for text in collection.queries.values()]
    posts = [text.split() for text in collection.posts.values()]
    return model.encode(queries, posts, list(collection.urls.values()))


class Pairs(IterableDataset[IdBatch]):
    """The pairs of some topics and their candidates, in batches of similar query and post length.

    Length buckets keep the padding small; within them the order is drawn again every epoch from
    (seed, epoch), so a resumed run gets the batches it would have got.

    Args:
        collection: of the topics, and `encoded`, its texts, by `encode_collection`.
        topics: those whose candidates are paired.
        batch_size: pairs per batch.
        shuffle: False serves every pair once, shortest queries and posts first.
        by_query: serve topic after topic, each in batches of its own, in the order of the files.
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
        by_query: bool = False,
        negatives: float | None = None,
        seed: int = 0,
    ) -> None:
        self.encoded = encoded
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.negatives = negatives
        self.seed = seed
        self.by_query = by_query
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
        if self.by_query:
            return len(self._batches_by_query())
        count = len(self.labels)
        if self.shuffle and self.negatives is not None:
            positives = int(self.labels.sum())
            count = min(count, positives + round(positives * self.negatives))
        return -(-count // self.batch_size)

    def _batches_by_query(self) -> list[Rows]:
        """The rows of each batch; two batches of a topic become one where the last has one row."""
        ends = np.flatnonzero(np.diff(self.query)) + 1
        topics = np.split(np.arange(len(self.query)), ends)
        return list(chain.from_iterable(map(self._batches_of, topics)))

    def _batches_of(self, rows: Rows) -> list[Rows]:
        """The rows in batches, of which the last has two rows: batch normalization needs them."""
        batches = self._cut(rows, self.batch_size)
        if len(batches) > 1 and len(batches[-1]) == 1:
            batches[-2:] = [np.concatenate(batches[-2:])]
        return batches

    def ends_of_queries(self) -> list[int]:
        """With `by_query`, the number of batches after which each topic has been served."""
        last_queries = [int(self.query[rows[-1]]) for rows in self._batches_by_query()]
        ends: list[int] = (
            np.flatnonzero(np.diff(last_queries, append=-1)) + 1
        ).tolist()
        return ends

    def __iter__(self) -> Iterator[IdBatch]:
        if self.by_query:
            yield from map(self._batch, self._batches_by_query())
            return
        if not self.shuffle:
            order = np.lexsort((self.post_lengths, self.query_lengths))
            yield from map(self._batch, self._cut(order, self.batch_size))
            return
        generator = np.random.default_rng([self.seed, self.epoch])
        rows = np.arange(len(self.labels))
        if self.negatives is not None:
            positive = rows[self.labels == 1]
            negative = rows[self.labels == 0]
            n_negatives = min(len(negative), round(len(positive) * self.negatives))
            rows = np.concatenate(
                [positive, generator.choice(negative, n_negatives, replace=False)]
            )
        rows = generator.permutation(rows)
        # Sorted by query length; inside runs of 16 batches by post length. Both sorts are stable,
        # so ties keep the drawn order.
        rows = rows[np.argsort(self.query_lengths[rows], kind="stable")]
        sorted_runs = [
            run[np.argsort(self.post_lengths[run], kind="stable")]
            for run in self._cut(rows, 16 * self.batch_size)
        ]
        batches = self._batches_of(np.concatenate([rows[:0], *sorted_runs]))
        for number in generator.permutation(len(batches)):
            yield self._batch(batches[number])

    @staticmethod
    def _cut(rows: Rows, size: int) -> list[Rows]:
        return [rows[start : start + size] for start in range(0, len(rows), size)]

    def _batch(self, rows: Rows) -> IdBatch:
        labels = torch.from_numpy(self.labels[rows])
        row_numbers = torch.from_numpy(rows)
        return self.encoded.batch(
            self.query[rows], self.post[rows], labels=labels, rows=row_numbers
        )

    def as_run(self, scores: NDArray[np.float32]) -> Run:
        """Scores (pairs,) as a run."""
        run: Run = {}
        for (query, post), score in zip(self.names, scores.tolist(), strict=True):
            run.setdefault(query, {})[post] = score
        return run
