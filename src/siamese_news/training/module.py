"""The LightningModule around a siamese model."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from siamese_news.model import Model, length_batches
from siamese_news.text import PAD
from siamese_news.training.objective import SiameseObjective

Optimizer = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]


class LinkModule(pl.LightningModule):
    """Trains a `Model` to put an article's posts nearer to it than all others.

    A batch holds each distinct article once and its posts; both sides go through the one shared
    encoder.

    Args:
        model: the model; the module trains it in place.
        objective: loss and miner.
        optimizer: parameters to optimiser.
        batch_tokens: how many tokens go through the encoder at once; the gradient does not depend
            on it.
        settings: plain values, kept in the checkpoint as hyper-parameters; they never hold
            modules, so a checkpoint loads with ``weights_only=True``.
    """

    def __init__(
        self,
        *,
        model: Model,
        objective: SiameseObjective,
        optimizer: Optimizer,
        batch_tokens: int = 8192,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.objective = objective
        self._optimizer = optimizer
        self.batch_tokens = batch_tokens
        self.save_hyperparameters({"settings": dict(settings or {})})

    def forward(self, ids: Tensor) -> Tensor:
        """Encode padded token ids (B, S) -> (B, D)."""
        return self.model(ids)

    def training_step(self, batch: dict[str, Tensor], batch_idx: int) -> Tensor:
        """One step; the logged loss is that of the global batch."""
        articles = self._articles(batch["article_ids"], batch["article_labels"])
        posts = self._encode(batch["post_ids"])
        loss = self.objective(articles, posts, batch["article_labels"], batch["post_labels"])
        self.log("train/loss", loss.detach(), prog_bar=True, batch_size=len(posts))
        return loss * self.objective.backward_scale()

    def _articles(self, ids: Tensor, labels: Tensor) -> Tensor:
        """Encode each distinct article once, however many pairs of a batch it stands in."""
        distinct, row_of = labels.unique(return_inverse=True)
        rows = torch.arange(len(labels), device=labels.device)
        first = rows.new_empty(len(distinct)).scatter_reduce_(
            0, row_of, rows, "amin", include_self=False
        )
        return self._encode(ids[first])[row_of]

    def _encode(self, ids: Tensor) -> Tensor:
        """Encode (B, S) in order of length, a few thousand tokens at a time.

        So little padding is computed, and what is computed stays in the cache.
        """
        lengths = (ids != PAD).sum(1).tolist()
        rows: list[int] = []
        parts = []
        for batch in length_batches(lengths, self.batch_tokens):
            width = max(1, lengths[batch[-1]])
            parts.append(self.model(ids[batch, :width]))
            rows += batch
        return torch.cat(parts)[torch.tensor(rows, device=ids.device).argsort()]

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Only what trains is given to the optimiser."""
        return self._optimizer([p for p in self.parameters() if p.requires_grad])
