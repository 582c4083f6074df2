"""The optimizer of a training and the schedule of its learning rate."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities.types import OptimizerLRScheduler
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LinearLR, LRScheduler, SequentialLR

from siamese_news.errors import InputError
from siamese_news.training.build import class_of, instantiate

#: An optimizer's option, as conf/task/optimizer has them, or a function of its parameters.
OptimizerOption = Mapping[str, Any] | Callable[[Iterable[nn.Parameter]], Optimizer]


def parameter_groups(module: nn.Module) -> list[dict[str, Any]]:
    """The trained parameters in two groups: matrices, and vectors, which do not decay.

    The latter are biases, the alphas of a sparsity, and the factors of words: towards zero they
    would not become simpler, but another function.
    """
    trained = [
        parameter for parameter in module.parameters() if parameter.requires_grad
    ]
    matrices = [parameter for parameter in trained if parameter.dim() > 1]
    vectors = [parameter for parameter in trained if parameter.dim() < 2]
    groups: list[dict[str, Any]] = [
        {"params": matrices},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]


def optimizer_of(
    option: OptimizerOption, module: nn.Module, lr: float | None, trainer: pl.Trainer
) -> Optimizer:
    """The optimizer of the trained parameters of a module.

    `lr`, if any, comes before the learning rate of the option. Where weights decay, those of
    `parameter_groups` that should not do not. The optimizer is `fused` where it can be.
    """
    trained = [
        parameter for parameter in module.parameters() if parameter.requires_grad
    ]
    if not trained:
        raise InputError(
            "there is nothing to train: the encoder has no weights, and the word vectors are "
            "fixed; take another encoder, or vectors that are trained (vectors.trainable=true)"
        )
    if not isinstance(option, Mapping):
        return option(trained)
    values = fused(option, trainer.precision) | {"_partial_": False}
    if lr is not None:
        values["lr"] = lr
    parameters = parameter_groups(module) if values.get("weight_decay") else trained
    optimizer: Optimizer = instantiate(values, "task.optimizer", params=parameters)
    return optimizer


def fused(option: Mapping[str, Any], precision: Any) -> dict[str, Any]:
    """The options of an optimizer whose step goes over the parameters once, where it can.

    It is two to five times as fast for a table of word vectors. What the option says itself stays.
    """
    values = dict(option)
    if "fused" in inspect.signature(class_of(option, "task.optimizer")).parameters:
        # In mixed precision, Lightning cannot clip gradients for a fused optimizer.
        values.setdefault("fused", "mixed" not in str(precision))
    return values


def with_schedule(
    optimizer: Optimizer, option: Mapping[str, Any] | None, trainer: pl.Trainer
) -> OptimizerLRScheduler:
    """The optimizer and the schedule of its learning rate, as `configure_optimizers` returns them.

    Args:
        optimizer: whose learning rates change.
        option: of conf/task/schedule: ``_target_``, a class of `torch.optim.lr_scheduler`, with its
            options; ``interval``, ``step`` or ``epoch`` (the default); ``warmup``, the share of all
            steps in which the rate rises linearly (with ``interval: step``). ``T_max``,
            ``total_steps`` and ``max_lr`` follow from the training where they are left out. None
            keeps the learning rate.
        trainer: which tells how many steps there are.
    """
    if option is None:
        return optimizer
    values = {
        name: value
        for name, value in option.items()
        if name not in ("interval", "warmup")
    }
    interval = option.get("interval", "epoch")
    if interval not in ("step", "epoch") or (
        option.get("warmup") and interval == "epoch"
    ):
        raise InputError(
            f"task.schedule.interval={interval}: expected step or epoch, and step with a warm-up"
        )
    warmup = 0
    if interval == "step":
        steps = int(trainer.estimated_stepping_batches)
        warmup = round(option.get("warmup", 0.0) * steps)
        rate = float(optimizer.param_groups[0]["lr"])
        parameters = inspect.signature(class_of(option, "task.schedule")).parameters
        filled = {"T_max": max(1, steps - warmup), "total_steps": steps, "max_lr": rate}
        values = {name: filled[name] for name in filled if name in parameters} | values
    values["_partial_"] = False
    schedule: LRScheduler = instantiate(values, "task.schedule", optimizer=optimizer)
    if warmup:
        rising = LinearLR(optimizer, start_factor=1 / (warmup + 1), total_iters=warmup)
        schedule = SequentialLR(optimizer, [rising, schedule], milestones=[warmup])
    return {
        "optimizer": optimizer,
        "lr_scheduler": {"scheduler": schedule, "interval": interval},
    }


def check_optimizer(option: OptimizerOption) -> None:
    """Raise an `InputError` for impossible options of an optimizer, before any data are read."""
    if isinstance(option, Mapping):
        parameter = nn.Parameter(torch.zeros(1))
        instantiate(
            {**option, "_partial_": False}, "task.optimizer", params=[parameter]
        )
