"""From one vector per query token to one vector per pair."""

from typing import Literal

import torch
from torch import Tensor, nn

from siamese_news.rerankers.pair import Pair, zero_padding

Aggregation = Literal["mean", "learned", "weights"]


class Aggregate(nn.Module):
    """Weights of the query tokens, summing to one over the real ones.

    "mean" is the paper's (samCNN, section 2.2); "learned" is a softmax over a linear map of the
    token's embedding, the default of the released code; "weights" takes the pair's query weights
    (IDF).
    """

    def __init__(self, *, kind: Aggregation, input_dim: int) -> None:
        """Build it for embeddings of size `input_dim`.

        Raises:
            ValueError: for another kind.
        """
        super().__init__()
        if kind not in ("mean", "learned", "weights"):
            raise ValueError(f"aggregation is {kind!r}; expected 'mean', 'learned' or 'weights'")
        self.kind = kind
        self.gate = nn.Linear(input_dim, 1) if kind == "learned" else None

    def forward(self, pair: Pair) -> Tensor:
        """Weights (G, Q); zeros for a query without a token.

        Raises:
            ValueError: kind "weights" and a pair without query weights.
        """
        mask = pair.query_mask
        if self.gate is not None:
            scores = self.gate(zero_padding(pair.query, mask)).squeeze(-1).float()
            shifted = scores - scores.masked_fill(~mask, -torch.inf).amax(1, True).clamp(min=-1e30)
            raw = shifted.masked_fill(~mask, -torch.inf).exp()
        elif self.kind == "weights":
            if pair.query_weights is None:
                raise ValueError("aggregation 'weights' needs query_weights (G, Q) in the pair")
            raw = pair.query_weights.float().masked_fill(~mask, 0)
        else:
            raw = mask.float()
        return raw / raw.sum(dim=1, keepdim=True).clamp(min=1e-12)
