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
        list[Path],
        typer.Option(
            help="Labelled posts: a sheet, or any CSV or JSON lines with post "
            "and label. May be given several times."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The same posts in the learned order (.parquet).")],
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Write it though it is no sure gain.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the folds of cross-validation.")] = 0,
    force: ForceOption = False,
) -> None:
    """Learn a new order of the posts from labels, if that is surely the better one.

    Logistic regression on words, added to the score of the search and compared with its order by
    cross-validation; random posts from far down count as not relevant.

    Example: siamese-news feedback --results found.parquet --labels labels.csv --out learned.parquet

    A certificate for the new order needs a plan of its own: siamese-news sample.

    Exit codes: 0 done (also where the order stays), 1 output cannot be written, 2 bad input.
    """
    with bad_input_exits():
        from siamese_news.decide.learning import learn_order, read_verdicts
        from siamese_news.errors import InputError
        from siamese_news.utils.provenance import command

        if out.suffix.lower() != ".parquet":
            raise InputError(f"{out}: expected a name that ends with .parquet")
        check_output(out, [results, *labels], force=force)
        found = learn_order(
            results, read_verdicts(labels), out, command_line=command(), seed=seed, anyway=anyway
        )
        for line in (found.sentence(), *found.word_lines()):
            typer.echo(line)
        if found.helps or anyway:
            typer.echo(f"{out}: {len(found.scores):,} posts in the learned order", err=True)
        else:
            typer.echo(f"{out}: not written; --anyway writes it all the same", err=True)
