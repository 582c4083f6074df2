"""``siamese-news feedback``."""

from pathlib import Path
from typing import Annotated

import typer

from siamese_news.cli.outputs import ForceOption, check_output
from siamese_news.errors import InputError
from siamese_news.utils.terminal import counted, echo
from siamese_news_desk.cli.sample import new_sheet


def feedback(
    results: Annotated[
        Path,
        typer.Option(help="Results of rank or filter, with the posts' texts."),
    ],
    labels: Annotated[
        list[Path] | None,
        typer.Option(
            help="Labeled posts: a sheet, or any CSV, Parquet or JSON lines with the columns post and "
            "label. May be repeated."
        ),
    ] = None,
    verdicts: Annotated[
        Path | None,
        typer.Option(
            help="Verdicts of a language model or a classifier: CSV, Parquet or JSON lines with the "
            "columns post and verdict, label, probability or score."
        ),
    ] = None,
    name: Annotated[
        str, typer.Option(help="With --verdicts: the name of the machine.")
    ] = "the machine",
    out: Annotated[
        Path | None,
        typer.Option(
            help="File for the posts in the learned order (.parquet, .jsonl or .csv)."
        ),
    ] = None,
    next_sheet: Annotated[
        Path | None,
        typer.Option("--next", metavar="SHEET", help="Write the posts to label next."),
    ] = None,
    count: Annotated[
        int, typer.Option(min=1, help="With --next: number of posts.")
    ] = 20,
    seed: Annotated[
        int, typer.Option(help="Seed of the folds and the random posts.")
    ] = 0,
    force: ForceOption = False,
) -> None:
    """Learn a new order of the posts from labels, and keep it if it is better.

    A logistic regression on words, and a machine's verdicts if you have some, are added to the
    score of the search. Cross-validation compares the result with the order of the search. Random
    posts from far down count as not relevant.

    Example: siamese-news feedback --results found.parquet --next labels.csv; then
    siamese-news feedback --results found.parquet --labels labels.csv --out learned.parquet

    Example: siamese-news feedback --results found.parquet --verdicts gpt.csv --name gpt --out
    joined.parquet

    To certify the new order, make a new plan with siamese-news sample.
    """
    from siamese_news.utils.provenance import command
    from siamese_news_desk.decide.learning_examples import TooFewLabels
    from siamese_news_desk.decide.new_order import (
        LabeledResults,
        order_format,
        read_verdicts,
        write_order,
    )
    from siamese_news_desk.labels.sheets import write_sheet

    label_files = labels or []
    if out is None and next_sheet is None:
        raise InputError("expected --out for a new order, or --next for posts to label")
    if out is not None:
        if not label_files and verdicts is None:
            raise InputError(
                "--out needs --labels or --verdicts to learn an order from"
            )
        order_format(out)
        check_output(out, [results, verdicts, *label_files], force=force)
    if next_sheet is not None:
        format = new_sheet(next_sheet, None)
    verdicts_given = read_verdicts(label_files, echo)
    machine = (verdicts, name) if verdicts is not None else None
    labeled_results = LabeledResults.read(results, verdicts_given, machine)
    for remark in labeled_results.remarks():
        typer.echo(remark)
    learned = None
    try:
        if label_files or machine:
            learned = labeled_results.learn(seed)
    except TooFewLabels as error:
        if next_sheet is None:
            raise
        echo(f"nothing is learned yet: {error}")
    if learned is not None:
        for line in (learned.sentence(), *learned.word_lines()):
            typer.echo(line)
    if learned is not None and learned.helps and out is not None:
        write_order(out, labeled_results, learned, command())
        echo(f"{out}: {counted(len(learned.scores), 'post')} in the learned order")
    elif out is not None:
        echo(f"{out}: not written")
    if next_sheet is not None:
        units = labeled_results.next_units(learned, count, seed)
        write_sheet(next_sheet, units, format)
        posts = counted(len(units), "post")
        echo(
            f"{next_sheet}: {posts} to label; then run feedback with all labels so far"
        )
