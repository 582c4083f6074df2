"""The command line: ``siamese-news``. Heavy imports wait until a command needs them."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from siamese_news.data.records import Post
    from siamese_news.search.rank import RankedPost

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


class FirstStage(StrEnum):
    """What picks the posts that are reranked."""

    none = "none"
    bm25 = "bm25"


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


@app.command()
def rerank(
    model: Annotated[Path, typer.Option(help="Ranker folder that task=rerank wrote.")],
    query: Annotated[str, typer.Option(help="Keywords.")],
    posts: Annotated[Path, typer.Option(help="Posts: JSONL with an id and a text; may be .gz.")],
    first_stage: Annotated[
        FirstStage, typer.Option(help="bm25: rerank only its 1,000 best posts.")
    ] = FirstStage.none,
    top: Annotated[int, typer.Option(min=1, help="Posts to list.")] = 100,
    format: Annotated[Format, typer.Option(help="How to write the ranking.")] = Format.table,
    out: Annotated[Path | None, typer.Option(help="File to write; else the terminal.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads.")] = None,
) -> None:
    """Rank posts for a keyword query with a trained samCNN or MP-HCNN.

    Example: siamese-news rerank --model DIR --query "oscars snub affleck" --posts posts.jsonl

    Exit codes: 0 done, 2 bad input (the message says what to change).
    """
    from siamese_news.errors import InputError

    try:
        _rerank(model, query, posts, first_stage, top, format, out, threads)
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
    from siamese_news.model import Model
    from siamese_news.search.rank import rank_posts

    if threads:
        torch.set_num_threads(threads)
    seeds = read_articles(article_paths)
    _write(
        rank_posts(Model.load(folder), seeds, _counted(read_posts(posts_path)), top=top),
        format,
        out,
    )


def _rerank(
    folder: Path,
    query: str,
    posts_path: Path,
    first_stage: FirstStage,
    top: int,
    format: Format,
    out: Path | None,
    threads: int | None,
) -> None:
    import torch

    from siamese_news.data.posts import read_posts
    from siamese_news.data.records import Article
    from siamese_news.ranker import TextRanker
    from siamese_news.search.rank import RankedPost
    from siamese_news.search.rerank import rerank_posts

    if threads:
        torch.set_num_threads(threads)
    found = rerank_posts(
        TextRanker.load(folder),
        query,
        list(read_posts(posts_path)),
        top=top,
        first_stage=first_stage.value,
    )
    seed = Article("query", query, title=query)
    _write([[RankedPost(seed, hit.rank, hit.score, hit.post) for hit in found]], format, out)


def _write(ranking: "list[list[RankedPost]]", format: Format, out: Path | None) -> None:
    from siamese_news.files import atomic_write
    from siamese_news.search.output import write_ranking

    if out is None:
        write_ranking(sys.stdout, ranking, format.value, terminal=sys.stdout.isatty())
        return
    with atomic_write(out) as stream:
        write_ranking(stream, ranking, format.value, terminal=False)
    typer.echo(f"{out}: {sum(map(len, ranking))} posts for {len(ranking)} seeds", err=True)


def _counted(posts: "Iterable[Post]") -> "Iterator[Post]":
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
