"""The bundled model, which a process opens once, however many commands of it ask for it."""

import functools
from pathlib import Path

from siamese_news.model import loading
from siamese_news.model.text_model import TextModel

_model_of = loading.model_of


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
