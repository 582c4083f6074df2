"""The BEIR layout: queries.jsonl = articles, corpus.jsonl = posts, qrels/<split>.tsv = pairs."""

from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from siamese_news.data.articles import article_of
from siamese_news.data.jsonl import post_of, read_jsonl
from siamese_news.data.lines import read_lines
from siamese_news.data.records import Article, Collection, Post, Qrels
from siamese_news.errors import InputError

_ENDINGS = ("", ".gz", ".zst")
Record = TypeVar("Record", Article, Post)


def bundled() -> Collection:
    """The corpus that ships with the package: invented stories, written for this project."""
    with resources.as_file(resources.files("siamese_news.data.stories")) as folder:
        return read_collection(folder)


def read_collection(folder: str | Path, *, splits: Sequence[str] | None = None) -> Collection:
    """Read a folder in the BEIR layout; each file may be plain, ``.gz`` or ``.zst``.

    Args:
        folder: holds ``queries.jsonl``, ``corpus.jsonl`` and ``qrels/<split>.tsv``.
        splits: the splits to read; None reads all that exist.

    Raises:
        InputError: for a missing, empty or damaged file, a bad record, an id used twice, a qrel
            that names an unknown id; the message names file, line and field.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InputError(
            f"{root}: no such folder; expected queries.jsonl, corpus.jsonl and qrels/ in it"
        )
    articles = _records(_file(root, "queries.jsonl"), article_of)
    posts = _records(_file(root, "corpus.jsonl"), post_of)
    names = _splits(root) if splits is None else list(splits)
    qrels = {name: _qrels(_file(root / "qrels", f"{name}.tsv"), articles, posts) for name in names}
    return Collection(name=root.resolve().name, articles=articles, posts=posts, qrels=qrels)


def read_corpus(folder: str | Path) -> dict[str, Post]:
    """The posts alone of a folder in the BEIR layout; it may lack articles and pairs.

    Raises:
        InputError: as `read_collection`.
    """
    return _records(_file(Path(folder), "corpus.jsonl"), post_of)


def _file(folder: Path, name: str) -> Path:
    for ending in _ENDINGS:
        path = folder / f"{name}{ending}"
        if path.exists():
            return path
    raise InputError(f"{folder / name}: no such file, nor {name}.gz or {name}.zst; check the path")


def _splits(root: Path) -> list[str]:
    found = {
        path.name.split(".tsv")[0]
        for path in (root / "qrels").glob("*.tsv*")
        if path.name.endswith(tuple(f".tsv{ending}" for ending in _ENDINGS))
    }
    if not found:
        raise InputError(f"{root / 'qrels'}: no qrels there, expected at least one <split>.tsv")
    return sorted(found)


def _records(path: Path, make: Callable[[dict[str, Any], str], Record]) -> dict[str, Record]:
    records: dict[str, Record] = {}
    lines: dict[str, int] = {}
    for number, raw in read_jsonl(path):
        record = make(raw, f"{path}:{number}")
        if record.id in records:
            raise InputError(
                f"{path}:{number}: field '_id' is '{record.id}', already used on line "
                f"{lines[record.id]}; ids must differ: remove or rename one"
            )
        records[record.id] = record
        lines[record.id] = number
    return records


def _qrels(path: Path, articles: Mapping[str, Article], posts: Mapping[str, Post]) -> Qrels:
    qrels: Qrels = {}
    for number, line in read_lines(path):
        fields = line.split("\t")
        if number == 1 and fields[0] == "query-id":
            continue
        if not line.strip():
            continue
        where = f"{path}:{number}"
        if len(fields) != 3:
            raise InputError(
                f"{where}: {len(fields)} tab-separated fields, "
                "expected 3: query-id, corpus-id, score"
            )
        article, post, score = (field.strip() for field in fields)
        if article not in articles:
            raise InputError(
                f"{where}: field 'query-id' is '{article}', which queries.jsonl does not have; "
                "remove the line or add the article"
            )
        if post not in posts:
            raise InputError(
                f"{where}: field 'corpus-id' is '{post}', which corpus.jsonl does not have; "
                "remove the line or add the post"
            )
        try:
            grade = int(score)
        except ValueError:
            raise InputError(
                f"{where}: field 'score' is '{score}', expected a whole number such as 1"
            ) from None
        judged = qrels.setdefault(article, {})
        if post in judged:
            raise InputError(
                f"{where}: the pair '{article}', '{post}' came before; remove one of the lines"
            )
        judged[post] = grade
    if not qrels:
        raise InputError(f"{path}: no pair in the file, expected query-id, corpus-id, score")
    return qrels
