"""Articles in Word files (.docx) and PDFs, by python-docx and pypdf; limits on unpacking."""

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any
from xml.parsers import expat

from siamese_news.data.lines import LINE_CAP
from siamese_news.data.records import clean_text
from siamese_news.errors import InputError
from siamese_news.utils.extras import optional

SAVE = "save the text of the article as .txt"
_WORD = 2**26  # bytes of all parts of a Word file, which is read whole
_WORD_ELEMENTS = 2**21
_PDF_PAGE = 2**23  # bytes of a page of a PDF; one of words has some ten thousand
_INSIDE = 2**18  # elements of a row: a sheet has at most 16,384 columns


class Oversized(Exception):
    """A part of an office file is made to fill the memory."""


def check_parts(
    archive: zipfile.ZipFile, *, size: int, elements: int, levels: int | None = None
) -> None:
    """Read the XML of an office file once, holding none of it, before a library makes trees of it.

    All parts together may unpack to `size` bytes. A part may have `elements` elements; with
    `levels`, only elements of the first `levels` levels count, such as the rows of a sheet,
    because their content is freed after each. The starts of two elements may be `LINE_CAP` bytes
    apart.

    Raises:
        Oversized: there is more, or a part defines entities.
        expat.ExpatError: a part is not XML.
    """
    parts = archive.infolist()
    unpacked = sum(part.file_size for part in parts)
    if unpacked > size:
        raise Oversized(f"unpacks to {unpacked:,} bytes")
    for part in parts:
        if part.filename.endswith((".xml", ".rels")):
            with archive.open(part) as stream:
                _check_part(part.filename, stream, elements, levels or elements)


def _check_part(name: str, stream: IO[bytes], elements: int, levels: int) -> None:
    parser = expat.ParserCreate()
    depth = count = inside = last = fed = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, count, inside, last
        depth += 1
        inside += 1
        if depth <= levels:
            check(parser.CurrentByteIndex)
            count, inside, last = count + 1, 0, parser.CurrentByteIndex

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1

    def check(at: int) -> None:
        if at - last > LINE_CAP:
            raise Oversized(f"{name} has a cell or a text longer than {LINE_CAP:,} bytes")
        if count > elements or inside > _INSIDE:
            raise Oversized(f"{name} has more than {elements:,} elements, or too many in a row")

    def refuse(*_: object) -> None:
        raise Oversized(f"{name} defines entities")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.StartDoctypeDeclHandler = refuse
    while data := stream.read(2**16):
        parser.Parse(data, False)
        fed += len(data)
        check(fed)
    parser.Parse(b"", True)


def read_docx(data: bytes, where: str) -> dict[str, Any]:
    """The article's ``text`` and ``title``, and ``created_at`` and ``author`` if known.

    Raises:
        InputError: python-docx is not installed, or the file has no text or is damaged.
    """
    docx = optional("docx", "office", f"{where}: a Word file", SAVE)
    with _reading(where, "Word file"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_parts(archive, size=_WORD, elements=_WORD_ELEMENTS)
        document = docx.Document(io.BytesIO(data))
        lines = [clean_text(paragraph.text).strip() for paragraph in document.paragraphs]
        about = document.core_properties
        return _article(where, lines, about.title, about.created, about.author)


def read_pdf(data: bytes, where: str) -> dict[str, Any]:
    """Like `read_docx`, by pypdf; a page that is a picture has no text."""
    pypdf = optional("pypdf", "office", f"{where}: a PDF", SAVE)
    with _reading(where, "PDF"):
        document = pypdf.PdfReader(io.BytesIO(data))
        if document.is_encrypted and not document.decrypt(""):
            raise InputError(f"{where}: is locked by a password; save it without")
        text = ""
        for page in document.pages:
            contents = page.get_contents()
            if contents is not None and len(contents.get_data()) > _PDF_PAGE:
                raise Oversized(f"a page unpacks to more than {_PDF_PAGE:,} bytes")
            text += page.extract_text() + "\n"
            if len(text) > LINE_CAP:
                raise Oversized(f"has more than {LINE_CAP:,} characters")
        lines = [line.strip() for line in clean_text(text).splitlines()]
        about: Any = document.metadata or pypdf.DocumentInformation()
        return _article(where, lines, about.title, about.creation_date, about.author)


@contextmanager
def _reading(where: str, what: str) -> Iterator[None]:
    """Turn any error of a library, which may be one of its parsers' own, into an `InputError`."""
    try:
        yield
    except InputError:
        raise
    except Oversized as error:
        raise InputError(
            f"{where}: {error}, which is more than an article has; is it one? Save its text as .txt"
        ) from error
    except Exception as error:
        raise InputError(
            f"{where}: not a {what} that can be read ({error}); save it again, or as .txt"
        ) from error


def _article(where: str, lines: list[str], title: Any, date: Any, author: Any) -> dict[str, Any]:
    kept = [line for line in lines if line]
    if not kept:
        raise InputError(
            f"{where}: no text was found in the file (pages that are pictures have none); {SAVE}"
        )
    title = clean_text(str(title or "")).strip()
    if not title and len(kept) > 1:
        title = kept[0]
    if title and kept[0] == title and len(kept) > 1:
        kept = kept[1:]
    return {
        "text": "\n".join(kept),
        "title": title,
        "created_at": date.isoformat() if hasattr(date, "isoformat") else None,
        "author": author or None,
    }
