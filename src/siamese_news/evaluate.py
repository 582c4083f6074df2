"""Evaluate models and peers: ``python -m siamese_news.evaluate model=DIR data=signal1m``.

Writes a TREC run for each system, ``evaluation.json`` and ``evaluation.md`` to ``outputs/<stamp>``.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from siamese_news.errors import InputError
from siamese_news.utils.extras import needs
from siamese_news.utils.processes import use_safe_paths
from siamese_news.utils.terminal import one_line_errors, quiet_libraries

COMMAND = "python -m siamese_news.evaluate"

with (
    one_line_errors() if __name__ == "__main__" else nullcontext(),
    needs("eval", COMMAND),
):
    import hydra
    from hydra.core.hydra_config import HydraConfig
    from omegaconf import DictConfig, OmegaConf

    from siamese_news.training.launch import (
        composition_errors,
        is_first_process,
        share_stamp,
    )
    from siamese_news.training.plain_options import plain_options

log = logging.getLogger(__name__)

MEAN_GLOVE = "mean_glove"
# Options of `TfIdf`.
TFIDF: dict[str, dict[str, Any]] = {
    "tfidf_pool": {},
    "tfidf_background": {},
    "tfidf_background_lead": {"lead": 1.0},
    "tfidf_600_lead": {"lead": 1.0, "max_article_tokens": 600},
}
PEERS = ("bm25", *TFIDF, MEAN_GLOVE)


def evaluate(config: DictConfig, out: Path) -> dict[str, Any]:
    """Evaluate the configured systems on one set, write the results, and return their figures."""
    from dataclasses import replace

    import numpy as np

    from siamese_news.data.splits import same_event_qrels
    from siamese_news.evaluation.system_results import (
        SystemResult,
        evaluate_system,
        figures,
        write_results,
    )
    from siamese_news.metrics import randomization_test
    from siamese_news.training.datamodule import SiameseDataModule

    plain: Any = OmegaConf.to_container(config, resolve=True)
    data = SiameseDataModule(data=plain["data"], seed=plain["seed"])
    test = data.test if plain["split"] == "test" else data.dev
    if test is None:
        raise InputError(f"data={plain['data']['name']} has no {plain['split']} set")
    if plain["relevance"] == "event":
        test = replace(test, qrels=same_event_qrels(test.articles, test.posts))
    results: list[SystemResult] = []
    for name, kind, blocks in _systems(plain, test):
        if any(result.system == name for result in results):
            raise InputError(
                f"two systems are named {name}; name each model folder once, or rename one"
            )
        log.info("evaluating %s on %s", name, test.name)
        results.append(
            evaluate_system(name, kind, blocks, test, bootstrap=plain["bootstrap"])
        )
    if not results:
        raise InputError("nothing to evaluate: give model=DIR or peers=[bm25]")
    baseline = results[0].evaluation.per_article["AP"]
    tests = {}
    for result in results[1:]:
        system_ap = result.evaluation.per_article["AP"]
        tests[result.system] = randomization_test(
            np.array([baseline[article] for article in baseline]),
            np.array([system_ap[article] for article in baseline]),
            samples=plain["randomization"],
            seed=plain["seed"],
        )
    print(write_results(out, results, tests=tests))
    return {result.system: figures(result) for result in results}


def _systems(config: Mapping[str, Any], test: Any) -> Iterator[tuple[str, str, Any]]:
    """(name, kind of score, blocks) of the models, then of the peers."""
    from siamese_news.baselines import BM25, TfIdf
    from siamese_news.evaluation.system_results import model_blocks
    from siamese_news.model.loading import ExternalModel, open_model
    from siamese_news.training.build import build_model, build_text
    from siamese_news.training.datamodule import SiameseDataModule

    for name in config["peers"]:  # before hours of work on the others
        if name not in PEERS:
            raise InputError(
                f"peer {name!r} is unknown; expected one of {', '.join(PEERS)}"
            )
    chosen = config["model"] or []
    folders: Sequence[str] = [chosen] if isinstance(chosen, str) else chosen
    names = [Path(folder).resolve().name for folder in folders]
    if len(set(names)) < len(names):  # …/0/model, …/1/model
        names = ["-".join(Path(folder).resolve().parts[-2:]) for folder in folders]
    # A name is the tag of a run, which is one word.
    for folder, name in zip(
        folders, ("_".join(name.split()) for name in names), strict=True
    ):
        model = open_model(folder)
        if not (config["allow_overlap"] or isinstance(model, ExternalModel)):
            refuse_overlap(model, test, folder)
        options = {"one_story": test.one_story, "about": config["about"]}
        yield name, model.kind, partial(model_blocks, model, **options)
    if not config["peers"]:
        return
    text = build_text(config["vectors"], config["task"]["tokenizer"])
    background: list[str] = []
    if config["background"]["train"]:
        background_data = SiameseDataModule(
            data=config["background"], seed=config["seed"]
        )
        background = list(background_data.train_set.texts())
    for name in config["peers"]:
        if name == MEAN_GLOVE:
            bag = {"_target_": "siamese_news.encoders.BagEncoder"}
            glove = build_model({**config, "encoder": bag}, text, ())
            yield name, "cosine", partial(model_blocks, glove)
            continue
        ranker = BM25() if name == "bm25" else TfIdf(**TFIDF[name])
        of_pool = name in ("bm25", "tfidf_pool")
        if not of_pool and not background:
            raise InputError(
                f"peer {name!r} needs background texts; name data that has training texts, such as "
                "data@background=mixed"
            )
        statistics = None if of_pool else background
        yield name, ranker.kind, partial(_lexical_blocks, ranker, text[0], statistics)


def _lexical_blocks(
    ranker: Any,
    tokenize: Callable[[str], list[str]],
    background: Sequence[str] | None,
    articles: Sequence[Any],
    posts: Sequence[Any],
) -> Any:
    """Scores by words, with the statistics of the background texts or, without them, the pool."""
    from siamese_news.metrics import blocks_of
    from siamese_news.text.content_words import words_of

    def words(texts: Sequence[str]) -> list[list[str]]:
        return [words_of(tokenize(text)) for text in texts]

    background_words = None if background is None else words(background)
    ranker.fit(words([post.text for post in posts]), background_words)
    seeds = words([article.full_text for article in articles])
    return blocks_of(lambda start, stop: ranker.scores(seeds, start, stop), len(posts))


def refuse_overlap(model: Any, test: Any, folder: str | Path) -> None:
    """Refuse a test whose articles or posts the model was trained on.

    Articles are compared by id within their collection and by text across collections, posts by
    id within their collection.

    Raises:
        InputError: some overlap; says how many, and how to evaluate nevertheless.
    """
    from siamese_news.training.build import fingerprint

    trained_on = model.trained_on
    collection = test.name.partition("/")[0]
    is_seen = trained_on.has_articles(
        collection, (article.id for article in test.articles)
    )
    is_seen |= trained_on.has_fingerprints(
        fingerprint(article.full_text) for article in test.articles
    )
    articles = int(is_seen.sum())
    posts = int(
        trained_on.has_posts(collection, (post.id for post in test.posts)).sum()
    )
    if articles or posts:
        raise InputError(
            f"{folder} was trained on {articles} of the {len(test.articles)} articles and {posts} "
            f"of the {len(test.posts)} posts of {test.name}; evaluate on other data, or set "
            "allow_overlap=true (a split by pair overlaps by design)"
        )


@hydra.main(
    version_base="1.3", config_path="pkg://siamese_news.conf", config_name="evaluate"
)
def _compose_and_evaluate(config: DictConfig) -> None:
    quiet_libraries()
    with one_line_errors(log), needs("eval", COMMAND):
        plain_options(config)
        evaluate(config, Path(HydraConfig.get().runtime.output_dir))


def main() -> None:
    """Entry point."""
    with one_line_errors():
        use_safe_paths()
        share_stamp()
        if is_first_process():
            with composition_errors():
                _compose_and_evaluate()


if __name__ == "__main__":
    main()
