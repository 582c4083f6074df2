"""The student: a weighted sum of word vectors that learns to rank as a head and a teacher do."""

from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities.types import OptimizerLRSchedulerConfig
from torch import Tensor, nn

from siamese_news.encoders import lead_weights, places_of
from siamese_news.training.distill.lists import Lists


class Student(nn.Module):
    """A text's vector: the sum over its words of ``lead idf_w exp(g_w) (A glove_w + delta_w)``.

    Training a table alone would leave rare words where they started; the linear map A moves them
    with the others (compare model2vec, which starts from the teacher's own token vectors).

    Args:
        vectors: (V, E) word vectors, zero where a word has none.
        idf: (V,).
        dim: D.
        teacher_dim: size of the teacher's vectors, which a linear map of the student's learns.
        lead: the position at which a word counts half as much as the first word.
    """

    vectors: Tensor
    idf: Tensor

    def __init__(
        self, vectors: Tensor, idf: Tensor, *, dim: int, teacher_dim: int, lead: float
    ) -> None:
        super().__init__()
        self.register_buffer("vectors", vectors)
        self.register_buffer("idf", idf)
        self.lead = lead
        self.map = nn.Linear(vectors.shape[1], dim, bias=False)
        self.delta = nn.Parameter(torch.zeros(len(vectors), dim))
        self.log_weight = nn.Parameter(torch.zeros(len(vectors)))
        self.to_teacher = nn.Linear(dim, teacher_dim, bias=False)

    def table(self, words: Tensor) -> Tensor:
        """(N, D) weighted vectors of N words."""
        weights = self.idf[words] * self.log_weight[words].exp()
        return (self.map(self.vectors[words]) + self.delta[words]) * weights[:, None]

    def forward(self, ids: Tensor, starts: Tensor) -> Tensor:
        """Unit vectors (B, D) of texts laid end to end: ids (N,), starts (B,)."""
        words, place = ids.unique(return_inverse=True)
        table = self.table(words)
        shares = lead_weights(places_of(starts, len(ids)), self.lead).to(table)
        summed = nn.functional.embedding_bag(
            place, table, starts, mode="sum", per_sample_weights=shares
        )
        return nn.functional.normalize(summed, dim=1)


class StudentModule(pl.LightningModule):
    """Listwise distillation: as ListNet (Cao et al., ICML 2007), with soft targets.

    The softmax of the targets over the posts of an article, and over the articles of a post, is
    the target for the softmax of the student's cosines at a learned scale (KL divergence). In
    addition a linear map of each vector is trained to point in the direction of the teacher's.

    Args:
        student: the student, which is trained in place.
        lr: Adam's learning rate, falling linearly; five times as high for word weights and scales.
        steps: number of steps of the whole training.
        temperature: temperature of the targets.
    """

    def __init__(self, student: Student, *, lr: float, steps: int, temperature: float) -> None:
        super().__init__()
        self.student = student
        self.lr = lr
        self.steps = steps
        self.temperature = temperature
        start = torch.full((2,), 1 / temperature)
        self.log_scale = nn.Parameter(start.log())

    def training_step(self, batch: Lists, batch_idx: int) -> Tensor:
        """One step."""
        articles = self.student(batch.articles.ids, batch.articles.starts)
        posts = self.student(batch.posts.ids, batch.posts.starts)
        cosines, targets = articles @ posts.T, batch.targets / self.temperature
        of_article, of_post = self.log_scale.exp()
        loss = _divergence(cosines * of_article, targets)
        loss = loss + 0.5 * _divergence(cosines.T * of_post, targets.T)
        for vectors, teacher in ((articles, batch.articles.teacher), (posts, batch.posts.teacher)):
            mapped = nn.functional.normalize(self.student.to_teacher(vectors), dim=1)
            loss = loss + 1 - (mapped * teacher).sum(1).mean()
        self.log("train/loss", loss.detach(), prog_bar=True, batch_size=len(articles))
        return loss

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        """Adam with a linear decay."""
        student = self.student
        groups: list[dict[str, Any]] = [
            {"params": [student.map.weight, student.delta, student.to_teacher.weight]},
            {"params": [student.log_weight, self.log_scale], "lr": 5 * self.lr},
        ]
        optimizer = torch.optim.Adam(groups, lr=self.lr)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: max(0.02, 1 - step / self.steps)
        )
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "step"},
        }


def _divergence(scores: Tensor, targets: Tensor) -> Tensor:
    """Mean over the rows of KL(softmax of targets || softmax of scores)."""
    return nn.functional.kl_div(scores.log_softmax(1), targets.softmax(1), reduction="batchmean")
