"""The siamese objective: a metric-learning loss over articles and posts, mined in the batch."""

from typing import Literal

import torch
from torch import Tensor, nn

from siamese_news.training.distributed import gather_rows, world_size

Anchors = Literal["articles", "posts", "both"]


class SiameseObjective(nn.Module):
    """Joins both sides of a batch, mines it, and returns the loss.

    A post's label is the label of its article, so an anchor's positives are the posts (or the
    article) of the same label and its negatives all others. Any loss and miner of
    pytorch-metric-learning fits. Eq. 7 of the AST paper is
    ``TripletMarginLoss(distance=LpDistance(p=2, power=2, normalize_embeddings=False))``.

    Under DDP the loss is that of the global batch, the same on every rank.

    Args:
        loss: a pytorch-metric-learning loss.
        miner: a pytorch-metric-learning miner, or None for all pairs or triplets.
        anchors: who anchors: ``"articles"`` against posts (the paper), ``"posts"`` against
            articles, or ``"both"``: every embedding against every other (the released code).

    Raises:
        ValueError: for another value of `anchors`.
    """

    def __init__(
        self, *, loss: nn.Module, miner: nn.Module | None = None, anchors: Anchors = "articles"
    ) -> None:
        super().__init__()
        if anchors not in ("articles", "posts", "both"):
            raise ValueError(f"anchors is {anchors!r}; expected 'articles', 'posts' or 'both'")
        self.loss = loss
        self.miner = miner
        self.anchors = anchors

    def forward(
        self, articles: Tensor, posts: Tensor, article_labels: Tensor, post_labels: Tensor
    ) -> Tensor:
        """Compute the loss of the global batch.

        Args:
            articles: (A, D) article vectors of this rank.
            posts: (P, D) post vectors of this rank.
            article_labels: (A,) labels; global over ranks, or unrelated pairs would match.
            post_labels: (P,) the labels of the posts' articles.

        Returns:
            A scalar. For the backward pass under DDP use `backward_scale`.
        """
        articles, posts = gather_rows(articles), gather_rows(posts)
        article_labels, post_labels = gather_rows(article_labels), gather_rows(post_labels)
        if self.anchors == "both":
            embeddings = torch.cat([articles, posts])
            labels = torch.cat([article_labels, post_labels])
            mined = self.miner(embeddings, labels) if self.miner is not None else None
            return self.loss(embeddings, labels, mined)
        sides = [(articles, article_labels), (posts, post_labels)]
        if self.anchors == "posts":
            sides.reverse()
        (anchors, labels), (others, other_labels) = sides
        if other_labels is labels:
            # The library takes the same label object on both sides for self-comparison and drops
            # the diagonal, which here is every true pair.
            other_labels = labels.clone()
        mined = (
            self.miner(anchors, labels, others, other_labels) if self.miner is not None else None
        )
        return self.loss(anchors, labels, mined, others, other_labels)

    @staticmethod
    def backward_scale() -> int:
        """The factor for the backward pass: DDP averages over ranks what should be summed."""
        return world_size()
