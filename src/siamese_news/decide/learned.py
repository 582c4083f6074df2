"""Results in a learned order: the file that `feedback` writes."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from siamese_news.decide.feedback import Feedback
from siamese_news.errors import InputError
from siamese_news.utils.files import atomic_write
from siamese_news.utils.provenance import command, provenance

BEFORE = "rank_before"
"""The column with the rank in the order of the search."""


def read_scored(path: Path) -> Any:
    """The table of a Parquet file of results with texts, one list of posts.

    Raises:
        InputError: for another file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a Parquet file that can be read ({error})") from error
    for name in ("post", "score", "text", "rank"):
        if name not in table.column_names:
            raise InputError(
                f"{path}: has no column '{name}'; expected what filter wrote as Parquet, texts "
                "included"
            )
    posts = table.column("post").cast(pa.string())
    if len(posts.unique()) < len(posts):
        raise InputError(
            f"{path}: posts stand in several lists; expected one list (rank --one-story, filter)"
        )
    texts = table.column("text").fill_null("")
    table = table.set_column(table.column_names.index("post"), "post", posts)
    return table.set_column(table.column_names.index("text"), "text", texts)


def clusters_in(table: Any) -> Any:
    """The clusters of near-duplicates, (N,), where the search found them; else None."""
    known = "cluster" in table.column_names and not table.column("cluster").null_count
    return table.column("cluster").to_numpy() if known and len(table) else None


def write_learned(path: Path, table: Any, found: Feedback, results: Path) -> None:
    """Write the posts in the learned order, with their former ranks; what is known beside them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    scores = np.round(found.scores, 6)
    order = np.lexsort([table.column("rank").to_numpy(), -scores])
    ranks = table.column("rank")
    table = table.set_column(table.column_names.index("score"), "score", pa.array(scores))
    if BEFORE in table.column_names:
        table = table.drop_columns([BEFORE])
    table = table.append_column(BEFORE, ranks).take(pa.array(order))
    new = pa.array(np.arange(1, len(table) + 1))
    table = table.set_column(table.column_names.index("rank"), "rank", new)
    with atomic_write(path, "wb") as stream:
        pq.write_table(table, stream, compression="zstd", row_group_size=65_536)
    meta = {
        "command": command(),
        "provenance": provenance(),
        "feedback": plain(found) | {"of": results.name},
    }
    with atomic_write(path.with_name(path.name + ".meta.json")) as stream:
        json.dump(meta, stream, indent=1, ensure_ascii=False)
        stream.write("\n")


def plain(found: Feedback) -> dict[str, Any]:
    """What was learned, as JSON has it, without the scores."""
    return {
        "relevant": found.relevant, "other": found.other, "far": found.far, "before": found.before,
        "after": found.after, "low": found.low, "high": found.high, "helps": found.helps,
        "words": [list(words) for words in found.words], "sentence": found.sentence(),
    }  # fmt: skip
