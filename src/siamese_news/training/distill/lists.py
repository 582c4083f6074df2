"""Training lists: articles, posts near them, and the score that head and teacher give each."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from siamese_news.lexical_head import TermHead, distinct

Rows = Sequence[NDArray[np.int64]]
# Articles whose nearest posts are computed at once: 200 MB of scores for 200,000 posts.
BLOCK = 256


class Bags(NamedTuple):
    """Concatenated texts, with the teacher's vectors of them.

    Attributes:
        ids: (N,) word ids.
        starts: (B,) where each text begins.
        teacher: (B, T) unit vectors.
    """

    ids: Tensor
    starts: Tensor
    teacher: Tensor


class Lists(NamedTuple):
    """A batch of A articles and P posts, which are candidates of all the articles.

    Attributes:
        articles: A texts.
        posts: P texts.
        targets: (A, P) scores.
    """

    articles: Bags
    posts: Bags
    targets: Tensor


class ListsToRank(Dataset[int]):
    """Articles with the posts nearest to them, by a lexical head's words and a teacher's cosine.

    The target of a pair is ``lexical * head + (1 - lexical) * cosine``: a dense vector that learns
    it learns from the teacher which texts are alike without common words, and from the head which
    words count.

    Args:
        articles: word ids of A texts, at least one each.
        posts: word ids of P texts, at least one each.
        teacher: unit vectors (A, T) and (P, T).
        head: the lexical head, of which only the weights of words by the background IDF are used.
        lexical: the share of the lexical head in the target.
        near: how many posts are stored for an article; all of them if there are fewer.
        limit: words of an article that the student reads, None for all; the target reads all.
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
        self.articles, self.posts = [ids[:limit] for ids in articles], posts
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

    def targets(self, articles: NDArray[np.int64], posts: NDArray[np.int64]) -> NDArray[np.float32]:
        """(A, P) scores of the rows given."""
        return self._scores(articles, self.post_terms[posts].T, self.teacher[1][posts])

    def _scores(
        self, articles: NDArray[np.int64], terms: sparse.spmatrix, teacher: np.ndarray
    ) -> NDArray[np.float32]:
        lexical = (self.article_terms[articles] @ terms).toarray()
        cosine = self.teacher[0][articles].astype(np.float32) @ teacher.astype(np.float32).T
        scores: NDArray[np.float32] = lexical
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
            nearest[rows] = np.argpartition(scores, cut, axis=1)[:, cut:] if cut else range(count)
        return nearest


def list_loader(lists: ListsToRank, *, batch: int, candidates: int, seed: int) -> DataLoader[int]:
    """Shuffled batches (`Lists`): articles, some posts near each, and two random posts for each.

    Args:
        lists: the lists.
        batch: articles in a batch, at most.
        candidates: how many of the posts near an article are in its batch.
        seed: of the order and the draws.
    """
    rng = np.random.default_rng(seed)

    def collate(rows: list[int]) -> Lists:
        articles = np.array(rows)
        near = rng.permuted(lists.near[articles], axis=1)[:, :candidates].ravel()
        posts = np.union1d(near, rng.integers(len(lists.posts), size=2 * len(rows)))
        return Lists(
            _bags([lists.articles[row] for row in articles], lists.teacher[0][articles]),
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
    return Bags(torch.from_numpy(np.concatenate(texts)), torch.from_numpy(starts), vectors)
