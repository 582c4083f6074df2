"""``siamese-news sample``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from siamese_news.utils.exits import bad_input_exits


class SheetFormat(StrEnum):
    """How a sheet for labelling is written."""

    csv = "csv"
    jsonl = "jsonl"
    labelstudio = "labelstudio"
    prodigy = "prodigy"


ResultsOption = Annotated[
    Path,
    typer.Option(
        metavar="FILE", help="Scored posts: what rank or filter wrote; the whole pool if possible."
    ),
]
TextsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--posts",
        metavar="FILE",
        help="The posts themselves, where the results hold no texts. May be given several times.",
    ),
]
SheetOption = Annotated[
    Path,
    typer.Option(help="The sheet to write: .csv, .jsonl, .json (Label Studio), .prodigy.jsonl."),
]
SheetFormatOption = Annotated[
    SheetFormat | None, typer.Option(help="Else by the ending of the sheet's name.")
]
ConfidenceOption = Annotated[str, typer.Option(help="Share of such statements that are right.")]
SeedOption = Annotated[int, typer.Option(help="Of the random order; choose it once.")]
AgainOption = Annotated[
    bool,
    typer.Option(
        "--again", help="A further plan over the same posts: its confidence pays for all of them."
    ),
]
WithdrawOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="PLAN",
        help="Give up this earlier plan for the new one: its sheets are refused from now on. Free "
        "where only targets and confidence change. May be given several times.",
    ),
]
AT_LEAST = (
    "Posts of a sheet. With 1, only those that are needed in any case; more save rounds and may "
    "turn out not to be needed."
)
CriteriaOption = Annotated[
    str, typer.Option(metavar="TEXT", help="What counts as relevant, to be kept with the plan.")
]


def sample(
    results: ResultsOption,
    out: SheetOption,
    precision: Annotated[
        list[str],
        typer.Option(help="Precision to certify, such as .9. May be given several times."),
    ],
    confidence: ConfidenceOption = ".95",
    budget: Annotated[int, typer.Option(min=1, help="Labels that are planned in all.")] = 300,
    joint: Annotated[
        bool, typer.Option("--joint", help="All precisions together hold at the confidence.")
    ] = False,
    first: Annotated[
        int | None, typer.Option(min=10, help="Posts of the first set; else 150 with 300 labels.")
    ] = None,
    ratio: Annotated[str | None, typer.Option(help="Of one set to the one before.")] = None,
    seed: SeedOption = 0,
    false_positive_rate: Annotated[
        float | None,
        typer.Option(
            min=0, max=0.99, help="Share of not relevant posts that the annotator calls relevant."
        ),
    ] = None,
    false_negative_rate: Annotated[
        float, typer.Option(min=0, max=0.99, help="With it: of relevant ones missed, at least.")
    ] = 0.0,
    criteria: CriteriaOption = "",
    posts: TextsOption = None,
    format: SheetFormatOption = None,
    at_least: Annotated[int, typer.Option(min=1, help=AT_LEAST)] = 25,
    again: AgainOption = False,
    withdraw: WithdrawOption = None,
) -> None:
    """Draw the posts to label, so that certify can say which list has the wanted precision.

    Example: siamese-news sample --results scored.parquet --precision .9 --out sheet.csv

    Beside the sheet go <sheet>.plan.json (all that is fixed now) and <sheet>.drawn.jsonl.

    Exit codes: 0 done, 1 output cannot be written, 2 bad input (says what), 130 interrupted.
    """
    with bad_input_exits():
        from fractions import Fraction

        from siamese_news.decide.certification import Certification, Settings
        from siamese_news.decide.plan.design import RATIO, share_of
        from siamese_news.decide.plan.files import beside
        from siamese_news.errors import InputError
        from siamese_news.labels.matching import Labels
        from siamese_news.labels.sheets import format_of, write_sheet

        targets = [share_of(target, "--precision") for target in precision]
        if len(set(targets)) < len(targets):
            raise InputError("--precision names one target twice; expected each once")
        share_of(confidence, "--confidence")
        try:
            growing = Fraction(ratio) > 1 if ratio else True
        except (ValueError, ZeroDivisionError):
            growing = False
        if not growing:
            raise InputError(f"--ratio is {ratio!r}; expected a number above 1, such as 1.02")
        if false_negative_rate and false_positive_rate is None:
            raise InputError("--false-negative-rate says nothing without --false-positive-rate")
        if false_positive_rate is not None and false_positive_rate + false_negative_rate >= 1:
            raise InputError(
                f"--false-positive-rate is {false_positive_rate:g} and --false-negative-rate "
                f"{false_negative_rate:g}; expected less than 1 together: such labels say nothing, "
                "or the opposite of the truth"
            )
        chosen = format_of(out, format.value if format else None)
        if out.exists():
            raise InputError(f"{out}: is there already and may have labels; name another --out")
        settings = Settings(
            targets=tuple(precision),
            confidence=confidence,
            budget=budget,
            first=first,
            ratio=ratio or str(RATIO),
            seed=seed,
            joint=joint,
            false_positive=false_positive_rate,
            false_negative=false_negative_rate,
        )
        work = Certification.start(
            results,
            beside(out, "plan.json"),
            settings,
            posts=posts,
            again=again,
            withdraw=withdraw or [],
            criteria=criteria,
        )
        ranks = work.next_posts(Labels(), at_least=at_least)
        units = work.units(ranks)
        write_sheet(out, work.sampled.keyed(units), chosen)
        typer.echo(
            f"{out}: {len(units):,} posts to label of {len(work.population):,}; then: "
            f"siamese-news certify --labels {out}",
            err=True,
        )
        if not any(unit.text for unit in units):
            typer.echo(f"{results}: has no texts; --posts puts them into the sheet", err=True)
        earlier = work.plan["earlier"]
        if work.joint_error > 1 - Fraction(confidence):
            typer.echo(
                f"confidence: {float(1 - work.error):g} for each target, "
                f"{float(1 - work.joint_error):g} for all together"
                + (f", after {len(earlier)} earlier plans" if earlier else ""),
                err=True,
            )
