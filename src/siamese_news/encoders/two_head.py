"""Two heads: a text's vector, and a factor for the weight of each word in its context."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from typing_extensions import override

from siamese_news.encoders.encoder import Encoder, padded_right, weighted_mean
from siamese_news.encoders.star import StarEncoder
from siamese_news.sparsity.maps import AdaptiveEntmax, Sparsity


class TwoHeadEncoder(Encoder):
    """A dense vector, and factors that a lexical head multiplies its words' weights by.

    The factor of token i is the attention that the relay s pays it, without the constraint that the
    weights of a text sum to 1 (``normalized=False`` of `Sparsity`; the length of the lexical
    vector is normalized anyway):

        f_i = [1 + (alpha - 1) z_i]_+ ^ 1/(alpha - 1),   z_i = q . h_i / sqrt(E),   q = b + W s

    It is exp(z_i) for softmax; every alpha above 1 drops words exactly, the AST paper's "attend
    only to the most relevant parts". b and W start at zero, so every factor starts at 1 and the
    lexical head as its prior. The dense head starts as the pooling of the context, for a bag the
    IDF-weighted mean.

    Args:
        input_dim: E.
        context: called with ``input_dim=E``; its tokens H and relay s after the last cycle count.
            None is a bag: h_i is e_i and s the mean weighted by `weights`.
        relay: whether q reads s. Without it the factors of a bag depend on the word alone.
        sparsity: called with ``heads=1``; its alpha is that of the factors.
        output_dim: D of a trained linear map of the dense vector, which starts as the identity for
            D = E and keeps cosines for D > E; None for none.
        lead: the position that counts half as much as the first one in the dense vector of a bag
            (`lead_weights`); None weighs all positions alike.

    Raises:
        ValueError: the context is not a `StarEncoder`, or both `lead` and a context are given.

    Example:
        >>> import torch
        >>> from siamese_news.encoders import TwoHeadEncoder
        >>> encoder = TwoHeadEncoder(input_dim=40)
        >>> mask = torch.arange(3) < torch.tensor([[3], [2]])
        >>> vectors, factors = encoder.heads(torch.randn(2, 3, 40), mask)
        >>> factors  # at the start 1 for each token, 0 at padding
        tensor([[1., 1., 1.],
                [1., 1., 0.]], grad_fn=<MulBackward0>)
    """

    uses_weights = True
    has_factors = True

    def __init__(
        self,
        *,
        input_dim: int,
        context: Callable[..., StarEncoder] | None = None,
        relay: bool = True,
        sparsity: Callable[..., Sparsity] = AdaptiveEntmax,
        output_dim: int | None = None,
        lead: float | None = None,
    ) -> None:
        super().__init__(input_dim=input_dim, output_dim=output_dim or input_dim)
        self.context = None if context is None else context(input_dim=input_dim)
        if not isinstance(self.context, StarEncoder | None):
            raise ValueError(
                f"TwoHeadEncoder got a {type(self.context).__name__} as its context; expected a "
                "StarEncoder, or None"
            )
        self.is_bag = self.context is None
        if lead is not None and not (self.is_bag and lead > 0):
            raise ValueError(
                f"TwoHeadEncoder got lead={lead}; expected a position above 0 and no context, "
                "or None"
            )
        self.lead = lead
        self.sparsity = sparsity(heads=1)
        self.query = nn.Parameter(torch.zeros(input_dim))
        self.relay_query = (
            nn.Linear(input_dim, input_dim, bias=False) if relay else None
        )
        if self.relay_query is not None:
            nn.init.zeros_(self.relay_query.weight)
        self.output: nn.Linear | None = None
        if output_dim is not None:
            self.output = nn.Linear(input_dim, output_dim, bias=False)
            if output_dim == input_dim:
                nn.init.eye_(self.output.weight)
            else:
                nn.init.orthogonal_(self.output.weight)

    @override
    def forward(
        self, embeddings: Tensor, mask: Tensor, weights: Tensor | None = None
    ) -> Tensor:
        if self.context is None:
            pooled = weighted_mean(embeddings, mask, weights, self.lead)
        else:
            pooled = self.context(embeddings, mask, weights)
        return self._mapped(pooled, mask)

    @override
    def heads(
        self, embeddings: Tensor, mask: Tensor, weights: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        embeddings, mask, weights, order = padded_right(embeddings, mask, weights)
        if self.context is None:
            nodes = embeddings
            pooled = relay = weighted_mean(embeddings, mask, weights, self.lead)
        else:
            nodes, relay = self.context.states(embeddings, mask, weights)
            pooled = self.context.pool(nodes, relay, mask, weights)
        query = self.query.expand(len(mask), -1)
        if self.relay_query is not None:
            query = query + self.relay_query(relay)
        # States at padding are undefined and get no gradient.
        nodes = nodes.masked_fill(~mask[:, :, None], 0.0)
        scores = (nodes @ query[:, :, None]).squeeze(2) / math.sqrt(self.input_dim)
        factors = self.sparsity(scores[:, None], normalized=False)[:, 0] * mask
        if order is not None:
            factors = torch.zeros_like(factors).scatter(1, order, factors)
        return self._mapped(pooled, mask), factors

    @property
    def by_word(self) -> bool:
        """Whether a factor depends on the word alone."""
        return self.is_bag and self.relay_query is None

    def _mapped(self, pooled: Tensor, mask: Tensor) -> Tensor:
        # Two texts without a token are not similar to each other.
        pooled = pooled * mask.any(1, keepdim=True)
        return pooled if self.output is None else self.output(pooled)
