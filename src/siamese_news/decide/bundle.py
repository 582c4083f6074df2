"""One zip for a supplement or an archive, and the check that it is complete and consistent.

It contains the scores and labels in one format, whatever files they came from, the plan and the
certificate unchanged, `CITATION.cff`, a data sheet, and `manifest.json` with the hash of every file
and of its sources. By default texts are replaced by hashes; equal texts stay equal, so the
certificate can be computed again.
"""

import csv
import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from siamese_news import __version__
from siamese_news.decide.certificate import follows, sentence_of, sheets_of_certificate
from siamese_news.decide.certification import Certification
from siamese_news.decide.plan.files import SEAL, made, read_sealed
from siamese_news.decide.plan.population import Population
from siamese_news.errors import InputError
from siamese_news.labels.matching import read_labels
from siamese_news.labels.results import result_meta, result_rows
from siamese_news.labels.sheets import read_rows
from siamese_news.utils.files import atomic_write, file_sha256
from siamese_news.utils.terminal import guarded

FORMAT = 1
_KIND = "siamese_news bundle"
_MANIFEST, _SCORES, _LABELS, _RESULTS = "manifest.json", "scores.jsonl", "labels.csv", "results"
_LABEL_COLUMNS = ("key", "article", "post", "label", "check")
# Columns of results that reveal neither the text of a post nor its author.
_COLUMNS = frozenset(
    "article rank score post lang created_at cluster cluster_size state thread thread_rank best "
    "mean3 found left_out missing depth role reply_to quotes".split()
)


class _Pack:
    """A zip in the making, and the hashes of its files."""

    def __init__(self, pack: zipfile.ZipFile) -> None:
        self._pack = pack
        self.files: dict[str, dict[str, Any]] = {}

    def add(self, name: str, data: bytes, sources: Sequence[Path] = ()) -> None:
        """Add a file that was made from these sources."""
        # One date for all, so that equal content gives equal bytes.
        self._pack.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
        made = [{"file": path.name, "sha256": file_sha256(path)} for path in sources]
        self.files[name] = {"sha256": sha256(data).hexdigest(), "bytes": len(data), "from": made}


def write_bundle(
    out: Path,
    *,
    certificate: Path | None = None,
    results: Sequence[Path] = (),
    posts: Sequence[Path] | None = None,
    scores: Path | None = None,
    texts: bool = False,
    title: str = "",
) -> list[str]:
    """Write a bundle atomically; returns the names of its files.

    It has a `certificate` with the plan, labels and list in the same folder, and `results` of
    `rank`, `filter` or `threads`. `scores` and `posts` name the scored posts of the certificate and
    files with their texts, if they have moved; with `texts`, these are packed as well.

    Raises:
        InputError: a file is missing or changed, or there is nothing to pack.
    """
    if certificate is None and not results:
        raise InputError("nothing to pack; expected --certificate, --results, or both")
    shown: Callable[[str], str] = str if texts else _hashed
    notes: list[str] = []
    commands: list[str] = []
    with (
        atomic_write(out, "wb") as stream,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as zipped,
    ):
        pack = _Pack(zipped)
        if certificate is not None:
            notes += _add_certificate(pack, certificate, scores, posts, shown, commands)
        for number, path in enumerate(results, 1):
            notes.append(_add_results(pack, path, f"{_RESULTS}-{number}", texts, commands))
        pack.add("CITATION.cff", _citation(title).encode())
        pack.add("README.md", _sheet(title, notes, commands, texts, pack).encode())
        manifest = {
            "kind": _KIND,
            "format": FORMAT,
            "version": __version__,
            **made(),
            "texts": texts,
            "certificate": None if certificate is None else certificate.name,
            "commands": commands,
            "files": pack.files,
        }
        pack.add(_MANIFEST, _json(manifest, 1))
        return list(pack.files)


def check_bundle(path: Path) -> list[str]:
    """Check that a bundle is unchanged and that its certificate follows from it.

    Returns the findings, a sentence each.

    Raises:
        InputError: names a difference.
    """
    if not path.is_file():
        what = "is a folder; expected a zip that bundle wrote" if path.is_dir() else "no such file"
        raise InputError(f"{path}: {what}; check the path")
    try:
        with zipfile.ZipFile(path) as pack:
            manifest = _manifest(path, pack)
            _check_files(path, pack, manifest["files"])
            said = [f"{path}: holds; its {len(manifest['files'])} files are unchanged"]
            if manifest["certificate"] is not None:
                with tempfile.TemporaryDirectory() as folder:
                    for name in manifest["files"]:
                        (Path(folder) / name).write_bytes(pack.read(name))
                    _check_certificate(path, Path(folder) / manifest["certificate"])
                said.append("the certificate follows from the plan, the scores and the labels")
            return said
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError) as error:
        raise InputError(f"{path}: cannot be read as a zip ({error}); copy it again") from error


def _add_certificate(
    pack: _Pack,
    path: Path,
    scores: Path | None,
    posts: Sequence[Path] | None,
    shown: Callable[[str], str],
    commands: list[str],
) -> list[str]:
    content = read_sealed(path, "certificate")
    plan_path = path.with_name(content["plan"]["file"])
    work = Certification.resume(plan_path, results=scores, posts=posts)
    if work.plan[SEAL] != content["plan"]["sha256"]:
        raise InputError(f"{path}: is the certificate of another plan than {plan_path}")
    sheets = sheets_of_certificate(path, content)
    labels = read_labels(sheets, work.sampled)
    if not follows(content, work, labels):
        raise InputError(f"{path}: its labels say something else now; run certify again first")
    lines = (_json(row) for row in _scored(work, shown))
    pack.add(_SCORES, b"".join(lines), [work.results])
    pack.add(_LABELS, _labels(sheets), sheets)
    for file in (path, plan_path, work.sampled.path, path.with_suffix(".csv")):
        if file.exists():
            pack.add(file.name, file.read_bytes(), [file])
    commands += [str(work.plan["command"]), str(content["command"])]
    return [sentence_of(content, claim) for claim in content["claims"]]


def _scored(work: Certification, shown: Callable[[str], str]) -> Iterator[dict[str, Any]]:
    scores = work.population.scores.tolist()
    units = work.texts.units(range(len(scores)))
    for unit, score in zip(units, scores, strict=True):
        article = {"article": unit.article} if unit.article else {}
        yield {**article, "post": unit.post, "score": score, "text": shown(unit.text)}


def _labels(sheets: Sequence[Path]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_LABEL_COLUMNS)
    for sheet in sheets:
        for row in read_rows(sheet):
            if row.label.strip():
                cells = (row.key, row.article, row.post, row.label, row.check or "")
                writer.writerow([guarded(cell) for cell in cells])
    return out.getvalue().encode()


def _add_results(pack: _Pack, path: Path, name: str, texts: bool, commands: list[str]) -> str:
    meta = result_meta(path)
    lines = [
        _json({key: value for key, value in row.items() if texts or key in _COLUMNS})
        for _, row in result_rows(path)
    ]
    pack.add(f"{name}.jsonl", b"".join(lines), [path])
    if meta:
        pack.add(f"{name}.jsonl.meta.json", _json(meta, 1))
        commands.append(str(meta.get("command", "")))
    threshold = meta.get("threshold")
    over = "" if threshold is None else f", the posts with a score of {threshold:g} or more"
    return f"{name}.jsonl has {len(lines):,} rows of {path.name}{over}."


def _hashed(text: str) -> str:
    """Equal texts, and only these, have equal hashes; a text without words has none."""
    plain = " ".join(text.split())
    return f"sha256:{sha256(plain.encode('utf-8', 'replace')).hexdigest()[:32]}" if plain else ""


def _json(value: Mapping[str, Any], indent: int | None = None) -> bytes:
    return (json.dumps(value, indent=indent, ensure_ascii=False, default=str) + "\n").encode()


def _citation(title: str) -> str:
    name = json.dumps(title or "Posts about a story", ensure_ascii=False)
    return (
        "cff-version: 1.2.0\n"
        'message: "If you use these data, please cite them; fill in the authors."\n'
        f"title: {name}\n"
        "type: dataset\n"
        "authors:\n"
        '  - name: "to be filled in"\n'
        f"date-released: {datetime.now(UTC):%Y-%m-%d}\n"
        "references:\n"
        "  - type: software\n"
        "    title: siamese_news\n"
        f"    version: {__version__}\n"
        "    authors:\n"
        '      - name: "The siamese_news authors"\n'
    )


def _sheet(
    title: str, notes: Sequence[str], commands: Sequence[str], texts: bool, pack: _Pack
) -> str:
    """The data sheet, in Markdown."""
    what = (
        "It contains the texts of posts and the names of their authors; the terms of their "
        "platform determine who may have them."
        if texts
        else "It contains neither texts nor authors. The texts in scores.jsonl are SHA-256 hashes "
        "of 32 digits, equal for equal texts. The platform returns the texts for the ids of the "
        "posts, as far as they still exist."
    )
    made = "\n".join(
        f"| `{name}` | {', '.join(one['file'] for one in entry['from'])} | {entry['bytes']:,} |"
        for name, entry in pack.files.items()
    )
    lines = dict.fromkeys("\n".join(commands).split("\n"))
    shown = "\n".join(line for line in lines if line)
    found = "".join(f"{note}\n\n" for note in notes)
    return f"""# {title or "Posts about a story"}

{found}{what}

## Files

| file | made from | bytes |
|---|---|---:|
{made}

## Commands

```
{shown}
```

`manifest.json` has the hash of every file, the versions and the machine. \
`siamese-news bundle --check` ({__version__}) compares the hashes and computes the \
certificate again.
"""


def _manifest(path: Path, pack: zipfile.ZipFile) -> dict[str, Any]:
    if _MANIFEST not in pack.namelist():
        raise InputError(f"{path}: has no {_MANIFEST}; expected a zip that bundle wrote")
    try:
        manifest = json.loads(pack.read(_MANIFEST))
        known = manifest["kind"] == _KIND and isinstance(manifest["files"], dict)
        version = manifest["format"]
        named = manifest["certificate"] is None or manifest["certificate"] in manifest["files"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path}: {_MANIFEST} is damaged ({error}); copy it again") from error
    if not known or not named:
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
    odd = [name for name in expected if "/" in name or "\\" in name or name in ("", ".", "..")]
    if sorted(there) != sorted(expected) or odd:
        wrong = odd or sorted(expected.symmetric_difference(there)) or ["one file twice"]
        raise InputError(f"{path}: differs from its {_MANIFEST} in {wrong[0]}; copy it again")
    for name, entry in files.items():
        if sha256(pack.read(name)).hexdigest() != entry["sha256"]:
            raise InputError(f"{path}: {name} was changed after it was packed; copy it again")


def _check_certificate(path: Path, certificate: Path) -> None:
    content = read_sealed(certificate, "certificate")
    plan_path = certificate.with_name(content["plan"]["file"])
    plan = read_sealed(plan_path, "plan")
    work = Certification(plan, plan_path, Population(certificate.with_name(_SCORES)))
    labels = read_labels([certificate.with_name(_LABELS)], work.sampled)
    if not follows(content, work, labels):
        raise InputError(f"{path}: another certificate follows from its plan, scores and labels")
