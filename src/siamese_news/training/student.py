"""The student: a weighted sum of word vectors that learns to point where its teacher points."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities.types import OptimizerLRSchedulerConfig
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

Rows = tuple[Tensor, Tensor, Tensor]


class Student(nn.Module):
    """A text's vector is the sum over its words w of ``idf_w exp(g_w) (A glove_w + delta_w)``.

    Training a table alone would leave rare words where they started; the linear map A moves them
    with the others (compare model2vec, which starts from the teacher's own token vectors).

    Args:
        vectors: (V, E) word vectors, zero where a word has none.
        idf: (V,).
        output_dim: D of the teacher.
    """

    vectors: Tensor
    idf: Tensor

    def __init__(self, vectors: Tensor, idf: Tensor, output_dim: int) -> None:
        super().__init__()
        self.register_buffer("vectors", vectors)
        self.register_buffer("idf", idf)
        self.map = nn.Linear(vectors.shape[1], output_dim, bias=False)
        self.delta = nn.Parameter(torch.zeros(len(vectors), output_dim))
        self.log_weight = nn.Parameter(torch.zeros(len(vectors)))

    def weights(self, words: Tensor) -> Tensor:
        """(N,) weights of N words."""
        return self.idf[words] * self.log_weight[words].exp()

    def table(self, words: Tensor) -> Tensor:
        """(N, D) weighted vectors of N words."""
        return (self.map(self.vectors[words]) + self.delta[words]) * self.weights(words)[:, None]

    def forward(self, ids: Tensor, starts: Tensor) -> Tensor:
        """Unit vectors (B, D) of texts laid end to end: ids (N,), starts (B,)."""
        words, place = ids.unique(return_inverse=True)
        summed = nn.functional.embedding_bag(place, self.table(words), starts, mode="sum")
        return nn.functional.normalize(summed, dim=1)


class StudentModule(pl.LightningModule):
    """Maximises the mean cosine with the teacher; the learning rate falls linearly.

    Args:
        student: what is trained, in place.
        lr: Adam's; ten times as much for the words' weights.
        steps: of the whole training.
    """

    def __init__(self, student: Student, *, lr: float, steps: int) -> None:
        super().__init__()
        self.student = student
        self.lr = lr
        self.steps = steps

    def training_step(self, batch: Rows, batch_idx: int) -> Tensor:
        """One step."""
        ids, starts, teacher = batch
        loss = 1 - (self.student(ids, starts) * teacher).sum(1).mean()
        self.log("train/loss", loss.detach(), prog_bar=True, batch_size=len(starts))
        return loss

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        """Adam with a linear decay."""
        student = self.student
        groups: list[dict[str, Any]] = [
            {"params": [student.map.weight, student.delta]},
            {"params": [student.log_weight], "lr": 10 * self.lr},
        ]
        optimizer = torch.optim.Adam(groups, lr=self.lr)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: max(0.02, 1 - step / self.steps)
        )
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "step"},
        }


class _Texts(Dataset[tuple[np.ndarray, np.ndarray]]):
    def __init__(self, ids: Sequence[np.ndarray], teacher: np.ndarray) -> None:
        self.ids, self.teacher = ids, teacher

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        return self.ids[row], self.teacher[row]


def loader(
    ids: Sequence[np.ndarray], teacher: np.ndarray, *, batch: int, seed: int
) -> DataLoader[tuple[np.ndarray, np.ndarray]]:
    """Shuffled batches of (ids, starts, teacher vectors).

    Args:
        ids: token ids of each text, at least one.
        teacher: (B, D) unit vectors.
        batch: texts in a batch.
        seed: of the order.
    """
    return DataLoader(
        _Texts(ids, teacher),
        batch_size=batch,
        shuffle=True,
        drop_last=len(ids) >= batch,
        collate_fn=_collate,
        generator=torch.Generator().manual_seed(seed),
    )


def _collate(items: Sequence[tuple[np.ndarray, np.ndarray]]) -> Rows:
    lengths = np.array([len(ids) for ids, _ in items])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    return (
        torch.from_numpy(np.concatenate([ids for ids, _ in items])),
        torch.from_numpy(starts.astype(np.int64)),
        torch.from_numpy(np.stack([vector for _, vector in items]).astype(np.float32)),
    )


def chunks(length: int, size: int = 8192) -> Iterator[Tensor]:
    """Indices 0 … length - 1 in chunks."""
    for start in range(0, length, size):
        yield torch.arange(start, min(start + size, length))
