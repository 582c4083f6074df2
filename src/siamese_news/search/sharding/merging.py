"""What all parts of a search have observed, together; and at the end what they found."""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.readers import PostStream
from siamese_news.data.readers.rejected import Counts
from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.search.files import empty_remarks, plain_counts
from siamese_news.search.filter import Filtered, write_filtered
from siamese_news.search.histogram import ScoreCounts
from siamese_news.search.opening import OpenQuery
from siamese_news.search.seeds import Decided
from siamese_news.search.sharding.folder import ShardFolder
from siamese_news.utils.files import atomic_write

# Hashes of ids that are looked at together, of all parts.
_TOGETHER = 1 << 22


def merge(opened: OpenQuery, folder: ShardFolder, say: Callable[[str], None]) -> list[int]:
    """Join what the parts observed in this pass; all of them have.

    Args:
        opened: what is asked.
        folder: of all parts.
        say: told what was learned.

    Returns:
        The parts that must be read again first, for an id of theirs is another part's.

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
    scorer: Any = opened.scorer()
    if state := folder.pool():
        scorer.restore(state)
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

    Args:
        opened: what is asked.
        folder: of all parts.
        stream: the files of posts.

    Returns:
        What was found, what was looked for, and what a user should know.

    Raises:
        InputError: a part was changed.
    """
    scorer: Any = opened.scorer()
    if state := folder.pool():
        scorer.restore(state)
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
    told, remarks = plain_counts(counts), stream.remarks()
    remarks = write_filtered(opened, rows, scorer.kind, found, told, decided, remarks)
    _write_rejected(folder, stream, opened.query.out)
    folder.remove()
    return found, decided, [str(counts), *empty_remarks(counts), *remarks]


def _counted(opened: OpenQuery, folder: ShardFolder) -> Counts:
    """What all parts have read; the window counts what the dates left out."""
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
    """The parts with an id that comes earlier in another part; they are told which ids these are.

    Such a part has observed a post too many, so it has to be read anew.
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
    """Ranges of hashes, from and up to, with so many in them that memory stays small."""
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
