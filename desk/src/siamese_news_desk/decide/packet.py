"""A reviewer's packet: all that a supplement needs about a certificate, in a folder without texts.

It has the protocol, the flow of rows, tables by group, the scores and labels in one format, plan and
certificate unchanged, and the hash of every file. Texts are replaced by hashes; equal texts stay
equal, so anyone can compute the certificate again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jinja2 import Template

from siamese_news import __version__
from siamese_news.errors import InputError
from siamese_news.utils.checksums import check_sums, write_sums
from siamese_news.utils.csv_files import write_csv
from siamese_news.utils.files import (
    atomic_write,
    json_text,
)
from siamese_news_desk.decide.certificate import sentence_of
from siamese_news_desk.decide.certification import Certification
from siamese_news_desk.decide.checking import (
    Checked,
    certificate_in,
    labels_then,
    list_and_page,
    sheets_of_certificate,
    wrong_fields,
)
from siamese_news_desk.decide.methods import methods_of
from siamese_news_desk.decide.plan.population import Population
from siamese_news_desk.decide.plan.sealed_files import read_sealed
from siamese_news_desk.labels.sheets import read_rows

_SCORES = "scores.jsonl"
_LABELS = "labels.csv"
_README = "README.md"
_LABEL_COLUMNS = ("key", "article", "post", "label", "check")
_GROUP_COLUMNS = (
    "precision",
    "column",
    "group",
    "posts",
    "labels",
    "errors",
    "estimate",
    "low",
    "high",
)


def write_packet(folder: Path, certificate: Path, checked: Checked) -> list[str]:
    """Write the packet of a certificate that holds into a new folder; returns its files.

    The folder appears once all of its files are written.

    Raises:
        InputError: the folder exists.
    """
    if folder.exists():
        raise InputError(f"{folder}: exists already; expected the name of a new folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as scratch:
        unfinished = Path(scratch) / folder.name
        unfinished.mkdir()
        names = _write_files(unfinished, certificate, checked)
        unfinished.rename(folder)
    return names


def _write_files(folder: Path, certificate: Path, checked: Checked) -> list[str]:
    """Write the files of a packet; returns their names, without that of the hashes."""
    certification, content = checked.certification, checked.content
    for file in (
        certificate,
        certificate.with_suffix(".csv"),
        certificate.with_suffix(".html"),
        certification.path,
        certification.sampled.path,
    ):
        if file.exists():
            (folder / file.name).write_bytes(file.read_bytes())
    scored = "".join(json_text(row) + "\n" for row in _scored(certification))
    _write(folder / _SCORES, scored)
    with sheets_of_certificate(certificate, content) as sheets:
        labels = [r for sheet in sheets for r in read_rows(sheet) if r.label.strip()]
    cells = [(r.key, r.article, r.post, r.label, r.check or "") for r in labels]
    _write_table(folder / _LABELS, _LABEL_COLUMNS, cells)
    _write_readable(folder, content, certification.plan)
    names = sorted(path.name for path in folder.iterdir())
    write_sums(folder)
    return names


def _write_readable(
    folder: Path, content: Mapping[str, Any], plan: Mapping[str, Any]
) -> None:
    """Write the files that say in words and tables what is in a certificate and its plan."""
    # The tables by group, as the page of the certificate has them.
    groups = [
        (
            answer["target"],
            table["column"],
            *(row[name] for name in _GROUP_COLUMNS[2:]),
        )
        for answer in content["answers"]["lists"]
        for table in answer["groups"]
        for row in table["rows"]
    ]
    _write_table(folder / "flow.csv", ("rows", "number"), content["flow"])
    _write_table(folder / "groups.csv", _GROUP_COLUMNS, groups)
    paragraph, *references = methods_of(content)
    template = resources.files("siamese_news_desk.decide") / "packet.md.j2"
    protocol = Template(
        template.read_text("utf-8"), trim_blocks=True, keep_trailing_newline=True
    ).render(
        notes=[sentence_of(content, claim) for claim in content["claims"]],
        plan=plan,
        certificate=content,
        paragraph=paragraph,
        references=references,
        commands=[plan["command"], content["command"]],
        version=__version__,
    )
    _write(folder / _README, protocol)


def _write_table(
    path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    with atomic_write(path) as stream:
        write_csv(stream, header, rows)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def check_packet(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Check that a packet is unchanged, that its certificate follows, and its words and tables.

    Returns the certificate, and sentences about what could not be checked.

    Raises:
        InputError: names a difference.
    """
    check_sums(folder, "copy the packet again")
    certificate = certificate_in(folder)
    content = read_sealed(certificate, "certificate")
    plan_path = certificate.with_name(content["plan"]["file"])
    plan = read_sealed(plan_path, "plan")
    certification = Certification(plan, plan_path, Population(folder / _SCORES))
    labels = labels_then([folder / _LABELS], certification.sampled, content)
    # A packet has neither the log of verdicts, nor names of annotators, other columns and counts.
    people = ("judged", "labels.annotators")
    ignoring = ("labels.changed", "remarks", "answers", "flow", *people)
    claims = certification.claims(labels)
    if wrong := wrong_fields(content, certification, labels, claims, ignoring=ignoring):
        raise InputError(
            f"{certificate}: another certificate follows from plan, scores and labels: {wrong[0]}"
        )
    unchecked = list_and_page(certificate, content, certification, claims)
    readme = folder / _README
    same_version = f"(siamese-news-desk {__version__})"
    if not readme.is_file() or same_version not in readme.read_text("utf-8", "replace"):
        return content, [
            *unchecked,
            f"{_README} and tables (not here, or of another version)",
        ]
    with TemporaryDirectory() as scratch:
        _write_readable(Path(scratch), content, plan)
        for expected in Path(scratch).iterdir():
            packed = folder / expected.name
            if not packed.is_file() or packed.read_bytes() != expected.read_bytes():
                raise InputError(
                    f"{packed}: does not follow from plan and certificate; copy the packet again"
                )
    return content, unchecked


def _scored(certification: Certification) -> Iterator[dict[str, Any]]:
    scores = certification.population.scores.tolist()
    units = certification.texts.units(range(len(scores)))
    for unit, score in zip(units, scores, strict=True):
        article = {"article": unit.article} if unit.article else {}
        yield {**article, "post": unit.post, "score": score, "text": _hashed(unit.text)}


def _hashed(text: str) -> str:
    """Equal texts, and only these, have equal hashes; a text without words has none."""
    plain = " ".join(text.split())
    return (
        f"sha256:{sha256(plain.encode('utf-8', 'replace')).hexdigest()[:32]}"
        if plain
        else ""
    )
