"""``siamese-news bundle``."""

from pathlib import Path
from typing import Annotated

import typer

from siamese_news.cli.outputs import ForceOption, check_output
from siamese_news.errors import InputError
from siamese_news.utils.terminal import echo
from siamese_news_desk.cli.sample import TextsOption


def bundle(
    out: Annotated[Path | None, typer.Option(help="Zip to write.")] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(help="Certificate to pack, with its plan, labels and scores."),
    ] = None,
    texts: Annotated[
        bool, typer.Option("--texts", help="Also pack the texts of the posts.")
    ] = False,
    scores: Annotated[
        Path | None,
        typer.Option(
            help="Scored posts of the certificate (default: the file named in the plan)."
        ),
    ] = None,
    posts: TextsOption = None,
    check: Annotated[
        Path | None,
        typer.Option(metavar="ZIP", help="Check a zip instead of writing one."),
    ] = None,
    force: ForceOption = False,
) -> None:
    """Pack a certificate with ids, scores, labels and commands into one zip, or check such a zip.

    Example: siamese-news bundle --certificate sheet.certificate.json --out supplement.zip; then
    siamese-news bundle --check supplement.zip
    """
    from siamese_news_desk.decide.bundle import check_bundle, write_bundle

    if (out is None) == (check is None):
        raise InputError("expected either --out or --check")
    if check is not None:
        for line in check_bundle(check):
            echo(line)
        return
    if out is None or certificate is None:
        raise InputError("nothing to pack; expected --certificate")
    if out.suffix.lower() != ".zip":
        raise InputError(f"{out}: expected a name that ends with .zip")
    check_output(out, [certificate, *(posts or [])], force=force)
    names = write_bundle(out, certificate, posts=posts, scores=scores, texts=texts)
    echo(f"{out}: {', '.join(names)}")
