"""Identifies the model of an index by a hash of all that decides how posts are read."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from siamese_news.errors import InputError
from siamese_news.model.base import TextModel
from siamese_news.search.index.segment import Segment
from siamese_news.search.index.writing import RowMaker

_PROBES = 16  # posts of a segment that are read again


def fingerprint(model: TextModel) -> str:
    """SHA-256 of a model's options, words and numbers; its folder and its card do not count."""
    digest = hashlib.sha256()
    for part in _parts(model):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def _parts(model: TextModel) -> Iterator[bytes]:
    terms = None if model.terms is None else model.terms.config()
    options = {
        "tokenizer": model.tokenizer.config(),
        "unknown": model.vocabulary.unknown,
        "embedding": model.embedding_config(),
        "encoder": model.config,
        "limits": model.limits,
        "terms": terms,
    }
    yield json.dumps(options, sort_keys=True, default=str).encode()
    yield "\n".join(model.vocabulary.words).encode()
    arrays = model.weights() | ({} if model.terms is None else model.terms.arrays("terms."))
    for name, array in sorted(arrays.items()):
        yield name.encode()
        yield array.tobytes()


def indexable(model: object) -> TextModel:
    """A model that an index can be made with; an InputError for another library's."""
    if not isinstance(model, TextModel):
        raise InputError(
            "an index keeps the tokens of a model of this package, and this model is another "
            "library's; search with --posts instead of --index, or take a model that was trained "
            "here"
        )
    return model


def check_model(
    path: Path, built_with: Mapping[str, str], segments: Sequence[Segment], model: TextModel
) -> None:
    """Check that an index was built with this model, and read a few posts of each segment again."""
    own = fingerprint(model)
    if built_with["fingerprint"] != own:
        raise InputError(
            f"{path}: was built with another model ({built_with['folder']}, "
            f"{built_with['fingerprint'][:12]}) than this one ({own[:12]}); name that model with "
            "--model, or build another index"
        )
    if not all(_reads_alike(segment, model) for segment in segments):
        raise InputError(
            f"{path}: its posts are read differently today than when the index was built (another "
            "version of this package or of a library that it uses); build the index again"
        )


def _reads_alike(segment: Segment, model: TextModel) -> bool:
    rows = np.arange(min(len(segment), _PROBES))
    posts = [segment.post(row) for row in rows.tolist()]
    made, words = RowMaker(model)(posts), segment.token_ids(rows)
    again = model.token_ids([post.text for post in posts])
    away = made.vectors.astype(np.float32) * made.steps.astype(np.float32)[:, None]
    away -= segment.vectors[rows] * segment.steps[rows].astype(np.float32)[:, None]
    errors = made.errors.astype(np.float64) + segment.errors[rows]
    return (
        np.array_equal(words.flat, again.flat)
        and np.array_equal(words.offsets, again.offsets)
        and bool((np.linalg.norm(away, axis=1) <= errors + 1e-5).all())
    )
