"""The LightningDataModule: pairs of articles and posts, in batches and as evaluation sets."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import (
    Any,
    Literal,
    NotRequired,
    TypedDict,
    Unpack,
)

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from siamese_news.data.collate import GroupDataset, collate
from siamese_news.data.records import Article, Collection, Post
from siamese_news.data.samplers import (
    ArticleBatchSampler,
    BatchSampler,
    PairBatchSampler,
)
from siamese_news.data.sources import (
    BUNDLED,
    EvaluationSet,
    data_path,
    evaluation_set,
    open_source,
    splits_at,
)
from siamese_news.data.splits import (
    HELD_OUT,
    SplitBy,
    hold_out,
    relevant_pairs,
    resplit,
    same_text_key,
)
from siamese_news.encoders.presets import names_of
from siamese_news.errors import InputError
from siamese_news.model.text_model import TextModel
from siamese_news.model.trained_on import TrainingRecord
from siamese_news.text import Tokenizer, Vocabulary
from siamese_news.text.token_ids import Side, check_limits, truncate
from siamese_news.training.build import build_text, fingerprint
from siamese_news.training.hard_negatives import (
    HardNegatives,
    hard_negatives,
)
from siamese_news.training.plain_options import (
    KeepsArguments,
    composed,
    merged,
    options_of,
    save_as_hyperparameters,
)
from siamese_news.training.schema import Count, complaints

log = logging.getLogger(__name__)


class Source(TypedDict):
    """Training pairs: a folder or table (`open_source`), and one of its splits."""

    folder: str
    split: str


class Ranked(TypedDict):
    """An evaluation set; see `evaluation_set`."""

    folder: str
    split: str
    pool: NotRequired[Literal["linked", "with_unlinked"]]
    one_story: NotRequired[bool]


class Split(TypedDict, total=False):
    """New splits; see `resplit`."""

    by: SplitBy
    fractions: list[float]
    seed: int


class Batching(TypedDict, total=False):
    """What a batch is; see `ArticleBatchSampler` and `PairBatchSampler`."""

    kind: Literal["articles", "pairs"]
    articles_per_batch: Count
    posts_per_article: Count
    chunks_per_epoch: Count | None
    pairs_per_batch: Count


class Limits(TypedDict, total=False):
    """How many tokens of a text are read, and which end of a longer one."""

    article_tokens: int | None
    post_tokens: int | None
    keep: Literal["first", "last"]


class DataOptions(TypedDict, total=False):
    """The options of a file in ``conf/data``."""

    name: str
    train: list[Source]
    texts: NotRequired[str | list[str] | None]
    dev: Ranked | None
    test: Ranked | None
    split: Split
    batching: Batching
    hard_negatives: NotRequired[HardNegatives]
    limits: Limits
    columns: NotRequired[dict[str, str] | None]


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
        keys = (
            same_text_key(post.text) or f"\x00{n}" for n, post in enumerate(self.posts)
        )
        return [numbers.setdefault(key, len(numbers)) for key in keys]

    def texts(self) -> Iterator[str]:
        """All training texts: articles with their titles, then posts."""
        yield from (article.full_text for article in self.articles)
        yield from (post.text for post in self.posts)


def training_set(sources: Iterable[tuple[str, Collection, str]]) -> TrainingSet:
    """Join (source name, collection, split) into one training set.

    Equal ids of one source are one text, also across its splits; those of two sources are not.

    Raises:
        InputError: a split is not there, or no article has a relevant post.
    """
    joined = TrainingSet()
    article_index: dict[tuple[str, str], int] = {}
    post_index: dict[tuple[str, str], int] = {}
    seen: set[tuple[int, int]] = set()
    named_splits = []
    for source, collection, split in sources:
        named_splits.append(f"split '{split}' of '{source}'")
        for article_id, post_id in relevant_pairs(collection.split(split)):
            article = article_index.setdefault(
                (source, article_id), len(joined.articles)
            )
            if article == len(joined.articles):
                joined.articles.append(collection.articles[article_id])
                joined.posts_of.append([])
            post = post_index.setdefault((source, post_id), len(joined.posts))
            if post == len(joined.posts):
                joined.posts.append(collection.posts[post_id])
            if (article, post) not in seen:
                seen.add((article, post))
                joined.posts_of[article].append(post)
    if not seen:
        raise InputError(
            f"{', '.join(named_splits)}: no pair to train on; expected at least one with a score "
            "of 1 or more"
        )
    return joined


def data_options(
    data: str | Path | Mapping[str, Any], columns: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The options that describe data: of a name in ``conf/data``, a folder, or a table of pairs.

    `columns` has the names of a table's columns (`read_pairs`). A folder or table keeps its splits if
    it has ``train`` and ``dev``; otherwise it is split by article (data=my_pairs).
    """
    if isinstance(data, Mapping):
        return {
            name: value for name, value in data.items() if not str(name).startswith("_")
        }
    if isinstance(data, str) and data in names_of("data"):
        return data_options(composed(f"data={data}")["data"])
    if not isinstance(columns, Mapping | None):
        raise InputError(
            f"columns: got {columns!r}; expected the names of columns by what they have, such as "
            "{'post': 'tweet'}"
        )
    path = Path(data).expanduser()
    folder = str(path.absolute() if path.exists() else data)
    values = {"data.name": folder}
    options = data_options(composed("data=my_pairs", values=values)["data"])
    options["columns"] = dict(columns or {})
    splits = splits_at(folder, options["columns"])
    if {"train", "dev"} <= splits:
        options["split"]["by"] = "given"
        if "test" not in splits:
            options["test"] = None
    return options


def check_options(data: Mapping[str, Any]) -> None:
    """Raise an `InputError` for unknown, missing and impossible options of the data."""
    for complaint in complaints("data", data, DataOptions):
        raise InputError(complaint)
    check_limits(data["limits"], "data.limits")
    mined = data.get("hard_negatives", {}).get("per_article")
    if mined and data["batching"]["kind"] == "pairs":
        raise InputError(
            "data.hard_negatives.per_article joins the articles of a batch, and "
            "data.batching.kind=pairs has single pairs; take data.batching.kind=articles"
        )


class RankedSet:
    """An evaluation set as a batch: Lightning moves batches, and takes frozen dataclasses apart."""

    def __init__(self, content: EvaluationSet) -> None:
        self.content = content

    def to(self, device: object, **options: object) -> "RankedSet":
        """Itself: it is text, which a model's own encoding takes to a device."""
        return self


class Batches:
    """Batches for Lightning that it iterates over as they are.

    In a `DataLoader` it would replace the sampler, which knows the processes, and shuffles by
    epoch.
    """

    def __init__(self, batches: Any, sampler: Any = None) -> None:
        self._batches = batches
        self.batch_sampler = sampler  # Lightning tells it the epoch

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[Any]:
        # A generator: Lightning opens loaders only to look at them, and no worker starts for that.
        # The workers end with it, since Lightning ends those of a DataLoader alone.
        yield from self._batches


class SiameseDataModule(KeepsArguments, pl.LightningDataModule):
    """Articles and their posts: tokenized once, batched, resumable to the batch.

    The position in an epoch is part of a checkpoint through this module's own state (the states
    of loaders are lost where an optimizer asks for ``trainer.estimated_stepping_batches``). It
    counts batches that were trained on, so batches which workers fetched ahead are not skipped.

    Args:
        data: the name of a file in ``conf/data``, such as ``"stories"``, which ships with the
            package; a folder in the BEIR layout; a table of pairs, CSV or TSV (`read_pairs`); or
            the values of a file in ``conf/data``.
        vectors: an option of ``conf/vectors`` by name or value, or a model, whose words give the
            token ids; None takes those of the module that is trained.
        tokenizer: options of `siamese_news.text.Tokenizer`, for vectors that are an option.
        seed: of the batches. (The splits have their own, ``split["seed"]``.)
        num_workers: processes that pad batches; 0 does it in this one.
        held_out: share of the training events (or articles) that neither trains nor is dev or
            test; see the attribute `held_out`.
        **options: values of ``conf/data`` that differ: ``name``; ``train``, a list of ``{folder,
            split}``; ``columns``, the names of a table's columns where they differ, such as
            ``{"post": "tweet"}``; ``dev`` and ``test``, each ``{folder, split, pool, one_story}`` or
            None; ``split`` (`resplit`); ``batching``; ``hard_negatives``; ``limits``. Mappings need
            only what differs.

    Raises:
        InputError: for data that do not exist, and unknown, missing or impossible options.

    Example:
        >>> from siamese_news import SiameseDataModule
        >>> data = SiameseDataModule("stories", batching={"articles_per_batch": 8})
        >>> data.sizes()
        'train 28, dev 8, test 12'
    """

    #: Whether texts without pairs, ``data.texts``, are what trains.
    reads_texts = False

    def __init__(
        self,
        data: str | Path | Mapping[str, Any] | None = None,
        *,
        vectors: str | Mapping[str, Any] | TextModel | None = None,
        tokenizer: Mapping[str, Any] | None = None,
        seed: int = 0,
        num_workers: int = 0,
        held_out: float = 0.0,
        **options: Unpack[DataOptions],
    ) -> None:
        super().__init__()
        if data is None and not options:
            data = BUNDLED
        columns = options.get("columns")
        described = {} if data is None else data_options(data, columns)
        self.data = merged(described, options)
        check_options(self.data)
        if self.data.get("texts") and not self.reads_texts:
            raise InputError(
                f"data.texts={self.data['texts']}: texts without pairs are read by task=distil "
                "alone; leave it out, or train with task=distil"
            )
        self.seed = int(seed)
        self.num_workers = num_workers
        if isinstance(vectors, str):
            vectors = dict(composed(f"vectors={vectors}")["vectors"])
        self._vectors: Mapping[str, Any] | TextModel | None = vectors
        self._tokenizer = tokenizer
        self._held_out = held_out
        self._collections: dict[str, Collection] = {}
        self._dataset: GroupDataset | None = None
        self._sampler: BatchSampler[Any] | None = None
        self._saved: dict[str, Any] | None = None
        # As used, but for what a subclass makes of arguments of its own.
        declared = options_of(type(self), SiameseDataModule)
        names = {*self.arguments, *self.objects}
        names &= {n for n in declared if declared[n] is SiameseDataModule}
        attributes = {"data": self.data, "vectors": vectors, "tokenizer": tokenizer}
        values = self.arguments | {n: v for n, v in attributes.items() if n in names}
        in_data = options if "data" in names else ()
        # Lightning refuses values that differ from the module's, such as None.
        absent = {name for name, value in values.items() if value is None}.union(
            in_data
        )
        save_as_hyperparameters(
            self, {n: v for n, v in values.items() if n not in absent}
        )

    @property
    def limits(self) -> Mapping[str, Any]:
        """How many tokens of a text are read."""
        limits: Mapping[str, Any] = self.data["limits"]
        return limits

    def collection(self, folder: str) -> Collection:
        """A source after splitting; read once."""
        if folder not in self._collections:
            split = self.data["split"]
            source = open_source(folder, self.data.get("columns") or {})
            collection = resplit(source, **split)
            if self._held_out:
                trained = {
                    e["split"] for e in self.data["train"] if e["folder"] == folder
                }
                for name in sorted(trained):
                    collection = hold_out(
                        collection, name, self._held_out, split["seed"]
                    )
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
        return ", ".join(
            f"{name} {len(dataset.articles)}"
            for name, dataset in parts.items()
            if dataset is not None
        )

    def record(self, trained_on: TrainingRecord) -> None:
        """Add the training articles and posts to the record of a model."""
        for entry in self.data["train"]:
            collection = self.collection(entry["folder"])
            pairs = collection.split(entry["split"])
            posts = (post for judged in pairs.values() for post in judged)
            trained_on.add(collection.name, articles=pairs, posts=posts)
        texts = (article.full_text for article in self.train_set.articles)
        trained_on.add_fingerprints(map(fingerprint, texts))

    def prepare_data(self) -> None:
        """Nothing is downloaded; a source that is not there is an error before anything starts."""
        entries = [*self.data["train"], self.data["dev"], self.data["test"]]
        for folder in {entry["folder"] for entry in entries if entry} - {BUNDLED}:
            data_path(folder)

    def setup(self, stage: str) -> None:
        """Read the data of a stage and, to train, turn its texts into token ids, once."""
        if stage == "fit" and self._dataset is None:
            self._dataset = self._tokenized(*self._words())
        parts = {
            "fit": ("dev",),
            "validate": ("dev",),
            "test": ("test",),
            "predict": (),
        }
        for attribute in parts.get(stage, ()):
            getattr(self, attribute)

    def _words(self) -> tuple[Callable[[str], list[str]], Vocabulary]:
        """Tokens of a text, and the vocabulary: of the module that is trained, or of `vectors`."""
        module: Any = (
            self.trainer.lightning_module if self.trainer is not None else None
        )
        model = getattr(module, "model", None)
        if isinstance(model, TextModel):
            vectors = self._vectors
            module_vectors = getattr(module, "vectors_option", None)
            if (
                isinstance(vectors, TextModel)
                and vectors.vocabulary.words != model.vocabulary.words
            ):
                raise InputError(
                    f"the data module has the words of another model ({len(vectors.vocabulary)}) "
                    f"than the module ({len(model.vocabulary)}); give both the same vectors"
                )
            if isinstance(vectors, Mapping) and vectors != module_vectors:
                raise InputError(
                    f"the data module has vectors={vectors['source']!r}, the module "
                    f"{module_vectors and module_vectors['source']!r}, or other options of them; give "
                    "both the same, or give the data module none"
                )
            # What a model with a lexical head reads is known once its module has learned it.
            if hasattr(module, "learn_words"):
                module.learn_words(self)
            return model.tokens, model.vocabulary
        if isinstance(self._vectors, TextModel):
            return self._vectors.tokens, self._vectors.vocabulary
        if hasattr(model, "_orig_mod"):
            raise InputError(
                "module.model is wrapped by torch.compile as a whole, which hides what it reads; "
                "compile it in place, with module.model.compile(), or a part of it"
            )
        if self._vectors is None:
            raise InputError(
                "the data module has no vectors, and no SiameseModule is trained that has; give "
                'it some, such as SiameseDataModule(…, vectors="glove50")'
            )
        options = self._tokenizer or composed()["task"]["tokenizer"]
        tokenizer: Tokenizer
        tokenizer, vocabulary, _ = build_text(self._vectors, options)
        return tokenizer, vocabulary

    def _tokenized(
        self, tokenizer: Callable[[str], list[str]], vocabulary: Vocabulary
    ) -> GroupDataset:
        """Every training text as token ids."""
        words = known_words = 0

        def ids(text: str, side: Side) -> np.ndarray:
            nonlocal words, known_words
            tokens = tokenizer(text)
            token_ids = np.asarray(vocabulary.ids(tokens), dtype=np.int64)
            words = words + len(tokens)
            known_words = known_words + len(token_ids)
            token_ids = truncate(token_ids, self.data["limits"], side)
            # Half the memory, unless hashed words need the range.
            small = not token_ids.size or int(token_ids.max()) < 2**31
            return token_ids.astype(np.int32) if small else token_ids.copy()

        train = self.train_set
        dataset = GroupDataset(
            articles=[ids(a.full_text, "article") for a in train.articles],
            posts=[ids(p.text, "post") for p in train.posts],
            negatives=self._hard_negatives(),
        )
        if known_words < words / 2:
            raise InputError(
                f"the vectors have {known_words:,} of the {words:,} words of the training texts, so an "
                "encoder cannot tell most texts apart; take vectors of their language "
                "(vectors.source=FILE), more of them (vectors.max_words=null), or "
                "vectors.unknown=hash"
            )
        return dataset

    def _hard_negatives(self) -> list[list[tuple[int, int]]]:
        """What `hard_negatives` adds to each article's posts; empty without."""
        options = self.data.get("hard_negatives")
        if not options or not options["per_article"]:
            return []
        train = self.train_set
        log.info("hard negatives: %d for each article", options["per_article"])
        return hard_negatives(
            train.articles, train.posts, train.posts_of, options, seed=self.seed
        )

    def train_dataloader(self) -> Batches:
        """The training batches of this process, as `collate` makes them."""
        if self._dataset is None:
            self.setup("fit")
        batching = self.data["batching"]
        dataset = self._dataset
        assert dataset is not None
        posts = self.train_set.posts_of
        sampler: ArticleBatchSampler | PairBatchSampler
        if batching["kind"] == "pairs":
            sampler = PairBatchSampler(
                posts=posts,
                pairs_per_batch=batching["pairs_per_batch"],
                **self._process(),
            )
        else:
            sampler = ArticleBatchSampler(
                posts=posts,
                lengths=[len(article) for article in dataset.articles],
                articles_per_batch=batching["articles_per_batch"],
                posts_per_article=batching["posts_per_article"],
                chunks_per_epoch=batching["chunks_per_epoch"],
                text_of=self.train_set.text_groups(),
                **self._process(),
            )
            if sampler.left_out:
                log.warning(
                    "%d training pairs are left out: the same post text is under more than %d "
                    "articles, and says nothing about any of them",
                    sampler.left_out,
                    sampler.most_articles,
                )
        return self._batches(dataset, sampler, collate)

    def _process(self) -> dict[str, Any]:
        """What a sampler has to know of this process, and the seed."""
        if self.trainer is None:
            return {"seed": self.seed}
        fitted: Any = self.trainer  # overfit_batches has no declared type
        return {
            "seed": self.seed,
            "rank": fitted.global_rank,
            "world": fitted.world_size,
            "one_epoch": fitted.overfit_batches > 0,
        }

    def _batches(
        self,
        dataset: Any,
        sampler: BatchSampler[Any],
        collate_fn: Callable[[Any], Any],
    ) -> Batches:
        """The batches of a sampler, from the saved position on."""
        if self._saved is not None:
            sampler.load_state_dict(self._saved)
            self._saved = None
        self._sampler = sampler
        loader: DataLoader[dict[str, Tensor]] = DataLoader(
            dataset,
            batch_sampler=sampler,
            collate_fn=collate_fn,
            num_workers=self.num_workers,
            # A separate generator, because otherwise every epoch would draw from the global one.
            generator=torch.Generator().manual_seed(self.seed),
        )
        return Batches(loader, sampler)

    def val_dataloader(self) -> Batches | list[Any]:
        """The whole dev set as one batch; no batch without a dev set."""
        return [] if self.dev is None else Batches([RankedSet(self.dev)])

    def test_dataloader(self) -> Batches:
        """The whole test set as one batch."""
        if self.test is None:
            raise InputError(
                f"data '{self.data['name']}' has no test set; choose other data"
            )
        return Batches([RankedSet(self.test)])

    def predict_dataloader(self) -> Batches:
        """The whole test set as one batch, or the dev set where there is no test."""
        ranked = self.test or self.dev
        if ranked is None:
            raise InputError(
                f"data '{self.data['name']}' has no test and no dev set to predict"
            )
        return Batches([RankedSet(ranked)])

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

    def _evaluation(self, side: str) -> EvaluationSet | None:
        entry = self.data[side]
        return (
            None
            if entry is None
            else evaluation_set(self.collection(entry["folder"]), entry)
        )
