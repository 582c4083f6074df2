"""The files that a project exports: lists, report, labels, certificate, commands."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from siamese_news.data.columns import RANKED
from siamese_news.data.records import Post
from siamese_news.data.results import result_rows
from siamese_news.errors import InputError
from siamese_news.search.clusters import CLUSTERED, clusters_of
from siamese_news.search.report import read_results, write_report
from siamese_news.search.result_files import write_rows
from siamese_news.utils.files import atomic_write, file_sha256, write_json
from siamese_news_desk.decide.plan.population import score_text
from siamese_news_desk.decide.plan.sealed_files import sibling
from siamese_news_desk.page.open_project import Desk
from siamese_news_desk.page.project import FIELDS

_IDS = tuple(name for name in RANKED if name not in ("text", "terms"))
_LABEL_COLUMNS = (
    "post",
    "label",
    "annotator",
    "note",
    "at",
    "copy_of",
    "score",
    "text",
)

# Writes the file of a project at a path, or returns the path of another file.
Maker = Callable[[Desk, Path], Path | None]


def make(desk: Desk, kind: str) -> Path:
    """Write a file into the project's export folder; an `InputError` if its source is missing."""
    name, maker = KINDS[kind]
    path = desk.project.exports / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return maker(desk, path) or path


def commands(desk: Desk) -> list[str]:
    """The equivalent command lines, to be run in the project's folder."""
    project = desk.project
    list_file = project.exports / "found.parquet"
    reading = {name: project.config()["options"][name] for name in FIELDS}
    lines = [
        desk.search.command,
        *(
            desk.search.command_to(
                project.threshold, project.exports / name, ids_only=name == "ids.csv"
            )
            for name in ("found.csv", "ids.csv", "found.parquet")
        ),
        project.command(
            "report", results=list_file, out=project.exports / "report.html"
        ),
        project.command(
            "threads",
            results=list_file,
            posts=project.sources("posts"),
            **reading,
            out=project.exports / "threads.parquet",
        ),
        *(desk.certificate.commands() if desk.certificate.planned else []),
        *desk.learning.commands(),
    ]
    return [line for line in lines if line]


def count(desk: Desk) -> int:
    """The number of posts in the list."""
    claim = desk.certificate.list_at(desk.project.threshold)
    return claim.posts if claim else _at_threshold(desk)


def _at_threshold(desk: Desk) -> int:
    return int((desk.project.load_results().scores >= desk.project.threshold).sum())


def _list_rows(desk: Desk) -> Iterator[Mapping[str, Any]]:
    """The rows of the list: those at or above the threshold, as ``filter`` writes them.

    The list of a certificate lacks the posts that were labeled not relevant, and has those from
    below that were labeled relevant.
    """
    path = desk.project.require_results()
    results = desk.project.load_results()
    size = _at_threshold(desk)
    claim = desk.certificate.list_at(desk.project.threshold)
    left_out = {rank + 1 for rank in claim.taken_out} if claim else set()
    below = {rank + 1 for rank in claim.put_in} if claim else set()
    clusters: dict[str, tuple[int, int]] = {}
    if size <= CLUSTERED:
        ranks = sorted({*range(1, size + 1), *below} - left_out)
        posts = results.posts(ranks)
        clusters = clusters_of([Post(post.id, post.text) for post in posts])
    for _, row in result_rows(path):
        if row["rank"] > size and not below:
            return
        if row["rank"] in left_out or not (row["rank"] <= size or row["rank"] in below):
            continue
        below.discard(row["rank"])
        cluster, copies = clusters.get(row["post"], (None, None))
        relevance = float(results.relevance[row["rank"] - 1])
        yield {
            **row,
            "relevance": None if np.isnan(relevance) else relevance,
            "cluster": cluster,
            "cluster_size": copies,
        }


def _given_labels(desk: Desk) -> Iterator[Mapping[str, Any]]:
    """The labels in force, with the scores and texts of their posts."""
    log = desk.log
    results = desk.project.results
    posts = desk.project.load_results().by_id(log.posts()) if results.exists() else {}
    for post in log.posts():
        result = posts.get(post)
        for judgment in log.by_annotator(post).values():
            yield {
                "post": post,
                "label": judgment.label,
                "annotator": judgment.annotator,
                "note": judgment.note,
                "at": judgment.at,
                "copy_of": "" if judgment.post == post else judgment.post,
                "score": score_text(result.score) if result else "",
                "text": result.text if result else "",
            }


def _csv(
    rows: Callable[[Desk], Iterable[Mapping[str, Any]]], columns: Sequence[str]
) -> Maker:
    def write(desk: Desk, path: Path) -> None:
        with atomic_write(path) as stream:
            write_rows(stream, rows(desk), "csv", columns=columns)

    return write


def _parquet(desk: Desk, path: Path) -> None:
    with atomic_write(path, "wb") as stream:
        write_rows(stream, _list_rows(desk), "parquet", columns=RANKED)
    meta = desk.project.meta()
    counts = {**(meta.get("counts") or {}), "kept": count(desk)}
    labels = desk.project.load_results().labels
    meta |= {
        "threshold": desk.project.threshold,
        "relevance_map": asdict(labels) if labels else None,
        "counts": counts,
    }
    meta["sha256"] = file_sha256(path)
    write_json(path.with_name(path.name + ".meta.json"), meta)


def _report(desk: Desk, path: Path) -> None:
    write_report(
        path, read_results(make(desk, "parquet"), name=desk.project.folder.name)
    )


def _certificate(ending: str) -> Maker:
    def write(desk: Desk, path: Path) -> Path:
        if not desk.certificate.planned:
            raise InputError(
                "there is no certificate yet; fix a target and label for it first"
            )
        desk.certificate.certify()
        return sibling(desk.certificate.path, ending)

    return write


def _commands(desk: Desk, path: Path) -> None:
    with atomic_write(path) as stream:
        stream.write("# Run in the project folder, which contains project.json.\n")
        stream.write("\n".join(commands(desk)) + "\n")


# Kind -> name of its file, and how it is made.
KINDS: dict[str, tuple[str, Maker]] = {
    "report": ("report.html", _report),
    "csv": ("found.csv", _csv(_list_rows, RANKED)),
    "parquet": ("found.parquet", _parquet),
    "ids": ("ids.csv", _csv(_list_rows, _IDS)),
    "labels": ("labels.csv", _csv(_given_labels, _LABEL_COLUMNS)),
    "certificate": ("certificate.json", _certificate("certificate.json")),
    "certificate-page": ("certificate.html", _certificate("certificate.html")),
    "commands": ("commands.txt", _commands),
}
