"""What ships or is installed: a process opens and hashes it once, however many commands ask."""

import functools
import sys
from pathlib import Path

from siamese_news.model import loading
from siamese_news.model.text_model import STAR, TextModel
from siamese_news.utils import files

_model_of = loading.model_of
_file_sha256 = files.file_sha256
_hash_of_installed = functools.cache(_file_sha256)


@functools.cache
def _bundled(folder: Path) -> TextModel:
    """The model with its table of chunks made, which its copies share."""
    model = _model_of(folder)
    model.token_ids(["the river"])
    return model


def model_of(folder: Path) -> TextModel:
    """As `loading.model_of`; the bundled model is a copy, so that a test may change it."""
    if folder != loading.PRETRAINED:
        return _model_of(folder)
    model = _bundled(folder)
    # Not `copy.copy`, which leaves the table of chunks out, as pickling does.
    same = object.__new__(type(model))
    vars(same).update(vars(model))
    return same


def file_sha256(path: str | Path) -> str:
    """As `files.file_sha256`; files of the models that ship and of installed vectors do not change."""
    folder = Path(path).parent
    installed = folder in (loading.PRETRAINED, STAR) or "site-packages" in folder.parts
    return _hash_of_installed(path) if installed else _file_sha256(path)


def hash_once(set_attribute) -> None:
    """Let every module of ours take `file_sha256` from here."""
    for name, module in [*sys.modules.items()]:
        if name.startswith("siamese_news") and (
            vars(module).get("file_sha256") is _file_sha256
        ):
            set_attribute(module, "file_sha256", file_sha256)
