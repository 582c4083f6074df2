"""samCNN with other word vectors: what a vector for every word and duller cosines are worth."""

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
# Chosen on held-out topics of fold 2013, the further options for one ranker each.
CHOSEN = "rerank_chosen"
OPTIONS = (
    "task.unknown_range=0.95",
    "vectors.remove_components=3",
    "task.epochs=2",
    "task.patience=null",
)
OFTEN = "task.validate_every=0.135"


def _vectors(setting: Setting, runs: Path) -> list[str]:
    """The option that names the file of vectors, which is made where it is not there."""
    path = post_vectors(setting, collection_of(setting, runs), runs.resolve() / FILE)
    return [f"vectors.source={path}"]


def _chosen_patt(setting: Setting, runs: Path) -> list[str]:
    return [*OPTIONS, *_vectors(setting, runs)]


def _chosen_qatt(setting: Setting, runs: Path) -> list[str]:
    return [*OPTIONS, OFTEN]


def _jobs(setting: Setting) -> list[Job]:
    return [
        peers_job(setting),
        *training_jobs(setting, rankers=tuple(RANKERS)),
        *training_jobs(setting, name=NAME, rankers=tuple(RANKERS), more=_vectors),
        *training_jobs(setting, name=CHOSEN, rankers=("patt",), more=_chosen_patt),
        *training_jobs(setting, name=CHOSEN, rankers=("qatt",), more=_chosen_qatt),
    ]


def _lay_out(results: Results) -> Content:
    theirs = ranker_systems(results, RANKERS, experiment="rerank_samcnn")
    own = ranker_systems(results, RANKERS, experiment=NAME)
    chosen = ranker_systems(results, RANKERS, experiment=CHOSEN)
    if not own:
        return Content()
    peers = peer_systems(results)
    systems = peers | theirs
    systems |= {f"{name}, own vectors": figures for name, figures in own.items()}
    systems |= {f"{name}, as chosen": figures for name, figures in chosen.items()}
    return Content(
        tables=[Table("AP and P30", system_rows(systems), note=NOTE)],
        outcome=outcome({**peers, **(chosen or own)}) if results.setting.data == "shared" else "",
    )


EXHIBIT = Exhibit(
    paper="samcnn",
    kind="table",
    key="own_vectors",
    title="Other word vectors",
    remark=(
        "As QAtt and PAtt in Table 3, in everything but the vectors: GloVe's 100 dimensions are "
        "followed by 100 that FastText learns from the posts, with n-grams of characters for rare "
        "words. It reads the posts of all years, texts without a judgement. As chosen (on held-out "
        "topics of the 2013 fold, which the other folds test): words without a vector as long as "
        "the others, the mean and three principal components removed, two epochs; PAtt with the "
        "vectors of the posts, QAtt without them and selected every .135 epochs. All of "
        "it brings both nearer to the printed figures and not up to them."
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
