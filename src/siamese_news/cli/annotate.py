"""``siamese-news annotate``."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from siamese_news.cli.sample import AgainOption, ConfidenceOption, SeedOption, TextsOption
from siamese_news.utils.exits import bad_input_exits

if TYPE_CHECKING:
    from siamese_news.labels.journal import LabelJournal
    from siamese_news.labels.results import Unit

_LABELS = {"y": "yes", "n": "no", "s": "skip"}


class RecallRule(StrEnum):
    """How recall is shown."""

    random_first = "random-first"
    learn_first = "learn-first"


def annotate(
    labels: Annotated[
        Path, typer.Option(help="The file of labels (.jsonl); goes on where it is there already.")
    ],
    results: Annotated[
        Path | None, typer.Option(help="Scored posts: what rank or filter wrote.")
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(help="Label for the certificate of this plan, which sample made.")
    ] = None,
    find: Annotated[
        int | None, typer.Option(min=1, help="Stop when so many relevant posts are found.")
    ] = None,
    recall: Annotated[
        str | None, typer.Option(help="Stop when this share of the relevant posts is found.")
    ] = None,
    rule: Annotated[
        RecallRule, typer.Option(help="Random posts first, or a learned order first.")
    ] = RecallRule.random_first,
    positives: Annotated[
        int, typer.Option(min=1, help="With random-first: relevant posts to wait for.")
    ] = 100,
    confidence: ConfidenceOption = ".95",
    seed: SeedOption = 0,
    criteria: Annotated[
        str, typer.Option(metavar="TEXT", help="What counts as relevant; stays on the screen.")
    ] = "",
    annotator: Annotated[str, typer.Option(metavar="NAME", help="Who labels.")] = "me",
    posts: TextsOption = None,
    again: AgainOption = False,
) -> None:
    """Label posts in the terminal, one key each, until a rule says that it is enough.

    Keys: y relevant, n not, s skip (counts as not relevant), u undo, t note, q stop.

    Example: siamese-news annotate --results scored.parquet --recall .8 --labels mine.jsonl

    Example: siamese-news annotate --plan sheet.plan.json --labels mine.jsonl, then certify

    --plan, --find and --recall may be joined: the certificate first, then what the others need.

    Each label is on disk before the next post; the same command goes on.

    Exit codes: 0 done or stopped, 1 cannot be written, 2 bad input (says what), 130 interrupted.
    """
    with bad_input_exits("all labels are on disk; the same command goes on"):
        from siamese_news.decide.certification import Certification
        from siamese_news.decide.plan.design import share_of
        from siamese_news.decide.plan.files import SEAL, beside
        from siamese_news.decide.stopping.goals import Goal, Several, Stopping
        from siamese_news.errors import InputError
        from siamese_news.labels.journal import LabelJournal
        from siamese_news.labels.matching import labels_in

        if labels.suffix != ".jsonl":
            raise InputError(f"{labels}: expected a name that ends with .jsonl")
        stops = find is not None or recall is not None
        if recall is not None:
            share_of(recall, "--recall")
        share_of(confidence, "--confidence")
        goal = Goal(find, recall, rule.value, positives, confidence, seed)
        work: Certification | Stopping | Several
        if plan is not None:
            work = certification = Certification.resume(plan, results=results, posts=posts)
            text = criteria or certification.plan["criteria"]
            if stops:
                path = beside(labels, "goals.plan.json")
                stopping = Stopping.start(
                    certification.results, path, goal, posts=posts, again=again
                )
                work = Several(certification, stopping)
        else:
            if results is None or not stops:
                raise InputError("expected --plan, or --results with --find or --recall")
            path = beside(labels, "plan.json")
            work = Stopping.start(results, path, goal, posts=posts, again=again, criteria=criteria)
            text = criteria or work.plan["criteria"]
        journal = LabelJournal(labels, work.plan[SEAL])
        try:
            while (unit := work.ask(labels_in(journal, work.sampled))) is not None:
                work.sampled.draw([unit])
                _show(unit, text, work.status(labels_in(journal, work.sampled)))
                if not _labeled(journal, unit, annotator):
                    break
        finally:
            journal.close()
        typer.echo("")
        typer.echo(work.status(labels_in(journal, work.sampled)))
        if unit is not None:
            typer.echo(f"{labels}: all labels are on disk; the same command goes on", err=True)
        elif plan is not None:
            typer.echo(f"done; now: siamese-news certify --plan {plan} --labels {labels}", err=True)
        else:
            typer.echo("done: the rule is satisfied", err=True)


def _labeled(journal: "LabelJournal", unit: "Unit", annotator: str) -> bool:
    """Read keys until the post has a label or one was taken back; whether to go on."""
    note = ""
    while True:
        pressed = _key().lower()
        if pressed in ("", "q"):
            return False
        if pressed == "t":
            note = _line("note: ")
        elif pressed == "u":
            if journal.undo(annotator) is not None:
                return True
        elif pressed in _LABELS:
            journal.add(unit.name, _LABELS[pressed], annotator, note=note)
            return True


def _show(unit: "Unit", criteria: str, status: str) -> None:
    from siamese_news.utils.terminal import clean

    terminal = sys.stdout.isatty()
    typer.echo("\x1b[2J\x1b[H" if terminal else "-" * 40)
    if criteria:
        typer.echo(f"Relevant: {clean(criteria)}")
    typer.echo(status)
    typer.echo("")
    if unit.article:
        typer.echo(f"Article: {clean(unit.article)}")
    typer.echo(clean(unit.text) or f"(no text; post {clean(unit.post)})")
    if unit.link:
        typer.echo(clean(unit.link))
    typer.echo("")
    typer.echo("[y] relevant  [n] not  [s] skip  [u] undo  [t] note  [q] stop ", nl=False)


def _key() -> str:
    """One key; from a pipe one character, white space left out."""
    sys.stdout.flush()
    if not sys.stdin.isatty():
        while True:
            one = sys.stdin.read(1)
            if not one or not one.isspace():
                return one
    import termios
    import tty

    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    try:
        tty.setcbreak(handle)
        return sys.stdin.read(1)
    finally:
        termios.tcsetattr(handle, termios.TCSADRAIN, before)


def _line(prompt: str) -> str:
    typer.echo("")
    typer.echo(prompt, nl=False)
    return sys.stdin.readline().strip()
