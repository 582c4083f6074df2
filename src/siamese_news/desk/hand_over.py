"""The files that a project exports: lists, report, labels, certificate, commands, everything."""

import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from siamese_news.data.records import Post
from siamese_news.decide.plan.files import sibling
from siamese_news.desk.desk import Desk
from siamese_news.desk.search import posts_of
from siamese_news.errors import InputError
from siamese_news.labels.results import Unit, result_rows
from siamese_news.labels.sheets import write_sheet
from siamese_news.search.clusters import CLUSTERED, clusters_of
from siamese_news.search.conversations import COLUMNS as THREADED
from siamese_news.search.output import COLUMNS, write_rows
from siamese_news.search.report import ReportData, groups, read_results, write_report
from siamese_news.utils.files import atomic_write, write_json

TASKS = 2000
"""Maximum number of posts in a file for another annotation program."""

_AHEAD = 50  # posts for the certificate in such a file; later ones depend on their labels
_IDS = tuple(name for name in COLUMNS if name not in ("text", "terms"))
_LABEL_COLUMNS = ("post", "label", "annotator", "note", "at", "copy_of", "score", "text")

Maker = Callable[[Desk, Path], Path | None]
"""Writes the file of a project at a path, or returns the path of another file."""


def make(desk: Desk, kind: str) -> Path:
    """Write a file into the project's export folder; an `InputError` if its source is missing."""
    name, maker = KINDS[kind]
    path = desk.project.exports / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return maker(desk, path) or path


def commands(desk: Desk) -> list[str]:
    """The equivalent command lines, to be run in the project's folder."""
    project, by = desk.project, groups_by(desk)
    lines = [desk.search.command]
    for name, ids_only in (("found.csv", False), ("ids.csv", True), ("found.parquet", False)):
        words = desk.search.filtered_to(project.threshold, f"hand-over/{name}")
        lines.append(project.command(*words, ids_only=ids_only))
    found, out = project.exports / "found.parquet", project.exports / "report.html"
    posts = project.sources("posts") if by else None
    lines.append(project.command("report", results=found, out=out, by=by, posts=posts))
    if desk.threads.found():
        lines += desk.threads.commands()
    if desk.certificate.planned:
        lines += desk.certificate.commands()
    if desk.goals.planned:
        lines.append(desk.goals.command())
    return lines + desk.learning.commands()


def groups_by(desk: Desk) -> str:
    """The column by which the report compares groups; empty for none."""
    return str(desk.project.config().get("by", ""))


def count(desk: Desk) -> int:
    """The number of posts in the list."""
    claim = desk.certificate.certified(desk.project.threshold)
    return claim.posts if claim else _at_threshold(desk)


def _at_threshold(desk: Desk) -> int:
    return int((desk.project.load_results().scores >= desk.project.threshold).sum())


def _found(desk: Desk) -> Iterator[Mapping[str, Any]]:
    """The rows of the list: those at or above the threshold, as ``filter`` writes them.

    A certified list lacks the posts that were labeled not relevant, and has those from below that
    were labeled relevant.
    """
    path, size = desk.project.require_results(), _at_threshold(desk)
    claim = desk.certificate.certified(desk.project.threshold)
    left_out = {rank + 1 for rank in claim.taken_out} if claim else set()
    below = {rank + 1 for rank in claim.put_in} if claim else set()
    clusters: dict[str, tuple[int, int]] = {}
    if size <= CLUSTERED:
        ranks = sorted({*range(1, size + 1), *below} - left_out)
        posts = desk.project.load_results().posts(ranks)
        clusters = clusters_of([Post(post.id, post.text) for post in posts])
    for _, row in result_rows(path):
        if row["rank"] > size and not below:
            return
        if row["rank"] in left_out or not (row["rank"] <= size or row["rank"] in below):
            continue
        below.discard(row["rank"])
        cluster, copies = clusters.get(row["post"], (None, None))
        yield {**row, "cluster": cluster, "cluster_size": copies}


def _given_labels(desk: Desk) -> Iterator[Mapping[str, Any]]:
    """The labels in force, with the scores and texts of their posts."""
    log, results = desk.log, desk.project.results
    posts = desk.project.load_results().by_id(log.posts()) if results.exists() else {}
    for post in log.posts():
        found = posts.get(post)
        for given in log.by_annotator(post).values():
            yield {
                "post": post,
                "label": given.label,
                "annotator": given.annotator,
                "note": given.note,
                "at": given.at,
                "copy_of": "" if given.post == post else given.post,
                "score": f"{found.score:g}" if found else "",
                "text": found.text if found else "",
            }


def _figures(desk: Desk) -> Iterable[Mapping[str, Any]]:
    """The figures of the groups that the report compares."""
    data = _compared(desk)
    if data.groups is None:
        raise InputError("no groups are compared; choose the column first")
    return groups.figures(data.groups)


def _csv(rows: Callable[[Desk], Iterable[Mapping[str, Any]]], columns: Sequence[str]) -> Maker:
    def write(desk: Desk, path: Path) -> None:
        with atomic_write(path) as stream:
            write_rows(stream, rows(desk), "csv", columns=columns)

    return write


def _parquet(desk: Desk, path: Path) -> None:
    columns = (*COLUMNS, "x", "y") if desk.project.config()["options"]["map"] else COLUMNS
    with atomic_write(path, "wb") as stream:
        write_rows(stream, _found(desk), "parquet", columns=columns)
    meta = desk.project.meta()
    counts = {**(meta.get("counts") or {}), "kept": count(desk)}
    meta |= {"threshold": desk.project.threshold, "counts": counts}
    write_json(path.with_name(path.name + ".meta.json"), meta)


def _report(desk: Desk, path: Path) -> None:
    write_report(path, _compared(desk))


def _threads_report(desk: Desk, path: Path) -> None:
    write_report(path, read_results(desk.threads.require(), name=desk.project.folder.name))


def _compared(desk: Desk) -> ReportData:
    """The report's data, with the groups that the user has chosen."""
    data = read_results(make(desk, "parquet"), name=desk.project.folder.name)
    if by := groups_by(desk):
        stream = posts_of(desk.project, group_field=None if by in groups.TIMES else by)
        data = replace(data, groups=groups.compare_posts(data, by, stream))
    return data


def _tasks(format: str) -> Maker:
    def write(desk: Desk, path: Path) -> None:
        results = desk.project.load_results()
        needed = desk.certificate.next_posts(_AHEAD) if desk.certificate.planned else []
        posts = list(results.by_id(needed).values())
        rows = [
            ("", Unit(post.id, post.id, "", post.text))
            for post in posts or results.posts(range(1, min(TASKS, len(results)) + 1))
            if not desk.log.by_annotator(post.id)
        ]
        if not rows:
            raise InputError("there is no post left to label")
        path.unlink(missing_ok=True)
        write_sheet(path, rows, format)

    return write


def _certificate(ending: str) -> Maker:
    def write(desk: Desk, path: Path) -> Path:
        if not desk.certificate.planned:
            raise InputError("there is no certificate yet; fix a target and label for it first")
        desk.certificate.certify()
        return sibling(desk.certificate.path, ending)

    return write


def _commands(desk: Desk, path: Path) -> None:
    with atomic_write(path) as stream:
        stream.write("# Run in the project folder, which contains project.json.\n")
        stream.write("\n".join(commands(desk)) + "\n")


def _project(desk: Desk, path: Path) -> None:
    """Everything but the dumps of posts and files that can be made again."""
    for kind in ("report", "csv", "parquet", "ids", "labels", "commands"):
        make(desk, kind)
    if desk.certificate.planned:
        desk.certificate.certify()
    folder = desk.project.folder
    with (
        atomic_write(path, "wb") as stream,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as pack,
    ):
        for file in sorted(folder.rglob("*")):
            place = file.relative_to(folder)
            hidden = any(part.startswith(".") for part in place.parts)
            again = file.suffix in (".zip", ".sqlite", ".npz", ".part")
            dump = place.parts[:2] == ("inputs", "posts")
            if file.is_file() and not (file.is_symlink() or hidden or again or dump):
                pack.write(file, f"{folder.name}/{place.as_posix()}")


KINDS: dict[str, tuple[str, Maker]] = {
    "report": ("report.html", _report),
    "groups": ("report.csv", _csv(_figures, groups.COLUMNS)),
    "csv": ("found.csv", _csv(_found, COLUMNS)),
    "parquet": ("found.parquet", _parquet),
    "ids": ("ids.csv", _csv(_found, _IDS)),
    "threads": ("threads.csv", _csv(lambda desk: desk.threads.rows(), THREADED)),
    "threads-report": ("threads.html", _threads_report),
    "labels": ("labels.csv", _csv(_given_labels, _LABEL_COLUMNS)),
    "labelstudio": ("tasks.labelstudio.json", _tasks("labelstudio")),
    "prodigy": ("tasks.prodigy.jsonl", _tasks("prodigy")),
    "certificate": ("certificate.json", _certificate("certificate.json")),
    "certificate-page": ("certificate.html", _certificate("certificate.html")),
    "commands": ("commands.txt", _commands),
    "project": ("project.zip", _project),
}
"""Kind -> name of its file, and how it is made."""
