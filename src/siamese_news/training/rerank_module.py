"""The LightningModule of the reranking task."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities.types import OptimizerLRScheduler
from torch import Tensor, nn
from torch.nn.functional import nll_loss

from siamese_news.errors import InputError
from siamese_news.metrics import evaluate_run, means
from siamese_news.model.reranker import IdBatch, TextRanker
from siamese_news.training.rerank_data import Pairs, Qrels, Run
from siamese_news.training.schedules import with_schedule


class RerankModule(pl.LightningModule):
    """Negative log-likelihood of the two classes; validation ranks and measures AP and P30.

    Dropout is drawn from (seed, epoch), so that a resumed run continues as if it had not been
    interrupted. With `validate_queries`, a validation follows after each so many topics, counted
    over all epochs; for this, the training pairs come topic by topic.
    """

    def __init__(
        self,
        *,
        model: TextRanker,
        train: Pairs,
        dev: Pairs,
        qrels: Qrels,
        optimizer: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer],
        schedule: Mapping[str, Any] | None,
        seed: int,
        validate_queries: int | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.qrels = qrels
        self.train_pairs = train
        self.dev_pairs = dev
        self._optimizer = optimizer
        self._schedule = schedule
        self.seed = seed
        self._validate_queries = validate_queries
        self._ends = train.ends_of_queries() if validate_queries is not None else []
        if validate_queries is not None and validate_queries > len(self._ends):
            raise InputError(
                f"task.validate_queries={validate_queries}: an epoch has {len(self._ends)} topics; "
                "expected at most as many"
            )
        self.dev_scores = np.zeros(len(dev.labels), np.float32)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Name the epoch, because Lightning fetches the first batch before the next hook."""
        self.train_pairs.epoch = checkpoint["epoch"] + 1

    def on_train_epoch_start(self) -> None:
        """Name the epoch before its first batch, where the pairs are put in order."""
        self.train_pairs.epoch = self.current_epoch

    def on_train_batch_start(self, batch: IdBatch, batch_idx: int) -> None:
        """Make the dropout of an epoch independent of the epochs before it.

        This cannot happen earlier, since the loader's iterator draws a random number as well.
        """
        if batch_idx == 0:
            torch.manual_seed(self.seed * 100_003 + self.current_epoch)
        if self._validate_queries is not None:
            # Lightning validates where `val_check_batch` divides the number of batches so far.
            # Topics have different numbers of batches, so no one interval would do.
            n_batches = batch_idx + 1
            validates = False
            if n_batches in self._ends:
                previous_topics = self.current_epoch * len(self._ends)
                topics = previous_topics + self._ends.index(n_batches) + 1
                validates = topics % self._validate_queries == 0
            self.trainer.val_check_batch = n_batches if validates else n_batches + 1

    def training_step(self, batch: IdBatch, index: int) -> Tensor:
        """The loss of a batch."""
        assert batch.labels is not None
        loss = nll_loss(self.model(batch), batch.labels)
        self.log(
            "train/loss",
            loss,
            on_step=False,
            on_epoch=True,
            batch_size=len(batch.labels),
        )
        return loss

    def validation_step(self, batch: IdBatch, index: int) -> None:
        """Collect the scores of a batch."""
        assert batch.rows is not None
        self.dev_scores[batch.rows.cpu().numpy()] = (
            self.model(batch)[:, 1].float().cpu().numpy()
        )

    def on_validation_epoch_end(self) -> None:
        """Rank and evaluate in the way the test is evaluated."""
        figures = means(
            evaluate_run(self.dev_pairs.as_run(self.dev_scores), self.qrels, ks=(30,))
        )
        self.log("dev/ap", figures["AP"], prog_bar=True)
        self.log("dev/p30", figures["P@30"], prog_bar=True)

    def configure_optimizers(self) -> OptimizerLRScheduler:
        """The optimizer gets only the trained parameters."""
        optimizer = self._optimizer([p for p in self.parameters() if p.requires_grad])
        return with_schedule(optimizer, self._schedule, self.trainer)


@torch.no_grad()
def score_pairs(model: TextRanker, pairs: Pairs) -> Run:
    """Score every pair: a run of log p(relevant)."""
    model.eval()
    scores = np.zeros(len(pairs.labels), np.float32)
    for batch in pairs:
        assert batch.rows is not None
        scores[batch.rows.numpy()] = model(batch)[:, 1].float().numpy()
    return pairs.as_run(scores)
