"""The rerank task: train a ranker on three years, select on held-out topics, test on the fourth."""

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict

import numpy as np
import torch
from torch.utils.data import DataLoader

from siamese_news.data.trec import write_run
from siamese_news.encoders.embedding import TokenEmbedding
from siamese_news.errors import InputError
from siamese_news.evaluation.system_results import model_card
from siamese_news.metrics import evaluate_run, means
from siamese_news.model.reranker import EncodedTexts, TextRanker
from siamese_news.rerankers import RANKERS
from siamese_news.training import job
from siamese_news.training.build import build_text, class_of, idf_weights, instantiate
from siamese_news.training.callbacks import load_selected, selection
from siamese_news.training.interpolation import SCALES, interpolated
from siamese_news.training.rerank_data import (
    Fold,
    Pairs,
    RerankCollection,
    encode_collection,
    make_fold,
    newest_first,
    read_reranking,
    words_of_collection,
)
from siamese_news.training.rerank_module import RerankModule, score_pairs
from siamese_news.training.schedules import check_optimizer, fused
from siamese_news.training.schema import Amount, Count, InnerShare, Number
from siamese_news.training.trainer import (
    callbacks_of,
    check_one_device,
    checkpoint_to_resume,
    loggers_of,
    make_trainer,
    seed_everything,
    stopped_by_signals,
)
from siamese_news.utils.files import write_json
from siamese_news.utils.plugins import class_in_folder
from siamese_news.utils.provenance import provenance

log = logging.getLogger(__name__)
#: Suffixes of a ranker's name: alone, and with the first stage.
PLAIN, JOINT = "", " +QL"
#: Column -> metric of `evaluate_run`.
COLUMNS = {"AP": "AP", "P30": "P@30", "nDCG@10": "nDCG@10"}


class RerankOptions(TypedDict):
    """The keys of ``conf/task/rerank.yaml``."""

    collection: str
    label: str | None
    validation_share: InnerShare
    validation_seed: int
    validation_topics: list[int | str] | None
    select: Literal["ap", "p30"]
    validate_every: float
    validate_queries: Count | None
    epochs: int
    patience: Number | None
    batch_size: Count
    batches: Literal["mixed", "query", "newest"]
    collection_words: int | None
    unknown_range: float | None
    negatives: Amount | None
    exact_match: bool
    link_match: bool
    gradient_clip: float | None
    optimizer: dict[str, Any]
    schedule: dict[str, Any] | None
    first_stage: str
    interpolation: Literal["probability", "log-odds"]
    tokenizer: dict[str, Any]


@job.task(RerankOptions, "ranker vectors fold", continues=True)
def run(config: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """Train, select, test and save one ranker on one fold.

    Writes ``out/model``, the test run ``out/test.run.gz`` and validation run ``out/dev.run.gz``
    (log p), the interpolated test run ``out/test+ql.run.gz``, the figures per topic
    ``out/topics.json``. Returns the row of the comparison table. A folder with
    ``checkpoints/last.ckpt`` continues from there.
    """
    task = config["task"]
    check_one_device(config["trainer"])
    seed_everything(config)
    _check_options(task)
    started = time.monotonic()
    collection = read_reranking(task["collection"])
    if task["batches"] == "newest":
        collection = newest_first(collection)
    topics_of_dev = task["validation_topics"]
    fold = make_fold(
        collection,
        int(config["fold"]),
        share=task["validation_share"],
        seed=task["validation_seed"],
        dev_topics=None if topics_of_dev is None else list(map(str, topics_of_dev)),
    )
    model, encoded = _build(config, collection, fold)
    by_query = task["batches"] != "mixed"
    train = Pairs(
        collection,
        encoded,
        fold.train,
        batch_size=task["batch_size"],
        shuffle=not by_query,
        by_query=by_query,
        negatives=task["negatives"],
        seed=config["seed"],
    )
    dev, test = (Pairs(collection, encoded, topics) for topics in (fold.dev, fold.test))
    module = RerankModule(
        model=model,
        train=train,
        dev=dev,
        qrels=collection.judged(fold.dev),
        optimizer=instantiate(
            fused(task["optimizer"], config["trainer"]["precision"]), "task.optimizer"
        ),
        schedule=task.get("schedule"),
        validate_queries=task["validate_queries"],
        seed=config["seed"],
    )
    prepared = time.monotonic()
    folder = out / "checkpoints"
    selecting = selection(
        folder,
        monitor=f"dev/{task['select']}",
        patience=task["patience"],
        keep_interrupted=False,
    )
    trainer = make_trainer(
        config["trainer"],
        callbacks=[*selecting, *callbacks_of(config)],
        logger=loggers_of(config, out / "logs"),
        default_root_dir=str(out),
    )
    resume = checkpoint_to_resume(config["resume"], folder, automatic=True)
    with stopped_by_signals(
        trainer, go_on=f"the same command continues from {folder / 'last.ckpt'}"
    ):
        trainer.fit(
            module,
            train_dataloaders=DataLoader(train, batch_size=None),
            val_dataloaders=DataLoader(dev, batch_size=None),
            ckpt_path=resume,
            weights_only=True,
        )
    load_selected(module, trainer)
    trained = time.monotonic()
    dev_run = score_pairs(model, dev)
    scoring = time.monotonic()
    test_run = score_pairs(model, test)
    scored = time.monotonic()
    first_stage = collection.peer(
        task["first_stage"], sorted(set(collection.years.values()))
    )
    convert, grid = SCALES[task["interpolation"]]
    scaled = convert(dev_run), convert(test_run)
    joint, weight = interpolated(collection, fold, *scaled, first_stage, grid)
    systems = {PLAIN: test_run, JOINT: joint}
    topics = {
        suffix: evaluate_run(run, collection.judged(fold.test))
        for suffix, run in systems.items()
    }
    averages = {suffix: means(figures) for suffix, figures in topics.items()}
    dev_figures = means(evaluate_run(dev_run, collection.judged(fold.dev)))
    row = {
        "ranker": _name(config),
        "fold": fold.year,
        "seed": config["seed"],
        "vectors": config["vectors"]["source"],
        **{
            f"{column}{suffix}": figures[metric]
            for suffix, figures in averages.items()
            for column, metric in COLUMNS.items()
        },
        "weight": weight,
        "dev AP": dev_figures["AP"],
        "dev P30": dev_figures["P@30"],
        "epochs": trainer.current_epoch,
        "pairs": len(train.labels),
        "prepare s": round(prepared - started, 1),
        "train s": round(trained - prepared, 1),
        "test s": round(scored - scoring, 1),
        "parameters": sum(p.numel() for p in model.parameters() if p.requires_grad),
    }
    tag = "-".join(str(row["ranker"]).split())
    write_run(out / "dev.run.gz", dev_run, tag)
    for suffix, system in systems.items():
        end = suffix.replace(" ", "")
        write_run(out / f"test{end.lower()}.run.gz", system, tag + end)
    model.save(out / "model", card=model_card("rerank", config, row))
    write_json(
        out / "topics.json",
        {
            "provenance": provenance(),
            **{f"test{suffix}": figures for suffix, figures in topics.items()},
            "dev": fold.dev,
        },
    )
    return row


def _check_options(task: Mapping[str, Any]) -> None:
    """Refuse values that do not go together."""
    by_query = task["batches"] != "mixed"
    if by_query and task["negatives"] is not None:
        raise InputError(
            f"task.negatives={task['negatives']}: batches of one query have all of its posts; "
            "expected null, or task.batches=mixed"
        )
    if task["validate_queries"] is not None and not by_query:
        raise InputError(
            f"task.validate_queries={task['validate_queries']} counts batches of one query; "
            "expected null, or task.batches=query"
        )
    check_optimizer(task["optimizer"])


def _build(
    config: Mapping[str, Any], collection: RerankCollection, fold: Fold
) -> tuple[TextRanker, EncodedTexts]:
    """An untrained ranker and the collection as ids; IDF from the training topics' candidates."""
    vectors = config["vectors"]
    task = config["task"]
    _, vocabulary, matrix = build_text(vectors, task["tokenizer"])
    if task["collection_words"]:
        vocabulary, matrix = words_of_collection(
            collection,
            vocabulary,
            matrix,
            minimum_count=task["collection_words"],
            unknown_range=task["unknown_range"],
        )
    train_posts = sorted(
        {post for query in fold.train for post in collection.candidates[query]}
    )
    texts = (collection.posts[post] for post in train_posts)
    weights, unknown_weight = idf_weights(str.split, vocabulary, texts)
    embedding = TokenEmbedding(
        torch.from_numpy(np.ascontiguousarray(matrix)),
        trainable=vectors["trainable"],
        token_weights=weights,
        unknown_weight=unknown_weight,
        unknown_range=task["unknown_range"],
        project_to=vectors["project_to"],
        dropout=vectors["dropout"],
    )
    ranker = {
        key: value for key, value in config["ranker"].items() if key != "_target_"
    }
    ranker |= class_in_folder(
        "rerankers", RANKERS, class_of(config["ranker"], "ranker")
    )
    model = TextRanker(
        vocabulary=vocabulary,
        embedding=embedding,
        ranker=ranker,
        exact_match=task["exact_match"],
        link_match=task["link_match"],
        tokenizer=task["tokenizer"],
    )
    return model, encode_collection(collection, model)


def _name(config: Mapping[str, Any]) -> str:
    """The ranker's name in tables: its label, or its class and its widths where it has several."""
    if config["task"]["label"]:
        return str(config["task"]["label"])
    name = str(config["ranker"]["_target_"].rpartition(".")[2])
    widths = config["ranker"].get("widths", ())
    return f"{name}, widths {'-'.join(map(str, widths))}" if len(widths) > 1 else name
