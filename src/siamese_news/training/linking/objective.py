"""The siamese objective: a metric-learning loss over articles and posts, mined in the batch."""

from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from siamese_news.training.distributed import gather_rows, world_size

Anchors = Literal["articles", "posts", "both"]


class Mined(NamedTuple):
    """Counts of what the miner selected in a batch.

    Attributes:
        positives: selected pairs of an anchor and one of its positives.
        negatives: selected pairs of an anchor and one of its negatives.
        triplets: triplets that these pairs make.
        possible: triplets that the batch holds.
    """

    positives: Tensor
    negatives: Tensor
    triplets: Tensor
    possible: Tensor


class SiameseObjective(nn.Module):
    """Joins both sides of a batch, mines it, and returns the loss.

    A post's label is the label of its article, so an anchor's positives are the posts (or the
    article) of the same label and its negatives all others. Any loss and miner of
    pytorch-metric-learning fits. Eq. 7 of the AST paper is
    ``TripletMarginLoss(distance=LpDistance(p=2, power=2, normalize_embeddings=False))``.

    Under DDP the loss is that of the global batch, the same on every rank, or with
    ``gather_across_devices=False`` that of each rank's own rows.

    Args:
        loss: a pytorch-metric-learning loss.
        miner: a pytorch-metric-learning miner, or None for all pairs or triplets.
        anchors: which side gives the anchors: ``"articles"`` against posts (the paper),
            ``"posts"`` against articles, or ``"both"``: every embedding against every
            other (the released code).
        gather_across_devices: mine the global batch of all devices; if False every device mines
            its own rows, as the released code did on several devices.

    Attributes:
        mined: counts of what the miner selected in the last batch; None without a miner.

    Raises:
        ValueError: for another value of `anchors`.
    """

    def __init__(
        self,
        *,
        loss: nn.Module,
        miner: nn.Module | None = None,
        anchors: Anchors = "articles",
        gather_across_devices: bool = True,
    ) -> None:
        super().__init__()
        if anchors not in ("articles", "posts", "both"):
            raise ValueError(f"anchors is {anchors!r}; expected 'articles', 'posts' or 'both'")
        self.loss = loss
        self.miner = miner
        self.anchors = anchors
        self.gather_across_devices = gather_across_devices
        self.mined: Mined | None = None

    def forward(
        self, articles: Tensor, posts: Tensor, article_labels: Tensor, post_labels: Tensor
    ) -> Tensor:
        """Compute the loss of the global batch, or of this rank's rows.

        Args:
            articles: (A, D) article vectors of this rank.
            posts: (P, D) post vectors of this rank.
            article_labels: (A,) labels; global over ranks, or unrelated pairs would match.
            post_labels: (P,) the labels of the posts' articles.

        Returns:
            A scalar. For the backward pass under DDP use `backward_scale`.
        """
        if self.gather_across_devices:
            articles, posts = gather_rows(articles), gather_rows(posts)
            article_labels, post_labels = gather_rows(article_labels), gather_rows(post_labels)
        if self.anchors == "both":
            embeddings = torch.cat([articles, posts])
            labels = torch.cat([article_labels, post_labels])
            mined = self.miner(embeddings, labels) if self.miner is not None else None
            self._count(mined, labels, None)
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
        self._count(mined, labels, other_labels)
        return self.loss(anchors, labels, mined, others, other_labels)

    def backward_scale(self) -> int:
        """The factor for the backward pass: DDP averages over ranks what should be summed."""
        return world_size() if self.gather_across_devices else 1

    @torch.no_grad()
    def _count(self, mined: Any, labels: Tensor, other_labels: Tensor | None) -> None:
        """Count the pairs (a, p, a, n) or triplets (a, p, n) that a miner selected."""
        self.mined = None
        if mined is None:
            return
        same = labels[:, None] == (labels if other_labels is None else other_labels)[None]
        negatives = (~same).sum(1)
        positives = same.sum(1) - int(other_labels is None)  # no anchor is its own positive
        if len(mined) == 3:
            anchors, *sides = mined
            pairs = [torch.stack([anchors, side]).unique(dim=1).shape[1] for side in sides]
            counts = (torch.tensor(pairs[0]), torch.tensor(pairs[1]), torch.tensor(len(anchors)))
        else:
            near, far = (torch.bincount(side, minlength=len(labels)) for side in mined[::2])
            counts = (near.sum(), far.sum(), (near * far).sum())
        self.mined = Mined(*counts, possible=(positives * negatives).sum())
