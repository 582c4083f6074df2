"""``siamese-news feedback``."""

from pathlib import Path
from typing import Annotated

import typer

from siamese_news.cli.outputs import ForceOption, check_output
from siamese_news.utils.exits import bad_input_exits


def feedback(
    results: Annotated[
        Path, typer.Option(help="What rank or filter wrote as Parquet, with the posts' texts.")
    ],
    labels: Annotated[
        list[Path] | None,
        typer.Option(
            help="Labelled posts: a sheet, or any CSV or JSON lines with post "
            "and label. May be given several times."
        ),
    ] = None,
    verdicts: Annotated[
        Path | None,
        typer.Option(
            help="What a language model or a classifier says: CSV or JSON lines with post, and "
            "verdict, label, probability or score."
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="With --verdicts: who gave them.")] = "the machine",
    out: Annotated[
        Path | None, typer.Option(help="The same posts in the learned order (.parquet).")
    ] = None,
    next: Annotated[
        Path | None, typer.Option(metavar="SHEET", help="Write the posts to label next.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="With --next: how many.")] = 20,
    mix: Annotated[
        str,
        typer.Option(
            help="With --next: parts from the top of the order, where the learner is unsure, and "
            "at random from the best posts."
        ),
    ] = "1:1:2",
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Write it though it is no sure gain.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the folds and of random posts.")] = 0,
    force: ForceOption = False,
) -> None:
    """Learn a new order of the posts from labels, if that is the better one.

    Logistic regression on words, and a machine's verdicts if you have some, added to the score of
    the search and compared with its order by cross-validation; random posts from far down count as
    not relevant.

    Example: siamese-news feedback --results found.parquet --next labels.csv; then
    siamese-news feedback --results found.parquet --labels labels.csv --out learned.parquet

    Example: siamese-news feedback --results found.parquet --verdicts gpt.csv --name gpt --out
    joined.parquet

    A certificate for the new order needs a plan of its own: siamese-news sample.

    Exit codes: 0 done (also where the order stays), 1 output cannot be written, 2 bad input.
    """
    with bad_input_exits():
        from siamese_news.decide.learning import TooFewLabels
        from siamese_news.decide.new_order import LabelledResults, read_verdicts, write_order
        from siamese_news.errors import InputError
        from siamese_news.labels.sheets import format_of, write_sheet
        from siamese_news.utils.provenance import command

        given = labels or []
        if out is None and next is None:
            raise InputError("expected --out for a new order, or --next for posts to label")
        if out is not None:
            if not given and verdicts is None:
                raise InputError("--out needs --labels or --verdicts to learn an order from")
            if out.suffix.lower() != ".parquet":
                raise InputError(f"{out}: expected a name that ends with .parquet")
            check_output(out, [results, verdicts, *given], force=force)
        if next is not None:
            format = format_of(next)
            if next.exists():
                raise InputError(f"{next}: is there already and may have labels; name another")

        def say(remark: str) -> None:
            typer.echo(remark, err=True)

        said = read_verdicts(given, say)
        machine = (verdicts, name) if verdicts is not None else None
        read = LabelledResults.read(results, said, machine)
        for remark in read.remarks():
            typer.echo(remark)
        found = None
        try:
            if given or machine:
                found = read.learn(seed)
        except TooFewLabels as error:
            if out is not None:
                raise
            say(f"nothing is learned yet: {error}")
        if found is not None:
            for line in (found.sentence(), *found.word_lines()):
                typer.echo(line)
        if found is not None and out is not None:
            if found.helps or anyway:
                write_order(out, read, found, command())
                say(f"{out}: {len(found.scores):,} posts in the learned order")
            else:
                say(f"{out}: not written; --anyway writes it all the same")
        if next is not None:
            units = read.next_units(found, count, mix, seed)
            write_sheet(next, units, format)
            say(f"{next}: {len(units):,} posts to label; then feedback with all labels so far")
