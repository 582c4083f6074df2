"""``siamese-news rerank``."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from siamese_news.cli.outputs import ForceOption, claim, files_read, write
from siamese_news.search.threads import use_threads
from siamese_news.utils.choices import Format
from siamese_news.utils.exits import bad_input_exits


def rerank(
    model: Annotated[Path, typer.Option(help="Ranker folder that task=rerank wrote.")],
    query: Annotated[str, typer.Option(help="Keywords.")],
    posts: Annotated[Path, typer.Option(help="Posts: JSONL with an id and a text; may be .gz.")],
    first_stage: Annotated[
        Literal["none", "bm25"], typer.Option(help="bm25: rerank only its 1,000 best posts.")
    ] = "none",
    top: Annotated[int, typer.Option(min=1, help="Posts to list.")] = 100,
    format: Annotated[Format, typer.Option(help="How to write the ranking.")] = "table",
    out: Annotated[Path | None, typer.Option(help="File to write; else the terminal.")] = None,
    force: ForceOption = False,
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads.")] = None,
) -> None:
    """Rank posts for a keyword query with a trained samCNN or MP-HCNN.

    Example: siamese-news rerank --model DIR --query "oscars snub affleck" --posts posts.jsonl

    Exit codes: 0 done, 1 output cannot be written, 2 bad input (says what), 130 interrupted.
    """
    with bad_input_exits():
        from siamese_news.data.readers import open_posts
        from siamese_news.model.reranker import TextRanker
        from siamese_news.search.rerank import rerank_posts

        use_threads(threads)
        claim(out, files_read(posts=[str(posts)], model=model), force=force)
        found = rerank_posts(
            TextRanker.load(model),
            query,
            list(open_posts([posts], strict=True)),
            top=top,
            first_stage=first_stage,
        )
        write([found], format, out)
