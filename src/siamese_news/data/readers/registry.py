"""Every known format, and which of them a record has."""

from collections import Counter
from collections.abc import Iterator, Sequence

from siamese_news.data.readers import bluesky, fediverse, meta, reddit, telegram, tools, twitter
from siamese_news.data.readers import video as videos
from siamese_news.data.readers.fields import Record
from siamese_news.data.readers.formats import SHAPE, Format
from siamese_news.errors import InputError
from siamese_news.utils.plugins import added, load, package_of


def _installed() -> Iterator[Format]:
    """The formats that other packages add."""
    for point in added("readers").values():
        found = load(point)
        for one in [found] if isinstance(found, Format) else found:
            if not isinstance(one, Format):
                raise InputError(
                    f"the package {package_of(point)} adds the reader '{point.name}', which is of "
                    f"type {type(one).__name__}; expected a Format or a list of them"
                )
            yield one


FORMATS: tuple[Format, ...] = (
    *_installed(),
    *twitter.FORMATS,
    *bluesky.FORMATS,
    *fediverse.FORMATS,
    *reddit.FORMATS,
    *telegram.FORMATS,
    *videos.FORMATS,
    *meta.FORMATS,
    *tools.FORMATS,
)
"""Where a record has the shape of several, the first counts; those of other packages come first."""

_SHARE = 10  # of so many records one must have the shape


def format_of(record: Record) -> Format | None:
    """The first format that a record has."""
    for found in FORMATS:
        try:
            if found.fits(record):
                return found
        except SHAPE:
            continue
    return None


def known_format(records: Sequence[Record]) -> Format | None:
    """The most frequent format of the first records of a file."""
    shapes = Counter(found.name for record in records if (found := format_of(record)) is not None)
    for name, count in shapes.most_common(1):
        if count * _SHARE >= len(records):
            return next(found for found in FORMATS if found.name == name)
    return None


def known_table(names: Sequence[str]) -> Format | None:
    """The format of a table with these columns; formats with nested objects are not tables."""
    record = dict.fromkeys(names, "")
    flat = (found for found in FORMATS if found.columns is not None or found.header)
    return next((found for found in flat if found.fits(record)), None)
