"""Which encoder makes the best student: each learns a teacher's vectors from the same texts.

    python -m benchmarks.students train FOLDER [--students NAME ...] [--seeds N ...]
        [--options trainer=gpu ...]
    python -m benchmarks.students texts FOLDER [--texts N ...] [--read N] [the options of train]
    python -m benchmarks.students quality MODEL ...     figures of model folders, vectors alone
    python -m benchmarks.students table [--students FOLDER] [--texts FOLDER]
        the saved tables, drawn as docs/students.svg and docs/students-texts.svg; saved anew from
        the folders of `train` and `texts` that are given

`train` writes FOLDER/NAME-SEED.json as each student ends, and skips those that are there; the
options are those of ``task=distil``. `texts` trains on N of the texts, drawn at random and each
draw part of the next larger one, for as many epochs as make the same number of texts read. Quality
is the mean average precision of the cosine over whole development pools, none of whose texts is
trained on.
"""

import argparse
import json
import shlex
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from models.distillation import distil
from numpy.typing import NDArray
from papers.training_runs import compose_training
from sklearn.metrics import average_precision_score

from benchmarks.line_chart import Line, line_chart
from siamese_news.data.sources import open_source
from siamese_news.model import Model
from siamese_news.utils.files import write_json
from siamese_news.utils.markdown import markdown_table
from siamese_news.utils.provenance import provenance

Vectors = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Vectors]

RESULTS = Path(__file__).with_suffix(".json")
PICTURE = Path(__file__).parents[1] / "docs" / "students.svg"
PICTURE_OF_TEXTS = PICTURE.with_name("students-texts.svg")
COLORS = ("#4a5560", "#2f7d4f", "#8a6d1d", "#0b57a4", "#7a3b8f", "#b3321c", "#e0812b")
#: The pools, with the split whose pairs are relevant.
POOLS = {
    "events-dev": "dev",
    "politifact-dev": "dev",
    "factcheck-dev": "test",
    "fox-comments": "test",
    "dast-da": "test",
    "webis-clickbait": "train",
}
#: Danish has few words in the vocabulary and is left out of the mean.
ENGLISH = [name for name in POOLS if name != "dast-da"]
#: How many texts the students of `texts` learn from.
SIZES = [4_000, 8_000, 16_000, 31_000, 62_000, 125_000]
COMMON = (
    "task=distil",
    "data=mixed",
    "data.train=[{folder: usatoday-cnn, split: train}, {folder: facebook-teasers, split: train}, "
    "{folder: fnc1, split: train}, {folder: reuters, split: train}]",
    "data.dev=null",
    "data.test=null",
    "data.limits.article_tokens=200",
    "data.limits.post_tokens=80",
    "task.unlabeled=[trec-microblog]",
    "vectors=glove100",
    "vectors.max_words=null",
    "task.words_of=pretrained",
    "task.dim=128",
)
STAR = ("encoder=star_feed_forward", "encoder.heads=8", "encoder.head_dim=16")
STUDENTS: dict[str, tuple[str, ...]] = {
    "bag": ("encoder=bag", "encoder.weighting=idf"),
    "CNN": ("encoder=cnn", "encoder.filters=128", "encoder.output_dim=128"),
    "GRU": ("encoder=gru", "encoder.hidden_dim=128"),
    "dense Transformer": (
        *(
            "encoder=transformer",
            "encoder.layers=2",
            "encoder.heads=8",
            "encoder.head_dim=16",
        ),
        # Without positions, which the stars lack, too: they drown word vectors of length 1.
        *("encoder.hidden_dim=512", "encoder.positions=false", "sparsity=softmax"),
    ),
    "star as printed": (
        *(
            "encoder=star_paper",
            "encoder.heads=8",
            "encoder.cycles=2",
            "sparsity=adaptive",
        ),
    ),
    "star, softmax": (*STAR, "sparsity=softmax"),
    "star, adaptive": (*STAR, "sparsity=adaptive"),
}


@dataclass(frozen=True, slots=True)
class EncodedPool:
    """The vectors of a pool's articles (A, D) and posts (P, D), and which are relevant (A, P)."""

    articles: Vectors
    posts: Vectors
    relevant: NDArray[np.bool_]


def encoded_pools(articles: Encode, posts: Encode) -> dict[str, EncodedPool]:
    """The development pools, whole, with the vectors that two functions give."""
    pools = {}
    for name, split in POOLS.items():
        collection = open_source(name)
        qrels = collection.split(split)
        ids = list(collection.posts)
        relevant = [
            [judged.get(post, 0) > 0 for post in ids] for judged in qrels.values()
        ]
        pools[name] = EncodedPool(
            articles([collection.articles[article].full_text for article in qrels]),
            posts([collection.posts[post].text for post in ids]),
            np.array(relevant),
        )
    return pools


def quality(
    pools: Mapping[str, EncodedPool],
    mapped: Callable[[Vectors], Vectors] = lambda vectors: vectors,
) -> dict[str, float]:
    """Mean average precision of the cosine over each pool, and the mean of the English pools.

    `mapped` is applied to the vectors first; it returns unit vectors.
    """
    figures = {}
    for name, pool in pools.items():
        scores = mapped(pool.articles) @ mapped(pool.posts).T
        precisions = map(average_precision_score, pool.relevant, np.round(scores, 6))
        figures[name] = float(np.mean(list(precisions)))
    return {**figures, "mean": float(np.mean([figures[name] for name in ENGLISH]))}


def vectors_alone(model: Model) -> dict[str, float]:
    """The `quality` of a model's vectors, without its words."""
    return quality(encoded_pools(model.encode_articles, model.encode_posts))


def options_of(name: str, seed: int, more: Sequence[str]) -> list[str]:
    """The options of a student's training."""
    return [*COMMON, *STUDENTS[name], f"seed={seed}", *more]


def file_name(name: str, seed: int) -> str:
    """The name of a student's file, without its ending."""
    return f"{name.replace(' ', '_').replace(',', '')}-{seed}"


def train(
    folder: Path, names: Sequence[str], seeds: Sequence[int], more: Sequence[str]
) -> None:
    """Train students on the same texts, and write the figures of each."""
    data = None
    for seed in seeds:
        for name in names:
            path = folder / f"{file_name(name, seed)}.json"
            if path.exists():
                continue
            options = options_of(name, seed, more)
            data = data or distil.data_of(compose_training(options))
            data.seed = seed
            command = f"python -m siamese_news.train {shlex.join(options)}"
            train_one(path, name, options, data, command)


def train_on_draws(
    folder: Path,
    names: Sequence[str],
    seeds: Sequence[int],
    sizes: Sequence[int],
    read: int,
    more: Sequence[str],
) -> None:
    """Train students on N texts for each of `sizes`, `read` in all, and write their figures."""
    every_text = distil.data_of(compose_training(options_of(names[0], 0, more))).texts
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(len(every_text))
        for size in sizes:
            if size > len(every_text):
                raise SystemExit(
                    f"--texts {size}: the options have {len(every_text):,} texts"
                )
            epochs = max(1, round(read / size))
            for name in names:
                path = folder / f"{file_name(name, seed)}-{size}.json"
                if path.exists():
                    continue
                options = [*options_of(name, seed, more), f"task.epochs={epochs}"]
                data = distil.data_of(compose_training(options))
                data.texts = [every_text[place] for place in order[:size]]
                command = (
                    f"python -m benchmarks.students texts FOLDER --students {name!r} "
                    f"--seeds {seed} --texts {size} --read {read} --options {shlex.join(more)}"
                )
                train_one(path, name, options, data, command)


def train_one(
    path: Path,
    name: str,
    options: Sequence[str],
    data: distil.DistilDataModule,
    command: str,
) -> None:
    """Train a student and write its figures."""
    config = compose_training(options)
    started = time.monotonic()
    module = distil.train_student(config, data, path.with_suffix(""))
    assert module is not None
    seconds = time.monotonic() - started
    model = distil.stored(module.model, config["task"]["stored"]).eval()
    figures = {
        "student": name,
        "seed": config["seed"],
        "command": command,
        "seconds": seconds,
        "texts": len(data.texts),
        "epochs": config["trainer"]["max_epochs"],
        "weights": sum(parameter.numel() for parameter in model.encoder.parameters()),
        "quality": vectors_alone(model),
    }
    write_json(path, {**figures, "about": provenance()})
    print(path.stem, round(seconds), figures["quality"], flush=True)


def posts_per_second(name: str, texts: Sequence[str]) -> float:
    """How many posts an untrained student encodes in a CPU second, the best of five."""
    import torch

    from siamese_news.encoders import TokenEmbedding
    from siamese_news.training.build import encoder_of

    torch.set_num_threads(1)
    config = compose_training(options_of(name, 0, ()))
    shipped = Model.pretrained()
    size = config["task"]["dim"]
    encoder, plain = encoder_of(config["encoder"], size)
    model = Model(
        tokenizer=shipped.tokenizer,
        vocabulary=shipped.vocabulary,
        embedding=TokenEmbedding(
            torch.randn(len(shipped.vocabulary), size),
            trainable=False,
            unknown_weight=0.0,
        ),
        encoder=encoder,
        limits=config["data"]["limits"],
        config=plain,
        terms=shipped.terms,
    ).eval()
    seconds = []
    for _ in range(5):
        started = time.process_time()
        model.encode_posts(list(texts))
        seconds.append(time.process_time() - started)
    return len(texts) / min(seconds)


def save(students: Path | None, texts: Path | None) -> None:
    """Save the figures of trained students; of `students` with the speed on this machine, too."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    if students is not None:
        trained = figures_in(students)
        posts = [post.text for post in open_source("events-dev").posts.values()]
        names = [
            name for name in STUDENTS if any(row["student"] == name for row in trained)
        ]
        speed = {name: posts_per_second(name, posts) for name in names}
        results |= {"trained": trained, "posts_per_second": speed}
        results["about"] = provenance()
    if texts is not None:
        results["by_texts"] = figures_in(texts)
    write_json(RESULTS, results)


def figures_in(folder: Path) -> list[dict[str, Any]]:
    """The figures of the students that were trained in a folder."""
    paths = sorted(folder.glob("*-*.json"))
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def table(results: dict[str, Any]) -> str:
    """The table of saved figures: means over the seeds, with their least and greatest mean."""
    lines = []
    for name in STUDENTS:
        seeds = [
            figures for figures in results["trained"] if figures["student"] == name
        ]
        if not seeds:
            continue
        qualities = [figures["quality"] for figures in seeds]
        means = [quality["mean"] for quality in qualities]
        columns = {
            pool: f"{statistics.mean(quality[pool] for quality in qualities):.3f}"
            for pool in POOLS
        }
        spread = f"{statistics.mean(means):.3f} ({min(means):.3f} to {max(means):.3f})"
        lines.append(
            {
                "student": name,
                "weights": f"{seeds[0]['weights']:,}",
                "posts/s": f"{results['posts_per_second'][name]:,.0f}",
                **columns,
                "mean without dast-da": spread,
                "seeds": len(seeds),
            }
        )
    return markdown_table(lines)


def picture(results: dict[str, Any]) -> str:
    """Every trained student as a dot, quality over speed: SVG."""
    names = [name for name in STUDENTS if name in results["posts_per_second"]]
    lines = [
        Line(
            name,
            [
                (results["posts_per_second"][name], figures["quality"]["mean"])
                for figures in results["trained"]
                if figures["student"] == name
            ],
            color,
            dots=True,
        )
        for name, color in zip(names, COLORS, strict=False)
    ]
    return line_chart(
        lines,
        title="Students of MiniLM at equal texts: a dot for each seed",
        x_name="posts per second on one core",
        y_name="mean MAP of the cosine, five pools",
        log_x=True,
        low=0.2,
        high=0.45,
    )


def means_by_texts(results: dict[str, Any]) -> dict[str, dict[int, float]]:
    """For each student the mean quality over its seeds, by the number of different texts."""
    by_name: dict[str, dict[int, list[float]]] = {}
    for figures in results["by_texts"]:
        by_size = by_name.setdefault(figures["student"], {})
        by_size.setdefault(figures["texts"], []).append(figures["quality"]["mean"])
    return {
        name: {size: statistics.mean(means) for size, means in by_size.items()}
        for name, by_size in by_name.items()
    }


def picture_of_texts(results: dict[str, Any]) -> str:
    """Quality over the number of different texts, a line for each student: SVG."""
    lines = [
        Line(name, sorted(means.items()), color)
        for (name, means), color in zip(
            means_by_texts(results).items(), COLORS, strict=False
        )
    ]
    return line_chart(
        lines,
        title="Students of MiniLM over the number of different texts they learned from",
        x_name="different texts",
        y_name="mean MAP of the cosine, five pools",
        log_x=True,
        low=0.3,
        high=0.5,
    )


def table_of_texts(results: dict[str, Any]) -> str:
    """The same figures: a row for each student, a column for each number of texts."""
    return markdown_table(
        [
            {"student": name}
            | {f"{size:,}": f"{mean:.3f}" for size, mean in sorted(means.items())}
            for name, means in means_by_texts(results).items()
        ]
    )


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("train")
    training.add_argument("folder", type=Path)
    training.add_argument(
        "--students", nargs="+", default=list(STUDENTS), choices=list(STUDENTS)
    )
    training.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    training.add_argument("--options", nargs="*", default=[])
    draws = commands.add_parser("texts", parents=[training], add_help=False)
    draws.add_argument("--texts", nargs="+", type=int, default=SIZES)
    draws.add_argument("--read", type=int, default=250_000)
    quality = commands.add_parser("quality")
    quality.add_argument("models", nargs="+")
    tabled = commands.add_parser("table")
    tabled.add_argument("--students", type=Path)
    tabled.add_argument("--texts", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "train":
        arguments.folder.mkdir(parents=True, exist_ok=True)
        train(arguments.folder, arguments.students, arguments.seeds, arguments.options)
    elif arguments.command == "texts":
        arguments.folder.mkdir(parents=True, exist_ok=True)
        train_on_draws(
            arguments.folder,
            arguments.students,
            arguments.seeds,
            arguments.texts,
            arguments.read,
            arguments.options,
        )
    elif arguments.command == "quality":
        for folder in arguments.models:
            print(folder, json.dumps(vectors_alone(Model.load(folder))), flush=True)
    else:
        if arguments.students or arguments.texts:
            save(arguments.students, arguments.texts)
        results = json.loads(RESULTS.read_text(encoding="utf-8"))
        print(table(results))
        PICTURE.write_text(picture(results), encoding="utf-8")
        print(table_of_texts(results))
        PICTURE_OF_TEXTS.write_text(picture_of_texts(results), encoding="utf-8")


if __name__ == "__main__":
    main()
