"""``siamese-news threads``."""

from pathlib import Path
from typing import Annotated

import typer

from siamese_news.cli.options import (
    DateFieldOption,
    EncodingOption,
    IdFieldOption,
    LongWindowOption,
    PostsOption,
    StrictOption,
    TextFieldOption,
)
from siamese_news.cli.outputs import ForceOption, check_output, files_read, format_of, rejected_file
from siamese_news.cli.reading import echo, say_posts
from siamese_news.search.query import Query
from siamese_news.utils.exits import bad_input_exits


def threads(
    results: Annotated[
        Path, typer.Option(help="The posts found: a results file from rank or filter.")
    ],
    posts: PostsOption,
    out: Annotated[Path, typer.Option(help="File to write: .jsonl, .csv or .parquet.")],
    most: Annotated[
        int,
        typer.Option(
            min=1,
            help="Posts of each thread: those found, then what they answer, then their replies.",
        ),
    ] = 100,
    force: ForceOption = False,
    text_field: TextFieldOption = None,
    id_field: IdFieldOption = None,
    date_field: DateFieldOption = None,
    encoding: EncodingOption = None,
    long_window: LongWindowOption = False,
    strict: StrictOption = False,
) -> None:
    """Bring with each post found what it answers and what answers it.

    Example: siamese-news threads --results found.jsonl --posts dump/ --out threads.jsonl

    Threads are ordered by their best post; mean3 is the mean of the best three. siamese-news report
    shows each thread as one entry.

    Exit codes: 0 success, 1 output cannot be written, 2 bad input, 130 interrupted.
    """
    with bad_input_exits():
        from siamese_news.data.readers import open_posts
        from siamese_news.errors import InputError
        from siamese_news.labels.results import result_meta
        from siamese_news.search.conversations import COLUMNS, bring_threads
        from siamese_news.search.files import FilePool
        from siamese_news.search.output import BINARY, write_rows
        from siamese_news.utils.files import atomic_write, file_sha256, is_stream, write_json
        from siamese_news.utils.provenance import command, provenance

        format = format_of(Query(out=out), None).format
        if format in ("trec", "table", None):
            raise InputError(f"{out}: expected a name that ends in .jsonl, .csv or .parquet")
        check_output(out, files_read(posts=posts, others=[results]), force=force)
        source = open_posts(
            posts,
            text_field=text_field,
            id_field=id_field,
            date_field=date_field,
            encoding=encoding,
            long_window=long_window,
            strict=strict,
            rejected=rejected_file(out),
        )
        say_posts(source)
        source.spool()
        rows, said = bring_threads(results, FilePool(source, out=out), most=most)
        echo(str(source.counts))
        with atomic_write(out, "wb" if format in BINARY else "w") as target:
            write_rows(target, rows, format, columns=COLUMNS)
        if not is_stream(out):
            meta = result_meta(results)
            known = {
                "command": f"{meta['command']}\n{command()}" if "command" in meta else command(),
                "provenance": meta.get("provenance") or provenance(),
                "remarks": [*meta.get("remarks", ()), *said],
                "sha256": file_sha256(out),
            }
            write_json(out.with_name(out.name + ".meta.json"), meta | known)
        for line in said:
            echo(line)
