"""Articles in Word files (.docx) and PDFs, by python-docx and pypdf."""

import io
import zipfile
from typing import Any

from siamese_news.data.records import clean_text
from siamese_news.errors import InputError

_UNPACKED = 2**28  # bytes of all parts of a Word file, which is read whole


def read_docx(data: bytes, where: str) -> dict[str, Any]:
    """The article's ``text`` and ``title``, and ``created_at`` and ``author`` if known.

    Args:
        data: the file.
        where: what messages start with.

    Raises:
        InputError: where python-docx is not installed, or the file has no text or is damaged.
    """
    try:
        import docx
    except ImportError as error:
        raise _missing(where, "a Word file", "python-docx") from error
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(info.file_size for info in archive.infolist()) > _UNPACKED:
                raise InputError(f"{where}: unpacks to more than an article; is it one?")
        document = docx.Document(io.BytesIO(data))
        lines = [clean_text(paragraph.text).strip() for paragraph in document.paragraphs]
        about = document.core_properties
        return _article(where, lines, about.title, about.created, about.author)
    except InputError:
        raise
    except Exception as error:  # the library raises what its parsers raise
        raise _damaged(where, "Word file", error) from error


def read_pdf(data: bytes, where: str) -> dict[str, Any]:
    """As `read_docx`, by pypdf; a page that is a picture has no text.

    Raises:
        InputError: where pypdf is not installed, or the file has no text or is damaged.
    """
    try:
        import pypdf
    except ImportError as error:
        raise _missing(where, "a PDF", "pypdf") from error
    try:
        document = pypdf.PdfReader(io.BytesIO(data))
        if document.is_encrypted and not document.decrypt(""):
            raise InputError(f"{where}: is locked by a password; save it without")
        text = "\n".join(page.extract_text() for page in document.pages)
        lines = [line.strip() for line in clean_text(text).splitlines()]
        about: Any = document.metadata or pypdf.DocumentInformation()
        return _article(where, lines, about.title, about.creation_date, about.author)
    except InputError:
        raise
    except Exception as error:
        raise _damaged(where, "PDF", error) from error


def _article(where: str, lines: list[str], title: Any, date: Any, author: Any) -> dict[str, Any]:
    kept = [line for line in lines if line]
    if not kept:
        raise InputError(
            f"{where}: no text was found in the file (pages that are pictures have none); save the "
            "text of the article as .txt instead"
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


def _missing(where: str, what: str, package: str) -> InputError:
    return InputError(
        f"{where}: {what} needs {package}, which is not installed; run "
        "pip install 'siamese-news[office]', or save the text of the article as .txt"
    )


def _damaged(where: str, what: str, error: Exception) -> InputError:
    return InputError(
        f"{where}: not a {what} that can be read ({error}); save it again, or as .txt"
    )
