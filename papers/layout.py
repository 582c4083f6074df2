"""The folder: each table as CSV and Markdown, each figure as PNG and SVG, and one page over all."""

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from papers.exhibit import Content, Exhibit, Figure, Table
from papers.jobs import Result
from papers.style import styled
from siamese_news.utils.csv_files import write_csv
from siamese_news.utils.files import atomic_write
from siamese_news.utils.markdown import markdown_table, plain_cell
from siamese_news.utils.provenance import provenance

INDEX = "index.html"
TITLES = {
    "ast": "Adaptive Siamese Transformer (Danovitch 2020)",
    "samcnn": "Simple attention-based CNN (samCNN; Shi, Rao and Lin 2019)",
}
IN_HISTORY = "revision in the history"  # false in a result of a revision that was rewritten since
NUMBER = r"[-+−]?\d[\d,]*(\.\d+)?"
WIDE = 6  # columns that still fit side by side
# A longer table is folded: next to a figure the alphas of every head, or every threshold. Whoever
# comes for a table of the paper finds it open.
ROWS_IN_VIEW = {"figure": 14, "table": 24}
# Details with more characters or numbers are folded: they repeat the figures of a table.
DETAILS_IN_VIEW = 300
NUMBERS_IN_VIEW = 4
# Of a picture, in rem per inch: its full width, and the least at which its text can be read.
# In a narrower window the picture scrolls; on a phone it is whole.
FULL_WIDTH, READABLE_WIDTH = 9, 6.5
# What a reader of one paper's page needs to know before the first table.
WORDS = {
    "ast": {
        "AST": "the paper's encoder, a star transformer whose attention can be sparse; articles "
        "and posts go through the same encoder",
        "AST, projected heads": "the paper's encoder with the released code's linear map after "
        "the attention heads; “AST” alone means this one in our figures",
        "AST, best": "the library's own version of the encoder (encoder=star): it starts as a "
        "weighted mean of the word vectors and learns what to add",
        "usatoday-cnn": "the collection of articles and posts that stands here for the authors' "
        "data",
        "split by event, by pair": "by event, the test has stories that were not in training; by "
        "pair, it has new posts about articles that were",
        "mAP": "average precision over all pairs of an article and a post, in one list",
        "MAP by article": "the mean of the average precision of each article's list",
        "r-Precision, mRP": "the share of relevant pairs among the first r; its mean over several r",
        "AUC": "how often a relevant pair scores higher than another one; .5 by chance",
        "dev": "the part of the data on which a model is chosen; the test is only reported",
        "alpha": "how sparse an attention head is: 1 is softmax, 2 is sparsemax",
        "±": "the deviation over the seeds of the training",
    },
    "samcnn": {
        "BiCNN, QAtt, PAtt": "the paper's encoders: without attention, with attention to the "
        "query, with attention to the post",
        "QL, RM3, MP-HCNN": "the systems that they are compared with: query likelihood, the same "
        "with words of the best posts, and a neural ranker",
        "+QL": "the score is a weighted sum with that of query likelihood",
        "topic": "a query of TREC Microblog; the candidates are the posts to rank for it",
        "AP, P30": "average precision; the share of relevant posts among the first 30",
        "single model, ensemble": "one training; the mean of ten with different seeds",
        "as chosen": "with the word vectors and settings that were best on held-out topics",
        "±": "the deviation over the seeds of the training",
    },
}


@dataclass(frozen=True, slots=True)
class Made:
    """An exhibit with its content and the results behind it."""

    exhibit: Exhibit
    content: Content
    results: Sequence[Result]  # of its jobs, in order
    bundled: bool  # made on the bundled stories, without the shared data
    missing: str = ""  # the runs without a result, in words


def write_folder(folder: Path, paper: str, made: Sequence[Made]) -> Path:
    """Write the files of every exhibit, and the page last.

    Everything is rendered before the first file is written, so an exhibit that fails leaves
    nothing. Returns the path of the page.
    """
    files: dict[str, bytes] = {}
    widths: dict[str, float] = {}  # of the figures, in inches
    for item in made:
        for table in item.content.tables:
            name = file_name(item.exhibit, table.name)
            files[f"{name}.csv"] = _csv(table).encode()
            files[f"{name}.md"] = _markdown(item, table).encode()
        for figure in item.content.figures:
            name = file_name(item.exhibit, figure.name)
            drawing = render(figure)
            widths[name] = drawing.width
            files |= {f"{name}.png": drawing.png, f"{name}.svg": drawing.svg}
    page = _page(paper, made, widths)
    for name, data in files.items():
        with atomic_write(folder / name, "wb") as stream:
            stream.write(data)
    with atomic_write(folder / INDEX) as stream:
        stream.write(page)
    return folder / INDEX


def file_name(exhibit: Exhibit, part: str) -> str:
    """The name of a file without its ending."""
    return f"{exhibit.name}_{part}" if part else exhibit.name


def facts(item: Made) -> dict[str, str]:
    """The provenance of an exhibit: command, seeds, data, machine, revision, dates."""
    exhibit = item.exhibit
    lines = {
        "Command": f"python -m papers paper={exhibit.paper} {exhibit.kind}={exhibit.key}"
    }
    made: Sequence[Mapping[str, Any]] = [result.made for result in item.results] or [
        provenance()
    ]
    seeds = sorted({seed for one in made for seed in one.get("seeds", ())})
    if seeds:
        lines["Seeds"] = ", ".join(str(seed) for seed in seeds)
    lines["Data"] = "; ".join(_each(made, "data")) or "none"
    revisions = (
        f"{one['revision']}{'' if one.get(IN_HISTORY, True) else ' (not in the history)'}"
        for one in made
    )
    lines["Revision"] = ", ".join(dict.fromkeys(revisions))
    versions = [
        f"{name} {number}" for one in made for name, number in one["versions"].items()
    ]
    lines["Versions"] = ", ".join(dict.fromkeys(versions))
    lines["Machine"] = "; ".join(_each(made, "machine"))
    dates = sorted(_each(made, "date"))
    lines["Computed"] = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    if item.results:
        timed = [
            float(one["minutes"]) for one in made if one.get("minutes") is not None
        ]
        lines["Processor time"] = f"{sum(timed):.1f} minutes in {len(timed)} runs"
        if len(timed) < len(made):
            lines["Processor time"] += f"; not recorded for {len(made) - len(timed)}"
    notes = _each(made, "note")
    if notes:
        lines["Note"] = "; ".join(notes)
    return lines


def _each(made: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    return list(dict.fromkeys(str(one[key]) for one in made if one.get(key)))


def numeric_columns(table: Table) -> set[str]:
    """The columns that hold numbers and nothing else, which stand at the right."""

    def is_number(value: Any) -> bool:
        return isinstance(value, int | float) or bool(re.fullmatch(NUMBER, str(value)))

    return {
        column
        for column in _columns(table)
        if all(
            is_number(row[column]) for row in table.rows if row.get(column) is not None
        )
    }


def pieces(cell: str) -> list[str]:
    """A figure, its deviation and its marks of significance: ``0.36 ±0.01 ↑1, 2``."""
    figure, *others = re.split(" (?=[±↑≠])", cell)
    return [figure, *(re.sub(",(?! )", ", ", piece) for piece in others)]


def folds(details: str) -> bool:
    """Whether details are long, or have so many numbers that a table shows them better."""
    numbers = sum(1 for _ in re.finditer(NUMBER, details))
    return len(details) > DETAILS_IN_VIEW or numbers > NUMBERS_IN_VIEW


def is_wide(item: Made) -> bool:
    """Whether what is published goes above ours, not beside it.

    It does where a table is too wide for half a page, where it is a few words alone, and where ours
    are several tables, which fill the width next to each other.
    """
    published = item.exhibit.published.tables if item.exhibit.published else ()
    return (
        not published
        or len(item.content.tables) > 2
        or any(
            len(_columns(table)) > WIDE for table in (*published, *item.content.tables)
        )
    )


def _csv(table: Table) -> str:
    columns = _columns(table)
    buffer = io.StringIO()
    write_csv(
        buffer, columns, ([row.get(column) for column in columns] for row in table.rows)
    )
    return buffer.getvalue()


def _markdown(item: Made, table: Table) -> str:
    exhibit = item.exhibit
    parts = [f"# {table.title}", markdown_table(table.rows), table.note]
    if item.bundled:
        parts.insert(1, f"**{BUNDLED_NOTE}**")
    if exhibit.published is not None:
        parts += ["## Published", exhibit.published.text]
        for published in exhibit.published.tables:
            parts += [published.title, markdown_table(published.rows), published.note]
        parts.append(f"Source: {exhibit.published.source}.")
    parts += [
        "## Remark",
        exhibit.remark,
        item.content.outcome,
        item.content.details,
        item.missing,
    ]
    parts.append("\n".join(f"- {name}: {value}" for name, value in facts(item).items()))
    return "\n\n".join(part for part in parts if part) + "\n"


BUNDLED_NOTE = (
    "Made on the bundled stories, which are invented and few, because there is no shared data "
    "(SIAMESE_NEWS_DATA): the numbers show that everything runs, and nothing else."
)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure as files, and its width in inches."""

    png: bytes
    svg: bytes
    width: float


def render(figure: Figure) -> Drawing:
    """Draw a figure: the same bytes each time."""
    png, svg = io.BytesIO(), io.BytesIO()
    with styled():
        drawn = figure.draw()
        drawn.savefig(png, format="png", metadata={"Software": None})
        drawn.savefig(svg, format="svg", metadata={"Date": None})
    return Drawing(png.getvalue(), svg.getvalue(), drawn.get_figwidth())


def _page(paper: str, made: Sequence[Made], widths: Mapping[str, float]) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["cell"] = plain_cell
    environment.filters["pieces"] = pieces
    template = environment.get_template("index.html.j2")
    return template.render(
        title=TITLES[paper],
        paper=paper,
        made=made,
        facts=[facts(item) for item in made],
        bundled=BUNDLED_NOTE,
        file_name=file_name,
        widths=widths,
        columns=_columns,
        numeric_columns=numeric_columns,
        wide=is_wide,
        rows_in_view=ROWS_IN_VIEW,
        folds=folds,
        words=WORDS[paper],
        full=FULL_WIDTH,
        readable=READABLE_WIDTH,
        about=provenance(),
    )


def _columns(table: Table) -> list[str]:
    return list(dict.fromkeys(key for row in table.rows for key in row))
