"""The command line: ``siamese-news``. Heavy imports wait until a command needs them."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="News articles in, the social media posts about them out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class Format(StrEnum):
    """How a ranking is written."""

    table = "table"
    jsonl = "jsonl"
    csv = "csv"
    trec = "trec"


@app.callback()
def _root() -> None:
    """News articles in, the social media posts about them out."""


@app.command()
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
    from siamese_news.errors import InputError

    try:
        _rank(model, [*articles, *(more or [])], posts, top, format, out, threads)
    except InputError as error:
        typer.echo(f"siamese-news: {error}", err=True)
        raise typer.Exit(2) from error


def _rank(
    folder: Path,
    article_paths: list[Path],
    posts_path: Path,
    top: int,
    format: Format,
    out: Path | None,
    threads: int | None,
) -> None:
    import torch

    from siamese_news.data.articles import read_articles
    from siamese_news.data.posts import read_posts
    from siamese_news.files import atomic_write
    from siamese_news.model import Model
    from siamese_news.search.output import write_ranking
    from siamese_news.search.rank import rank_posts

    if threads:
        torch.set_num_threads(threads)
    seeds = read_articles(article_paths)
    ranked = rank_posts(Model.load(folder), seeds, _counted(read_posts(posts_path)), top=top)
    if out is None:
        write_ranking(sys.stdout, ranked, format.value, terminal=sys.stdout.isatty())
    else:
        with atomic_write(out) as stream:
            write_ranking(stream, ranked, format.value, terminal=False)
        typer.echo(f"{out}: {sum(map(len, ranked))} posts for {len(ranked)} articles", err=True)


def _counted(posts):  # type: ignore[no-untyped-def]
    """Show progress where a person watches."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield from progress.track(posts, description="posts")


def main() -> None:
    """Entry point of ``python -m siamese_news``."""
    app()


if __name__ == "__main__":
    main()
