"""``siamese-news certify``."""

from pathlib import Path
from typing import Annotated

import typer

from siamese_news.cli.sample import AT_LEAST, SheetFormatOption, TextsOption
from siamese_news.utils.exits import bad_input_exits


def certify(
    labels: Annotated[
        list[Path] | None,
        typer.Option(help="Labelled sheets, in any order. May be given several times."),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(metavar="CERTIFICATE", help="Check a certificate against what it rests on."),
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(help="The plan; else <sheet>.plan.json beside the first sheet.")
    ] = None,
    results: Annotated[
        Path | None, typer.Option(help="The scored posts; else the file that the plan names.")
    ] = None,
    posts: TextsOption = None,
    more: Annotated[
        int, typer.Option(min=0, help="Allow so many labels more, though the budget is spent.")
    ] = 0,
    at_least: Annotated[int, typer.Option(min=1, help=AT_LEAST)] = 25,
    format: SheetFormatOption = None,
) -> None:
    """Say which list has the wanted precision, by labels; write it, and the next posts to label.

    Example: siamese-news certify --labels sheet.csv --labels sheet.2.csv

    The list is the posts from a score on, without those that were labelled not relevant.

    Beside the sheet go <sheet>.certificate.csv (their ids), .certificate.json and .html, and the
    next batch.

    Exit codes: 0 done, 1 output cannot be written, 2 bad input (says what), 130 interrupted.
    """
    with bad_input_exits():
        from siamese_news.decide.certificate import (
            certificate_of,
            same_findings,
            sentence_of,
            write_certificate,
            write_lists,
            write_page,
        )
        from siamese_news.decide.certification import Certification, expect_all, next_batch
        from siamese_news.decide.plan.files import beside, read_sealed
        from siamese_news.errors import InputError
        from siamese_news.labels.matching import changed_sentence, read_labels

        if bool(labels) == (check is not None):
            raise InputError("expected either --labels or --check")
        old = None
        if check is not None:
            old = read_sealed(check, "certificate")
            labels = [check.with_name(Path(f["file"]).name) for f in old["labels"]["files"]]
            plan = plan or check.with_name(old["plan"]["file"])
        assert labels
        path = plan or beside(labels[0], "plan.json")
        work = Certification.resume(path, results=results, posts=posts)
        said = read_labels(labels, work.sampled)
        claims = work.claims(said)
        if old is None:
            expect_all(path, labels)
            work.log.look(said)
        content = certificate_of(work, claims, said, labels)
        if old is not None:
            if old["plan"]["sha256"] != content["plan"]["sha256"] or not same_findings(
                old, content
            ):
                raise InputError(
                    f"{check}: the labels or the plan give another certificate now; it held for "
                    f"{old['labels']['used']} labels, there are {content['labels']['used']}"
                )
            changed = changed_sentence(content["labels"]["changed"])
            typer.echo(
                f"{check}: holds; scores, plan, labels and findings are the same.{changed}",
                err=True,
            )
            return
        write_certificate(beside(path, "certificate.json"), content)
        write_page(beside(path, "certificate.html"), content)
        for remark in said.remarks():
            typer.echo(remark, err=True)
        for claim in content["claims"]:
            typer.echo(sentence_of(content, claim))
        if write_lists(beside(path, "certificate.csv"), work, claims):
            typer.echo(f"{beside(path, 'certificate.csv')}: the certified posts", err=True)
        chosen = format.value if format else None
        batch = next_batch(work, said, labels[0], chosen, more=more, at_least=at_least)
        if batch.waiting:
            typer.echo(
                f"{batch.waiting} needed posts of the sheets have no label yet; label them and run "
                "the same command again",
                err=True,
            )
        if batch.sheet is not None:
            typer.echo(f"{batch.sheet}: {batch.posts:,} more posts to label", err=True)
        elif not batch.waiting:
            left = work.settings.budget - len(said.of)
            typer.echo(
                f"done: {len(said.of)} of {work.settings.budget} labels"
                + (f"; the {left} left cannot bring it further" if left > 0 else "")
                + "; --more N goes on with N more labels, at no loss of confidence",
                err=True,
            )
