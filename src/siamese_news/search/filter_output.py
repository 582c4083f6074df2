"""The results of a `filter`, from its file of partial results."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from siamese_news.search.clusters import CLUSTERED
from siamese_news.search.export import write_meta
from siamese_news.search.filter import Filtered, filtered_rows
from siamese_news.search.output import BINARY, write_rows
from siamese_news.search.remarks import foreign_remarks, order_remarks
from siamese_news.search.seeds import Decided
from siamese_news.search.work import OpenWork
from siamese_news.utils.files import atomic_write


def write_filtered(
    out: Path,
    rows: Path,
    opened: OpenWork,
    kind: str,
    found: Filtered,
    counts: Mapping[str, int],
    decided: Decided,
    remarks: Sequence[str] = (),
) -> list[str]:
    """Write the results, best first, and what is known beside them; what a user should know.

    Args:
        out: the results' file.
        rows: the partial results.
        opened: what was done.
        kind: what the scores are.
        found: what came of it.
        counts: of the posts that were read.
        decided: what the search looked for.
        remarks: what a user should know of these.
    """
    work = opened.work
    titles = {article.id: article.title for article in work.articles}
    binary = work.format in BINARY
    bare = work.format in ("trec", "table")
    with atomic_write(out, "wb" if binary else "w") as target:
        write_rows(
            target,
            filtered_rows(
                rows,
                dedupe=work.dedupe,
                encode=opened.model.encode_posts if work.share.map else None,
                one_name=work.format == "trec" and len(work.articles) > 1,
                language=None if bare else opened.languages.of_post,
            ),
            work.format,
            columns=work.share.columns,
            titles=titles,
            bom=work.bom,
        )
    foreign = foreign_remarks(opened.model, work.articles, opened.languages.seeds)
    remarks = [*foreign, *opened.languages.remarks(), *remarks]
    remarks += order_remarks(found.scores, {"the seeds": found.scores.highest})
    if found.kept > CLUSTERED and not work.dedupe:
        remarks.append(
            f"More than {CLUSTERED:,} posts were kept, so near-duplicates and "
            "languages were not looked for; --dedupe finds the former."
        )
    write_meta(
        out,
        kind=kind,
        model=opened.which,
        counts={**counts, "scored": found.scored, "kept": found.kept},
        histogram=found.scores.histogram(),
        titles=titles,
        decided=decided,
        threshold=work.threshold,
        remarks=[*work.seeds.remarks(), *remarks],
        languages=opened.languages.plain(),
    )
    return remarks
