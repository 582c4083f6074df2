"""``siamese-news simulate``."""

import os
from pathlib import Path
from typing import Annotated

import typer

from siamese_news.utils.exits import bad_input_exits


def simulate(
    out: Annotated[Path, typer.Option(help="Folder for tables (.md, .json) and pictures (.svg).")],
    results: Annotated[
        list[Path] | None,
        typer.Option(help="Scored posts of a labelled pool. May be given several times."),
    ] = None,
    qrels: Annotated[
        list[Path] | None,
        typer.Option(help="Their labels: query-id, corpus-id, score with tabs; one for each."),
    ] = None,
    families: Annotated[
        int, typer.Option(min=0, help="Corpora of each of the seven made families; 0 for none.")
    ] = 0,
    precision: Annotated[
        list[str] | None, typer.Option(help="Targets; else .8, .9 and .95.")
    ] = None,
    budget: Annotated[list[int] | None, typer.Option(help="Labels; else 100, 300, 1000.")] = None,
    runs: Annotated[int, typer.Option(min=1, help="Replays of each setting of a pool.")] = 500,
    confidence: Annotated[str, typer.Option(help="Of the certificates.")] = ".95",
    seed: Annotated[int, typer.Option(help="Of all random orders.")] = 0,
    cores: Annotated[int | None, typer.Option(min=1, help="Processes; else one a core.")] = None,
) -> None:
    """Replay certificates, audits, recall and stopping rules on pools whose labels are known.

    Example: siamese-news simulate --results pool.run --qrels qrels/test.tsv --out simulated

    Exit codes: 0 done, 1 output cannot be written, 2 bad input (says what), 130 interrupted.
    """
    with bad_input_exits():
        from siamese_news.decide.plan.design import share_of
        from siamese_news.decide.simulation.pools import read_pool
        from siamese_news.decide.simulation.report import simulate as replay
        from siamese_news.errors import InputError

        if len(results or []) != len(qrels or []):
            raise InputError("expected one --qrels for each --results")
        if not results and not families:
            raise InputError("expected --results with --qrels, or --families, to replay on")
        targets = precision or [".8", ".9", ".95"]
        for target in targets:
            share_of(target, "--precision")
        error = float(1 - share_of(confidence, "--confidence"))
        pools = zip(results or [], qrels or [], strict=True)
        replay(
            out,
            [read_pool(scored, labels) for scored, labels in pools],
            families=families,
            targets=targets,
            budgets=budget or [100, 300, 1000],
            runs=runs,
            error=error,
            seed=seed,
            cores=cores or os.cpu_count() or 1,
            say=lambda line: typer.echo(line, err=True),
        )
        typer.echo(f"{out}: simulation.md, simulation.json and pictures", err=True)
