"""``siamese-news rank``."""

from pathlib import Path
from typing import Annotated

import typer

from siamese_news.cli.common import Format, bad_input_exits, counted, use_threads, write


def rank(
    model: Annotated[Path, typer.Option(help="Model folder that training wrote.")],
    articles: Annotated[
        list[Path], typer.Option(help="Seed articles: .txt files, or JSONL / BEIR queries.")
    ],
    posts: Annotated[Path, typer.Option(help="Posts: JSONL with an id and a text; may be .gz.")],
    more: Annotated[
        list[Path] | None, typer.Argument(metavar="[ARTICLES]...", help="More seed articles.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Posts to list for each article.")] = 100,
    format: Annotated[Format, typer.Option(help="How to write the ranking.")] = Format.table,
    out: Annotated[Path | None, typer.Option(help="File to write; else the terminal.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads.")] = None,
) -> None:
    """Rank posts for each seed article, most relevant first.

    Example: siamese-news rank --model demo/model --articles story.txt --posts posts.jsonl --top 20

    Exit codes: 0 done, 2 bad input (the message says what to change).
    """
    with bad_input_exits():
        from siamese_news.data.articles import read_articles
        from siamese_news.data.readers import open_posts
        from siamese_news.model import Model
        from siamese_news.search.rank import rank_posts

        use_threads(threads)
        seeds = read_articles([*articles, *(more or [])])
        found = rank_posts(
            Model.load(model), seeds, counted(open_posts([posts], strict=True)), top=top
        )
        write(found, format, out)
