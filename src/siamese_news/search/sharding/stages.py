"""What one part of a search does: read and observe, observe again, score."""

from array import array
from typing import Any

import numpy as np

from siamese_news.data.readers import open_posts
from siamese_news.data.readers.shares import Share
from siamese_news.scoring import Scorer
from siamese_news.search.filter import kept_rows
from siamese_news.search.histogram import ScoreCounts
from siamese_news.search.opening import OpenQuery
from siamese_news.search.records import metadata_text
from siamese_news.search.scan import StreamPool, blocks
from siamese_news.search.sharding.folder import ShardFolder
from siamese_news.search.spool import Block, Spool
from siamese_news.text.vocabulary import stable_hash


def advance(opened: OpenQuery, folder: ShardFolder, index: int) -> str:
    """Do the next step of a part.

    Args:
        opened: what is asked.
        folder: of all parts.
        index: which part, from 0.

    Returns:
        What was done, in words; empty where there is nothing to do before the parts are merged.

    Raises:
        InputError: what `open_posts` finds wrong.
    """
    if not folder.has(index, "read.json"):
        return _read(opened, folder, index)
    if not folder.settled:
        turn = folder.passes + 1
        if turn == 1 or folder.has(index, f"observed-{turn}"):
            return ""
        return _observe(opened, folder, index, turn)
    return "" if folder.has(index, "scored.json") else _score(opened, folder, index)


def _read(opened: OpenQuery, folder: ShardFolder, index: int) -> str:
    """Read the posts, keep them with their token ids, and observe them."""
    query, scorer = opened.query, opened.scorer()
    taken = folder.read(index, "taken.json")["ids"] if folder.has(index, "taken.json") else ()
    share = Share(index, folder.shards)
    rejected = folder.file(index, "rejected.jsonl")
    rejected.unlink(missing_ok=True)
    stream = open_posts(query.posts, rejected=rejected, share=share, taken=taken, **query.reading())
    pool, window = StreamPool(stream), query.window()
    spool = Spool(path=folder.file(index, "spool"))
    spool.start()
    hashes, places = array("q"), array("q")
    with folder.file(index, "ids").open("wb") as ids:
        for number, rows in enumerate(blocks(pool)):
            names = [post.id for post in rows]
            ids.write("\n".join([*names, ""]).encode())
            hashes.extend(map(stable_hash, names))
            places.extend(stream.places[: len(rows)])
            del stream.places[: len(rows)]
            kept = window(rows)
            texts = [post.text for post in kept]
            found = scorer.token_ids(texts)
            block = Block(number, kept, texts if found is None else found)
            spool.add(block)
            if scorer.observing:
                scorer.observe(block.content)
    kept_blocks = spool.finish()
    spool.close()
    _write_keys(folder, index, hashes, places)
    folder.write_bytes(folder.file(index, "observed-1"), scorer.state())
    counts = stream.counts
    folder.write(index, "read.json", {
        "blocks": kept_blocks,
        "read": counts.read, "empty": counts.empty, "skipped": counts.skipped,
        "reasons": counts.reasons, "unreadable": counts.unreadable,
        "window": [window.outside, window.undated, window.dated],
        "sample": [[p.id, p.text, metadata_text(p, "lang")] for p in pool.sample()],
    })  # fmt: skip
    return f"{counts.read:,} posts read"


def _write_keys(
    folder: ShardFolder, index: int, hashes: "array[int]", places: "array[int]"
) -> None:
    """The hashes of the ids, sorted, each with its place in the input and its number here."""
    own = np.frombuffer(hashes, np.int64) if hashes else np.zeros(0, np.int64)
    order = np.argsort(own, kind="stable")
    where = np.frombuffer(places, np.int64) if places else np.zeros(0, np.int64)
    with folder.file(index, "keys.npy").open("wb") as stream:
        np.save(stream, np.stack([own[order], where[order], order]))


def _observe(opened: OpenQuery, folder: ShardFolder, index: int, turn: int) -> str:
    """Another pass over the kept posts, by what all parts have learned so far."""
    scorer, spool = _opened(opened, folder, index)
    for block in spool:
        scorer.observe(block.content)
    spool.close()
    folder.write_bytes(folder.file(index, f"observed-{turn}"), scorer.state())
    return f"observed, pass {turn}"


def _score(opened: OpenQuery, folder: ShardFolder, index: int) -> str:
    """Write the rows at or over the threshold."""
    scorer, spool = _opened(opened, folder, index)
    counts, rows, total = ScoreCounts(), 0, 0
    path = folder.file(index, "rows")
    with path.open("wb") as stream:
        for block, scores, lines in kept_rows(opened, scorer, StreamPool((), spool=spool)):
            counts.add(scores)
            stream.writelines(lines)
            rows += len(lines)
            total += len(block.posts)
    spool.close()
    size = path.stat().st_size
    folder.write(index, "scored.json", {
        "scored": total, "kept": rows, "bytes": size, "histogram": counts.plain(),
    })  # fmt: skip
    return f"{total:,} posts scored, {rows:,} kept"


def _opened(opened: OpenQuery, folder: ShardFolder, index: int) -> tuple[Scorer, Spool]:
    """A scorer of the pool, and the posts of a part."""
    scorer: Any = opened.scorer()
    if state := folder.pool():
        scorer.restore(state)
    spool = Spool(path=folder.file(index, "spool"))
    spool.reopen(folder.read(index, "read.json")["blocks"])
    return scorer, spool
