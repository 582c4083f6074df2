"""The steps of one part of a filter, the folder of all parts, and the sums of their data.

One process has one part. Any process that can access the output folder can do the next step of a
part (`step_of`), and continues one that was interrupted. Rows and scores are those of a single
process: observations can be added in any order, and a score depends only on the article, the post
and the pool.
"""

import json
import shutil
import time
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from siamese_news.data.readers import PostStream, open_posts
from siamese_news.data.readers.duplicates import differ
from siamese_news.data.readers.rows import Counts, Share
from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.scoring import Scorer
from siamese_news.search.file_pool import FilePool
from siamese_news.search.filtering import kept_rows
from siamese_news.search.histogram import ScoreCounts
from siamese_news.search.opened_query import FilterOutcome, OpenQuery
from siamese_news.search.partial_results import check_job
from siamese_news.search.ranked_posts import Sample, metadata_text
from siamese_news.search.scan import Block, Spool, StreamPool, blocks, content_of
from siamese_news.text.vocabulary import stable_hash
from siamese_news.utils.checked_json import (
    checksum_of,
    read_state,
    read_state_and_data,
    write_state,
)
from siamese_news.utils.files import GrowingFile, atomic_write, is_stream, naming
from siamese_news.utils.terminal import counted

_SECONDS = 1.0  # between two records of the progress of a step
_RECORD = 0.02  # a record that takes longer than this, in seconds, makes records less frequent


class ShardFolder:
    """Files of a search in parts, next to its output; they survive kill -9 and a power cut.

    ``work.json`` has the ``job`` and the number of parts, ``shards``. For part n there are
    ``n.read.json`` (once its posts are read and observed; the observations follow the JSON),
    ``n.scored.json`` (once its rows are written), and the files whose checksums these have.
    ``n.reading.json`` and ``n.scoring.json`` have the progress of an unfinished step: what it adds to
    a file after that is cut off when it continues.
    ``pool`` has the sum of the observations, with which parts can be scored; `scorer` is that of it,
    once this process has made it.
    All are of one version of the program, that of the job.
    """

    def __init__(self, out: Path) -> None:
        self.path = out.with_name(out.name + ".part")
        self.pool = self.path / "pool"
        self.rows = self.path / "rows"
        self._work = self.path / "work.json"
        self.remedy = f"remove the folder {self.path.name} to start over"
        self._saved = self._took = 0.0
        self.shards = 0
        self.scorer: Scorer | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Another process makes the scorer again.
        return vars(self) | {"scorer": None}

    @property
    def begun(self) -> bool:
        """Whether any part of the work is recorded."""
        return self._work.exists() and any(self.path.glob("0*.json"))

    def start(self, job: Mapping[str, Any], shards: int, *, resume: bool) -> None:
        """Make the folder with this number of parts, or `resume` one that belongs to the same job."""
        if not self.begun:
            self.remove()
            self.path.mkdir(parents=True, exist_ok=True)
            write_state(self._work, {"job": dict(job), "shards": shards})
        elif not resume:
            raise InputError(
                f"{self.path}: left by an unfinished run; continue with --resume, or {self.remedy}"
            )
        saved_job = read_state(self._work, dict[str, Any], self.remedy)
        check_job(self.path, saved_job["job"], job, self.remedy)
        self.shards = saved_job["shards"]

    def remove(self) -> None:
        """Remove the files, first the job, without which the others are of no work."""
        self._work.unlink(missing_ok=True)
        for pattern in (".*", "0*", "pool", "rows"):
            for path in self.path.glob(pattern):
                path.unlink()
        with suppress(OSError):  # it does not exist, or has a file of the user's
            self.path.rmdir()

    def file(self, index: int, name: str) -> Path:
        """A file of part `index`, from 0."""
        return self.path / f"{index + 1:05}.{name}"

    def missing(self, name: str) -> list[int]:
        """The parts that lack a file."""
        return [
            index for index in range(self.shards) if not self.file(index, name).exists()
        ]

    def read(self, index: int, name: str) -> dict[str, Any]:
        """A JSON file of part `index`."""
        return read_state(self.file(index, name), dict[str, Any], self.remedy)

    def progress(self, index: int, name: str) -> tuple[dict[str, Any], bytes]:
        """What a step of part `index` recorded, and its observations; nothing before that."""
        path = self.file(index, name)
        if not path.exists():
            return {}, b""
        return read_state_and_data(path, dict[str, Any], self.remedy)

    @property
    def due(self) -> bool:
        """Whether the last `record` is a while ago."""
        pause = _SECONDS * max(1.0, self._took / _RECORD)
        return time.monotonic() - self._saved >= pause

    def record(
        self,
        index: int,
        name: str,
        file: GrowingFile,
        progress: dict[str, Any],
        state: bytes = b"",
    ) -> None:
        """Record the progress of a step of part `index`, which has written so much of a file."""
        started = time.monotonic()
        file.sync()
        write_state(self.file(index, name), progress, state)
        self._saved = time.monotonic()
        self._took = self._saved - started

    def checksums(self, index: int, *names: str) -> dict[str, int]:
        """The checksums of files of part `index`."""
        return {name: checksum_of(self.file(index, name)) for name in names}

    def check(self, index: int, checksums: Mapping[str, int], *names: str) -> None:
        """Refuse files of part `index` that are not those whose `checksums` were written."""
        for name, checksum in self.checksums(index, *names).items():
            if checksum != checksums.get(name):
                raise InputError(
                    f"{self.file(index, name)}: is not the file that was written; {self.remedy}"
                )


_TAKEN = "taken.json"  # the ids that come earlier in another part

Step = Callable[[OpenQuery, ShardFolder, int, FilePool | None], str]


def step_of(folder: ShardFolder) -> tuple[str, Step]:
    """The next step of each part, after the name of the file that it writes last."""
    return ("scored.json", _score) if folder.pool.exists() else ("read.json", _read)


def _read(
    opened: OpenQuery, folder: ShardFolder, index: int, pool: FilePool | None = None
) -> str:
    """Read the posts, observe them, and keep them with their token ids.

    The only part of a run has the `pool` of all posts.
    """
    query = opened.query
    scorer = opened.scorer()
    observer = scorer.observer()
    if pool is None:
        rejected = folder.file(index, "rejected.jsonl")
        rejected.unlink(missing_ok=True)
        stream = open_posts(
            query.posts,
            rejected=rejected,
            share=Share(index, folder.shards),
            reserved_ids=folder.progress(index, _TAKEN)[0].get("ids", ()),
            **query.reading(),
        )
        posts = StreamPool(stream)
    else:
        stream = pool.stream
        posts = pool
    window = query.window()
    progress, state = folder.progress(index, "reading.json")
    if observer is not None and state:
        observer.merge(state)
    kept_blocks = progress.get("blocks", [])
    size = kept_blocks[-1][-1] if kept_blocks else 0
    file = GrowingFile(folder.file(index, "spool"), size, folder.remedy)
    spool = Spool(file.stream, kept_blocks, shared=True)
    hashes = array("q")
    positions = array("q")
    texts = array("q")
    with folder.file(index, "ids").open("wb") as ids:
        for number, rows in enumerate(blocks(posts)):
            if folder.shards > 1:
                names = [post.id for post in rows]
                ids.write("\n".join([*names, ""]).encode())
                hashes.extend(map(stable_hash, names))
                block_positions = stream.places[: len(rows)]
                del stream.places[: len(rows)]
                positions.extend(block_positions)
                for post, position in zip(rows, block_positions, strict=True):
                    # A platform gives each id once, so an id with another text is the same post.
                    once = stream.detected[position >> 40].platform_ids
                    texts.append(0 if once else crc32(post.text.encode()))
            block_window = window(rows)
            if number < len(kept_blocks):
                continue
            content = content_of(scorer, block_window)
            with naming(file.path):
                spool.add(Block(number, block_window, content))
            if observer is not None:
                observer.observe(content)
            if folder.due:
                state = b"" if observer is None else observer.state()
                progress = {"blocks": spool.index}
                folder.record(index, "reading.json", file, progress, state)
    file.sync()
    file.close()
    # The hashes of the ids, sorted, each with its place in the input, a checksum of the text, and
    # its number here.
    keys = np.array([hashes, positions, texts], np.int64)
    order = np.argsort(keys[0], kind="stable")
    np.save(folder.file(index, "keys.npy"), np.vstack([keys[:, order], order]))
    state = b"" if observer is None else observer.state()
    record = {
        "blocks": spool.index,
        "checksums": folder.checksums(index, "spool", "ids", "keys.npy"),
        "counts": asdict(stream.counts),
        "window": [window.outside, window.undated, window.dated],
        "sample": [[p.id, p.text, metadata_text(p, "lang")] for p in posts.sample()],
    }
    write_state(folder.file(index, "read.json"), record, state)
    return f"{counted(stream.counts.read, 'post')} read"


def _score(
    opened: OpenQuery, folder: ShardFolder, index: int, pool: FilePool | None = None
) -> str:
    """Write the rows that the query keeps, from the spool, which is that of the `pool` then."""
    scorer = _scorer(opened, folder)
    read_part = folder.read(index, "read.json")
    folder.check(index, read_part["checksums"], "spool")
    progress, _ = folder.progress(index, "scoring.json")
    progress = progress or dict.fromkeys(
        ("blocks", "size", "rows", "scored", "unknown"), 0
    )
    counts = ScoreCounts(progress.pop("histogram", None))
    file = GrowingFile(folder.file(index, "rows"), progress["size"], folder.remedy)
    posts = StreamPool(()) if pool is None else pool
    with folder.file(index, "spool").open("rb") as stream:
        posts.spool = Spool(
            stream, read_part["blocks"][progress["blocks"] :], shared=True
        )
        cut = opened.cut(scorer)
        ends = np.cumsum([count for _, count, *_ in read_part["blocks"]]).tolist()
        for block, scores, lines, left_out in kept_rows(opened, scorer, posts, cut):
            counts.add(scores)
            file.append(b"".join(lines))
            progress["rows"] += len(lines)
            progress["scored"] += len(block.posts)
            progress["unknown"] += left_out
            if folder.due and progress["scored"] in ends:
                finished = ends.index(progress["scored"]) + 1
                progress |= {"blocks": finished, "size": file.size}
                record = progress | {"histogram": counts.plain()}
                folder.record(index, "scoring.json", file, record)
    file.sync()
    file.close()
    record = {
        **progress,
        "checksums": folder.checksums(index, "rows"),
        "histogram": counts.plain(),
    }
    write_state(folder.file(index, "scored.json"), record)
    return f"{counted(progress['scored'], 'post')} scored, {progress['rows']:,} kept"


def _scorer(opened: OpenQuery, folder: ShardFolder) -> Scorer:
    """A scorer with the observations of all parts."""
    if folder.scorer is None:
        remedy = "remove it, and run the same command with --resume"
        _, state = read_state_and_data(folder.pool, dict[str, Any], remedy)
        folder.scorer = opened.scorer()
        if state:
            folder.scorer = folder.scorer.restored(state)
    return folder.scorer


_TOGETHER = 1 << 22  # hashes of ids, of all parts, that are compared at once


def merge(
    opened: OpenQuery, folder: ShardFolder, say: Callable[[str], None]
) -> list[int]:
    """Join the observations of all parts.

    The parts that it returns must be read again first: another part has one of their ids.
    """
    for index in range(folder.shards):
        checksums = folder.read(index, "read.json")["checksums"]
        folder.check(index, checksums, "ids", "keys.npy")
    if duplicates := _take_duplicates(folder):
        return duplicates
    counts = _counted(opened, folder)
    if not counts.read:
        raise InputError(f"{opened.query.posts[0]}: no post in the files; {counts}")
    opened.window.check()
    state = b""
    if (observer := opened.scorer().observer()) is not None:
        for index in range(folder.shards):
            observer.merge(folder.progress(index, "read.json")[1])
        folder.scorer = observer.settle()
        if folder.scorer.learned:
            say(folder.scorer.learned)
        state = folder.scorer.state()
    write_state(folder.pool, {"shards": folder.shards}, state)
    return []


def finish(opened: OpenQuery, folder: ShardFolder, stream: PostStream) -> FilterOutcome:
    """Join the rows of all parts, and the counts of the stream, once the parts are scored."""
    scorer = _scorer(opened, folder)
    stream.counts = _counted(opened, folder)
    histogram = Counter[str]()
    totals = Counter[str]()
    # A part has a sample of its own: of all of them, it takes those that one process would take.
    sample = Sample()
    with folder.rows.open("wb") as target:
        for index in range(folder.shards):
            scored_part = folder.read(index, "scored.json")
            for id, text, lang in folder.read(index, "read.json")["sample"]:
                sample.note(Post(id, text, {"lang": lang}))
            folder.check(index, scored_part["checksums"], "rows")
            with folder.file(index, "rows").open("rb") as source:
                shutil.copyfileobj(source, target, 1 << 20)
            histogram.update(scored_part["histogram"])
            totals.update({n: scored_part[n] for n in ("scored", "rows", "unknown")})
    opened.languages.note(sample.posts)
    if opened.second_look is not None:
        opened.second_look.read_sample(sample.posts)
    if folder.shards > 1:
        _write_rejected(folder, stream, opened.query.out)
    return FilterOutcome(
        scorer,
        totals["scored"],
        totals["scored"],
        ScoreCounts(histogram),
        totals["rows"],
        opened.cut(scorer),
        totals["unknown"],
    )


def _counted(opened: OpenQuery, folder: ShardFolder) -> Counts:
    """The counts of all parts; the window counts what the dates left out."""
    parts = [folder.read(index, "read.json") for index in range(folder.shards)]
    windows = zip(*(read_part["window"] for read_part in parts), strict=True)
    window = opened.window
    window.outside, window.undated, window.dated = map(sum, windows)
    counts = [read_part["counts"] for read_part in parts]

    def summed(name: str) -> dict[str, int]:
        return dict(sum((Counter(of_part[name]) for of_part in counts), Counter[str]()))

    values = {
        name: sum(of_part[name] for of_part in counts)
        for name, count in counts[0].items()
        if isinstance(count, int)
    }
    values["unreadable"] = counts[0]["unreadable"]  # each part looks at all files
    return Counts(
        **values,
        reasons=summed("reasons"),
        lost=summed("lost"),
        example=next(filter(None, (of_part["example"] for of_part in counts)), ""),
    )


def _take_duplicates(folder: ShardFolder) -> list[int]:
    """The parts with an id that comes earlier in another part; these ids are noted for them.

    Such a part has observed a duplicate, so it has to be read again.

    Raises:
        InputError: two parts have different posts with one id, whose new names depend on the order
            of all posts.
    """
    parts = range(folder.shards)
    keys = [np.load(folder.file(index, "keys.npy"), mmap_mode="r") for index in parts]
    hashes = _repeated([shard_keys[0] for shard_keys in keys])
    if not len(hashes):
        return []
    # Place in the input, part, id, and checksum of the text behind these hashes.
    shared_ids: list[tuple[int, int, str, int]] = []
    for index, shard_keys in enumerate(keys):
        is_shared = np.isin(shard_keys[0], hashes)
        _, positions, texts, numbers = shard_keys[:, is_shared].tolist()
        rows = dict(zip(numbers, zip(positions, texts, strict=True), strict=True))
        with folder.file(index, "ids").open("rb") as stream:
            for number, line in enumerate(stream):
                if number in rows:
                    position, text = rows[number]
                    shared_ids.append((position, index, line[:-1].decode(), text))
    first_texts: dict[str, int] = {}
    duplicates: dict[int, set[str]] = {}
    for _, index, name, text in sorted(shared_ids):
        if name in first_texts:
            if text and first_texts[name] not in (0, text) and differ(name):
                raise InputError(
                    f"the id '{name}' belongs to posts with different texts; only a run in one "
                    "process can tell such posts apart: leave out --workers, or "
                    "number the rows with --id-field line"
                )
            duplicates.setdefault(index, set()).add(name)
        first_texts.setdefault(name, text)
    for index, ids in duplicates.items():
        earlier_ids = folder.progress(index, _TAKEN)[0].get("ids", ())
        ids_taken = {"ids": sorted(ids.union(earlier_ids))}
        write_state(folder.file(index, _TAKEN), ids_taken)
        for name in ("reading.json", "read.json"):
            folder.file(index, name).unlink(missing_ok=True)
    return sorted(duplicates)


def _repeated(parts: Sequence[np.ndarray]) -> np.ndarray:
    """The hashes that occur more than once in all sorted parts together."""
    repeated = [np.zeros(0, np.int64)]
    # Ranges of hashes that are small enough to fit in memory.
    ranges = max(1, -(-sum(map(len, parts)) // _TOGETHER))
    bounds = [(1 << 62) * number // ranges for number in range(ranges + 1)]
    for lowest, highest in pairwise(bounds):
        cuts = [
            hashes[slice(*np.searchsorted(hashes, [lowest, highest]))]
            for hashes in parts
        ]
        # A stable sort is fast here, because each part is sorted.
        together = np.sort(np.concatenate(cuts), kind="stable")
        repeated.append(together[1:][together[1:] == together[:-1]])
    return np.concatenate(repeated)


def _write_rejected(folder: ShardFolder, stream: PostStream, out: Path | None) -> None:
    """The rejected rows of all parts, in the order of the input."""
    assert out is not None
    if is_stream(out):
        return
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
    source_numbers = {file.source: n for n, file in enumerate(stream.detected)}
    rows.sort(key=lambda row: (source_numbers.get(row[0], 0), row[1]))
    with atomic_write(path) as target:
        target.writelines(line for _, _, line in rows)
