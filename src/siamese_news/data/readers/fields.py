"""Posts from records of any origin: which field is what, and a post from these fields."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from siamese_news.data.jsonl import kind, plain_value
from siamese_news.data.lines import BadRow
from siamese_news.data.readers.values import id_value, put, text_value
from siamese_news.data.records import Post, clean_text
from siamese_news.errors import InputError

Record = dict[str, Any]
Converted = Post | None | list[Post | BadRow] | list[Post | BadRow | None]
Convert = Callable[[Record], Converted]
"""A record's post; None where it is no post (a like, a deletion); several where it is a page."""

# Best first; compared in lower case with _ for everything that is no letter or digit.
# full_text before text: where a dump has both, `text` is cut off.
TEXTS = (
    "full_text", "text", "tweet_text", "post_text", "content", "body", "message", "tweet", "post",
    "caption", "comment", "selftext", "rawcontent", "video_description", "message_text",
)  # fmt: skip
# id_str before id: many dumps of tweets round the number of `id`.
IDS = (
    "_id", "id_str", "id", "tweet_id", "status_id", "comment_id", "message_id", "post_id", "uri",
    "guid",
)  # fmt: skip
METADATA: Mapping[str, Sequence[str]] = {
    "created_at": (
        "created_at", "createdat", "created_utc", "date", "datetime", "timestamp", "timestamp_utc",
        "time", "published_at", "published", "pubdate", "posted_at", "post_created", "created",
        "creation_time", "created_time", "create_time", "publishedat", "timestamp_ms",
    ),
    "lang": ("lang", "language"),
    "author": (
        "author", "author_username", "username", "user_name", "screen_name", "user_screen_name",
        "user", "handle", "page_name", "author_name", "from_user",
    ),
    "url": ("url", "link", "expanded_url"),
    "permalink": ("permalink", "post_url", "tweet_url", "status_url"),
    "retweet_of": (
        "retweet_of", "retweeted_id", "retweeted_status_id", "referenced_tweets_retweeted_id",
    ),
}  # fmt: skip
LINE = "line"
"""The id field that numbers the rows of data that has no ids."""


@dataclass(frozen=True, slots=True)
class Fields:
    """Which fields a reader takes.

    Attributes:
        texts: fields for the text, best first; a record's first one counts.
        ids: fields for the id, likewise.
        metadata: name in the post's metadata -> field.
        nested: the same for fields of the record's own ``metadata``.
        title: field of a title that belongs to the text.
        spare: field of a title that stands for a text that is empty.
    """

    texts: tuple[str, ...]
    ids: tuple[str, ...]
    metadata: Mapping[str, str] = field(default_factory=dict)
    nested: Mapping[str, str] = field(default_factory=dict)
    title: str | None = None
    spare: str | None = None


@lru_cache(4096)
def normal(name: str) -> str:
    """A field's name as the tables here have it: ``Tweet ID`` is ``tweet_id``."""
    lowered = re.sub(r"[^a-z0-9]+", "_", name.strip().lower()).strip("_")
    return f"_{lowered}" if name.startswith("_") else lowered


def find_fields(
    names: Iterable[str],
    where: str,
    *,
    text_field: str | None = None,
    id_field: str | None = None,
    date_field: str | None = None,
    nested: Iterable[str] = (),
) -> Fields:
    """Choose among the fields that the first records have.

    Args:
        names: the fields.
        where: what a message starts with.
        text_field: the user's choice; a dot leads into an object.
        id_field: likewise; `LINE` numbers the rows where there is no such field.
        date_field: likewise for the date.
        nested: the fields of ``metadata``, where that is an object.

    Raises:
        InputError: where there is no field for the text or the id.
    """
    names = list(names)
    outer, inner = _by_normal(names), _by_normal(nested)
    metadata = _metadata(outer)
    if date_field is not None:
        metadata["created_at"] = check_field(names, date_field, "--date-field", where)
    beir = "_id" in names and "text" in names and text_field is None
    return Fields(
        _choose(names, outer, text_field, TEXTS, "--text-field", where),
        _choose(names, outer, id_field, IDS, "--id-field", where),
        metadata,
        {target: name for target, name in _metadata(inner).items() if target not in metadata},
        "title" if beir and "title" in names else None,
        outer.get("title", outer.get("headline")),
    )


def check_field(names: Sequence[str], wanted: str, option: str, where: str) -> str:
    """The user's choice of a field, if the records have it; a dot leads into an object.

    Raises:
        InputError: they have no such field.
    """
    if wanted in names or wanted.split(".")[0] in names:
        return wanted
    raise InputError(
        f"{where}: field '{wanted}' ({option}) is missing; the record has: {_list(names)}"
    )


def _by_normal(names: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(normal(name), name)
    return found


def _metadata(by_normal: Mapping[str, str]) -> dict[str, str]:
    return {
        target: next(by_normal[name] for name in options if name in by_normal)
        for target, options in METADATA.items()
        if any(name in by_normal for name in options)
    }


def _choose(
    names: Sequence[str],
    by_normal: Mapping[str, str],
    wanted: str | None,
    options: Sequence[str],
    option: str,
    where: str,
) -> tuple[str, ...]:
    if wanted is not None:
        if options is IDS and wanted == LINE:
            return (wanted,)
        return (check_field(names, wanted, option, where),)
    found = tuple(by_normal[name] for name in options if name in by_normal)
    if not found:
        expected = "', '".join(options)
        line = f", or {option} {LINE} to number the rows" if options is IDS else ""
        raise InputError(
            f"{where}: field '{expected}' (any one of them) is missing; the record has: "
            f"{_list(names)}. Name the right one with {option}{line}"
        )
    return found


def _list(names: Sequence[str]) -> str:
    return ", ".join(clean_text(name)[:40] for name in names[:12]) or "none"


def generic(fields: Fields) -> Convert:
    """Posts from records with a text and an id among their fields.

    Of the fields for the text the first one that is not empty counts.
    """
    texts, ids, title, spare = fields.texts, fields.ids, fields.title, fields.spare
    outer, inner = list(fields.metadata.items()), list(fields.nested.items())
    dotted = [name for name in (*texts, *ids, *fields.metadata.values()) if "." in name]

    def convert(record: Record) -> Post:
        if dotted:
            record = _with_dotted(record, dotted)
        get = record.get
        text = None
        for name in texts:
            value = get(name)
            if value is not None:
                text = text_value(value, name)
                if text:
                    break
        heading = title or (None if text else spare)
        if text is None and (heading is None or not get(heading)):
            raise _missing(texts, record, "no text")
        for name in ids:
            value = get(name)
            if value is not None:
                post_id = id_value(value, name)
                break
        else:
            raise _missing(ids, record, "no id")
        if heading is not None and get(heading):
            lead = text_value(record[heading], heading)
            text = f"{lead}\n{text}" if text else lead
        metadata = _own_metadata(record["metadata"]) if "metadata" in record else {}
        for target, name in inner:
            put(metadata, target, metadata.get(name))
        for target, name in outer:
            put(metadata, target, get(name))
        return Post(post_id, text or "", metadata)

    return convert


def _own_metadata(value: Any) -> dict[str, Any]:
    if not value and (value is None or isinstance(value, dict | str)):
        return {}
    if not isinstance(value, dict):
        raise BadRow("bad metadata", f"field 'metadata' is a {kind(value)}, expected an object")
    plain: dict[str, Any] = plain_value(value)
    return plain


def value_at(record: Record, name: str) -> Any:
    """The value of a field; a dot leads into an object. None where there is none."""
    if name in record:
        return record[name]
    value: Any = record
    for part in name.split("."):
        if isinstance(value, dict):
            # As in a table of columns, where names are compared in their normal form.
            own = part if part in value else next((k for k in value if normal(k) == part), part)
            value = value.get(own)
        else:
            return None
    return value


def _with_dotted(record: Record, names: Iterable[str]) -> Record:
    for name in names:
        if name not in record:
            value = value_at(record, name)
            if value is not None:
                record = {**record, name: value}
    return record


def _missing(names: Sequence[str], record: Record, reason: str) -> BadRow:
    for name in names:
        if name in record:
            return BadRow(reason, f"field '{name}' is a null, expected a value")
    either = "" if len(names) == 1 else " (any one of them)"
    expected = "', '".join(names)
    have = _list(list(record))
    return BadRow(reason, f"field '{expected}'{either} is missing; the record has: {have}")
