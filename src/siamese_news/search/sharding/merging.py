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

from siamese_news.data.readers.rejected import Counts
from siamese_news.errors import InputError
from siamese_news.search.filter import Filtered
from siamese_news.search.filter_output import write_filtered
from siamese_news.search.histogram import ScoreCounts
from siamese_news.search.seeds import Decided
from siamese_news.search.sharding.folder import ShardFolder
from siamese_news.search.window import Window
from siamese_news.search.work import OpenWork
from siamese_news.utils.files import atomic_write

# Hashes of ids that are looked at together, of all parts.
_TOGETHER = 1 << 22


def merge(opened: OpenWork, folder: ShardFolder, say: Callable[[str], None]) -> list[int]:
    """Join what the parts observed in this pass, once all have.

    Args:
        opened: the work.
        folder: of all parts.
        say: told what was learned.

    Returns:
        The parts that must be read anew first, for an id of theirs is another part's.

    Raises:
        InputError: parts are missing, or none has a post.
    """
    shards, turn = opened.work.shards, folder.passes + 1
    _complete(folder, shards, "read.json")
    if turn == 1:
        again = _take_duplicates(folder, shards)
        if again:
            return again
        counts, window = _counted(opened, folder)
        if not counts.read:
            raise InputError(f"{opened.work.posts[0]}: no post in the files; {counts}")
        window.check()
    _complete(folder, shards, f"observed-{turn}")
    scorer: Any = opened.scorer()
    if state := folder.pool():
        scorer.restore(state)
    if scorer.observing:
        for index in range(shards):
            scorer.merge(folder.file(index, f"observed-{turn}").read_bytes())
        if reason := scorer.settle():
            say(reason)
        folder.add_pool(scorer.state())
    if not scorer.observing:
        folder.settle()
    return []


def finish(
    opened: OpenWork, folder: ShardFolder, out: Path
) -> tuple[list[str], Filtered, Counts, Window, Decided]:
    """Write the results, once all parts are scored, and remove the folder.

    Returns:
        Remarks, what was found, what was read, what the dates left out, and what was looked for.

    Raises:
        InputError: parts are missing, or were changed.
    """
    shards = opened.work.shards
    _complete(folder, shards, "scored.json")
    scorer: Any = opened.scorer()
    if state := folder.pool():
        scorer.restore(state)
    counts, window = _counted(opened, folder)
    scores, scored, kept = Counter[str](), 0, 0
    rows = folder.path / "rows"
    with rows.open("wb") as stream:
        for index in range(shards):
            part = folder.read(index, "scored.json")
            path = folder.file(index, "rows")
            if not path.exists() or path.stat().st_size != part["bytes"]:
                raise InputError(
                    f"{path}: is not the {part['bytes']:,} bytes that were written; remove "
                    f"{folder.file(index, 'scored.json').name} beside it and run shard {index + 1} "
                    "again"
                )
            with path.open("rb") as source:
                shutil.copyfileobj(source, stream, 1 << 20)
            scores.update(part["histogram"])
            scored, kept = scored + part["scored"], kept + part["kept"]
    found = Filtered(scored, kept, ScoreCounts(scores))
    duplicates = counts.reasons.get("duplicate id", 0)
    told = {
        "read": counts.read, "rejected": counts.rejected - duplicates, "duplicates": duplicates,
        "skipped": counts.skipped,
    }  # fmt: skip
    told |= {"unreadable": counts.unreadable} if counts.unreadable else {}
    left_out = opened.work.stream(None).remarks()
    decided = Decided.of(scorer, opened.work.seeds, opened.work.about, opened.work.threshold)
    counted = {**told, **window.counts()}
    remarks = write_filtered(out, rows, opened, scorer.kind, found, counted, decided, left_out)
    _write_rejected(opened, folder, out)
    folder.remove()
    return remarks, found, counts, window, decided


def _complete(folder: ShardFolder, shards: int, name: str) -> None:
    missing = folder.missing(shards, name)
    if missing:
        some = ", ".join(str(index + 1) for index in missing[:10])
        more = f" and {len(missing) - 10} more" if len(missing) > 10 else ""
        verb = {"scored.json": "scored", "read.json": "read"}.get(name, "observed")
        raise InputError(
            f"{folder.path}: of {shards} shards these are not {verb} yet: {some}{more}; run the "
            f"filter command with --shard {missing[0] + 1}/{shards} (and so on) first"
        )


def _counted(opened: OpenWork, folder: ShardFolder) -> tuple[Counts, Window]:
    """What all parts have read, and what the dates left out; the languages are noted."""
    total, window = Counts(), opened.work.window()
    opened.languages.forget()
    for index in range(opened.work.shards):
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
        opened.languages.note(part["sample"])
    return total, window


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


def _write_rejected(opened: OpenWork, folder: ShardFolder, out: Path) -> None:
    """The rejected rows of all parts, in the order of the input."""
    rows: list[tuple[str, int, str]] = []
    for index in range(opened.work.shards):
        path = folder.file(index, "rejected.jsonl")
        if path.exists():
            with path.open(encoding="utf-8") as stream:
                for line in stream:
                    row = json.loads(line)
                    rows.append((row["source"], row["line"], line))
    path = out.with_name(out.name + ".rejected.jsonl")
    if not rows and not path.exists():
        return
    place = {found.source: n for n, found in enumerate(opened.work.stream(None).detected)}
    rows.sort(key=lambda row: (place.get(row[0], 0), row[1]))
    with atomic_write(path) as target:
        target.writelines(line for _, _, line in rows)
