"""``siamese-news bundle``."""

from pathlib import Path
from typing import Annotated

import typer

from siamese_news.cli.outputs import ForceOption, check_output
from siamese_news.cli.reading import echo
from siamese_news.cli.sample import TextsOption
from siamese_news.utils.exits import bad_input_exits


def bundle(
    out: Annotated[Path | None, typer.Option(help="The zip to write.")] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="A certificate; plan, labels and scores go with it.")
    ] = None,
    results: Annotated[
        list[Path] | None, typer.Option(help="Results of rank, filter or threads.")
    ] = None,
    texts: Annotated[bool, typer.Option("--texts", help="Pack the texts of posts, too.")] = False,
    title: Annotated[str, typer.Option(help="Title of the data sheet.")] = "",
    scores: Annotated[
        Path | None,
        typer.Option(help="The certificate's scored posts; else the file that the plan names."),
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

    Exit codes: 0 done, 1 output cannot be written, 2 bad input (says what), 130 interrupted.
    """
    with bad_input_exits():
        from siamese_news.decide.bundle import check_bundle, write_bundle
        from siamese_news.errors import InputError

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
