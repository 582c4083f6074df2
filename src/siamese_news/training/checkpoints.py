"""A model in a Lightning checkpoint: plain values and tensors, enough to build it anywhere."""

from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
import torch

from siamese_news.encoders import TokenEmbedding, build_encoder
from siamese_news.errors import InputError
from siamese_news.lexical_head.head import TermHead
from siamese_news.model.siamese import Model
from siamese_news.model.text_model import TextParts
from siamese_news.model.trained_on import TrainingRecord
from siamese_news.text import Tokenizer, Vocabulary

#: The key of a checkpoint under which the model is, and the format of what is there.
KEY, FORMAT = "siamese_news", 3


def content_of(model: Model) -> dict[str, Any]:
    """What a checkpoint keeps of a model besides its weights."""
    terms = {} if model.terms is None else model.terms.arrays("")
    return {
        "format": FORMAT,
        "config": model.folder_config(),
        # As one text: torch unpickles a list in Python, word by word.
        "words": "\n".join(model.vocabulary.words),
        "terms": {name: torch.from_numpy(array) for name, array in terms.items()},
        "trained_on": torch.from_numpy(
            np.frombuffer(model.trained_on.tobytes(), np.uint8).copy()
        ),
    }


def open_checkpoint(path: str | Path, **options: Any) -> Any:
    """What is in a checkpoint; no code from it runs. Options are those of `torch.load`.

    Raises:
        InputError: it is missing or damaged, or contains objects.
    """
    if not Path(path).is_file():
        raise InputError(
            f"{path}: no such checkpoint; expected …/checkpoints/last.ckpt"
        )
    try:
        return torch.load(path, weights_only=True, **options)
    except (RuntimeError, UnpicklingError, EOFError, KeyError, ValueError) as error:
        raise InputError(
            f"{path}: is damaged, or not a checkpoint of siamese_news; expected "
            "…/checkpoints/last.ckpt of a training"
        ) from error


def read_checkpoint(path: str | Path, map_location: Any = None) -> dict[str, Any]:
    """Read a checkpoint of a `SiameseModule`.

    Raises:
        InputError: it is missing, damaged, of another program or of another version.
    """
    checkpoint = open_checkpoint(path, map_location=map_location)
    check_content(checkpoint, path)
    return dict(checkpoint)


def check_content(checkpoint: Any, path: str | Path) -> None:
    """Refuse a checkpoint of another program or of another version.

    Raises:
        InputError: it is one.
    """
    content = checkpoint.get(KEY) if isinstance(checkpoint, Mapping) else None
    if not isinstance(content, Mapping) or "state_dict" not in checkpoint:
        raise InputError(
            f"{path}: is a checkpoint of another program, or of an earlier version of this one; "
            "expected one that SiameseModule wrote: train again"
        )
    if content.get("format") != FORMAT:
        raise InputError(
            f"{path}: has the format {content.get('format')}, expected {FORMAT}; it is of another "
            "version of siamese_news: install that one, or train again"
        )


def learned_parts(checkpoint: Mapping[str, Any], path: str | Path) -> TextParts:
    """The arguments of a `Model` in a checkpoint, but for its embedding and its encoder.

    Raises:
        InputError: its parts do not fit together.
    """
    content = checkpoint[KEY]
    try:
        config = content["config"]
        words = content["words"].split("\n")
        terms = TermHead.rebuilt(config["terms"], len(words))
        if terms is not None:
            terms.frequencies = content["terms"]["frequencies"].numpy()
            terms.pairs = content["terms"]["pairs"].numpy()
        record = content["trained_on"].numpy().tobytes()
        return {
            "tokenizer": Tokenizer(words=words, **config["tokenizer"]),
            "vocabulary": Vocabulary(words, unknown=config["unknown"]),
            "limits": config["limits"],
            "config": config["encoder"],
            "terms": terms,
            "trained_on": TrainingRecord.of_bytes(
                record, config["trained_on"], str(path)
            ),
        }
    except Exception as error:
        raise InputError(
            f"{path}: its parts do not fit together ({error}); train again"
        ) from error


def model_in(checkpoint: Mapping[str, Any], path: str | Path) -> Model:
    """The model of a checkpoint, before its weights are loaded.

    Raises:
        InputError: its parts do not fit together.
    """
    parts = learned_parts(checkpoint, path)
    config = checkpoint[KEY]["config"]
    try:
        options = dict(config["embedding"])
        words = len(parts["vocabulary"])
        embedding = TokenEmbedding(
            torch.zeros(words, options.pop("size")),
            token_weights=torch.ones(words),
            **options,
        )
        encoder = build_encoder(
            {"input_dim": embedding.output_dim, **config["encoder"]}
        )
        return Model(embedding=embedding, encoder=encoder, **parts)
    except Exception as error:
        raise InputError(
            f"{path}: its parts do not fit together ({error}); train again"
        ) from error
