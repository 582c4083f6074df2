"""``siamese-news report``."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from siamese_news.cli.options import search_command
from siamese_news.cli.outputs import ForceOption, check_output, files_read, write_meta
from siamese_news.cli.reading import echo, open_files
from siamese_news.errors import InputError
from siamese_news.search.query import Query, read_score
from siamese_news.utils.files import atomic_write
from siamese_news.utils.terminal import counted


@search_command(
    Query(),
    "posts out reading",
    needs="out",
    helps={
        "posts": "With --by: the posts that were searched, for their columns and the share of each "
        "group that was found.",
        "out": "HTML file to write.",
    },
)
def report(
    query: Query,
    results: Annotated[
        Path, typer.Option(help="Results file from rank or filter: .jsonl, .csv or .parquet.")
    ],
    force: ForceOption = False,
    title: Annotated[
        str | None,
        typer.Option(help="Title of the page (default: the only article, or the results)."),
    ] = None,
    threshold: Annotated[
        str | None,
        typer.Option(
            metavar="SCORE",
            help="Score to draw as the threshold (default: the threshold of the search).",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Compare groups: year, month, day, platform, file, lang, author, channel or any "
            "other column. Writes their figures to a .csv next to the page.",
        ),
    ] = None,
) -> None:
    """Write the results of a search as one self-contained HTML page.

    The page shows scores, clusters of near-duplicates with the matched words highlighted, a
    timeline if the posts have dates, and the command, versions and hashes behind them. Results of
    siamese-news threads have a thread in each entry.

    Example: siamese-news report --results found.jsonl --out found.html --title "Harlow bridge"

    siamese-news report --results found.jsonl --by month --posts dump/ --out found.html
    """
    from siamese_news.search.output import write_rows
    from siamese_news.search.report import groups, read_results, write_report

    out = query.out
    if out is None or out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{out}: a report is a web page; expected a name that ends in .html")
    if query.posts and by is None:
        raise InputError("--posts is for comparing groups; name their column with --by")
    table = out.with_suffix(".csv")
    for written in [out] if by is None else [out, table]:
        check_output(written, files_read(query, results), force=force)
    drawn = None if threshold is None else read_score(threshold)
    data = read_results(results, title=title, threshold=drawn)
    if by is not None:
        if query.posts:
            column = None if by in groups.TIMES else by
            found = groups.compare_posts(data, by, open_files(query, group_field=column))
        else:
            found = groups.compare_results(data, by, results)
        data = replace(data, groups=found)
        for remark in found.remarks:
            echo(remark)
        with atomic_write(table) as stream:
            write_rows(stream, groups.figures(found), "csv", columns=groups.COLUMNS)
        write_meta(table)
    write_report(out, data)
    echo(f"{out}: {counted(len(data.posts), 'post')} for {counted(len(data.seeds), 'seed')}")
