"""The convolutional encoder of the AST paper's comparison."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from typing_extensions import override

from siamese_news.encoders.encoder import Encoder
from siamese_news.sparsity.plain_calls import is_traced


class CNNEncoder(Encoder):
    """n-gram filters, ReLU, maximum over the text, linear map (Kim 2014).

    Windows lie inside the text; a text shorter than a window is one window, filled with zeros.

    Args:
        input_dim: E.
        filters: how many for each n-gram size.
        ngrams: the sizes.
        output_dim: D.

    Raises:
        ValueError: a size below 1, or no n-gram size.

    Example:
        >>> import torch
        >>> from siamese_news.encoders import CNNEncoder
        >>> encoder = CNNEncoder(input_dim=40)  # 300 filters of 1 to 4 tokens
        >>> mask = torch.arange(9) < torch.tensor([[9], [4]])
        >>> encoder(torch.randn(2, 9, 40), mask).shape
        torch.Size([2, 300])
    """

    def __init__(
        self,
        *,
        input_dim: int,
        filters: int = 300,
        ngrams: Sequence[int] = (1, 2, 3, 4),
        output_dim: int = 300,
    ) -> None:
        super().__init__(input_dim=input_dim, output_dim=output_dim)
        if not ngrams or min(ngrams) < 1 or filters < 1:
            raise ValueError(
                f"CNNEncoder got {ngrams=}, {filters=}; expected sizes of at least 1"
            )
        self.ngrams = tuple(ngrams)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(input_dim, filters, size) for size in ngrams
        )
        self.output = nn.Linear(filters * len(ngrams), output_dim)

    @override
    def forward(
        self, embeddings: Tensor, mask: Tensor, weights: Tensor | None = None
    ) -> Tensor:
        lengths = mask.sum(1, keepdim=True)
        states = (embeddings * mask[:, :, None]).transpose(1, 2)
        features = []
        for size, convolution in zip(self.ngrams, self.convolutions, strict=True):
            # A tracer does not know which texts are shorter than the window.
            missing = size - 1 if is_traced() else max(0, size - states.shape[2])
            windows = convolution(F.pad(states, (0, missing)))
            starts = torch.arange(windows.shape[2], device=mask.device)
            outside = (starts > lengths - size) & (starts > 0)
            # ReLU commutes with the maximum and is cheaper after it.
            lowest = torch.finfo(windows.dtype).min
            features.append(
                windows.masked_fill(outside[:, None], lowest).amax(2).relu()
            )
        return self.output(torch.cat(features, 1))
