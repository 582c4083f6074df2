"""The LightningModule: a siamese encoder, trained to put posts near the articles they are about."""

import copy
import logging
import os
from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities.types import OptimizerLRScheduler
from torch import Tensor, nn
from torch.nn.functional import pad
from torchmetrics import Metric, MetricCollection, SumMetric

from siamese_news.data.collate import length_batches
from siamese_news.data.sources import EvaluationSet
from siamese_news.encoders import Encoder
from siamese_news.errors import InputError
from siamese_news.evaluation.system_results import (
    evaluate_model,
    model_blocks,
    model_card,
)
from siamese_news.metrics.runs import Qrels, Run
from siamese_news.model.siamese import Model, heads
from siamese_news.text import PAD
from siamese_news.text.token_ids import Side
from siamese_news.training.build import (
    add_terms,
    build_model,
    build_text,
    idf_weights,
    instantiate,
)
from siamese_news.training.checkpoints import (
    KEY,
    check_content,
    content_of,
    learned_parts,
    model_in,
    read_checkpoint,
)
from siamese_news.training.datamodule import RankedSet, SiameseDataModule
from siamese_news.training.distributed import on_first_process
from siamese_news.training.finetune import open_start, trainable_copy
from siamese_news.training.gradient_caching import Recomputed
from siamese_news.training.objective import Mined, SiameseObjective, TermVectors
from siamese_news.training.plain_options import (
    KeepsArguments,
    composed,
    merged,
    options_of,
    plain_values,
    save_as_hyperparameters,
)
from siamese_news.training.schedules import OptimizerOption, optimizer_of, with_schedule
from siamese_news.training.schema import TOP, complaints

log = logging.getLogger(__name__)
SIDES: tuple[Side, Side] = ("article", "post")
Option = str | Mapping[str, Any]


class SiameseModule(KeepsArguments, pl.LightningModule):
    """A shared encoder for articles and posts, with the loss and the miner that train it.

    A batch has each distinct article once and its posts; both sides go through the one shared
    encoder. Where it has two heads, each has a loss of its own and the sum is minimized: one loss
    of the summed score would let the dense head take over on the training events.

    An option is the name of a file in ``conf/``, or its plain values; without ``_target_`` only those
    that differ from those of the default. The words' weights (IDF), and
    the lexical head of an encoder with two heads, are learned from the training texts when `fit`
    begins. A checkpoint contains everything: `load_from_checkpoint` needs its path alone.

    Logged: ``train/loss`` by step; ``mined/positives``, ``mined/negatives`` and
    ``alpha/<sparsity>/<head>`` by epoch; ``dev/map``, ``dev/micro_ap`` and ``dev/auc`` by
    validation; ``test/…`` likewise.

    Args:
        encoder: of ``conf/encoder``, or one of `register_encoder`; its values name a class by
            ``_target_``; or an `Encoder` whose ``input_dim`` is that of the vectors.
        sparsity: of ``conf/sparsity``, for an encoder with attention that is given by name.
        vectors: of ``conf/vectors``.
        objective: of ``conf/objective``, or a `SiameseObjective`.
        optimizer: of ``conf/task/optimizer``, or a function of parameters. Where weights decay,
            biases, alphas and factors do not.
        lr: comes before the learning rate of the optimizer's option.
        schedule: of ``conf/task/schedule``; None for a constant learning rate.
        terms: of ``conf/terms``, for an encoder with two heads.
        tokenizer: options of `siamese_news.text.Tokenizer`.
        limits: of tokens (`TextModel`); None takes those of the data.
        model: a model to train further instead of an encoder: a `Model`, its folder, or
            ``"pretrained"``.
        batch_tokens: how many tokens go through the encoder at once; the gradient does not depend
            on it.
        metrics: more figures of an evaluation set by name: a metric of `torchmetrics.retrieval`, one
            that is called alike, or the option of one. Each is logged as ``dev/<name>``.

    Attributes:
        model: the `Model` that is trained.
        lr: the learning rate, for Lightning's `lr_find`; None if the optimizer has none.
        vectors_option: the values of the option `vectors`.

    Raises:
        InputError: an option does not exist or does not fit.

    Example:
        >>> from siamese_news import SiameseModule
        >>> module = SiameseModule(encoder="bag_idf", vectors="glove50")  # doctest: +SKIP
        >>> module.model.encode_posts(["the river is in my cellar"]).shape  # doctest: +SKIP
        (1, 300)
    """

    def __init__(
        self,
        encoder: Option | Encoder = "star",
        *,
        sparsity: str | None = None,
        vectors: Option = "glove50",
        objective: Option | SiameseObjective = "paper",
        optimizer: str | OptimizerOption = "adamw",
        lr: float | None = None,
        schedule: Option | None = None,
        terms: Option = "default",
        tokenizer: Mapping[str, Any] | None = None,
        limits: Mapping[str, Any] | None = None,
        model: Model | str | Path | None = None,
        batch_tokens: int = 8192,
        metrics: Mapping[str, Metric | Mapping[str, Any]] | None = None,
    ) -> None:
        super().__init__()
        options = _values(
            encoder=encoder,
            sparsity=sparsity,
            vectors=vectors,
            objective=objective,
            optimizer=optimizer,
            schedule=schedule,
            terms=terms,
        )
        self._limits = limits
        self.batch_tokens = batch_tokens
        self._terms_option = options["terms"]
        self.vectors_option = options["vectors"]
        self._untaught = model is None
        if model is None:
            words = tokenizer or options["tokenizer"]
            options_of_words = {"_target_": "siamese_news.text.Tokenizer", **words}
            for complaint in complaints(
                "SiameseModule: tokenizer", options_of_words, Any
            ):
                raise InputError(complaint)
            token_limits = {**options["limits"], **(limits or {})}
            text = build_text(options["vectors"], words)
            model = build_model({**options, "data": {"limits": token_limits}}, text, ())
        elif not isinstance(model, Model):
            model = trainable_copy(open_start(model))
        self.model: Model = model.train()
        self.objective: SiameseObjective = options["objective"]
        if not isinstance(self.objective, nn.Module):
            self.objective = instantiate(options["objective"], "objective")
        self._optimizer = options["optimizer"]
        self._schedule = options["schedule"]
        self.lr = None
        if isinstance(self._optimizer, Mapping):
            lr = self._optimizer.get("lr") if lr is None else lr
            self.lr = None if lr is None else float(lr)
        self._set_term_vectors()
        # What the miner selected, summed over the heads and the epoch, and over the ranks unless
        # each counts the global batch.
        sync = not self.objective.gather_across_devices
        sums: dict[str, Metric | MetricCollection] = {
            name: SumMetric(sync_on_compute=sync) for name in Mined._fields
        }
        self.mined = MetricCollection(sums, compute_groups=False)
        self.metrics = {
            name: instantiate(metric, f"module.metrics.{name}")
            if isinstance(metric, Mapping)
            else metric
            for name, metric in (metrics or {}).items()
        }
        # Objects, such as an objective of the user's own, are not in a checkpoint.
        plain = plain_values(options)
        resolved: dict[str, Any] = {
            "lr": self.lr,
            "tokenizer": self.model.tokenizer.config(),
            "limits": dict(self.model.limits),
            "batch_tokens": batch_tokens,
            "metrics": metrics,
        }
        if "encoder" not in plain or not self._untaught:
            resolved |= {"encoder": self.model.config}
        save_as_hyperparameters(self, {**self.arguments, **plain, **resolved})

    @classmethod
    def load_from_checkpoint(  # type: ignore[override]
        cls,
        checkpoint_path: str | Path,
        map_location: Any = None,
        hparams_file: None = None,
        strict: bool | None = None,
        weights_only: bool | None = True,
        **options: Any,
    ) -> "SiameseModule":
        """The module in a checkpoint, from its path alone; no code from it runs.

        Further options come before those of the checkpoint, such as ``objective`` where it was
        trained with an object. A subclass gets its own arguments back as its caller gave them; one
        that is not a plain value has to be given again.

        Raises:
            InputError: it is missing, damaged, of another program, or of another version, or an
                option is unknown, needed, or given by the checkpoint's model.
        """
        declared = options_of(cls, SiameseModule)
        names = [name for name in declared if name not in _OF_MODEL]
        if unknown := sorted(options.keys() - {*names}):
            fixed = (
                "which the model in the checkpoint has"
                if {*unknown} <= {*_OF_MODEL}
                else f"which {cls.__name__} does not take"
            )
            raise InputError(
                f"load_from_checkpoint: got {', '.join(unknown)}, {fixed}; expected among "
                f"{', '.join(names)}"
            )
        checkpoint = read_checkpoint(checkpoint_path, map_location)
        if "model" in declared:
            options["model"] = model_in(checkpoint, checkpoint_path)
        saved = checkpoint["hyper_parameters"]
        made_with = checkpoint[KEY]
        arguments: dict[str, Any] = made_with["arguments"]
        parameters = signature(cls).parameters.values()
        variadic = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "")
        positional = arguments.pop(variadic, ())
        if lost := sorted(arguments.keys() - {*names, *_OF_MODEL}):
            log.warning(
                "%s: was saved with %s, which %s does not take; open it with its own class",
                checkpoint_path,
                ", ".join(lost),
                cls.__name__,
            )
        if objects := sorted({*made_with["objects"]} & {*names} - options.keys()):
            log.warning(
                "%s: was made with objects as %s, which no checkpoint holds; give them to "
                "load_from_checkpoint, or the defaults are used",
                checkpoint_path,
                ", ".join(objects),
            )
        # An argument of a subclass as it was given, one of this class as it was used.
        values = {
            name: saved.get(name, value) if declared[name] is SiameseModule else value
            for name, value in arguments.items()
            if name in names or declared.get(name, SiameseModule) is not SiameseModule
        } | options
        try:
            module = cls(*positional, **values)
        except TypeError as error:
            raise InputError(
                f"load_from_checkpoint: {cls.__name__} takes other arguments than those in the "
                f"checkpoint with the options given here ({error})"
            ) from error
        if "model" not in values:  # a subclass that makes its model itself
            module.on_load_checkpoint(checkpoint)
        # The model's own options, which its class did not get again.
        module.save_hyperparameters({n: saved[n] for n in _OF_MODEL if n in saved})
        try:
            module.load_state_dict(checkpoint["state_dict"], strict=strict is not False)
        except RuntimeError as error:
            raise InputError(
                f"{checkpoint_path}: its weights do not fit ({' '.join(str(error).split())})"
            ) from error
        return module

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add what builds the model again, and what this module was made with."""
        # A subclass, or its data module, may have saved objects, which nothing could open.
        for key in ("hyper_parameters", "datamodule_hyper_parameters"):
            checkpoint[key] = plain_values(checkpoint.get(key, {}))
        made_with = {"arguments": self.arguments, "objects": self.objects}
        checkpoint[KEY] = content_of(self.model) | made_with

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Take over what training learned besides weights: words' weights and the lexical head."""
        check_content(checkpoint, "the checkpoint")
        saved = learned_parts(checkpoint, "the checkpoint")
        model = self.model
        if saved["vocabulary"].words != model.vocabulary.words:
            raise InputError(
                f"the checkpoint has {len(saved['vocabulary'])} words, the module has "
                f"{len(model.vocabulary)}, or others; build it with the vectors of the saved run"
            )
        model.terms = saved["terms"]
        model.limits = dict(saved["limits"])
        model.trained_on = saved["trained_on"]
        embedding = checkpoint[KEY]["config"]["embedding"]
        model.embedding.unknown_weight = embedding["unknown_weight"]
        self._untaught = False
        self._set_term_vectors()

    def save(self, folder: str | Path, *, card: str | None = None) -> None:
        """Write the model folder, which ``siamese-news rank --model FOLDER`` and `Model.load` read.

        Args:
            folder: is made, or replaced if it is a model folder.
            card: its Markdown card; None writes one.
        """
        model = self.model
        if any(tensor.dtype in _OTHER_FLOATS for tensor in model.state_dict().values()):
            model = copy.deepcopy(model).float()
        if card is None:
            data = ", ".join(model.trained_on.articles) or "no data"
            row = {"encoder": model.config["class"], "data": data}
            seed = os.environ.get("PL_GLOBAL_SEED", "not set")
            config = {"vectors": self.vectors_option, "seed": seed}
            card = model_card("link", config, row, kind=model.kind)
        model.save(folder, card=card)

    def setup(self, stage: str) -> None:
        """Learn the words' weights from the training texts before the first fit."""
        data = getattr(self.trainer, "datamodule", None)
        if stage == "fit" and isinstance(data, SiameseDataModule):
            self.learn_words(data)

    def learn_words(self, data: SiameseDataModule) -> None:
        """Set the words' weights, and for two heads the lexical head, by the training texts.

        This is done once: not for a model that was trained before.
        """
        model = self.model
        if self._untaught or model.terms is None:
            model.limits = {**data.limits, **(self._limits or {})}
            save_as_hyperparameters(self, {"limits": model.limits})
        if not self._untaught:
            return
        self._untaught = False
        texts = data.train_set.texts()
        weights, unknown = idf_weights(model.tokenizer, model.vocabulary, texts)
        model.embedding.token_weights.copy_(weights)
        model.embedding.unknown_weight = unknown
        if model.encoder.has_factors:
            articles = (article.full_text for article in data.train_set.articles)
            posts = (post.text for post in data.train_set.posts)
            add_terms(model, self._terms_option, articles, posts)
            self._set_term_vectors()

    def _set_term_vectors(self) -> None:
        terms = self.model.terms if self.model.encoder.has_factors else None
        self.terms = None if terms is None else TermVectors(terms)

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def log(self, *arguments: Any, **options: Any) -> None:
        """As Lightning's, whose look at the hooks' signatures `torch.compile` cannot read."""
        super().log(*arguments, **options)

    def forward(self, ids: Tensor) -> Tensor:
        """Encode padded token ids (B, S) -> (B, D)."""
        return self.model(ids)

    def training_step(self, batch: dict[str, Tensor], batch_idx: int) -> Tensor:
        """One step; the logged loss is that of the global batch."""
        labels = batch["article_labels"], batch["post_labels"]
        article_rows, row_of = first_rows(labels[0])
        ids = batch["article_ids"][article_rows], batch["post_ids"]
        (articles, *factors), (posts, *post_factors) = (
            self._encode(side, partial(self._outputs, name))
            for side, name in zip(ids, SIDES, strict=True)
        )
        spaces = [(articles, posts)]
        if self.terms is not None:
            spaces.append(self.terms(*ids, *factors, *post_factors))
        losses = []
        mined = []
        for articles, posts in spaces:
            losses.append(self.objective(articles[row_of], posts, *labels))
            if self.objective.mined is not None:
                mined.append(self.objective.mined)
        loss: Tensor = sum(losses[1:], losses[0])
        sync = not self.objective.gather_across_devices
        self.log(
            "train/loss",
            loss.detach(),
            prog_bar=True,
            batch_size=len(posts),
            sync_dist=sync,
        )
        for name, counts in zip(Mined._fields, zip(*mined, strict=True), strict=False):
            self.mined[name].update(sum(counts))
            self.log(f"mined/{name}", self.mined[name], on_step=False, on_epoch=True)
        return loss

    def on_train_start(self) -> None:
        """Record the training texts, so that `evaluate` can refuse a test that overlaps."""
        data = getattr(self.trainer, "datamodule", None)
        if isinstance(data, SiameseDataModule):
            data.record(self.model.trained_on)

    def on_train_epoch_end(self) -> None:
        """Log the alpha of every head whose sparsity is learned."""
        for name, alphas in self.model.encoder.alphas().items():
            if any(
                p.requires_grad
                for p in self.model.encoder.get_submodule(name).parameters()
            ):
                for head, alpha in enumerate(alphas):
                    self.log(f"alpha/{name}/{head}", alpha, sync_dist=True)

    def validation_step(self, batch: RankedSet, batch_idx: int) -> None:
        """Rank the dev set and log dev/map, dev/micro_ap and dev/auc."""
        self._evaluate("dev", batch.content)

    def test_step(self, batch: RankedSet, batch_idx: int) -> None:
        """The same for the test set."""
        self._evaluate("test", batch.content)

    def predict_step(self, batch: RankedSet | Tensor, batch_idx: int) -> Tensor:
        """Scores (A, P) of a set's articles and posts; vectors (B, D) of token ids (B, S)."""
        if isinstance(batch, Tensor):
            return self(batch)
        ranked = batch.content
        blocks = model_blocks(self.model, ranked.articles, ranked.posts)
        return torch.cat([torch.as_tensor(scores) for _, scores in blocks()], dim=1)

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def _evaluate(self, name: str, ranked: EvaluationSet) -> None:
        """Global rank 0 encodes and ranks, mostly in numpy; all ranks log its figures."""
        figures = on_first_process(
            lambda: ranking_figures(self.model, ranked, self.metrics)
        )
        self.log_dict(
            {f"{name}/{key}": value for key, value in figures.items()},
            prog_bar=name == "dev",
            batch_size=1,
            sync_dist=True,
        )

    def _outputs(self, side: Side, ids: Tensor) -> tuple[Tensor, ...]:
        """The vectors of a batch and, for a lexical head, the factors of its words."""
        return (
            (self.model(ids),)
            if self.terms is None
            else heads(self.model, ids, side=side)
        )

    def _encode(
        self, ids: Tensor, encode: Callable[[Tensor], tuple[Tensor, ...]]
    ) -> tuple[Tensor, ...]:
        """Encode (B, S) in order of length, a few thousand tokens at a time.

        This computes little padding and keeps the states in the processor's cache. Results of a
        batch that are narrower than S are padded with zeros.
        """
        if self.objective.cache and torch.is_grad_enabled():
            learned = [p for p in self.model.parameters() if p.requires_grad]
            once, encode = (
                encode,
                lambda batch_ids: Recomputed.apply(once, batch_ids, *learned),
            )
        lengths = (ids != PAD).sum(1).tolist()
        rows: list[int] = []
        parts: list[tuple[Tensor, ...]] = []
        for batch in length_batches(lengths, self.batch_tokens):
            width = max(1, lengths[batch[-1]])
            outputs = encode(ids[batch, :width])
            parts.append(
                (
                    outputs[0],
                    *(pad(output, (0, ids.shape[1] - width)) for output in outputs[1:]),
                )
            )
            rows += batch
        order = torch.tensor(rows, device=ids.device).argsort()
        return tuple(torch.cat(output)[order] for output in zip(*parts, strict=True))

    def configure_optimizers(self) -> OptimizerLRScheduler:
        """The optimizer of the trained parameters, and the schedule of its learning rate."""
        optimizer = optimizer_of(self._optimizer, self, self.lr, self.trainer)
        return with_schedule(optimizer, self._schedule, self.trainer)


#: What a model in a checkpoint has itself.
_OF_MODEL = ("encoder", "sparsity", "tokenizer", "limits", "model")
_OTHER_FLOATS = (torch.float16, torch.bfloat16, torch.float64)


def _values(**options: Any) -> dict[str, Any]:
    """The plain values of the options that are given by name, or by what differs from the default.

    Objects and functions stay as they are.
    """
    groups = {"optimizer": "task/optimizer", "schedule": "task/schedule"}
    defaults = signature(SiameseModule).parameters
    names: dict[str, str] = {}
    for name, value in options.items():
        names_class = isinstance(value, Mapping) and "_target_" in value
        wrong = not (
            value is None or callable(value) or isinstance(value, str | Mapping)
        )
        if name == "encoder":
            wrong = not (isinstance(value, str | Encoder) or names_class)
        if wrong:
            raise InputError(
                f"SiameseModule: {name} is {value!r:.80}; expected the name of a file in "
                f"conf/{groups.get(name, name)}, or its values, such as "
                '{"_target_": "siamese_news.StarEncoder", "heads": 5} for an encoder'
            )
        if isinstance(value, Mapping) and not names_class:
            value = defaults[name].default
        if isinstance(value, str):
            names[name] = value
    config = composed(
        *(f"{groups.get(name, name)}={value}" for name, value in names.items())
    )
    config |= {name: config["task"].get(name) for name in groups}
    values = {
        name: config[name] if isinstance(value, str) else value
        for name, value in options.items()
    }
    for name in [name for name in options if isinstance(options[name], Mapping)]:
        values[name] = merged(config[name] if name in names else {}, options[name])
        key = groups.get(name, name).replace("/", ".")
        for complaint in complaints(key, values[name], TOP.get(name, Any)):
            raise InputError(f"SiameseModule: {complaint}")
    return values | {
        "tokenizer": config["task"]["tokenizer"],
        "limits": config["data"]["limits"],
    }


def ranking_figures(
    model: Model, ranked: EvaluationSet, metrics: Mapping[str, Metric] = {}
) -> dict[str, float]:
    """MAP over articles, micro AP and ROC-AUC of a model on an evaluation set.

    There is no AUC where every pair of the set is relevant. Further `metrics` read the same ranking.
    """
    result = evaluate_model(model, "model", ranked, bootstrap=0).evaluation
    pooled = result.pooled
    figures = {
        "map": result.macro["AP"],
        "micro_ap": pooled["AP"],
        "auc": pooled.get("AUC"),
    }
    figures |= {
        name: figure_of_run(metric, result.run, ranked.qrels)
        for name, metric in metrics.items()
    }
    return {name: value for name, value in figures.items() if value is not None}


def figure_of_run(metric: Metric, run: Run, qrels: Qrels) -> float:
    """The figure of a metric of `torchmetrics.retrieval`, or one called alike, for a run.

    It gets the posts of an article at a time: ``preds`` fall by rank from 1 to above 0, ``target``
    has their grades (0 or 1 for a metric that takes no grades), ``indexes`` the article's row.
    Relevant posts below the depth of the run come last.
    """
    is_graded = getattr(metric, "allow_non_binary_target", False)
    metric.reset()
    metric.sync_on_compute = False  # one process alone has the run
    for row, (article, scores) in enumerate(run.items()):
        judged = qrels.get(article, {})
        posts = [*scores, *sorted(judged.keys() - scores.keys())]
        grades = torch.tensor([judged.get(post, 0) for post in posts])
        metric.update(
            torch.linspace(1, 0, len(posts) + 1)[:-1],
            grades if is_graded else (grades >= 1).long(),
            indexes=torch.full_like(grades, row),
        )
    return float(metric.compute())


def first_rows(labels: Tensor) -> tuple[Tensor, Tensor]:
    """The first row of each distinct label, and for each row which of those it is.

    With these an article is encoded once, however many pairs of a batch it occurs in.
    """
    distinct, row_of = labels.unique(return_inverse=True)
    rows = torch.arange(len(labels), device=labels.device)
    first_row = rows.new_empty(len(distinct)).scatter_reduce_(
        0, row_of, rows, "amin", include_self=False
    )
    return first_row, row_of
