"""Results of systems on an evaluation set, and files that can be checked."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from siamese_news.data.records import Article, Post
from siamese_news.data.sources import EvaluationSet
from siamese_news.data.trec import write_run
from siamese_news.metrics import ALL_ROWS, Blocks, blocks_of, evaluate_blocks
from siamese_news.metrics.evaluation import Evaluation
from siamese_news.model.loading import AnyModel
from siamese_news.model.text_model import BLOCK, TextModel
from siamese_news.scoring import About, observe_all, open_scorer
from siamese_news.utils.files import atomic_write, write_json
from siamese_news.utils.markdown import markdown_table
from siamese_news.utils.provenance import provenance

MakeBlocks = Callable[[Sequence[Article], Sequence[Post]], Blocks]


@dataclass(frozen=True, slots=True)
class SystemResult:
    """One system on one evaluation set: names, kind of scores, figures."""

    system: str
    kind: str
    test: str
    evaluation: Evaluation


def evaluate_system(
    name: str,
    kind: str,
    make_blocks: MakeBlocks,
    test: EvaluationSet,
    *,
    bootstrap: int,
) -> SystemResult:
    """Score every article against every post of a set and compute all figures.

    If all articles are seeds of one story, there is one ranking, by the mean score over them.
    `bootstrap` is the number of samples for the intervals over articles; 0 for none.
    """
    blocks = make_blocks(test.articles, test.posts)
    of_articles = [article.id for article in test.articles]
    article_ids = list(test.qrels)[:1] if test.one_story else of_articles

    def mean() -> Iterator[tuple[int, np.ndarray]]:
        for start, scores in blocks():
            yield start, scores.mean(axis=0, keepdims=True)

    evaluation = evaluate_blocks(
        mean if test.one_story else blocks,
        article_ids=article_ids,
        post_ids=[post.id for post in test.posts],
        qrels=test.qrels,
        bootstrap=bootstrap,
    )
    return SystemResult(name, kind, test.name, evaluation)


def model_blocks(
    model: AnyModel,
    articles: Sequence[Article],
    posts: Sequence[Post],
    *,
    one_story: bool = False,
    about: About = "auto",
    vectors: bool = False,
) -> Blocks:
    """Scores of a model; those of a dense one are cosines, and each side is encoded once.

    A model with a lexical head observes the whole pool first; `vectors` asks for its cosines alone.
    """
    seeds = [article.full_text for article in articles]
    texts = [post.text for post in posts]
    if vectors or (isinstance(model, TextModel) and model.terms is None):
        sides = model.encode_articles(seeds), model.encode_posts(texts)
        return blocks_of(
            lambda start, stop: sides[0] @ sides[1][start:stop].T, len(texts)
        )
    scorer = open_scorer(model, seeds, one_story=one_story, about=about)
    scorer = observe_all(scorer, texts)

    def blocks() -> Iterator[tuple[int, np.ndarray]]:
        for start in range(0, len(texts), BLOCK):
            yield start, scorer.scores(texts[start : start + BLOCK])

    return blocks


def evaluate_model(
    model: TextModel, name: str, test: EvaluationSet, *, bootstrap: int
) -> SystemResult:
    """`evaluate_system` for a model."""
    blocks = partial(model_blocks, model, one_story=test.one_story)
    return evaluate_system(name, model.kind, blocks, test, bootstrap=bootstrap)


def figures(result: SystemResult) -> dict[str, float | None]:
    """The figures of a table's row: the paper's three, then the per-article means."""
    pooled = result.evaluation.pooled
    macro = result.evaluation.macro
    return {
        "AP": pooled["AP"],
        "AUC": pooled.get("AUC"),
        "mRP": pooled["mRP8"],
        "MAP": macro["AP"],
        **{name: macro[name] for name in ("P@10", "P@30", "Rprec", "nDCG@10")},
        "MRR": macro["RR"],
        "R@100": macro["R@100"],
    }


def write_results(
    folder: Path,
    results: Sequence[SystemResult],
    *,
    tests: Mapping[str, float] | None = None,
) -> str:
    """Write a TREC run for each system, all figures as JSON and the tables as Markdown.

    Args:
        folder: the output folder; made if necessary.
        results: of one evaluation set, in the order of the table.
        tests: system -> p of the paired randomization test against the first system.
    """
    about = provenance()
    for result in results:
        write_run(
            folder / f"{result.system}.run.txt", result.evaluation.run, result.system
        )
    document = {
        "provenance": about,
        "systems": {
            result.system: {
                "kind": result.kind,
                "test": result.test,
                **result.evaluation.to_dict(),
            }
            for result in results
        },
        "p": dict(tests or {}),
    }
    write_json(folder / "evaluation.json", document)
    text = results_markdown(results, about, tests=tests)
    with atomic_write(folder / "evaluation.md") as stream:
        stream.write(text)
    return text


def results_markdown(
    results: Sequence[SystemResult],
    about: Mapping[str, Any],
    *,
    tests: Mapping[str, float] | None,
) -> str:
    """The tables: the paper's two, with the figures by article and the intervals."""
    summary: list[dict[str, Any]] = []
    precision: list[dict[str, Any]] = []
    for result in results:
        row: dict[str, Any] = {
            "system": result.system,
            "scores": result.kind,
            **figures(result),
        }
        lower, upper = result.evaluation.intervals.get("macro/AP", (None, None))
        row["MAP 95%"] = None if lower is None else f"{lower:.3f}–{upper:.3f}"
        if tests is not None:
            row["p"] = tests.get(result.system)
        summary.append(row)
        precision.append(_precision_row(result.system, result.evaluation.pooled))
    precision.append(
        _precision_row("*ceiling of this test*", results[0].evaluation.ceilings)
    )
    values: dict[str, Any] = {
        "summary": markdown_table(summary),
        "precision": markdown_table(precision),
    }
    values |= {"result": results[0], "counts": results[0].evaluation.counts}
    return _rendered("results", **values, tests=tests, about=about) + "\n"


def model_card(
    task: str, config: Mapping[str, Any], row: Mapping[str, Any], **extra: Any
) -> str:
    """The card of a model that ``link``, ``rerank`` or ``distil`` trained, from its template."""
    values = {
        "config": config,
        "row": row,
        "about": provenance(),
        "table": markdown_table([row]),
    }
    return _rendered(f"{task}_card", **values, **extra)


def _rendered(name: str, **values: Any) -> str:
    loader = PackageLoader("siamese_news.evaluation", ".")
    templates = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True)
    return templates.get_template(f"{name}.md.j2").render(values)


def _precision_row(system: str, figures: Mapping[str, float]) -> dict[str, Any]:
    rows = {f"P@{r}": figures[f"P@{r}"] for r in ALL_ROWS}
    mean = {"mRP (7 rows)": figures["mRP7"], "mRP (8 rows)": figures["mRP8"]}
    return {"system": system, **rows, **mean}
