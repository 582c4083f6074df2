"""The files that a project exports: lists, report, labels, certificate, commands, everything."""

import csv
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from siamese_news.data.records import Post
from siamese_news.desk.desk import Desk
from siamese_news.desk.search import command_line, posts_of
from siamese_news.errors import InputError
from siamese_news.labels.journal import annotator_name
from siamese_news.labels.results import Unit
from siamese_news.labels.sheets import read_rows, write_sheet
from siamese_news.search.clusters import CLUSTERED, clusters_of
from siamese_news.search.conversations import COLUMNS as THREADED
from siamese_news.search.output import COLUMNS, write_rows
from siamese_news.search.report import ReportData, groups, read_results, write_report
from siamese_news.utils.files import atomic_write, write_json
from siamese_news.utils.terminal import guarded

TASKS = 2000
"""Maximum number of posts in a file for another annotation program."""

_AHEAD = 50  # posts for the certificate in such a file; which come after depends on their labels
_IDS = tuple(name for name in COLUMNS if name not in ("text", "terms"))
_LABEL_COLUMNS = ("post", "label", "annotator", "note", "at", "copy_of", "score", "text")


def make(desk: Desk, kind: str) -> Path:
    """Write a file into the project's export folder and return its path.

    Raises:
        InputError: what it is made from does not exist yet.
    """
    path = desk.project.handed / KINDS[kind][0]
    path.parent.mkdir(parents=True, exist_ok=True)
    return KINDS[kind][1](desk, path) or path


def commands(desk: Desk) -> list[str]:
    """The equivalent command lines, to be run in the project's folder."""
    lines = [desk.search.command]
    for name, more in (("found.csv", []), ("ids.csv", ["--ids-only"]), ("found.parquet", [])):
        arguments = desk.search.filtered_to(desk.threshold(), f"hand-over/{name}")
        lines.append(command_line([*arguments, *more]))
    out = ["--out", "hand-over/report.html"]
    by = groups_by(desk)
    posts = ["--by", by, "--posts", *desk.project.sources("posts")] if by else []
    lines.append(command_line(["report", "--results", "hand-over/found.parquet", *out, *posts]))
    if desk.threads.found():
        lines += desk.threads.commands()
    if desk.deciding.planned:
        lines += desk.deciding.commands()
    if desk.stops.planned:
        lines.append(desk.stops.command())
    return lines + desk.learning.commands()


def import_labels(desk: Desk, path: Path, annotator: str) -> dict[str, int]:
    """Import labels from a file of another program.

    Args:
        desk: the project.
        path: CSV, JSON lines, Label Studio's or Prodigy's.
        annotator: whose they are.

    Returns:
        How many were ``taken``, existed ``already``, and belong to ``unknown`` posts.

    Raises:
        InputError: for a file without labels or with an invalid one; nothing is imported then.
    """
    rows = [row for row in read_rows(path) if row.label.strip()]
    keys = desk.deciding.keys()
    said: list[tuple[str, str]] = []
    for row in rows:
        try:
            said.append((keys.get(row.key.strip().lower(), row.post), row.verdict()))
        except InputError as error:
            plain = str(error).replace(str(path), path.name)
            raise InputError(f"{plain}; nothing was taken") from None
    known = desk.results().by_id([post for post, _ in said])
    counts = {"taken": 0, "already": 0, "unknown": 0}
    for post, value in said:
        if post not in known:
            counts["unknown"] += 1
            continue
        there = desk.log.of(post, annotator_name(annotator))
        if there is not None and there.label == value:
            counts["already"] += 1
        else:
            desk.log.add(post, value, annotator, note="imported")
            counts["taken"] += 1
    return counts


def _found(desk: Desk, *, places: bool = False) -> Iterator[dict[str, Any]]:
    """The rows of the list: those at or above the threshold, as ``filter`` writes them.

    Of a certified list those that were labelled not relevant are left out, and labelled relevant
    ones from below are part of it.
    """
    import pyarrow.parquet as pq

    least, path = desk.threshold(), desk.project.results
    if not path.exists():
        raise InputError("there are no results yet; search first")
    count = int((desk.results().scores >= least).sum())
    claim = desk.deciding.certified(least)
    left_out = {rank + 1 for rank in claim.taken_out} if claim else set()
    below = {rank + 1 for rank in claim.put_in} if claim else set()
    clusters: dict[str, tuple[int, int]] = {}
    if count <= CLUSTERED:
        ranks = sorted({*range(1, count + 1), *below} - left_out)
        posts = desk.results().posts(ranks)
        clusters = clusters_of([Post(post.id, post.text) for post in posts])
    for batch in pq.ParquetFile(path).iter_batches(8192):
        for row in batch.to_pylist():
            if row["rank"] > count and not below:
                return
            if row["rank"] in left_out or not (row["rank"] <= count or row["rank"] in below):
                continue
            below.discard(row["rank"])
            row["cluster"], row["cluster_size"] = clusters.get(row["post"], (None, None))
            yield row


def _csv(desk: Desk, path: Path) -> None:
    with atomic_write(path) as stream:
        write_rows(stream, _found(desk), "csv")


def _ids(desk: Desk, path: Path) -> None:
    with atomic_write(path) as stream:
        write_rows(stream, _found(desk), "csv", columns=_IDS)


def _parquet(desk: Desk, path: Path) -> None:
    columns = (*COLUMNS, "x", "y") if desk.project.config()["options"]["map"] else COLUMNS
    with atomic_write(path, "wb") as stream:
        write_rows(stream, _found(desk), "parquet", columns=columns)
    meta = desk.meta()
    least = desk.threshold()
    claim = desk.deciding.certified(least)
    kept = claim.posts if claim else int((desk.results().scores >= least).sum())
    meta |= {"threshold": least, "counts": {**(meta.get("counts") or {}), "kept": kept}}
    write_json(path.with_name(path.name + ".meta.json"), meta)


def _report(desk: Desk, path: Path) -> None:
    write_report(path, _compared(desk))


def _threads(desk: Desk, path: Path) -> None:
    with atomic_write(path) as stream:
        write_rows(stream, desk.threads.rows(), "csv", columns=THREADED)


def _threads_report(desk: Desk, path: Path) -> None:
    title = f"Threads of {desk.project.folder.name}"
    write_report(path, read_results(desk.threads.path, title=title))


def _groups(desk: Desk, path: Path) -> None:
    data = _compared(desk)
    if data.groups is None:
        raise InputError("no groups are compared; say by which column first")
    with atomic_write(path) as stream:
        write_rows(stream, groups.figures(data.groups, data.bursts), "csv", columns=groups.COLUMNS)


def _compared(desk: Desk) -> ReportData:
    """The report's data, with the groups that the user has chosen."""
    found, project = make(desk, "parquet"), desk.project
    data = read_results(found, title=f"Posts of {project.folder.name}")
    data = replace(data, bursts=groups.find_bursts(data))
    by = groups_by(desk)
    if not by:
        return data
    stream = posts_of(project, group_field=None if by in groups.TIMES else by)
    return replace(data, groups=groups.compare_posts(data, by, stream))


def groups_by(desk: Desk) -> str:
    """The column by which the report compares groups; empty for none."""
    return str(desk.project.config().get("by", ""))


def _labels(desk: Desk, path: Path) -> None:
    log = desk.log
    posts = desk.results().by_id(log.posts()) if desk.project.results.exists() else {}
    with atomic_write(path) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(_LABEL_COLUMNS)
        for post in log.posts():
            found = posts.get(post)
            for given in log.by_annotator(post).values():
                copy = "" if given.post == post else given.post
                cells = [post, given.label, given.annotator, given.note, given.at, copy]
                cells += ["", ""] if found is None else [f"{found.score:g}", found.text]
                writer.writerow([guarded(cell) for cell in cells])


def _tasks(format: str) -> Callable[[Desk, Path], None]:
    def write(desk: Desk, path: Path) -> None:
        rows = []
        ranks = range(1, min(TASKS, len(desk.results())) + 1)
        needed = desk.deciding.next_posts(_AHEAD) if desk.deciding.planned else []
        posts = list(desk.results().by_id(needed).values()) or desk.results().posts(ranks)
        for post in posts:
            if not desk.log.by_annotator(post.id):
                rows.append(("", Unit(post.id, post.id, "", post.text)))
        if not rows:
            raise InputError("there is no post left to label")
        path.unlink(missing_ok=True)
        write_sheet(path, rows, format)

    return write


def _certificate(ending: str) -> Callable[[Desk, Path], Path]:
    def found(desk: Desk, path: Path) -> Path:
        if not desk.deciding.planned:
            raise InputError("there is no certificate yet; fix a target and label for it first")
        desk.deciding.certify()
        return next(file for file in desk.deciding.files() if file.name.endswith(ending))

    return found


def _commands(desk: Desk, path: Path) -> None:
    with atomic_write(path) as stream:
        stream.write("# Run in the folder of the project, where project.json lies.\n")
        stream.write("\n".join(commands(desk)) + "\n")


def _project(desk: Desk, path: Path) -> None:
    """Everything but the dumps and what is made again from the rest."""
    for kind in ("report", "csv", "parquet", "ids", "labels", "commands"):
        make(desk, kind)
    if desk.deciding.planned:
        desk.deciding.certify()
    folder = desk.project.folder
    with (
        atomic_write(path, "wb") as stream,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as pack,
    ):
        for file in sorted(folder.rglob("*")):
            place = file.relative_to(folder)
            hidden = any(part.startswith(".") for part in place.parts)
            again = file.suffix in (".zip", ".sqlite", ".npz", ".part") or place.parts[:2] == (
                "inputs",
                "posts",
            )
            if file.is_file() and not file.is_symlink() and not hidden and not again:
                pack.write(file, f"{folder.name}/{place.as_posix()}")


KINDS: dict[str, tuple[str, Callable[[Desk, Path], Path | None]]] = {
    "report": ("report.html", _report),
    "groups": ("report.csv", _groups),
    "csv": ("found.csv", _csv),
    "parquet": ("found.parquet", _parquet),
    "ids": ("ids.csv", _ids),
    "threads": ("threads.csv", _threads),
    "threads-report": ("threads.html", _threads_report),
    "labels": ("labels.csv", _labels),
    "labelstudio": ("tasks.labelstudio.json", _tasks("labelstudio")),
    "prodigy": ("tasks.prodigy.jsonl", _tasks("prodigy")),
    "certificate": ("certificate.json", _certificate(".certificate.json")),
    "certificate-page": ("certificate.html", _certificate(".certificate.html")),
    "commands": ("commands.txt", _commands),
    "project": ("project.zip", _project),
}
"""Kind -> name of its file, and how it is made."""
