"""A model from its configuration: vectors, tokenizer, vocabulary, IDF weights and encoder."""

import hashlib
import inspect
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hydra.errors import InstantiationException
from hydra.utils import instantiate as hydra_instantiate
from pytorch_lightning.utilities.exceptions import MisconfigurationException

from siamese_news.encoders import ENCODERS, Encoder, TokenEmbedding
from siamese_news.errors import InputError
from siamese_news.lexical_head.head import TermHead
from siamese_news.lexical_head.term_ids import distinct
from siamese_news.model.siamese import Model
from siamese_news.sparsity.maps import SPARSITIES
from siamese_news.text import (
    Tokenizer,
    Vocabulary,
    load_vectors,
    remove_top_components,
    unit_length,
)
from siamese_news.text.content_words import content_words, smoothed_idf
from siamese_news.utils.extras import missing_package
from siamese_news.utils.plugins import class_in_folder

log = logging.getLogger(__name__)


def build_text(
    vectors: Mapping[str, Any], tokenizer: Mapping[str, Any]
) -> tuple[Tokenizer, Vocabulary, np.ndarray]:
    """Tokenizer, vocabulary and word matrix (V, E) of an option of ``conf/vectors``."""
    loaded = load_vectors(vectors["source"], max_words=vectors["max_words"])
    # A copy: it may be mapped read-only, and loading a checkpoint writes into the table.
    words = list(loaded.words)
    matrix = np.array(loaded.matrix, dtype=np.float32)
    if vectors["remove_components"]:
        matrix = remove_top_components(matrix, vectors["remove_components"])
    if vectors["unit_length"]:
        matrix = unit_length(matrix)
    vocabulary = Vocabulary(words, unknown=vectors["unknown"])
    return Tokenizer(words=words, **tokenizer), vocabulary, matrix


def idf_weights(
    tokenizer: Callable[[str], list[str]], vocabulary: Vocabulary, texts: Iterable[str]
) -> tuple[torch.Tensor, float]:
    """Inverse document frequency ln((1 + N) / (1 + df)) of every word over N texts, (V,).

    The second result is that of a word outside the vocabulary; all are 1 without texts.
    """
    documents = list(texts)
    if not documents:
        return torch.ones(len(vocabulary)), 1.0
    weights = smoothed_idf(
        vocabulary.document_frequencies(map(tokenizer, documents)), len(documents)
    )
    return torch.from_numpy(weights.astype(np.float32)), float(
        smoothed_idf(0.0, len(documents))
    )


def build_model(
    config: Mapping[str, Any],
    text: tuple[Tokenizer, Vocabulary, np.ndarray],
    idf_texts: Iterable[str],
) -> Model:
    """An untrained model, whose words are weighted by their document frequencies in `idf_texts`.

    It is built from ``vectors``, ``encoder`` and ``data.limits`` and the result of `build_text`.
    """
    tokenizer, vocabulary, matrix = text
    vectors = config["vectors"]
    weights, unknown_weight = idf_weights(tokenizer, vocabulary, idf_texts)
    embedding = TokenEmbedding(
        torch.from_numpy(np.ascontiguousarray(matrix)),
        trainable=vectors["trainable"],
        token_weights=weights,
        unknown_weight=unknown_weight,
        project_to=vectors["project_to"],
        dropout=vectors["dropout"],
    )
    encoder, plain = encoder_of(config["encoder"], embedding.output_dim)
    model = Model(
        tokenizer=tokenizer,
        vocabulary=vocabulary,
        embedding=embedding,
        encoder=encoder,
        limits=config["data"]["limits"],
        config=plain,
    )
    with torch.no_grad():
        shape = tuple(model.eval()(torch.zeros(1, 1, dtype=torch.int64)).shape)
    if shape != (1, encoder.output_dim):
        raise InputError(
            f"encoder {type(encoder).__name__}: returns for a text a tensor of the shape {shape}, "
            f"but its output_dim is {encoder.output_dim}; expected (1, {encoder.output_dim})"
        )
    return model.train()


def encoder_of(
    option: Mapping[str, Any] | Encoder, input_dim: int
) -> tuple[Encoder, dict[str, Any]]:
    """The encoder of an option of ``conf/encoder``, and its plain values for a model folder.

    An encoder that is made already is taken as it is.
    """
    if isinstance(option, Encoder):
        if option.input_dim != input_dim:
            raise InputError(
                f"encoder {type(option).__name__}: has input_dim={option.input_dim}, but the word "
                f"vectors have {input_dim} dimensions; make it with input_dim={input_dim}"
            )
        return option, class_in_folder("encoders", ENCODERS, type(option)) | {
            name: _plain_argument(option, name, value)
            for name, value in option.arguments().items()
        }
    _check_encoder(option)
    encoder: Encoder = instantiate(option, "encoder", input_dim=input_dim)
    return encoder, {**plain_config(option), "input_dim": input_dim}


def instantiate(
    option: Mapping[str, Any], key: str, *, recursive: bool = True, **arguments: Any
) -> Any:
    """Hydra's `instantiate`, with an error of one line; `key` names the option in it.

    The arguments reach the class as they are. Options inside the option stay plain values unless
    `recursive`: an encoder cannot be built before the size of its word vectors is known. An option
    with ``_partial_`` gives a function.
    """
    target = str(option["_target_"])
    node = {"_recursive_": recursive, "_convert_": "all", **option, "_partial_": True}
    with _import_errors(key, target):
        build = hydra_instantiate(node)
    if option.get("_partial_"):
        return partial(build, **arguments)
    try:
        return build(**arguments)
    except InputError:
        raise
    except TypeError as error:
        raise InputError(
            f"{key}: {target} does not fit its options ({error})"
        ) from error
    except (ValueError, MisconfigurationException, ModuleNotFoundError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name:
            raise  # one of ours, which `needs` names
        raise InputError(f"{key}: {' '.join(str(error).split())}") from error


def class_of(option: Mapping[str, Any], key: str) -> Any:
    """The class or function that the ``_target_`` of an option names; Hydra imports it."""
    target = str(option["_target_"])
    with _import_errors(f"{key}._target_", target):
        return hydra_instantiate({"_target_": "hydra.utils.get_object", "path": target})


@contextmanager
def _import_errors(key: str, target: str) -> Iterator[None]:
    """Turn Hydra's error about a target into one line, unless `needs` names what to install."""
    try:
        yield
    except InstantiationException as error:
        if missing_package(error):
            raise
        # An import's error says more than Hydra's, which asks to set a variable.
        reason = error.__cause__ if isinstance(error.__cause__, ImportError) else error
        hint = _own_module(target)
        raise InputError(f"{key}: {' '.join(str(reason).split())}{hint}") from error


def _own_module(target: str) -> str:
    """What to do about a module of the current folder, from which nothing is imported."""
    name = target.partition(".")[0]
    is_local = Path(f"{name}.py").is_file() or Path(name).is_dir()
    if not name or not is_local or find_spec(name):
        return ""
    return f"; to use {name} of the current folder, start the command with PYTHONPATH=."


def _check_encoder(option: Mapping[str, Any]) -> None:
    """Refuse a class that is not an encoder, and options left over from the encoder it replaces."""
    target = str(option["_target_"])
    encoder_class = class_of(option, "encoder")
    if not (isinstance(encoder_class, type) and issubclass(encoder_class, Encoder)):
        raise InputError(
            f"encoder._target_={target} is not derived from siamese_news.encoders.Encoder; see "
            "https://github.com/siamese-news/siamese_news/blob/main/docs/add-an-encoder.md"
        )
    parameters = inspect.signature(encoder_class).parameters
    if any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
    ):
        return
    unknown = [
        name for name in option if name not in parameters and not name.startswith("_")
    ]
    if unknown:
        raise InputError(
            f"{target} has no option {', '.join(unknown)}; to start without the options of the "
            f"encoder it replaces, write '~encoder' '+encoder._target_={target}' instead of "
            f"encoder._target_={target}"
        )


def add_terms(
    model: Model,
    options: Mapping[str, Any],
    articles: Iterable[str],
    posts: Iterable[str],
) -> None:
    """Add a lexical head to a model in place, after which both heads read content words alone.

    `options` is an option of ``conf/terms``; the training texts give the document frequencies.
    """
    if model.limits["keep"] == "last":
        raise InputError(
            "data.limits.keep is 'last'; with a lexical head, whose weights fall with the place in "
            "the article, expected 'first'"
        )
    if model.vocabulary.unknown == "drop":
        log.warning(
            "vectors.unknown=drop: words without a vector match nothing; vectors.unknown=hash "
            "lets the lexical head match them"
        )
    words = len(model.vocabulary)
    article_ids, post_ids = (
        [model.vocabulary.ids(content_words(model.tokenizer(text))) for text in texts]
        for texts in (articles, posts)
    )
    _, ids, _ = distinct([*article_ids, *post_ids])
    frequencies = np.bincount(ids[ids < words], minlength=words)
    model.terms = TermHead.of_texts(frequencies, article_ids, post_ids, options)
    # The dense head has no vector for a hashed word.
    model.embedding.unknown_weight = 0.0


def _plain_argument(encoder: Encoder, name: str, value: Any) -> Any:
    """An argument of an encoder as a model folder has it: a sparsity by its class and options."""
    sparsity, options = value, {}
    if isinstance(value, partial):
        sparsity, options = value.func, value.keywords
    if sparsity in SPARSITIES.values():
        return {"class": sparsity.__name__, **options}
    if callable(value):
        raise InputError(
            f"encoder {type(encoder).__name__}: was made with {name}={value!r:.60}, which no model "
            "folder can hold; make it with plain values, or a sparsity as a class or "
            "functools.partial"
        )
    return value


def plain_config(option: Mapping[str, Any]) -> dict[str, Any]:
    """An option with ``_target_`` as the plain values of a model folder: ``class`` and numbers."""
    plain: dict[str, Any] = {}
    for key, value in option.items():
        if key == "_target_":
            encoder_class = class_of(option, "encoder")
            if encoder_class in SPARSITIES.values():
                plain["class"] = encoder_class.__name__
            else:
                plain |= class_in_folder("encoders", ENCODERS, encoder_class)
        elif key != "_partial_":
            plain[key] = plain_config(value) if isinstance(value, Mapping) else value
    return plain


def fingerprint(text: str) -> str:
    """A short hash of an article's text, whatever its case and white space."""
    return hashlib.blake2b(
        " ".join(text.lower().split()).encode(), digest_size=8
    ).hexdigest()
