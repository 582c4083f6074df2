"""The article in a saved web page, by trafilatura."""

from typing import Any

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
