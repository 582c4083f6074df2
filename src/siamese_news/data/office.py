"""Articles in Word files (.docx) and PDFs, by python-docx and pypdf; limits on unpacking."""

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from siamese_news.data.lines import LINE_CAP
from siamese_news.data.records import clean_text
from siamese_news.errors import InputError
from siamese_news.utils.extras import optional

SAVE = "save the text of the article as .txt"
_LARGE = 2**22  # bytes of a part of an office file from which its ratio is checked
_RATIO = 100  # bytes for each packed one: deflate packs words ten to one, and zeros a thousand
_ARTICLE = 2**26  # bytes of all parts of a Word file
_PDF_PAGE = 2**23  # bytes of a page of a PDF; one of words has some ten thousand


class Oversized(Exception):
    """A part of an office file is made to fill the memory."""


def check_parts(archive: zipfile.ZipFile, limit: int) -> None:
    """Refuse an office file whose content is repeated to fill the memory.

    Raises:
        Oversized: a part unpacks to much more than words do, or all of them but the sheets, which
            are streamed, to more than `limit` bytes.
    """
    members = archive.infolist()
    total = sum(m.file_size for m in members if "worksheets/" not in m.filename)
    if total > limit:
        raise Oversized(f"its parts unpack to {total:,} bytes")
    for member in members:
        if member.file_size > max(_LARGE, _RATIO * member.compress_size):
            raise Oversized(
                f"{member.filename} unpacks {member.compress_size:,} bytes to {member.file_size:,}"
            )


def read_docx(data: bytes, location: str) -> dict[str, Any]:
    """The article's ``text`` and ``title``, and ``created_at`` and ``author`` if known.

    Raises:
        InputError: python-docx is not installed, or the file has no text or is damaged.
    """
    docx = optional("docx", "office", f"{location}: a Word file", SAVE)
    with _reading(location, "Word file"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_parts(archive, _ARTICLE)
        document = docx.Document(io.BytesIO(data))
        if document.element.getroottree().docinfo.doctype:
            raise ValueError("it has a document type, which could declare entities")
        words = "".join(_words(document.element.body))
        lines = [line.strip() for line in clean_text(words).split("\n")]
        about = document.core_properties
        return _article(location, lines, about.title, about.created, about.author)


_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_SIGNS = {
    **dict.fromkeys(("br", "cr", "txbxContent"), "\n"),
    "tab": "\t",
    "noBreakHyphen": "-",
}
# What Word moved away, readings above characters, and the second copy of a text box.
_NOT_READ = (
    *(f"{_WORD}{name}" for name in ("del", "moveFrom", "rt")),
    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
)


def _words(element: Any) -> Iterator[str]:
    """The words inside an element of a Word file, and the ends of its lines.

    They are also in cells of tables, insertions that nobody accepted yet, and text boxes.
    """
    name = str(element.tag).removeprefix(_WORD)
    yield (element.text or "") if name == "t" else _SIGNS.get(name, "")
    for child in element:
        if child.tag not in _NOT_READ:
            yield from _words(child)
    yield "\n" * (name == "p")


def read_pdf(data: bytes, location: str) -> dict[str, Any]:
    """Like `read_docx`, by pypdf; a page that is a picture has no text."""
    pypdf = optional("pypdf", "office", f"{location}: a PDF", SAVE)
    with _reading(location, "PDF"):
        document = pypdf.PdfReader(io.BytesIO(data))
        if document.is_encrypted and not document.decrypt(""):
            raise InputError(f"{location}: is locked by a password; save it without")
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
        return _article(location, lines, about.title, about.creation_date, about.author)


@contextmanager
def _reading(location: str, file_kind: str) -> Iterator[None]:
    """Turn any error of a library, which may be one of its parsers' own, into an `InputError`."""
    try:
        yield
    except InputError:
        raise
    except Oversized as error:
        raise InputError(
            f"{location}: {error}, which is more than an article has; is it one? Save its text as .txt"
        ) from error
    except Exception as error:
        raise InputError(
            f"{location}: not a {file_kind} that can be read ({error}); save it again, or as .txt"
        ) from error


def _article(
    location: str, lines: list[str], title: Any, date: Any, author: Any
) -> dict[str, Any]:
    paragraphs = [line for line in lines if line]
    if not paragraphs:
        raise InputError(
            f"{location}: no text was found in the file (pages that are pictures have none); {SAVE}"
        )
    title = clean_text(str(title or "")).strip()
    if not title and len(paragraphs) > 1:
        title = paragraphs[0]
    if title and paragraphs[0] == title and len(paragraphs) > 1:
        paragraphs = paragraphs[1:]
    return {
        "text": "\n".join(paragraphs),
        "title": title,
        "created_at": date.isoformat() if hasattr(date, "isoformat") else None,
        "author": author or None,
    }
