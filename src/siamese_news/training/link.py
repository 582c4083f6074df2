"""The link task: train or fine-tune a model on (article, post) pairs, report dev and test."""

import copy
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pytorch_lightning.plugins.environments import SLURMEnvironment

from siamese_news.data.sources import EvaluationSet
from siamese_news.encoders import BagEncoder, build_encoder
from siamese_news.errors import InputError
from siamese_news.evaluation.results import evaluate_model, figures, model_card, write_results
from siamese_news.metrics.statistics import bootstrap_interval
from siamese_news.model.siamese import Model
from siamese_news.training.build import add_terms, build_model, build_text, fingerprint, make
from siamese_news.training.datamodule import SiameseDataModule
from siamese_news.training.distributed import (
    RankMonitor,
    Requeued,
    RequeueOnSignal,
    leave_group,
    requeue,
)
from siamese_news.training.launch import is_first_process, was_restarted
from siamese_news.training.module import MONITORED, SiameseModule, ranking_figures
from siamese_news.training.trainer import begin, fit_selected, optimizer_of

log = logging.getLogger(__name__)


def run(config: Mapping[str, Any], out: Path) -> dict[str, Any] | None:
    """Train, select, evaluate and save; on several devices the first process alone evaluates.

    Writes the model folder to ``out/model``, the evaluation of the test set to ``out/evaluation``,
    checkpoints to ``out/checkpoints`` and logs to ``out/logs``.

    The row of the comparison table is None on all processes but the first, and when SLURM is to run
    the job again.
    """
    task = config["task"]
    begin(config)
    if task["monitor"] not in (None, *MONITORED):
        raise InputError(
            f"task.monitor={task['monitor']}: expected one of {', '.join(MONITORED)}, or null"
        )
    started = time.monotonic()
    start: Model | None = None
    if config["init"]:
        model = Model.pretrained() if config["init"] == "pretrained" else Model.load(config["init"])
        if model.terms is None:
            model.limits = dict(config["data"]["limits"])
        else:
            start, model = model, make_trainable(model)
    # The held-out part that decides whether the fine-tuned model is used is neither dev nor test.
    held_out = task["held_out"] if start is not None else 0.0
    data = SiameseDataModule(data=config["data"], seed=config["seed"], held_out=held_out)
    log.info("articles: %s", data.sizes())
    if not config["init"]:
        text = build_text(config["vectors"], task["tokenizer"])
        model = build_model(config, text, data.train_set.texts())
        if model.encoder.has_factors:
            articles = (article.full_text for article in data.train_set.articles)
            posts = (post.text for post in data.train_set.posts)
            add_terms(model, config["terms"], articles, posts)
    data.prepare(model.tokens, model.vocabulary)
    model.train()  # a loaded one is not
    module = SiameseModule(
        model=model,
        objective=make(config["objective"], "objective"),
        optimizer=optimizer_of(task),
        settings=dict(config),
    )
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    if not trained:
        log.info("the encoder has no parameter to train; it is evaluated unchanged")
    epochs = _fit(module, data, config, out) if trained else 0
    leave_group()
    if epochs is None or not is_first_process():
        return None
    if trained:
        remember_training(model, data)
    verdict: Verdict | None = None
    if trained and start is not None:
        verdict = compare(model, start, data.held_out)
        model = model if verdict.better else start
    sparse = "sparsity" in model.config and not config["init"]
    row: dict[str, Any] = {
        "encoder": model.config["class"] if config["init"] else _label(config, "encoder"),
        "sparsity": _label(config, "sparsity") if sparse else None,
        "data": Path(config["data"]["name"]).name,
        "seed": config["seed"],
        "parameters": trained,
        "epochs": epochs,
        "minutes": round((time.monotonic() - started) / 60, 2),
    }
    row |= measure(model, row["encoder"], data, config, out)
    model.save(out / "model", card=model_card("link", config, row, kind=model.kind))
    if verdict is not None:
        row |= {"gain": verdict.gain, "better": verdict.better}
        log.info("%s", verdict)
    return row


def measure(
    model: Model, name: str, data: SiameseDataModule, config: Mapping[str, Any], out: Path
) -> dict[str, Any]:
    """The figures of a trained model on dev and test; ``out/evaluation`` has those of the test."""
    row: dict[str, Any] = {}
    if data.dev is not None:
        row |= {f"dev {name}": v for name, v in ranking_figures(model, data.dev).items()}
    if data.test is not None:
        result = evaluate_model(model, name, data.test, bootstrap=config["task"]["bootstrap"])
        row |= figures(result)
        write_results(out / "evaluation", [result])
    return row


def _fit(
    module: SiameseModule, data: SiameseDataModule, config: Mapping[str, Any], out: Path
) -> int | None:
    """Fit and put the selected weights into the module; returns the epochs trained, or None.

    It is None on all processes but the first, and when SLURM is to run the job again.
    """
    task = config["task"]
    validated = data.dev is not None and config["trainer"]["limit_val_batches"]
    last = out / "checkpoints" / "last.ckpt"
    try:
        trainer = fit_selected(
            module,
            config,
            out,
            monitor=task["monitor"] if validated else None,
            every_epoch=True,
            automatic=was_restarted(),
            go_on=f"continue with resume={last} hydra.run.dir={out}",
            callbacks=[RankMonitor(), *[RequeueOnSignal()] * SLURMEnvironment.detect()],
            datamodule=data,
        )
    except Requeued:
        if is_first_process():
            requeue()
        return None
    if not is_first_process():
        return None
    if not last.is_file():
        return trainer.current_epoch
    # Under ddp_spawn the trainer of this process has counted no epoch.
    return int(torch.load(last, weights_only=True, map_location="cpu")["epoch"]) + 1


def remember_training(model: Model, data: SiameseDataModule) -> None:
    """Add the training articles and posts to those that the model already knew."""
    for entry in data.data["train"]:
        collection = data.collection(entry["folder"])
        pairs = collection.split(entry["split"])
        posts = (post for judged in pairs.values() for post in judged)
        model.trained_on.add(collection.name, articles=pairs, posts=posts)
    model.trained_on.add_fingerprints(
        fingerprint(article.full_text) for article in data.train_set.articles
    )


def _label(config: Mapping[str, Any], group: str) -> str:
    """The name of a group's option, as given on the command line, or its class."""
    package, _, name = str(config[group]["_target_"]).rpartition(".")
    chosen = config.get("labels", {}).get(group) if package.startswith("siamese_news.") else None
    return str(chosen or name)


def make_trainable(model: Model) -> Model:
    """A copy of the model with trainable parameters.

    A frozen bag with a lexical head, such as the model that ships, gets a factor for each word's
    weight, which starts at 1, and a linear map of the dense vector, which starts as the identity:
    the scores are unchanged at first. The words' vectors stay fixed.
    """
    trainable = copy.deepcopy(model)
    bag = model.encoder
    frozen = not any(parameter.requires_grad for parameter in model.parameters())
    if not frozen or model.terms is None or not isinstance(bag, BagEncoder) or not bag.uses_weights:
        return trainable
    trainable.config = {
        "class": "TwoHeadEncoder",
        "input_dim": bag.input_dim,
        "context": None,
        "relay": False,
        "sparsity": {"class": "Softmax"},
        "output_dim": bag.input_dim,
        "lead": bag.lead,
    }
    trainable.encoder = build_encoder(trainable.config)
    return trainable


@dataclass(frozen=True, slots=True)
class Verdict:
    """The gain in mean AP by fine-tuning, its 95% bootstrap interval, and the articles compared."""

    gain: float
    low: float
    high: float
    articles: int

    @property
    def better(self) -> bool:
        """Whether the interval lies above 0."""
        return self.low > 0

    def __str__(self) -> str:
        figures = f"{self.gain:+z.3f} [{self.low:+z.3f}, {self.high:+z.3f}]"
        held_out = f"MAP on {self.articles} held-out articles, 95% interval"
        if self.better:
            return f"better by {figures} ({held_out})"
        return f"not better: kept the model it started from; {figures} ({held_out})"


def compare(tuned: Model, start: Model, held_out: Sequence[EvaluationSet]) -> Verdict:
    """Compare a fine-tuned model with its start by AP, article by article.

    The articles and posts neither trained it nor stopped its training, and no reported figure is
    measured on them.
    """
    gains: list[float] = []
    for part in held_out:
        after, before = (
            evaluate_model(model, "model", part, bootstrap=0).evaluation.per_article["AP"]
            for model in (tuned, start)
        )
        gains += [after[article] - value for article, value in before.items()]
    low, high = bootstrap_interval(np.array(gains), samples=2000)
    return Verdict(float(np.mean(gains)), low, high, len(gains))
