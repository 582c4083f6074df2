"""The LightningModule around a siamese model."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad
from torch.utils.checkpoint import get_device_states, set_device_states
from torchmetrics import Metric, MetricCollection, SumMetric

from siamese_news.data.collate import length_batches
from siamese_news.data.sources import EvaluationSet
from siamese_news.evaluation.results import evaluate_model
from siamese_news.model.siamese import Model, heads
from siamese_news.text import PAD
from siamese_news.text.token_ids import Side
from siamese_news.training.distributed import on_first_process
from siamese_news.training.objective import Mined, SiameseObjective, TermVectors

SIDES: tuple[Side, Side] = ("article", "post")
#: Figures of the dev set that can select the epoch.
MONITORED = ("dev/map", "dev/micro_ap", "dev/auc")
Optimizer = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]


class SiameseModule(pl.LightningModule):
    """Trains a `Model` to put an article's posts nearer to it than all others.

    A batch holds each distinct article once and its posts; both sides go through the one shared
    encoder. Where it has two heads, each has a loss of its own and the sum is minimized: one loss
    of the summed score would let the dense head take over on the training events.

    Args:
        model: trained in place.
        objective: loss and miner.
        optimizer: from parameters to an optimizer.
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
        self.terms = (
            TermVectors(model.terms)
            if model.terms is not None and model.encoder.has_factors
            else None
        )
        # What the miner kept, summed over the heads and the epoch, and over the
        # ranks unless each counts the global batch.
        own = not objective.gather_across_devices
        sums: dict[str, Metric | MetricCollection] = {
            name: SumMetric(sync_on_compute=own) for name in Mined._fields
        }
        self.mined = MetricCollection(sums, compute_groups=False)
        self.save_hyperparameters({"settings": dict(settings or {})})

    def forward(self, ids: Tensor) -> Tensor:
        """Encode padded token ids (B, S) -> (B, D)."""
        return self.model(ids)

    def training_step(self, batch: dict[str, Tensor], batch_idx: int) -> Tensor:
        """One step; the logged loss is that of the global batch."""
        labels = batch["article_labels"], batch["post_labels"]
        first, row_of = first_rows(labels[0])
        ids = batch["article_ids"][first], batch["post_ids"]
        (articles, *factors), (posts, *post_factors) = (
            self._encode(side, partial(self._outputs, name))
            for side, name in zip(ids, SIDES, strict=True)
        )
        spaces = [(articles, posts)]
        if self.terms is not None:
            spaces.append(self.terms(*ids, *factors, *post_factors))
        losses, mined = [], []
        for articles, posts in spaces:
            losses.append(self.objective(articles[row_of], posts, *labels))
            if self.objective.mined is not None:
                mined.append(self.objective.mined)
        loss: Tensor = sum(losses[1:], losses[0])
        own = not self.objective.gather_across_devices
        self.log("train/loss", loss.detach(), prog_bar=True, batch_size=len(posts), sync_dist=own)
        for name, counts in zip(Mined._fields, zip(*mined, strict=True), strict=False):
            self.mined[name].update(sum(counts))
            self.log(f"mined/{name}", self.mined[name], on_step=False, on_epoch=True)
        return loss * self.objective.backward_scale()

    def on_train_epoch_end(self) -> None:
        """Log the alpha of every head whose sparsity is learned."""
        for name, alphas in self.model.encoder.alphas().items():
            if any(p.requires_grad for p in self.model.encoder.get_submodule(name).parameters()):
                for head, alpha in enumerate(alphas):
                    self.log(f"alpha/{name}/{head}", alpha, sync_dist=True)

    def validation_step(self, batch: EvaluationSet, batch_idx: int) -> None:
        """Rank the dev set and log dev/map, dev/micro_ap and dev/auc."""
        self._evaluate("dev", batch)

    def test_step(self, batch: EvaluationSet, batch_idx: int) -> None:
        """The same for the test set."""
        self._evaluate("test", batch)

    def _evaluate(self, name: str, ranked: EvaluationSet) -> None:
        """Global rank 0 encodes and ranks; all ranks log its figures."""
        figures = on_first_process(lambda: ranking_figures(self.model, ranked))
        self.log_dict(
            {f"{name}/{key}": value for key, value in figures.items()},
            prog_bar=name == "dev",
            batch_size=1,
            sync_dist=True,
        )

    def _outputs(self, side: Side, ids: Tensor) -> tuple[Tensor, ...]:
        """The vectors of a batch and, for a lexical head, the factors of its words."""
        return (self.model(ids),) if self.terms is None else heads(self.model, ids, side=side)

    def _encode(
        self, ids: Tensor, encode: Callable[[Tensor], tuple[Tensor, ...]]
    ) -> tuple[Tensor, ...]:
        """Encode (B, S) in order of length, a few thousand tokens at a time.

        This computes little padding and keeps the states in the processor's cache. Results of a
        batch that are narrower than S are padded with zeros.
        """
        if self.objective.cache and torch.is_grad_enabled():
            learned = [p for p in self.model.parameters() if p.requires_grad]
            once, encode = encode, lambda part: Recomputed.apply(once, part, *learned)
        lengths = (ids != PAD).sum(1).tolist()
        rows: list[int] = []
        parts: list[tuple[Tensor, ...]] = []
        for batch in length_batches(lengths, self.batch_tokens):
            width = max(1, lengths[batch[-1]])
            outputs = encode(ids[batch, :width])
            parts.append(
                (outputs[0], *(pad(output, (0, ids.shape[1] - width)) for output in outputs[1:]))
            )
            rows += batch
        order = torch.tensor(rows, device=ids.device).argsort()
        return tuple(torch.cat(part)[order] for part in zip(*parts, strict=True))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """The optimizer gets only the parameters that are trained."""
        return self._optimizer([p for p in self.parameters() if p.requires_grad])


class Recomputed(torch.autograd.Function):
    """``apply(encode, ids, *parameters)``: the tensors ``encode(ids)``, and nothing kept but ids.

    The backward pass encodes again, with a graph (gradient caching). `torch.utils.checkpoint`
    records a graph in the first pass as well and drops its content. Without one that pass takes a
    third less time.
    """

    @staticmethod
    def forward(ctx: Any, encode: Any, ids: Tensor, *parameters: Tensor) -> tuple[Tensor, ...]:
        """Encode without a graph."""
        kind = ids.device.type
        ctx.encode, ctx.ids, ctx.parameters = encode, ids, parameters
        ctx.random = torch.get_rng_state(), *get_device_states(ids)  # dropout drops the same
        ctx.autocast = kind, torch.get_autocast_dtype(kind), torch.is_autocast_enabled(kind)
        found: tuple[Tensor, ...] = encode(ids)
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        """Encode again, with a graph; the parameters' gradients."""
        (state, devices, states), kind = ctx.random, ctx.ids.device.type
        fork = torch.random.fork_rng(devices, device_type=kind)
        with fork, torch.autocast(*ctx.autocast), torch.enable_grad():
            torch.set_rng_state(state)
            set_device_states(devices, states, device_type=kind)
            outputs = ctx.encode(ctx.ids)
        pairs = zip(outputs, gradients, strict=True)
        learned, own = zip(*(pair for pair in pairs if pair[0].requires_grad), strict=True)
        return None, None, *torch.autograd.grad(learned, ctx.parameters, own, allow_unused=True)


def ranking_figures(model: Model, ranked: EvaluationSet) -> dict[str, float]:
    """MAP over articles, micro AP and ROC-AUC of a model on an evaluation set.

    There is no AUC where every pair of the set is relevant.
    """
    result = evaluate_model(model, "model", ranked, bootstrap=0).evaluation
    pooled = result.pooled
    figures = {"map": result.macro["AP"], "micro_ap": pooled["AP"], "auc": pooled.get("AUC")}
    return {name: value for name, value in figures.items() if value is not None}


def first_rows(labels: Tensor) -> tuple[Tensor, Tensor]:
    """The first row of each distinct label, and for each row which of those it is.

    With these an article is encoded once, however many pairs of a batch it occurs in.
    """
    distinct, row_of = labels.unique(return_inverse=True)
    rows = torch.arange(len(labels), device=labels.device)
    first = rows.new_empty(len(distinct)).scatter_reduce_(
        0, row_of, rows, "amin", include_self=False
    )
    return first, row_of
