"""A model whose text vectors are means of word vectors; numpy and scipy compute them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse
from typing_extensions import override

from siamese_news.model.folder import FolderContent, check_arrays, fitting
from siamese_news.model.text_model import Precision, TextModel, text_parts
from siamese_news.text.token_ids import TokenIds

_ENCODER = {"class", "input_dim", "weighting", "output_dim", "lead"}
_EMBEDDING = {"size", "trainable", "project_to", "stored", "unknown_weight"}
_EMBEDDING |= {"unknown_range", "dropout"}  # which matter in training only


class TableModel(TextModel):
    """A bag of words (`siamese_news.encoders.BagEncoder`) over a fixed table, without torch.

    Args:
        matrix: (V, D) float32 word vectors.
        folder: the model's.
        embedding: plain values that describe the table; kept in the folder.
        stored: the weights as the folder keeps them, by name.
        **words: see `TextModel`.
    """

    drops_unknown = True

    def __init__(
        self,
        matrix: NDArray[np.float32],
        *,
        folder: str | Path,
        embedding: Mapping[str, Any],
        stored: Mapping[str, np.ndarray],
        **words: Any,
    ) -> None:
        super().__init__(**words)
        self._matrix = matrix
        self.folder = folder
        self._embedding = {"unknown_range": None, **embedding}
        self._arrays = dict(stored)
        self._token_weights = stored["embedding.token_weights"]
        self._lead = self.config.get("lead")

    @property
    def output_dim(self) -> int:
        """D, the size of a vector."""
        return self._matrix.shape[1]

    def _unit_vectors(
        self, texts: TokenIds, batch_tokens: int, precision: Precision
    ) -> NDArray[np.float32]:
        shares = sparse.csr_matrix(
            (self._shares(texts), texts.flat, texts.offsets),
            shape=(len(texts), len(self._matrix)),
        )
        summed: NDArray[np.float32] = shares @ self._matrix
        return unit(summed)

    def _shares(self, texts: TokenIds) -> NDArray[np.float32]:
        """(N,) the weight of each token in the sum of its text."""
        shares = np.ones(len(texts.flat), np.float32)
        if self._lead is not None:
            positions = np.arange(len(texts.flat)) - np.repeat(
                texts.offsets[:-1], texts.lengths
            )
            unit = np.float32(1)
            shares = unit / (
                unit + positions.astype(np.float32) / np.float32(self._lead)
            )
        if self.config.get("weighting") == "idf":
            shares = self._token_weights[texts.flat] * shares
        return shares

    def contributions(
        self, ids: NDArray[np.int64], towards: NDArray[Any]
    ) -> NDArray[np.float64]:
        """See `TextModel`; exact, because the vector is a sum."""
        shares = self._shares(TokenIds.of([ids])).astype(np.float64)
        length = np.linalg.norm(shares @ self._matrix[ids])
        return np.asarray(
            shares * (self._matrix[ids] @ towards) / max(length, 1e-12), np.float64
        )

    @override
    def embedding_config(self) -> dict[str, Any]:
        return dict(self._embedding)

    @override
    def weights(self) -> dict[str, np.ndarray]:
        packed = ("embedding.steps", "embedding.scale")
        return {"embedding.matrix": self._matrix} | {
            name: array.astype(np.float32)
            for name, array in self._arrays.items()
            if name not in packed
        }

    @override
    def stored(self) -> dict[str, np.ndarray]:
        return dict(self._arrays)

    @classmethod
    def fits(cls, config: Mapping[str, Any]) -> bool:
        """Whether a model folder's configuration is that of a `TableModel`.

        `siamese_news.model.siamese.Model` reads every other folder.
        """
        encoder: Any = config.get("encoder")
        if not (cls.fits_table(config) and _within(encoder, _ENCODER)):
            return False
        lead = encoder.get("lead")
        return (
            encoder.get("class") == "BagEncoder"
            and encoder.get("output_dim") is None
            and encoder.get("input_dim") == config["embedding"].get("size")
            and encoder.get("weighting", "mean") in ("mean", "idf")
            and (lead is None or (type(lead) in (int, float) and lead > 0))
            and (encoder.get("weighting") == "idf" or config.get("unknown") == "drop")
        )

    @classmethod
    def fits_table(cls, config: Mapping[str, Any]) -> bool:
        """Whether the embedding is a fixed table that drops unknown words."""
        embedding: Any = config.get("embedding")
        return (
            _within(embedding, _EMBEDDING)
            and config.get("kind") == "encoder"
            and embedding.get("trainable") is False
            and embedding.get("project_to") is None
            and embedding.get("stored") in ("float32", "int8")
            and (embedding.get("unknown_weight") == 0 or config["unknown"] == "drop")
        )

    @classmethod
    def of(cls, folder: str | Path, content: FolderContent) -> "TableModel":
        """The model in a folder, from what `read_folder` returned; see `Model.of`."""
        with fitting(folder):
            parts, stored = text_parts(folder, content)
            embedding = content.config["embedding"]
            rows = len(content.words)
            size = embedding["size"]
            expected = {"embedding.token_weights": _shaped(np.float32, rows)}
            if embedding["stored"] == "int8":
                expected["embedding.steps"] = _shaped(np.int8, rows, size)
                expected["embedding.scale"] = _shaped(np.float16, rows, 1)
            else:
                expected["embedding.matrix"] = _shaped(np.float32, rows, size)
            # Those of an encoder are checked by the pass over a text below.
            encoder = {n: a for n, a in stored.items() if n.startswith("encoder.")}
            check_arrays(folder, stored, expected | encoder)
            if embedding["stored"] == "int8":
                # A copy of the steps in float32 would take as long as all else here.
                matrix = np.multiply(
                    stored["embedding.steps"],
                    stored["embedding.scale"].astype(np.float32),
                    dtype=np.float32,
                )
            else:
                matrix = stored["embedding.matrix"]
            model = cls(
                matrix, folder=folder, embedding=embedding, stored=stored, **parts
            )
            model.check()
        return model


def _shaped(dtype: DTypeLike, *shape: int) -> NDArray[Any]:
    """An array of a type and a shape that takes no memory, whatever a config says."""
    return np.broadcast_to(np.zeros((), dtype), shape)


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """(B, D) at unit length; zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.float32(1e-12)), np.float32)


def _within(options: Any, names: set[str]) -> bool:
    return isinstance(options, Mapping) and options.keys() <= names
