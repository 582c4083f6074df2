"""Callbacks of the link task: the dev figure that selects the model, and the learned alphas."""

from typing import Any

import pytorch_lightning as pl

from siamese_news.data.sources import EvaluationSet
from siamese_news.evaluation.results import evaluate_model
from siamese_news.model.siamese import Model
from siamese_news.training.linking.module import LinkModule


def dev_figures(model: Model, dev: EvaluationSet) -> dict[str, float]:
    """MAP over articles, micro AP and ROC-AUC of a model on an evaluation set."""
    result = evaluate_model(model, "dev", dev, bootstrap=0).evaluation
    return {
        "dev/map": result.macro["AP"],
        "dev/micro_ap": result.pooled["AP"],
        "dev/auc": result.pooled["AUC"],
    }


class DevEvaluation(pl.Callback):
    """Evaluates the model on the dev set after each epoch and logs it.

    The set is encoded through the model's own encoding path, not a loader, so every rank sees the
    whole of it and gets the same figures. Place it before callbacks that read the figures.

    Args:
        dev: the evaluation set.
    """

    def __init__(self, dev: EvaluationSet) -> None:
        self.dev = dev
        self.history: list[dict[str, float]] = []

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Log dev/map, dev/micro_ap and dev/auc."""
        assert isinstance(pl_module, LinkModule)
        figures = dev_figures(pl_module.model, self.dev)
        self.history.append(figures)
        pl_module.log_dict(figures, prog_bar=True, rank_zero_only=False)

    def state_dict(self) -> dict[str, Any]:
        """The figures so far."""
        return {"history": self.history}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take up the figures of the run that is resumed."""
        self.history = list(state_dict["history"])
