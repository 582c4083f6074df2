"""Maps from scores to weights: softmax, sparsemax, 1.5-entmax and the adaptive alpha-entmax.

alpha-entmax (Peters, Niculae and Martins 2019) is ``p_i = [(alpha-1) z_i - tau]_+ ^ 1/(alpha-1)``
with tau such that p sums to 1: alpha -> 1 is softmax, alpha = 2 is sparsemax, and for every alpha
above 1 weights of exactly zero occur. Correia, Niculae and Martins (2019) learn one alpha per head;
the AST paper builds on that.
"""

import math
from typing import Any, Literal

import torch
from entmax import entmax_bisect
from torch import Tensor, nn

MIN_ALPHA = 1.01  # below, p = x ** (1 / (alpha - 1)) loses its digits
MAX_ALPHA = 2.0
MAX_STEPS = 20  # the hardest inputs tried need 9 Newton steps in float32 and 12 in float64

Backend = Literal["newton", "entmax"]


def entmax(
    scores: Tensor,
    alpha: Tensor | float,
    mask: Tensor | None = None,
    dim: int = -1,
    backend: Backend = "newton",
) -> Tensor:
    """alpha-entmax along one dimension, with gradients for the scores and for alpha.

    Args:
        scores: any shape; half precision is computed in float32 and returned as it came.
        alpha: in [1.01, 2]; a tensor broadcasts against `scores` and has size 1 along `dim`.
        mask: bool, broadcasts against `scores`; False is never a key.
        dim: the dimension of the keys.
        backend: ``"newton"``, or ``"entmax"`` for the package's 50 bisections (the reference).

    Returns:
        Weights that sum to 1 along `dim`, shaped as `scores`; zeros for a row without a key.

    Raises:
        ValueError: alpha does not have size 1 along `dim`.
    """
    dim = dim % scores.dim()
    if isinstance(alpha, Tensor) and (alpha.dim() != scores.dim() or alpha.shape[dim] != 1):
        raise ValueError(
            f"entmax got alpha of shape {tuple(alpha.shape)} for scores of shape "
            f"{tuple(scores.shape)}; expected as many dimensions and size 1 along dim {dim}: "
            "reshape alpha"
        )
    wide = scores if scores.dtype == torch.float64 else scores.float()
    if isinstance(alpha, Tensor):
        alpha = alpha.to(wide.dtype)
    if mask is not None:
        wide = torch.where(mask, wide, -math.inf)
    if wide.numel() == 0:
        return scores * 0
    if backend == "entmax":
        weights = _entmax_package(wide, alpha, dim)
    else:
        weights = _Entmax.apply(wide, alpha, dim)
    return weights.to(scores.dtype)


def _entmax_package(scores: Tensor, alpha: Tensor | float, dim: int) -> Tensor:
    # entmax_bisect gives NaN for a row without a key.
    empty = torch.isneginf(scores).all(dim, keepdim=True)
    weights = entmax_bisect(scores.masked_fill(empty, 0.0), alpha, dim=dim)
    return weights.masked_fill(empty, 0.0)


def _solve(scores: Tensor, alpha: Tensor | float, dim: int) -> Tensor:
    """Newton's method on the norm ``||x||_m = 1``, m = 1 / (alpha - 1).

    The norm is convex and falling in the threshold, so the steps from the left never overshoot;
    unlike ``sum x^m = 1`` it is solved in one step for equal scores and in few for all others.
    """
    beta = alpha - 1
    top = scores.amax(dim, keepdim=True)
    top = top.masked_fill_(torch.isneginf(top), 0.0)
    gap = (scores - top).mul_(beta).add_(1.0)
    # Convergence is quadratic: the error left behind is 1e-7 and 1e-13.
    tolerance = 1e-5 if scores.dtype == torch.float32 else 1e-9
    threshold = torch.zeros_like(top)
    x, powers = torch.empty_like(gap), torch.empty_like(gap)
    for step in range(_steps(scores, dim)):
        torch.sub(gap, threshold, out=x)
        # Both sums are at least 1 up to the root; the clamp also settles rows without a key.
        mass = _power(x, 1 / beta, powers).sum(dim, keepdim=True).clamp_(min=1)
        # x^(m-1); a closed key is 1e-30 / 1e-17 even where m is 1.
        slope = powers.div_(x.clamp_(min=1e-17)).sum(dim, keepdim=True).clamp_(min=1)
        change = mass.log().mul_(-beta).expm1_().mul_(mass).div_(slope)
        threshold -= change
        if step > 2 and not torch.compiler.is_compiling() and change.min() >= -tolerance:
            break
    torch.sub(gap, threshold, out=x)
    support = x.clamp(0, 1).ceil_()
    weights = _power(x, 1 / beta, powers).mul_(support)
    return weights.div_(weights.sum(dim, keepdim=True).clamp_(min=1e-30))


def _power(base: Tensor, exponent: Tensor | float, out: Tensor) -> Tensor:
    """``base ** exponent`` for base <= 1, into `out`; clamps `base` from below in place."""
    # exp2(e * log2(x)) costs half of pow, and the clamp avoids the slow path of log2(0).
    base.clamp_(min=1e-30)
    if isinstance(exponent, float):
        return torch.pow(base, exponent, out=out)
    return torch.log2(base, out=out).mul_(exponent).exp2_()


def _steps(scores: Tensor, dim: int) -> int:
    """How many Newton steps: a fixed count when compiled, else a bound that is hardly reached."""
    if not torch.compiler.is_compiling():
        return MAX_STEPS
    few = 5 if scores.shape[dim] <= 16 else 9
    return few if scores.dtype == torch.float32 else few + 4


class _Entmax(torch.autograd.Function):
    """alpha-entmax with the analytic gradient of Correia et al. (2019), Proposition 1."""

    @staticmethod
    def forward(scores: Tensor, alpha: Tensor | float, dim: int) -> Tensor:
        return _solve(scores, alpha, dim)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, ctx.alpha, ctx.dim = inputs
        if isinstance(ctx.alpha, Tensor):
            ctx.save_for_backward(output, ctx.alpha)
            ctx.alpha = None
        else:
            ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        (grad,) = grads
        weights, *rest = ctx.saved_tensors
        alpha = rest[0] if rest else ctx.alpha
        slope = _power(weights.clone(), 2 - alpha, torch.empty_like(weights)).mul_(weights.ceil())
        total = slope.sum(ctx.dim, keepdim=True).clamp_(min=1e-30)
        centred = grad - (slope * grad).sum(ctx.dim, keepdim=True).div_(total)
        grad_alpha = None
        if rest and ctx.needs_input_grad[1]:
            beta = alpha - 1
            logs = weights.clamp(min=1e-30).log_()
            terms = logs.mul_(-beta).add_(1).mul_(weights).mul_(centred)
            grad_alpha = (terms.sum(ctx.dim, keepdim=True) / beta**2).sum_to_size(alpha.shape)
        return centred.mul_(slope), grad_alpha, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[Any, ...], scores: Tensor, alpha: Tensor | float, dim: int
    ) -> tuple[Tensor, int]:
        scores = _batch_first(scores, in_dims[0], info.batch_size)
        if isinstance(alpha, Tensor):
            alpha = _batch_first(alpha, in_dims[1], 1)
        return _Entmax.apply(scores, alpha, dim + 1), 0


def _batch_first(tensor: Tensor, batch_dim: int | None, size: int) -> Tensor:
    if batch_dim is None:
        return tensor.unsqueeze(0).expand(size, *tensor.shape)
    return tensor.movedim(batch_dim, 0)


class Sparsity(nn.Module):
    """Scores in, weights out. The head axis of the scores is dimension 1.

    Args:
        heads: H, the number of heads.
    """

    def __init__(self, *, heads: int) -> None:
        super().__init__()
        if heads < 1:
            raise ValueError(f"{type(self).__name__} got heads={heads}; expected at least 1")
        self.heads = heads

    def forward(self, scores: Tensor, mask: Tensor | None = None, dim: int = -1) -> Tensor:
        """Weights that sum to 1 over the real keys; zeros for a row without one.

        Args:
            scores: (B, H, ...).
            mask: bool, broadcasts against `scores`; False is never a key.
            dim: the dimension of the keys.
        """
        raise NotImplementedError

    def alphas(self) -> Tensor:
        """The alpha of each head, (H,), detached: 1 is softmax, 2 is sparsemax."""
        raise NotImplementedError


class Softmax(Sparsity):
    """alpha = 1: every key keeps some weight."""

    def forward(self, scores: Tensor, mask: Tensor | None = None, dim: int = -1) -> Tensor:
        """See `Sparsity`."""
        wide = scores if scores.dtype == torch.float64 else scores.float()
        if mask is not None:
            wide = torch.where(mask, wide, -math.inf)
        if wide.numel() == 0:
            return scores * 0
        # A row without a key would be 0 / 0.
        empty = torch.isneginf(wide.amax(dim, keepdim=True))
        weights = wide.masked_fill(empty, 0.0).softmax(dim).masked_fill(empty, 0.0)
        return weights.to(scores.dtype)

    def alphas(self) -> Tensor:
        """See `Sparsity`."""
        return torch.ones(self.heads)


class _FixedEntmax(Sparsity):
    alpha: float

    def __init__(self, *, heads: int, backend: Backend = "newton") -> None:
        super().__init__(heads=heads)
        self.backend = _checked(backend)

    def forward(self, scores: Tensor, mask: Tensor | None = None, dim: int = -1) -> Tensor:
        """See `Sparsity`."""
        return entmax(scores, self.alpha, mask, dim, self.backend)

    def alphas(self) -> Tensor:
        """See `Sparsity`."""
        return torch.full((self.heads,), self.alpha)


class Sparsemax(_FixedEntmax):
    """alpha = 2 (Martins and Astudillo 2016): the Euclidean projection on the simplex.

    Also what the AST paper's released code computes whatever alpha it has learned: its clamp maps
    every alpha in [1, 2] to 2.
    """

    alpha = 2.0


class Entmax15(_FixedEntmax):
    """alpha = 1.5 (Peters et al. 2019)."""

    alpha = 1.5


class AdaptiveEntmax(Sparsity):
    """One learned alpha per head: 1 + sigmoid(pre_alpha), kept in [1.01, 2].

    Args:
        heads: H.
        init: ``"normal"`` draws pre_alpha from N(0, 1) (Correia et al. 2019), ``"uniform"`` draws
            alpha from U(1, 2) (the AST paper's released code).
        backend: see `entmax`.
    """

    def __init__(
        self,
        *,
        heads: int,
        init: Literal["normal", "uniform"] = "normal",
        backend: Backend = "newton",
    ) -> None:
        super().__init__(heads=heads)
        self.backend = _checked(backend)
        if init == "normal":
            pre_alpha = torch.randn(heads)
        elif init == "uniform":
            pre_alpha = torch.rand(heads).clamp_(MIN_ALPHA - 1, 0.999).logit_()
        else:
            raise ValueError(f"AdaptiveEntmax got init={init!r}; expected 'normal' or 'uniform'")
        self.pre_alpha = nn.Parameter(pre_alpha)

    @property
    def alpha(self) -> Tensor:
        """The alpha of each head, (H,), with its gradient."""
        return (1 + self.pre_alpha.sigmoid()).clamp(MIN_ALPHA, MAX_ALPHA)

    def forward(self, scores: Tensor, mask: Tensor | None = None, dim: int = -1) -> Tensor:
        """See `Sparsity`."""
        alpha = self.alpha.view(1, self.heads, *[1] * (scores.dim() - 2))
        return entmax(scores, alpha, mask, dim, self.backend)

    def alphas(self) -> Tensor:
        """See `Sparsity`."""
        return self.alpha.detach()


def _checked(backend: str) -> Any:
    if backend not in ("newton", "entmax"):
        raise ValueError(f"sparsity got backend={backend!r}; expected 'newton' or 'entmax'")
    return backend


SPARSITIES: dict[str, type[Sparsity]] = {
    cls.__name__: cls for cls in (Softmax, Sparsemax, Entmax15, AdaptiveEntmax)
}
