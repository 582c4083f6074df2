"""An encoder whose vectors are centered and whitened in part, fitted on texts without labels."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from typing_extensions import override

from siamese_news.attention.word_projections import Words
from siamese_news.encoders.bag import BagEncoder
from siamese_news.encoders.encoder import Encoder, Explanation


class WhitenedEncoder(Encoder):
    """Another encoder, without what its vectors have in common.

    The vectors of a trained encoder lie in a cone: their mean is long, and a few axes hold most
    of the variance, so cosines between unrelated texts are high. For unit vectors of many texts
    with mean m and covariance U diag(l) U^T, this encoder turns a vector x of the other one into

        y = U diag(l^-p) U^T (x / |x| - m)

    p = 0 only centers, the first step of Mu & Viswanath 2018, "All-but-the-Top". p = 1/2 is a full
    whitening (Su et al. 2021, "Whitening Sentence Representations for Better Semantics and Faster
    Retrieval"), which gives axes of noise as much weight as axes of meaning; a power between them
    keeps a part of the differences. No label is needed, and nothing is trained: mean and matrix are
    buffers.

    Args:
        input_dim: E.
        encoder: called with ``input_dim=E``; None is the bag of words.
        output_dim: D, of vectors that are cut; None is that of the encoder.

    Raises:
        ValueError: the encoder has two heads, or is whitened itself.

    Example:
        >>> import numpy as np
        >>> from siamese_news.encoders import BagEncoder, WhitenedEncoder
        >>> vectors = np.random.default_rng(0).normal(1.0, [1.0, 0.1], (1000, 2))  # (N, D)
        >>> encoder = WhitenedEncoder.fitted(BagEncoder(input_dim=2), vectors, power=0.5)
        >>> encoder.output_dim
        2
    """

    mean: Tensor
    matrix: Tensor

    def __init__(
        self,
        *,
        input_dim: int,
        encoder: Callable[..., Encoder] | None = None,
        output_dim: int | None = None,
    ) -> None:
        inner = (encoder or BagEncoder)(input_dim=input_dim)
        size = inner.output_dim if output_dim is None else output_dim
        super().__init__(input_dim=input_dim, output_dim=size)
        if inner.has_factors or isinstance(inner, WhitenedEncoder):
            raise ValueError(
                f"WhitenedEncoder got a {type(inner).__name__}; expected an encoder with one head "
                "that is not whitened yet"
            )
        self.encoder = inner
        self.uses_weights = inner.uses_weights
        self.register_buffer("mean", torch.zeros(inner.output_dim))
        self.register_buffer("matrix", torch.eye(inner.output_dim, size))

    @classmethod
    def fitted(
        cls, encoder: Encoder, vectors: NDArray[np.floating], power: float
    ) -> "WhitenedEncoder":
        """`encoder`, whitened by its vectors of some texts.

        Args:
            encoder: as it is; its weights are shared, not copied.
            vectors: (N, D), of N texts; zero vectors, of texts without a known word, do not count.
                The covariance is drawn towards equal variances by D / (N + D), as few vectors say
                little of their smallest ones; some thousands are enough for hundreds of dimensions.
            power: p from 0 to 1/2.

        Raises:
            ValueError: another power, or vectors of another shape, with NaN, or that do not differ.
        """
        if not 0 <= power <= 0.5:
            raise ValueError(f"power={power}: expected a number from 0 to 0.5")
        if vectors.ndim != 2 or vectors.shape[1] != encoder.output_dim:
            raise ValueError(
                f"vectors have the shape {vectors.shape}; expected (N, {encoder.output_dim})"
            )
        if not np.isfinite(vectors).all():
            raise ValueError("vectors have NaN or infinity; expected finite numbers")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        units = (vectors / np.maximum(lengths, 1e-12))[lengths[:, 0] > 0]
        if not len(units) or not np.ptp(units, axis=0).any():
            raise ValueError(
                "the vectors do not differ; expected those of many texts with known words"
            )
        count, size = units.shape
        mean = units.mean(0, dtype=np.float64)
        variances, axes = np.linalg.eigh(
            np.atleast_2d(np.cov(units, rowvar=False, bias=True))
        )
        drawn = size / (count + size)
        variances = (1 - drawn) * variances + drawn * variances.mean()
        matrix = (axes * variances**-power) @ axes.T
        # Cosines do not depend on its size, and half precision holds no large numbers.
        matrix /= np.linalg.norm(matrix, 2)
        whitened = cls.around(encoder)
        whitened.mean.copy_(torch.from_numpy(mean))
        whitened.matrix.copy_(torch.from_numpy(matrix))
        return whitened

    @classmethod
    def around(cls, encoder: Encoder) -> "WhitenedEncoder":
        """`encoder`, whose vectors are still as they were; its weights are shared."""
        whitened = cls(input_dim=encoder.input_dim, encoder=lambda **_: encoder)
        weights = next(encoder.parameters(), None)
        if weights is not None:
            whitened.to(weights)  # in double precision, or on a GPU
        return whitened.train(encoder.training)

    def truncate(self, size: int) -> None:
        """Keep the first numbers of each vector."""
        self.matrix = self.matrix[:, :size].clone()
        self.output_dim = size

    @override
    def forward(
        self, embeddings: Tensor, mask: Tensor, weights: Tensor | None = None
    ) -> Tensor:
        return self._whitened(self.encoder(embeddings, mask, weights), mask)

    @override
    def encode_words(
        self, words: Words, rows: Tensor, mask: Tensor, weights: Tensor | None = None
    ) -> Tensor:
        return self._whitened(
            self.encoder.encode_words(words, rows, mask, weights), mask
        )

    @override
    def explain(
        self,
        embeddings: Tensor,
        mask: Tensor,
        weights: Tensor | None = None,
        towards: Tensor | None = None,
    ) -> Explanation:
        """See `Encoder`. The mean m is no token's contribution.

        The length |x| counts as a constant: gradient times input of a direction would be zero.
        """
        with torch.no_grad():
            vectors = self.encoder(embeddings, mask, weights)
            whitened = self._whitened(vectors, mask)
            if towards is None:
                squares = whitened.square().sum(1, keepdim=True)
                towards = whitened / squares.clamp(min=1e-12)
            lengths = vectors.norm(dim=1, keepdim=True).clamp(min=1e-12)
            inner = towards.to(vectors.dtype) @ self.matrix.T / lengths
        explanation = self.encoder.explain(embeddings, mask, weights, towards=inner)
        return replace(explanation, vectors=whitened)

    def _whitened(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """(B, D) -> (B, D); a text without a token has the zero vector."""
        centered = nn.functional.normalize(vectors, dim=1) - self.mean
        return (centered @ self.matrix) * mask.any(1, keepdim=True)
