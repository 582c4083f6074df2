"""Seed articles from text files, web pages, office files, JSON, tables and standard input."""

import email
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from siamese_news.data.exports import exported
from siamese_news.data.jsonl import decode_value, missing
from siamese_news.data.lines import LINE_CAP, BadRow, decode_whole, refused_at
from siamese_news.data.office import SAVE, read_docx, read_pdf
from siamese_news.data.readers.delimited import (
    TABLES,
    layout_of_file,
    refuse_repeated,
    table_rows,
)
from siamese_news.data.readers.detect import MessagesError, refuse_foreign
from siamese_news.data.readers.encodings import as_utf8, detect_encoding
from siamese_news.data.readers.fields import (
    BODIES,
    METADATA,
    TITLES,
    by_normal_name,
    normal,
    present,
)
from siamese_news.data.readers.inputs import (
    LINES,
    PARQUET,
    Input,
    find_inputs,
    plain_suffix,
)
from siamese_news.data.readers.rows import json_rows
from siamese_news.data.readers.values import LOST, id_value, metadata_of, put, text_of
from siamese_news.data.records import Article, check_id, clean_text
from siamese_news.errors import InputError
from siamese_news.utils.extras import optional
from siamese_news.utils.files import open_binary, readable_name, reading

# The metadata with the number of headlines of a front page, and of sections that may be articles.
HEADLINES = "headlines"
SECTIONS = "sections"
# What is between articles that somebody put into one file: lines of one mark, and ends of pages.
# Lines of rights are marks if another one follows, which is looked for no further than that.
_DIVIDER = re.compile(
    r"(?m)^[ \t]*(?:(?:[*•#=~–—-][ \t]*){3,}|# .*)$|\f"
    r"|^[ \t]*(?:©|\(c\)|Copyright\b).{0,60}\d{4}.*$(?=[\s\S]*?^[ \t]*(?:©|\(c\)|Copyright\b))"
)
_MANY = 8  # headlines of a front page; an article links to some others
_PAGE = re.compile(rb"(?i)\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype )?html\b")
_CHARSET = re.compile(rb"(?i)charset|<\?xml[^>]+encoding")
_HEAD = 2**14  # bytes of a page, in which it says its encoding
_PARAGRAPH = 60  # words that the teasers of a front page do not have


def read_page(data: bytes, location: str) -> dict[str, Any]:
    """The article in HTML: ``text``, ``title``; ``created_at``, ``author``, ``url``, ``lang``.

    Raises:
        InputError: trafilatura is not installed or finds no article.
    """
    trafilatura = optional("trafilatura", "web", f"{location}: a web page", SAVE)
    if not _CHARSET.search(data[:_HEAD]):  # trafilatura guesses worse
        stream: Any = io.BufferedReader(io.BytesIO(data))
        data = as_utf8(stream, detect_encoding(data)).read()
    page = trafilatura.bare_extraction(data, with_metadata=True, include_comments=False)
    fields: dict[str, Any] = page.as_dict() if page else {}
    text = clean_text(fields.get("text") or "").strip()
    if not text:
        raise InputError(
            f"{location}: no article was found in the page; save its text as .txt instead"
        )
    title = clean_text(fields.get("title") or "").strip()
    # The heading is part of the text as well.
    if title and text.startswith(f"{title}\n"):
        text = text.removeprefix(title).strip()
    source_names = {
        "created_at": "date",
        "author": "author",
        "url": "url",
        "lang": "language",
    }
    lines = {" ".join(line.removeprefix("- ").split()) for line in text.splitlines()}
    short = max(len(line.split()) for line in lines) < _PARAGRAPH
    lines.discard("")
    # What a link shows, and headings with a link in them: of some cards only the teaser, which
    # comes next, is in the text. Names of sections are short, in bytes in every script.
    linked = "//a | //a//* | //h1[.//a] | //h2[.//a] | //h3[.//a] | //h4[.//a]"
    headlines = len(
        {
            words
            for element in trafilatura.load_html(data).xpath(linked)
            if len((words := _line_of(element)).encode()) > 10
            and not lines.isdisjoint((words, _line_of(element.getnext())))
        }
    )
    front_page = headlines >= _MANY and short and fields.get("pagetype") != "article"
    return {
        "text": text,
        "title": title,
        "metadata": {HEADLINES: headlines} if front_page else None,
        **{to: fields.get(name) for to, name in source_names.items()},
    }


def _line_of(element: Any) -> str:
    """The text of an element of a page on one line."""
    return "" if element is None else " ".join(element.text_content().split())


def read_web_archive(data: bytes, location: str) -> dict[str, Any]:
    """The article of a page that a browser saved as one file (.mhtml); see `read_page`."""
    page = next(
        (
            entity
            for entity in email.message_from_bytes(data).walk()
            if entity.get_content_type() == "text/html"
        ),
        None,
    )
    if page is None:
        raise InputError(
            f"{location}: has no page in HTML; save the text of the article as .txt"
        )
    body: Any = page.get_payload(decode=True)
    return read_page(body or b"", location)


_TEXT = (".txt", ".text", ".md", ".ris")
_PAGES = {
    **dict.fromkeys((".html", ".htm", ".xhtml"), read_page),
    **dict.fromkeys((".mhtml", ".mht"), read_web_archive),
    ".docx": read_docx,
    ".pdf": read_pdf,
}
# The endings of files that cannot hold posts.
ONLY_ARTICLES = (*_TEXT, *_PAGES)
# The endings of articles' files in a folder.
SUFFIXES = (*ONLY_ARTICLES, *LINES, ".json", *TABLES, *PARQUET)

# Best first; `source` is where trafilatura has the address.
_IDS = ("_id", "id", "url", "link", "source")
_BODIES = (
    *"text article article_text articlebody full_text content body raw_text".split(),
    *BODIES,
)
_METADATA = ("created_at", "lang", "author", "url")


class EmptyArticle(InputError):
    """An article with neither a title nor a text."""


class PageOfExport(EmptyArticle):
    """A page of an export that is about the search: no error next to articles."""


def read_articles(
    sources: str | Path | Iterable[str | Path],
    *,
    set_aside: Callable[[str], None] | None = None,
) -> list[Article]:
    """Read articles, in the order given; each file may be plain, ``.gz`` or ``.zst``.

    - ``.txt`` (``.text``, ``.md``): one article; its id is the file's name without suffixes (white
      space becomes ``-``), its title the first line that is not blank where more text follows it.
      An export of Nexis or Factiva, also in Word, is as many articles as it has, numbered from 1;
      so is ``.ris``, the form of reference managers.
    - ``.html`` (``.htm``, ``.xhtml``, ``.mhtml``): a saved web page, by the extra ``web``; ``.docx``
      and ``.pdf``, by the extra ``office``; ids in the same way.
    - ``.jsonl`` (``.ndjson``), ``.csv``, ``.tsv``, ``.parquet``: one article per row with ``_id``,
      ``id`` or ``url``; ``text``; ``title``, ``date`` and the like where known (so a BEIR
      ``queries.jsonl`` is one). ``.json``: that, or one object (as trafilatura writes), or a list.
    - ``-``: standard input: a text, or a web page or JSON by its beginning. So is a text file.

    There are few articles and each of them matters, so one that cannot be read is an error. If
    an article has only a title, the title is used.

    Args:
        sources: files, folders (read by name), globs, ``-``, or one of them.
        set_aside: called with the reason for each article that has neither title nor text, which
            is then left out; None makes it an error.

    Raises:
        InputError: for unreadable files and records, another kind of file, an id used twice, no
            article at all, none that is not empty, and without `set_aside` the first that is.

    Example:
        >>> import siamese_news
        >>> from pathlib import Path
        >>> stories = Path(siamese_news.__file__).parent / "data" / "stories"
        >>> articles = siamese_news.read_articles(stories / "queries.jsonl")
        >>> len(articles), articles[0].title[:40]
        (48, 'River Asker bursts banks at Harlow Bridg')
    """
    paths = [sources] if isinstance(sources, str | Path) else list(sources)
    if not paths:
        raise InputError(
            "no article came, expected at least one file; name a .txt or .jsonl file"
        )
    articles: list[Article] = []
    seen: dict[str, str] = {}
    empty = False
    for location, record in chain.from_iterable(
        map(_records, find_inputs(paths, SUFFIXES))
    ):
        try:
            if isinstance(record, EmptyArticle):
                raise record
            article = article_of(record, location)
        except EmptyArticle as error:
            if set_aside is None and not isinstance(error, PageOfExport):
                raise
            if set_aside is not None:
                set_aside(str(error))
            empty = True
            continue
        if article.id in seen:
            raise InputError(
                f"{location}: the id '{article.id}' was already used at {seen[article.id]}; ids must "
                "differ: rename one"
            )
        seen[article.id] = location
        articles.append(article)
    if not articles:
        raise InputError(
            "every article is empty; expected at least one with a text"
            if empty
            else f"{paths[0]}: no record in the file, expected one article a row"
        )
    return articles


def article_of(record: Mapping[str, Any], location: str) -> Article:
    """One article from a JSON object or a row; `location` (``path:line``) starts every message.

    Raises:
        InputError: for a missing or wrong field; an `EmptyArticle` for one with neither title nor
            text.
    """
    # trafilatura writes every field, with null for unknown values.
    present_fields = {key: value for key, value in record.items() if value is not None}
    names = by_normal_name(present_fields)
    titles = present(names, TITLES)[:1]
    bodies = present(names, _BODIES)
    with refused_at(location):
        title = text_of(present_fields, *titles) if titles else ""
        text = (
            ""
            if title.strip() and not bodies
            else text_of(present_fields, *(bodies or _BODIES[:2]))
        )
        metadata = metadata_of(present_fields)
    if not text.strip() and not title.strip():
        raise EmptyArticle(
            f"{location}: field '{bodies[0]}' is empty, and so is the title; expected the article: "
            "remove the line"
        )
    for target in _METADATA:
        for name in present(names, METADATA[target])[:1]:
            put(metadata, target, present_fields[name])
    metadata.pop(LOST, None)
    return Article(
        id=_id(present_fields, names, location),
        text=text,
        title=title,
        metadata=metadata,
    )


def _id(record: Mapping[str, Any], names: Mapping[str, str], location: str) -> str:
    for name in present(names, _IDS):
        value = record[name]
        if isinstance(value, str) and "://" in value:
            value = re.sub(r"\s+", "%20", value.strip())
        elif normal(name) == "source":
            continue  # often the name of a newspaper
        if not isinstance(value, str):
            with refused_at(location):
                return id_value(value, name)
        return check_id(str(value), f"{location}: field '{name}'")
    raise InputError(f"{location}: {missing(_IDS[:3], record)}")


Records = Iterator[tuple[str, dict[str, Any] | EmptyArticle]]


def _records(source: Input) -> Records:
    """The records of a file, each with its place for messages."""
    name = source.name
    suffix = plain_suffix(source.name)
    if piped := source.path is None:
        source.spool()
    path = source.path
    assert path is not None
    if piped or (suffix in _TEXT and suffix != ".ris" and path.stat().st_size):
        suffix = _sniffed(path, name)
    if suffix in (*LINES, ".json"):
        yield from _json(path, name, suffix)
    elif suffix in _TEXT:
        yield from _parts(_text_file(path, name), name)
    elif suffix in _PAGES:
        page = _PAGES[suffix](_content(path, name), name)
        yield from _parts({**page, "_id": _own_id(name)}, name)
    elif suffix in TABLES:
        yield from _table(path, name, suffix)
    elif suffix in PARQUET:
        yield from _parquet(source)
    else:
        with open_binary(path) as stream, reading(name):
            refuse_foreign(name, stream.read(2**10), f"expected {', '.join(SUFFIXES)}")
        raise InputError(
            f"{name}: ends in '{suffix}', expected {', '.join(SUFFIXES)} "
            "(or these with .gz or .zst); convert the file"
        )


def _parts(article: dict[str, Any] | EmptyArticle, name: str) -> Records:
    """The articles in an export of a database of news, or the one article."""
    if isinstance(article, EmptyArticle):
        yield name, article
        return
    whole_text = f"{article['title']}\n{article['text']}"
    parts, pages = exported(whole_text.split("\n"))
    # Of 25 words or more, a section may be an article.
    sections = sum(len(section.split()) >= 25 for section in _DIVIDER.split(whole_text))
    if sections > 1:
        article = {**article, "metadata": {SECTIONS: sections}}
    for line in pages:
        yield (
            name,
            PageOfExport(
                f"{name}: there is no text of an article on the page that begins with '{line[:60]}'"
            ),
        )
    if not parts and not pages:
        yield name, article
    for number, fields in enumerate(parts, 1):
        suffix = f"-{number}" if len(parts) > 1 else ""
        yield (
            f"{name}, article {number}",
            {**fields, "_id": f"{article['_id']}{suffix}"},
        )


def _sniffed(path: Path, name: str) -> str:
    """The suffix for the content of a pipe, or of a file of text: JSON, a web page or a text."""
    if not path.stat().st_size:
        raise InputError(f"{name}: is empty, expected an article")
    with open_binary(path) as stream, reading(name):
        start = stream.read(2**10).removeprefix(b"\xef\xbb\xbf")
    if json_begin := re.match(rb'\s*(\[?)\s*\{\s*"', start):
        return ".json" if json_begin[1] else ".jsonl"
    if _PAGE.match(start):
        return ".html"
    with suppress(MessagesError):  # the articles of some come by e-mail
        refuse_foreign(name, start, "expected the text of an article")
    return ".txt"


def _json(path: Path, name: str, suffix: str) -> Records:
    """One object per line; in a .json also one object or a list of them over many lines."""
    stream: Any
    with open_binary(path) as stream, reading(name):
        encoding = detect_encoding(stream.read1(2**16))
    content = None
    if suffix == ".json":
        stream = io.BufferedReader(io.BytesIO(_content(path, name)))
        data = as_utf8(stream, encoding).read().removeprefix("\ufeff".encode())
        with suppress(BadRow):
            content = decode_value(data)
    if isinstance(content, dict):
        yield name, content
    elif isinstance(content, list):
        for number, record in enumerate(content, 1):
            location = f"{name}, article {number}"
            if not isinstance(record, dict):
                raise InputError(f"{location}: expected an object with fields")
            yield location, record
    else:
        with open_binary(path) as stream, reading(name):
            yield from _rows(json_rows(as_utf8(stream, encoding), None), name)


def _content(path: Path, name: str) -> bytes:
    with open_binary(path) as stream, reading(name):
        data = stream.read(LINE_CAP + 1)
    if len(data) > LINE_CAP:
        raise InputError(
            f"{name}: longer than {LINE_CAP:,} bytes, expected one article; is this a dump?"
        )
    return data


def _own_id(name: str) -> str:
    """The file's name without suffixes, as an id."""
    path = Path(name)
    stem = path.with_suffix("").stem if path.suffix in (".gz", ".zst") else path.stem
    return check_id(
        re.sub(r"\s+", "-", readable_name(stem)), f"{name}: the file's name"
    )


def _text_file(path: Path, name: str) -> dict[str, Any] | EmptyArticle:
    if not path.stat().st_size:
        return EmptyArticle(f"{name}: the file is empty, expected an article")
    data = _content(path, name)
    stream: Any = io.BufferedReader(io.BytesIO(data))
    text = ""
    for number, line in enumerate(as_utf8(stream, detect_encoding(data)), 1):
        with refused_at(f"{name}:{number}"):
            text += decode_whole(line)
    # The end of a page stays: it may be that of an article.
    lines = re.split("\r\n?|\n|(?=\f)|(?<=\f)", text.removeprefix("\ufeff"))
    text = "\n".join(map(clean_text, lines)).strip()
    if not text:
        return EmptyArticle(f"{name}: the article is empty, expected its text")
    heading, _, below = text.partition("\n")
    title, body = (heading.strip(), below.strip()) if below.strip() else ("", heading)
    return {"_id": _own_id(name), "title": title, "text": body}


def _table(path: Path, name: str, suffix: str) -> Records:
    stream: Any
    with open_binary(path) as stream, reading(name):
        encoding = detect_encoding(stream.read1(2**16))
    with open_binary(path) as stream:
        table = layout_of_file(as_utf8(stream, encoding), name, suffix, "an article")
    with open_binary(path) as stream:
        names = {normal(column): column for column in table.names}
        refuse_repeated(
            table.names, present(names, (*_IDS, *TITLES, *_BODIES)), f"{name}:1"
        )
        yield from _rows(table_rows(as_utf8(stream, encoding), table), name)


def _parquet(source: Input) -> Records:
    from siamese_news.data.readers.parquet import parquet_columns, parquet_rows

    options = {
        *_IDS,
        *_BODIES,
        *TITLES,
        *(n for target in _METADATA for n in METADATA[target]),
    }
    names = tuple(name for name in parquet_columns(source) if normal(name) in options)
    yield from _rows(parquet_rows(source, names, lambda share: None), source.name)


def _rows(
    rows: Iterable[tuple[int, dict[str, Any] | BadRow, Any]], name: str
) -> Records:
    for number, record, _ in rows:
        location = f"{name}:{number}"
        if isinstance(record, BadRow):
            raise InputError(f"{location}: {record.message}")
        # An empty cell is ignored, unless it is the text of the article.
        yield (
            location,
            {k: v for k, v in record.items() if v != "" or normal(k) in _BODIES},
        )
