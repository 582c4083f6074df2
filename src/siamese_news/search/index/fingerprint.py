"""Identifies the model of an index by a hash of all that decides how posts are read."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from siamese_news.errors import InputError
from siamese_news.model.text_model import TextModel
from siamese_news.search.index.manifest import BuiltWith

# The words of this text tell whether another version reads posts differently.
_PROBE = (
    "RT @Ann_b: Don\u2019t cross #HarlowBridge! 1,200 evacuated 🌊 via http://t.co/x1 &amp; café "
    "洪水的城市 น้ำท่วม 홍수 наводнение فيضان बाढ़"
)


def fingerprint(model: TextModel) -> str:
    """SHA-256 of a model's options, words and numbers; its folder and its card do not count."""
    digest = hashlib.sha256()
    for content in _parts(model):
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
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
    yield model.token_ids([_PROBE]).flat.tobytes()
    arrays = model.weights() | (
        {} if model.terms is None else model.terms.arrays("terms.")
    )
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


def check_model(path: Path, built_with: BuiltWith, model: TextModel) -> None:
    """Check that an index was built with this model."""
    model_fingerprint = fingerprint(model)
    if built_with["fingerprint"] != model_fingerprint:
        raise InputError(
            f"{path}: was built with another model ({built_with['folder']}, "
            f"{built_with['fingerprint'][:12]}) than this one ({model_fingerprint[:12]}), or by a "
            "version that reads posts differently; name that model with --model, or build another "
            "index"
        )
