"""Input from Python: lists, iterators and data frames, without importing their libraries."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, Generic, Protocol, TypeVar, cast

from siamese_news.data.articles import article_of
from siamese_news.data.lines import BadRow
from siamese_news.data.readers.duplicates import SeenIds
from siamese_news.data.readers.fields import (
    IDS,
    LINE,
    TEXTS,
    Choice,
    Convert,
    find_fields,
    generic,
    normal,
)
from siamese_news.data.readers.values import DELETED
from siamese_news.data.records import Article, Post, check_id, clean_text
from siamese_news.errors import InputError
from siamese_news.search.file_pool import progress_bar
from siamese_news.search.scan import blocks
from siamese_news.utils.missing_values import is_missing

_ARTICLE_IDS = {"_id", "id", "url", "link"}
_FILE = re.compile(r"\S*\.\w{1,7}")

Record = TypeVar("Record", Article, Post)


class Frame(Protocol):
    """A table of pandas, polars or pyarrow."""

    columns: Any


Articles = (
    str
    | Mapping[str, Any]
    | Article
    | Iterable[str | Mapping[str, Any] | Article]
    | Frame
)
Posts = (
    str | Mapping[str, Any] | Post | Iterable[str | Mapping[str, Any] | Post] | Frame
)


def articles_of(inputs: Articles) -> list[Article]:
    """The articles, with distinct ids; one without an id has its place, from 0."""
    articles = list(_Records(inputs, "articles", Article, _article))
    seen: set[str] = set()
    for article in articles:
        if article.id in seen:
            raise InputError(
                f"article id {article.id!r} occurs twice; ids must be unique"
            )
        seen.add(article.id)
    return articles


def posts_of(inputs: Posts) -> Iterable[Post]:
    """The posts; one without an id has its place, from 0, and one without a text is empty.

    They can be iterated again unless `inputs` is an iterator.
    """
    converters: dict[tuple[str, ...], Convert] = {}
    records = _Records(inputs, "posts", Post, partial(_post, converters=converters))
    return iter(records) if isinstance(inputs, Iterator) else records


def results_of_search(results: Any, needed: Sequence[str]) -> list[dict[str, Any]]:
    """Records of a search, or a table of them, each with the `needed` fields.

    Raises:
        InputError: it is something else, or a record lacks a field.
    """
    expected = "the records that rank or filter returned, or a table of them"
    if isinstance(results, str | bytes | Mapping) or not (
        isinstance(results, Iterable) or hasattr(results, "columns")
    ):
        raise InputError(
            f"results is of type {type(results).__name__}; expected {expected}"
        )
    records = []
    for position, item in enumerate(_rows(results)):
        if not isinstance(item, Mapping):
            raise InputError(
                f"results, item {position} is of type {type(item).__name__}; expected {expected}"
            )
        record = {str(name): _plain(value) for name, value in item.items()}
        for name in needed:
            if record.get(name) is None:
                raise InputError(
                    f"results, item {position} has no {name!r}; expected {expected}"
                )
        records.append(record)
    return records


class CheckedPosts:
    """Posts of any kind, with checked ids; those of an iterator can be read once.

    The number of posts is reported to `progress` after each `BLOCK` of them and at the end; True
    shows it on standard error.
    """

    def __init__(
        self, posts: Iterable[Post], progress: bool | Callable[[int], None] = False
    ) -> None:
        self._posts = posts
        self._progress = progress
        self._passes = 0

    def __iter__(self) -> Iterator[Post]:
        if self._passes and isinstance(self._posts, Iterator):
            raise InputError(
                "the posts come from an iterator, and the temporary folder has no room to keep "
                "them; free some space, or pass a list"
            )
        self._passes = self._passes + 1
        count = 0
        seen = SeenIds()
        with progress_bar(1, None) if self._progress is True else nullcontext() as bar:
            for block in blocks(self._posts):
                ids = [check_id(post.id, "a post's id") for post in block]
                for index in seen.add(ids):
                    raise InputError(
                        f"post id {ids[index]!r} occurs twice; ids must be unique"
                    )
                yield from block
                count += len(block)
                if bar is not None:
                    bar(count, count)
                elif callable(self._progress):
                    self._progress(count)


class _Records(Generic[Record]):
    """Records of one kind, converted while they are read."""

    def __init__(
        self,
        inputs: Any,
        name: str,
        kind: type[Record],
        convert: Callable[[dict[str, Any], int], Record],
    ) -> None:
        if isinstance(inputs, str) and (
            _FILE.fullmatch(inputs) or os.path.exists(inputs)
        ):
            raise InputError(
                f"{name} is {inputs!r}, a path rather than a text; read the file first: "
                "siamese_news.read_articles([path]) or siamese_news.open_posts([path])"
            )
        if isinstance(inputs, str | Mapping | kind):
            inputs = [inputs]
        if hasattr(inputs, "collect"):
            raise InputError(
                f"{name} is a {type(inputs).__name__}, which has not been read yet; call its "
                "collect() first"
            )
        if isinstance(inputs, bytes | Article | Post) or not (
            isinstance(inputs, Iterable) or hasattr(inputs, "columns")
        ):
            raise InputError(
                f"{name} is of type {type(inputs).__name__}; expected one text or dict, a list of "
                "them, a table of pandas, polars or pyarrow, or an iterator (files: "
                "siamese_news.open_posts, siamese_news.read_articles)"
            )
        self._inputs = inputs
        self._name = name
        self._kind: type[Record] = kind
        self._convert: Callable[[dict[str, Any], int], Record] = convert

    def __iter__(self) -> Iterator[Record]:
        for position, item in enumerate(_rows(self._inputs)):
            if isinstance(item, self._kind):
                yield item
                continue
            item = _plain(item)
            if item is None or isinstance(item, str):
                item = {"_id": str(position), "text": item}
            location = f"{self._name}, item {position}"
            if not isinstance(item, Mapping):
                raise InputError(
                    f"{location} is a {type(item).__name__}; expected a text, a dict or "
                    f"{self._kind.__name__}"
                )
            try:
                yield self._convert(
                    {str(name): _plain(v) for name, v in item.items()}, position
                )
            except BadRow as bad:
                raise InputError(f"{location}: {bad.message}") from bad


def _rows(inputs: Any) -> Iterable[Any]:
    if hasattr(inputs, "columns") and hasattr(inputs, "iter_rows"):  # polars
        return inputs.iter_rows(named=True)
    if hasattr(inputs, "columns") and hasattr(inputs, "itertuples"):  # pandas
        names = list(inputs.columns)
        rows = inputs.itertuples(index=False, name=None)
        return (dict(zip(names, row, strict=True)) for row in rows)
    if hasattr(inputs, "to_batches"):  # a table of pyarrow
        return (row for batch in inputs.to_batches() for row in batch.to_pylist())
    if hasattr(inputs, "to_pylist"):
        return cast("list[Any]", inputs.to_pylist())
    return inputs


def _article(record: dict[str, Any], position: int) -> Article:
    if not _ARTICLE_IDS & {normal(name) for name in record if record[name] is not None}:
        record = {"_id": str(position), **record}
    return article_of(record, f"articles, item {position}")


def _post(
    record: dict[str, Any], position: int, *, converters: dict[tuple[str, ...], Convert]
) -> Post:
    names = {normal(name): name for name in record}
    texts = [names[name] for name in TEXTS if name in names]
    if texts and all(record[name] is None for name in texts):
        record[texts[0]] = ""
    if all(record.get(names.get(name, "")) is None for name in IDS):
        record = {
            name: value for name, value in record.items() if normal(name) not in IDS
        }
        record[LINE] = str(position)
    key = tuple(record)
    if key not in converters:
        location = f"posts, item {position}"
        if not texts:
            raise InputError(
                f"{location}: no field of it is a text; expected '{TEXTS[1]}' or one of "
                f"{', '.join(TEXTS)}; it has: {', '.join(map(clean_text, record))}"
            )
        converters[key] = generic(
            find_fields(
                record, location, Choice(id_field=LINE if LINE in record else None)
            )
        )
    post = converters[key](record)
    if post is DELETED:  # as a post without a text
        post = converters[key](record | dict.fromkeys(texts, ""))
    assert isinstance(post, Post)
    return post


def _plain(value: Any) -> Any:
    """A value of a data frame as one of plain Python."""
    if isinstance(value, str):
        return str(value)  # numpy has a type of its own
    if isinstance(value, int | Mapping | Article | Post):
        return value
    if is_missing(value):
        return None
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return (
        value.item()
        if hasattr(value, "item") and not hasattr(value, "__len__")
        else value
    )
