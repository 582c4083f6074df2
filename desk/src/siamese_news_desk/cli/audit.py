"""``siamese-news audit``."""

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from siamese_news.errors import InputError
from siamese_news.search.query import read_score
from siamese_news.utils.terminal import counted, echo
from siamese_news_desk.cli.sample import (
    AnotherPlanOption,
    ConfidenceOption,
    CriteriaOption,
    SeedOption,
    SheetFormatOption,
    TextsOption,
    WithdrawOption,
    new_sheet,
    plan_of,
)


def audit(
    results: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A list of posts, or a scored pool."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Sheet of posts to label.")] = None,
    labels: Annotated[
        list[Path] | None, typer.Option(help="The labeled sheet: report its result.")
    ] = None,
    budget: Annotated[int, typer.Option(min=1, help="Number of posts to draw.")] = 100,
    confidence: ConfidenceOption = ".95",
    threshold: Annotated[
        str | None,
        typer.Option(
            metavar="SCORE",
            help="Estimate the recall at this score, within --population.",
        ),
    ] = None,
    population: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="With --threshold or --certificate: number of best posts to consider.",
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Bound the recall of this certificate's list, within --population, from posts "
            "below the list: precision and recall in one sentence.",
        ),
    ] = None,
    seed: SeedOption = 0,
    criteria: CriteriaOption = "",
    posts: TextsOption = None,
    format: SheetFormatOption = None,
    another_plan: AnotherPlanOption = False,
    withdraw: WithdrawOption = None,
) -> None:
    """Estimate how many posts of a list are relevant, or how many a threshold misses.

    Example: siamese-news audit --results list.csv --budget 100 --out sheet.csv; then
    siamese-news audit --labels sheet.csv

    Example: siamese-news audit --results scored.jsonl --certificate sheet.certificate.json
    --population 20000 --out recall.csv

    To look at the result before all labels are made, use siamese-news sample --first N, where N is
    the number of posts in the list.
    """
    from siamese_news_desk.decide.audit_plan import Audit, sentence_of
    from siamese_news_desk.decide.plan.sealed_files import sibling, write_sealed
    from siamese_news_desk.labels.matching import read_labels
    from siamese_news_desk.labels.sheets import write_sheet

    if labels:
        path = plan_of(labels, "audit")
        sample = Audit.resume(path, results=results, posts=posts)
        labels_given = read_labels(labels, sample.sampled)
        report = sample.report(labels_given)
        write_sealed(sibling(path, "audit.json"), report)
        for remark in labels_given.remarks():
            echo(remark)
        typer.echo(sentence_of(report))
        return
    if results is None or out is None:
        raise InputError(
            "expected --results and --out to draw posts, or --labels to read them"
        )
    chosen = new_sheet(out, format)
    sample = Audit.start(
        results,
        sibling(out, "plan.json"),
        budget=budget,
        confidence=confidence,
        seed=seed,
        threshold=None if threshold is None else read_score(threshold),
        size=population,
        certificate=certificate,
        posts=posts,
        another_plan=another_plan,
        withdraw=withdraw or [],
        criteria=criteria,
        needs_texts=True,
    )
    rows = sample.draw()
    write_sheet(out, rows, chosen)
    echo(
        f"{out}: {counted(len(rows), 'post')} to label, all of them; then: "
        f"siamese-news audit --labels {quote(str(out))}"
    )
    if earlier := len(sample.charged.earlier):
        echo(
            f"confidence: {float(sample.confidence):g}, after {counted(earlier, 'earlier audit')} of "
            "these posts or a part of them"
        )
