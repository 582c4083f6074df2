"""A callback that evaluates a model on further sets while it is trained."""

from collections.abc import Mapping
from typing import cast

import pytorch_lightning as pl
from typing_extensions import override

from siamese_news.data.sources import evaluation_set, open_source
from siamese_news.model.siamese import Model
from siamese_news.training.distributed import on_first_process
from siamese_news.training.module import ranking_figures


class Evaluator(pl.Callback):
    """Logs MAP, micro AP and AUC of any set in the BEIR layout after each validation.

    They are ``<name>/map``, ``<name>/micro_ap`` and ``<name>/auc``, so early stopping and
    checkpoints can watch them. Several such callbacks evaluate on several sets.

    Args:
        folder: a folder in the BEIR layout or a table of pairs, as `SiameseDataModule` takes it.
        split: of its qrels.
        name: None is the name of the folder.
        pool: ``linked``, the posts of the split's qrels, or ``with_unlinked``, also the posts of no
            qrels.
        columns: the names of a table's columns, as `SiameseDataModule` takes them.

    Raises:
        InputError: the set does not exist, or has no relevant pair.

    Example:
        >>> from siamese_news.training.evaluator import Evaluator
        >>> callback = Evaluator("stories", split="test")
        >>> len(callback.evaluation.articles)
        12
    """

    def __init__(
        self,
        folder: str,
        *,
        split: str = "test",
        name: str | None = None,
        pool: str = "linked",
        columns: Mapping[str, str] = {},
    ) -> None:
        collection = open_source(folder, columns)
        self.name = name or collection.name
        entry = {"split": split, "pool": pool}
        self.evaluation = evaluation_set(collection, entry)
        self._figures: dict[str, float] = {}

    @override
    def on_validation_batch_start(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        batch: object,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        # Between the hooks of an epoch: a callback that averages weights has put them in by then,
        # and has not taken them out, wherever it is in the list of callbacks.
        if batch_idx == dataloader_idx == 0:
            self._figures = on_first_process(
                lambda: ranking_figures(cast(Model, pl_module.model), self.evaluation)
            )

    @override
    def on_validation_epoch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule
    ) -> None:
        for key, value in self._figures.items():
            pl_module.log(f"{self.name}/{key}", value, sync_dist=True)
