"""All parts of a search, run to the end by workers of one kind or another."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from siamese_news.data.readers.rejected import Counts
from siamese_news.errors import InputError
from siamese_news.search.filter import Filtered
from siamese_news.search.seeds import Decided
from siamese_news.search.sharding.folder import ShardFolder
from siamese_news.search.sharding.merging import finish, merge
from siamese_news.search.window import Window
from siamese_news.search.work import OpenWork

# A part that is cut off is done anew, so it should not be too large; nor too small, for each reads
# over what others have of its files.
_PART = 128 << 20
_PARTS = 8  # of each worker, at most


class Workers(Protocol):
    """Processes that do steps of parts."""

    def run(self, parts: Sequence[int]) -> Iterator[tuple[int, str]]:
        """Do the next step of each part (`advance`): the part and what was done, as they finish.

        Raises:
            InputError: a worker found something wrong, or died.
        """


def parts_for(workers: int, size: int) -> int:
    """How many parts there should be: as many for each worker, so that none waits for the last one.

    Args:
        workers: how many there are.
        size: bytes of all files.
    """
    return workers * max(1, min(_PARTS, -(-size // (_PART * workers))))


def run_together(
    opened: OpenWork,
    folder: ShardFolder,
    out: Path,
    workers: Workers,
    say: Callable[[str], None],
) -> tuple[list[str], Filtered, Counts, Window, Decided]:
    """Do every step of every part, merge, and write the results.

    Args:
        opened: the work.
        folder: of all parts; those that are done stay so.
        out: the results' file.
        workers: who does the steps.
        say: told of every part, and what was learned.

    Returns:
        See `finish`.

    Raises:
        InputError: what a worker found wrong, or that it died.
    """
    shards = opened.work.shards
    while True:
        if folder.settled:
            name = "scored.json"
        elif folder.passes:
            name = f"observed-{folder.passes + 1}"
        else:
            name = "read.json"
        missing = folder.missing(shards, name)
        for index, done in workers.run(missing):
            if done:
                say(f"shard {index + 1} of {shards}: {done}")
        if folder.settled:
            return finish(opened, folder, out)
        if left := folder.missing(shards, name):
            raise InputError(f"{folder.path}: shard {left[0] + 1} came back undone; run it again")
        if again := merge(opened, folder, lambda reason: say(f"the posts are scored: {reason}")):
            some = ", ".join(str(index + 1) for index in again[:10])
            say(f"ids of shards {some} are those of other shards as well: read anew without them")
