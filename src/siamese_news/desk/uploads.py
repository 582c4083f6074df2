"""Uploaded files: streamed to the disk, capped, kept as a whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from siamese_news.desk.project import Project, safe_name
from siamese_news.errors import InputError
from siamese_news.utils.files import atomic_write

CAPS = {"articles": 64 * 2**20, "not": 64 * 2**20, "posts": 64 * 2**30, "labels": 256 * 2**20}
"""Bytes of one file, by kind."""

_SPARE = 2**30  # bytes of the disk that an upload leaves free


@asynccontextmanager
async def received(
    project: Project, kind: str, name: str, parts: AsyncIterable[bytes]
) -> AsyncIterator[Path]:
    """A file that the browser sends, under its own name for as long as it is read.

    Args:
        project: the project.
        kind: one of `CAPS`.
        name: the user's name for the file.
        parts: its content.

    Raises:
        InputError: a bad or existing name, or a file that is too large or empty.
    """
    if kind == "labels":
        if not name or name.startswith(".") or {"/", "\\"} & set(name):
            raise InputError(f"the file name is {name!r}; expected one such as sheet.csv")
    elif project.input_path(kind, name).exists():
        raise InputError(f"{name}: already exists; remove it first, or rename the new one")
    with tempfile.TemporaryDirectory(prefix="upload-", dir=project.private) as folder:
        path = Path(folder) / safe_name(name)
        size = 0
        with path.open("wb") as stream:
            async for data in parts:
                size += len(data)
                if size > CAPS[kind]:
                    raise InputError(
                        f"{name}: is larger than {CAPS[kind]:,} bytes; name it on the command line"
                    )
                if shutil.disk_usage(folder).free < _SPARE:
                    raise InputError(f"{name}: the disk is nearly full; free some space first")
                stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if not size:
            raise InputError(f"{name}: the file is empty")
        yield path


def paste(project: Project, text: str) -> None:
    """Keep a pasted article.

    Raises:
        InputError: for an empty text.
    """
    if not text.strip():
        raise InputError("the text is empty; paste an article")
    folder = project.folder / "inputs" / "articles"
    number = 1
    while (path := folder / f"pasted-{number}.txt").exists():
        number += 1
    with atomic_write(path) as stream:
        stream.write(text.strip() + "\n")
