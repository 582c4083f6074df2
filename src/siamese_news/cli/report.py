"""``siamese-news report``."""

from pathlib import Path
from typing import Annotated

import typer

from siamese_news.cli.outputs import ForceOption, check_output
from siamese_news.utils.exits import bad_input_exits


def report(
    results: Annotated[
        Path, typer.Option(help="Results file from rank or filter: .jsonl, .csv or .parquet.")
    ],
    out: Annotated[Path, typer.Option(help="HTML file to write.")],
    force: ForceOption = False,
    title: Annotated[
        str | None, typer.Option(help="Title of the page (default: the name of the results).")
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Score to draw as the threshold (default: the threshold of the search)."),
    ] = None,
) -> None:
    """Write the results of a search as one self-contained HTML page.

    The page shows scores, clusters of near-duplicates with the matched words highlighted, a
    timeline if the posts have dates, and the command, versions and hashes behind them.

    Example: siamese-news report --results found.jsonl --out found.html --title "Harlow bridge"

    Exit codes: 0 success, 1 output cannot be written, 2 bad input, 130 interrupted.
    """
    with bad_input_exits():
        from siamese_news.errors import InputError
        from siamese_news.search.report import read_results, write_report

        if out.suffix.lower() not in (".html", ".htm"):
            raise InputError(f"{out}: a report is a web page; expected a name that ends in .html")
        check_output(out, [results], force=force)
        data = read_results(results, title=title, threshold=threshold)
        write_report(out, data)
        typer.echo(f"{out}: {len(data.posts)} posts for {len(data.seeds)} seeds", err=True)
