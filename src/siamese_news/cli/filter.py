"""``siamese-news filter``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from siamese_news.cli.common import bad_input_exits, export_options, format_of
from siamese_news.cli.inputs import read_seeds, say_dates, say_decided
from siamese_news.cli.options import (
    About,
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
    FilterAboutOption,
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
from siamese_news.cli.sharding import (
    AddressOption,
    Engine,
    EngineOption,
    ShardOption,
    WorkersOption,
    begin_workers,
    filter_shard,
    filter_together,
)
from siamese_news.search.threads import use_threads

if TYPE_CHECKING:
    from siamese_news.search.filter import Filtered
    from siamese_news.search.partial_results import PartialResults
    from siamese_news.search.work import OpenWork


def filter(
    articles: ArticlesOption,
    threshold: Annotated[
        float, typer.Option(min=-4, max=4, help="Keep posts with this score or a higher one.")
    ],
    out: Annotated[Path, typer.Option(help="File to write.")],
    posts: OptionalPostsOption = None,
    index: IndexOption = None,
    model: ModelOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where an interrupted run stopped.")
    ] = False,
    over_seeds: Annotated[
        bool,
        typer.Option("--over-seeds", help="One list over all seeds, which filter always makes."),
    ] = True,
    aggregate: AggregateOption = Aggregate.max,
    negatives: NotOption = None,
    about: FilterAboutOption = About.event,
    fusion: FusionOption = None,
    expand: ExpandOption = None,
    smooth: SmoothOption = True,
    after: AfterOption = None,
    before: BeforeOption = None,
    dated_only: DatedOnlyOption = False,
    dedupe: DedupeOption = False,
    format: Annotated[Format | None, typer.Option(help="Else by the ending of --out.")] = None,
    force: ForceOption = False,
    bom: BomOption = False,
    ids_only: IdsOnlyOption = False,
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
    workers: WorkersOption = 1,
    shard: ShardOption = None,
    engine: EngineOption = Engine.local,
    address: AddressOption = None,
) -> None:
    """Keep every post whose score over the seeds reaches a threshold, best first.

    Example: siamese-news filter --articles a.txt b.txt --posts dump/ --threshold 0.3 --out all.csv

    What is found goes to <out>.part as it comes; <out> appears when all is read.

    After Ctrl-C or kill -9 the same command with --resume goes on, to the same bytes.

    Exit codes: 0 done, 1 output cannot be written, 2 bad input (says what), 130 interrupted.
    """
    if workers > 1 and engine is Engine.local:
        begin_workers()
    with bad_input_exits("the same command with --resume goes on from here"), told(timing):
        from siamese_news.errors import InputError
        from siamese_news.search.partial_results import PartialResults, output_lock
        from siamese_news.search.window import Window
        from siamese_news.search.work import OpenWork, Work

        use_threads(threads)
        chosen = format_of(format, out, None).value
        share = export_options(ids_only, author, pseudonymise, map)
        window = Window.of(after, before, dated_only=dated_only)
        read = files_read(
            posts=posts or (), articles=[*articles, *(negatives or [])], model=model,
            others=[pseudonymise, *index_files(index)],
        )  # fmt: skip
        claim(out, read, force=force)
        seeds = read_seeds(articles, negatives, over=True, aggregate=aggregate, posts=posts or [],
                           strict=strict)  # fmt: skip
        fields = {
            "text_field": text_field, "id_field": id_field, "date_field": date_field,
            "encoding": encoding, "long_window": long_window, "strict": strict,
        }  # fmt: skip
        work = Work(
            list(seeds.articles), list(seeds.negatives), list(seeds.set_aside), seeds.aggregate,
            None if model is None else str(model), posts or [], fields, threshold, about.value,
            fusion.value if fusion else None, expand, smooth, window.after, window.before,
            dated_only, chosen, dedupe, bom, threads, share,
        )  # fmt: skip
        if address is not None and engine is not Engine.ray:
            raise InputError("--address is of a Ray cluster; expected --engine ray beside it")
        if index is not None and (shard is not None or workers > 1 or engine is Engine.ray):
            raise InputError(
                "--index answers in seconds, in one process; expected no --shard, --workers or "
                "--engine ray beside it"
            )
        if shard is not None:
            filter_shard(work, out, shard)
            return
        if workers > 1 or engine is Engine.ray:
            with output_lock(out):
                filter_together(work, out, workers, resume=resume, engine=engine, address=address)
            return
        with output_lock(out):
            opened = OpenWork(work)
            pool = Pool(posts, index, out, fields)
            if resume and pool.stream is not None and pool.stream.total_bytes is None:
                raise InputError(
                    "--resume: the posts come through a pipe, which cannot be checked to be the "
                    "same; save them to a file and start over"
                )
            part = PartialResults(out, pool.job(work, opened.which), resume=resume)
            if part.progress.blocks:
                typer.echo(f"{part.path}: goes on after block {part.progress.blocks}", err=True)
            try:
                remarks, found = _alone(opened, pool, part, out)
                part.remove()
            finally:
                part.close()
        for remark in remarks:
            typer.echo(remark, err=True)
        typer.echo(f"{out}: {found.kept:,} of {pool.size(found.scored):,} posts", err=True)


def _alone(
    opened: "OpenWork", pool: Pool, part: "PartialResults", out: Path
) -> "tuple[list[str], Filtered]":
    """The whole work in this process."""
    from siamese_news.search.filter import filter_posts
    from siamese_news.search.filter_output import write_filtered
    from siamese_news.search.seeds import Decided

    work, window = opened.work, opened.work.window()
    source = pool.open(opened.model, opened.languages)
    scorer = opened.scorer()
    before = part.progress.scored
    found = filter_posts(
        scorer,
        work.seeds,
        source,
        part,
        threshold=work.threshold,
        share=work.share,
        window=window,
        again=pool.again,
        spool=pool.spool(),
    )
    pool.finish(max(found.scored - before, 0))
    decided = Decided.of(scorer, work.seeds, work.about, work.threshold)
    say_decided(decided)
    say_dates(window)
    pool.say_empty()
    counts = {**pool.counts(), **window.counts()}
    remarks = pool.remarks()
    return write_filtered(
        out, part.path, opened, scorer.kind, found, counts, decided, remarks
    ), found
