"""The article in a saved web page, by trafilatura, and those in a feed (RSS, Atom)."""

from typing import Any
from xml.etree import ElementTree

from siamese_news.data.readers.fediverse import without_html
from siamese_news.data.records import clean_text
from siamese_news.errors import InputError


def read_page(data: bytes, where: str) -> dict[str, Any]:
    """The article's ``text`` and ``title``; ``created_at``, ``author``, ``url``, ``lang`` if known.

    Args:
        data: HTML in any encoding.
        where: what messages start with.

    Raises:
        InputError: where trafilatura is not installed or finds no article.
    """
    try:
        import trafilatura
    except ImportError as error:
        raise InputError(
            f"{where}: a web page needs trafilatura, which is not installed; run "
            "pip install 'siamese-news[web]', or save the text of the article as .txt"
        ) from error
    page = trafilatura.bare_extraction(data, with_metadata=True, include_comments=False)
    found: dict[str, Any] = {}
    if page is not None:
        found = page if isinstance(page, dict) else page.as_dict()
    text = clean_text(found.get("text") or "").strip()
    if not text:
        raise InputError(
            f"{where}: no article was found in the page; save its text as .txt instead"
        )
    title = clean_text(found.get("title") or "").strip()
    # The heading is part of the text as well.
    if title and text.startswith(f"{title}\n"):
        text = text.removeprefix(title).strip()
    return {
        "text": text,
        "title": title,
        "created_at": found.get("date"),
        "author": found.get("author"),
        "url": found.get("url"),
        "lang": found.get("language"),
    }


def read_feed(data: bytes, where: str) -> list[dict[str, Any]]:
    """What an RSS or Atom feed has of each article: ``text``, ``title``, ``url`` and the like.

    Args:
        data: the XML.
        where: what messages start with.

    Raises:
        InputError: it is not XML, defines entities, or has no article.
    """
    try:
        root = ElementTree.fromstring(data, ElementTree.XMLParser(target=_WithoutEntities()))
    except _Entities as error:
        raise InputError(
            f"{where}: the XML has a DOCTYPE, which feeds do not need; remove it"
        ) from error
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise InputError(f"{where}: not XML that can be read ({error}); get it again") from error
    found = [_entry(item) for item in root.iter() if _name(item) in ("item", "entry")]
    if not found:
        raise InputError(
            f"{where}: is XML without the items of an RSS or Atom feed; save the text of the "
            "article as .txt"
        )
    return found


class _Entities(Exception):
    """The XML has a DOCTYPE, which can define entities."""


class _WithoutEntities(ElementTree.TreeBuilder):
    def doctype(self, *_: Any) -> None:
        raise _Entities


def _name(element: ElementTree.Element) -> str:
    return str(element.tag).rpartition("}")[2].lower()


def _entry(item: ElementTree.Element) -> dict[str, Any]:
    """The fields of one article; the longest of its texts counts."""
    texts: dict[str, list[str]] = {}
    for part in item:
        text = "".join(part.itertext()).strip() or part.get("href", "")
        if text and part.get("rel", "alternate") == "alternate":
            texts.setdefault(_name(part), []).append(text)

    def first(*names: str) -> str | None:
        return next((texts[name][0] for name in names if name in texts), None)

    bodies = ("encoded", "content", "description", "summary")
    body = max((text for name in bodies for text in texts.get(name, ())), key=len, default="")
    return {
        "title": without_html(first("title") or ""),
        "text": without_html(body),
        "url": first("link", "guid", "id"),
        "created_at": first("pubdate", "published", "date", "updated"),
        "author": first("creator", "author"),
    }
