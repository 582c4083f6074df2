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


async def receive(project: Project, kind: str, name: str, parts: AsyncIterable[bytes]) -> None:
    """Keep an uploaded file among a project's inputs.

    Raises:
        InputError: a bad or existing name, a file that is too large or empty.
    """
    if project.input_path(kind, name).exists():
        raise InputError(f"{name}: already exists; remove it first, or rename the new one")
    async with _streamed(parts, project.private, CAPS[kind], name) as part:
        project.take_input(kind, name, part)


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


@asynccontextmanager
async def kept(parts: AsyncIterable[bytes], folder: Path, name: str) -> AsyncIterator[Path]:
    """A file of labels under its own name, for as long as it is read."""
    if not name or name.startswith(".") or {"/", "\\"} & set(name):
        raise InputError(f"the file name is {name!r}; expected one such as sheet.csv")
    folder.mkdir(parents=True, exist_ok=True)
    async with _streamed(parts, folder, CAPS["labels"], name) as part:
        path = folder / safe_name(name)
        os.replace(part, path)
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)


@asynccontextmanager
async def _streamed(
    parts: AsyncIterable[bytes], folder: Path, cap: int, name: str
) -> AsyncIterator[Path]:
    handle, part = tempfile.mkstemp(prefix="upload-", dir=folder)
    try:
        size = 0
        with os.fdopen(handle, "wb") as stream:
            async for data in parts:
                size += len(data)
                if size > cap:
                    raise InputError(
                        f"{name}: is larger than {cap:,} bytes; name it on the command line"
                    )
                if shutil.disk_usage(folder).free < _SPARE:
                    raise InputError(f"{name}: the disk is nearly full; free some space first")
                stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if not size:
            raise InputError(f"{name}: the file is empty")
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(part, 0o666 & ~umask)
        yield Path(part)
    finally:
        Path(part).unlink(missing_ok=True)
