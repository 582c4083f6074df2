"""AST paper, Fig. 4, Table 3 and reading effort: the case study's posts by similarity."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from papers.ast.boston import (
    MODELS,
    STORY,
    TARGETS,
    WORDS,
    case_jobs,
    model_name,
    story,
    story_job,
)
from papers.exhibit import Content, Exhibit, Figure, Published, Table
from papers.jobs import Results, Setting
from papers.style import COLORS, new_figure, series

# Section 5 and Fig. 4: of the tweets at or above the threshold, how many are relevant and not.
AST_THRESHOLD = 0.7
AST_RELEVANT = 36
AST_IRRELEVANT = 10
# Table 3: cosines of the most and the least similar tweets, in falling order.
AST_MOST_SIMILAR = (0.9166, 0.8996, 0.8841, 0.8838, 0.8686)
AST_LEAST_SIMILAR = (0.4311, 0.3877, 0.3875, 0.3797, 0.3361)

ENDS = {"top": "most similar", "bottom": "least similar"}  # of a model's list

REMARK = (
    "The paper's case study has a story, posts and labels of its own, which are not public. Ours "
    "is the Boston bombing: 38 seed articles of usatoday-cnn and 40,078 posts of CrisisLexT6 and "
    "usatoday-cnn. 5,648 of the posts are labeled relevant; the others are about other crises or "
    "about nothing in particular. A post's score is the mean over the seeds. No model saw these "
    "articles or posts in training; AST is trained by event on usatoday-cnn at the sizes of "
    "Table 2."
)


def _scored(results: Results) -> list[tuple[str, str, Mapping[str, Any]]]:
    """(option, title, values) of each model that has scored the pool."""
    named = [(option, title, model_name(option)) for option, title in MODELS.items()]
    return [
        (option, title, results[name])
        for option, title, name in named
        if name in results
    ]


def threshold_rows(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Posts kept and missed at each threshold."""
    totals = values["totals"]
    rows = []
    for row in values["thresholds"]:
        kept = row["relevant kept"]
        wrong = row["irrelevant kept"]
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
        title = _dated(results, option, title)
        tables.append(
            Table(f"Kept and missed at each threshold: {title}", rows, option)
        )
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
    return Content(
        tables=tables,
        figures=[figure],
        outcome=_at_the_papers_threshold(there),
        details="At the threshold with the highest F1 (chosen with the labels): "
        f"{'; '.join(best)}.",
    )


def _at_the_papers_threshold(
    there: Sequence[tuple[str, str, Mapping[str, Any]]],
) -> str:
    """What AST's row at the paper's threshold says, next to the published precision."""
    printed = AST_RELEVANT / (AST_RELEVANT + AST_IRRELEVANT)
    for option, _, values in there:
        for row in threshold_rows(values):
            if option == "star_projected" and float(row["threshold"]) == AST_THRESHOLD:
                return (
                    f"At the paper's threshold of {AST_THRESHOLD}, AST has a precision of "
                    f"{row['precision']:.3f} here, against {printed:.3f} in the paper: on this "
                    "pool it keeps nearly everything."
                )
    return ""


def _dated(results: Results, option: str, title: str) -> str:
    """The title of a model; that of the shipped one, which changes, names its revision."""
    if option != "shipped":
        return title
    made = results.by_job[model_name(option)].made
    return f"{title} of {str(made['date'])[:10]} (revision {made['revision']})"


def _f1(row: Mapping[str, Any]) -> float:
    precision = row["precision"] or 0.0
    recall = row["recall"]
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _draw_scores(there: Sequence[tuple[str, str, Mapping[str, Any]]]) -> Any:
    figure, axes = new_figure(
        rows=len(there), height=1.35 * len(there) + 0.3, squeeze=False
    )
    for axis, (_, title, values) in zip(axes[:, 0], there, strict=True):
        for kind, color, hatch in (
            ("irrelevant", COLORS[1], "////"),
            ("relevant", COLORS[0], ""),
        ):
            look = {
                "facecolor": color,
                "edgecolor": color,
                "hatch": hatch,
                "label": kind,
            }
            axis.stairs(
                values[kind],
                values["edges"],
                fill=True,
                alpha=0.55,
                baseline=0.5,
                **look,
            )
        axis.set(yscale="log", ylim=(0.5, None), title=title)
    axes[0, 0].legend(ncols=2)
    axes[-1, 0].set_xlabel("mean score over the seeds")
    figure.supylabel("posts", fontsize=8)
    return figure


def _lay_out_extremes(results: Results) -> Content:
    tables, counted = [], []
    models = _scored(results)
    for option, title, values in models:
        rows = [
            {
                "post": post["id"],
                "place": place,
                "score": post["score"],
                "relevant": "yes" if post["relevant"] else "no",
            }
            for place, post in _places(values)
        ]
        titled = _dated(results, option, title)
        tables.append(
            Table(f"Five most and five least similar posts: {titled}", rows, option)
        )
        counted.append(
            f"{title} {_relevant(values, 'top')} of {len(values['most similar'])}"
        )
    if STORY in results:
        tables.insert(0, _texts(results))
    return Content(
        tables=tables,
        outcome=_at_both_ends([values for _, _, values in models]) if models else "",
        details=f"Relevant among the five most similar: {', '.join(counted)}."
        if counted
        else "",
    )


def _places(values: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The most similar posts and the least similar ones: top 1, 2, ..., then bottom 1, 2, ..."""
    for end, which in ENDS.items():
        for number, post in enumerate(values[which], start=1):
            yield f"{end} {number}", post


def _relevant(values: Mapping[str, Any], end: str) -> int:
    """How many posts at one end of a model's list are relevant."""
    return sum(post["relevant"] for post in values[ENDS[end]])


def _at_both_ends(models: Sequence[Mapping[str, Any]]) -> str:
    """How many posts at each end are relevant with every model, in a sentence."""
    top = min(_relevant(values, "top") for values in models)
    bottom = max(_relevant(values, "bottom") for values in models)
    return (
        f"With every model, at least {top} of the five most similar posts are about the story, and "
        f"{f'at most {bottom}' if bottom else 'none'} of the five least similar."
    )


def _texts(results: Results) -> Table:
    """Ten posts of the bundled stories with their texts: invented, so they can be shown."""
    values = results[STORY]
    bundled = story(Setting("stories"))
    texts = {post.id: post.text for post in bundled.posts}
    (seed,) = (article for article in bundled.seeds if article.id == values["article"])
    made = results.by_job[STORY].made
    return Table(
        f"Ten invented posts of the bundled stories by similarity to “{seed.title}”",
        [
            {
                "text": texts[post["id"]],
                "score": post["score"],
                "place": place,
                "relevant": "yes" if post["relevant"] else "no",
            }
            for place, post in _places(values)
        ],
        "texts",
        note=f"Scored by the shipped model of {str(made['date'])[:10]} (revision "
        f"{made['revision']}); its scores are no cosines and have another scale.",
    )


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
    lists = [
        (query["title"], query["relevant"], query["hits"])
        for query in searches["queries"]
    ]
    lists.append(("random order", searches["relevant"], searches["posts"]))
    for title, relevant, read in lists:
        expected = {
            target: expected_reading(target, relevant, read) for target in TARGETS
        }
        curves[title] = {
            target: value for target, value in expected.items() if value is not None
        }
    return curves


def _lay_out_effort(results: Results) -> Content:
    if WORDS not in results:
        return Content()
    searches = results[WORDS]
    curves = _curves(results)
    longest = max(target for curve in curves.values() for target in curve)
    rows: list[dict[str, Any]] = [
        {"relevant found": str(target)}
        | {
            t: round(curve[target]) if target in curve else None
            for t, curve in curves.items()
        }
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
    read = ", ".join(
        f"{title} {middle[title]:,}" for title in curves if middle[title] is not None
    )
    never = ", ".join(title for title in curves if middle[title] is None)
    details = (
        f"Posts read until {middle['relevant found']} relevant ones are found: {read}"
    )
    trained, shipped = (MODELS[option] for option in ("star_projected", "shipped"))
    outcome = ""
    if middle.get(trained) and middle.get(shipped):
        outcome = (
            f"{middle['relevant found']} relevant posts are found after reading "
            f"{middle[trained]:,} with AST and {middle[shipped]:,} with the shipped model."
        )
    return Content(
        tables=[
            Table(
                "Posts read until N relevant ones are found", rows, "read", note=note
            ),
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
        outcome=outcome,
        details=f"{details}; never with {never}." if never else f"{details}.",
    )


def _draw_effort(curves: Mapping[str, Mapping[int, float]]) -> Any:
    figure, axis = new_figure(height=3.2)
    for place, (title, curve) in enumerate(curves.items()):
        style = (
            series(place)
            if title != "random order"
            else {"color": "0.5", "linestyle": "-"}
        )
        axis.plot(list(curve), list(curve.values()), label=title, **style)
    axis.set(
        xscale="log", yscale="log", xlabel="relevant posts found", ylabel="posts read"
    )
    figure.legend(
        *axis.get_legend_handles_labels(), loc="outside upper center", ncols=2
    )
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
                    for most, least in zip(
                        AST_MOST_SIMILAR, AST_LEAST_SIMILAR, strict=True
                    )
                ],
            )
        ],
    ),
    remark="Posts of the pool are shown by id, since their text may not be shared; the first table "
    "has invented ones with their texts. Story, posts and models are those of Figure 4.",
    lay_out=_lay_out_extremes,
    jobs=lambda setting: [*case_jobs(setting), story_job()],
)
EFFORT = Exhibit(
    paper="ast",
    kind="figure",
    key="effort",
    title="Case study: posts read until N relevant ones are found",
    remark="This curve is not in the paper, whose case study ends with the number of posts that "
    "annotators must read. Story, posts and models are those of Figure 4. CrisisLexT6 was itself "
    "collected by keyword and by place, which favors the keyword searches. The queries were "
    "written without looking at the labels.",
    lay_out=_lay_out_effort,
    jobs=case_jobs,
)
