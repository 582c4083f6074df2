"""samCNN: several window widths at once, which the paper tried and reports as no better."""

from papers.exhibit import Content, Exhibit, Published, Table
from papers.jobs import Job, Results, Setting
from papers.samcnn.published import PAPER
from papers.samcnn.runs import RANKERS, training_jobs
from papers.samcnn.table3 import NOTE, ap_beside, ranker_systems, system_rows

WIDE = {f"{option}_multi": f"{name}, widths 1, 2, 3" for option, name in RANKERS.items()}


def _jobs(setting: Setting) -> list[Job]:
    seeds = setting.seeds[:1]
    return [
        *training_jobs(setting, seeds=seeds),
        *training_jobs(setting, rankers=tuple(WIDE), seeds=seeds, cost=2.5),
    ]


def _lay_out(results: Results) -> Content:
    systems = ranker_systems(results, {**RANKERS, **WIDE}, experiment="rerank_samcnn")
    if not systems:
        return Content()
    return Content(
        tables=[Table("AP and P30 with one width and with three", system_rows(systems), note=NOTE)],
        outcome="AP, with one width in brackets: "
        f"{ap_beside(systems, dict(zip(WIDE.values(), RANKERS.values(), strict=True)))}.",
    )


EXHIBIT = Exhibit(
    paper="samcnn",
    kind="table",
    key="widths",
    title="Several window widths",
    remark=(
        "One seed. As Table 3, with windows of 1, 2 and 3 words, 250 filters each, in place of "
        "windows of 2 words."
    ),
    published=Published(PAPER, text="Several widths were tried, and were no better; no figures."),
    jobs=_jobs,
    lay_out=_lay_out,
)
