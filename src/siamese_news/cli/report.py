"""``siamese-news report``."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from siamese_news.cli.outputs import ForceOption, check_output, files_read, write_meta
from siamese_news.cli.search_inputs import open_files
from siamese_news.cli.search_options import search_command
from siamese_news.errors import InputError
from siamese_news.search.query import READING, Query
from siamese_news.utils.files import atomic_write
from siamese_news.utils.plugins import report_part
from siamese_news.utils.terminal import counted, echo


@search_command(
    Query(),
    ["posts", "out", *READING],
    required=["out"],
    helps={
        "posts": "With --by: the posts that were searched, for their columns and the share of each "
        "group that was found.",
        "out": "HTML file to write.",
    },
)
def report(
    query: Query,
    results: Annotated[
        Path,
        typer.Option(
            help="Results file from rank or filter: .jsonl, .csv or .parquet."
        ),
    ],
    force: ForceOption = False,
    title: Annotated[
        str | None,
        typer.Option(
            help="Title of the page (default: the only article, or the results)."
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
    certificate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Add a certificate of certify, with its answers to a reviewer.",
        ),
    ] = None,
    audit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --certificate: the result (.audit.json) of an audit below its list, for "
            "precision and recall in one sentence.",
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
    from siamese_news.data.groups import TIMES
    from siamese_news.search.report import group_comparison, read_results, write_report
    from siamese_news.search.result_files import write_rows

    if audit is not None and certificate is None:
        raise InputError(
            "--audit adds the recall to a certificate; name it with --certificate"
        )
    out = query.out
    if out is None or out.suffix.lower() not in (".html", ".htm"):
        raise InputError(
            f"{out}: a report is a web page; expected a name that ends in .html"
        )
    if query.posts and by is None:
        raise InputError("--posts is for comparing groups; name their column with --by")
    table = out.with_suffix(".csv")
    for written in [out] if by is None else [out, table]:
        check_output(written, files_read(query, results), force=force)
    data = read_results(results, title=title, all_texts=by is not None)
    if certificate is not None:
        listed = [(post.seed, post.id, post.score) for post in data.posts]
        data = replace(
            data, answers=report_part("certificate")(certificate, audit, posts=listed)
        )
    if by is not None:
        if query.posts:
            comparison = group_comparison.compare_posts(
                data, by, open_files(query, group_field=(None if by in TIMES else by))
            )
        else:
            comparison = group_comparison.compare_results(data, by, results)
        data = replace(data, groups=comparison)
        for remark in comparison.remarks:
            echo(remark)
        with atomic_write(table) as stream:
            write_rows(
                stream,
                group_comparison.shares(comparison),
                "csv",
                columns=group_comparison.COLUMNS,
            )
        write_meta(table)
    write_report(out, data)
    echo(
        f"{out}: {counted(len(data.posts), 'post')} for {counted(len(data.seeds), 'seed')}"
    )
