"""``siamese-news rerank``."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from siamese_news.cli.outputs import ForceOption, check_output, files_read, write
from siamese_news.search.threads import use_threads
from siamese_news.utils.choices import Format
from siamese_news.utils.exits import bad_input_exits


def rerank(
    model: Annotated[Path, typer.Option(help="Model folder from training with task=rerank.")],
    query: Annotated[str, typer.Option(help="Keywords.")],
    posts: Annotated[
        Path, typer.Option(help="Posts: JSON lines with an id and a text; may be .gz.")
    ],
    first_stage: Annotated[
        Literal["none", "bm25"],
        typer.Option(help="bm25: rerank only the 1,000 best posts by BM25."),
    ] = "none",
    top: Annotated[int, typer.Option(min=1, help="Number of posts to list.")] = 100,
    format: Annotated[Format, typer.Option(help="Output format.")] = "table",
    out: Annotated[Path | None, typer.Option(help="File to write (default: the terminal).")] = None,
    force: ForceOption = False,
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads.")] = None,
) -> None:
    """Rank posts for a keyword query with a trained samCNN or MP-HCNN.

    Example: siamese-news rerank --model DIR --query "oscars snub affleck" --posts posts.jsonl

    Exit codes: 0 success, 1 output cannot be written, 2 bad input, 130 interrupted.
    """
    with bad_input_exits():
        from siamese_news.data.readers import open_posts
        from siamese_news.model.reranker import TextRanker
        from siamese_news.search.rerank import rerank_posts

        use_threads(threads)
        check_output(out, files_read(posts=[str(posts)], model=model), force=force)
        found = rerank_posts(
            TextRanker.load(model),
            query,
            list(open_posts([posts], strict=True)),
            top=top,
            first_stage=first_stage,
        )
        write([found], format, out)
