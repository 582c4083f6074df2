"""Values that a transformer computes from texts, kept in the user's cache by the model's content.

Another model in a folder of the same name, or a newer version of a package, never reads the values
of an earlier one.
"""

import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError
from siamese_news.model.foreign import reason_of
from siamese_news.model.loading import folder_hash
from siamese_news.utils.cache import cache_folder, is_trusted, private_folder

_LOOKED_UP = 256  # keys in one question to the database, which allows 999

Text = TypeVar("Text")


def cached_values(
    purpose: str,
    folder: Path,
    names: Sequence[str],
    texts: Sequence[Text],
    compute: Callable[[Sequence[Text]], NDArray[np.floating]],
    together: int = 256,
) -> NDArray[np.float16]:
    """(n, D) values that the model of a folder computes from n texts, to three digits.

    They are saved in the user's cache as they are computed, by a hash of the model's files and of
    each text's name, and only texts without a saved value are read, `together` at a time. `purpose`
    they are for is part of the file's name and is shown with the progress.
    """
    from rich.console import Console
    from rich.progress import track

    name = f"{purpose}-{folder_hash(folder)[:32]}.sqlite"
    keys = [
        blake2b(n.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        for n in names
    ]
    new = dict(zip(keys, texts, strict=True))
    try:
        path = _store(name)
        with closing(sqlite3.connect(path, timeout=60)) as store:
            store.execute(
                "create table if not exists said (text blob primary key, value blob)"
            )
            value_of: dict[bytes, bytes] = {}
            for batch in _parts(keys, _LOOKED_UP):
                marks = ",".join("?" * len(batch))
                stored = store.execute(
                    f"select * from said where text in ({marks})", batch
                )
                value_of.update(stored)
            missing = _parts([key for key in new if key not in value_of], together)
            for batch in track(
                missing,
                purpose.replace("-", " "),
                console=Console(stderr=True),
                transient=True,
                disable=not missing or not sys.stderr.isatty(),
            ):
                try:
                    values = compute([new[key] for key in batch]).astype(np.float16)
                except (RuntimeError, ValueError, TypeError, IndexError) as error:
                    failure = error.__cause__ or error  # see `library_errors`
                    if isinstance(error, InputError) and not value_of:
                        raise  # a folder that cannot be opened, say
                    if isinstance(failure, InputError):
                        raise
                    raise InputError(
                        f"{folder}: the model failed after {len(value_of):,} of {len(new):,} texts "
                        f"({reason_of(failure)}); their values are kept, and the same command "
                        "continues there"
                    ) from error
                rows = [
                    (key, row.tobytes()) for key, row in zip(batch, values, strict=True)
                ]
                value_of.update(rows)
                with store:
                    store.executemany("insert or replace into said values (?, ?)", rows)
    except (OSError, sqlite3.Error) as error:
        raise InputError(
            f"{cache_folder() / name}: cannot be written ({error}); free some space, remove the "
            "file if it is damaged, or set SIAMESE_NEWS_CACHE to a folder that can be written"
        ) from error
    return np.array([np.frombuffer(value_of[key], np.float16) for key in keys])


def _store(name: str) -> Path:
    """The file of saved values; one that somebody else may have written is removed.

    Without a cache of one's own the values are not saved.
    """
    cache = private_folder()
    if cache is None:
        return Path(":memory:")
    path = cache / name
    if not is_trusted(path):
        with suppress(OSError):
            path.unlink(missing_ok=True)
        path.touch(mode=0o600)
    return path


def _parts(keys: list[bytes], size: int) -> list[list[bytes]]:
    return [keys[start : start + size] for start in range(0, len(keys), size)]
