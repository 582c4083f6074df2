"""The steps of one part of a search, and the joining of what all parts observed and found."""

import json
import shutil
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.readers import PostStream, open_posts
from siamese_news.data.readers.rows import Counts
from siamese_news.data.readers.shares import Share
from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.scoring import Scorer
from siamese_news.search.files import empty_remarks, plain_counts
from siamese_news.search.filter import Filtered, kept_rows, write_filtered
from siamese_news.search.opening import OpenQuery
from siamese_news.search.records import ScoreCounts, metadata_text
from siamese_news.search.scan import StreamPool, blocks
from siamese_news.search.seeds import Decided
from siamese_news.search.sharding.folder import ShardFolder
from siamese_news.search.spool import Block, Spool
from siamese_news.text.vocabulary import stable_hash
from siamese_news.utils.files import atomic_write


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
    folder.write(
        index,
        "read.json",
        {
            "blocks": kept_blocks,
            "read": counts.read,
            "empty": counts.empty,
            "skipped": counts.skipped,
            "reasons": counts.reasons,
            "unreadable": counts.unreadable,
            "window": [window.outside, window.undated, window.dated],
            "sample": [[p.id, p.text, metadata_text(p, "lang")] for p in pool.sample()],
        },
    )
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
    folder.write(
        index,
        "scored.json",
        {"scored": total, "kept": rows, "bytes": size, "histogram": counts.plain()},
    )
    return f"{total:,} posts scored, {rows:,} kept"


def _opened(opened: OpenQuery, folder: ShardFolder, index: int) -> tuple[Scorer, Spool]:
    """A scorer of the pool and the posts of a part."""
    spool = Spool(path=folder.file(index, "spool"))
    spool.reopen(folder.read(index, "read.json")["blocks"])
    return _scorer(opened, folder), spool


def _scorer(opened: OpenQuery, folder: ShardFolder) -> Any:
    """A scorer that knows what all parts have observed so far."""
    scorer: Any = opened.scorer()
    if state := folder.pool():
        scorer.restore(state)
    return scorer


# Hashes of ids that are looked at together, of all parts.
_TOGETHER = 1 << 22


def merge(opened: OpenQuery, folder: ShardFolder, say: Callable[[str], None]) -> list[int]:
    """Join what the parts observed in this pass; all of them have.

    Returns:
        The parts that must be read again first, because another part has one of their ids.

    Raises:
        InputError: no part has a post.
    """
    turn = folder.passes + 1
    if turn == 1:
        if again := _take_duplicates(folder, folder.shards):
            return again
        counts = _counted(opened, folder)
        if not counts.read:
            raise InputError(f"{opened.query.posts[0]}: no post in the files; {counts}")
        opened.window.check()
    scorer = _scorer(opened, folder)
    if scorer.observing:
        for index in range(folder.shards):
            scorer.merge(folder.file(index, f"observed-{turn}").read_bytes())
        if reason := scorer.settle():
            say(reason)
        folder.add_pool(scorer.state())
    if not scorer.observing:
        folder.settle()
    return []


def finish(
    opened: OpenQuery, folder: ShardFolder, stream: PostStream
) -> tuple[Filtered, Decided, list[str]]:
    """Write the results, once all parts are scored, and remove the folder.

    Returns:
        What was found, what was looked for, and what a user should know.

    Raises:
        InputError: a part was changed.
    """
    scorer = _scorer(opened, folder)
    counts = _counted(opened, folder)
    scores, scored, kept = Counter[str](), 0, 0
    rows = folder.path / "rows"
    with rows.open("wb") as target:
        for index in range(folder.shards):
            part = folder.read(index, "scored.json")
            opened.languages.note(
                Post(id, text, {"lang": lang})
                for id, text, lang in folder.read(index, "read.json")["sample"]
            )
            path = folder.file(index, "rows")
            if not path.exists() or path.stat().st_size != part["bytes"]:
                raise InputError(
                    f"{path}: is not the {part['bytes']:,} bytes that were written; remove "
                    f"{folder.file(index, 'scored.json').name} as well and run the same command "
                    "with --resume"
                )
            with path.open("rb") as source:
                shutil.copyfileobj(source, target, 1 << 20)
            scores.update(part["histogram"])
            scored, kept = scored + part["scored"], kept + part["kept"]
    found, decided = Filtered(scored, kept, ScoreCounts(scores)), opened.decided(scorer)
    read, remarks = plain_counts(counts), stream.remarks()
    remarks = write_filtered(opened, rows, scorer.kind, found, read, decided, remarks)
    _write_rejected(folder, stream, opened.query.out)
    folder.remove()
    return found, decided, [str(counts), *empty_remarks(counts), *remarks]


def _counted(opened: OpenQuery, folder: ShardFolder) -> Counts:
    """The counts of all parts; the window counts what the dates left out."""
    total, window = Counts(), opened.window
    window.start()
    for index in range(folder.shards):
        part = folder.read(index, "read.json")
        total.read += part["read"]
        total.empty += part["empty"]
        total.skipped += part["skipped"]
        total.unreadable = part["unreadable"]  # each part looks at all files
        for reason, count in part["reasons"].items():
            total.reasons[reason] = total.reasons.get(reason, 0) + count
        outside, undated, dated = part["window"]
        window.outside += outside
        window.undated += undated
        window.dated += dated
    return total


def _take_duplicates(folder: ShardFolder, shards: int) -> list[int]:
    """The parts with an id that comes earlier in another part; these ids are noted for them.

    Such a part has observed a duplicate, so it has to be read again.
    """
    keys = [np.load(folder.file(index, "keys.npy"), mmap_mode="r") for index in range(shards)]
    suspects: dict[int, list[tuple[int, int, int]]] = {}
    for lowest, highest in _ranges(keys):
        cuts = [slice(*np.searchsorted(part[0], [lowest, highest])) for part in keys]
        # Each part is sorted, which this kind of sorting makes use of.
        together = np.sort(
            np.concatenate([part[0, cut] for part, cut in zip(keys, cuts, strict=True)]),
            kind="stable",
        )
        twice = together[1:][together[1:] == together[:-1]]
        for index, (part, cut) in enumerate(zip(keys, cuts, strict=True)):
            for hashed, place, number in part[:, cut][:, np.isin(part[0, cut], twice)].T.tolist():
                suspects.setdefault(hashed, []).append((place, index, number))
    if not suspects:
        return []
    names = _names(folder, suspects)
    again: dict[int, set[str]] = {}
    for group in suspects.values():
        first: set[str] = set()
        for _, index, number in sorted(group):
            name = names[index, number]
            if name in first:
                again.setdefault(index, set()).add(name)
            first.add(name)
    for index, ids in again.items():
        if folder.has(index, "taken.json"):
            ids |= set(folder.read(index, "taken.json")["ids"])
        folder.write(index, "taken.json", {"ids": sorted(ids)})
        folder.file(index, "read.json").unlink()
    return sorted(again)


def _ranges(keys: Sequence[NDArray[np.int64]]) -> Iterator[tuple[int, int]]:
    """Ranges of hashes, from and up to, small enough to fit in memory."""
    parts = max(1, -(-sum(part.shape[1] for part in keys) // _TOGETHER))
    bounds = [(1 << 62) * part // parts for part in range(parts + 1)]
    return pairwise(bounds)


def _names(
    folder: ShardFolder, suspects: dict[int, list[tuple[int, int, int]]]
) -> dict[tuple[int, int], str]:
    """The real ids behind equal hashes, by part and number."""
    wanted: dict[int, set[int]] = {}
    for group in suspects.values():
        for _, index, number in group:
            wanted.setdefault(index, set()).add(number)
    found = {}
    for index, numbers in wanted.items():
        with folder.file(index, "ids").open("rb") as stream:
            for number, line in enumerate(stream):
                if number in numbers:
                    found[index, number] = line[:-1].decode()
    return found


def _write_rejected(folder: ShardFolder, stream: PostStream, out: Path | None) -> None:
    """The rejected rows of all parts, in the order of the input."""
    assert out is not None
    rows: list[tuple[str, int, str]] = []
    for index in range(folder.shards):
        path = folder.file(index, "rejected.jsonl")
        if path.exists():
            with path.open(encoding="utf-8") as lines:
                for line in lines:
                    row = json.loads(line)
                    rows.append((row["source"], row["line"], line))
    path = out.with_name(out.name + ".rejected.jsonl")
    if not rows and not path.exists():
        return
    place = {found.source: n for n, found in enumerate(stream.detected)}
    rows.sort(key=lambda row: (place.get(row[0], 0), row[1]))
    with atomic_write(path) as target:
        target.writelines(line for _, _, line in rows)
