"""The base class of ring, star and dense attention: projections, similarity and sparsity.

No key or value has a bias. With dot products, a key's bias adds the same number to every score of a
query, which the sparsity ignores; with cosines it would change the scores. With an output
projection, a value's bias only shifts the projection's bias; without one it would add one vector to
every state. Eq. 2 of the AST paper has no bias; its released code has them all.
"""

import math
from collections.abc import Callable
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from siamese_news.sparsity.maps import Sparsity
from siamese_news.sparsity.plain_calls import is_plain, is_plain_tensor, is_traced
from siamese_news.utils.choices import check_choice

Similarity = Literal["dot", "cosine"]
"""The similarity of query and key, f in Eq. 2 of the AST paper."""


class Attention(nn.Module):
    """Projections, similarity and sparsity that ring, star and dense attention share.

    Args:
        dim: E.
        heads: H; H * head_dim need not be E.
        sparsity: called with ``heads=H``.
        similarity: ``"dot"``, or ``"cosine"`` (the AST paper's example of f in Eq. 2).
        scale: factor of the similarity; None is 1 / sqrt(head_dim) for "dot", 1 for "cosine".
        bias: whether queries and outputs have one.
        output_projection: whether the concatenated heads go through a linear map, as in the
            released code; Eq. 3 of the AST paper only concatenates them, so that H * head_dim = E.

    Attributes:
        record: when set, `recorded` keeps the weights of the last call, (B, H, queries, K).

    Raises:
        ValueError: an option is not among its choices, a size or scale is not above 0, or the heads
            do not make up a state although no output projection follows.

    Example:
        >>> from siamese_news.attention import RingAttention
        >>> from siamese_news.sparsity import Softmax
        >>> ring = RingAttention(radius=2, dim=60, heads=10, head_dim=6, sparsity=Softmax)
        >>> round(ring.scale, 4)  # 1 / sqrt(head_dim)
        0.4082
    """

    def __init__(
        self,
        *,
        dim: int,
        heads: int,
        head_dim: int,
        sparsity: Callable[..., Sparsity],
        similarity: Similarity = "dot",
        scale: float | None = None,
        bias: bool = True,
        output_projection: bool = True,
    ) -> None:
        super().__init__()
        check_choice("similarity", similarity, Similarity)
        if min(dim, heads, head_dim) < 1:
            raise ValueError(
                f"attention got {dim=}, {heads=}, {head_dim=}; expected at least 1"
            )
        if scale is not None and scale <= 0:
            raise ValueError(f"attention got {scale=}; expected more than 0, or None")
        if not output_projection and heads * head_dim != dim:
            raise ValueError(
                f"attention got output_projection=False with heads * head_dim = {heads * head_dim} "
                f"for states of {dim}; expected the same, or output_projection=True"
            )
        self.heads = heads
        self.head_dim = head_dim
        self.similarity = similarity
        self.scale = scale or (
            1.0 if similarity == "cosine" else 1 / math.sqrt(head_dim)
        )
        self.query = nn.Linear(dim, heads * head_dim, bias=bias)
        self.key = nn.Linear(dim, heads * head_dim, bias=False)
        self.value = nn.Linear(dim, heads * head_dim, bias=False)
        self.output = (
            nn.Linear(heads * head_dim, dim, bias=bias) if output_projection else None
        )
        self.sparsity = sparsity(heads=heads)
        self.record = False
        self.recorded: Tensor | None = None

    def _split(self, states: Tensor) -> Tensor:
        """(..., H * head_dim) -> (..., H, head_dim)."""
        return states.unflatten(-1, (self.heads, self.head_dim))

    def _joined(self, heads: Tensor) -> Tensor:
        """(..., H * head_dim) -> (..., E): the heads side by side, projected if there is a map."""
        return heads if self.output is None else self.output(heads)

    def _unit(self, states: Tensor, dim: int = -1) -> Tensor:
        """Unit length where the similarity is the cosine; zeros stay zeros."""
        if self.similarity != "cosine":
            return states
        # Half precision does not hold the smallest length that `normalize` divides by.
        wide = states if states.dtype == torch.float64 else states.float()
        return F.normalize(wide, dim=dim).to(states.dtype)

    def _may_fuse(self, states: Tensor) -> bool:
        """Whether the weights of the linear maps may be used without calling these."""
        linears = [self.query, self.key, self.value]
        if self.output is not None:
            linears.append(self.output)
        return (
            is_plain_tensor(states)
            and not is_traced()
            and all(is_plain(linear, nn.Linear) for linear in linears)
        )

    def _weigh(self, scores: Tensor, mask: Tensor | None, dim: int) -> Tensor:
        # Scores and weights are float32 under autocast.
        wide = scores if scores.dtype == torch.float64 else scores.float()
        weights: Tensor = self.sparsity(wide, mask, dim)
        if self.record:
            self.recorded = weights
        return weights
