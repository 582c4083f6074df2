"""The small model that is trained, and the lists of posts that it learns to order."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray
from pytorch_lightning.utilities.types import OptimizerLRSchedulerConfig
from scipy import sparse
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from siamese_news.encoders import lead_weights, places_of
from siamese_news.lexical_head.head import TermHead
from siamese_news.lexical_head.term_ids import distinct

Rows = Sequence[NDArray[np.int64]]
# Articles whose nearest posts are computed at once: 200 MB of scores for 200,000 posts.
BLOCK = 256


class Bags(NamedTuple):
    """B texts end to end: word ids (N,), starts (B,), and unit vectors of the teacher (B, T)."""

    ids: Tensor
    starts: Tensor
    teacher: Tensor


class Lists(NamedTuple):
    """A batch of A articles and P posts, candidates of all the articles, and targets (A, P)."""

    articles: Bags
    posts: Bags
    targets: Tensor


class ListsToRank(Dataset[int]):
    """Articles with the posts nearest to them, by a lexical head's words and a teacher's cosine.

    The target of a pair is ``lexical * head + (1 - lexical) * cosine``: a dense vector that learns
    it learns from the teacher which texts are alike without common words, and from the head which
    words count. Of the head only the weights of words by the background IDF are used.

    Args:
        articles: word ids of A texts, at least one each.
        posts: word ids of P texts, at least one each.
        teacher: unit vectors (A, T) and (P, T).
        head: the lexical head, of which `lexical` is the share in the target.
        near: how many posts are stored for an article; all of them if there are fewer.
        limit: words of an article that the student reads; the target reads all.
    """

    def __init__(
        self,
        articles: Rows,
        posts: Rows,
        teacher: tuple[np.ndarray, np.ndarray],
        *,
        head: TermHead,
        lexical: float,
        near: int,
        limit: int | None,
    ) -> None:
        self.articles = [ids[:limit] for ids in articles]
        self.posts = posts
        self.teacher = teacher
        self.lexical = lexical
        background = head.background()
        weights = replace(background, options=replace(head.options, bigram_weight=0.0))
        words = np.arange(len(head.frequencies))
        self.article_terms = weights.articles(articles, words)
        self.post_terms = weights.posts(*distinct(posts), words)
        self.near = self._nearest(min(near, len(posts)))

    def __len__(self) -> int:
        return len(self.articles)

    def __getitem__(self, row: int) -> int:
        return row

    def targets(
        self, articles: NDArray[np.int64], posts: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """(A, P) scores of the rows given."""
        return self._scores(articles, self.post_terms[posts].T, self.teacher[1][posts])

    def _scores(
        self, articles: NDArray[np.int64], terms: sparse.spmatrix, teacher: np.ndarray
    ) -> NDArray[np.float32]:
        scores: NDArray[np.float32] = (self.article_terms[articles] @ terms).toarray()
        cosine = (
            self.teacher[0][articles].astype(np.float32) @ teacher.astype(np.float32).T
        )
        scores *= self.lexical
        scores += (1 - self.lexical) * cosine
        return scores

    def _nearest(self, count: int) -> NDArray[np.int32]:
        """(A, count) rows of the posts with the highest targets, in no particular order."""
        nearest = np.zeros((len(self), count), np.int32)
        terms = self.post_terms.T.tocsr()
        teacher = self.teacher[1].astype(np.float32)
        for start in range(0, len(self), BLOCK):
            rows = np.arange(start, min(start + BLOCK, len(self)))
            scores = self._scores(rows, terms, teacher)
            cut = scores.shape[1] - count
            nearest[rows] = (
                np.argpartition(scores, cut, axis=1)[:, cut:] if cut else range(count)
            )
        return nearest


def list_loader(
    lists: ListsToRank, *, batch: int, candidates: int, seed: int
) -> DataLoader[int]:
    """Shuffled batches (`Lists`): `batch` articles, two random posts and `candidates` near each."""
    rng = np.random.default_rng(seed)

    def collate(rows: list[int]) -> Lists:
        articles = np.array(rows)
        near = rng.permuted(lists.near[articles], axis=1)[:, :candidates].ravel()
        posts = np.union1d(near, rng.integers(len(lists.posts), size=2 * len(rows)))
        return Lists(
            _bags(
                [lists.articles[row] for row in articles], lists.teacher[0][articles]
            ),
            _bags([lists.posts[row] for row in posts], lists.teacher[1][posts]),
            torch.from_numpy(lists.targets(articles, posts)),
        )

    return DataLoader(
        lists,
        batch_size=min(batch, len(lists)),
        shuffle=True,
        drop_last=True,
        collate_fn=collate,
        generator=torch.Generator().manual_seed(seed),
    )


def _bags(texts: Rows, teacher: np.ndarray) -> Bags:
    ends = np.cumsum([len(ids) for ids in texts])
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    vectors = torch.from_numpy(teacher.astype(np.float32))
    return Bags(
        torch.from_numpy(np.concatenate(texts)), torch.from_numpy(starts), vectors
    )


class Student(nn.Module):
    """A text's vector: the sum over its words of ``lead idf_w exp(g_w) (A glove_w + delta_w)``.

    Training a table alone would leave rare words where they started; the linear map A moves them
    with the others (compare model2vec, which starts from the teacher's own token vectors).

    The word vectors are (V, E), zero where a word has none. Another linear map, of the text's
    vector, learns the teacher's vectors. `lead` is the position at which a word counts half as much
    as the first word.
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

    Adam's learning rate falls linearly over the steps; it is five times as high for word weights
    and scales. The student is trained in place.
    """

    def __init__(
        self, student: Student, *, lr: float, steps: int, temperature: float
    ) -> None:
        super().__init__()
        self.student = student
        self.lr = lr
        self.steps = steps
        self.temperature = temperature
        self.log_scale = nn.Parameter(torch.full((2,), 1 / temperature).log())

    def training_step(self, batch: Lists, batch_idx: int) -> Tensor:
        """The loss of a batch."""
        articles = self.student(batch.articles.ids, batch.articles.starts)
        posts = self.student(batch.posts.ids, batch.posts.starts)
        cosines = articles @ posts.T
        targets = batch.targets / self.temperature
        of_article, of_post = self.log_scale.exp()
        loss = _divergence(cosines * of_article, targets)
        loss = loss + 0.5 * _divergence(cosines.T * of_post, targets.T)
        for vectors, teacher in (
            (articles, batch.articles.teacher),
            (posts, batch.posts.teacher),
        ):
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
    return nn.functional.kl_div(
        scores.log_softmax(1), targets.softmax(1), reduction="batchmean"
    )
