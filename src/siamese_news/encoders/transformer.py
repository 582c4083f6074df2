"""The dense Transformer, with which the star's linear time is compared."""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn
from typing_extensions import override

from siamese_news.attention import Attention
from siamese_news.encoders.encoder import Encoder, sinusoids, weighted_mean
from siamese_news.sparsity.maps import AdaptiveEntmax, Softmax, Sparsity
from siamese_news.sparsity.plain_calls import is_plain


class DenseAttention(Attention):
    """Every token attends to every token, in O(S^2)."""

    def forward(self, nodes: Tensor, mask: Tensor) -> Tensor:
        """One update of all tokens: nodes (B, S, E), mask (B, S) bool -> (B, S, E)."""
        query, key, value = (
            self._split(linear(nodes)).transpose(1, 2)
            for linear in (self.query, self.key, self.value)
        )
        query = self._unit(query)
        key = self._unit(key)
        if is_plain(self.sparsity, Softmax) and not self.record:
            # A text without a token may attend to its padding: its result is not used.
            keys = (mask | ~mask.any(1, keepdim=True))[:, None, None]
            mixed = F.scaled_dot_product_attention(
                query, key, value, keys, scale=self.scale
            )
        else:
            scores = query @ key.transpose(2, 3) * self.scale
            weights = self._weigh(scores, mask[:, None, None], -1)
            mixed = weights.to(value.dtype) @ value
        return self._joined(mixed.transpose(1, 2).flatten(2))


class TransformerEncoder(Encoder):
    """Pre-norm Transformer layers with any sparsity, mean over the tokens; O(S^2).

    Args:
        input_dim: E = D.
        heads: H.
        hidden_dim: of the feed-forward layer.
        positions: whether sinusoidal positions are added to the embeddings.
        dropout: share dropped of each update in training.
        sparsity: called with ``heads=H``, once for each layer.

    Raises:
        ValueError: a size below 1.

    Example:
        >>> import torch
        >>> from siamese_news.encoders import TransformerEncoder
        >>> from siamese_news.sparsity import Softmax
        >>> encoder = TransformerEncoder(input_dim=40, heads=4, head_dim=10, sparsity=Softmax)
        >>> mask = torch.arange(9) < torch.tensor([[9], [4]])
        >>> encoder(torch.randn(2, 9, 40), mask).shape
        torch.Size([2, 40])
    """

    def __init__(
        self,
        *,
        input_dim: int,
        layers: int = 1,
        heads: int = 10,
        head_dim: int = 30,
        hidden_dim: int = 1200,
        positions: bool = True,
        dropout: float = 0.0,
        sparsity: Callable[..., Sparsity] = AdaptiveEntmax,
    ) -> None:
        super().__init__(input_dim=input_dim, output_dim=input_dim)
        self.positions = positions
        self.attentions = nn.ModuleList(
            DenseAttention(
                dim=input_dim, heads=heads, head_dim=head_dim, sparsity=sparsity
            )
            for _ in range(layers)
        )
        self.feed_forwards = nn.ModuleList(
            nn.Sequential(
                nn.Linear(input_dim, hidden_dim),
                nn.GELU(),
                nn.Linear(hidden_dim, input_dim),
            )
            for _ in range(layers)
        )
        self.norms = nn.ModuleList(
            nn.LayerNorm(input_dim) for _ in range(2 * layers + 1)
        )
        self.dropout = nn.Dropout(dropout)

    @override
    def forward(
        self, embeddings: Tensor, mask: Tensor, weights: Tensor | None = None
    ) -> Tensor:
        nodes = embeddings
        if self.positions:
            nodes = nodes + sinusoids(mask.shape[1], self.input_dim, nodes)
        blocks = zip(self.attentions, self.feed_forwards, strict=True)
        for layer, (attention, feed_forward) in enumerate(blocks):
            nodes = nodes + self.dropout(attention(self.norms[2 * layer](nodes), mask))
            nodes = nodes + self.dropout(feed_forward(self.norms[2 * layer + 1](nodes)))
        return weighted_mean(self.norms[-1](nodes), mask)
