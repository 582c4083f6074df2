"""``siamese-news threads``."""

from collections import Counter
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
from siamese_news.cli.outputs import (
    ForceOption,
    check_output,
    files_read,
    format_of,
    rejected_file,
)
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
        import numpy as np

        from siamese_news.data.readers import open_posts
        from siamese_news.errors import InputError
        from siamese_news.labels.results import read_columns, result_meta, result_rows
        from siamese_news.search.conversations import COLUMNS, Links, find_threads, thread_rows
        from siamese_news.search.files import FilePool
        from siamese_news.search.output import BINARY, write_rows
        from siamese_news.utils.files import atomic_write, file_sha256, is_stream, write_json
        from siamese_news.utils.provenance import command, provenance

        format = format_of(Query(out=out), None).format
        if format in ("trec", "table", None):
            raise InputError(f"{out}: expected a name that ends in .jsonl, .csv or .parquet")
        check_output(out, files_read(posts=posts, others=[results]), force=force)
        ids, articles, scores = read_columns(results)
        codes, names = articles or (np.zeros(len(scores), np.int32), ["all"])
        order = np.argsort(-scores, kind="stable").tolist()
        if not order:
            raise InputError(f"{results}: no row in the file, expected at least one post")
        found = [
            (names[codes[row]], post, float(scores[row]))
            for row, post in zip(order, ids.at(order), strict=True)
        ]
        source = open_posts(
            posts, text_field=text_field, id_field=id_field, date_field=date_field,
            encoding=encoding, long_window=long_window, strict=strict, rejected=rejected_file(out),
        )  # fmt: skip
        say_posts(source)
        source.spool()
        pool = FilePool(source, out=out)
        links = Links(pool)
        echo(str(source.counts))
        threads = find_threads(links, found, most=most)
        rows = list(thread_rows(threads, pool))
        of = {(row["article"], row["post"]): row for row in rows if row["role"] == "found"}
        for _, row in result_rows(results):
            own = of.get((str(row.get("article", "all")), str(row["post"])))
            if own is not None and (terms := row.get("terms")):
                own["terms"] = terms.split("; ") if isinstance(terms, str) else list(terms)
        roles = Counter(row["role"] for row in rows)
        if not roles["found"]:
            raise InputError(
                f"{results}: none of its posts is among the posts; expected the files that were "
                "searched"
            )
        with atomic_write(out, "wb" if format in BINARY else "w") as target:
            write_rows(target, rows, format, columns=COLUMNS)
        counts = {
            f"posts left out by --most {most}, the bound of a thread": sum(
                thread.left_out for thread in threads
            ),
            "posts of these threads that are not among the posts": sum(
                len(thread.shown) for thread in threads
            )
            - len(rows),
            "posts that answer themselves, which counts for nothing": links.own,
            "circles of answers": links.cycles,
        }
        said = [
            f"threads: {len(threads):,}, of {roles['found']:,} posts found, "
            f"{roles['answered']:,} that they answer and {roles['reply']:,} replies",
            *(f"{what}: {count:,}" for what, count in counts.items() if count),
        ]
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
