"""The seed articles and posts of a command, named on the console before the work starts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from siamese_news.cli.options import Aggregate
    from siamese_news.data.readers import PostStream
    from siamese_news.data.readers.rejected import Counts
    from siamese_news.data.records import Article
    from siamese_news.search.seeds import Decided, Seeds
    from siamese_news.search.window import Window


_SHOWN = 10
_WIDTH = 70
_MANY = 0.2  # share of empty texts from which they are named


def say_seeds(seeds: "Sequence[Article]", negatives: "Sequence[Article]") -> None:
    """Name the articles: id, title or first words, and how many words there are."""
    for kind, articles in (("seed", seeds), ("not", negatives)):
        for article in articles[:_SHOWN]:
            words = len(article.full_text.split())
            start = " ".join((article.title or article.text).split())
            start = start if len(start) <= _WIDTH else start[: _WIDTH - 1] + "…"
            _say(f'{kind} {article.id}: "{start}", {words:,} word{"" if words == 1 else "s"}')
        if len(articles) > _SHOWN:
            _say(f"and {len(articles) - _SHOWN:,} more ({kind})")


def say_posts(posts: "PostStream") -> None:
    """Name the files of posts, what each is taken for, and what was passed over."""
    for found in posts.detected[:_SHOWN]:
        fields = f": text from '{found.text_field}', id from '{found.id_field}'"
        _say(f"posts {found.source}: {found.described}{fields if found.text_field else ''}")
    if len(posts.detected) > _SHOWN:
        _say(f"and {len(posts.detected) - _SHOWN:,} more files of posts")
    for path in posts.own:
        _say(f"{path}: is an earlier result of this program, so it is not read as posts")
    for path in posts.unknown[:_SHOWN]:
        _say(f"{path}: passed over for its ending; name the file itself if it holds posts")
    if len(posts.unknown) > _SHOWN:
        _say(f"and {len(posts.unknown) - _SHOWN:,} more files passed over for their endings")
    for message in posts.unreadable[:_SHOWN]:  # all of them are named at the end
        _say(f"left out (--strict stops here): {message}")


def say_decided(decided: "Decided") -> None:
    """What the search looked for; nothing where nothing was to be decided."""
    if said := str(decided):
        _say(said)


def say_dates(window: "Window") -> None:
    """How many posts have no date that can be read, where posts are chosen by their date."""
    if window.undated:
        total = window.undated + window.dated
        what = "left out" if window.dated_only else "kept; --dated-only leaves them out"
        _say(f"{window.undated:,} of {total:,} posts have no date that can be read: {what}")


def say_empty(counts: "Counts") -> None:
    """How many posts have no words, where they are many."""
    if counts.empty >= max(1, counts.read * _MANY):
        _say(
            f"{counts.empty:,} of {counts.read:,} posts have an empty text, and score 0; is it in "
            "another field? (--text-field)"
        )


def _say(line: str) -> None:
    from siamese_news.utils.terminal import clean

    typer.echo(clean(line), err=True)


def read_seeds(
    articles: list[str],
    negatives: list[str] | None,
    *,
    over: bool,
    aggregate: "Aggregate",
    posts: list[str],
    strict: bool = False,
) -> "Seeds":
    """The seed articles of a command, named on the console: a wrong one is seen at once.

    Without `strict` an article that has neither title nor text is named and left out.
    """
    from siamese_news.cli.inputs import say_seeds
    from siamese_news.data.articles import read_articles
    from siamese_news.errors import InputError
    from siamese_news.search.remarks import stub_remarks
    from siamese_news.search.seeds import Seeds
    from siamese_news.utils.terminal import clean

    if sum("-" in names for names in (articles, negatives or [], posts)) > 1:
        raise InputError("standard input (-) is named twice; expected one of articles and posts")
    aside: list[str] = []

    def set_aside(reason: str) -> None:
        aside.append(reason)
        typer.echo(f"article set aside (--strict stops here): {clean(reason)}", err=True)

    keep = None if strict else set_aside
    pushing: list[Article] = read_articles(negatives, set_aside=keep) if negatives else []
    pulling = read_articles(articles, set_aside=keep)
    seeds = Seeds(pulling, pushing, over, aggregate.value, aside)
    say_seeds(seeds.articles, seeds.negatives)
    for remark in stub_remarks([*seeds.articles, *seeds.negatives]):
        typer.echo(clean(remark), err=True)
    return seeds
