"""samCNN with vectors of the posts in addition to GloVe: what a vector for every word is worth."""

from pathlib import Path

from papers.exhibit import Content, Exhibit, Published, Table
from papers.jobs import Job, Results, Setting
from papers.samcnn.post_vectors import post_vectors
from papers.samcnn.published import PAPER
from papers.samcnn.runs import collection_of, peers_job, training_jobs
from papers.samcnn.table3 import (
    MARKS,
    NOTE,
    outcome,
    peer_systems,
    published_rows,
    ranker_systems,
    system_rows,
)

RANKERS = {"qatt": "QAtt", "patt": "PAtt"}
NAME = "rerank_own_vectors"
FILE = "post_vectors.bin"


def _vectors(setting: Setting, runs: Path) -> list[str]:
    """The option that names the file of vectors, which is made where it is not there."""
    path = post_vectors(setting, collection_of(setting, runs), runs.resolve() / FILE)
    return [f"vectors.source={path}"]


def _jobs(setting: Setting) -> list[Job]:
    return [
        peers_job(setting),
        *training_jobs(setting, rankers=tuple(RANKERS)),
        *training_jobs(setting, name=NAME, rankers=tuple(RANKERS), more=_vectors),
    ]


def _lay_out(results: Results) -> Content:
    theirs = ranker_systems(results, RANKERS, experiment="rerank_samcnn")
    own = ranker_systems(results, RANKERS, experiment=NAME)
    if not own:
        return Content()
    peers = peer_systems(results)
    systems = peers | theirs
    systems |= {f"{name}, own vectors": figures for name, figures in own.items()}
    return Content(
        tables=[Table("AP and P30", system_rows(systems), note=NOTE)],
        outcome=outcome({**peers, **own}) if results.setting.data == "shared" else "",
    )


EXHIBIT = Exhibit(
    paper="samcnn",
    kind="table",
    key="own_vectors",
    title="Vectors of the posts themselves",
    remark=(
        "As QAtt and PAtt in Table 3, in everything but the vectors: GloVe's 100 dimensions are "
        "followed by 100 that FastText learns from the posts, with n-grams of characters for rare "
        "words. It reads the posts of all years, texts without a judgement. They bring PAtt nearer "
        "to the printed figures and not up to them."
    ),
    published=Published(
        f"{PAPER}, Table 3",
        [
            Table(
                "As printed",
                published_rows(("QAtt", "PAtt", "PAtt +QL", "QL", "MP-HCNN +QL")),
                note=MARKS,
            )
        ],
    ),
    jobs=_jobs,
    lay_out=_lay_out,
)
