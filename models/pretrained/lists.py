"""The lists task: the small two-head model that ships, from training text and a teacher."""

import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

import numpy as np
import torch

from models.distillation.corpus import count_words, read_corpus
from models.pretrained.list_student import (
    ListsToRank,
    Student,
    StudentModule,
    list_loader,
)
from siamese_news.encoders import TokenEmbedding, build_encoder
from siamese_news.errors import InputError
from siamese_news.evaluation.system_results import model_card
from siamese_news.lexical_head.head import TermHead
from siamese_news.model.siamese import Model
from siamese_news.text import Tokenizer, Vocabulary
from siamese_news.text.content_words import content_words, smoothed_idf
from siamese_news.training import job
from siamese_news.training.build import build_text, instantiate
from siamese_news.training.datamodule import SiameseDataModule
from siamese_news.training.link import measure
from siamese_news.training.teacher import TeacherOptions, taught
from siamese_news.training.trainer import (
    callbacks_of,
    check_one_device,
    loggers_of,
    make_trainer,
    seed_everything,
    stopped_by_signals,
)

log = logging.getLogger(__name__)


class ListOptions(TypedDict):
    """The lists that the student learns; see `training_lists`."""

    lexical: float
    temperature: float
    near: int
    candidates: int


class ListsOptions(TypedDict):
    """The keys of ``conf/task/lists.yaml``."""

    tokenizer: dict[str, Any]
    teacher: TeacherOptions
    unlabeled: list[str]
    leave_out: list[str]
    max_words: int
    min_texts: int
    lists: ListOptions
    epochs: int
    batch: int
    lr: float
    lead: float
    dim: int
    stored: Literal["int8", "float32"]
    bootstrap: int


@job.task(ListsOptions, "data vectors terms teacher")
def run(config: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """Train the student, save it to ``out/model`` and evaluate it; returns the row of the table."""
    task = config["task"]
    check_one_device(config["trainer"])
    seed_everything(config)
    for option in ("dim", "batch", "lr", "lead"):
        if task[option] is not None and task[option] <= 0:
            raise InputError(f"task.{option}={task[option]}: expected a number above 0")
    started = time.monotonic()
    data: SiameseDataModule = instantiate(config["data"], "data", seed=config["seed"])
    log.info("articles: %s", data.sizes())
    articles, posts = read_corpus(data, task)
    words, frequencies = count_words([*articles, *posts], task)
    log.info("%d words of %d texts", len(words), len(articles) + len(posts))
    tokenizer = Tokenizer(words=words, **task["tokenizer"])
    vocabulary = Vocabulary(words, unknown="hash")

    article_ids, post_ids = (
        [vocabulary.ids(content_words(tokenizer(text))) for text in side]
        for side in (articles, posts)
    )
    terms = TermHead.of_texts(frequencies, article_ids, post_ids, config["terms"])
    teacher_scores = taught(articles, posts, task["teacher"])
    log.info("teacher vectors after %.1f minutes", _minutes(started))
    lists = training_lists(config, article_ids, post_ids, teacher_scores, terms)
    log.info("lists of %d articles after %.1f minutes", len(lists), _minutes(started))
    student = _fit(config, words, lists, terms, out)
    with torch.inference_mode():
        table = student.table(torch.arange(len(words)))
        weights = table.norm(dim=1)
    encoder = {
        "class": "BagEncoder",
        "input_dim": task["dim"],
        "weighting": "idf",
        "output_dim": None,
        "lead": task["lead"],
    }
    model = Model(
        tokenizer=tokenizer,
        vocabulary=vocabulary,
        embedding=TokenEmbedding(
            table / weights.clamp(min=1e-12)[:, None],
            trainable=False,
            token_weights=weights,
            unknown_weight=0.0,
            stored=task["stored"],
        ),
        encoder=build_encoder(encoder),
        limits=config["data"]["limits"],
        config=encoder,
        terms=terms,
    )
    data.record(model.trained_on)
    row: dict[str, Any] = {
        "encoder": "two_heads",
        "data": config["data"]["name"],
        "seed": config["seed"],
        "words": len(words),
        "texts": terms.texts,
        "epochs": config["trainer"]["max_epochs"],
        "minutes": round(_minutes(started), 2),
    }
    model.save(out / "model", card=model_card("lists", config, row))
    model = Model.load(out / "model")  # the saved model is the one that is evaluated
    row |= measure(model, row["encoder"], data, config, out)
    model.save(out / "model", card=model_card("lists", config, row))
    return row


def training_lists(
    config: Mapping[str, Any],
    articles: Sequence[np.ndarray],
    posts: Sequence[np.ndarray],
    teacher: tuple[np.ndarray, np.ndarray],
    terms: TermHead,
) -> ListsToRank:
    """The lists that the student learns from, of the texts with at least two known words.

    `articles` and `posts` are word ids, `teacher` the unit vectors (A, T) and (P, T) of all texts.
    """
    options = config["task"]["lists"]
    sizes = (options["temperature"], options["near"], options["candidates"])
    if not 0 <= options["lexical"] <= 1 or min(sizes) <= 0:
        raise InputError(
            f"task.lists={dict(options)}; expected lexical from 0 to 1, and a temperature, near "
            "and candidates above 0"
        )
    known_ids_of = []
    vectors = []
    for texts, taught_vectors in zip((articles, posts), teacher, strict=True):
        known_ids = [ids[ids < len(terms.frequencies)] for ids in texts]
        rows_kept = [row for row, ids in enumerate(known_ids) if len(ids) >= 2]
        known_ids_of.append([known_ids[row] for row in rows_kept])
        vectors.append(taught_vectors[rows_kept])
    if not known_ids_of[0] or not known_ids_of[1]:
        raise InputError(
            f"{len(known_ids_of[0])} training articles and {len(known_ids_of[1])} posts have two known "
            "words; give more text or a smaller task.min_texts"
        )
    return ListsToRank(
        known_ids_of[0],
        known_ids_of[1],
        (vectors[0], vectors[1]),
        head=terms,
        lexical=options["lexical"],
        near=options["near"],
        limit=config["data"]["limits"]["article_tokens"],
    )


def _minutes(since: float) -> float:
    return (time.monotonic() - since) / 60


def _fit(
    config: Mapping[str, Any],
    words: Sequence[str],
    lists: ListsToRank,
    terms: TermHead,
    out: Path,
) -> Student:
    task = config["task"]
    _, glove, matrix = build_text(config["vectors"], task["tokenizer"])
    rows = {word: row for word, row in zip(glove.words, matrix, strict=True)}
    zeros = np.zeros(matrix.shape[1], np.float32)
    vectors = np.array([rows.get(word, zeros) for word in words])
    vectors /= np.linalg.norm(vectors, axis=1).mean() or 1.0
    student = Student(
        torch.from_numpy(vectors),
        smoothed_idf(torch.from_numpy(terms.frequencies), terms.texts),
        dim=task["dim"],
        teacher_dim=lists.teacher[0].shape[1],
        lead=task["lead"],
    )
    batches = list_loader(
        lists,
        batch=task["batch"],
        candidates=task["lists"]["candidates"],
        seed=config["seed"],
    )
    module = StudentModule(
        student,
        lr=task["lr"],
        steps=config["trainer"]["max_epochs"] * len(batches),
        temperature=task["lists"]["temperature"],
    )
    trainer = make_trainer(
        config["trainer"],
        callbacks=callbacks_of(config),
        logger=loggers_of(config, out / "logs"),
        enable_checkpointing=False,
        default_root_dir=str(out),
    )
    go_on = "the same command starts over, with the teacher's vectors so far"
    with stopped_by_signals(trainer, go_on=go_on):
        trainer.fit(module, batches)
    return student.cpu().eval()
