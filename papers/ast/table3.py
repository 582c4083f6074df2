"""AST paper, Table 3: the most and the least similar posts of the case study, by id."""

from papers.ast.boston import MODELS, case_jobs, model_name
from papers.ast.figure4 import REMARK
from papers.exhibit import Content, Exhibit, Published, Table
from papers.jobs import Results

# As published: cosines of the most and the least similar tweets, in falling order.
AST_MOST_SIMILAR = (0.9166, 0.8996, 0.8841, 0.8838, 0.8686)
AST_LEAST_SIMILAR = (0.4311, 0.3877, 0.3875, 0.3797, 0.3361)


def _lay_out(results: Results) -> Content:
    tables, counted = [], []
    for option, title in MODELS.items():
        if model_name(option) not in results:
            continue
        values = results[model_name(option)]
        rows = [
            {
                "place": f"{place} {which}",
                "post": post["id"],
                "score": post["score"],
                "labelled": "relevant" if post["relevant"] else "irrelevant",
            }
            for which in ("most similar", "least similar")
            for place, post in enumerate(values[which], start=1)
        ]
        tables.append(Table(f"Five most and five least similar posts: {title}", rows, option))
        right = sum(post["relevant"] for post in values["most similar"])
        counted.append(f"{title} {right} of {len(values['most similar'])}")
    outcome = f"Relevant among the five most similar: {', '.join(counted)}." if counted else ""
    return Content(tables=tables, outcome=outcome)


EXHIBIT = Exhibit(
    paper="ast",
    kind="table",
    key="3",
    title="Table 3: the most and the least similar posts",
    published=Published(
        source="Danovitch 2020, Table 3",
        text="The paper prints the texts of the tweets as well; they are not repeated here.",
        tables=[
            Table(
                "Published: cosine with the paper's story",
                [
                    {"most similar": most, "least similar": least}
                    for most, least in zip(AST_MOST_SIMILAR, AST_LEAST_SIMILAR, strict=True)
                ],
            )
        ],
    ),
    remark=f"Posts are shown by id, since their text may not be shared. {REMARK}",
    lay_out=_lay_out,
    jobs=case_jobs,
)
