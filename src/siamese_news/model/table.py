"""A model whose text vectors are means of word vectors; numpy and scipy compute them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse
from typing_extensions import override

from siamese_news.model.base import Precision, TextModel, text_parts
from siamese_news.model.folder import FolderContent, check_arrays, fitting
from siamese_news.text.token_ids import TokenIds

_ENCODER = {"class", "input_dim", "weighting", "output_dim", "lead"}
_EMBEDDING = {"size", "trainable", "project_to", "stored", "unknown_weight"}
_EMBEDDING |= {"unknown_range", "dropout"}  # which matter in training only


class TableModel(TextModel):
    """A bag of words (`siamese_news.encoders.BagEncoder`) over a fixed table, without torch.

    Args:
        matrix: (V, D) float32 word vectors.
        weights: (V,) float32, of each word in the mean.
        lead: see `BagEncoder`.
        embedding: plain values that describe the table; kept in the folder.
        stored: the weights as the folder keeps them, by name.
        **words: see `TextModel`.
    """

    drops_unknown = True

    def __init__(
        self,
        matrix: NDArray[np.float32],
        weights: NDArray[np.float32] | None,
        *,
        lead: float | None,
        embedding: Mapping[str, Any],
        stored: Mapping[str, np.ndarray],
        **words: Any,
    ) -> None:
        super().__init__(**words)
        self._matrix = matrix
        self._weights = weights
        self._lead = lead
        self._embedding = {"unknown_range": None, **embedding}
        self._arrays = dict(stored)

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
        lengths = np.linalg.norm(summed, axis=1, keepdims=True)
        return summed / np.maximum(lengths, np.float32(1e-12))

    def _shares(self, texts: TokenIds) -> NDArray[np.float32]:
        """(N,) the weight of each token in the sum of its text."""
        shares = np.ones(len(texts.flat), np.float32)
        if self._lead is not None:
            places = np.arange(len(texts.flat)) - np.repeat(
                texts.offsets[:-1], texts.lengths
            )
            unit = np.float32(1)
            shares = unit / (unit + places.astype(np.float32) / np.float32(self._lead))
        return shares if self._weights is None else self._weights[texts.flat] * shares

    def contributions(
        self, ids: NDArray[np.int64], towards: NDArray[Any]
    ) -> NDArray[np.float64]:
        """See `TextModel`; exact, because the vector is a sum."""
        shares = self._shares(TokenIds.of([ids])).astype(np.float64)
        length = np.linalg.norm(shares @ self._matrix[ids])
        per_token: NDArray[np.float64] = (
            shares * (self._matrix[ids] @ towards) / max(length, 1e-12)
        )
        return per_token

    @override
    def embedding_config(self) -> dict[str, Any]:
        return dict(self._embedding)

    @override
    def weights(self) -> dict[str, np.ndarray]:
        token_weights = self._arrays["embedding.token_weights"]
        return {
            "embedding.matrix": self._matrix,
            "embedding.token_weights": token_weights,
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
        embedding: Any = config.get("embedding")
        if not (_within(encoder, _ENCODER) and _within(embedding, _EMBEDDING)):
            return False
        lead = encoder.get("lead")
        weighting = encoder.get("weighting", "mean")
        drops = weighting == "idf" and embedding.get("unknown_weight") == 0
        return (
            config.get("kind") == "encoder"
            and encoder.get("class") == "BagEncoder"
            and encoder.get("output_dim") is None
            and encoder.get("input_dim") == embedding.get("size")
            and weighting in ("mean", "idf")
            and (lead is None or (type(lead) in (int, float) and lead > 0))
            and embedding.get("trainable") is False
            and embedding.get("project_to") is None
            and embedding.get("stored") in ("float32", "int8")
            and (drops or config.get("unknown") == "drop")
        )

    @classmethod
    def of(cls, folder: str | Path, content: FolderContent) -> "TableModel":
        """The model in a folder, from what `read_folder` returned; see `Model.of`."""
        with fitting(folder):
            parts, stored = text_parts(folder, content)
            encoder = content.config["encoder"]
            embedding = content.config["embedding"]
            rows = len(content.words)
            size = embedding["size"]
            expected = {"embedding.token_weights": _shaped(np.float32, rows)}
            if embedding["stored"] == "int8":
                expected["embedding.steps"] = _shaped(np.int8, rows, size)
                expected["embedding.scale"] = _shaped(np.float16, rows, 1)
            else:
                expected["embedding.matrix"] = _shaped(np.float32, rows, size)
            check_arrays(folder, stored, expected)
            if embedding["stored"] == "int8":
                steps = stored["embedding.steps"]
                scale = stored["embedding.scale"]
                matrix = steps.astype(np.float32) * scale.astype(np.float32)
            else:
                matrix = stored["embedding.matrix"]
            model = cls(
                matrix,
                stored["embedding.token_weights"]
                if encoder["weighting"] == "idf"
                else None,
                lead=encoder.get("lead"),
                embedding=embedding,
                stored=stored,
                **parts,
            )
            model.check()
        return model


def _shaped(dtype: DTypeLike, *shape: int) -> NDArray[Any]:
    """An array of a type and a shape that takes no memory, whatever a config says."""
    return np.broadcast_to(np.zeros((), dtype), shape)


def _within(options: Any, names: set[str]) -> bool:
    return isinstance(options, Mapping) and options.keys() <= names
