"""``siamese-news index``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from siamese_news.cli.options import search_command
from siamese_news.cli.reading import echo, open_files
from siamese_news.errors import InputError
from siamese_news.search.cpu_threads import use_threads
from siamese_news.search.partial_results import output_lock
from siamese_news.search.query import Query
from siamese_news.utils.files import open_binary, reading
from siamese_news.utils.terminal import counted

if TYPE_CHECKING:
    from siamese_news.search.index.changing import Changed


@search_command(
    Query(), "out posts model reading threads", needs="out", helps={"out": "Folder of the index."}
)
def index(
    query: Query,
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
) -> None:
    """Read, tokenize and encode posts once, to search them many times.

    Example: siamese-news index --posts dump/ --out posts.index

    Then rank, filter and explain take --index posts.index instead of --posts, with the same scores.

    --add adds posts. --delete hides posts immediately; --compact removes them from the disk.
    """
    from siamese_news.search.index.changing import IndexChange
    from siamese_news.search.index.manifest import Manifest

    use_threads(query.threads)
    out, deleting = query.out, bool(delete or delete_from)
    assert out is not None
    if bool(query.posts) + (deleting or compact) + check != 1:
        raise InputError(
            "expected one of --posts (to build an index, or with --add to add to it), --delete "
            "or --delete-from and --compact, and --check"
        )
    if add and not query.posts:
        raise InputError("--add requires --posts")
    if not query.posts and not out.is_dir():
        Manifest.read(out)  # reports what is wrong
    with output_lock(out):
        if check:
            echo(f"{out}: {Manifest.read(out).verify(out)} files are unchanged")
        if query.posts:
            _say(out, _index_posts(query, out, add=add, force=force))
        if deleting:
            ids = [*(delete or []), *(_ids(delete_from) if delete_from else [])]
            _say(out, IndexChange(out).delete(ids))
        if compact:
            _say(out, IndexChange(out).compact())


def _index_posts(query: Query, out: Path, *, add: bool, force: bool) -> "Changed":
    from siamese_news.model.loading import open_named
    from siamese_news.search.files import FilePool, file_versions
    from siamese_news.search.index.changing import IndexChange, build
    from siamese_news.search.index.fingerprint import indexable

    if not add and out.is_file():
        raise InputError(f"{out}: is a file; expected the name of a folder")
    if not add and out.exists() and not force:
        raise InputError(
            f"{out}: already exists; add posts to it with --add, or replace it with --force"
        )
    encoder, which = open_named(query.model)
    model = indexable(encoder)
    stream = open_files(query)
    pool = FilePool(stream)
    sources = [(str(Path(name).resolve()), *rest) for name, *rest in file_versions(stream)]
    if add:
        changed = IndexChange(out).add(pool, model, sources=sources)
    else:
        changed = build(out, pool, model, name=which["folder"], sources=sources)
    for line in (*pool.summary(changed.added, "indexed"), *pool.remarks()):
        echo(line)
    return changed


def _ids(path: Path) -> list[str]:
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
