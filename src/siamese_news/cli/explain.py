"""``siamese-news explain``."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from siamese_news.cli.options import (
    AboutOption,
    ArticlesOption,
    IdFieldOption,
    IndexOption,
    LongWindowOption,
    ModelOption,
    OneStoryOption,
    SmoothOption,
    TextFieldOption,
    ThreadsOption,
)
from siamese_news.cli.outputs import ForceOption, check_query_output
from siamese_news.cli.reading import echo, open_index_of, read_seeds
from siamese_news.search.query import Query
from siamese_news.search.threads import use_threads
from siamese_news.utils.exits import bad_input_exits

if TYPE_CHECKING:
    from collections.abc import Iterable

    from siamese_news.data.records import Post
    from siamese_news.scoring import Scorer

_LEARNED = "the scores depend on all posts"
_OFF = 1e-4  # from here on a score is another than that of the search


def explain(
    articles: ArticlesOption,
    posts: Annotated[
        list[str] | None,
        typer.Option(help="The posts that were searched, or the results file of the search."),
    ] = None,
    index: IndexOption = None,
    post: Annotated[
        list[str] | None, typer.Option(help="One or more ids of posts in --posts.")
    ] = None,
    text: Annotated[list[str] | None, typer.Option(help="One or more texts of posts.")] = None,
    model: ModelOption = None,
    one_story: OneStoryOption = False,
    about: AboutOption = "auto",
    smooth: SmoothOption = None,
    format: Annotated[
        Literal["table", "jsonl"], typer.Option(help="Tables, or all numbers as JSON lines.")
    ] = "table",
    out: Annotated[Path | None, typer.Option(help="File to write (default: the terminal).")] = None,
    force: ForceOption = False,
    text_field: TextFieldOption = None,
    id_field: IdFieldOption = None,
    long_window: LongWindowOption = False,
    threads: ThreadsOption = None,
) -> None:
    """Explain the score of a post: which sentences and words contributed to it.

    Example: siamese-news explain --articles story.txt --posts x.jsonl --post 42

    With several articles, the one closest to the post is explained.

    Each sentence is removed in turn and the article scored again (column
    "without"). This tests whether the sentence marked > matters most for its length.

    Name the posts that were searched to get the score of the search, which learns
    from all posts. With a results file it may differ slightly; the difference is printed.

    Exit codes: 0 success, 1 output cannot be written, 2 bad input, 130 interrupted.
    """
    with bad_input_exits():
        from siamese_news.data.records import Post
        from siamese_news.errors import InputError
        from siamese_news.model.loading import explainable, open_model
        from siamese_news.search.explain.explainer import explain_nearest, name_neighbors
        from siamese_news.search.explain.output import write_explained
        from siamese_news.search.opening import OpenQuery
        from siamese_news.search.window import Window
        from siamese_news.utils.files import atomic_write

        use_threads(threads)
        if not post and not text:
            raise InputError("there is nothing to explain; name a post with --post or --text")
        if posts and index:
            raise InputError("--posts and --index both say where the posts are; expected one")
        if bool(post) != bool(posts or index):
            raise InputError(
                "--posts or --index says where the posts are and --post which; expected both"
            )
        query = Query(
            articles=articles,
            posts=posts or (),
            index=index,
            model=model,
            one_story=one_story,
            about=about,
            smooth=smooth,
            text_field=text_field,
            id_field=id_field,
            long_window=long_window,
            out=out,
        )
        check_query_output(query, force=force)
        seeds, encoder = read_seeds(query), explainable(open_model(model))
        opened = OpenQuery(query, seeds, encoder)
        scorer, stop_words = opened.scorer(), opened.languages.stop_words(encoder)
        wanted = list(dict.fromkeys(post or []))
        given = [Post(f"text-{number}", words) for number, words in enumerate(text or [], 1)]
        before: dict[tuple[str, str], float] = {}
        found: dict[str, Post] = {}
        pool: Iterable[Post] = ()
        if len(query.posts) == 1 and Path(f"{query.posts[0]}.meta.json").is_file():
            found, before = _results(Path(query.posts[0]), set(wanted))
        elif index is not None:
            asked = open_index_of(index, encoder)
            found = asked.find(wanted)
            for _ in asked.observe(scorer, Window()):
                pass
            pool = asked.read_again()
        elif posts:
            pool, found = _searched(query, scorer, set(wanted))
        missing = [id for id in wanted if id not in found]
        if missing:
            raise InputError(
                f"{index or query.posts[0]}: there is no post {missing[0]!r}; check the id"
            )
        explained = explain_nearest(
            encoder, seeds.articles, [*(found[id] for id in wanted), *given], scorer, stop_words
        )
        explained = name_neighbors(explained, pool, encoder)
        for one in explained:
            score = before.get((one.article.id, one.post.id), one.score)
            if abs(score - one.score) > _OFF:
                typer.echo(
                    f"post {one.post.id}: the search gave it {score:.4f}, here it has "
                    f"{one.score:.4f}: other seeds or another model, or the search learned from "
                    "its pool. Name what was searched with --posts to explain that score",
                    err=True,
                )
        if out is None:
            write_explained(sys.stdout, explained, format, terminal=sys.stdout.isatty())
            return
        with atomic_write(out) as stream:
            write_explained(stream, explained, format, terminal=False)
        echo(f"{out}: {len(explained)} posts explained")


def _results(
    path: Path, wanted: set[str]
) -> "tuple[dict[str, Post], dict[tuple[str, str], float]]":
    """Posts of a results file by id, and their scores by article and id."""
    from siamese_news.data.records import Post
    from siamese_news.search.report import read_results

    rows = [row for row in read_results(path).posts if row.id in wanted]
    scores = {(row.seed, row.id): row.score for row in rows}
    return {row.id: Post(row.id, row.text) for row in rows}, scores


def _searched(
    query: Query, scorer: "Scorer", wanted: set[str]
) -> "tuple[Iterable[Post], dict[str, Post]]":
    """The pool, of which the scorer has learned, and the wanted posts by id."""
    from siamese_news.data.readers import open_posts
    from siamese_news.search.files import FilePool
    from siamese_news.search.window import Window

    found: dict[str, Post] = {}

    def note(post: "Post") -> None:
        if post.id in wanted:
            found.setdefault(post.id, post)

    stream = open_posts(query.posts, **query.reading())
    stream.spool()
    pool = FilePool(stream, note=note, again=lambda learned: echo(f"{_LEARNED}: {learned}"))
    if not scorer.observing:
        for _ in pool:
            if len(found) == len(wanted):
                break
    for _ in pool.observe(scorer, Window()):
        pass
    return pool, found
