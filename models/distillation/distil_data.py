"""The data of distillation: texts, and what a teacher says of each."""

import logging
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Unpack

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset
from typing_extensions import override

from models.distillation.corpus import read_corpus, read_texts, student_texts
from siamese_news.data.samplers import BatchSampler
from siamese_news.errors import InputError
from siamese_news.model.loading import first_words
from siamese_news.model.siamese import Model
from siamese_news.model.trained_on import TrainingRecord
from siamese_news.text import PAD
from siamese_news.text.token_ids import TokenIds
from siamese_news.training.build import fingerprint
from siamese_news.training.datamodule import Batches, DataOptions, SiameseDataModule
from siamese_news.training.teacher import teacher_vectors

log = logging.getLogger(__name__)


class TextBatchSampler(BatchSampler[list[int]]):
    """Random batches of texts, all of one size; the texts left over wait for another epoch.

    Args:
        texts: how many there are.
        texts_per_batch: over all ranks.

    Raises:
        InputError: for a batch of fewer than two texts a rank, or fewer texts than that.
    """

    def __init__(
        self,
        *,
        texts: int,
        texts_per_batch: int,
        seed: int = 0,
        rank: int = 0,
        world: int = 1,
        one_epoch: bool = False,
    ) -> None:
        super().__init__(seed=seed, rank=rank, world=world, one_epoch=one_epoch)
        if texts_per_batch < 2 * world or texts < 2 * world:
            raise InputError(
                f"{texts} texts in batches of {texts_per_batch} for {world} processes: a text is "
                "compared with others of its batch; expected 2 or more of both for each process"
            )
        self.texts = texts
        self.texts_per_batch = min(texts, texts_per_batch // world * world)
        self._batches = texts // self.texts_per_batch

    def __iter__(self) -> Iterator[list[int]]:
        """This rank's batches of the epoch, from the position on."""
        epoch = 0 if self.one_epoch else self.epoch
        order = np.random.default_rng([self.seed, epoch]).permutation(self.texts)
        for batch in range(self.batch, len(self)):
            start = batch * self.texts_per_batch
            end = start + self.texts_per_batch
            yield order[start + self.rank : end : self.world].tolist()


class TaughtTexts(Dataset[dict[str, Tensor]]):
    """Texts with their teacher's vectors, a batch at a time.

    Args:
        ids: the token ids of N texts.
        vectors: unit vectors (N, T) float16.
        device: in whose memory all of them, and the batches, are.
    """

    def __init__(
        self, ids: TokenIds, vectors: np.ndarray, device: str | torch.device = "cpu"
    ) -> None:
        flat = np.append(ids.flat, PAD).astype(np.int32)  # there may be no id at all
        self.flat, self.offsets, self.vectors = (
            torch.as_tensor(part).to(device) for part in (flat, ids.offsets, vectors)
        )

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitems__(self, rows: list[int]) -> dict[str, Tensor]:
        """``ids`` (B, S) int64, padded with -1, and ``teacher`` (B, T) float32."""
        chosen = torch.as_tensor(rows).to(self.vectors.device)
        starts = self.offsets[chosen, None]
        ends = self.offsets[chosen + 1, None]
        width = max(1, int((ends - starts).max()))
        places = starts + torch.arange(width, device=starts.device)
        ids = self.flat[places.clamp(max=len(self.flat) - 1)]
        padded = ids.long().masked_fill(places >= ends, PAD)
        return {"ids": padded, "teacher": self.vectors[chosen].float()}


def _as_it_is(batch: Any) -> Any:
    return batch


class DistilDataModule(SiameseDataModule):
    """Texts of the training pairs, or of ``data.texts``, with the vectors of a teacher.

    Dev and test sets, workers and the position in an epoch are those of `SiameseDataModule`.

    Args:
        task: the options of ``conf/task/distil.yaml``.
        device: on which the teacher computes.
        **options: of `SiameseDataModule`.
    """

    reads_texts = True

    def __init__(
        self,
        *,
        task: Mapping[str, Any],
        device: str = "cpu",
        seed: int = 0,
        num_workers: int = 0,
        **options: Unpack[DataOptions],
    ) -> None:
        super().__init__(seed=seed, num_workers=num_workers, **options)
        if count := self.data.get("hard_negatives", {}).get("per_article", 0):
            raise InputError(
                f"data.hard_negatives.per_article is {count}: a student of task=distil learns from "
                "texts, which have no negatives; leave it out, or train pairs with task=link"
            )
        self.task = task
        self.device = device
        self._ids: tuple[tuple[str, ...], TokenIds] | None = None

    @cached_property
    def texts(self) -> list[str]:
        """What the student reads, each text once; see `student_texts`."""
        texts = student_texts(*self._whole_texts, self.task["cut"], seed=self.seed)
        if not texts:
            raise InputError(f"no text to learn from in data {self.data['name']!r}")
        return texts

    @cached_property
    def _whole_texts(self) -> tuple[list[str], list[str]]:
        """Articles and posts before anything is cut; those of ``data.texts`` count as articles."""
        if not self.data.get("texts"):
            return read_corpus(self, self.task)
        if self.task["unlabeled"]:
            raise InputError(
                f"data.texts={self.data['texts']} and task.unlabeled={self.task['unlabeled']}: "
                "expected one of them; data.texts takes a list, too"
            )
        return read_texts(self.data["texts"]), []

    @cached_property
    def taught(self) -> np.ndarray:
        """The teacher's unit vectors (N, T) float16 of the texts; see `teacher_vectors`."""
        cut = first_words(self.texts, self.task["teacher"]["words"])
        options = {name: self.task["teacher"][name] for name in ("source", "bf16")}
        vectors = teacher_vectors(cut, **options, device=self.device)
        log.info("teacher: %d vectors of %d dimensions", *vectors.shape)
        return vectors

    @override
    def sizes(self) -> str:
        parts = {"dev": self.dev, "test": self.test}
        sizes = [
            f"{name} {len(part.articles)}"
            for name, part in parts.items()
            if part is not None
        ]
        return ", ".join([f"texts {len(self.texts):,}", *sizes])

    @override
    def record(self, trained_on: TrainingRecord) -> None:
        if self.data.get("texts"):
            trained_on.add_fingerprints(map(fingerprint, self._whole_texts[0]))
        else:
            super().record(trained_on)

    @override
    def setup(self, stage: str) -> None:
        if stage != "fit":
            super().setup(stage)
        elif self.trainer is not None:
            _ = self.dev

    def token_ids(self, model: Model) -> TokenIds:
        """The ids of the texts, as a model reads them; they are kept for others with its words."""
        if self._ids is None or self._ids[0] != model.vocabulary.words:
            ids = model.cut(model.token_ids(self.texts), "article")
            self._ids = model.vocabulary.words, ids
        return self._ids[1]

    @override
    def train_dataloader(self) -> Batches:
        assert self.trainer is not None
        module: Any = self.trainer.lightning_module
        sampler = TextBatchSampler(
            texts=len(self.texts),
            texts_per_batch=self.task["texts_per_batch"],
            **self._process(),
        )
        # Next to the model, so that a GPU does not wait for the processor.
        texts = TaughtTexts(self.token_ids(module.model), self.taught, module.device)
        return self._batches(texts, sampler, _as_it_is)
