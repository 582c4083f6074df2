"""samCNN, changed: several window widths, other word vectors."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from papers.exhibit import Content, Exhibit, Published, Table
from papers.jobs import Job, Results, Setting
from papers.samcnn.post_vectors import COLLECTIONS, post_vectors
from papers.samcnn.published import PAPER, YEARS
from papers.samcnn.runs import (
    RANKERS,
    YEAR,
    More,
    collection_of,
    peers_job,
    run_name,
    train,
    training_jobs,
)
from papers.samcnn.table3 import (
    MARKS,
    NOTE,
    TopicFigures,
    details,
    headline,
    mean_of,
    peer_systems,
    published_rows,
    ranker_systems,
    system_rows,
)

BASE = "rerank_samcnn"
WIDE = {
    f"{option}_multi": f"{name}, widths 1, 2, 3" for option, name in RANKERS.items()
}
ATTENTIVE = {option: name for option, name in RANKERS.items() if option != "bicnn"}
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
        tables=[
            Table(
                "AP and P30 with one width and with three",
                system_rows(systems),
                note=NOTE,
            )
        ],
        outcome=f"With three widths, AP changes by at most {_largest_change(systems, pairs)}.",
    )


def _vectors(setting: Setting, runs: Path) -> list[str]:
    """The option that names the file of vectors, which is made where it does not exist."""
    path = runs.resolve() / "post_vectors.bin"
    return [
        f"vectors.source={post_vectors(setting, collection_of(setting, runs), path)}"
    ]


def _largest_change(
    systems: Mapping[str, TopicFigures], pairs: Mapping[str, str]
) -> str:
    """The largest change of AP of each ranker over the years: ``+.006 (BiCNN), ...``."""
    parts = []
    for name, partner in pairs.items():
        changes = [
            ours - theirs
            for year in YEARS
            if (ours := mean_of(systems, name, year, "AP")) is not None
            and (theirs := mean_of(systems, partner, year, "AP")) is not None
        ]
        if changes:
            parts.append(f"{max(changes, key=abs):+.3f} ({partner})")
    return ", ".join(parts)


def chosen_options(ranker: str, aggregation: str = "mean") -> More:
    """What makes the further options of a chosen ranker, which were chosen with the mean."""

    def options(setting: Setting, runs: Path) -> list[str]:
        further = _vectors(setting, runs) if ranker == "patt" else [OFTEN]
        if aggregation != "mean":
            further.append(f"ranker.aggregation={aggregation}")
        return [*OPTIONS, *further]

    return options


def chosen_jobs(
    setting: Setting,
    *,
    rankers: Sequence[str] = ("patt", "qatt"),
    years: Sequence[int] = YEARS,
    aggregation: str = "mean",
) -> list[Job]:
    """QAtt and PAtt with the options that were chosen on held-out topics."""
    return [
        job
        for ranker in rankers
        for job in training_jobs(
            setting,
            name=CHOSEN if aggregation == "mean" else f"{CHOSEN}_{aggregation}",
            rankers=(ranker,),
            years=years,
            more=chosen_options(ranker, aggregation),
        )
    ]


def trained_as_chosen(setting: Setting, runs: Path, ranker: str) -> Path:
    """The folder of the first seed of a ranker on `YEAR`, trained again if it does not exist.

    Nothing was chosen for BiCNN, which has the settings of Table 2.
    """
    seed = setting.seeds[0]
    is_chosen = ranker in ATTENTIVE
    folder = runs / run_name(CHOSEN if is_chosen else BASE, ranker, YEAR, seed)
    options = chosen_options(ranker)(setting, runs) if is_chosen else ()
    train(setting, folder, BASE, ranker, YEAR, seed, options)
    return folder


def _vectors_jobs(setting: Setting) -> list[Job]:
    return [
        peers_job(setting),
        *training_jobs(setting, rankers=tuple(ATTENTIVE)),
        *training_jobs(setting, name=OWN, rankers=tuple(ATTENTIVE), more=_vectors),
        *chosen_jobs(setting),
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
    shared = results.setting.data == "shared"
    ours = {**peers, **(chosen or own)}
    return Content(
        tables=[Table("AP and P30", system_rows(systems), note=NOTE)],
        outcome=headline(ours) if shared else "",
        details=details(ours) if shared else "",
    )


WIDTHS = Exhibit(
    paper="samcnn",
    kind="table",
    key="widths",
    title="Several window widths",
    remark="One seed. As Table 3, with windows of 1, 2 and 3 words, 250 filters each, in place of "
    "windows of 2 words.",
    published=Published(
        f"{PAPER}, section 4",
        text="Of BiCNN, the general encoder, the paper says that combining several window sizes "
        "yields no improvements; it prints no figures, and says nothing of QAtt and PAtt.",
    ),
    jobs=_widths_jobs,
    lay_out=_lay_out_widths,
)
OWN_VECTORS = Exhibit(
    paper="samcnn",
    kind="table",
    key="own_vectors",
    title="Other word vectors",
    remark="QAtt and PAtt as in Table 3, except for the vectors. “Own vectors”: GloVe's 100 "
    "dimensions are followed by 100 that FastText learns from the posts of all years and of "
    f"{len(COLLECTIONS)} other collections (texts without judgments), with character n-grams for "
    "rare words. “As chosen” was chosen on held-out topics of the 2013 fold, which the other folds "
    "test. There words without a vector are as long "
    "as the others, the mean and three principal components are removed, and a training has two "
    "epochs; PAtt has the vectors of the posts, QAtt does not and is validated every .135 epochs. "
    "All of this brings both nearer to the printed figures.",
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
