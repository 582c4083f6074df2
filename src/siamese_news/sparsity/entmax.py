"""alpha-entmax: a Newton solver with an analytic gradient for the scores and for alpha.

alpha-entmax (Peters, Niculae and Martins 2019) is ``p_i = [(alpha-1) z_i - tau]_+ ^ 1/(alpha-1)``
with tau such that p sums to 1: alpha -> 1 is softmax, alpha = 2 is sparsemax, and for every alpha
above 1 weights of exactly zero occur.
"""

import math
from typing import Any, Literal

import torch
from entmax import entmax_bisect
from torch import Tensor
from torch.autograd.function import once_differentiable

from siamese_news.sparsity.plain_calls import is_traced

_NO_KEY = -1e30
# The hardest inputs tried need 10 Newton steps in float32 and 11 in float64.
MAX_STEPS = 20

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
        scores: any shape; half precision is computed in float32 and returned in half precision.
        alpha: in [1.01, 2]; a tensor broadcasts against `scores` and has size 1 along `dim`.
        mask: bool, broadcasts against `scores`; False is never a key.
        dim: the dimension of the keys.
        backend: ``"newton"``, or ``"entmax"`` for the package's 50 bisections (the reference).

    Returns:
        Weights that sum to 1 along `dim`, shaped as `scores`; zeros for a row without a key.

    Raises:
        ValueError: alpha does not have size 1 along `dim`.

    Example:
        >>> import torch
        >>> from siamese_news.sparsity.entmax import entmax
        >>> entmax(torch.tensor([1.0, 0.5, -1.0]), 2.0)
        tensor([0.7500, 0.2500, 0.0000])
    """
    dim = dim % scores.dim()
    if isinstance(alpha, Tensor) and (
        alpha.dim() != scores.dim() or alpha.shape[dim] != 1
    ):
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
    if is_traced() and not torch.compiler.is_dynamo_compiling() and backend == "newton":
        return _expressed(wide, alpha, dim).to(scores.dtype)
    if not torch.compiler.is_compiling() and wide.numel() == 0:
        return scores * 0
    if backend == "entmax":
        weights = _entmax_package(wide, alpha, dim)
    else:
        weights = _Entmax.apply(wide, alpha, dim)
    return weights.to(scores.dtype)


def _entmax_package(scores: Tensor, alpha: Tensor | float, dim: int) -> Tensor:
    # entmax_bisect returns NaN for a row without a key.
    empty = torch.isneginf(scores).all(dim, keepdim=True)
    weights = entmax_bisect(scores.masked_fill(empty, 0.0), alpha, dim=dim)
    return weights.masked_fill(empty, 0.0)


def _expressed(scores: Tensor, alpha: Tensor | float, dim: int) -> Tensor:
    """The map in plain operations alone, which can be recorded and transformed."""
    # Not -inf, which would become 0 * inf in the gradient of alpha.
    finite = scores.clamp(min=_NO_KEY)
    weights = _solve_fused(finite, alpha, dim)
    is_key = scores > _NO_KEY / 2
    return torch.where(is_key, weights, 0.0)


def _solve(scores: Tensor, alpha: Tensor | float, dim: int) -> Tensor:
    """Newton's method on the norm ``||x||_m = 1``, m = 1 / (alpha - 1).

    The norm is convex and falling in the threshold, so the steps from the left never overshoot;
    unlike ``sum x^m = 1`` it is solved in one step for equal scores and in few for all others.
    """
    if torch.compiler.is_compiling():
        return _solve_fused(scores, alpha, dim)
    beta = alpha - 1
    top = scores.amax(dim, keepdim=True)
    top = top.masked_fill_(torch.isneginf(top), 0.0)
    gap = (scores - top).mul_(beta).add_(1.0)  # x for the threshold 0, its left bound
    # Convergence is quadratic: the error left behind is 1e-7 and 1e-13.
    tolerance = 1e-5 if scores.dtype == torch.float32 else 1e-9
    x = torch.empty_like(gap)
    powers = torch.empty_like(gap)
    for _ in range(MAX_STEPS):
        # Both sums are at least 1 up to the root; the clamp also settles rows without a key.
        mass = _power(gap, 1 / beta, x, powers).sum(dim, keepdim=True).clamp_(min=1)
        # x^(m-1); a closed key is 1e-30 / 1e-17 even where m is 1.
        slope = powers.div_(x.clamp_(min=1e-17)).sum(dim, keepdim=True).clamp_(min=1)
        change = mass.log().mul_(-beta).expm1_().mul_(mass).div_(slope)
        # Into x itself, not a threshold near 1: among many keys x is small and needs its digits.
        gap.add_(change)
        if change.min() >= -tolerance:
            break
    # The last change is so small that x^m need not be computed again: x^(m-1) (x + m change).
    weights = (
        powers.mul_(x.add_(change / beta)).mul_(gap.clamp_(0, 1).ceil_()).clamp_(min=0)
    )
    return weights.div_(weights.sum(dim, keepdim=True).clamp_(min=1e-30))


def _power(base: Tensor, exponent: Tensor | float, x: Tensor, out: Tensor) -> Tensor:
    """``x ** exponent`` into `out`, with `base` clamped from below into `x`; base <= 1."""
    # exp2(e * log2(x)) costs half of pow, and the clamp avoids the slow path of log2(0).
    torch.clamp(base, min=1e-30, out=x)
    if isinstance(exponent, float):
        return torch.pow(x, exponent, out=out)
    return torch.log2(x, out=out).mul_(exponent).exp2_()


def _solve_fused(scores: Tensor, alpha: Tensor | float, dim: int) -> Tensor:
    """The same steps for a compiler: a fixed number of them, few keys as separate numbers."""
    # An exported graph should be small, and hold for any number of keys.
    is_unrolled = (
        torch.compiler.is_dynamo_compiling() and not torch.compiler.is_exporting()
    )
    is_unrolled = is_unrolled and scores.shape[dim] <= 16
    beta = alpha - 1
    keys = scores.unbind(dim) if is_unrolled else (scores,)
    if isinstance(beta, Tensor) and is_unrolled:
        beta = beta.squeeze(dim)

    def total(parts: list[Tensor]) -> Tensor:
        return (
            sum(parts[1:], parts[0]) if is_unrolled else parts[0].sum(dim, keepdim=True)
        )

    top = scores.amax(dim, keepdim=not is_unrolled)
    top = torch.where(torch.isneginf(top), 0.0, top)
    gaps = [1 + beta * (key - top) for key in keys]
    steps = 5 if len(keys) <= 8 else 6  # this many steps leave an error of 1e-6 at most
    steps = (steps if is_unrolled else 9) + (0 if scores.dtype == torch.float32 else 4)
    exponent = 1 / beta  # a compiler would not move the division out of the loop
    for _ in range(steps):
        xs = [gap.clamp(min=1e-30) for gap in gaps]
        slopes = [
            torch.where(gap > 0, torch.exp2(torch.log2(x) * (exponent - 1)), 0.0)
            for gap, x in zip(gaps, xs, strict=True)
        ]
        mass = total([slope * x for slope, x in zip(slopes, xs, strict=True)]).clamp(
            min=1
        )
        change = torch.expm1(-beta * mass.log()) * mass / total(slopes).clamp(min=1)
        gaps = [gap + change for gap in gaps]
    change = change * exponent
    powers = [
        torch.where(gap > 0, slope * (x + change), 0.0).clamp(min=0)
        for gap, slope, x in zip(gaps, slopes, xs, strict=True)
    ]
    mass = total(powers).clamp(min=1e-30)
    return (
        torch.stack([p / mass for p in powers], dim)
        if is_unrolled
        else powers[0] / mass
    )


class _Entmax(torch.autograd.Function):
    """alpha-entmax with the analytic gradient of Correia et al. (2019), Proposition 1."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, alpha: Tensor | float, dim: int) -> Tensor:
        weights = _solve(scores, alpha, dim)
        ctx.dim = dim
        ctx.alpha = None if isinstance(alpha, Tensor) else alpha
        ctx.save_for_backward(weights, *[alpha] * isinstance(alpha, Tensor))
        return weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        (grad,) = grads
        weights, *saved_alpha = ctx.saved_tensors
        (alpha,) = saved_alpha or (ctx.alpha,)
        # 1 where there is a weight; reused, as memory costs time.
        buffer = weights.ceil()
        if saved_alpha:
            logs = weights.clamp(min=1e-30).log2_()
            slope = (logs * (2 - alpha)).exp2_().mul_(buffer)
        else:
            slope = torch.pow(weights.clamp(min=1e-30), 2 - alpha).mul_(buffer)
        total = slope.sum(ctx.dim, keepdim=True).clamp_(min=1e-30)
        mean = torch.mul(slope, grad, out=buffer).sum(ctx.dim, keepdim=True).div_(total)
        centered = torch.sub(grad, mean, out=buffer)
        grad_alpha = None
        if saved_alpha and ctx.needs_input_grad[1]:
            beta = alpha - 1
            terms = logs.mul_(-math.log(2) * beta).add_(1).mul_(weights).mul_(centered)
            grad_alpha = (terms.sum(ctx.dim, keepdim=True) / beta**2).sum_to_size(
                beta.shape
            )
        return centered.mul_(slope), grad_alpha, None
