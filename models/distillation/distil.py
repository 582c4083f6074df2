"""The distil task: an encoder that learns the vectors of a sentence-transformers teacher."""

import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

import numpy as np
import torch
from scipy import sparse
from torch import Tensor
from torch.nn.functional import kl_div, normalize
from typing_extensions import override

from models.distillation.corpus import CutOptions, count_words
from models.distillation.distil_data import DistilDataModule
from siamese_news.encoders import TokenEmbedding, WhitenedEncoder
from siamese_news.errors import InputError
from siamese_news.evaluation.system_results import model_card
from siamese_news.lexical_head.term_ids import distinct
from siamese_news.model.siamese import Model
from siamese_news.text import Tokenizer, Vocabulary
from siamese_news.text.content_words import smoothed_idf
from siamese_news.text.token_ids import TokenIds
from siamese_news.training import job
from siamese_news.training.build import build_text, encoder_of, instantiate
from siamese_news.training.callbacks import RankMonitor, load_selected, selection
from siamese_news.training.distributed import leave_group
from siamese_news.training.finetune import open_start
from siamese_news.training.launch import is_first_process
from siamese_news.training.link import encoder_labels, measure
from siamese_news.training.module import SiameseModule
from siamese_news.training.schedules import check_optimizer
from siamese_news.training.schema import Number
from siamese_news.training.teacher import TeacherOptions
from siamese_news.training.trainer import (
    callbacks_of,
    checkpoint_to_resume,
    loggers_of,
    make_trainer,
    seed_everything,
    stopped_by_signals,
)

log = logging.getLogger(__name__)
# So many vectors of the teacher give its principal axes, so many texts the first word vectors, and
# so many vectors of the student its whitening.
SAMPLE = 20_000


class DistilOptions(TypedDict):
    """The keys of ``conf/task/distil.yaml``."""

    epochs: int
    optimizer: dict[str, Any]
    schedule: dict[str, Any] | None
    gradient_clip: float | None
    texts_per_batch: int
    temperature: float
    teacher: TeacherOptions
    unlabeled: list[str]
    leave_out: list[str]
    words_of: str | None
    max_words: int
    min_texts: int
    dim: int
    cut: CutOptions
    whitening: float | None
    stored: Literal["int8", "float32"]
    monitor: str | None
    patience: Number | None
    bootstrap: Number
    tokenizer: dict[str, Any]


class DistilModule(SiameseModule):
    """A `SiameseModule` that learns from a teacher's vectors in place of pairs.

    For unit vectors v_i of the student and t_i of the teacher the loss of a batch is

        mean_i (1 - v_i . t_i) + mean_i KL(softmax_j t_i . t_j / tau || softmax_j v_i . v_j / tau)

    over j other than i: the first part says where a text lies, the second which texts are alike.
    Where the student has another dimension than the teacher, t_i in the first part are the
    teacher's vectors on their principal axes.

    Args:
        axes: (T, D), see `principal_axes`.
        temperature: tau.
        **options: of `SiameseModule`.
    """

    axes: Tensor

    def __init__(self, *, axes: Tensor, temperature: float, **options: Any) -> None:
        super().__init__(**options)
        self.temperature = temperature
        self.register_buffer("axes", axes)

    @override
    def training_step(self, batch: dict[str, Tensor], batch_idx: int) -> Tensor:
        (vectors,) = self._encode(batch["ids"], lambda ids: (self.model(ids),))
        # Similarities need all digits.
        with torch.autocast(vectors.device.type, enabled=False):
            loss = distillation_loss(
                vectors, batch["teacher"], self.axes, self.temperature
            )
        self.log("train/loss", loss.detach(), prog_bar=True, batch_size=len(vectors))
        return loss


def distillation_loss(
    vectors: Tensor, teacher: Tensor, axes: Tensor, temperature: float
) -> Tensor:
    """The loss of a batch, see `DistilModule`: vectors (B, D), teacher (B, T), axes (T, D)."""
    vectors = normalize(vectors.float(), dim=1)
    distance = 1 - (vectors * normalize(teacher @ axes, dim=1)).sum(1).mean()
    if len(vectors) < 2:
        return distance
    itself = torch.eye(len(vectors), dtype=torch.bool, device=vectors.device)
    student, wanted = (
        (rows @ rows.T / temperature).masked_fill(itself, -torch.inf)
        for rows in (vectors, teacher)
    )
    # 0, not 0 times infinity, of a text and itself.
    logs = student.log_softmax(1).masked_fill(itself, 0)
    return distance + kl_div(logs, wanted.softmax(1), reduction="batchmean")


def principal_axes(vectors: np.ndarray, dim: int) -> Tensor:
    """(T, dim): the axes on which vectors (N, T) vary most, by their second moment.

    Cosines on them come close to those of the whole vectors. A student with more dimensions than
    its teacher has the teacher's own axes, and zeros.
    """
    size = vectors.shape[1]
    if dim >= size:
        return torch.eye(size, dim)
    sample = vectors[:: max(1, len(vectors) // SAMPLE)].astype(np.float32)
    _, axes = np.linalg.eigh(sample.T @ sample)  # the greatest eigenvalue last
    return torch.from_numpy(np.ascontiguousarray(axes[:, ::-1][:, :dim]))


def first_vectors(
    words: int, ids: TokenIds, targets: np.ndarray, word_vectors: np.ndarray
) -> np.ndarray:
    """(V, D): the word vectors that training begins with, near the teacher's.

    A linear map from the known word vectors is fitted, by least squares, to put the mean of a
    text's words near the teacher's vector of the text. A word without a vector begins as the mean
    of the teacher's vectors over its texts.

    Args:
        words: V.
        ids: of N texts.
        targets: the teacher's vectors (N, D).
        word_vectors: vectors (V, E), zero where a word has none.
    """
    counts = sparse.csr_matrix(
        (np.ones(len(ids.flat), np.float32), ids.flat, ids.offsets),
        shape=(len(ids), words),
    )
    occurrences = np.asarray(counts.sum(0)).ravel()
    means = (counts.T @ targets) / np.maximum(occurrences, 1.0)[:, None]
    sample = np.flatnonzero(ids.lengths)[:: max(1, len(ids) // SAMPLE)]
    bags = (counts[sample] @ word_vectors) / ids.lengths[sample, None]
    linear, *_ = np.linalg.lstsq(bags, targets[sample], rcond=1e-4)
    vectors = word_vectors @ linear
    missing = ~word_vectors.any(1)
    vectors[missing] = means[missing]
    length: float = np.linalg.norm(vectors[occurrences > 0], axis=1).mean() or 1.0
    return (vectors / length).astype(np.float32)


@job.task(
    DistilOptions,
    "encoder sparsity data vectors teacher init",
    continues=True,
    of_new_models="words_of max_words min_texts dim tokenizer",
)
def run(config: Mapping[str, Any], out: Path) -> dict[str, Any] | None:
    """Train the student, save it to ``out/model`` and evaluate it; returns the row of the table."""
    started = time.monotonic()
    data = data_of(config)
    check_options(config, data)
    log.info("data: %s", data.sizes())
    module = train_student(config, data, out)
    if module is None:
        return None
    model = stored(module.model, config["task"]["stored"])
    labels = encoder_labels(config, model)
    if (power := config["task"]["whitening"]) is not None:
        model.whiten(data.texts[:: max(1, len(data.texts) // SAMPLE)], power=power)
    row: dict[str, Any] = {
        **labels,
        "data": config["data"]["name"],
        "seed": config["seed"],
        "texts": len(data.texts),
        "words": len(model.vocabulary),
        "parameters": sum(
            parameter.numel() for parameter in model.encoder.parameters()
        ),
        "epochs": config["trainer"]["max_epochs"],
        "minutes": round((time.monotonic() - started) / 60, 2),
    }
    model.save(out / "model", card=model_card("distil", config, row))
    model = Model.load(out / "model")  # the saved model is the one that is evaluated
    row |= measure(model, str(row["encoder"]), data, config, out)
    model.save(out / "model", card=model_card("distil", config, row))
    return row


def data_of(config: Mapping[str, Any]) -> DistilDataModule:
    """The texts of a configuration; the teacher computes where the training does."""
    options = {
        **config["data"],
        "_target_": f"{DistilDataModule.__module__}.DistilDataModule",
    }
    data: DistilDataModule = instantiate(
        options,
        "data",
        task=config["task"],
        seed=config["seed"],
        device="cuda" if config["trainer"]["accelerator"] == "gpu" else "cpu",
    )
    return data


def check_options(config: Mapping[str, Any], data: DistilDataModule) -> None:
    """Refuse options with which nothing would be learned or selected.

    Raises:
        InputError: it names the option.
    """
    task = config["task"]
    if task["dim"] < 1:
        raise InputError(f"task.dim={task['dim']}: expected 1 or more")
    if task["temperature"] <= 0:
        raise InputError(
            f"task.temperature={task['temperature']}: expected a number above 0"
        )
    power = task["whitening"]
    if power is not None and not 0 <= power <= 0.5:
        raise InputError(
            f"task.whitening={power}: expected a number from 0 to 0.5, or null for none"
        )
    monitor = task["monitor"]
    if monitor and (data.dev is None or not config["trainer"]["limit_val_batches"]):
        raise InputError(
            f"task.monitor={monitor}: no figure of a dev set is computed; expected a set in "
            "data.dev and trainer.limit_val_batches above 0, or task.monitor=null"
        )
    if task["patience"] and not monitor:
        raise InputError(
            f"task.patience={task['patience']}: without task.monitor no figure is watched; expected "
            f"task.monitor=dev/map with it, or task.patience=null"
        )


def train_student(
    config: Mapping[str, Any], data: DistilDataModule, out: Path
) -> DistilModule | None:
    """Train a student on the texts; None on all processes but the first."""
    seed_everything(config)
    task = config["task"]
    check_optimizer(task["optimizer"])
    model, axes = student(config, data)
    module = DistilModule(
        model=model,
        axes=axes,
        temperature=task["temperature"],
        optimizer=task["optimizer"],
        schedule=task["schedule"],
        # A GPU is fast where it is asked for much at once.
        batch_tokens=2**18 if config["trainer"]["accelerator"] == "gpu" else 8192,
    )
    folder = out / "checkpoints"
    choice = selection(
        folder,
        monitor=task["monitor"],
        patience=task["patience"],
        keep_interrupted=True,
    )
    trainer = make_trainer(
        config["trainer"],
        callbacks=[RankMonitor(), *choice, *callbacks_of(config)],
        logger=loggers_of(config, out / "logs"),
        default_root_dir=str(out),
    )
    resume = checkpoint_to_resume(config["resume"], folder, automatic=True)
    go_on = f"the same command continues, with hydra.run.dir={out}"
    with stopped_by_signals(trainer, go_on=go_on):
        trainer.fit(module, datamodule=data, ckpt_path=resume, weights_only=True)
    leave_group()
    if not is_first_process():
        return None
    load_selected(module, trainer)
    return module


def student(config: Mapping[str, Any], data: DistilDataModule) -> tuple[Model, Tensor]:
    """The model before training, and the axes of its teacher's vectors (T, D)."""
    if config["init"]:
        model = trained_further(config)
        return model, axes_of(model, data)
    return new_student(config, data)


def trained_further(config: Mapping[str, Any]) -> Model:
    """The model of ``init=`` with its words' vectors as weights that are trained.

    A table of relevance is dropped, because training changes the scores that it was fitted on.

    Raises:
        InputError: it has no encoder with one dense head.
    """
    model = open_start(config["init"])
    if model.encoder.has_factors:
        raise InputError(
            f"init={config['init']}: has two heads, and a teacher has vectors for one; expected a "
            "model that task=distil made, or another of one head"
        )
    if isinstance(model.encoder, WhitenedEncoder):
        # The teacher's vectors are not whitened.
        model.undo_whitening()
        if config["task"]["whitening"] is None:
            log.warning(
                "init=%s: its vectors are whitened, and those of the trained student will not be; "
                "task.whitening=0.3 whitens them",
                config["init"],
            )
    model.calibration = None
    words = model.embedding
    model.embedding = TokenEmbedding(
        words.matrix.detach(),
        trainable=True,
        token_weights=words.token_weights,
        unknown_weight=words.unknown_weight,
        unknown_range=words.unknown_range,
    )
    return model.train()


def axes_of(model: Model, data: DistilDataModule) -> Tensor:
    """(T, D): the axes on which the teacher's vectors come nearest to those of the student.

    They are orthonormal, by orthogonal Procrustes, so that a trained student continues from its own
    vectors, whatever axes it learned them on.
    """
    sample = slice(None, None, max(1, len(data.texts) // SAMPLE))
    student = model.encode_posts(data.texts[sample])
    left, _, right = np.linalg.svd(
        data.taught[sample].astype(np.float32).T @ student, full_matrices=False
    )
    return torch.from_numpy(left @ right)


def new_student(
    config: Mapping[str, Any], data: DistilDataModule
) -> tuple[Model, Tensor]:
    """An untrained model, and the axes of its teacher's vectors (T, D)."""
    task = config["task"]
    if task["words_of"]:
        shared = open_start(task["words_of"])
        tokenizer = shared.tokenizer
        vocabulary = shared.vocabulary
        terms = shared.terms
    else:
        words, _ = count_words(data.texts, task)
        tokenizer = Tokenizer(words=words, **task["tokenizer"])
        vocabulary = Vocabulary(words, unknown="drop")
        terms = None
    zeros = torch.zeros(len(vocabulary), task["dim"])
    encoder, plain = encoder_of(config["encoder"], task["dim"])
    if encoder.has_factors:
        raise InputError(
            f"encoder={plain['class']}: has two heads, and a teacher has vectors for one; expected "
            "star, star_feed_forward, transformer, cnn, gru, bigru or bag"
        )
    model = Model(
        tokenizer=tokenizer,
        vocabulary=vocabulary,
        embedding=TokenEmbedding(zeros, trainable=True, unknown_weight=0.0),
        encoder=encoder,
        limits=config["data"]["limits"],
        config=plain,
        terms=terms,
    )
    ids = data.token_ids(model)
    _, distinct_words, _ = distinct(ids)
    frequencies = np.bincount(distinct_words, minlength=len(vocabulary))
    weights = smoothed_idf(frequencies, len(ids)).astype(np.float32)
    targets = (
        data.taught.astype(np.float32)
        @ principal_axes(data.taught, task["dim"]).numpy()
    )
    table = first_vectors(
        len(vocabulary), ids, targets, known_vectors(config, vocabulary.words)
    )
    with torch.no_grad():
        model.embedding.matrix.copy_(torch.from_numpy(table))
        model.embedding.token_weights.copy_(torch.from_numpy(weights))
    return model, principal_axes(data.taught, encoder.output_dim)


def known_vectors(config: Mapping[str, Any], words: Sequence[str]) -> np.ndarray:
    """(V, E): the vectors of ``conf/vectors`` of these words, zero where a word has none."""
    _, vocabulary, matrix = build_text(config["vectors"], config["task"]["tokenizer"])
    rows = {word: row for row, word in enumerate(vocabulary.words)}
    vectors_there = np.zeros((len(words), matrix.shape[1]), np.float32)
    for place, word in enumerate(words):
        if word in rows:
            vectors_there[place] = matrix[rows[word]]
    return vectors_there


def stored(model: Model, kind: Literal["int8", "float32"]) -> Model:
    """The trained model with a fixed table of words, as its folder stores it."""
    table = model.embedding
    model.embedding = TokenEmbedding(
        table.matrix.detach(),
        trainable=False,
        token_weights=table.token_weights,
        unknown_weight=0.0,
        stored=kind,
    )
    return model
