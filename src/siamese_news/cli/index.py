"""``siamese-news index``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from siamese_news.cli.common import bad_input_exits, load_model
from siamese_news.cli.inputs import say_empty, say_posts
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
from siamese_news.cli.progress import Watched
from siamese_news.search.threads import use_threads

if TYPE_CHECKING:
    from siamese_news.data.readers import PostStream
    from siamese_news.search.index.changing import Changed, Source


def index(
    out: Annotated[Path, typer.Option(help="Folder of the index.")],
    posts: Annotated[
        list[str] | None,
        typer.Option(
            help="Posts to index: dumps of any known platform, JSON lines, CSV, Parquet; files, "
            "folders, globs, or -; several may follow."
        ),
    ] = None,
    model: ModelOption = None,
    add: Annotated[
        bool, typer.Option("--add", help="Add the posts to the index that is there.")
    ] = False,
    delete: Annotated[
        list[str] | None, typer.Option(help="Id of a post to delete. Several may follow.")
    ] = None,
    delete_from: Annotated[
        Path | None, typer.Option(help="File of ids to delete, one in a line.")
    ] = None,
    compact: Annotated[
        bool,
        typer.Option(
            "--compact",
            help="Write the index anew without the deleted posts, and remove the old files.",
        ),
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Compare every byte with what was written.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an index that is there.")] = False,
    text_field: TextFieldOption = None,
    id_field: IdFieldOption = None,
    date_field: DateFieldOption = None,
    encoding: EncodingOption = None,
    long_window: LongWindowOption = False,
    strict: StrictOption = False,
    threads: ThreadsOption = None,
) -> None:
    """Read, tokenise and encode posts once, to search them again and again.

    Example: siamese-news index --posts dump/ --out posts.index

    Then rank, filter and explain take --index posts.index in place of --posts, to the same scores.

    --add adds new posts; --delete hides some at once, and --compact takes them off the disk.

    Exit codes: 0 done, 1 output cannot be written, 2 bad input (says what), 130 interrupted.
    """
    with bad_input_exits("the index is as it was"):
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
            raise InputError("--add adds posts, and none came; expected --posts")
        if posts is None and not out.is_dir():
            Manifest.read(out)  # says what is wrong
        with output_lock(out):
            if check:
                files = Manifest.read(out).verify(out)
                typer.echo(f"{out}: {files} files are as they were written", err=True)
                return
            if posts is not None:
                fields = {
                    "text_field": text_field,
                    "id_field": id_field,
                    "date_field": date_field,
                    "encoding": encoding,
                    "long_window": long_window,
                    "strict": strict,
                }
                _say(out, _posts(out, posts, model, add=add, force=force, fields=fields))
                return
            if deleting:
                ids = [*(delete or []), *(_ids(delete_from) if delete_from else [])]
                _say(out, IndexChange(out).delete(ids))
            if compact:
                _say(out, IndexChange(out).compact())


def _posts(
    out: Path,
    posts: list[str],
    model: Path | None,
    *,
    add: bool,
    force: bool,
    fields: dict[str, Any],
) -> "Changed":
    from siamese_news.data.readers import open_posts
    from siamese_news.errors import InputError
    from siamese_news.search.index.changing import IndexChange, build
    from siamese_news.search.index.fingerprint import indexable

    if not add and out.exists() and not force:
        raise InputError(
            f"{out}: is there already; --add adds posts to it, --force replaces an index"
        )
    encoder, which = load_model(model)
    known = indexable(encoder)
    stream = open_posts(posts, **fields)
    say_posts(stream)
    watched = Watched(stream)
    sources = _sources(stream)
    if add:
        changed = IndexChange(out).add(watched, known, sources=sources)
    else:
        changed = build(out, watched, known, name=which["folder"], sources=sources)
    watched.finish(changed.added)
    say_empty(stream.counts)
    for remark in stream.remarks():
        typer.echo(remark, err=True)
    return changed


def _sources(stream: "PostStream") -> "list[Source]":
    found = []
    for one in stream.detected:
        path = Path(one.source)
        if path.is_file():
            stat = path.stat()
            found.append((str(path.resolve()), stat.st_size, stat.st_mtime_ns))
    return found


def _ids(path: Path) -> list[str]:
    from siamese_news.utils.files import open_binary, reading

    with reading(path), open_binary(path) as stream:
        lines = stream.read().decode("utf-8-sig", "replace").splitlines()
    return [line.strip() for line in lines if line.strip()]


def _say(out: Path, changed: "Changed") -> None:
    from siamese_news.utils.terminal import clean

    done = {
        "added": changed.added,
        "there already": changed.present,
        "deleted": changed.deleted,
        "not there": len(changed.missing),
    }
    said = ", ".join(f"{count:,} {what}" for what, count in done.items() if count)
    typer.echo(f"{out}: {changed.posts:,} posts{f' ({said})' if said else ''}", err=True)
    for id in changed.missing[:10]:
        typer.echo(clean(f"{out}: has no post {id!r}"), err=True)
