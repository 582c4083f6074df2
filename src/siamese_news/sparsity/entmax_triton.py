"""alpha-entmax as Triton kernels: the solver of `sparsity.entmax`, in one pass over the memory.

Imported only if Triton is installed; `sparsity.entmax.entmax` calls it for ``backend="triton"``.
Each program holds some rows with all their keys, so that the scores are read once and the weights
written once.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

STEPS = 12  # more than the hardest inputs tried need in float32
MAX_KEYS = 16384  # of one row, held by one program


@triton.jit
def _forward(  # type: ignore[no-untyped-def]
    scores,
    alphas,
    weights,
    rows,
    keys,
    STEPS: tl.constexpr,
    R: tl.constexpr,
    K: tl.constexpr,
):
    row = tl.program_id(0) * R + tl.arange(0, R)
    key = tl.arange(0, K)
    place = row[:, None].to(tl.int64) * keys + key[None, :]
    inside = (row < rows)[:, None] & (key < keys)[None, :]
    beta = tl.load(alphas + row, mask=row < rows, other=2.0) - 1
    z = tl.load(scores + place, mask=inside, other=float("-inf"))
    top = tl.max(z, 1)
    top = tl.where(top == float("-inf"), 0.0, top)
    gap = 1 + beta[:, None] * (z - top[:, None])
    for _ in range(STEPS):
        x = tl.maximum(gap, 1e-30)
        power = tl.exp2(tl.log2(x) / beta[:, None])
        mass = tl.maximum(tl.sum(power, 1), 1.0)
        slope = tl.maximum(tl.sum(power / tl.maximum(x, 1e-17), 1), 1.0)
        # mass is near 1 at the root, where 1 - mass^-beta needs no expm1 at this precision.
        gap -= (mass * (1 - tl.exp2(-beta * tl.log2(mass))) / slope)[:, None]
    power = tl.exp2(tl.log2(tl.maximum(gap, 1e-30)) / beta[:, None])
    power = tl.where(gap > 0, power, 0.0)
    total = tl.maximum(tl.sum(power, 1), 1e-30)
    tl.store(weights + place, power / total[:, None], mask=inside)


@triton.jit
def _backward(  # type: ignore[no-untyped-def]
    weights,
    grads,
    alphas,
    grad_scores,
    grad_alphas,
    rows,
    keys,
    R: tl.constexpr,
    K: tl.constexpr,
):
    row = tl.program_id(0) * R + tl.arange(0, R)
    key = tl.arange(0, K)
    place = row[:, None].to(tl.int64) * keys + key[None, :]
    inside = (row < rows)[:, None] & (key < keys)[None, :]
    alpha = tl.load(alphas + row, mask=row < rows, other=2.0)
    p = tl.load(weights + place, mask=inside, other=0.0)
    grad = tl.load(grads + place, mask=inside, other=0.0)
    logs = tl.log2(tl.maximum(p, 1e-30))
    slope = tl.where(p > 0, tl.exp2(logs * (2 - alpha)[:, None]), 0.0)
    total = tl.maximum(tl.sum(slope, 1), 1e-30)
    centered = grad - (tl.sum(slope * grad, 1) / total)[:, None]
    tl.store(grad_scores + place, centered * slope, mask=inside)
    beta = alpha - 1
    terms = centered * p * (1 - beta[:, None] * logs * 0.6931471805599453)
    tl.store(grad_alphas + row, tl.sum(terms, 1) / (beta * beta), mask=row < rows)


def _grid(rows: int, keys: int) -> tuple[tuple[int], dict[str, int]]:
    width = triton.next_power_of_2(keys)
    height = max(1024 // width, 1)
    return (triton.cdiv(rows, height),), {"R": height, "K": width}


class EntmaxTriton(torch.autograd.Function):
    """alpha-entmax of float32 rows: scores (rows, keys), alpha (rows,)."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, alphas: Tensor) -> Tensor:
        """Weights of the shape of `scores`."""
        weights = torch.empty_like(scores)
        grid, sizes = _grid(*scores.shape)
        _forward[grid](scores, alphas, weights, *scores.shape, STEPS=STEPS, **sizes)
        ctx.save_for_backward(weights, alphas)
        return weights

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients of the scores and of alpha."""
        weights, alphas = ctx.saved_tensors
        grad_scores = torch.empty_like(weights)
        grad_alphas = torch.empty_like(alphas)
        grid, sizes = _grid(*weights.shape)
        upstream = grads[0].contiguous()
        shape = weights.shape
        _backward[grid](
            weights, upstream, alphas, grad_scores, grad_alphas, *shape, **sizes
        )
        return grad_scores, grad_alphas


def entmax_triton(scores: Tensor, alpha: Tensor | float, dim: int) -> Tensor:
    """alpha-entmax along `dim` of float32 scores; see `siamese_news.sparsity.entmax.entmax`.

    Raises:
        ValueError: the scores are not float32, or a row has more than 16,384 keys.
    """
    if scores.dtype != torch.float32 or scores.shape[dim] > MAX_KEYS:
        raise ValueError(
            f"backend 'triton' got {scores.dtype} scores with {scores.shape[dim]} keys; expected "
            f"float32 and at most {MAX_KEYS}: use backend 'newton'"
        )
    rows = scores.movedim(dim, -1)
    if not isinstance(alpha, Tensor):
        alpha = scores.new_full([1] * scores.dim(), alpha)
    alphas = alpha.movedim(dim, -1).expand(*rows.shape[:-1], 1).reshape(-1)
    weights = EntmaxTriton.apply(
        rows.reshape(-1, rows.shape[-1]).contiguous(), alphas.contiguous()
    )
    return weights.view(rows.shape).movedim(-1, dim)
