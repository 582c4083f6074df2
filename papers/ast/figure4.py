"""AST paper, Fig. 4: a story's posts by similarity, relevant and irrelevant, at every threshold."""

from collections.abc import Mapping
from typing import Any

from papers.ast.boston import MODELS, case_jobs, model_name
from papers.exhibit import Content, Exhibit, Figure, Published, Table
from papers.jobs import Results
from papers.style import COLOURS, new_figure

# Section 5 and Fig. 4: of the tweets at or above the threshold, how many are relevant and not.
AST_THRESHOLD, AST_RELEVANT, AST_IRRELEVANT = 0.7, 36, 10

REMARK = (
    "The paper's case study has a story, posts and labels of its own, which are not public. Ours "
    "is the Boston bombing: 38 seed articles of usatoday-cnn and 40,078 posts of CrisisLexT6 and "
    "usatoday-cnn, of which 5,648 are labelled relevant; the others are of other crises and of "
    "nothing. CrisisLexT6 was itself collected by keyword and by place, which favours the keyword "
    "searches beside it. A post's score is the mean over the seeds. No model saw these articles or "
    "posts in training; AST is trained by event on usatoday-cnn at the sizes of Table 2."
)


def threshold_rows(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What is kept and missed at each threshold."""
    totals = values["totals"]
    rows = []
    for row in values["thresholds"]:
        kept, wrong = row["relevant kept"], row["irrelevant kept"]
        rows.append(
            {
                "threshold": f"{row['threshold']:g}",
                "relevant kept": kept,
                "relevant missed": totals["relevant"] - kept,
                "irrelevant kept": wrong,
                "irrelevant left out": totals["irrelevant"] - wrong,
                "precision": kept / (kept + wrong) if kept + wrong else None,
                "recall": kept / totals["relevant"],
            }
        )
    return rows


def _lay_out(results: Results) -> Content:
    there = {
        title: results[model_name(option)]
        for option, title in MODELS.items()
        if model_name(option) in results
    }
    tables = [
        Table(f"Kept and missed at each threshold: {title}", threshold_rows(values), option)
        for option, title in MODELS.items()
        if (values := there.get(title)) is not None
    ]
    if not there:
        return Content()
    figure = Figure(
        "Posts by score: relevant above the line, irrelevant below it",
        lambda: _draw(there),
        "One panel for each model: histograms of the scores of relevant and of irrelevant posts, "
        "on logarithmic axes. The further apart the two lie, the better a threshold separates.",
    )
    best = {
        title: max(rows, key=lambda row: _f1(row))
        for title, values in there.items()
        if (rows := threshold_rows(values))
    }
    outcome = "At the threshold with the highest F1 (seen from the labels): " + "; ".join(
        f"{title}: precision {row['precision']:.2f}, recall {row['recall']:.2f} at "
        f"{row['threshold']}"
        for title, row in best.items()
    )
    return Content(
        tables=tables, figures=[figure], outcome=f"{outcome}. Published: precision .78 at .7."
    )


def _f1(row: Mapping[str, Any]) -> float:
    precision, recall = row["precision"] or 0.0, row["recall"]
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _draw(there: Mapping[str, Mapping[str, Any]]) -> Any:
    figure, axes = new_figure(rows=len(there), height=1.35 * len(there) + 0.3, squeeze=False)
    for axis, (title, values) in zip(axes[:, 0], there.items(), strict=True):
        edges = values["edges"]
        for kind, colour, hatch in (
            ("irrelevant", COLOURS[1], "////"),
            ("relevant", COLOURS[0], ""),
        ):
            axis.stairs(
                values[kind],
                edges,
                fill=True,
                alpha=0.55,
                facecolor=colour,
                edgecolor=colour,
                hatch=hatch,
                label=kind,
                baseline=0.5,
            )
        axis.set(yscale="log", ylim=(0.5, None), title=title)
    axes[0, 0].legend(ncols=2)
    axes[-1, 0].set_xlabel("mean score over the seeds")
    figure.supylabel("posts", fontsize=8)
    return figure


EXHIBIT = Exhibit(
    paper="ast",
    kind="figure",
    key="4",
    title="Figure 4: the case study's posts by similarity",
    published=Published(
        source="Danovitch 2020, case study (Fig. 4)",
        text=f"At a cosine of {AST_THRESHOLD} and above, {AST_RELEVANT} of "
        f"{AST_RELEVANT + AST_IRRELEVANT} posts were relevant: precision .78 "
        "(Clopper-Pearson 95%: .64 to .89, which is ours).",
        tables=[
            Table(
                "Published",
                [
                    {
                        "threshold": f"{AST_THRESHOLD:.2f}",
                        "relevant kept": AST_RELEVANT,
                        "irrelevant kept": AST_IRRELEVANT,
                        "precision": AST_RELEVANT / (AST_RELEVANT + AST_IRRELEVANT),
                    }
                ],
            )
        ],
    ),
    remark=REMARK,
    lay_out=_lay_out,
    jobs=case_jobs,
)
