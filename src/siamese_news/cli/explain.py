"""``siamese-news explain``."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from siamese_news.cli.common import bad_input_exits, own_model
from siamese_news.cli.inputs import read_seeds
from siamese_news.cli.options import (
    About,
    AboutOption,
    Aggregate,
    ArticlesOption,
    IdFieldOption,
    IndexOption,
    LongWindowOption,
    ModelOption,
    SmoothOption,
    TextFieldOption,
    ThreadsOption,
)
from siamese_news.cli.outputs import ForceOption, claim, files_read
from siamese_news.cli.pool import index_files, open_index_of
from siamese_news.cli.progress import Watched
from siamese_news.search.threads import use_threads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from siamese_news.data.records import Post
    from siamese_news.scoring import Scorer

_OFF = 1e-4  # from here on a score is another than that of the search


class ExplainFormat(StrEnum):
    """How explanations are written."""

    table = "table"
    jsonl = "jsonl"


def explain(
    articles: ArticlesOption,
    posts: Annotated[
        list[str] | None,
        typer.Option(help="Where the posts are: what was searched, or the file that it wrote."),
    ] = None,
    index: IndexOption = None,
    post: Annotated[
        list[str] | None, typer.Option(help="Id of a post in --posts. Several may follow.")
    ] = None,
    text: Annotated[
        list[str] | None, typer.Option(help="Text of a post. Several may follow.")
    ] = None,
    model: ModelOption = None,
    over_seeds: Annotated[
        bool,
        typer.Option("--over-seeds", help="The seeds are one story, as for rank --over-seeds."),
    ] = False,
    about: AboutOption = About.auto,
    smooth: SmoothOption = True,
    format: Annotated[
        ExplainFormat, typer.Option(help="Tables, or all numbers as JSON lines.")
    ] = ExplainFormat.table,
    out: Annotated[Path | None, typer.Option(help="File to write (default: the terminal).")] = None,
    force: ForceOption = False,
    text_field: TextFieldOption = None,
    id_field: IdFieldOption = None,
    long_window: LongWindowOption = False,
    threads: ThreadsOption = None,
) -> None:
    """Say why a post has its score: which sentences and words carried it.

    Example: siamese-news explain --articles story.txt --posts x.jsonl --post 42

    Of several articles the one nearest to the post is explained.

    Each sentence is taken out in turn and the article scored anew (column
    "without"): it tests whether the one marked > counts most for its length.

    With --posts as searched, the score is that of the search, which learns
    from all posts; with a results file it is nearly so (the difference is said).

    Exit codes: 0 done, 1 output cannot be written, 2 bad input (says what), 130 interrupted.
    """
    with bad_input_exits():
        from siamese_news.data.records import Post
        from siamese_news.errors import InputError
        from siamese_news.scoring import open_scorer
        from siamese_news.search.explain.explainer import explain_nearest
        from siamese_news.search.explain.neighbors import name_neighbors
        from siamese_news.search.explain.output import write_explained
        from siamese_news.search.languages import SearchLanguages
        from siamese_news.search.scan import observe
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
        sources = posts or []
        read = files_read(posts=sources, articles=articles, model=model, others=index_files(index))
        claim(out, read, force=force)
        seeds = read_seeds(articles, None, over=True, aggregate=Aggregate.max, posts=sources)
        encoder = own_model(model)
        stop_words = SearchLanguages(seeds.articles).stop_words(encoder)
        scorer = open_scorer(
            encoder,
            seeds.texts,
            one_story=over_seeds,
            about=about.value,
            smooth=None if smooth else False,
            stop_words=stop_words,
        )
        wanted = list(dict.fromkeys(post or []))
        given = [Post(f"text-{number}", words) for number, words in enumerate(text or [], 1)]
        before: dict[tuple[str, str], float] = {}
        found: dict[str, Post] = {}
        pool: Iterable[Post] = ()
        if len(sources) == 1 and Path(f"{sources[0]}.meta.json").is_file():
            found, before = _results(Path(sources[0]), set(wanted))
        elif index is not None:
            asked = open_index_of(index, encoder)
            found = asked.find(wanted)
            for _ in observe(scorer, asked, again=_say):
                pass
            pool = asked.read_again()
        elif sources:
            pool = _searched(scorer, sources, set(wanted), text_field, id_field, long_window)
            found = pool.found
        missing = [id for id in wanted if id not in found]
        if missing:
            raise InputError(
                f"{index or sources[0]}: there is no post {missing[0]!r}; check the id"
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
            write_explained(sys.stdout, explained, format.value, terminal=sys.stdout.isatty())
            return
        with atomic_write(out) as stream:
            write_explained(stream, explained, format.value, terminal=False)
        typer.echo(f"{out}: {len(explained)} posts explained", err=True)


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
    scorer: "Scorer",
    sources: list[str],
    wanted: set[str],
    text_field: str | None,
    id_field: str | None,
    long_window: bool,
) -> "_Noted":
    """The pool, of which the wanted posts are found and the scorer has learned."""
    from siamese_news.data.readers import open_posts
    from siamese_news.search.scan import observe

    stream = open_posts(sources, text_field=text_field, id_field=id_field, long_window=long_window)
    stream.spool()
    posts = _Noted(Watched(stream), wanted)
    if not scorer.observing:
        for _ in posts:
            if len(posts.found) == len(wanted):
                break
    for _ in observe(scorer, posts, again=_say):
        pass
    return posts


def _say(learned: str) -> None:
    typer.echo(f"the scores depend on all posts: {learned}", err=True)


class _Noted:
    """Posts, of which some are kept as they pass.

    Args:
        posts: the posts.
        wanted: ids of those to keep.

    Attributes:
        found: the kept ones by id.
    """

    def __init__(self, posts: "Iterable[Post]", wanted: set[str]) -> None:
        self._posts, self._wanted = posts, wanted
        self.found: dict[str, Post] = {}

    def __iter__(self) -> "Iterator[Post]":
        for post in self._posts:
            if post.id in self._wanted:
                self.found.setdefault(post.id, post)
            yield post
