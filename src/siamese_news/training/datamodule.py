"""The data of a configuration: checks of its options, training batches and evaluation sets."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from siamese_news.data.collate import GroupDataset, collate
from siamese_news.data.records import Article, Collection, Post
from siamese_news.data.samplers import ArticleBatchSampler, PairBatchSampler
from siamese_news.data.sources import EvaluationSet, evaluation_set, open_source
from siamese_news.data.splits import HELD_OUT, hold_out, relevant_pairs, resplit, same_text_key
from siamese_news.errors import InputError
from siamese_news.text import Vocabulary
from siamese_news.text.token_ids import Side, check_limits, truncate

log = logging.getLogger(__name__)


@dataclass(slots=True)
class TrainingSet:
    """Articles with a relevant post, in the order of the sources, and these posts."""

    articles: list[Article] = field(default_factory=list)
    posts: list[Post] = field(default_factory=list)
    posts_of: list[list[int]] = field(default_factory=list)  # of each article, by index

    def text_groups(self) -> list[int]:
        """For each post, a number that posts of the same text (`same_text_key`) share."""
        numbers: dict[str, int] = {}
        # A post without a word has no duplicate.
        keys = (same_text_key(post.text) or f"\x00{n}" for n, post in enumerate(self.posts))
        return [numbers.setdefault(key, len(numbers)) for key in keys]

    def texts(self) -> Iterator[str]:
        """All training texts: articles with their titles, then posts."""
        yield from (article.full_text for article in self.articles)
        yield from (post.text for post in self.posts)


def training_set(sources: Iterable[tuple[str, Collection, str]]) -> TrainingSet:
    """Join (source name, collection, split) into one training set.

    Equal ids of one source are one text, also across its splits; those of two sources are not.
    """
    joined = TrainingSet()
    article_index: dict[tuple[str, str], int] = {}
    post_index: dict[tuple[str, str], int] = {}
    seen: set[tuple[int, int]] = set()
    for source, collection, split in sources:
        for article_id, post_id in relevant_pairs(collection.split(split)):
            article = article_index.setdefault((source, article_id), len(joined.articles))
            if article == len(joined.articles):
                joined.articles.append(collection.articles[article_id])
                joined.posts_of.append([])
            post = post_index.setdefault((source, post_id), len(joined.posts))
            if post == len(joined.posts):
                joined.posts.append(collection.posts[post_id])
            if (article, post) not in seen:
                seen.add((article, post))
                joined.posts_of[article].append(post)
    return joined


_KEYS = {
    "data": "name train dev test split batching limits",
    "data.train": "folder split",
    "data.dev": "folder split pool one_story",
    "data.test": "folder split pool one_story",
    "data.split": "by fractions seed",
    "data.batching": "kind articles_per_batch posts_per_article chunks_per_epoch pairs_per_batch",
    "data.limits": "article_tokens post_tokens keep",
}
_OPTIONAL = {"pool", "one_story"}


def check_options(data: Mapping[str, Any]) -> None:
    """Raise an `InputError` for unknown, missing and impossible options of the data."""
    _keys("data", data)
    for group in ("train", "dev", "test", "split", "batching", "limits"):
        for options in data[group] if group == "train" else [data[group]]:
            if options is not None:
                _keys(f"data.{group}", options)
    kind = data["batching"]["kind"]
    if kind not in ("articles", "pairs"):
        raise InputError(f"data.batching.kind is '{kind}', expected articles or pairs")
    check_limits(data["limits"], "data.limits")


def _keys(where: str, options: Mapping[str, Any]) -> None:
    expected = _KEYS[where].split()
    wrong = {
        "unknown": sorted(set(options) - set(expected)),
        "missing": sorted(set(expected) - set(options) - _OPTIONAL),
    }
    parts = [f"{kind}: {', '.join(names)}" for kind, names in wrong.items() if names]
    if parts:
        raise InputError(f"{where} has {'; '.join(parts)}; expected: {', '.join(expected)}")


class SiameseDataModule(pl.LightningDataModule):
    """Articles and their posts: tokenized once, batched, resumable to the batch.

    The position in an epoch is part of a checkpoint through this module's own state (the states
    of loaders are lost where an optimizer asks for ``trainer.estimated_stepping_batches``). It
    counts batches that were trained on, so batches which workers fetched ahead are not skipped.

    Build the trainer with ``use_distributed_sampler=False``: the sampler knows the ranks.

    Args:
        data: plain values, as conf/data/*.yaml: ``name``; ``train``, a list of ``{folder,
            split}``; ``dev`` and ``test``, each ``{folder, split, pool, one_story}`` or None;
            ``split`` (`resplit`); ``batching``; ``limits``.
        seed: of the batches. (The splits have their own, ``data.split.seed``.)
        num_workers: processes that pad batches; 0 does it in this one.
        held_out: share of the training events (or articles) that neither trains nor is dev or
            test; see `held_out`.

    Raises:
        InputError: for unknown, missing or impossible options.
    """

    def __init__(
        self, *, data: Mapping[str, Any], seed: int, num_workers: int = 0, held_out: float = 0.0
    ) -> None:
        super().__init__()
        check_options(data)
        self.data, self.seed, self.num_workers = dict(data), seed, num_workers
        self._held_out = held_out
        self._collections: dict[str, Collection] = {}
        self._dataset: GroupDataset | None = None
        self._sampler: ArticleBatchSampler | PairBatchSampler | None = None
        self._saved: dict[str, Any] | None = None

    def collection(self, folder: str) -> Collection:
        """A source after splitting; read once."""
        if folder not in self._collections:
            split = self.data["split"]
            collection = resplit(open_source(folder), **split)
            if self._held_out:
                trained = {e["split"] for e in self.data["train"] if e["folder"] == folder}
                for name in sorted(trained):
                    collection = hold_out(collection, name, self._held_out, split["seed"])
            self._collections[folder] = collection
        return self._collections[folder]

    @cached_property
    def train_set(self) -> TrainingSet:
        """The training pairs of all sources."""
        if not self.data["train"]:
            raise InputError(
                f"data '{self.data['name']}' is for evaluation only: it names no training source; "
                "train with other data, such as data=stories"
            )
        return training_set(
            (entry["folder"], self.collection(entry["folder"]), entry["split"])
            for entry in self.data["train"]
        )

    @cached_property
    def dev(self) -> EvaluationSet | None:
        """The dev set, which selects the epoch; None if the configuration names none."""
        return self._evaluation("dev")

    @cached_property
    def test(self) -> EvaluationSet | None:
        """The test set, on which results are reported; None if the configuration names none."""
        return self._evaluation("test")

    @cached_property
    def held_out(self) -> list[EvaluationSet]:
        """The part of each training source that was held out, with the pool of test or dev."""
        judged = self.data["test"] or self.data["dev"] or {}
        entry = {"split": HELD_OUT, "pool": judged.get("pool", "linked")}
        folders = dict.fromkeys(entry["folder"] for entry in self.data["train"])
        return [evaluation_set(self.collection(folder), entry) for folder in folders]

    def sizes(self) -> str:
        """The number of articles of each part; reads all parts, so that errors precede training."""
        parts = {"train": self.train_set, "dev": self.dev, "test": self.test}
        sizes = {name: len(part.articles) for name, part in parts.items() if part is not None}
        return ", ".join(f"{name} {size}" for name, size in sizes.items())

    def prepare(self, tokenizer: Callable[[str], list[str]], vocabulary: Vocabulary) -> None:
        """Turn every training text into token ids, once."""

        def ids(text: str, side: Side) -> np.ndarray:
            token_ids = np.asarray(vocabulary.ids(tokenizer(text)), dtype=np.int64)
            token_ids = truncate(token_ids, self.data["limits"], side)
            # Half the memory, unless hashed words need the range.
            small = not token_ids.size or int(token_ids.max()) < 2**31
            return token_ids.astype(np.int32) if small else token_ids.copy()

        train = self.train_set
        self._dataset = GroupDataset(
            articles=[ids(a.full_text, "article") for a in train.articles],
            posts=[ids(p.text, "post") for p in train.posts],
        )
        texts = [*self._dataset.articles, *self._dataset.posts]
        if (empty := sum(not len(text) for text in texts)) > len(texts) / 2:
            log.warning(
                "%d of %d training texts have no word that is in the vocabulary, so an encoder "
                "cannot tell them apart; take vectors of their language (vectors.source=FILE), or "
                "vectors.unknown=hash",
                empty,
                len(texts),
            )

    def train_dataloader(self) -> DataLoader[dict[str, Tensor]]:
        """The training batches of this process, as `collate` makes them; `prepare` comes first."""
        batching, dataset = self.data["batching"], self._dataset
        if dataset is None:
            raise RuntimeError(
                "SiameseDataModule has no token ids yet; call prepare(tokenizer, vocabulary) first"
            )
        common: dict[str, Any] = {"posts": self.train_set.posts_of, "seed": self.seed}
        if self.trainer is not None:
            common.update(rank=self.trainer.global_rank, world=self.trainer.world_size)
        sampler: ArticleBatchSampler | PairBatchSampler
        if batching["kind"] == "pairs":
            sampler = PairBatchSampler(pairs_per_batch=batching["pairs_per_batch"], **common)
        else:
            sampler = ArticleBatchSampler(
                lengths=[len(article) for article in dataset.articles],
                articles_per_batch=batching["articles_per_batch"],
                posts_per_article=batching["posts_per_article"],
                chunks_per_epoch=batching["chunks_per_epoch"],
                text_of=self.train_set.text_groups(),
                **common,
            )
            if sampler.left_out:
                log.warning(
                    "%d training pairs are left out: the same post text is under more than %d "
                    "articles, and says nothing about any of them",
                    sampler.left_out,
                    sampler.most_articles,
                )
        if self._saved is not None:
            sampler.load_state_dict(self._saved)
            self._saved = None
        self._sampler = sampler
        return DataLoader(
            dataset,  # type: ignore[arg-type]
            batch_sampler=sampler,
            collate_fn=collate,
            num_workers=self.num_workers,
            persistent_workers=self.num_workers > 0,
            # A separate generator, because otherwise every epoch would draw from the global one.
            generator=torch.Generator().manual_seed(self.seed),
        )

    def val_dataloader(self) -> DataLoader[EvaluationSet] | list[Any]:
        """The whole dev set as one batch; no batch without a dev set."""
        return [] if self.dev is None else self._whole(self.dev)

    def test_dataloader(self) -> DataLoader[EvaluationSet]:
        """The whole test set as one batch."""
        if self.test is None:
            raise InputError(f"data '{self.data['name']}' has no test set; choose other data")
        return self._whole(self.test)

    def state_dict(self) -> dict[str, Any]:
        """The position in the epoch, with the name and seed of the data that it belongs to."""
        if self._sampler is None:
            return dict(self._saved or {})
        state: dict[str, Any] = {**self._sampler.state_dict()}
        if self.trainer is not None:
            # `processed` counts a batch as soon as its optimizer step is done: right at
            # on_train_batch_end, and where a step is interrupted.
            progress: Any = self.trainer.fit_loop.epoch_loop.batch_progress.current
            state["batch"] = progress.processed
            # At an epoch's end Lightning makes the next epoch's iterator before it tells the
            # sampler the epoch, so the position itself must be in the next epoch.
            if progress.processed >= self.trainer.num_training_batches:
                state.update(epoch=state["epoch"] + 1, batch=0)
        return {**state, "name": self.data["name"], "seed": self.seed}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Remember a saved position of the same data, from which the loader will continue."""
        for key, value in (("name", self.data["name"]), ("seed", self.seed)):
            if key in state_dict and state_dict[key] != value:
                raise InputError(
                    f"the saved run had {key} {state_dict[key]!r}, this one has {value!r}; "
                    "resume with the settings of the saved run"
                )
        self._saved = dict(state_dict) or None

    def _whole(self, ranked: EvaluationSet) -> DataLoader[EvaluationSet]:
        """A loader of one batch: the pool is ranked as a whole. It draws no random number."""
        generator = torch.Generator().manual_seed(self.seed)
        return DataLoader([ranked], batch_size=None, generator=generator)  # type: ignore[arg-type]

    def _evaluation(self, side: str) -> EvaluationSet | None:
        entry = self.data[side]
        return None if entry is None else evaluation_set(self.collection(entry["folder"]), entry)
