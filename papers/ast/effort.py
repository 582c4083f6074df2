"""Beside the AST paper's case study: how many posts one reads until N relevant ones are found."""

from collections.abc import Mapping, Sequence
from typing import Any

from papers.ast.boston import MODELS, TARGETS, WORDS, case_jobs, model_name
from papers.ast.figure4 import REMARK
from papers.exhibit import Content, Exhibit, Figure, Table
from papers.jobs import Results
from papers.style import new_figure, series


def expected_reading(target: int, relevant: int, read: int) -> float | None:
    """Posts one reads in random order until the N-th relevant one, on average.

    Of `read` posts `relevant` are relevant: N (read + 1) / (relevant + 1), the mean of the negative
    hypergeometric distribution. None where there are fewer than N.
    """
    return None if target > relevant else target * (read + 1) / (relevant + 1)


def _curves(results: Results) -> dict[str, list[tuple[int, float]]]:
    curves: dict[str, list[tuple[int, float]]] = {}
    for option, title in MODELS.items():
        if model_name(option) in results:
            effort = results[model_name(option)]["effort"]
            curves[title] = [(target, float(read)) for target, read in effort]
    searches = results[WORDS]
    lists = [(query["title"], query["relevant"], query["hits"]) for query in searches["queries"]]
    lists.append(("random order", searches["relevant"], searches["posts"]))
    for title, relevant, read in lists:
        expected = [(target, expected_reading(target, relevant, read)) for target in TARGETS]
        curves[title] = [(target, value) for target, value in expected if value is not None]
    return curves


def _lay_out(results: Results) -> Content:
    if WORDS not in results:
        return Content()
    searches = results[WORDS]
    curves = _curves(results)
    longest = max(target for curve in curves.values() for target, _ in curve)
    rows = [
        {"relevant found": str(target)}
        | {
            title: round(dict(curve)[target]) if target in dict(curve) else None
            for title, curve in curves.items()
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
    return Content(
        tables=[
            Table("Posts read until N relevant ones are found", rows, "read", note=note),
            Table("The searches", queries, "searches"),
        ],
        figures=[
            Figure(
                "Posts read until N relevant ones are found",
                lambda: _draw(curves),
                "Lines of posts read over relevant posts found, on logarithmic axes: the lower, "
                "the less is read. The searches end where they have found all they can.",
            )
        ],
        outcome=_outcome(rows, list(curves)),
    )


def _outcome(rows: Sequence[Mapping[str, Any]], titles: Sequence[str]) -> str:
    row = rows[len(rows) // 2]
    read = ", ".join(f"{title} {row[title]:,}" for title in titles if row[title] is not None)
    never = ", ".join(title for title in titles if row[title] is None)
    tail = f"; never with {never}" if never else ""
    return f"For {row['relevant found']} relevant posts one reads: {read}{tail}."


def _draw(curves: Mapping[str, Sequence[tuple[int, float]]]) -> Any:
    figure, axis = new_figure(height=3.2)
    for place, (title, curve) in enumerate(curves.items()):
        style = series(place) if title != "random order" else {"color": "0.5", "linestyle": "-"}
        axis.plot([t for t, _ in curve], [read for _, read in curve], label=title, **style)
    axis.set(xscale="log", yscale="log", xlabel="relevant posts found", ylabel="posts read")
    figure.legend(*axis.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


EXHIBIT = Exhibit(
    paper="ast",
    kind="figure",
    key="effort",
    title="Case study: what one reads until N relevant posts are found",
    remark=f"This curve is not in the paper; it says what its case study is worth. {REMARK} The "
    "queries were written down without looking at the labels.",
    lay_out=_lay_out,
    jobs=case_jobs,
)
