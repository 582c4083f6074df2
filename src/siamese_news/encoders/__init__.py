"""Encoders: word vectors in, one vector a text out. They need torch and entmax alone."""

import functools
from collections.abc import Mapping
from typing import Any

from siamese_news.encoders.bag import BagEncoder
from siamese_news.encoders.base import Encoder, Explanation, lead_weights, places_of
from siamese_news.encoders.cnn import CNNEncoder
from siamese_news.encoders.embedding import TokenEmbedding
from siamese_news.encoders.gru import GRUEncoder
from siamese_news.encoders.star import StarEncoder
from siamese_news.encoders.transformer import TransformerEncoder
from siamese_news.encoders.two_head import TwoHeadEncoder
from siamese_news.errors import InputError
from siamese_news.sparsity.maps import SPARSITIES

__all__ = [
    "ENCODERS",
    "BagEncoder",
    "CNNEncoder",
    "Encoder",
    "Explanation",
    "GRUEncoder",
    "StarEncoder",
    "TokenEmbedding",
    "TransformerEncoder",
    "TwoHeadEncoder",
    "build_encoder",
    "lead_weights",
    "places_of",
]

# The names that a model folder may carry; a test proves that they are those of conf/.
ENCODERS: dict[str, type[Encoder]] = {
    cls.__name__: cls
    for cls in (
        BagEncoder,
        CNNEncoder,
        GRUEncoder,
        StarEncoder,
        TransformerEncoder,
        TwoHeadEncoder,
    )
}


def build_encoder(config: Mapping[str, Any]) -> Encoder:
    """Build an encoder from plain values, such as those in a model folder.

    Args:
        config: ``class`` names the encoder, the rest are its options; ``sparsity`` and ``context``,
            where there are, are such mappings themselves.

    Raises:
        InputError: a class is unknown or its options do not fit.
    """
    encoder, options = _class_and_options(config)
    try:
        return encoder(**options)
    except (TypeError, ValueError) as error:
        raise InputError(f"encoder {encoder.__name__}: its options do not fit ({error})") from error


def _class_and_options(config: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    options = dict(config)
    encoder = _named("encoder", options, ENCODERS)
    if "sparsity" in options:
        inner = dict(options["sparsity"])
        options["sparsity"] = functools.partial(_named("sparsity", inner, SPARSITIES), **inner)
    if options.get("context") is not None:
        context, inner = _class_and_options(options["context"])
        options["context"] = functools.partial(context, **inner)
    return encoder, options


def _named(kind: str, options: dict[str, Any], table: Mapping[str, type]) -> Any:
    name = options.pop("class", None)
    if name not in table:
        raise InputError(f"{kind} class is {name!r}; expected one of {', '.join(sorted(table))}")
    return table[name]
