"""The checksums of the files of a folder that travels, in the format of ``sha256sum``."""

import re
from collections.abc import Iterable
from pathlib import Path

from siamese_news.errors import InputError
from siamese_news.utils.files import expect_regular, file_sha256

SUMS = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64})  ([^/\\\x00]{1,255})")


def write_sums(folder: Path) -> None:
    """Write the checksums of all files of a folder."""
    names = sorted(path.name for path in folder.iterdir() if path.name != SUMS)
    lines = [f"{file_sha256(folder / name)}  {name}\n" for name in names]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8", newline="\n")


def check_sums(folder: Path, remedy: str, required: Iterable[str] = ()) -> set[str]:
    """Check that a folder has all the files of its list unchanged, and no others.

    Hidden files do not count: downloads from a hub bring ``.gitattributes`` and a ``.cache``.

    Returns:
        The names of the files.

    Raises:
        InputError: a line is damaged, or a file is missing, changed or not in the list; it ends
            with the `remedy`. `required` files must be in the list.
    """
    sums = folder / SUMS
    expect_regular(sums, "a list of checksums")
    listed: dict[str, str] = {}
    text = sums.read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        entry = _LINE.fullmatch(line)
        if entry is None:
            raise InputError(
                f"{sums}:{number}: unexpected line {line[:80]!r}; {remedy}"
            )
        listed[entry[2]] = entry[1]
    for item in sorted(folder.iterdir()):
        if item.name not in (*listed, SUMS) and not item.name.startswith("."):
            raise InputError(
                f"{item}: does not belong here, for {SUMS} lacks it; remove it"
            )
    for name in sorted({*required, *listed}):
        path = folder / name
        expect_regular(path, "a file")
        if name not in listed or not path.exists():
            raise InputError(f"{folder}: {name} is missing; {remedy}")
        if file_sha256(path) != listed[name]:
            raise InputError(f"{path}: differs from {SUMS}; {remedy}")
    return set(listed)
