"""The training runs behind samCNN's tables and figures, and the runs of its peers."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from papers.jobs import Job, Results, Setting
from papers.samcnn.published import YEARS
from papers.samcnn.stories import stories_collection
from papers.training_runs import compose_training, forget_checkpoints
from siamese_news.data.trec import read_run
from siamese_news.metrics import evaluate_run
from siamese_news.model.ranker_ensemble import log_of_mean
from siamese_news.train import train as train_job
from siamese_news.training.interpolation import GRID, SCALES, interpolated
from siamese_news.training.rerank_data import (
    RerankCollection,
    Run,
    make_fold,
    read_reranking,
)
from siamese_news.training.rerank_task import JOINT, PLAIN

#: Option of ``conf/ranker`` -> name in the paper.
RANKERS = {"bicnn": "BiCNN", "qatt": "QAtt", "patt": "PAtt"}
PEERS = "peers"
#: Column of Table 3, in its order -> metric of `evaluate_run`.
METRICS = {"P30": "P@30", "AP": "AP"}
#: The year of Fig. 3, Fig. 4 and Table 4.
YEAR = 2013
DATA = "TREC Microblog 2011-2014 (trec-microblog), GloVe 6B 100-d"
STORIES = "the bundled stories as a small reranking collection, GloVe 6B 50-d"
#: Minutes of one core, about.
MINUTES = {"bicnn": 3.0, "qatt": 9.0, "patt": 5.0}
#: Makes options of a training, given the setting and the folder of all runs.
More = Callable[[Setting, Path], Sequence[str]]
# On the stories: vectors that come with a package, few epochs, and no topics of TREC.
SMALL = (
    "vectors=glove50",
    "vectors.remove_components=0",
    "task.epochs=2",
    "task.patience=null",
    "task.validation_topics=null",
    "task.validate_queries=null",
)


def data_of(setting: Setting) -> str:
    """What the runs read, in words."""
    return DATA if setting.data == "shared" else STORIES


def run_name(experiment: str, ranker: str, year: int, seed: int) -> str:
    """The name of a training run's job, of its result and of its folder."""
    return f"{experiment}_{ranker}_{year}_{seed}"


def training_jobs(
    setting: Setting,
    *,
    experiment: str = "rerank_samcnn",
    name: str | None = None,
    rankers: Sequence[str] = tuple(RANKERS),
    years: Sequence[int] = YEARS,
    seeds: Sequence[int] | None = None,
    cost: float = 1.0,
    more: More | None = None,
) -> list[Job]:
    """A job for every ranker, test year and seed; on the stories those of one year alone.

    The first seed of every year comes before the others, which follow year by year, so that an
    interrupted command leaves whole years. The seeds are by default those of the setting, and the
    name in the names of the runs is that of the experiment. `cost` is a factor on the minutes, and
    `more` makes further options of the training.
    """
    shared = setting.data == "shared"
    years = years if shared else (YEAR,)
    first, *others = setting.seeds if seeds is None else seeds
    plan = [(year, first) for year in years]
    plan += [(year, seed) for year in years for seed in others]

    def job(ranker: str, year: int, seed: int) -> Job:
        def run(folder: Path, results: Results) -> Mapping[str, Any]:
            options = () if more is None else more(setting, folder.parent)
            return train(setting, folder, experiment, ranker, year, seed, options)

        minutes = cost * MINUTES[ranker.removesuffix("_multi")] if shared else 0.3
        title = run_name(name or experiment, ranker, year, seed)
        return Job(title, run, minutes, data_of(setting), (seed,))

    return [job(ranker, year, seed) for year, seed in plan for ranker in rankers]


def train(
    setting: Setting,
    folder: Path,
    experiment: str,
    ranker: str,
    year: int,
    seed: int,
    options: Sequence[str] = (),
) -> dict[str, Any]:
    """Train a ranker in a folder, continue it, or read its figures if it is finished.

    Files among the options are named in the result without their folder.

    Returns:
        ``command``; ``row``; ``topics``: suffix ("" or " +QL") -> metric -> topic -> figure.
    """
    chosen = [
        f"experiment={experiment}",
        f"ranker={ranker}",
        f"fold={year}",
        f"seed={seed}",
    ]
    if setting.data == "stories":
        chosen += SMALL
    chosen += options
    command = f"python -m siamese_news.train {' '.join(_without_folder(each) for each in chosen)}"
    if setting.data == "stories":
        chosen.append(
            f"task.collection={stories_collection(folder.parent / 'collection')}"
        )
    row = train_job(compose_training(chosen), folder)
    if row is None:
        raise RuntimeError("a run of one process returned no row")
    forget_checkpoints(folder)
    written = json.loads((folder / "topics.json").read_text(encoding="utf-8"))
    topics = {
        key.removeprefix("test"): _rounded(figures)
        for key, figures in written.items()
        if key.startswith("test")
    }
    row["vectors"] = Path(row["vectors"]).name
    return {"command": command, "row": row, "topics": topics}


def ensemble_name(experiment: str, ranker: str, year: int) -> str:
    """The name of the job that scores by the mean probability of all seeds."""
    return f"ensemble_{experiment}_{ranker}_{year}"


def ensemble_jobs(
    setting: Setting, *, experiment: str, rankers: Sequence[str], cost: float = 1.0
) -> list[Job]:
    """For each ranker and test year, the ensemble of the seeds that `training_jobs` trains.

    The minutes are those of the trainings, which are needed again where only results are saved.
    """
    years = YEARS if setting.data == "shared" else (YEAR,)

    def job(ranker: str, year: int) -> Job:
        def run(folder: Path, results: Results) -> Mapping[str, Any]:
            folders = []
            for seed in setting.seeds:
                own = folder.parent / run_name(experiment, ranker, year, seed)
                train(setting, own, experiment, ranker, year, seed)
                folders.append(own)
            return ensemble(collection_of(setting, folder.parent), year, folders)

        title = ensemble_name(experiment, ranker, year)
        minutes = 0.2
        if setting.data == "shared":
            minutes += cost * MINUTES[ranker] * len(setting.seeds)
        return Job(title, run, minutes, data_of(setting), setting.seeds)

    return [job(ranker, year) for year in years for ranker in rankers]


def ensemble(
    collection: RerankCollection, year: int, folders: Sequence[Path]
) -> dict[str, Any]:
    """The figures of the mean probability of several trained rankers, alone and with QL.

    The weight of QL is tuned on the topics that the rankers' training held out, as for one ranker.

    Returns:
        ``topics``: suffix ("" or " +QL") -> metric -> topic -> figure; ``weight``: of QL.
    """
    held_out = json.loads((folders[0] / "topics.json").read_text(encoding="utf-8"))[
        "dev"
    ]
    fold = make_fold(collection, year, share=0.15, seed=0, dev_topics=held_out)
    dev, test = (
        mean_run([read_run(folder / f"{part}.run.gz") for folder in folders])
        for part in ("dev", "test")
    )
    first = collection.peer("ql", sorted(set(collection.years.values())))
    convert, grid = SCALES["probability"]
    joint, weight = interpolated(
        collection, fold, convert(dev), convert(test), first, grid
    )
    judged = collection.judged(fold.test)
    topics = {
        suffix: _rounded(evaluate_run(run, judged))
        for suffix, run in ((PLAIN, test), (JOINT, joint))
    }
    return {"topics": topics, "weight": weight}


def mean_run(runs: Sequence[Run]) -> Run:
    """The run of the mean probability of several runs of log probabilities, over the same posts.

    Example:
        >>> import math
        >>> runs = [{"1": {"a": math.log(0.5)}}, {"1": {"a": math.log(0.3)}}]
        >>> round(math.exp(mean_run(runs)["1"]["a"]), 6)
        0.4
    """
    mean: Run = {}
    for topic, posts in runs[0].items():
        rows = np.array(
            [[run[topic][post] for post in posts] for run in runs], np.float32
        )
        mean[topic] = dict(zip(posts, log_of_mean(rows).tolist(), strict=True))
    return mean


def _without_folder(option: str) -> str:
    name, _, value = option.partition("=")
    return f"{name}={Path(value).name}" if Path(value).is_absolute() else option


def collection_of(setting: Setting, runs: Path) -> RerankCollection:
    """The collection of a setting; the stories have theirs in the folder of all runs."""
    if setting.data == "shared":
        return read_reranking("trec-microblog")
    return read_reranking(str(stories_collection(runs / "collection")))


def peers_job(setting: Setting) -> Job:
    """The peers' published runs, and MP-HCNN + QL with our weights; see `peer_figures`."""

    def run(folder: Path, results: Results) -> Mapping[str, Any]:
        return peer_figures(collection_of(setting, folder.parent))

    return Job(PEERS, run, minutes=1.0, data=data_of(setting), seeds=())


def peer_figures(collection: RerankCollection) -> dict[str, Any]:
    """The figures by topic of the runs ``ql``, ``rm3`` and, where there is one, ``mphcnn``.

    Returns:
        ``systems``: name -> year -> metric -> topic -> figure; ``weights``: year -> the weight of
        QL in MP-HCNN + QL, tuned on the validation topics of the other years.
    """
    years = sorted(set(collection.years.values()))
    there = {
        title: collection.peer(name, years)
        for name, title in (("ql", "QL"), ("rm3", "RM3"), ("mphcnn", "MP-HCNN"))
        if (collection.runs / f"{name}.{years[0]}.txt.gz").is_file()
    }
    systems: dict[str, dict[str, Any]] = {title: {} for title in there}
    weights = {}
    for year in years:
        fold = make_fold(collection, year, share=0.15, seed=0)
        qrels = {query: collection.qrels.get(query, {}) for query in fold.test}
        for title, run in there.items():
            tested = {query: run[query] for query in fold.test}
            systems[title][str(year)] = _rounded(evaluate_run(tested, qrels))
        if strong := there.get("MP-HCNN"):
            alone = {query: strong[query] for query in fold.test}
            mixed, weight = interpolated(
                collection, fold, strong, alone, there["QL"], GRID
            )
            figures = _rounded(evaluate_run(mixed, qrels))
            systems.setdefault("MP-HCNN +QL", {})[str(year)] = figures
            weights[str(year)] = weight
    return {"systems": systems, "weights": weights}


def _rounded(figures: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    return {
        metric: {topic: round(value, 6) for topic, value in figures[metric].items()}
        for metric in METRICS.values()
    }


def by_topic(
    results: Results,
    ranker: str,
    year: int,
    suffix: str,
    metric: str,
    *,
    experiment: str,
    seeds: Sequence[int] | None = None,
) -> dict[str, list[float]]:
    """Topic -> one figure per finished seed; `suffix` is "" or " +QL"."""
    values: dict[str, list[float]] = {}
    for seed in results.setting.seeds if seeds is None else seeds:
        name = run_name(experiment, ranker, year, seed)
        if name in results:
            for topic, value in results[name]["topics"][suffix][metric].items():
                values.setdefault(topic, []).append(value)
    return values
