"""samCNN with the settings of its released code."""

from papers.exhibit import Content, Exhibit, Published, Table
from papers.jobs import Job, Results, Setting
from papers.samcnn.runs import RANKERS, training_jobs
from papers.samcnn.table3 import NOTE, ap_beside, ranker_systems, system_rows

ATTENTIVE = {option: name for option, name in RANKERS.items() if option != "bicnn"}
EXPERIMENT = "rerank_reference"


def _jobs(setting: Setting) -> list[Job]:
    seeds = setting.seeds[:1]
    return [
        *training_jobs(setting, rankers=tuple(ATTENTIVE), seeds=seeds),
        *training_jobs(
            setting, experiment=EXPERIMENT, rankers=tuple(ATTENTIVE), seeds=seeds, cost=3.3
        ),
    ]


def _lay_out(results: Results) -> Content:
    systems = ranker_systems(results, ATTENTIVE, experiment="rerank_samcnn")
    released = ranker_systems(results, ATTENTIVE, experiment=EXPERIMENT)
    systems |= {f"{name} (released code)": figures for name, figures in released.items()}
    pairs = {f"{name} (released code)": name for name in ATTENTIVE.values()}
    if not systems:
        return Content()
    return Content(
        tables=[
            Table(
                "AP and P30, settings of the paper and of its code", system_rows(systems), note=NOTE
            )
        ],
        outcome=f"AP, with the settings of the paper in brackets: {ap_beside(systems, pairs)}.",
    )


EXHIBIT = Exhibit(
    paper="samcnn",
    kind="table",
    key="reference",
    title="Settings of the released code",
    remark=(
        "One seed. 350 filters and hidden units, batch normalisation before tanh, a learned sum "
        "over the query words, learning rate .003, 15 epochs without early stopping, selection by "
        "P30 (Table 2); the vectors are those of Table 3. The released code shuffles no batch; "
        "here the batches are drawn anew each epoch."
    ),
    published=Published(
        "github.com/Impavidity/samCNN", text="The released code holds no data and no figures."
    ),
    jobs=_jobs,
    lay_out=_lay_out,
)
