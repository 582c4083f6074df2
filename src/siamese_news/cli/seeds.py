"""The seed articles of a command."""

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from siamese_news.cli.options import Aggregate
    from siamese_news.data.records import Article
    from siamese_news.search.seeds import Seeds


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
    from siamese_news.cli.say import say_seeds
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
