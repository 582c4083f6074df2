"""``siamese-news index``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from siamese_news.cli.options import (
    DateFieldOption,
    EncodingOption,
    IdFieldOption,
    LongWindowOption,
    ModelOption,
    StrictOption,
    TextFieldOption,
    ThreadsOption,
)
from siamese_news.cli.reading import echo, say_posts
from siamese_news.search.query import Query
from siamese_news.search.threads import use_threads
from siamese_news.utils.exits import bad_input_exits
from siamese_news.utils.terminal import counted

if TYPE_CHECKING:
    from siamese_news.search.index.changing import Changed


def index(
    out: Annotated[Path, typer.Option(help="Folder of the index.")],
    posts: Annotated[
        list[str] | None, typer.Option(help="Posts to index, as rank reads them.")
    ] = None,
    model: ModelOption = None,
    add: Annotated[bool, typer.Option("--add", help="Add the posts to an existing index.")] = False,
    delete: Annotated[
        list[str] | None, typer.Option(help="One or more ids of posts to delete.")
    ] = None,
    delete_from: Annotated[
        Path | None, typer.Option(help="File of ids to delete, one per line.")
    ] = None,
    compact: Annotated[
        bool,
        typer.Option(
            "--compact",
            help="Rewrite the index without the deleted posts and remove the old files.",
        ),
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Verify the checksums of all files.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing index.")] = False,
    text_field: TextFieldOption = None,
    id_field: IdFieldOption = None,
    date_field: DateFieldOption = None,
    encoding: EncodingOption = None,
    long_window: LongWindowOption = False,
    strict: StrictOption = False,
    threads: ThreadsOption = None,
) -> None:
    """Read, tokenize and encode posts once, to search them many times.

    Example: siamese-news index --posts dump/ --out posts.index

    Then rank, filter and explain take --index posts.index instead of --posts, with the same scores.

    --add adds posts. --delete hides posts immediately; --compact removes them from the disk.

    Exit codes: 0 success, 1 output cannot be written, 2 bad input, 130 interrupted.
    """
    with bad_input_exits("the index is unchanged"):
        from siamese_news.errors import InputError
        from siamese_news.search.index.changing import IndexChange
        from siamese_news.search.index.manifest import Manifest
        from siamese_news.search.partial_results import output_lock

        use_threads(threads)
        deleting = bool(delete or delete_from)
        if bool(posts) + (deleting or compact) + check != 1:
            raise InputError(
                "expected one of --posts (to build an index, or with --add to add to it), --delete "
                "or --delete-from and --compact, and --check"
            )
        if add and not posts:
            raise InputError("--add requires --posts")
        if posts is None and not out.is_dir():
            Manifest.read(out)  # says what is wrong
        with output_lock(out):
            if check:
                files = Manifest.read(out).verify(out)
                echo(f"{out}: {files} files are unchanged")
                return
            if posts is not None:
                query = Query(
                    posts=posts,
                    model=model,
                    text_field=text_field,
                    id_field=id_field,
                    date_field=date_field,
                    encoding=encoding,
                    long_window=long_window,
                    strict=strict,
                )
                _say(out, _posts(out, query, add=add, force=force))
                return
            if deleting:
                ids = [*(delete or []), *(_ids(delete_from) if delete_from else [])]
                _say(out, IndexChange(out).delete(ids))
            if compact:
                _say(out, IndexChange(out).compact())


def _posts(out: Path, query: Query, *, add: bool, force: bool) -> "Changed":
    from siamese_news.data.readers import open_posts
    from siamese_news.errors import InputError
    from siamese_news.model.loading import open_named
    from siamese_news.search.files import FilePool, files_read
    from siamese_news.search.index.changing import IndexChange, build
    from siamese_news.search.index.fingerprint import indexable

    if not add and out.exists() and not force:
        raise InputError(
            f"{out}: already exists; add posts to it with --add, or replace it with --force"
        )
    encoder, which = open_named(query.model)
    known = indexable(encoder)
    stream = open_posts(query.posts, **query.reading())
    say_posts(stream)
    pool = FilePool(stream)
    sources = [
        (str(Path(name).resolve()), size, changed) for name, size, changed in files_read(stream)
    ]
    if add:
        changed = IndexChange(out).add(pool, known, sources=sources)
    else:
        changed = build(out, pool, known, name=which["folder"], sources=sources)
    for line in (*pool.summary(changed.added), *pool.remarks()):
        echo(line)
    return changed


def _ids(path: Path) -> list[str]:
    from siamese_news.utils.files import open_binary, reading

    with reading(path), open_binary(path) as stream:
        lines = stream.read().decode("utf-8-sig", "replace").splitlines()
    return [line.strip() for line in lines if line.strip()]


def _say(out: Path, changed: "Changed") -> None:
    done = {
        "added": changed.added,
        "already there": changed.present,
        "deleted": changed.deleted,
        "not found": len(changed.missing),
    }
    said = ", ".join(f"{count:,} {what}" for what, count in done.items() if count)
    echo(f"{out}: {counted(changed.posts, 'post')}{f' ({said})' if said else ''}")
    for id in changed.missing[:10]:
        echo(f"{out}: has no post {id!r}")
