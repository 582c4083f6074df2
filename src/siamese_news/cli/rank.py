"""``siamese-news rank``."""

from siamese_news.cli.outputs import (
    ForceOption,
    check_query_output,
    format_of,
    open_output,
)
from siamese_news.cli.search_inputs import open_pool, read_seeds
from siamese_news.cli.search_options import search_command
from siamese_news.search.cpu_threads import use_threads
from siamese_news.search.partial_results import output_lock
from siamese_news.search.query import (
    DATES,
    LISTS,
    OUTPUT,
    READING,
    SCORING,
    SHARED,
    Query,
)
from siamese_news.utils.terminal import counted, echo


@search_command(
    Query(),
    [
        "articles",
        "posts",
        "index",
        "model",
        "top",
        "relevance_map",
        *LISTS,
        *SCORING,
        *DATES,
        "dedupe",
        *OUTPUT,
        *SHARED,
        "second_look",
        *READING,
    ],
    required=["articles"],
)
def rank(
    query: Query,
    force: ForceOption = False,
) -> None:
    """Rank posts for each seed article, most relevant first.

    Example: siamese-news rank --articles story.html --posts tweets.jsonl.gz --top 50 --out top.csv

    Also writes <out>.meta.json (command, hashes, all scores) and <out>.rejected.jsonl.

    --dedupe merges near-duplicates among the --top posts of a list.
    """
    from siamese_news.search.opened_query import open_query
    from siamese_news.search.post_ranking import rank_posts
    from siamese_news.search.result_rows import ranking_rows

    use_threads()
    query = format_of(query, "table")
    out = query.out
    check_query_output(query, force=force)
    seeds = read_seeds(query)
    if seeds.lists > 1 and not query.distinct:
        apart = (
            "posts that fit an unrelated seed better fall (--no-distinct: they do not)"
        )
        rule = "each by itself" if query.distinct is False else apart
        echo(f"a list for each seed, {rule}; --one-story makes one list")
    with output_lock(out):
        opened = open_query(query, seeds)
        pool = open_pool(query, opened.model)
        ranking = rank_posts(opened, pool)
        outcome = ranking.outcome
        opened.languages.note(pool.sample())
        remarks = opened.remarks(*pool.remarks(), *ranking.remarks())
        findings = opened.findings(pool.summary(outcome.scored), outcome.scorer)
        for line in (*findings, *remarks):
            echo(line)
        with open_output(out, str(query.format)) as (stream, terminal):
            opened.write_rows(stream, ranking_rows(ranking, opened), terminal=terminal)
        if out is not None:
            posts = counted(outcome.listed, "different post")
            echo(f"{out}: {posts} for {counted(len(seeds.articles), 'seed')}")
        opened.write_meta(outcome, pool.counts(), remarks)
