"""Star attention: the relay node attends to every token, with sparse weights.

Shape letters: B texts, S tokens, E size of a state, H heads.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from siamese_news.attention.attention import Attention
from siamese_news.attention.compiled import head_alphas, row_weights


class StarAttention(Attention):
    """The relay attends to every token (the star's hub; AST paper, section 3).

    Args:
        attends_itself: whether the relay is among its own keys, [s; H], as in the Star-Transformer.
        **options: see `Attention`.

    Example:
        >>> import torch
        >>> from siamese_news.attention import StarAttention
        >>> from siamese_news.sparsity import Softmax
        >>> star = StarAttention(
        ...     attends_itself=False, dim=60, heads=10, head_dim=6, sparsity=Softmax
        ... )
        >>> nodes, mask = torch.randn(4, 9, 60), torch.ones(4, 9, dtype=torch.bool)
        >>> star(nodes.mean(1), nodes, mask).shape
        torch.Size([4, 60])
    """

    def __init__(self, *, attends_itself: bool, **options: Any) -> None:
        super().__init__(**options)
        self.attends_itself = attends_itself

    def forward(self, relay: Tensor, nodes: Tensor, mask: Tensor) -> Tensor:
        """Update the relay: relay (B, E), nodes (B, S, E), mask (B, S) bool -> (B, E)."""
        query = self._unit(self._split(self.query(relay)))  # (B, H, head_dim)
        if not self._may_fuse(nodes):
            return self._by_modules(query, relay, nodes, mask)
        # (W_k^T q) . h for q . (W_k h), and W_v sum p h for sum p W_v h: no token is projected.
        states = [nodes]
        if self.attends_itself:
            states.append(relay[:, None])
            mask = F.pad(mask, (0, 1), value=True)
        if self.similarity == "cosine":  # the length of W_k h is needed, so no fold
            keys = [self._unit(self._split(self.key(side))) for side in states]
            parts = [torch.einsum("bhd,bshd->bhs", query, key) for key in keys]
        else:
            folded = torch.einsum("bhd,hde->bhe", query, self._by_head(self.key))
            parts = [folded @ side.transpose(1, 2) for side in states]
        scores = torch.cat(parts, 2) if len(parts) > 1 else parts[0]
        weights = self._weights(scores, mask).to(nodes.dtype)
        shares = weights.split([side.shape[1] for side in states], 2)
        mixed = sum(share @ side for share, side in zip(shares, states, strict=True))
        values = torch.einsum("bhe,hde->bhd", mixed, self._by_head(self.value))
        return self._joined(values.flatten(1))

    def _by_modules(
        self, query: Tensor, relay: Tensor, nodes: Tensor, mask: Tensor
    ) -> Tensor:
        """The update by one call of each submodule."""
        if self.attends_itself:
            nodes = torch.cat([nodes, relay[:, None]], 1)
            mask = F.pad(mask, (0, 1), value=True)
        keys = self._unit(self._split(self.key(nodes)))
        values = self._split(self.value(nodes))
        weights = self._weights(torch.einsum("bhd,bshd->bhs", query, keys), mask)
        mixed = torch.einsum("bhs,bshd->bhd", weights.to(values.dtype), values)
        return self._joined(mixed.flatten(1))

    def _by_head(self, linear: nn.Linear) -> Tensor:
        return linear.weight.unflatten(0, (self.heads, self.head_dim))

    def _weights(self, scores: Tensor, mask: Tensor) -> Tensor:
        scaled = scores * self.scale
        if not (torch.is_grad_enabled() or self.record):
            alphas = head_alphas(self.sparsity, scores)
            if alphas is not None:
                return row_weights(scaled, mask, alphas)
        # Recorded weights have an axis of queries, of which the relay is one.
        weights = self._weigh(scaled[:, :, None], mask[:, None, None], -1)
        return weights[:, :, 0]
