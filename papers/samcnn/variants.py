"""samCNN, changed: several window widths, the settings of its code, other word vectors."""

from pathlib import Path

from papers.exhibit import Content, Exhibit, Published, Table
from papers.jobs import Job, Results, Setting
from papers.samcnn.post_vectors import post_vectors
from papers.samcnn.published import PAPER
from papers.samcnn.runs import RANKERS, collection_of, peers_job, training_jobs
from papers.samcnn.table3 import (
    MARKS,
    NOTE,
    ap_beside,
    outcome,
    peer_systems,
    published_rows,
    ranker_systems,
    system_rows,
)

BASE = "rerank_samcnn"
WIDE = {f"{option}_multi": f"{name}, widths 1, 2, 3" for option, name in RANKERS.items()}
ATTENTIVE = {option: name for option, name in RANKERS.items() if option != "bicnn"}
RELEASED = "rerank_reference"
OWN = "rerank_own_vectors"
# Chosen on held-out topics of fold 2013, the further options for one ranker each.
CHOSEN = "rerank_chosen"
OPTIONS = (
    "task.unknown_range=0.95",
    "vectors.remove_components=3",
    "task.epochs=2",
    "task.patience=null",
)
OFTEN = "task.validate_every=0.135"


def _widths_jobs(setting: Setting) -> list[Job]:
    seeds = setting.seeds[:1]
    wide = training_jobs(setting, rankers=tuple(WIDE), seeds=seeds, cost=2.5)
    return [*training_jobs(setting, seeds=seeds), *wide]


def _lay_out_widths(results: Results) -> Content:
    systems = ranker_systems(results, {**RANKERS, **WIDE}, experiment=BASE)
    if not systems:
        return Content()
    pairs = dict(zip(WIDE.values(), RANKERS.values(), strict=True))
    return Content(
        tables=[Table("AP and P30 with one width and with three", system_rows(systems), note=NOTE)],
        outcome=f"AP, with one width in brackets: {ap_beside(systems, pairs)}.",
    )


def _reference_jobs(setting: Setting) -> list[Job]:
    seeds, own = setting.seeds[:1], tuple(ATTENTIVE)
    released = training_jobs(setting, experiment=RELEASED, rankers=own, seeds=seeds, cost=3.3)
    return [*training_jobs(setting, rankers=own, seeds=seeds), *released]


def _lay_out_reference(results: Results) -> Content:
    systems = ranker_systems(results, ATTENTIVE, experiment=BASE)
    released = ranker_systems(results, ATTENTIVE, experiment=RELEASED)
    systems |= {f"{name} (released code)": figures for name, figures in released.items()}
    if not systems:
        return Content()
    pairs = {f"{name} (released code)": name for name in ATTENTIVE.values()}
    title = "AP and P30, settings of the paper and of its code"
    return Content(
        tables=[Table(title, system_rows(systems), note=NOTE)],
        outcome=f"AP, with the settings of the paper in brackets: {ap_beside(systems, pairs)}.",
    )


def _vectors(setting: Setting, runs: Path) -> list[str]:
    """The option that names the file of vectors, which is made where it does not exist."""
    path = runs.resolve() / "post_vectors.bin"
    return [f"vectors.source={post_vectors(setting, collection_of(setting, runs), path)}"]


def _vectors_jobs(setting: Setting) -> list[Job]:
    def chosen_patt(setting: Setting, runs: Path) -> list[str]:
        return [*OPTIONS, *_vectors(setting, runs)]

    def chosen_qatt(setting: Setting, runs: Path) -> list[str]:
        return [*OPTIONS, OFTEN]

    return [
        peers_job(setting),
        *training_jobs(setting, rankers=tuple(ATTENTIVE)),
        *training_jobs(setting, name=OWN, rankers=tuple(ATTENTIVE), more=_vectors),
        *training_jobs(setting, name=CHOSEN, rankers=("patt",), more=chosen_patt),
        *training_jobs(setting, name=CHOSEN, rankers=("qatt",), more=chosen_qatt),
    ]


def _lay_out_vectors(results: Results) -> Content:
    theirs = ranker_systems(results, ATTENTIVE, experiment=BASE)
    own = ranker_systems(results, ATTENTIVE, experiment=OWN)
    chosen = ranker_systems(results, ATTENTIVE, experiment=CHOSEN)
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


WIDTHS = Exhibit(
    paper="samcnn",
    kind="table",
    key="widths",
    title="Several window widths",
    remark="One seed. As Table 3, with windows of 1, 2 and 3 words, 250 filters each, in place of "
    "windows of 2 words.",
    published=Published(PAPER, text="Several widths were tried, and were no better; no figures."),
    jobs=_widths_jobs,
    lay_out=_lay_out_widths,
)
REFERENCE = Exhibit(
    paper="samcnn",
    kind="table",
    key="reference",
    title="Settings of the released code",
    remark="One seed. 350 filters and hidden units, batch normalization before tanh, a learned sum "
    "over the query words, learning rate .003, 15 epochs without early stopping, selection by P30 "
    "(Table 2); the vectors are those of Table 3. The released code does not shuffle; here the "
    "batches are drawn anew in each epoch.",
    published=Published(
        "github.com/Impavidity/samCNN", text="The released code contains no data and no figures."
    ),
    jobs=_reference_jobs,
    lay_out=_lay_out_reference,
)
OWN_VECTORS = Exhibit(
    paper="samcnn",
    kind="table",
    key="own_vectors",
    title="Other word vectors",
    remark="QAtt and PAtt as in Table 3, except for the vectors. “Own vectors”: GloVe's 100 "
    "dimensions are followed by 100 that FastText learns from the posts of all years (texts "
    "without judgments), with character n-grams for rare words. “As chosen”, on held-out topics of "
    "the 2013 fold, which the other folds test: words without a vector are as long as the others, "
    "the mean and three principal components are removed, two epochs; PAtt has the vectors of the "
    "posts, QAtt does not and is validated every .135 epochs. All of this brings both nearer to "
    "the printed figures, but does not reach them.",
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
    jobs=_vectors_jobs,
    lay_out=_lay_out_vectors,
)
