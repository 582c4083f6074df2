"""Encoders turn the word vectors of a text into one vector. They need torch and entmax alone."""

import functools
from collections.abc import Mapping
from typing import Any

from siamese_news.encoders.bag import BagEncoder
from siamese_news.encoders.cnn import CNNEncoder
from siamese_news.encoders.embedding import TokenEmbedding
from siamese_news.encoders.encoder import Encoder, Explanation, lead_weights, places_of
from siamese_news.encoders.gru import GRUEncoder
from siamese_news.encoders.presets import preset, preset_names
from siamese_news.encoders.star import StarEncoder
from siamese_news.encoders.transformer import TransformerEncoder
from siamese_news.encoders.two_head import TwoHeadEncoder
from siamese_news.encoders.whitened import WhitenedEncoder
from siamese_news.errors import InputError
from siamese_news.sparsity.maps import SPARSITIES
from siamese_news.utils.plugins import find_class

__all__ = [
    "ENCODERS",
    "REGISTERED",
    "BagEncoder",
    "CNNEncoder",
    "Encoder",
    "Explanation",
    "GRUEncoder",
    "StarEncoder",
    "TokenEmbedding",
    "TransformerEncoder",
    "TwoHeadEncoder",
    "WhitenedEncoder",
    "build_encoder",
    "lead_weights",
    "places_of",
    "preset",
    "preset_names",
    "register_encoder",
]

ENCODERS: dict[str, type[Encoder]] = {
    cls.__name__: cls
    for cls in (
        BagEncoder,
        CNNEncoder,
        GRUEncoder,
        StarEncoder,
        TransformerEncoder,
        TwoHeadEncoder,
        WhitenedEncoder,
    )
}
"""Our encoders by class name; a test checks that conf/ has those that are trained. Installed
packages add others (`siamese_news.utils.plugins`)."""


REGISTERED: dict[str, type[Encoder]] = {}
"""The classes of `register_encoder`, by name."""


def register_encoder(encoder: type[Encoder]) -> type[Encoder]:
    """Make a class of your own an encoder by its name, in this process; it can be a decorator.

    The name is an option of `build_encoder`, `SiameseModule` and, in a script that calls
    `siamese_news.train.main`, of ``encoder=``. A model folder names class and module, which you
    import before you open it.

    Args:
        encoder: derived from `Encoder`.

    Raises:
        InputError: it is no such class, or one of ours has its name.

    Example:
        >>> from siamese_news.encoders import BagEncoder, build_encoder, register_encoder
        >>> @register_encoder
        ... class MyBag(BagEncoder):
        ...     pass
        >>> build_encoder("MyBag", input_dim=5, output_dim=3).output_dim
        3
    """
    if encoder.__name__ in ENCODERS or not issubclass(encoder, Encoder):
        raise InputError(
            f"register_encoder: {encoder!r} is one of ours by its name, or is not derived from "
            "Encoder; expected a class of your own that is"
        )
    REGISTERED[encoder.__name__] = encoder
    return encoder


def build_encoder(config: str | Mapping[str, Any], **options: Any) -> Encoder:
    """Build an encoder by its name, or from plain values such as those in a model folder.

    Args:
        config: the name of a file in ``conf/encoder``, such as ``"star"`` (`preset_names`), that of
            a class in `ENCODERS`, or one that an installed package adds; or a mapping in which
            ``class`` names the class and the rest are its options. There ``sparsity``, ``context``
            and ``encoder`` are such mappings themselves.
        **options: more options of the class; ``input_dim``, the size E of a word vector, is always
            needed. They come before those of `config`.

    Returns:
        The encoder: embeddings (B, S, E) and mask (B, S) in, vectors (B, D) out.

    Raises:
        InputError: the name or a class is unknown, or its options do not fit.

    Example:
        >>> from siamese_news.encoders import build_encoder
        >>> build_encoder("star", input_dim=300).output_dim
        300
        >>> build_encoder({"class": "GRUEncoder", "input_dim": 50}).output_dim
        300
    """
    if isinstance(config, str):
        config = preset(config) if config in preset_names() else {"class": config}
    encoder, options = _class_and_options({**config, **options})
    try:
        return encoder(**options)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"encoder {encoder.__name__}: its options do not fit ({error})"
        ) from error


def _class_and_options(config: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    options = dict(config)
    encoder = find_class(
        "encoders", ENCODERS | REGISTERED, options, also=preset_names(), base=Encoder
    )
    if isinstance(options.get("sparsity"), Mapping):
        inner = dict(options["sparsity"])
        name = inner.pop("class", None)
        if name not in SPARSITIES:
            names = ", ".join(sorted(SPARSITIES))
            raise InputError(f"sparsity class is {name!r}; expected one of {names}")
        options["sparsity"] = functools.partial(SPARSITIES[name], **inner)
    for option in ("context", "encoder"):  # of encoders that hold another one
        if isinstance(options.get(option), Mapping):
            inner_class, inner = _class_and_options(options[option])
            options[option] = functools.partial(inner_class, **inner)
    return encoder, options
