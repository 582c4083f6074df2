"""The general sentence encoder of samCNN: one convolution, maximum over time, a linear map."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from siamese_news.rerankers.windows import window_max, window_valid

Padding = Literal["full", "none"]


class ConvEncoder(nn.Module):
    """Convolution -> ReLU -> maximum over time -> dropout -> linear (samCNN, section 2.1).

    The same module encodes plain texts and, through `weights`, texts whose tokens are rescaled for
    each query token. With several `widths` the pooled features are concatenated (the variant the
    paper reports as no better).

    Shapes: N texts, Q rescalings, S tokens, E embedding size, D output size.
    """

    def __init__(
        self,
        *,
        input_dim: int,
        output_dim: int,
        filters: int,
        widths: Sequence[int],
        padding: Padding,
        dropout: float,
    ) -> None:
        """Build the encoder.

        Args:
            input_dim: E.
            output_dim: D.
            filters: filters per width.
            widths: tokens per window, one convolution each.
            padding: "full" zero pads width - 1 tokens on both ends (the released code), "none"
                keeps the windows inside the text.
            dropout: probability, on the pooled features.

        Raises:
            ValueError: no width, or a width below 1, or an unknown padding.
        """
        super().__init__()
        if not widths or min(widths) < 1:
            raise ValueError(f"widths is {list(widths)}; expected one or more numbers >= 1")
        if padding not in ("full", "none"):
            raise ValueError(f"padding is {padding!r}; expected 'full' or 'none'")
        self.widths = list(widths)
        self.filters = filters
        self.full = padding == "full"
        self.output_dim = output_dim
        self.kernels = nn.ModuleList(
            nn.Linear(input_dim, width * filters, bias=False) for width in self.widths
        )
        self.biases = nn.ParameterList(nn.Parameter(torch.empty(filters)) for _ in self.widths)
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(filters * len(self.widths), output_dim)
        for kernel, bias, width in zip(self.kernels, self.biases, self.widths, strict=True):
            # As a Conv1d starts: uniform within 1/sqrt(fan in), the fan in being width x E.
            bound = (width * input_dim) ** -0.5
            nn.init.uniform_(kernel.weight, -bound, bound)  # type: ignore[arg-type]
            nn.init.uniform_(bias, -bound, bound)

    def pooled(self, texts: Tensor, mask: Tensor, weights: Tensor) -> Tensor:
        """Features before the linear map, dropout included: (N, Q, filters x widths).

        Args:
            texts: (N, S, E), zero at padding.
            mask: (N, S).
            weights: (N, Q, S), zero at padding.
        """
        features = []
        for kernel, bias, width in zip(self.kernels, self.biases, self.widths, strict=True):
            projected = kernel(texts).unflatten(-1, (width, self.filters))
            valid = window_valid(mask, width, full=self.full)
            # Bias and ReLU commute with the maximum.
            features.append(torch.relu(window_max(projected, weights, valid) + bias))
        pooled: Tensor = self.dropout(torch.cat(features, dim=-1))
        return pooled

    def forward(self, texts: Tensor, mask: Tensor) -> Tensor:
        """Encode plain texts: (N, S, E), (N, S) -> (N, D)."""
        encoded: Tensor = self.linear(self.pooled(texts, mask, mask[:, None].to(texts)).squeeze(1))
        return encoded
