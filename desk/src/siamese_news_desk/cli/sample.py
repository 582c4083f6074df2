"""``siamese-news sample``."""

from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Literal

import typer

from siamese_news.errors import InputError
from siamese_news.utils.terminal import counted, echo
from siamese_news_desk.labels.shares import typed_share

BUDGET = 300  # labels of a plan, unless another number is asked for


def share_option(help: str) -> Any:
    """An option whose value is a share such as .9, 90% or 0,9."""
    return typer.Option(parser=typed_share, metavar="SHARE", help=help)


ResultsOption = Annotated[
    Path,
    typer.Option(
        metavar="FILE",
        help="Scored posts: a results file of rank or filter, of the whole pool if possible.",
    ),
]
TextsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--posts",
        metavar="PATH",
        help="Files or folders with the posts, if the results hold no texts. May be repeated.",
    ),
]
SheetFormatOption = Annotated[
    Literal["csv", "jsonl", "labelstudio", "prodigy"] | None,
    typer.Option(help="Format of the sheet (default: by the extension of its name)."),
]
ConfidenceOption = Annotated[
    str, share_option("Confidence level: the share of such statements that hold.")
]
SeedOption = Annotated[
    int, typer.Option(help="Seed of the random order; choose it once and keep it.")
]
AnotherPlanOption = Annotated[
    bool,
    typer.Option(
        "--again",
        help="Make another plan over the same posts; its confidence accounts for all of them.",
    ),
]
WithdrawOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="PLAN",
        help="Replace this earlier plan by the new one: its sheets are refused from now on. If "
        "only targets and confidence change, just the confidence of all targets together pays for "
        "it. May be repeated.",
    ),
]
AtLeastOption = Annotated[
    int,
    typer.Option(
        min=1,
        help="Posts of a sheet. With 1, only posts that must be labeled in any case; with more, "
        "there are fewer rounds, but some labels may turn out not to be needed.",
    ),
]
CriteriaOption = Annotated[
    str,
    typer.Option(metavar="TEXT", help="What counts as relevant; kept with the plan."),
]


def new_sheet(out: Path, format: str | None) -> str:
    """The format of a new sheet; an `InputError` if it exists already."""
    from siamese_news_desk.labels.sheets import format_of

    chosen = format_of(out, format)
    if out.exists():
        raise InputError(
            f"{out}: already exists and may have labels; name another file"
        )
    return chosen


# The commands that write sheets, and those that read the labels in them.
_READERS = {
    "sample": "certify",
    "audit": "audit",
    "sample --for relevance": "relevance",
    "feedback --next": "feedback",
}


def plan_of(labels: list[Path], *writers: str) -> Path:
    """The plan next to the first of some labeled sheets.

    Raises:
        InputError: a sheet is missing, or is one of another command than these `writers`.
    """
    from siamese_news_desk.decide.plan.sealed_files import sibling

    for sheet in labels:
        if not sheet.is_file():
            state = (
                "is a folder, expected a labeled sheet"
                if sheet.is_dir()
                else "no such sheet"
            )
            raise InputError(f"{sheet}: {state}; check the path")
        writer = _writer_of(sheet)
        if writer not in ("", *writers):
            raise InputError(
                f"{sheet}: is a sheet of {writer}, for siamese-news {_READERS[writer]} --labels; "
                f"expected one of {' or '.join(writers)}"
            )
    return sibling(labels[0], "plan.json")


def _writer_of(sheet: Path) -> str:
    """The command that wrote a sheet; empty if nothing in it or next to it says so."""
    from siamese_news_desk.decide.plan.sealed_files import read_sealed, sibling
    from siamese_news_desk.labels.matching import (
        FOR_LEARNING,
        FOR_RELEVANCE,
        is_key,
        keys_in,
    )
    from siamese_news_desk.labels.sheets import read_rows

    with suppress(InputError):  # whoever reads a damaged file names it
        drawn = [*keys_in(sheet), *keys_in(sibling(sheet, "drawn.jsonl"))]
        if any(is_key(key, FOR_RELEVANCE, name) for name, key in drawn):
            return "sample --for relevance"
        if any(row.key.startswith(FOR_LEARNING) for row in read_rows(sheet)):
            return "feedback --next"
        kind = read_sealed(sibling(sheet, "plan.json"), "plan")["kind"]
        return {"precision": "sample", "audit": "audit"}.get(kind, "")
    return ""


def sample(
    results: ResultsOption,
    out: Annotated[
        Path,
        typer.Option(
            help="Sheet to write: .csv, .jsonl, .json (Label Studio) or .prodigy.jsonl."
        ),
    ],
    precision: Annotated[
        list[str] | None,
        share_option("Precision to certify, such as .9 or 90%. May be repeated."),
    ] = None,
    purpose: Annotated[
        Literal["certificate", "relevance"],
        typer.Option(
            "--for",
            help="relevance: draw 10 posts (or --budget, 10 to 100) whose labels make the relevance "
            "of the list your own (siamese-news relevance); no certificate.",
        ),
    ] = "certificate",
    labels: Annotated[
        list[Path] | None,
        typer.Option(
            help="With --for relevance: the labeled sheets so far, the first one first. The posts are "
            "those whose relevance these labels leave open. May be repeated."
        ),
    ] = None,
    confidence: ConfidenceOption = ".95",
    budget: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of labels planned in total (default: 300; 10 for relevance).",
        ),
    ] = None,
    first_set_size: Annotated[
        int | None,
        typer.Option(
            "--first",
            min=10,
            help="Posts of the first set (default: 150 with 300 labels; more where the "
            "relevance that the search estimates promises a long list).",
        ),
    ] = None,
    seed: SeedOption = 0,
    false_positive_rate: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=0.99,
            help="Share of irrelevant posts that the annotator labels as relevant.",
        ),
    ] = None,
    false_negative_rate: Annotated[
        float,
        typer.Option(
            min=0,
            max=0.99,
            help="With --false-positive-rate: lowest share of relevant posts that are missed.",
        ),
    ] = 0.0,
    criteria: CriteriaOption = "",
    posts: TextsOption = None,
    format: SheetFormatOption = None,
    at_least: AtLeastOption = 25,
    another_plan: AnotherPlanOption = False,
    withdraw: WithdrawOption = None,
) -> None:
    """Draw posts to label, from which certify finds the list with the wanted precision.

    Example: siamese-news sample --results scored.parquet --precision .9 --out sheet.csv

    For relevance: siamese-news sample --for relevance --results scored.parquet --out sheet.csv; then
    ten more posts, with --labels sheet.csv --out more.csv

    Also writes <sheet>.plan.json, which fixes everything before the first label, and
    <sheet>.drawn.jsonl.
    """
    from siamese_news_desk.decide.certification import Certification, Settings
    from siamese_news_desk.decide.plan.sealed_files import sibling
    from siamese_news_desk.decide.sentences import choice_sentence, other_plans
    from siamese_news_desk.labels.matching import Labels
    from siamese_news_desk.labels.sheets import write_sheet

    if purpose == "relevance":
        if precision or withdraw or another_plan:
            raise InputError(
                "--for relevance makes no plan; leave out --precision, --again and --withdraw"
            )
        chosen = new_sheet(out, format)
        _draw_for_relevance(results, out, chosen, labels or [], budget, seed, posts)
        return
    if labels:
        raise InputError("--labels is for --for relevance; a plan knows its own labels")
    if not precision:
        raise InputError(
            "expected --precision, the precision to certify such as .9, or --for relevance"
        )
    chosen = new_sheet(out, format)
    settings = Settings(
        targets=tuple(precision),
        confidence=confidence,
        budget=budget or BUDGET,
        first=first_set_size,
        seed=seed,
        false_positive=false_positive_rate,
        false_negative=false_negative_rate,
    )
    certification = Certification.start(
        results,
        sibling(out, "plan.json"),
        settings,
        needs_texts=True,
        posts=posts,
        another_plan=another_plan,
        withdraw=withdraw or [],
        criteria=criteria,
    )
    units = certification.texts.units(
        certification.request(Labels(), at_least=at_least).ranks
    )
    write_sheet(out, certification.sampled.keyed(units), chosen)
    echo(
        f"{out}: {counted(len(units), 'post')} to label of {len(certification.population):,}; then: "
        f"siamese-news certify --labels {quote(str(out))}"
    )
    charged = certification.charged
    remarks = [*certification.remarks(), certification.first_remark()]
    if charged.other_criteria or charged.unknown:
        remarks.append(choice_sentence(other_plans(certification)).strip())
    for remark in filter(None, remarks):
        echo(remark)
    if certification.joint_error > 1 - Fraction(confidence):
        counts = (
            (len(charged.earlier), "earlier plan"),
            (len(charged.same_labels), "withdrawn plan"),
        )
        earlier_plans = " and ".join(
            counted(number, noun) for number, noun in counts if number
        )
        echo(
            f"confidence: {float(1 - certification.error):g} for each target, "
            f"{float(1 - certification.joint_error):g} for all together"
            + (
                f", after {earlier_plans} over these posts or a part of them"
                if earlier_plans
                else ""
            )
        )


def _draw_for_relevance(
    results: Path,
    out: Path,
    format: str,
    labels: list[Path],
    budget: int | None,
    seed: int,
    posts: list[Path] | None,
) -> None:
    from siamese_news_desk.decide.own_relevance import (
        FEWEST,
        estimates_of,
        next_places,
        own_sample,
    )
    from siamese_news_desk.decide.plan.texts import Texts
    from siamese_news_desk.labels.matching import read_labels
    from siamese_news_desk.labels.sheets import write_sheet

    estimates = estimates_of(results)
    texts = Texts(estimates[0], posts)
    texts.expect_any()
    if labels:
        plan_of(labels, "sample --for relevance")
    sheets = [*labels, out]
    sampled = own_sample(sheets[0])
    drawn = list(sampled.by_name) if labels else []
    verdicts = read_labels(labels, sampled)
    units = texts.units(next_places(estimates, drawn, verdicts, budget or FEWEST, seed))
    write_sheet(out, sampled.keyed(units), format)
    sheet_options = " ".join(f"--labels {quote(str(sheet))}" for sheet in sheets)
    echo(
        f"{out}: {counted(len(units), 'post')} to label, of {len(estimates[0]):,}; then siamese-news "
        f"relevance --results {quote(str(results))} {sheet_options} --out map.json. With --labels, "
        "sample --for relevance draws more posts, where these labels leave relevance open"
    )
