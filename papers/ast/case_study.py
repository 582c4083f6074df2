"""AST paper, Fig. 4, Table 3 and reading effort: the case study's posts by similarity."""

from collections.abc import Mapping, Sequence
from typing import Any

from papers.ast.boston import MODELS, TARGETS, WORDS, case_jobs, model_name
from papers.exhibit import Content, Exhibit, Figure, Published, Table
from papers.jobs import Results
from papers.style import COLORS, new_figure, series

# Section 5 and Fig. 4: of the tweets at or above the threshold, how many are relevant and not.
AST_THRESHOLD, AST_RELEVANT, AST_IRRELEVANT = 0.7, 36, 10
# Table 3: cosines of the most and the least similar tweets, in falling order.
AST_MOST_SIMILAR = (0.9166, 0.8996, 0.8841, 0.8838, 0.8686)
AST_LEAST_SIMILAR = (0.4311, 0.3877, 0.3875, 0.3797, 0.3361)

REMARK = (
    "The paper's case study has a story, posts and labels of its own, which are not public. Ours "
    "is the Boston bombing: 38 seed articles of usatoday-cnn and 40,078 posts of CrisisLexT6 and "
    "usatoday-cnn. 5,648 of the posts are labeled relevant; the others are about other crises or "
    "about nothing in particular. CrisisLexT6 was itself collected by keyword and by place, which "
    "favors the keyword searches. A post's score is the mean over the seeds. No model saw these "
    "articles or posts in training; AST is trained by event on usatoday-cnn at the sizes of "
    "Table 2."
)


def _scored(results: Results) -> list[tuple[str, str, Mapping[str, Any]]]:
    """(option, title, values) of each model that has scored the pool."""
    named = [(option, title, model_name(option)) for option, title in MODELS.items()]
    return [(option, title, results[name]) for option, title, name in named if name in results]


def threshold_rows(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Posts kept and missed at each threshold."""
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


def _lay_out_thresholds(results: Results) -> Content:
    there = _scored(results)
    if not there:
        return Content()
    tables, best = [], []
    for option, title, values in there:
        rows = threshold_rows(values)
        tables.append(Table(f"Kept and missed at each threshold: {title}", rows, option))
        row = max(rows, key=_f1)
        best.append(
            f"{title}: precision {row['precision']:.2f}, recall {row['recall']:.2f} at "
            f"{row['threshold']}"
        )
    figure = Figure(
        "Posts by score, relevant and irrelevant",
        lambda: _draw_scores(there),
        "One panel for each model: histograms of the scores of relevant and of irrelevant posts, "
        "on logarithmic axes. The further apart the two are, the better a threshold separates.",
    )
    outcome = (
        f"At the threshold with the highest F1 (chosen with the labels): {'; '.join(best)}. "
        "Published: precision .78 at .7."
    )
    return Content(tables=tables, figures=[figure], outcome=outcome)


def _f1(row: Mapping[str, Any]) -> float:
    precision, recall = row["precision"] or 0.0, row["recall"]
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _draw_scores(there: Sequence[tuple[str, str, Mapping[str, Any]]]) -> Any:
    figure, axes = new_figure(rows=len(there), height=1.35 * len(there) + 0.3, squeeze=False)
    for axis, (_, title, values) in zip(axes[:, 0], there, strict=True):
        for kind, color, hatch in (("irrelevant", COLORS[1], "////"), ("relevant", COLORS[0], "")):
            look = {"facecolor": color, "edgecolor": color, "hatch": hatch, "label": kind}
            axis.stairs(values[kind], values["edges"], fill=True, alpha=0.55, baseline=0.5, **look)
        axis.set(yscale="log", ylim=(0.5, None), title=title)
    axes[0, 0].legend(ncols=2)
    axes[-1, 0].set_xlabel("mean score over the seeds")
    figure.supylabel("posts", fontsize=8)
    return figure


def _lay_out_extremes(results: Results) -> Content:
    tables, counted = [], []
    for option, title, values in _scored(results):
        rows = [
            {
                "place": f"{place} {which}",
                "post": post["id"],
                "score": post["score"],
                "labeled": "relevant" if post["relevant"] else "irrelevant",
            }
            for which in ("most similar", "least similar")
            for place, post in enumerate(values[which], start=1)
        ]
        tables.append(Table(f"Five most and five least similar posts: {title}", rows, option))
        right = sum(post["relevant"] for post in values["most similar"])
        counted.append(f"{title} {right} of {len(values['most similar'])}")
    outcome = f"Relevant among the five most similar: {', '.join(counted)}." if counted else ""
    return Content(tables=tables, outcome=outcome)


def expected_reading(target: int, relevant: int, read: int) -> float | None:
    """Posts one reads in random order until the N-th relevant one, on average.

    Of `read` posts `relevant` are relevant: N (read + 1) / (relevant + 1), the mean of the negative
    hypergeometric distribution. None if there are fewer than N.
    """
    return None if target > relevant else target * (read + 1) / (relevant + 1)


def _curves(results: Results) -> dict[str, dict[int, float]]:
    """Title of each list -> relevant posts found -> posts read."""
    curves = {
        title: {target: float(read) for target, read in values["effort"]}
        for _, title, values in _scored(results)
    }
    searches = results[WORDS]
    lists = [(query["title"], query["relevant"], query["hits"]) for query in searches["queries"]]
    lists.append(("random order", searches["relevant"], searches["posts"]))
    for title, relevant, read in lists:
        expected = {target: expected_reading(target, relevant, read) for target in TARGETS}
        curves[title] = {target: value for target, value in expected.items() if value is not None}
    return curves


def _lay_out_effort(results: Results) -> Content:
    if WORDS not in results:
        return Content()
    searches = results[WORDS]
    curves = _curves(results)
    longest = max(target for curve in curves.values() for target in curve)
    rows: list[dict[str, Any]] = [
        {"relevant found": str(target)}
        | {t: round(curve[target]) if target in curve else None for t, curve in curves.items()}
        for target in TARGETS
        if target <= longest
    ]
    queries = [
        {
            "search": query["title"],
            "query": query["query"],
            "posts found": query["hits"],
            "relevant": query["relevant"],
            "precision": query["relevant"] / query["hits"] if query["hits"] else None,
            "recall": query["relevant"] / searches["relevant"],
        }
        for query in searches["queries"]
    ]
    note = (
        "Posts read until so many relevant ones are found; a dash where the search never finds so "
        "many. A search is read in random order (the mean over all orders), a model's list from "
        "the top."
    )
    middle = rows[len(rows) // 2]
    read = ", ".join(f"{title} {middle[title]:,}" for title in curves if middle[title] is not None)
    never = ", ".join(title for title in curves if middle[title] is None)
    outcome = f"Posts read until {middle['relevant found']} relevant ones are found: {read}"
    return Content(
        tables=[
            Table("Posts read until N relevant ones are found", rows, "read", note=note),
            Table("The searches", queries, "searches"),
        ],
        figures=[
            Figure(
                "Posts read until N relevant ones are found",
                lambda: _draw_effort(curves),
                "Lines of posts read over relevant posts found, on logarithmic axes: lower is "
                "less reading. The line of a search ends with the last relevant post it found.",
            )
        ],
        outcome=f"{outcome}; never with {never}." if never else f"{outcome}.",
    )


def _draw_effort(curves: Mapping[str, Mapping[int, float]]) -> Any:
    figure, axis = new_figure(height=3.2)
    for place, (title, curve) in enumerate(curves.items()):
        style = series(place) if title != "random order" else {"color": "0.5", "linestyle": "-"}
        axis.plot(list(curve), list(curve.values()), label=title, **style)
    axis.set(xscale="log", yscale="log", xlabel="relevant posts found", ylabel="posts read")
    figure.legend(*axis.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


FIGURE4 = Exhibit(
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
    lay_out=_lay_out_thresholds,
    jobs=case_jobs,
)
TABLE3 = Exhibit(
    paper="ast",
    kind="table",
    key="3",
    title="Table 3: the most and the least similar posts",
    published=Published(
        source="Danovitch 2020, Table 3 (Table 4 in the journal's reprint, which leaves out .3361)",
        text="The paper prints the texts of the tweets as well; they are not repeated here.",
        tables=[
            Table(
                "Published: cosine with the paper's article",
                [
                    {"most similar": most, "least similar": least}
                    for most, least in zip(AST_MOST_SIMILAR, AST_LEAST_SIMILAR, strict=True)
                ],
            )
        ],
    ),
    remark=f"Posts are shown by id, since their text may not be shared. {REMARK}",
    lay_out=_lay_out_extremes,
    jobs=case_jobs,
)
EFFORT = Exhibit(
    paper="ast",
    kind="figure",
    key="effort",
    title="Case study: posts read until N relevant ones are found",
    remark="This curve is not in the paper, whose case study ends with the number of posts that "
    f"annotators must read. {REMARK} The queries were written without looking at the labels.",
    lay_out=_lay_out_effort,
    jobs=case_jobs,
)
