"""A certificate as one zip that anyone can check, for a supplement or an archive.

It contains the scores and labels in one format, whatever files they came from, the plan and the
certificate unchanged, a data sheet, and `manifest.json` with the hash of every file and of its
sources. By default texts are replaced by hashes; equal texts stay equal, so the certificate can be
computed again.
"""

import io
import json
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Template

from siamese_news import __version__
from siamese_news.errors import InputError
from siamese_news.utils.csv_files import write_csv
from siamese_news.utils.files import atomic_write, file_sha256, json_text
from siamese_news_desk.decide.certificate import sentence_of
from siamese_news_desk.decide.certification import Certification
from siamese_news_desk.decide.checking import (
    differences,
    labels_then,
    sheets_of_certificate,
)
from siamese_news_desk.decide.plan.files import SEAL, made, read_sealed
from siamese_news_desk.decide.plan.population import Population
from siamese_news_desk.labels.matching import Labels
from siamese_news_desk.labels.sheets import read_rows

FORMAT = 1
_KIND = "siamese_news bundle"
_MANIFEST = "manifest.json"
_SCORES = "scores.jsonl"
_LABELS = "labels.csv"
_LABEL_COLUMNS = ("key", "article", "post", "label", "check")


def write_bundle(
    out: Path,
    certificate: Path,
    *,
    posts: Sequence[Path] | None = None,
    scores: Path | None = None,
    texts: bool = False,
) -> list[str]:
    """Write a bundle atomically; returns the names of its files.

    The plan, the labels and the list are in the folder of the `certificate`. `scores` and `posts`
    name its scored posts and files with their texts, if they have moved; with `texts`, these are
    packed as well.

    Raises:
        InputError: a file is missing or changed.
    """
    content = read_sealed(certificate, "certificate")
    plan = certificate.with_name(content["plan"]["file"])
    work = Certification.resume(plan, results=scores, posts=posts)
    if work.plan[SEAL] != content["plan"]["sha256"]:
        raise InputError(
            f"{certificate}: is the certificate of another plan than {plan}"
        )
    with sheets_of_certificate(certificate, content) as sheets:
        if _differs(content, work, labels_then(sheets, work.sampled, content)):
            raise InputError(
                f"{certificate}: its labels say something else now; run certify again first"
            )
        unchanged = (
            certificate,
            plan,
            work.sampled.path,
            certificate.with_suffix(".csv"),
        )
        data: dict[str, tuple[bytes, Sequence[Path]]] = {
            _SCORES: (b"".join(map(_json, _scored(work, texts))), [work.results]),
            _LABELS: (_labels(sheets), sheets),
            **{
                file.name: (file.read_bytes(), [file])
                for file in unchanged
                if file.exists()
            },
        }
        files: dict[str, Any] = {
            name: {
                "sha256": sha256(packed).hexdigest(),
                "bytes": len(packed),
                "from": [
                    {"file": path.name, "sha256": file_sha256(path)} for path in sources
                ],
            }
            for name, (packed, sources) in data.items()
        }
    commands = [str(work.plan["command"]), str(content["command"])]
    notes = [sentence_of(content, claim) for claim in content["claims"]]
    source = (
        resources.files("siamese_news_desk.decide")
        .joinpath("bundle.md.j2")
        .read_text("utf-8")
    )
    template = Template(source, trim_blocks=True, keep_trailing_newline=True)
    lines = "\n".join(commands).split("\n")
    about = {"notes": notes, "commands": lines, "files": files, "version": __version__}
    sheet = template.render(about, texts=texts).encode()
    files["README.md"] = {
        "sha256": sha256(sheet).hexdigest(),
        "bytes": len(sheet),
        "from": [],
    }
    manifest = {
        "kind": _KIND,
        "format": FORMAT,
        "version": __version__,
        **made(),
        "texts": texts,
        "certificate": certificate.name,
        "commands": commands,
        "files": files,
    }
    whole = {name: packed for name, (packed, _) in data.items()}
    whole |= {"README.md": sheet, _MANIFEST: _json(manifest, 1)}
    with (
        atomic_write(out, "wb") as stream,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as pack,
    ):
        for name, packed in whole.items():
            # One date for all, so that equal content gives equal bytes.
            pack.writestr(zipfile.ZipInfo(name), packed, zipfile.ZIP_DEFLATED)
    return list(whole)


def check_bundle(path: Path) -> list[str]:
    """Check that a bundle is unchanged and that its certificate follows from it.

    Returns the findings, a sentence each.

    Raises:
        InputError: names a difference.
    """
    if not path.is_file():
        what = (
            "is a folder; expected a zip that bundle wrote"
            if path.is_dir()
            else "no such file"
        )
        raise InputError(f"{path}: {what}; check the path")
    try:
        with zipfile.ZipFile(path) as pack:
            manifest = _manifest(path, pack)
            _check_files(path, pack, manifest["files"])
            with tempfile.TemporaryDirectory() as folder:
                for name in manifest["files"]:
                    (Path(folder) / name).write_bytes(pack.read(name))
                _check_certificate(path, Path(folder) / manifest["certificate"])
            return [
                f"{path}: holds; its {len(manifest['files'])} files are unchanged",
                "the certificate follows from the plan, the scores and the labels",
            ]
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError) as error:
        raise InputError(
            f"{path}: cannot be read as a zip ({error}); copy it again"
        ) from error


def _scored(work: Certification, texts: bool) -> Iterator[dict[str, Any]]:
    scores = work.population.scores.tolist()
    units = work.texts.units(range(len(scores)))
    for unit, score in zip(units, scores, strict=True):
        article = {"article": unit.article} if unit.article else {}
        yield {
            **article,
            "post": unit.post,
            "score": score,
            "text": unit.text if texts else _hashed(unit.text),
        }


def _labels(sheets: Sequence[Path]) -> bytes:
    out = io.StringIO()
    labels = (row for sheet in sheets for row in read_rows(sheet) if row.label.strip())
    cells = (
        (row.key, row.article, row.post, row.label, row.check or "") for row in labels
    )
    write_csv(out, _LABEL_COLUMNS, cells)
    return out.getvalue().encode()


def _hashed(text: str) -> str:
    """Equal texts, and only these, have equal hashes; a text without words has none."""
    plain = " ".join(text.split())
    return (
        f"sha256:{sha256(plain.encode('utf-8', 'replace')).hexdigest()[:32]}"
        if plain
        else ""
    )


def _json(value: Mapping[str, Any], indent: int | None = None) -> bytes:
    return (json_text(value, indent=indent, default=str) + "\n").encode()


def _manifest(path: Path, pack: zipfile.ZipFile) -> dict[str, Any]:
    if _MANIFEST not in pack.namelist():
        raise InputError(
            f"{path}: has no {_MANIFEST}; expected a zip that bundle wrote"
        )
    try:
        manifest = json.loads(pack.read(_MANIFEST))
        is_bundle = manifest["kind"] == _KIND and isinstance(manifest["files"], dict)
        version = manifest["format"]
        named = manifest["certificate"] in manifest["files"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"{path}: {_MANIFEST} is damaged ({error}); copy it again"
        ) from error
    if not is_bundle or not named:
        raise InputError(f"{path}: {_MANIFEST} is not that of a bundle; copy it again")
    if version != FORMAT:
        raise InputError(
            f"{path}: has format {version!r}, written by siamese_news {manifest.get('version')}; "
            f"this one, {__version__}, checks format {FORMAT}: use that version"
        )
    return dict(manifest)


def _check_files(path: Path, pack: zipfile.ZipFile, files: Mapping[str, Any]) -> None:
    there = pack.namelist()
    expected = {_MANIFEST, *files}
    odd = [
        name
        for name in expected
        if "/" in name or "\\" in name or name in ("", ".", "..")
    ]
    if sorted(there) != sorted(expected) or odd:
        wrong = (
            odd or sorted(expected.symmetric_difference(there)) or ["one file twice"]
        )
        raise InputError(
            f"{path}: differs from its {_MANIFEST} in {wrong[0]}; copy it again"
        )
    for name, entry in files.items():
        if sha256(pack.read(name)).hexdigest() != entry["sha256"]:
            raise InputError(
                f"{path}: {name} was changed after it was packed; copy it again"
            )


def _check_certificate(path: Path, certificate: Path) -> None:
    content = read_sealed(certificate, "certificate")
    plan_path = certificate.with_name(content["plan"]["file"])
    plan = read_sealed(plan_path, "plan")
    work = Certification(plan, plan_path, Population(certificate.with_name(_SCORES)))
    labels = labels_then([certificate.with_name(_LABELS)], work.sampled, content)
    if _differs(content, work, labels):
        raise InputError(
            f"{path}: another certificate follows from its plan, scores and labels"
        )


def _differs(content: Mapping[str, Any], work: Certification, labels: Labels) -> bool:
    """Whether a certificate does not follow; a bundle has neither the log nor the sheets as is."""
    # Nor the names of annotators, the other columns of the results, and the counts of the search.
    people = ("judged", "labels.annotators")
    ignoring = ("labels.changed", "remarks", "answers", "flow", *people)
    return bool(
        differences(content, work, labels, work.claims(labels), ignoring=ignoring)
    )
