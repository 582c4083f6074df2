"""Maps from scores to weights: softmax, sparsemax, 1.5-entmax and the adaptive alpha-entmax.

Correia, Niculae and Martins (2019) learn one alpha per head (`siamese_news.sparsity.entmax`), on
which the AST paper builds.
"""

import math
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from typing_extensions import override

from siamese_news.sparsity.entmax import Backend, entmax
from siamese_news.sparsity.plain_calls import is_traced

Init = Literal["normal", "uniform"]

MIN_ALPHA = 1.01  # below, p = x ** (1 / (alpha - 1)) loses its digits
MAX_ALPHA = 2.0


class Sparsity(nn.Module):
    """A map from scores to weights. The head axis of the scores is dimension 1.

    Args:
        heads: H, the number of heads.

    Raises:
        ValueError: `heads` is below 1.

    Example:
        >>> import torch
        >>> from siamese_news.sparsity import SPARSITIES
        >>> scores = torch.tensor([[[1.0, 0.8, -1.0]]])  # (B, H, keys)
        >>> for name in ("Softmax", "Entmax15", "Sparsemax"):
        ...     print(name, SPARSITIES[name](heads=1)(scores).count_nonzero().item())
        Softmax 3
        Entmax15 2
        Sparsemax 2
    """

    def __init__(self, *, heads: int) -> None:
        super().__init__()
        if heads < 1:
            raise ValueError(
                f"{type(self).__name__} got heads={heads}; expected at least 1"
            )
        self.heads = heads

    def forward(
        self,
        scores: Tensor,
        mask: Tensor | None = None,
        dim: int = -1,
        *,
        normalized: bool = True,
    ) -> Tensor:
        """Weights that sum to 1 over the real keys; zeros for a row without one.

        Args:
            scores: z, (B, H, ...).
            mask: bool, broadcasts against `scores`; False is never a key.
            dim: the dimension of the keys.
            normalized: False leaves out the constraint that they sum to 1, and ignores `mask` and
                `dim`: ``[1 + (alpha-1) z]_+ ^ 1/(alpha-1)``, the map with its threshold fixed at
                tau = -1. It is 1 at z = 0, exp(z) for alpha -> 1, and exactly zero for
                z <= -1 / (alpha-1). (Another method would pass by the hooks of the module.)
        """
        raise NotImplementedError

    def alphas(self) -> Tensor:
        """The alpha of each head, (H,), detached: 1 is softmax, 2 is sparsemax."""
        raise NotImplementedError


class Softmax(Sparsity):
    """alpha = 1: every key keeps some weight.

    Example:
        >>> import torch
        >>> from siamese_news.sparsity import Softmax
        >>> mask = torch.tensor([True, True, False])
        >>> Softmax(heads=1)(torch.zeros(1, 1, 3), mask)
        tensor([[[0.5000, 0.5000, 0.0000]]])
    """

    @override
    def forward(
        self,
        scores: Tensor,
        mask: Tensor | None = None,
        dim: int = -1,
        *,
        normalized: bool = True,
    ) -> Tensor:
        if not normalized:
            return scores.exp()
        wide = scores if scores.dtype == torch.float64 else scores.float()
        if mask is not None:
            wide = torch.where(mask, wide, -math.inf)
        if not is_traced() and wide.numel() == 0:
            return scores * 0
        # A row without a key would be 0 / 0.
        empty = torch.isneginf(wide.amax(dim, keepdim=True))
        weights = wide.masked_fill(empty, 0.0).softmax(dim).masked_fill(empty, 0.0)
        return weights.to(scores.dtype)

    @override
    def alphas(self) -> Tensor:
        return torch.ones(self.heads)


class _Entmax(Sparsity):
    """alpha-entmax with the number `alpha`, or one for each head."""

    alpha: Any

    def __init__(self, *, heads: int, backend: Backend = "newton") -> None:
        super().__init__(heads=heads)
        if backend not in get_args(Backend):
            raise ValueError(
                f"sparsity got backend={backend!r}; expected one of {', '.join(get_args(Backend))}"
            )
        self.backend = backend

    @override
    def forward(
        self,
        scores: Tensor,
        mask: Tensor | None = None,
        dim: int = -1,
        *,
        normalized: bool = True,
    ) -> Tensor:
        if not normalized:
            rate = self._alpha_for(scores) - 1
            return torch.relu(1 + rate * scores) ** (1 / rate)
        return entmax(scores, self._alpha_for(scores), mask, dim, self.backend)

    def _alpha_for(self, scores: Tensor) -> Any:
        return self.alpha

    @override
    def alphas(self) -> Tensor:
        return torch.full((self.heads,), self.alpha)


class Sparsemax(_Entmax):
    """alpha = 2 (Martins and Astudillo 2016): the Euclidean projection on the simplex.

    The AST paper's released code computes it, too, whatever alpha it has learned: its clamp maps
    every alpha in [1, 2] to 2.

    Example:
        >>> import torch
        >>> from siamese_news.sparsity import Sparsemax
        >>> Sparsemax(heads=1)(torch.tensor([[[1.0, 0.5, -1.0]]]))
        tensor([[[0.7500, 0.2500, 0.0000]]])
    """

    alpha = 2.0


class Entmax15(_Entmax):
    """alpha = 1.5 (Peters et al. 2019).

    Example:
        >>> import torch
        >>> from siamese_news.sparsity import Entmax15
        >>> weights = Entmax15(heads=1)(torch.tensor([[[1.0, 0.5, -2.0]]]))
        >>> weights.sum().item(), weights[0, 0, 2].item()
        (1.0, 0.0)
    """

    alpha = 1.5


class AdaptiveEntmax(_Entmax):
    """One learned alpha per head: 1 + sigmoid(pre_alpha), kept in [1.01, 2].

    The gradient is that of 1 + sigmoid(pre_alpha) on the bounds as well, where a clamp's would be
    zero and the head would never come back.

    Args:
        heads: H.
        init: ``"normal"`` draws pre_alpha from N(0, 1) (Correia et al. 2019), ``"uniform"`` draws
            alpha from U(1, 2) (the AST paper's released code).
        backend: see `entmax`.

    Raises:
        ValueError: `heads` is below 1, `init` has another value, or the backend is unknown or not
            installed.

    Example:
        >>> import torch
        >>> from siamese_news.sparsity import AdaptiveEntmax
        >>> sparsity = AdaptiveEntmax(heads=2)
        >>> weights = sparsity(torch.randn(3, 2, 5))  # (B, H, keys)
        >>> weights.sum().backward()
        >>> sparsity.pre_alpha.grad.shape
        torch.Size([2])
    """

    def __init__(
        self, *, heads: int, init: Init = "normal", backend: Backend = "newton"
    ) -> None:
        super().__init__(heads=heads, backend=backend)
        if init == "normal":
            pre_alpha = torch.randn(heads)
        elif init == "uniform":
            pre_alpha = torch.rand(heads).clamp_(MIN_ALPHA - 1, 0.999).logit_()
        else:
            raise ValueError(
                f"AdaptiveEntmax got init={init!r}; expected 'normal' or 'uniform'"
            )
        self.pre_alpha = nn.Parameter(pre_alpha)

    @property
    def alpha(self) -> Tensor:
        """The alpha of each head, (H,), with its gradient."""
        alpha = 1 + self.pre_alpha.sigmoid()
        return alpha + (alpha.clamp(MIN_ALPHA, MAX_ALPHA) - alpha).detach()

    def _alpha_for(self, scores: Tensor) -> Tensor:
        return self.alpha.view(1, self.heads, *[1] * (scores.dim() - 2))

    @override
    def alphas(self) -> Tensor:
        return self.alpha.detach()


SPARSITIES: dict[str, type[Sparsity]] = {
    cls.__name__: cls for cls in (Softmax, Sparsemax, Entmax15, AdaptiveEntmax)
}
"""The maps by the names that a model folder may contain; a test checks that conf/ has the same."""
