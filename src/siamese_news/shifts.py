"""Products with shifted neighbours, without copies of windows.

The sources of a query are one tensor for a whole window of neighbours, then one tensor for each
further key: key number j of token i is column ``i + offsets[j]`` of its source. Three sums over
shifted views do everything, and the gradient of each is made of the other two.

Shape letters: H heads, K keys, M tokens; a source may have more columns than there are tokens.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor


def shifted_dot(query: Tensor, bias: Tensor, offsets: tuple[int, ...], *sources: Tensor) -> Tensor:
    """Each query times its keys, plus a constant: (H, K, M).

    Args:
        query: (H, head_dim, M).
        bias: (K, M), without a gradient.
        offsets: K numbers, those of the window first.
        sources: keys (H, head_dim, columns): the window's, then one for each further key.
    """
    if torch.compiler.is_compiling():
        products = [(query * part).sum(1) for part in _parts(offsets, sources, query.shape[-1])]
        return torch.stack(products, 1) + bias
    return _Dot.apply(query, bias, offsets, *sources)


def shifted_mix(weights: Tensor, offsets: tuple[int, ...], *sources: Tensor) -> Tensor:
    """Each token's sources summed by its weights: (H, head_dim, M).

    Args:
        weights: (H, K, M).
        offsets: K numbers, those of the window first.
        sources: values (H, head_dim, columns), as the keys of `shifted_dot`.
    """
    if torch.compiler.is_compiling():
        parts = _parts(offsets, sources, weights.shape[-1])
        return sum(
            share[:, None] * part for share, part in zip(weights.unbind(1), parts, strict=True)
        )
    return _Mix.apply(weights, offsets, *sources)


def _parts(offsets: Sequence[int], sources: Sequence[Tensor], count: int) -> Iterator[Tensor]:
    """For a compiler, which fuses plain expressions: each key's source, shifted, zeros outside."""
    window = len(offsets) - len(sources) + 1
    for number, offset in enumerate(offsets):
        source = sources[max(number - window + 1, 0)]
        after = max(offset + count - source.shape[-1], 0)
        padded = F.pad(source, (max(-offset, 0), after))
        yield padded[..., max(offset, 0) : max(offset, 0) + count]


def _spread(
    offsets: Sequence[int], sources: Sequence[Tensor], count: int
) -> Iterator[tuple[int, int, slice, slice]]:
    """For each key: its number, its source, the tokens that have it, and their columns there."""
    window = len(offsets) - len(sources) + 1
    for number, offset in enumerate(offsets):
        source = max(number - window + 1, 0)
        first = max(0, -offset)
        stop = max(min(count, sources[source].shape[-1] - offset), first)
        yield number, source, slice(first, stop), slice(first + offset, stop + offset)


def _dot(query: Tensor, offsets: Sequence[int], sources: Sequence[Tensor]) -> Tensor:
    """(H, K, M) products of each query (H, head_dim, M) with its keys; 0 where there is none."""
    count = query.shape[-1]
    scores = query.new_zeros(query.shape[0], len(offsets), count)
    for key, source, tokens, columns in _spread(offsets, sources, count):
        torch.sum(query[..., tokens] * sources[source][..., columns], 1, out=scores[:, key, tokens])
    return scores


def _gather(weights: Tensor, offsets: Sequence[int], sources: Sequence[Tensor]) -> Tensor:
    """(H, head_dim, M) weighted sum of each token's sources; weights (H, K, M)."""
    count = weights.shape[-1]
    mixed = weights.new_zeros(*sources[0].shape[:2], count)
    for key, source, tokens, columns in _spread(offsets, sources, count):
        mixed[..., tokens].addcmul_(weights[:, key, None, tokens], sources[source][..., columns])
    return mixed


def _scatter(
    weights: Tensor, offsets: Sequence[int], sources: Sequence[Tensor], states: Tensor
) -> list[Tensor]:
    """What each source gets back: the transpose of `_gather`, applied to (H, head_dim, M)."""
    back = [torch.zeros_like(source, memory_format=torch.contiguous_format) for source in sources]
    for key, source, tokens, columns in _spread(offsets, sources, weights.shape[-1]):
        back[source][..., columns].addcmul_(weights[:, key, None, tokens], states[..., tokens])
    return back


class _Dot(torch.autograd.Function):
    """Scores (H, K, M) of every query against its shifted keys."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, bias: Tensor, offsets: tuple[int, ...], *keys: Tensor
    ) -> Tensor:
        ctx.offsets = offsets
        ctx.save_for_backward(query, *keys)
        return _dot(query, offsets, keys).add_(bias)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        query, *keys = ctx.saved_tensors
        back = _scatter(grads[0], ctx.offsets, keys, query)
        return _gather(grads[0], ctx.offsets, keys), None, None, *back


class _Mix(torch.autograd.Function):
    """Values mixed by the weights: (H, head_dim, M)."""

    @staticmethod
    def forward(ctx: Any, weights: Tensor, offsets: tuple[int, ...], *values: Tensor) -> Tensor:
        ctx.offsets = offsets
        ctx.save_for_backward(weights, *values)
        return _gather(weights, offsets, values)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        weights, *values = ctx.saved_tensors
        back = _scatter(weights, ctx.offsets, values, grads[0])
        return _dot(grads[0], ctx.offsets, values), None, *back
