"""``siamese-news explain``."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from siamese_news.cli.outputs import (
    ForceOption,
    check_query_output,
    format_of,
    open_output,
    write_meta,
)
from siamese_news.cli.search_inputs import file_pool, open_index_of, read_seeds
from siamese_news.cli.search_options import search_command
from siamese_news.errors import InputError
from siamese_news.search.cpu_threads import use_threads
from siamese_news.search.query import Query
from siamese_news.utils.terminal import counted, echo

if TYPE_CHECKING:
    from siamese_news.data.records import Post
    from siamese_news.scoring import Scorer
    from siamese_news.search.scan import Block


@search_command(
    Query(),
    [
        "articles",
        "posts",
        "index",
        "model",
        "one_story",
        "about",
        "format",
        "out",
        "text_field",
        "id_field",
    ],
    required=["articles"],
    formats=["table", "jsonl"],
    helps={"posts": "The posts that were searched."},
)
def explain(
    query: Query,
    post: Annotated[
        list[str] | None,
        typer.Option(help="One or more ids of posts in --posts or --index."),
    ] = None,
    text: Annotated[
        list[str] | None, typer.Option(help="One or more texts of posts.")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Explain the score of a post: which sentences and words contributed to it.

    Example: siamese-news explain --articles story.txt --posts x.jsonl --post 42

    With several articles, the one closest to the post is explained.

    Each sentence is removed in turn and the article scored again (column "without"). This tests
    whether the sentence marked > matters most for its length.

    Name the posts that were searched, not its results: a search learns from all posts. The score is
    that of the first look, before the star reads the best posts of a list again.
    """
    from siamese_news.data.records import Post
    from siamese_news.model.loading import explainable, open_model
    from siamese_news.search.explain.explainer import explain_nearest, name_neighbors
    from siamese_news.search.explain.output import write_explained
    from siamese_news.search.opened_query import OpenQuery
    from siamese_news.search.pool import Window
    from siamese_news.search.scan import posts_in_blocks

    use_threads()
    if not post and not text:
        raise InputError(
            "there is nothing to explain; name a post with --post or --text"
        )
    if query.posts and query.index:
        raise InputError("--posts and --index are both named; expected one of them")
    if bool(post) != bool(query.posts or query.index):
        raise InputError(
            "--post needs --posts or --index, and they need --post; expected both"
        )
    for name in query.posts:
        if Path(f"{name}.meta.json").is_file():
            raise InputError(
                f"{name}: has the results of a search, whose scores depend on all posts; name the "
                "posts that were searched with --posts"
            )
    query = format_of(query, "table", ("table", "jsonl"))
    check_query_output(query, force=force)
    seeds = read_seeds(query)
    model = explainable(open_model(query.model))
    scorer = OpenQuery(query, seeds, model).scorer()
    post_ids = list(dict.fromkeys(post or []))
    posts_by_id: dict[str, Post] = {}
    pool: Iterable[Block] = ()
    if query.index is not None:
        index = open_index_of(query.index, model)
        posts_by_id = index.find(post_ids)
        scorer = index.observe(scorer, Window())
        pool = posts_in_blocks(index.read_again())
    elif query.posts:
        scorer, pool, posts_by_id = _searched(query, scorer, set(post_ids))
    if missing := [id for id in post_ids if id not in posts_by_id]:
        source = query.index or query.posts[0]
        examples = ", ".join(map(repr, missing[:3]))
        raise InputError(
            f"{source}: there is no post {examples}; check the ids: every blank and leading zero "
            "counts"
        )
    posts = [posts_by_id[id] for id in post_ids]
    posts += [
        Post(f"text-{number}", words) for number, words in enumerate(text or [], 1)
    ]
    explained = explain_nearest(model, seeds.articles, posts, scorer)
    explained = name_neighbors(explained, pool, model)
    with open_output(query.out, str(query.format)) as (stream, terminal):
        write_explained(stream, explained, str(query.format), terminal=terminal)
    write_meta(query.out)
    if query.reads_again is not None and post:
        echo(
            "These are the parts of the first look. In a search the star then reads the best posts "
            "of the list again, and may move this one (--second-look none: it does not)."
        )
    if query.out is not None:
        echo(f"{query.out}: {counted(len(explained), 'post')} explained")


def _searched(
    query: Query, scorer: "Scorer", post_ids: set[str]
) -> "tuple[Scorer, Iterable[Block], dict[str, Post]]":
    """The scorer that has learned from the posts, their blocks, and the wanted ones by id."""
    from siamese_news.search.pool import Window

    posts_by_id: dict[str, Post] = {}

    def note(post: "Post") -> None:
        if post.id in post_ids:
            posts_by_id.setdefault(post.id, post)

    pool = file_pool(replace(query, out=None), note)
    if scorer.observer() is None:
        for _ in pool:
            if len(posts_by_id) == len(post_ids):
                break
    return pool.observe(scorer, Window()), pool.observed(), posts_by_id
