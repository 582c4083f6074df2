"""A stream of posts out of any number of files: read in order, counted, each id once."""

from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from siamese_news.data.lines import BadRow
from siamese_news.data.readers.alike import FormatsByForm
from siamese_news.data.readers.dates import check_format, order_of
from siamese_news.data.readers.delimited import TABLES, table_rows
from siamese_news.data.readers.detect import Detected
from siamese_news.data.readers.documents import document_rows
from siamese_news.data.readers.duplicates import PostIds, SameIdError, version_of
from siamese_news.data.readers.encodings import as_utf8
from siamese_news.data.readers.fields import Choice, value_at
from siamese_news.data.readers.inputs import (
    LINES,
    PARQUET,
    Input,
    Skipped,
    as_written,
    find_inputs,
)
from siamese_news.data.readers.rows import (
    Counts,
    Rejection,
    Share,
    json_rows,
    owners,
    post_blocks,
    with_ids_of_their_own,
    without_older,
)
from siamese_news.data.readers.xml_comments import xml_rows
from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.utils.files import atomic_write, unpack
from siamese_news.utils.terminal import clean, counted

# The endings of files of posts in a folder.
SUFFIXES = (*LINES, ".json", ".geojson", *TABLES, *PARQUET, ".xlsx", ".js", ".xml")


class PostStream:
    """The posts of several files of any known format, which is detected.

    Reads the formats of `siamese_news.data.readers.known_formats`, BEIR corpora, and any other JSON,
    JSON lines, CSV, TSV, Parquet and Excel file, plain, gzip or zstd, and standard input.

    Every ``iter()`` reads and counts from the start; one at a time. A pipe can be read once, or
    more often after `spool`. Memory is bounded: lines are capped, and only hashes of the ids are
    kept (`SeenIds`).

    Args:
        sources: files, folders, globs, ``-``, or one of them; a folder's files are read in the
            order of their names.
        text_field: where the text is, if detection is not enough; a dot leads into an object. Of
            several fields the texts are joined, a line each; ``@fields`` in a post's metadata has
            their names and lengths.
        id_field: where the id is, in the same way; ``line`` numbers the rows of data without ids.
        date_field: where the date is, in the same way.
        encoding: of the text files; detected by default.
        group_field: the value to keep of each post as ``group``; see `Choice`.
        date_format: the order of day, month and year (``dmy``, ``mdy``, ``ymd``) in dates of
            numbers, or a pattern of ``strptime``; by default the whole column tells.
        strict: the first bad row, or file of a folder, is an error instead of being counted.
        rejected: file for the bad rows: JSON lines ``source, line, reason, detail, row``, complete
            at the end of a pass or unchanged. It is made for the first bad row; one from an earlier
            run is emptied.
        first_rows: read only this many rows of each file.
        share: read only this part of the rows, which may then be without a post.
        reserved_ids: ids that a post of another part has already.

    Attributes:
        detected: the format of each input, in reading order.
        counts: of the current or last pass.
        unreadable: the errors of files of a folder or glob that cannot be read. They are left out
            of every pass and part.
        places: with a share, the positions of the posts of the current pass in the input, as
            ascending numbers; the caller empties the list.

    Raises:
        InputError: for missing files, files without posts, and if no field fits. While
            reading: for the first bad row if `strict`, and if no row at all could be used.

    Example:
        >>> import siamese_news
        >>> from pathlib import Path
        >>> stories = Path(siamese_news.__file__).parent / "data" / "stories"
        >>> posts = siamese_news.open_posts(stories / "corpus.jsonl")
        >>> posts.detected[0].format, len(list(posts)) > 100
        ('BEIR corpus', True)
    """

    def __init__(
        self,
        sources: str | Path | Sequence[str | Path],
        *,
        text_field: str | Sequence[str] | None = None,
        id_field: str | None = None,
        date_field: str | None = None,
        encoding: str | None = None,
        group_field: str | None = None,
        date_format: str | None = None,
        strict: bool = False,
        rejected: Path | None = None,
        first_rows: int | None = None,
        share: Share | None = None,
        reserved_ids: Collection[str] = (),
    ) -> None:
        if not sources:
            raise InputError(
                "no posts came, expected at least one file, folder, glob or -"
            )
        sources = [sources] if isinstance(sources, str | Path) else sources
        form = None if date_format is None else check_format(date_format)
        choice = Choice(text_field, id_field, date_field, encoding, group_field, form)
        self._strict = strict
        self._rejected = rejected
        self._first_rows = first_rows
        self._share_of = share
        self._reserved_ids = frozenset(reserved_ids)
        self._done = 0
        self._raw: Any = None
        self._share = 0
        self.skipped = Skipped()
        self._inputs: list[Input] = []
        self.detected: list[Detected] = []
        self.unreadable: list[str] = []
        inputs = find_inputs(sources, SUFFIXES, self.skipped)
        formats = FormatsByForm(choice)
        for source in inputs:
            try:
                detected = self._with_order(source, formats.detect(source))
            except InputError as error:
                # Nothing is left without the last one.
                if (
                    source.is_explicit
                    or strict
                    or len(self.unreadable) + 1 == len(inputs)
                ):
                    raise
                self.unreadable.append(str(error))
            else:
                self.detected.append(detected)
                self._inputs.append(source)
        if all(detected.kind == "empty" for detected in self.detected):
            raise InputError(
                f"{self.detected[0].source}: the file is empty, expected at least one post"
            )
        self.counts = Counts(unreadable=len(self.unreadable))
        self.places: list[int] = []
        self._latest = self._edits()

    @property
    def total_bytes(self) -> int | None:
        """Bytes of all files, as they lie on disk; None where a pipe is among them."""
        sizes = [source.size for source in self._inputs]
        return None if None in sizes else sum(filter(None, sizes))

    @property
    def bytes_read(self) -> int:
        """How much of `total_bytes` the current pass has read."""
        return self._done + (self._raw.tell() if self._raw is not None else self._share)

    def remarks(self) -> list[str]:
        """Remarks about the files for a reader of the results."""
        count = len(self.unreadable)
        errors = " | ".join(map(clean, self.unreadable))
        return [f"{counted(count, 'unreadable file')} left out: {errors}"] * bool(count)

    def spool(self) -> None:
        """Make a second pass possible: call before the first; only pipes are copied."""
        for source in self._inputs:
            source.spool()

    def __iter__(self) -> Iterator[Post]:
        counts = self.counts = Counts(unreadable=len(self.unreadable))
        self._done = 0
        first_rejection: Rejection | None = None
        ids = PostIds(len(self._inputs))
        with ExitStack() as stack:
            spool: IO[bytes] | None = None
            if self._rejected is not None and self._rejected.exists():
                spool = stack.enter_context(atomic_write(self._rejected, "wb"))
            for number, source, detected, share in self._mine():
                rows = islice(self._rows(source, detected, share), self._first_rows)
                for posts, lines, rejections in post_blocks(
                    rows, source, detected, counts
                ):
                    if self._latest:
                        posts, lines, older = without_older(
                            posts,
                            lines,
                            self._latest,
                            source,
                            platform_ids=detected.platform_ids,
                        )
                        rejections += older
                    try:
                        kept_rows, repeated = with_ids_of_their_own(
                            posts,
                            lines,
                            ids,
                            source,
                            number,
                            detected,
                            self._reserved_ids,
                            counts,
                        )
                    except SameIdError as error:
                        # A changed byte of a packed file shows in the ids, and at the end.
                        later_rows = (
                            row for _, row, _ in (rows if detected.packed else ())
                        )
                        faults = (
                            bad
                            for bad in chain((r.bad for r in rejections), later_rows)
                            if isinstance(bad, BadRow) and bad.reason == "damaged file"
                        )
                        line = lines[error.index]
                        if (fault := next(faults, None)) is None:
                            meaning = (
                                " stands for a missing id and" if error.missing else ""
                            )
                            damage = (
                                ", unless the packed file is damaged, which zstd "
                                "without a checksum does not show: then fetch it again"
                            ) * (detected.packed == "zst")
                            raise InputError(
                                f"{source.name}:{line}: the id '{error.post.id}'{meaning} is that of "
                                f"another post, in an earlier row{damage}; expected an id for "
                                "each post, or a column (a group, channel or thread) or file that "
                                "tells them apart. Number the rows with --id-field line, or name "
                                "another column with --id-field; of two versions of one post remove one"
                            ) from error
                        kept_rows = sorted({*range(error.index)} - error.repeated)
                        rejections = [r for r in rejections if r.line < line]
                        repeated = [Rejection(source.name, line, fault, "")]
                    good = [posts[index] for index in kept_rows] if repeated else posts
                    for rejection in sorted(
                        [*rejections, *repeated], key=lambda r: r.line
                    ):
                        first_rejection = first_rejection or rejection
                        if self._strict:
                            raise InputError(str(rejection))
                        reason = rejection.bad.reason
                        counts.reasons[reason] = counts.reasons.get(reason, 0) + 1
                        if self._rejected is not None:
                            spool = spool or stack.enter_context(
                                atomic_write(self._rejected, "wb")
                            )
                            spool.write(rejection.json_line())
                    if self._share_of is not None:
                        self.places += [
                            (number << 40) + lines[index] for index in kept_rows
                        ]
                    counts.read += len(good)
                    counts.empty += [post.text.strip() for post in good].count("")
                    yield from good
            if not counts.read and self._share_of is None:
                if first_rejection is not None:
                    raise InputError(
                        f"{first_rejection} (no row could be used: {counts})"
                    )
                raise InputError(
                    f"{self._inputs[0].name}: no post in the file; {counts}"
                )

    def _mine(self) -> Iterator[tuple[int, Input, Detected, Share | None]]:
        """Number, input, format, and the part of its rows to read; None is all of them."""
        share = self._share_of
        whose: list[int | None] = [None] * len(self._inputs)
        if share is not None:
            whose = owners([source.size or 0 for source in self._inputs], share.count)
        for number, (source, detected) in enumerate(
            zip(self._inputs, self.detected, strict=True)
        ):
            if share is None or whose[number] == share.index:
                yield number, source, detected, None
            elif whose[number] is None:
                yield number, source, detected, share

    def _rows(
        self, source: Input, detected: Detected, share: Share | None
    ) -> Generator[tuple[int, Any, Any], None, None]:
        if share is not None and detected.kind != "jsonl":
            yield from share.rows(self._rows(source, detected, None))
        elif detected.kind in ("parquet", "sheet"):
            from siamese_news.data.readers.excel import sheet_rows
            from siamese_news.data.readers.parquet import parquet_rows

            size = source.size or 0
            if detected.table is not None:
                yield from as_written(
                    sheet_rows(source, detected.prefixes[0], detected.table),
                    detected.names,
                )
            else:
                yield from parquet_rows(
                    source, detected.columns, partial(self._progress, size)
                )
            self._done = self._done + size
            self._share = 0
        elif detected.kind != "empty":
            raw = self._raw = source.open()
            try:
                stream = unpack(raw)
                stream = as_utf8(stream, detected.encoding)
                if detected.kind == "jsonl":
                    yield from json_rows(stream, share)
                elif detected.kind == "json":
                    yield from document_rows(
                        stream,
                        detected.prefixes,
                        context=(
                            detected.known_format is not None
                            and detected.known_format.context
                        ),
                    )
                elif detected.kind == "xml":
                    yield from xml_rows(stream, detected.prefixes[0])
                elif detected.table is not None:
                    yield from as_written(
                        table_rows(stream, detected.table), detected.table.names
                    )
                self._done += raw.tell()
            finally:
                self._raw = None
                raw.close()

    def _edits(self) -> dict[str, str]:
        """The time of the last edit of each post that was edited, by `version_of` it.

        Only files that can have several versions of a post are read for it, and only such records.
        """
        latest: dict[str, str] = {}
        for source, detected in zip(self._inputs, self.detected, strict=True):
            edited = detected.edited
            if not edited:
                continue
            source.spool()
            rows = (
                row
                for row in islice(self._rows(source, detected, None), self._first_rows)
                # A page, or the first rows without an edit: no names to go by.
                if edited not in detected.names
                or (type(row[1]) is dict and row[1].get(edited))
            )
            for posts, _, _ in post_blocks(rows, source, detected, Counts()):
                for post in posts:
                    edited_at = post.metadata.get("edited_at", "")
                    version = version_of(post, platform_ids=detected.platform_ids)
                    if version and edited_at > latest.get(version, ""):
                        latest[version] = edited_at
        return latest

    def _with_order(self, source: Input, detected: Detected) -> Detected:
        """The format with the order of day and month, by all dates if the first tell no one order."""
        fields = detected.fields or detected.flat
        if fields is None or fields.dates not in ("?", "!"):
            return detected
        source.spool()
        name = fields.metadata["created_at"]
        rows = self._rows(source, detected, None)
        order = order_of(value_at(row, name) for _, row, _ in rows if type(row) is dict)
        self._done = 0
        findings = {
            "?": "its numbers do not tell the day, the month and the year apart, so its dates could be "
            "of two days; --date-format dmy, mdy or ymd says their order",
            "!": "the day comes first in some dates (13/04) and the month or year in others (04/13); "
            "dates that could be both are not understood, unless --date-format names one order",
        }
        remarks = [
            f"{source.name}: '{name}': {findings[o]}" for o in findings if o == order
        ]
        changed: dict[str, Any] = {
            "remarks": (*detected.remarks, *remarks),
            "flat" if detected.fields is None else "fields": replace(
                fields, dates=order
            ),
        }
        return replace(detected, **changed)

    def _progress(self, size: int, share: float) -> None:
        self._share = int(share * size)


open_posts = PostStream
"""Open dumps of posts; the public name of `PostStream`."""
