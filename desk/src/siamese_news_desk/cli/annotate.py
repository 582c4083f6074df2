"""``siamese-news annotate``."""

import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from siamese_news.errors import InputError
from siamese_news.utils.exits import ending
from siamese_news.utils.terminal import clean, counted, echo
from siamese_news_desk.cli.sample import (
    AnotherPlanOption,
    ConfidenceOption,
    SeedOption,
    TextsOption,
    share_option,
)

if TYPE_CHECKING:
    from siamese_news_desk.labels.journal import LabelJournal
    from siamese_news_desk.labels.units import Unit

_LABELS = {"y": "yes", "n": "no", "s": "skip"}


@ending("all labels are on disk; run the same command again to continue")
def annotate(
    labels: Annotated[
        Path,
        typer.Option(help="File of labels (.jsonl); an existing one is continued."),
    ],
    results: Annotated[
        Path | None,
        typer.Option(help="Scored posts: a results file of rank or filter."),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(help="Label for the certificate of this plan from sample."),
    ] = None,
    find: Annotated[
        int | None, typer.Option(min=1, help="Stop after this many relevant posts.")
    ] = None,
    recall: Annotated[
        str | None, share_option("Stop when this share of all relevant posts is found.")
    ] = None,
    rule: Annotated[
        Literal["random-first", "learn-first"],
        typer.Option(
            help="With --recall: begin with random posts, or in a learned order."
        ),
    ] = "random-first",
    positives: Annotated[
        int,
        typer.Option(
            min=1,
            help="With --rule random-first: relevant posts to find at random first.",
        ),
    ] = 100,
    confidence: ConfidenceOption = ".95",
    seed: SeedOption = 0,
    criteria: Annotated[
        str,
        typer.Option(
            metavar="TEXT", help="What counts as relevant; shown on the screen."
        ),
    ] = "",
    annotator: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the annotator.")
    ] = "me",
    posts: TextsOption = None,
    another_plan: AnotherPlanOption = False,
) -> None:
    """Label posts in the terminal, one key each, until there are enough labels.

    Keys: y relevant, n not relevant, s skip (counts as not relevant), u undo, t note, q stop.

    Example: siamese-news annotate --results scored.parquet --recall .8 --labels mine.jsonl

    Example: siamese-news annotate --plan sheet.plan.json --labels mine.jsonl, then certify

    --plan, --find and --recall may be combined: posts for the certificate come first.

    Each label is saved before the next post is shown; the same command continues.
    """
    from siamese_news_desk.decide.certification import Certification
    from siamese_news_desk.decide.plan.ledger import plain_criteria
    from siamese_news_desk.decide.plan.sealed_files import sibling
    from siamese_news_desk.decide.recall import sentence_of
    from siamese_news_desk.decide.session import Session
    from siamese_news_desk.decide.stopping import Goal, Stopping

    if labels.suffix != ".jsonl":
        raise InputError(f"{labels}: expected a name that ends with .jsonl")
    if labels.is_dir():
        raise InputError(f"{labels}: is a folder; expected the name of a file")
    if not annotator.strip():
        raise InputError("--annotator is blank; expected a name")
    stops = find is not None or recall is not None
    goal = Goal(find, recall, rule, positives, confidence, seed)
    if plan is None and (results is None or not stops):
        raise InputError("expected --plan, or --results with --find or --recall")
    plans: list[Certification | Stopping] = []
    if plan is not None:
        certification = Certification.resume(plan, results=results, posts=posts)
        certification.expect_criteria(criteria)
        certification.texts.expect_any()
        results = certification.results
        plans.append(
            certification
        )  # first, because the order of its posts reveals nothing
    if stops:
        assert results is not None
        goals = Stopping.start(
            results,
            sibling(labels, "goals.plan.json" if plan else "plan.json"),
            goal,
            posts=posts,
            another_plan=another_plan,
            criteria="" if plan else criteria,
            needs_texts=plan is None,
        )
        plans.append(goals)
    session = Session(plans, labels)
    text = criteria if plain_criteria(criteria) else plans[0].plan["criteria"]
    while (unit := session.ask()) is not None:
        _show(unit, text, session.status())
        if not _labeled(session.journal, unit, annotator):
            break
    typer.echo(f"\n{session.status()}")
    for remark in session.remarks():
        echo(remark)
    for file, content in session.findings():
        typer.echo(sentence_of(content))
        echo(f"{file}: this result, sealed")
    if unit is not None:
        echo(
            f"{labels}: all labels are on disk; run the same command again to continue"
        )
        return
    population = counted(len(plans[0].population), "post")
    posts_of = f"{population} of {plans[0].results.name}"
    short = stops and not goals.find_reached(session.labels)
    if short:
        n_relevant = "none is" if find == 1 else f"fewer than {find:,} are"
        echo(
            f"every one of the {posts_of} is labeled, and {n_relevant} relevant: this goal cannot "
            "be reached"
        )
    if plan is not None:
        files = f"--plan {quote(str(plan))} --labels {quote(str(labels))}"
        echo(f"done; now: siamese-news certify {files}")
    elif not short:
        echo(f"done: the goal is reached, among the {posts_of}")


def _labeled(journal: "LabelJournal", unit: "Unit", annotator: str) -> bool:
    """Read keys until the post has a label or the last one was undone; whether to continue."""
    note = ""
    while True:
        pressed = _key().lower()
        if pressed in ("", "q"):
            return False
        if pressed == "t":
            typer.echo("\nnote: ", nl=False)
            note = sys.stdin.readline().strip()
        elif pressed == "u":
            if journal.undo(annotator) is not None:
                return True
        elif pressed in _LABELS:
            journal.add(unit.name, _LABELS[pressed], annotator, note=note)
            return True


def _show(unit: "Unit", criteria: str, status: str) -> None:
    typer.echo("\x1b[2J\x1b[H" if sys.stdout.isatty() else "-" * 40)
    if criteria:
        typer.echo(f"Relevant: {clean(criteria)}")
    typer.echo(f"{status}\n")
    if unit.article:
        typer.echo(f"Article: {clean(unit.article)}")
    typer.echo(clean(unit.text) or f"(no text; post {clean(unit.post)})")
    if unit.link:
        typer.echo(clean(unit.link))
    typer.echo(
        "\n[y] relevant  [n] not  [s] skip  [u] undo  [t] note  [q] stop ", nl=False
    )


def _key() -> str:
    """One key; from a pipe the next character that is not white space. Empty at the end."""
    sys.stdout.flush()
    if not sys.stdin.isatty():
        while (character := sys.stdin.read(1)).isspace():
            pass
        return character
    try:
        # Of several characters for an arrow key or a pasted text.
        return typer.getchar()
    except EOFError:
        return ""
