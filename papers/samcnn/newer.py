"""Retrieval on samCNN's topics that others published later, apart from our own figures."""

from papers.exhibit import Content, Exhibit, Published, Table
from papers.jobs import Job, Results, Setting
from papers.samcnn.published import ANSERINI, ANSERINI_SYSTEMS, YEARS
from papers.samcnn.runs import METRICS, peers_job
from papers.samcnn.table3 import mean_over_topics, peer_systems

BEHIND = ("QL", "RM3")  # the peers that search; the other one reranks


def _jobs(setting: Setting) -> list[Job]:
    return [peers_job(setting)]


def _lay_out(results: Results) -> Content:
    rows: list[dict[str, str | None]] = [
        {
            "system": name,
            **{
                f"{year} {column}": mean_over_topics(figures.get((year, metric), {}))
                for year in YEARS
                for column, metric in METRICS.items()
            },
        }
        for name, figures in peer_systems(results).items()
        if name in BEHIND
    ]
    if not rows:
        return Content()
    return Content(
        tables=[Table("The runs behind the paper's QL and RM3, evaluated here", rows)],
        outcome="Nothing in the published table was run here.",
    )


EXHIBIT = Exhibit(
    paper="samcnn",
    kind="table",
    key="newer",
    title="Newer work on the same topics, by others",
    remark=(
        "Anserini searches its own copy of the collections, so its lists of candidates are not "
        "those of the paper. HCAN (Rao et al., EMNLP 2019) reranks the same candidates, and Yang et "
        "al. (arXiv 1903.10972) rank posts for these topics with BERT. Birch (Akkalyoncu Yilmaz et "
        "al., EMNLP 2019) ranks news with a BERT that is fine-tuned on them, and CATBERT (arXiv "
        "2312.07599) links tweets to news with data of its own. Their tables could not be read "
        "here, so no figure of them is repeated."
    ),
    published=Published(
        ANSERINI,
        [
            Table(
                "Anserini's regressions",
                [
                    {"system": name}
                    | {
                        f"{year} {column}": f"{figures[year, column].value:.4f}"
                        for year in YEARS
                        for column in METRICS
                    }
                    for name, figures in ANSERINI_SYSTEMS.items()
                ],
            )
        ],
    ),
    jobs=_jobs,
    lay_out=_lay_out,
)
