"""``siamese-news certify``."""

from pathlib import Path
from typing import Annotated

import typer

from siamese_news.errors import InputError
from siamese_news.utils.checksums import SUMS
from siamese_news.utils.terminal import echo
from siamese_news_desk.cli.sample import (
    AtLeastOption,
    SheetFormatOption,
    TextsOption,
    plan_of,
)


def certify(
    labels: Annotated[
        list[Path] | None,
        typer.Option(help="Labeled sheets, in any order. May be repeated."),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(
            metavar="CERTIFICATE",
            help="Check a certificate, or the one in a folder, against its scores, plan and "
            "labels; or a packet.",
        ),
    ] = None,
    packet: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="With --check: write a packet for reviewers and supplements, without texts: "
            "protocol, flow of rows, tables by group, scores, labels, plan and certificate.",
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(help="Plan (default: <sheet>.plan.json next to the first sheet)."),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(help="Scored posts (default: the file named in the plan)."),
    ] = None,
    posts: TextsOption = None,
    extra_labels: Annotated[
        int,
        typer.Option(
            "--more", min=0, help="Allow this many labels more than the budget."
        ),
    ] = 0,
    at_least: AtLeastOption = 25,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Show the precision of each group of the list: year, month, day or a column of "
            "the results (default: lang and month, if there are such columns). May be repeated.",
        ),
    ] = None,
    format: SheetFormatOption = None,
) -> None:
    """Find the list with the wanted precision from labels; write it and the next sheet to label.

    Example: siamese-news certify --labels sheet.csv --labels sheet.2.csv

    The list holds all posts above a score, except those that were labeled not relevant, and the
    posts below that were labeled relevant. If nothing is certified, the latter are the list.

    Example: siamese-news certify --check sheet.certificate.json --packet supplement; then
    siamese-news certify --check supplement

    Writes <sheet>.certificate.csv (their ids), .certificate.json and .html, and the next sheet.
    """
    from siamese_news_desk.decide.certificate import (
        certificate_of,
        left_sentence,
        sentence_of,
        write_files,
    )
    from siamese_news_desk.decide.certificate_page import page_of
    from siamese_news_desk.decide.certification import Certification
    from siamese_news_desk.decide.checking import certificate_in, check_certificate
    from siamese_news_desk.decide.next_sheet import expect_all, write_next_sheet
    from siamese_news_desk.decide.packet import check_packet, write_packet
    from siamese_news_desk.labels.matching import changed_sentence, read_labels

    if bool(labels) == (check is not None):
        raise InputError("expected either --labels or --check")
    if packet is not None and check is None:
        raise InputError("--packet requires --check, the certificate to pack")
    if check is not None and (check / SUMS).exists():
        content, unchecked = check_packet(check)
        for claim in content["claims"]:
            typer.echo(sentence_of(content, claim))
        echo(
            f"{check}: holds: its files are unchanged, and the certificate follows from its plan, "
            "scores and labels"
        )
        if unchecked:
            echo(f"not checked: {'; '.join(unchecked)}")
        return
    if check is not None:
        check = certificate_in(check)
        checked = check_certificate(check, plan=plan, results=results, posts=posts)
        changed = changed_sentence(checked.content["labels"]["changed"])
        echo(
            f"{check}: holds: every statement follows from its scores, plan and labels.{changed}"
        )
        echo(
            f"not checked, because nothing else says it: {'; '.join(checked.unchecked)}"
        )
        if packet is not None:
            echo(f"{packet}: {', '.join(write_packet(packet, check, checked))}")
        return
    assert labels
    default_plan = plan_of(labels, "sample")  # checks the sheets, whatever --plan names
    path = plan or default_plan
    certification = Certification.resume(path, results=results, posts=posts)
    labels_given = read_labels(labels, certification.sampled)
    expect_all(path, labels)
    certification.log.look(labels_given)
    claims = certification.claims(labels_given)
    content = certificate_of(certification, claims, labels_given, labels, by or [])
    written = write_files(certification, claims, content, page_of(content))
    for remark in content["remarks"]:
        echo(remark)
    for claim in content["claims"]:
        typer.echo(sentence_of(content, claim))
    for file in written:
        echo(file)
    if advice := left_sentence(content):
        echo(advice)
    for sentence in write_next_sheet(
        certification,
        labels_given,
        labels[0],
        format,
        extra_labels=extra_labels,
        at_least=at_least,
    ):
        echo(sentence)
