"""``siamese-news bundle``."""

from pathlib import Path
from typing import Annotated

import typer

from siamese_news.cli.outputs import ForceOption, check_output
from siamese_news.cli.reading import echo
from siamese_news.cli.sample import TextsOption
from siamese_news.errors import InputError


def bundle(
    out: Annotated[Path | None, typer.Option(help="Zip to write.")] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="Certificate to pack, with its plan, labels and scores.")
    ] = None,
    results: Annotated[
        list[Path] | None, typer.Option(help="Results of rank, filter or threads to pack.")
    ] = None,
    texts: Annotated[
        bool, typer.Option("--texts", help="Also pack the texts of the posts.")
    ] = False,
    title: Annotated[str, typer.Option(help="Title of the data sheet.")] = "",
    scores: Annotated[
        Path | None,
        typer.Option(help="Scored posts of the certificate (default: the file named in the plan)."),
    ] = None,
    posts: TextsOption = None,
    check: Annotated[
        Path | None, typer.Option(metavar="ZIP", help="Check a zip instead of writing one.")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Pack ids, scores, labels, certificate and commands into one zip, or check such a zip.

    Example: siamese-news bundle --certificate sheet.certificate.json --results found.jsonl
    --out supplement.zip; then siamese-news bundle --check supplement.zip
    """
    from siamese_news.decide.bundle import check_bundle, write_bundle

    if (out is None) == (check is None):
        raise InputError("expected either --out or --check")
    if check is not None:
        for line in check_bundle(check):
            echo(line)
        return
    assert out is not None
    given = [*(results or []), *([certificate] if certificate else []), *(posts or [])]
    check_output(out, given, force=force)
    names = write_bundle(
        out,
        certificate=certificate,
        results=results or [],
        posts=posts,
        scores=scores,
        texts=texts,
        title=title,
    )
    echo(f"{out}: {', '.join(names)}")
