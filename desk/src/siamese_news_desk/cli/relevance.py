"""``siamese-news relevance``."""

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from siamese_news.cli.outputs import ForceOption, check_output
from siamese_news.utils.terminal import echo


def relevance(
    results: Annotated[
        Path,
        typer.Option(
            help="The results of rank or filter that the posts were drawn from (.jsonl, .csv or "
            ".parquet)."
        ),
    ],
    labels: Annotated[
        list[Path],
        typer.Option(
            help="The labeled sheet of sample --for relevance. May be repeated."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="The map, which filter, rank and watch take with --relevance-map (.json)."
        ),
    ] = None,
    force: ForceOption = False,
) -> None:
    """Make the relevance of a list your own, by some 20 labels.

    Example: siamese-news sample --for relevance --results all.jsonl --out sheet.csv; then, with
    labels, siamese-news relevance --results all.jsonl --labels sheet.csv --out map.json

    Says how many posts are relevant at .5 and how many are missed. It is an estimate. A certificate
    needs labels of its own (sample --precision), and these cost it nothing.
    """
    from siamese_news_desk.cli.sample import plan_of
    from siamese_news_desk.decide.own_relevance import (
        OwnRelevance,
        estimates_of,
        own_sample,
    )
    from siamese_news_desk.labels.matching import read_labels

    check_output(out, [results, *labels], force=force)
    plan_of(labels, "sample --for relevance", "sample")
    verdicts = read_labels(labels, own_sample(labels[0]))
    relevance_of_list = OwnRelevance.of(estimates_of(results), verdicts)
    for line in (*verdicts.remarks(), *relevance_of_list.sentences()):
        typer.echo(line)
    if out is not None:
        relevance_of_list.map.write(out)
        echo(f"{out}: the map; search again with --relevance-map {quote(str(out))}")
