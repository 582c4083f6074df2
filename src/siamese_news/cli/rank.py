"""``siamese-news rank``."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from siamese_news.cli.common import (
    bad_input_exits,
    export_options,
    format_of,
    load_model,
)
from siamese_news.cli.inputs import read_seeds, say_dates, say_decided
from siamese_news.cli.options import (
    About,
    AboutOption,
    AfterOption,
    Aggregate,
    AggregateOption,
    ArticlesOption,
    AuthorOption,
    BeforeOption,
    BomOption,
    DatedOnlyOption,
    DateFieldOption,
    DedupeOption,
    EncodingOption,
    ExpandOption,
    Format,
    FusionOption,
    IdFieldOption,
    IdsOnlyOption,
    IndexOption,
    LongWindowOption,
    MapOption,
    ModelOption,
    NotOption,
    OptionalPostsOption,
    PseudonymiseOption,
    SmoothOption,
    StrictOption,
    TextFieldOption,
    ThreadsOption,
)
from siamese_news.cli.outputs import ForceOption, claim, files_read
from siamese_news.cli.pool import Pool, index_files
from siamese_news.cli.progress import TimingOption, told
from siamese_news.search.threads import use_threads

if TYPE_CHECKING:
    from siamese_news.model.loading import AnyModel
    from siamese_news.search.languages import SearchLanguages
    from siamese_news.search.seeds import Decided, Seeds
    from siamese_news.search.window import Window


def rank(
    articles: ArticlesOption,
    posts: OptionalPostsOption = None,
    index: IndexOption = None,
    model: ModelOption = None,
    top: Annotated[int, typer.Option(min=1, help="Posts to list for each article.")] = 100,
    over_seeds: Annotated[
        bool, typer.Option("--over-seeds", help="One list over all seeds, not one for each.")
    ] = False,
    aggregate: AggregateOption = Aggregate.max,
    negatives: NotOption = None,
    about: AboutOption = About.auto,
    fusion: FusionOption = None,
    expand: ExpandOption = None,
    smooth: SmoothOption = True,
    after: AfterOption = None,
    before: BeforeOption = None,
    dated_only: DatedOnlyOption = False,
    dedupe: DedupeOption = False,
    format: Annotated[
        Format | None, typer.Option(help="Else by the ending of --out, or a table.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File to write; else the terminal.")] = None,
    force: ForceOption = False,
    bom: BomOption = False,
    ids_only: IdsOnlyOption = False,
    scores_only: Annotated[
        bool,
        typer.Option(
            "--scores-only",
            help="Write id and score of every post, in the order of the posts, and nothing else: "
            "for sample and certify. --out must be a .parquet.",
        ),
    ] = False,
    author: AuthorOption = False,
    pseudonymise: PseudonymiseOption = None,
    map: MapOption = False,
    text_field: TextFieldOption = None,
    id_field: IdFieldOption = None,
    date_field: DateFieldOption = None,
    encoding: EncodingOption = None,
    long_window: LongWindowOption = False,
    strict: StrictOption = False,
    threads: ThreadsOption = None,
    timing: TimingOption = False,
) -> None:
    """Rank posts for each seed article, most relevant first.

    Example: siamese-news rank --articles story.html --posts tweets.jsonl.gz --top 50 --out top.csv

    Beside --out go <out>.meta.json (command, hashes, all scores) and <out>.rejected.jsonl.

    With --dedupe the copies among the --top posts of a list collapse.

    Exit codes: 0 done, 1 output cannot be written, 2 bad input (says what), 130 interrupted.
    """
    with bad_input_exits(), told(timing), ExitStack() as held:
        from siamese_news.errors import InputError
        from siamese_news.scoring import open_scorer
        from siamese_news.search.export import ranking_rows, write_meta
        from siamese_news.search.languages import SearchLanguages
        from siamese_news.search.output import BINARY, write_rows
        from siamese_news.search.partial_results import output_lock
        from siamese_news.search.rank import search
        from siamese_news.search.scores import write_scores
        from siamese_news.search.seeds import Decided
        from siamese_news.search.window import Window
        from siamese_news.utils.files import atomic_write

        use_threads(threads)
        chosen = format_of(format, out, Format.table).value
        if scores_only and (out is None or chosen != "parquet" or dedupe or map or author):
            raise InputError(
                "--scores-only writes ids and scores to a Parquet file; expected --out with a name "
                "that ends with .parquet, and no --dedupe, --map or --author"
            )
        share = export_options(ids_only, author, pseudonymise, map)
        window = Window.of(after, before, dated_only=dated_only)
        read = files_read(
            posts=posts or (), articles=[*articles, *(negatives or [])], model=model,
            others=[pseudonymise, *index_files(index)],
        )  # fmt: skip
        claim(out, read, force=force)
        seeds = read_seeds(articles, negatives, over=over_seeds, aggregate=aggregate,
                           posts=posts or [], strict=strict)  # fmt: skip
        if out is not None:
            held.enter_context(output_lock(out))
        encoder, which = load_model(model)
        languages = SearchLanguages(seeds.articles, seeds.negatives)
        fields = {
            "text_field": text_field, "id_field": id_field, "date_field": date_field,
            "encoding": encoding, "long_window": long_window, "strict": strict,
        }  # fmt: skip
        pool = Pool(posts, index, out, fields)
        source = pool.open(encoder, languages)
        scorer = open_scorer(
            encoder,
            seeds.texts,
            positives=len(seeds.articles),
            one_story=over_seeds,
            about=about.value,
            fusion=fusion.value if fusion else None,
            expand=expand,
            smooth=None if smooth else False,
            stop_words=languages.stop_words(encoder),
        )
        if scores_only:
            assert out is not None
            with atomic_write(out, "wb") as stream_out:
                scored = write_scores(
                    stream_out, scorer, seeds, source, window=window,
                    again=pool.again, spool=pool.spool(),
                )  # fmt: skip
            pool.finish(scored.scanned)
            decided = Decided.of(scorer, seeds, about.value)
            about_pool = _say(window, pool, languages, decided, encoder, seeds, [])
            write_meta(
                out,
                kind=scorer.kind,
                model=which,
                counts={**pool.counts(), **window.counts(), "scored": scored.scanned},
                histogram=scored.scores.histogram(),
                titles={article.id: article.title for article in seeds.articles},
                **about_pool,
            )
            typer.echo(f"{out}: the scores of {scored.scanned:,} posts", err=True)
            return
        bare = chosen == "trec"
        ranking = search(
            scorer,
            seeds,
            source,
            top=top,
            window=window,
            texts=not bare or dedupe,
            again=pool.again,
            spool=pool.spool(),
        )
        pool.finish(ranking.scanned)
        decided = Decided.of(scorer, seeds, about.value)
        about_pool = _say(window, pool, languages, decided, encoder, seeds, ranking.remarks())
        rows = ranking_rows(
            ranking,
            share,
            dedupe=dedupe,
            matched=scorer.matched_terms,
            one_name=bare,
            bare=bare,
            encode=None if bare else encoder.encode_posts,
            language=None if chosen in ("trec", "table") else languages.of_post,
        )
        options: dict[str, Any] = {
            "columns": share.columns,
            "titles": {article.id: article.title for article in seeds.articles},
            "bom": bom,
        }
        binary = chosen in BINARY
        if out is None:
            terminal = sys.stdout.isatty()
            target: Any = sys.stdout.buffer if binary else sys.stdout
            write_rows(target, rows, chosen, terminal=terminal, **options)
            return
        with atomic_write(out, "wb" if binary else "w") as target:
            write_rows(target, rows, chosen, **options)
        kept = len(ranking.posts())
        write_meta(
            out,
            kind=scorer.kind,
            model=which,
            counts={
                **pool.counts(), **window.counts(), "scored": ranking.scanned, "kept": kept,
            },
            histogram=ranking.scores.histogram(),
            titles=options["titles"],
            **about_pool,
        )  # fmt: skip
        typer.echo(f"{out}: {kept:,} different posts for {len(seeds.articles)} seeds", err=True)


def _say(
    window: "Window",
    pool: "Pool",
    languages: "SearchLanguages",
    decided: "Decided",
    model: "AnyModel",
    seeds: "Seeds",
    more: list[str],
) -> dict[str, Any]:
    """Say on the console what was found out about the pool, and return it for the meta file."""
    from siamese_news.search.remarks import foreign_remarks

    say_decided(decided)
    say_dates(window)
    pool.say_empty()
    foreign = foreign_remarks(model, seeds.articles, languages.seeds) if seeds.over else []
    remarks = [*foreign, *languages.remarks(), *pool.remarks(), *more]
    for remark in remarks:
        typer.echo(remark, err=True)
    remarks = [*seeds.remarks(), *remarks]
    return {"remarks": remarks, "languages": languages.plain(), "decided": decided}
