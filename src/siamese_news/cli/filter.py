"""``siamese-news filter``."""

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from siamese_news.cli.common import (
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
    LongWindowOption,
    MapOption,
    ModelOption,
    NotOption,
    PostsOption,
    PseudonymiseOption,
    SmoothOption,
    StrictOption,
    TextFieldOption,
    ThreadsOption,
    bad_input_exits,
    export_options,
    format_of,
    load_model,
    use_threads,
)
from siamese_news.cli.outputs import (
    ForceOption,
    claim,
    files_read,
    rejected_file,
    spool_beside,
)
from siamese_news.cli.progress import Watched
from siamese_news.cli.say import say_dates, say_empty, say_posts
from siamese_news.cli.seeds import read_seeds
from siamese_news.cli.timing import TimingOption, told

if TYPE_CHECKING:
    from siamese_news.data.readers import PostStream
    from siamese_news.search.export import ExportOptions
    from siamese_news.search.seeds import Seeds


def filter(
    articles: ArticlesOption,
    posts: PostsOption,
    threshold: Annotated[
        float, typer.Option(min=-4, max=4, help="Keep posts with this score or a higher one.")
    ],
    out: Annotated[Path, typer.Option(help="File to write.")],
    model: ModelOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where an interrupted run stopped.")
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
) -> None:
    """Keep every post whose score over the seeds reaches a threshold, best first.

    Example: siamese-news filter --articles a.txt b.txt --posts dump/ --threshold 0.3 --out all.csv

    What is found goes to <out>.part as it comes; <out> appears when all is read.

    After Ctrl-C or kill -9 the same command with --resume goes on, to the same bytes.

    Exit codes: 0 done, 1 output cannot be written, 2 bad input (says what), 130 interrupted.
    """
    with bad_input_exits("the same command with --resume goes on from here"), told(timing):
        from siamese_news.data.readers import open_posts
        from siamese_news.errors import InputError
        from siamese_news.scoring import open_scorer
        from siamese_news.search.clusters import CLUSTERED
        from siamese_news.search.export import write_meta
        from siamese_news.search.filter import filter_posts, filtered_rows
        from siamese_news.search.languages import SearchLanguages
        from siamese_news.search.output import BINARY, write_rows
        from siamese_news.search.partial_results import PartialResults, output_lock
        from siamese_news.search.remarks import order_remarks
        from siamese_news.search.seeds import decided
        from siamese_news.search.window import Window
        from siamese_news.utils.files import atomic_write

        use_threads(threads)
        chosen = format_of(format, out, None).value
        share = export_options(ids_only, author, pseudonymise, map)
        window = Window.of(after, before, dated_only=dated_only)
        read = files_read(
            posts=posts, articles=[*articles, *(negatives or [])], model=model,
            others=[pseudonymise],
        )  # fmt: skip
        claim(out, read, force=force)
        seeds = read_seeds(articles, negatives, over=True, aggregate=aggregate, posts=posts,
                           strict=strict)  # fmt: skip
        with output_lock(out):
            encoder, which = load_model(model)
            languages = SearchLanguages(seeds.articles, seeds.negatives)
            fields = {
                "text_field": text_field, "id_field": id_field, "date_field": date_field,
                "encoding": encoding, "long_window": long_window, "strict": strict,
            }  # fmt: skip
            stream = open_posts(posts, rejected=rejected_file(out), **fields)  # type: ignore[arg-type]
            if resume and stream.total_bytes is None:
                raise InputError(
                    "--resume: the posts come through a pipe, which cannot be checked to be the "
                    "same; save them to a file and start over"
                )
            job = _job(
                seeds, stream, which["sha256"] + which.get("words", ""), share,
                [
                    threshold, fusion, expand, about, smooth, window.after, window.before,
                    dated_only, *fields.values(),
                ],
            )  # fmt: skip
            part = PartialResults(out, job, resume=resume)
            if part.progress.blocks:
                typer.echo(f"{part.path}: goes on after block {part.progress.blocks}", err=True)
            try:
                say_posts(stream)
                stream.spool()
                watched = Watched(stream)
                scorer = open_scorer(
                    encoder,
                    seeds.texts,
                    positives=len(seeds.articles),
                    one_story=True,
                    about=about.value,
                    fusion=fusion.value if fusion else None,
                    expand=expand,
                    smooth=None if smooth else False,
                    stop_words=languages.stop_words(encoder),
                )
                before_scored = part.progress.scored
                found = filter_posts(
                    scorer,
                    seeds,
                    languages.watch(watched),
                    part,
                    threshold=threshold,
                    share=share,
                    window=window,
                    again=watched.again,
                    spool=spool_beside(out, watched.blocks),
                )
                watched.finish(max(found.scored - before_scored, 0))
                say_dates(window)
                say_empty(stream.counts)
                decisions = scorer.decisions()
                if said := decided(decisions):
                    typer.echo(said, err=True)
                titles = {article.id: article.title for article in seeds.articles}
                binary = chosen in BINARY
                with atomic_write(out, "wb" if binary else "w") as target:
                    write_rows(
                        target,
                        filtered_rows(
                            part.path,
                            dedupe=dedupe,
                            encode=encoder.encode_posts if share.map else None,
                            one_name=chosen == "trec" and len(seeds.articles) > 1,
                            language=None if chosen in ("trec", "table") else languages.of_post,
                        ),
                        chosen,
                        columns=share.columns,
                        titles=titles,
                        bom=bom,
                    )
                remarks = languages.remarks()
                remarks += order_remarks(found.scores, {"the seeds": found.scores.highest})
                if found.kept > CLUSTERED and not dedupe:
                    remarks.append(
                        f"More than {CLUSTERED:,} posts were kept, so near-duplicates and "
                        "languages were not looked for; --dedupe finds the former."
                    )
                write_meta(
                    out,
                    kind=scorer.kind,
                    model=which,
                    counts={
                        **watched.counts(), **window.counts(), "scored": found.scored,
                        "kept": found.kept,
                    },
                    histogram=found.scores.histogram(),
                    titles=titles,
                    about=dict(zip([a.id for a in seeds.articles], decisions, strict=False)),
                    threshold=threshold,
                    remarks=[*seeds.remarks(), *remarks],
                    languages=languages.plain(),
                )  # fmt: skip
                part.remove()
            finally:
                part.close()
        for remark in remarks:
            typer.echo(remark, err=True)
        typer.echo(f"{out}: {found.kept:,} of {found.scored:,} posts", err=True)


def _job(
    seeds: "Seeds", posts: "PostStream", model: str, share: "ExportOptions", options: list[Any]
) -> dict[str, Any]:
    """What must be the same to go on with a run: by the name that a message has for it."""
    import torch

    from siamese_news import __version__

    files = [Path(found.source) for found in posts.detected]
    stats = [(path, path.stat()) for path in files if path.is_file()]
    key = hashlib.sha256(b"job" + share.key).hexdigest() if share.key else None
    articles = [[a.id, a.full_text] for a in (*seeds.articles, *seeds.negatives)]
    return {
        "version": __version__,
        "model": model,
        "seeds": hashlib.sha256(json.dumps(articles).encode()).hexdigest(),
        "posts": [[str(path), stat.st_size, stat.st_mtime_ns] for path, stat in stats],
        "threads": torch.get_num_threads(),
        "options": [len(seeds.negatives), seeds.aggregate, share.author, key, *options],
    }
