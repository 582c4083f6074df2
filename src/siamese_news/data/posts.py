"""Posts of prepared collections; `siamese_news.data.readers` reads what people collect."""

from typing import Any

from siamese_news.data.jsonl import id_of, metadata_of, text_of
from siamese_news.data.records import Post


def post_of(record: dict[str, Any], where: str) -> Post:
    """One post from a JSON object; `where` (``path:line``) starts every message.

    Fields: ``_id``, ``id_str`` or ``id``; ``full_text`` or ``text``, after ``title`` where there is
    one; ``metadata`` where there is one. A post may be empty.

    Raises:
        InputError: for a missing or wrong field.
    """
    # full_text before text: where a dump has both, `text` is cut off.
    text = text_of(record, ["full_text", "text"], where)
    if record.get("title"):
        text = f"{text_of(record, ['title'], where)}\n{text}"
    return Post(
        # id_str before id: many dumps of tweets round the number of `id`.
        id=id_of(record, ["_id", "id_str", "id"], where),
        text=text,
        metadata=metadata_of(record, where),
    )
