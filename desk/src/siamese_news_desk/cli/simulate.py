"""``siamese-news simulate``."""

from pathlib import Path
from typing import Annotated

import typer

from siamese_news.errors import InputError
from siamese_news.utils.terminal import echo
from siamese_news_desk.cli.sample import ConfidenceOption, share_option


def simulate(
    out: Annotated[Path, typer.Option(help="Folder for the tables (.md and .json).")],
    results: Annotated[
        list[Path],
        typer.Option(help="Scored posts of a labeled pool. May be repeated."),
    ],
    qrels: Annotated[
        list[Path],
        typer.Option(
            help="Qrels of each pool: query-id, corpus-id and score, separated by tabs."
        ),
    ],
    precision: Annotated[
        list[str] | None,
        share_option("Precisions to certify (default: .8, .9 and .95)."),
    ] = None,
    budget: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Numbers of labels (default: 100, 300 and 1000)."),
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Replays of each setting.")] = 500,
    confidence: ConfidenceOption = ".95",
    seed: Annotated[int, typer.Option(help="Seed of all random orders.")] = 0,
) -> None:
    """Replay certificates on pools whose labels are known: how long a list, how often a wrong one.

    Example: siamese-news simulate --results pool.run --qrels qrels/test.tsv --out simulated
    """
    from siamese_news_desk.decide.plan.design import distinct_shares, share_of
    from siamese_news_desk.decide.simulation import read_pool
    from siamese_news_desk.decide.simulation import simulate as replay

    if len(results) != len(qrels):
        raise InputError("expected one --qrels for each --results")
    targets = precision or [".8", ".9", ".95"]
    distinct_shares(targets, "--precision")
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: is a file; expected the name of a folder")
    error = 1 - share_of(confidence, "--confidence")
    if error > 0.5:
        raise InputError(f"--confidence is {confidence}; expected at least .5")
    replay(
        out,
        list(map(read_pool, results, qrels)),
        targets=targets,
        budgets=budget or [100, 300, 1000],
        runs=runs,
        error=float(error),
        seed=seed,
        say=echo,
    )
    echo(f"{out}: simulation.md and simulation.json")
