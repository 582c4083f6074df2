"""Articles from text files and JSON lines."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from siamese_news.data.jsonl import id_of, metadata_of, read_jsonl, read_lines, text_of
from siamese_news.data.records import Article, check_id, clean_text
from siamese_news.errors import InputError

_TEXT = (".txt", ".text", ".md")
_RECORDS = (".jsonl", ".ndjson", ".json")


def read_articles(paths: Iterable[str | Path]) -> list[Article]:
    """Read articles, in the order given; each file may be plain, ``.gz`` or ``.zst``.

    A ``.txt`` (``.text``, ``.md``) file is one article: its id is the file's name without
    suffixes (white space becomes ``-``), its title the first line that is not blank where more
    text follows it. A ``.jsonl`` (``.ndjson``, ``.json``) file holds one article per line:
    ``_id``, ``id`` or ``url``; ``text`` or ``article``; ``title`` and ``metadata`` where known
    (so a BEIR ``queries.jsonl`` is one).

    Raises:
        InputError: for unreadable files and records (`read_jsonl`), another kind of file, an
            article without text, an id used twice, no file at all.
    """
    articles: list[Article] = []
    seen: dict[str, str] = {}
    for path in map(Path, paths):
        for where, article in _read(path):
            if article.id in seen:
                raise InputError(
                    f"{where}: field '_id' is '{article.id}', already used at {seen[article.id]}; "
                    "ids must differ: rename one"
                )
            seen[article.id] = where
            articles.append(article)
    if not articles:
        raise InputError("no article came, expected at least one file; name a .txt or .jsonl file")
    return articles


def article_of(record: dict, where: str) -> Article:
    """One article from a JSON object; `where` (``path:line``) starts every message.

    Raises:
        InputError: for a missing or wrong field, and an article without text.
    """
    title = text_of(record, ["title"], where) if record.get("title") is not None else ""
    text = text_of(record, ["text", "article"], where)
    if not text.strip():
        name = "text" if "text" in record else "article"
        raise InputError(f"{where}: field '{name}' is empty, expected the article; remove the line")
    return Article(
        id=id_of(record, ["_id", "id", "url"], where),
        text=text,
        title=title,
        metadata=metadata_of(record, where),
    )


def _read(path: Path) -> Iterator[tuple[str, Article]]:
    plain = path.with_suffix("") if path.suffix in (".gz", ".zst") else path
    if plain.suffix in _RECORDS:
        for number, record in read_jsonl(path):
            where = f"{path}:{number}"
            yield where, article_of(record, where)
    elif plain.suffix in _TEXT:
        yield str(path), _text_file(path, plain.stem)
    else:
        raise InputError(
            f"{path}: ends in '{plain.suffix}', expected {', '.join(_TEXT + _RECORDS)} "
            "(or these with .gz or .zst); rename or convert the file"
        )


def _text_file(path: Path, stem: str) -> Article:
    lines = [clean_text(line) for _, line in read_lines(path)]
    text = "\n".join(lines).strip()
    if not text:
        raise InputError(f"{path}: the article is empty, expected its text")
    first, _, rest = text.partition("\n")
    title, body = (first.strip(), rest.strip()) if rest.strip() else ("", first)
    return Article(
        id=check_id(re.sub(r"\s+", "-", stem), f"{path}: the file's name"), text=body, title=title
    )
