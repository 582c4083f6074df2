"""A model whose encoder is a Star Transformer, without torch."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from siamese_news.model.star_pass import ALPHAS, StarPass, product
from siamese_news.model.table import TableModel, unit
from siamese_news.model.text_model import Precision
from siamese_news.text.token_ids import TokenIds
from siamese_news.utils.extras import needs

Floats = NDArray[np.float32]

_TOKENS = 2048  # that are computed together: their states stay in the cache
_WIDEST = 1024  # a window, which no shape of a weight tells
# What `StarEncoder` can be told and `StarPass` does not know: the values that it takes.
_PLAIN = {
    "context_includes_embedding": False,
    "relay_attends_itself": False,
    "similarity": "dot",
    "layer_norm": False,
    "activation": "none",
    "positions": "none",
}
_READ = {
    *("class", "input_dim", "heads", "head_dim", "window", "cycles", "scale", "bias"),
    *("output_projection", "pre_norm", "feed_forward", "residual", "pooling", "lead"),
    *("sparsity", "dropout"),
}


class StarModel(TableModel):
    """A `siamese_news.encoders.StarEncoder`, whitened or not, over a fixed table, without torch."""

    is_costly = True

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        arrays = {
            name: array.astype(np.float32)
            for name, array in self._arrays.items()
            if name.startswith("encoder.")  # the table of words is in the matrix
        }
        self._whitening = [arrays.get(f"encoder.{name}") for name in ("mean", "matrix")]
        star = _star_options(self.config)
        prefix = "encoder." if star is self.config else "encoder.encoder."
        weights = {n.removeprefix(prefix): array for n, array in arrays.items()}
        self._encode_words = StarPass(weights, star)

    @override
    def _unit_vectors(
        self, texts: TokenIds, batch_tokens: int, precision: Precision
    ) -> Floats:
        vectors = np.zeros((len(texts), self.output_dim), np.float32)
        order = np.argsort(texts.lengths, kind="stable")
        order = order[texts.lengths[order] > 0]
        batch_of = np.cumsum(texts.lengths[order]) // _TOKENS
        mean, matrix = self._whitening
        batches = np.split(order, np.flatnonzero(np.diff(batch_of)) + 1)
        for rows in filter(len, batches):
            batch = texts.take(rows)
            words, rows_of_words = np.unique(batch.flat, return_inverse=True)
            weights = self._token_weights[batch.flat]
            encoded = self._encode_words(
                self._matrix[words], rows_of_words, weights, batch.offsets
            )
            if mean is not None and matrix is not None:
                encoded = product(unit(encoded) - mean, matrix)
            vectors[rows] = unit(encoded)
        return vectors

    @override
    def contributions(
        self, ids: NDArray[np.int64], towards: NDArray[Any]
    ) -> NDArray[np.float64]:
        """See `TextModel`; gradient times input, which torch computes."""
        with needs("encoders", f"an explanation by the encoder in {self.folder}"):
            from siamese_news.model.siamese import Model
        return Model.load(self.folder).contributions(ids, towards)

    @override
    @classmethod
    def fits(cls, config: Mapping[str, Any]) -> bool:
        """Whether a model folder's configuration is that of a `StarModel`."""
        star = _star_options(config.get("encoder"))
        return (
            cls.fits_table(config)
            and star.get("class") == "StarEncoder"
            and star.keys() <= _READ | _PLAIN.keys()
            and all(star.get(name, value) == value for name, value in _PLAIN.items())
            and star.get("pooling") in ("mean_relay", "idf_relay")
            and star.get("input_dim") == config["embedding"]["size"]
            and star.get("window", _WIDEST + 1) <= _WIDEST
            and star["sparsity"]["class"] in (*ALPHAS, "AdaptiveEntmax")
        )


def _star_options(options: Any) -> Mapping[str, Any]:
    """The options of the star in those of a model folder's encoder, whitened or not."""
    if isinstance(options, Mapping) and options.get("class") == "WhitenedEncoder":
        size = options.get("input_dim")
        return {"input_dim": size, **_star_options(options.get("encoder"))}
    return options if isinstance(options, Mapping) else {}
