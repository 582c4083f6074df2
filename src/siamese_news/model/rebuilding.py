"""The parts of a model, rebuilt from the plain values of its folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from siamese_news.encoders import TokenEmbedding, build_encoder
from siamese_news.errors import InputError
from siamese_news.lexical_head import TermHead
from siamese_news.model.folder import fitting, read_folder
from siamese_news.model.trained_on import TrainingRecord
from siamese_news.text import Tokenizer, Vocabulary


def model_parts(folder: str | Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What `Model` is built of, its weights empty, and the weights by name.

    Raises:
        InputError: the folder is incomplete, was changed, or does not hold an encoder.
    """
    config, tensors, words = read_folder(folder)
    if config.get("kind") != "encoder":
        raise InputError(f"{folder}: holds a {config.get('kind')!r} model, expected an 'encoder'")
    with fitting(folder):
        parts = _parts(config, words)
        parts["trained_on"] = TrainingRecord.in_folder(folder, config["trained_on"])
    return parts, tensors


def _parts(config: Mapping[str, Any], words: list[str]) -> dict[str, Any]:
    options = dict(config["embedding"])
    embedding = TokenEmbedding(
        torch.zeros(len(words), options.pop("size")),
        token_weights=torch.ones(len(words)),
        **options,
    )
    return {
        "tokenizer": Tokenizer(words=words, **config["tokenizer"]),
        "vocabulary": Vocabulary(words, unknown=config["unknown"]),
        "embedding": embedding,
        "encoder": build_encoder({"input_dim": embedding.output_dim, **config["encoder"]}),
        "limits": config["limits"],
        "config": config["encoder"],
        "terms": TermHead.rebuilt(config.get("terms"), len(words)),
    }
