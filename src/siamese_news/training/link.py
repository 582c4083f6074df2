"""The link task: train or fine-tune a model on (article, post) pairs, report dev and test."""

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict

import pytorch_lightning as pl
import torch
from pytorch_lightning.plugins.environments import SLURMEnvironment

from siamese_news.errors import InputError
from siamese_news.evaluation.system_results import (
    evaluate_model,
    figures,
    model_card,
    write_results,
)
from siamese_news.model.siamese import Model
from siamese_news.training import job
from siamese_news.training.build import instantiate
from siamese_news.training.callbacks import (
    RankMonitor,
    Requeued,
    RequeueOnSignal,
    load_selected,
    requeue,
    selection,
)
from siamese_news.training.datamodule import SiameseDataModule
from siamese_news.training.distributed import leave_group
from siamese_news.training.finetune import Verdict, compare, open_start, trainable_copy
from siamese_news.training.launch import is_first_process, was_restarted
from siamese_news.training.module import SiameseModule, ranking_figures
from siamese_news.training.schedules import check_optimizer
from siamese_news.training.schema import Number
from siamese_news.training.trainer import (
    callbacks_of,
    checkpoint_to_resume,
    loggers_of,
    make_trainer,
    seed_everything,
    stopped_by_signals,
)

log = logging.getLogger(__name__)
_VALIDATED = (None, "dev/map", "dev/micro_ap", "dev/auc")


class LinkOptions(TypedDict):
    """The keys of ``conf/task/link.yaml``."""

    epochs: int
    optimizer: dict[str, Any]
    schedule: dict[str, Any] | None
    gradient_clip: float | None
    monitor: str | None
    mode: Literal["max", "min"]
    patience: Number | None
    held_out: float
    bootstrap: Number
    tokenizer: dict[str, Any]


@job.task(
    LinkOptions,
    "module encoder sparsity objective data vectors terms",
    of_new_models="tokenizer",
)
def run(config: Mapping[str, Any], out: Path) -> dict[str, Any] | None:
    """Train, select, evaluate and save; on several devices the first process alone evaluates.

    Writes the model folder to ``out/model``, the evaluation of the test set to ``out/evaluation``,
    checkpoints to ``out/checkpoints`` and logs to ``out/logs``.

    The row of the comparison table is None on all processes but the first, and when SLURM is to run
    the job again.
    """
    options = config["task"]
    seed_everything(config)
    check_optimizer(options["optimizer"])
    started = time.monotonic()

    # data; the part that decides whether a fine-tuned model is used is neither dev nor test
    start = open_start(config["init"]) if config["init"] else None
    judged = start is not None and start.terms is not None and options["held_out"] != 0
    data: SiameseDataModule = instantiate(
        config["data"],
        "data",
        seed=config["seed"],
        held_out=options["held_out"] if judged else 0.0,
    )
    log.info("articles: %s", data.sizes())

    # module
    module: SiameseModule = instantiate(
        config["module"],
        "module",
        recursive=False,
        model=None if start is None else trainable_copy(start),
    )
    module.learn_words(data)
    model = module.model
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    folder = out / "checkpoints"
    epochs = 0
    if trained:
        # callbacks; the monitor comes first, before those that wait for the other ranks
        validated = data.dev is not None and config["trainer"]["limit_val_batches"]
        monitor = options["monitor"]
        if not (validated or str(monitor).startswith("train/")):
            if monitor not in _VALIDATED:
                raise InputError(
                    f"task.monitor={monitor}: nothing is validated, because data.dev=null or "
                    "trainer.limit_val_batches=0; expected train/…, a figure of a training step"
                )
            monitor = None
        callbacks: list[pl.Callback] = [
            RankMonitor(),
            *[RequeueOnSignal()] * SLURMEnvironment.detect(),
            *selection(
                folder,
                monitor=monitor,
                patience=options["patience"],
                keep_interrupted=True,
                mode=options["mode"],
                validated=bool(validated),
            ),
            *callbacks_of(config),
        ]

        # logger
        loggers = loggers_of(config, out / "logs")

        # trainer; a trial validation shows whether a figure of somebody's own is logged
        is_known = monitor in _VALIDATED
        steps = max(config["trainer"]["num_sanity_val_steps"], not is_known)
        trainer = make_trainer(
            {**config["trainer"], "num_sanity_val_steps": steps},
            callbacks=callbacks,
            logger=loggers,
            default_root_dir=str(out),
        )

        # fit
        resume = checkpoint_to_resume(
            config["resume"], folder, automatic=was_restarted()
        )
        go_on = f"continue with resume={folder / 'last.ckpt'} hydra.run.dir={out}"
        try:
            with stopped_by_signals(trainer, go_on=go_on):
                trainer.fit(
                    module, datamodule=data, ckpt_path=resume, weights_only=True
                )
        except Requeued:
            if is_first_process():
                requeue()
            return None
        epochs = _epochs(trainer, folder)
        leave_group()
    else:
        log.info("the encoder has no parameter to train; it is evaluated unchanged")
    if not is_first_process():
        return None

    # test
    verdict: Verdict | None = None
    monitored: dict[str, float] = {}
    if trained:
        load_selected(module, trainer)
        best: Any = trainer.checkpoint_callback
        if getattr(best, "best_model_score", None) is not None and best.monitor:
            monitored[best.monitor] = float(best.best_model_score)
        if judged:
            assert start is not None
            verdict = compare(model, start, data.held_out)
            model = model if verdict.better else start
    row: dict[str, Any] = {
        **encoder_labels(config, model),
        "data": Path(config["data"]["name"]).name,
        "seed": config["seed"],
        "parameters": trained,
        "epochs": epochs,
        "minutes": round((time.monotonic() - started) / 60, 2),
    }
    row |= monitored | measure(model, row["encoder"], data, config, out)

    # save
    model.save(out / "model", card=model_card("link", config, row, kind=model.kind))
    if verdict is not None:
        row |= {"gain": verdict.gain, "better": verdict.better}
        log.info("%s", verdict)
    return row


def _epochs(trainer: pl.Trainer, folder: Path) -> int:
    """How many epochs were trained, also under ddp_spawn, whose trainer here has counted none."""
    checkpoint = folder / "last.ckpt"
    if not (is_first_process() and checkpoint.is_file()):
        return trainer.current_epoch
    return (
        int(torch.load(checkpoint, weights_only=True, map_location="cpu")["epoch"]) + 1
    )


def measure(
    model: Model,
    name: str,
    data: SiameseDataModule,
    config: Mapping[str, Any],
    out: Path,
) -> dict[str, Any]:
    """The figures of a trained model on dev and test; ``out/evaluation`` has those of the test."""
    row: dict[str, Any] = {}
    if data.dev is not None:
        row |= {
            f"dev {n}": value for n, value in ranking_figures(model, data.dev).items()
        }
    if data.test is not None:
        result = evaluate_model(
            model, name, data.test, bootstrap=config["task"]["bootstrap"]
        )
        row |= figures(result)
        write_results(out / "evaluation", [result])
    return row


def encoder_labels(config: Mapping[str, Any], model: Model) -> dict[str, Any]:
    """The names of ``encoder`` and ``sparsity`` in the row of a trained model.

    A model of ``init=`` has not those of the configuration, so its class is named.
    """
    if config["init"]:
        inner = model.config.get("encoder", model.config)  # of a whitened one
        return {"encoder": inner["class"], "sparsity": None}
    sparse = "sparsity" in model.config
    return {
        "encoder": _label(config, "encoder"),
        "sparsity": _label(config, "sparsity") if sparse else None,
    }


def _label(config: Mapping[str, Any], group: str) -> str:
    """The name of a group's option, as the command line has it, or its class."""
    package, _, name = str(config[group]["_target_"]).rpartition(".")
    chosen = (
        config.get("labels", {}).get(group)
        if package.startswith("siamese_news.")
        else None
    )
    return str(chosen or name)
