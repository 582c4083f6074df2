"""The table of formats in docs/formats.md: python docs/hooks/formats.py."""

import sys
from pathlib import Path

from siamese_news.data.readers.known_formats import FORMATS
from siamese_news.utils.files import atomic_write
from siamese_news.utils.markdown import markdown_table

START = "<!-- made by python docs/hooks/formats.py -->\n"
END = "<!-- end -->\n"
_COLUMNS = ("what", "recognized by", "text", "id")
_OTHERS = (
    ("BEIR", "`_id`, `text`", "title + text", "_id"),
    (
        "any other JSON, CSV, TSV, Parquet, Excel",
        "the names of its fields",
        "text and the like",
        "id, tweet_id, uri and the like",
    ),
)


def formats_table() -> str:
    """The table in Markdown, between its marks."""
    rows = [(f.name, f.recognized, f.text_field, f.id_field) for f in FORMATS]
    records = [dict(zip(_COLUMNS, row, strict=True)) for row in (*rows, *_OTHERS)]
    return f"{START}\n{markdown_table(records)}\n\n{END}"


def with_table(document: str) -> str:
    """A document with the table in place of what stands between the marks."""
    before, _, rest = document.partition(START)
    return before + formats_table() + rest.partition(END)[2]


if __name__ == "__main__":
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/formats.md")
    content = with_table(path.read_text(encoding="utf-8"))
    with atomic_write(path) as stream:
        stream.write(content)
