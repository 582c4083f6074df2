"""Token ids to word vectors."""

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn

from siamese_news.sparsity.plain_calls import is_traced

PAD = -1  # the same as siamese_news.text.PAD; the encoders do not import `text`


class TokenEmbedding(nn.Module):
    """Ids to vectors.

    An unknown word hashed to an id >= V gets a fixed vector that is made from the id alone, so the
    same unknown name in an article and in a post matches itself, without a table: a unit vector
    with entries of +-1 / sqrt(E), or with `unknown_range` r entries drawn from U[-r, r].

    Args:
        matrix: (V, E) float word vectors.
        trainable: whether the table is a parameter.
        token_weights: (V,), the importance of each word (IDF and the like); None is 1 for all.
        unknown_weight: the importance of a word outside the table.
        unknown_range: r, the range of the entries of an unknown word's vector (.05 in samCNN, Table
            2); None for unit vectors.
        project_to: the size of a bias-free linear map behind the table (100 -> 300, say); None for
            no map.
        dropout: share of the entries that are dropped in training.
        stored: how a model folder keeps the table: ``"float32"``, or ``"int8"``, where each row is
            127 steps times a float16 factor (a fourth of the size).

    Raises:
        ValueError: a table or weights of another shape, ``"int8"`` for a table that is trained, or
            a range that is not above 0.

    Example:
        >>> import torch
        >>> from siamese_news.encoders import TokenEmbedding
        >>> embedding = TokenEmbedding(torch.eye(3), trainable=False)
        >>> vectors, mask, weights = embedding(torch.tensor([[2, 0, -1]]))  # -1 is padding
        >>> vectors[0]
        tensor([[0., 0., 1.],
                [1., 0., 0.],
                [0., 0., 0.]])
    """

    matrix: Tensor
    token_weights: Tensor

    def __init__(
        self,
        matrix: Tensor,
        *,
        trainable: bool,
        token_weights: Tensor | None = None,
        unknown_weight: float = 1.0,
        unknown_range: float | None = None,
        project_to: int | None = None,
        dropout: float = 0.0,
        stored: Literal["float32", "int8"] = "float32",
    ) -> None:
        super().__init__()
        if stored not in ("float32", "int8") or (stored == "int8" and trainable):
            raise ValueError(
                f"TokenEmbedding got {stored=}, {trainable=}; expected 'float32', or 'int8' for a "
                "table that is not trained"
            )
        if unknown_range is not None and not unknown_range > 0:
            raise ValueError(
                f"TokenEmbedding got {unknown_range=}; expected more than 0, or None"
            )
        if matrix.dim() != 2 or 0 in matrix.shape:
            raise ValueError(
                f"TokenEmbedding got a matrix of shape {tuple(matrix.shape)}; expected (V, E)"
            )
        words, size = matrix.shape
        token_weights = torch.ones(words) if token_weights is None else token_weights
        if token_weights.shape != (words,):
            raise ValueError(
                f"TokenEmbedding got token_weights of shape {tuple(token_weights.shape)} for "
                f"{words} words; expected ({words},)"
            )
        self.trainable = trainable
        self.unknown_weight = unknown_weight
        self.unknown_range = unknown_range
        self.project_to = project_to
        self.stored = stored
        self.output_dim = project_to or size
        if trainable:
            self.matrix = nn.Parameter(matrix.detach().clone())
        else:
            self.register_buffer("matrix", matrix.detach())
        self.register_buffer("token_weights", token_weights.to(matrix.dtype))
        self.dropout = nn.Dropout(dropout)
        self.project = (
            None if project_to is None else nn.Linear(size, project_to, bias=False)
        )
        if self.project is not None:
            # Rows or columns are orthogonal, so that cosines are unchanged at the start.
            nn.init.orthogonal_(self.project.weight)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Embeddings (B, S, E'), mask and weights (B, S) of ids (B, S), where -1 is padding.

        Embeddings and weights are zero at padding.
        """
        words, size = self.matrix.shape
        mask = ids != PAD
        in_vocabulary = ids < words
        rows = ids.clamp(0, words - 1)
        vectors = nn.functional.embedding(rows, self.matrix)
        weights = self.token_weights[rows].masked_fill(
            ~in_vocabulary, self.unknown_weight
        )
        if is_traced():
            unknown = unknown_vectors(ids.flatten(), size, self.unknown_range)
            unknown = unknown.to(vectors).view_as(vectors)
            vectors = torch.where(in_vocabulary[:, :, None], vectors, unknown)
        elif not in_vocabulary.all():
            unknown = unknown_vectors(ids[~in_vocabulary], size, self.unknown_range)
            vectors = vectors.index_put((~in_vocabulary,), unknown.to(vectors))
        vectors = self.dropout(vectors) * mask[:, :, None]
        if self.project is not None:
            vectors = self.project(vectors)
        return vectors, mask, weights * mask

    def sums(
        self, ids: Tensor, starts: Tensor, weights: Tensor | None = None
    ) -> Tensor:
        """Sums of the vectors of in_vocabulary words, for concatenated texts: (B, E').

        The words of all texts are `ids` (N,) in [0, V), with weights (N,); each text begins at its
        entry of `starts` (B,).
        """
        summed = nn.functional.embedding_bag(
            ids, self.matrix, starts, mode="sum", per_sample_weights=weights
        )
        # A linear map of a sum is the sum of the linear maps.
        return summed if self.project is None else self.project(summed)

    def config(self) -> dict[str, Any]:
        """Plain values to rebuild it with a matrix (V, size)."""
        return {
            "size": self.matrix.shape[1],
            "trainable": self.trainable,
            "unknown_weight": self.unknown_weight,
            "unknown_range": self.unknown_range,
            "project_to": self.project_to,
            "dropout": self.dropout.p,
            "stored": self.stored,
        }

    def compressed(self, state: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
        """A model's state as its folder stores it; `prefix` is that of this module in the names."""
        stored = dict(state)
        if self.stored == "int8":
            matrix = stored.pop(f"{prefix}matrix").float()
            scale = (matrix.abs().amax(1, keepdim=True) / 127).clamp(min=2**-20).half()
            steps = (matrix / scale.float()).round().clamp(-127, 127)
            stored |= {f"{prefix}steps": steps.to(torch.int8), f"{prefix}scale": scale}
        return stored

    def expanded(self, state: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
        """The inverse of `compressed`, up to rounding."""
        restored = dict(state)
        if self.stored == "int8":
            steps = restored.pop(f"{prefix}steps")
            scale = restored.pop(f"{prefix}scale")
            restored[f"{prefix}matrix"] = steps.float() * scale.float()
        return restored


def unknown_vectors(ids: Tensor, size: int, bound: float | None) -> Tensor:
    """The vectors (N, size) of unknown words, from their ids (N,) int64 alone.

    Entries are from U[-bound, bound]; without a bound they are +-1 / sqrt(size).
    """
    count = (size + 63) // 64 if bound is None else size
    bits = _splitmix64(
        _splitmix64(ids)[:, None] + torch.arange(count, device=ids.device)
    )
    if bound is not None:
        # The upper 24 bits, which a float32 holds exactly.
        return (_shift(bits, 40).to(torch.float32) / (2**23 - 0.5) - 1) * bound
    # Not by shifts, whose number an exporter to ONNX does not take from a tensor.
    powers = torch.tensor([1 << n for n in range(63)] + [-1 << 63], device=ids.device)
    signs = ((bits[:, :, None] & powers) != 0).flatten(1)[:, :size]
    return (signs * 2 - 1).to(torch.float32) / size**0.5


def _splitmix64(value: Tensor) -> Tensor:
    """The splitmix64 generator's mixing (Steele, Lea and Flood 2014); int64 products wrap."""
    value = value - 0x61C8864680B583EB
    value = (value ^ _shift(value, 30)) * -0x40A7B892E31B1A47
    value = (value ^ _shift(value, 27)) * -0x6B2FB644ECCEEE15
    return value ^ _shift(value, 31)


def _shift(value: Tensor, n_bits: int) -> Tensor:
    """Shift right without copying the sign."""
    return (value >> n_bits) & ((1 << (64 - n_bits)) - 1)
