"""Write a ranking: a table for people, JSON lines and CSV for programs, TREC for evaluation."""

import csv
import json
import unicodedata
from collections.abc import Callable, Sequence
from typing import IO, Any

from siamese_news.search.rank import RankedPost

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
COLUMNS = ("article", "rank", "score", "post", "text")


def write_ranking(
    stream: IO[str], ranking: Sequence[Sequence[RankedPost]], format: str, *, terminal: bool
) -> None:
    """Write a ranking of `rank` or `rerank`.

    Args:
        stream: where to.
        ranking: the posts of each article, best first.
        format: ``table``, ``jsonl``, ``csv`` or ``trec``.
        terminal: whether a person reads the stream; the table is then coloured.
    """
    _WRITERS[format](stream, ranking, terminal)


def clean(text: str) -> str:
    """One line without control or direction-changing characters: safe for a terminal."""
    return "".join(c for c in " ".join(text.split()) if unicodedata.category(c) not in _UNSAFE)


# Cc controls, Cf formats (bidi, zero width), Cs surrogates, Zl and Zp line separators.
_UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def _table(stream: IO[str], ranking: Sequence[Sequence[RankedPost]], terminal: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=stream, width=None if terminal else 140, force_terminal=terminal)
    for posts in ranking:
        if not posts:
            continue
        article = posts[0].article
        name = clean(article.title or article.id)
        table = Table(title=Text(f"{article.id}: {name}"), title_justify="left")
        table.add_column("rank", justify="right")
        table.add_column("score", justify="right")
        table.add_column("post", overflow="fold")
        table.add_column("text", overflow="fold")
        for post in posts:
            # Text, not str: brackets in a post are no markup.
            table.add_row(
                str(post.rank), f"{post.score:.4f}", Text(post.post.id), Text(clean(post.post.text))
            )
        console.print(table)


def _jsonl(stream: IO[str], ranking: Sequence[Sequence[RankedPost]], terminal: bool) -> None:
    for posts in ranking:
        for post in posts:
            stream.write(json.dumps(_record(post), ensure_ascii=False) + "\n")


def _csv(stream: IO[str], ranking: Sequence[Sequence[RankedPost]], terminal: bool) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for posts in ranking:
        for post in posts:
            writer.writerow([_formula_safe(value) for value in _record(post).values()])


def _trec(stream: IO[str], ranking: Sequence[Sequence[RankedPost]], terminal: bool) -> None:
    for posts in ranking:
        for post in posts:
            stream.write(
                f"{post.article.id} Q0 {post.post.id} {post.rank} {post.score:.6f} siamese_news\n"
            )


def _record(post: RankedPost) -> dict[str, Any]:
    values = (post.article.id, post.rank, post.score, post.post.id, post.post.text)
    return dict(zip(COLUMNS, values, strict=True))


def _formula_safe(value: Any) -> Any:
    """Spreadsheets run a text that starts like a formula; a leading apostrophe stops them."""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return "'" + value
    return value


_WRITERS: dict[str, Callable[[IO[str], Sequence[Sequence[RankedPost]], bool], None]] = {
    "table": _table,
    "jsonl": _jsonl,
    "csv": _csv,
    "trec": _trec,
}
