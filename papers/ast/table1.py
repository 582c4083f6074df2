"""AST paper, Table 1: r-Precision of the encoders, with the row r = 3300 that it leaves out."""

from collections.abc import Mapping
from typing import Any

from papers.ast.sweep import ENCODERS, splits, sweep_jobs
from papers.ast.table2 import REMARK, finished, mean
from papers.exhibit import Content, Exhibit, Published, Table
from papers.jobs import Results
from siamese_news.evaluation.results import AST_R_PRECISION
from siamese_news.metrics import ALL_ROWS


def _published() -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = [
        {"r": str(r)} | {name: values[place] for name, values in AST_R_PRECISION.items()}
        for place, r in enumerate(ALL_ROWS)
    ]
    for count in (7, 8):
        means = {name: sum(values[:count]) / count for name, values in AST_R_PRECISION.items()}
        rows.append({"r": f"mRP ({count} rows)"} | means)
    return rows


def _lay_out(results: Results) -> Content:
    tables, outcomes = [], []
    for split in splits(results.setting):
        runs = {encoder.title: finished(results, encoder, split) for encoder in ENCODERS}
        runs = {title: own for title, own in runs.items() if own}
        if not runs:
            continue
        ceilings = next(iter(runs.values()))[0]["ceilings"]
        labels = {f"P@{r}": str(r) for r in ALL_ROWS}
        labels |= {"mRP7": "mRP (7 rows)", "mRP8": "mRP (8 rows)"}
        rows = [
            {"r": label}
            | {title: mean(own, "pooled", key) for title, own in runs.items()}
            | {"ceiling": ceilings[key]}
            for key, label in labels.items()
        ]
        counts = next(iter(runs.values()))[0]["counts"]
        note = (
            f"{counts['articles']} articles x {counts['posts']:,} posts, {counts['relevant']:,} "
            "relevant pairs; means over seeds. Ceiling: the best value that so many relevant pairs "
            "allow; the paper's test has about 3,300."
        )
        tables.append(Table(f"r-Precision, split by {split}", rows, split, note=note))
        seven, eight = (
            max((mean(own, "pooled", key), title) for title, own in runs.items())[1]
            for key in ("mRP7", "mRP8")
        )
        outcomes.append(f"by {split}, the highest mRP: {seven} (7 rows), {eight} (8 rows)")
    outcome = f"{'; '.join(outcomes)}. Published: CNN (7 rows), AST (8 rows)." if outcomes else ""
    return Content(tables=tables, outcome=outcome[:1].upper() + outcome[1:])


EXHIBIT = Exhibit(
    paper="ast",
    kind="table",
    key="1",
    title="Table 1: r-Precision of the encoders",
    published=Published(
        source="Danovitch 2020, Table 1; r = 3300 from r_precision.tex of the released code "
        "(jacobdanovitch/jdnlp, branch old-vm)",
        tables=[Table("Published, on the authors' data", _published())],
    ),
    remark=REMARK,
    lay_out=_lay_out,
    jobs=sweep_jobs,
)
