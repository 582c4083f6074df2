"""Whether a certificate follows from its plan, scores and labels: each field is computed again."""

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from siamese_news import __version__
from siamese_news.data.results import result_meta
from siamese_news.errors import InputError
from siamese_news.utils.checked_json import brief_json, differences
from siamese_news.utils.files import file_sha256, readable_name
from siamese_news.utils.provenance import provenance
from siamese_news_desk.decide.certificate import certificate_of, write_lists
from siamese_news_desk.decide.certificate_page import page_of
from siamese_news_desk.decide.certification import Certification, Claim
from siamese_news_desk.decide.plan.sampling_plan import model_of
from siamese_news_desk.decide.plan.sealed_files import SEAL, named_by, read_sealed
from siamese_news_desk.labels.matching import Labels, SampledPosts, read_labels

# The fields that nothing else says: when, how and by which program a certificate was made.
STATED = (SEAL, "created", "command", "provenance")

_NO_LOG = "labels.changed"


def certificate_in(path: Path) -> Path:
    """The certificate at a path: a file, or the only certificate in a folder.

    Raises:
        InputError: the folder has none, or several.
    """
    if not path.is_dir():
        return path
    certificates = sorted(path.glob("*.certificate.json"))
    if len(certificates) != 1:
        names = ", ".join(file.name for file in certificates) or "no certificate"
        raise InputError(
            f"{path}: has {names}; expected one *.certificate.json in the folder, or the name of "
            "the one to check"
        )
    return certificates[0]


class Checked(NamedTuple):
    """A certificate that holds.

    Attributes:
        certification: its plan.
        content: its fields.
        claims: what follows from its labels.
        unchecked: sentences about what could not be checked.
    """

    certification: Certification
    content: dict[str, Any]
    claims: list[Claim]
    unchecked: list[str]


def check_certificate(
    path: Path,
    *,
    plan: Path | None = None,
    results: Path | None = None,
    posts: Sequence[Path] | None = None,
) -> Checked:
    """Compute a certificate again and compare it, its list and its page with the files.

    `plan`, `results` and `posts` name the plan, the scored posts and the files with their texts if
    they have moved.

    Raises:
        InputError: it names the first difference.
    """
    content = read_sealed(path, "certificate")
    with sheets_of_certificate(path, content) as sheets:
        certification = Certification.resume(
            plan or path.with_name(content["plan"]["file"]),
            results=results,
            posts=posts,
        )
        certification.sampled.check_keys()
        labels = labels_then(sheets, certification.sampled, content)
    claims = certification.claims(labels)
    complete = certification.log.covers(labels)
    counts = bool(result_meta(certification.results).get("counts"))
    ignored = ((_NO_LOG,) * (not complete)) + (("flow",) * (not counts))
    if wrong := wrong_fields(content, certification, labels, claims, ignoring=ignored):
        other_fields = (
            f", and {len(wrong) - 1} more such fields" if len(wrong) > 1 else ""
        )
        raise InputError(
            f"{path}: its plan, scores and labels now lead to another certificate: {wrong[0]}"
            f"{other_fields}; restore the files, or run certify again"
        )
    unchecked = ["when it was made, the command and the program's version"]
    if not complete:
        unchecked.append(
            "how many verdicts were changed (the log of verdicts is not here, or lacks some)"
        )
    if not counts:
        unchecked.append(
            f"the rows that were read ({certification.results.name}.meta.json is not here)"
        )
    if content["model"] and model_of(certification.results) is None:
        unchecked.append(
            f"the model ({certification.results.name}.meta.json is not here)"
        )
    unchecked += list_and_page(path, content, certification, claims)
    return Checked(certification, content, claims, unchecked)


def certified_list(path: Path) -> tuple[Certification, Claim, dict[str, Any]]:
    """The plan, the claim of the longest list, and the content of a certificate that holds.

    Raises:
        InputError: the certificate does not follow from its files, or it has no list.
    """
    checked = check_certificate(path)
    claim = max(checked.claims, key=lambda claim: (claim.size, claim.posts))
    if not claim.posts:
        raise InputError(f"{path}: has no list, because no post was labeled relevant")
    return checked.certification, claim, checked.content


@contextmanager
def sheets_of_certificate(
    path: Path, content: Mapping[str, Any]
) -> Iterator[list[Path]]:
    """The files of labels of a certificate, as they were when it was made.

    Python only adds lines to its file, so the certificate may have been made from the first of them;
    then these are a file of their own, which exists until the end of the block.

    Raises:
        InputError: a file is missing, not a regular file, or was changed.
    """
    with tempfile.TemporaryDirectory() as folder:
        sheets = []
        for number, listed in enumerate(content["labels"]["files"]):
            sheet = named_by(path, listed["file"])
            if file_sha256(sheet) != listed["sha256"]:
                lines = _first_lines(sheet, listed["sha256"])
                if lines is None:
                    raise InputError(
                        f"{sheet}: is not the file from which {path.name} was made, or was changed "
                        "afterwards, so its labels may now lead to another certificate; restore "
                        "it, or run certify again"
                    )
                sheet = Path(folder) / f"{number}.{sheet.name}"
                sheet.write_bytes(lines)
            sheets.append(sheet)
        yield sheets


def labels_then(
    sheets: Sequence[Path], sampled: SampledPosts, content: Mapping[str, Any]
) -> Labels:
    """The labels of the posts that were drawn when a certificate was made.

    A file may have labels of further posts, which were drawn only afterwards.
    """
    labels = read_labels(sheets, sampled)
    n_labels = content["labels"]["used"]
    if not 0 < n_labels < len(labels.of):
        return labels
    labeled = [n for n, name in enumerate(sampled.by_name, 1) if name in labels.of]
    return read_labels(sheets, sampled.first(labeled[n_labels - 1]))


def _first_lines(sheet: Path, digest: str) -> bytes | None:
    """The first lines of a file of JSON lines that have this SHA-256; None if there are none."""
    if sheet.suffix.lower() != ".jsonl":
        return None
    seen = sha256()
    content = sheet.read_bytes()
    end = 0
    for line in content.splitlines(keepends=True):
        seen.update(line)
        end += len(line)
        if seen.hexdigest() == digest:
            return content[:end]
    return None


def wrong_fields(
    content: Mapping[str, Any],
    certification: Certification,
    labels: Labels,
    claims: Sequence[Claim],
    *,
    ignoring: Sequence[str] = (),
) -> list[str]:
    """How a certificate differs from the one that follows from its plan, scores and labels.

    Every field is compared except those of `STATED`, and those that cannot be computed here
    (`ignoring`), such as ``labels.changed``. The hashes of the files of labels are compared by
    `sheets_of_certificate`.

    Returns:
        A sentence for each field that differs, such as ``criteria is "a", should be "b"``.
    """
    by = () if "answers" in ignoring else content["answers"]["by"]
    computed = certificate_of(certification, claims, labels, by=by)
    computed["labels"]["files"] = content["labels"]["files"]
    computed["labels"]["changed"] = certification.log.changed_at(labels)
    # As a file has it: lists, and floats as they are read.
    differing = differences(content, json.loads(json.dumps(computed)))
    left_out = {*STATED, *ignoring}
    return [
        f"{name} is {brief_json(stated)}, should be {brief_json(expected)}"
        for name, stated, expected in differing
        if not left_out & {name, re.split(r"[.[]", name)[0]}
    ]


def _is_of_this_program(made_with: Mapping[str, Any]) -> bool:
    """Whether a certificate was made by this version of the program, whose pages are the same."""
    return (
        made_with.get("versions", {}).get("siamese-news") == __version__
        and made_with.get("revision") == provenance()["revision"]
    )


def list_and_page(
    path: Path,
    content: Mapping[str, Any],
    certification: Certification,
    claims: Sequence[Claim],
) -> list[str]:
    """Compare the files next to a certificate; returns what could not be checked."""
    unchecked = []
    posts = path.with_suffix(".csv")
    # A certificate that was renamed may have the name of a file that is not its list.
    known_files = [
        named_by(path, listed["file"]) for listed in content["labels"]["files"]
    ]
    is_list = posts.exists() and not any(
        known_file.exists() and posts.samefile(known_file)
        for known_file in (*known_files, certification.results)
    )
    with tempfile.TemporaryDirectory() as folder:
        expected = Path(folder) / posts.name
        if write_lists(expected, certification, claims):
            if not is_list:
                unchecked.append(f"the list of posts ({posts.name} is not here)")
            elif file_sha256(posts) != file_sha256(expected):
                raise InputError(
                    f"{posts}: is not the list of posts of {path.name}; write it again with certify"
                )
    page = path.with_suffix(".html")
    if not page.exists():
        unchecked.append(f"its page ({page.name} is not here)")
    elif page.read_bytes() != readable_name(page_of(content)).encode(
        "utf-8", "replace"
    ):
        if _is_of_this_program(content["provenance"]):
            raise InputError(
                f"{page}: is not the page of {path.name}; write it again with certify"
            )
        unchecked.append(f"its page ({page.name} is of another version of the program)")
    return unchecked
