"""``siamese-news index``."""

from pathlib import Path
from typing import Annotated

import typer

from siamese_news.cli.search_inputs import open_files
from siamese_news.cli.search_options import search_command
from siamese_news.errors import InputError
from siamese_news.search.cpu_threads import use_threads
from siamese_news.search.partial_results import output_lock
from siamese_news.search.query import READING, Query
from siamese_news.utils.exits import ending
from siamese_news.utils.terminal import counted, echo


@ending("the index is unchanged")
@search_command(
    Query(),
    ["out", "posts", "model", *READING],
    required=["out", "posts"],
    helps={"out": "Folder of the index."},
)
def index(
    query: Query,
    add: Annotated[
        bool, typer.Option("--add", help="Add the posts to an existing index.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an existing index.")
    ] = False,
) -> None:
    """Read, tokenize and encode posts once, to search them many times.

    Example: siamese-news index --posts dump/ --out posts.index

    Then rank, filter and explain take --index posts.index instead of --posts, with the same scores.

    --add adds posts. To remove posts, build the index again from files without them.
    """
    from siamese_news.model.loading import open_named
    from siamese_news.search.file_pool import FilePool, file_versions
    from siamese_news.search.index import changing
    from siamese_news.search.index.fingerprint import indexable

    use_threads()
    out = query.out
    assert out is not None
    if not add and out.is_file():
        raise InputError(f"{out}: is a file; expected the name of a folder")
    if not add and out.exists() and not force:
        raise InputError(
            f"{out}: already exists; add posts to it with --add, or replace it with --force"
        )
    with output_lock(out):
        encoder, which = open_named(query.model)
        model = indexable(encoder)
        stream = open_files(query)
        pool = FilePool(stream)
        sources = [
            (str(Path(name).resolve()), *version)
            for name, *version in file_versions(stream)
        ]
        if add:
            changed = changing.add(
                out,
                pool,
                model,
                sources=sources,
                platform_ids=all(file.platform_ids for file in stream.detected),
            )
        else:
            changed = changing.build(
                out, pool, model, name=which["folder"], sources=sources
            )
        for line in (*pool.summary(changed.added, "indexed"), *pool.remarks()):
            echo(line)
        lines = (
            f" ({changed.added:,} added, {changed.present:,} already there)"
            if add
            else ""
        )
        echo(f"{out}: {counted(changed.posts, 'post')}{lines}")
