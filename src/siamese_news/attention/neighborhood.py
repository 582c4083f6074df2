"""Products with shifted neighbours, without copies of windows.

A place (source, offset) tells where a key of every token is: the key of token i is column
``i + offset`` of that source, or its only column, the same for all tokens, where offset is None.
Three sums over shifted views do everything, and the gradient of each is made of the other two.

Shape letters: H heads, K keys, M tokens; a source may have more columns than there are tokens.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

Places = tuple[tuple[int, int | None], ...]


def shifted_dot(query: Tensor, bias: Tensor, places: Places, *sources: Tensor) -> Tensor:
    """Each query times its keys, plus a constant: (H, K, M).

    Args:
        query: (H, head_dim, M).
        bias: (K, M), without a gradient; a key beyond its source's ends has the bias alone.
        places: K places.
        sources: keys (H, head_dim, columns).
    """
    if torch.compiler.is_compiling():
        products = [(query * part).sum(1) for part in _parts(places, sources, query.shape[-1])]
        return torch.stack(products, 1) + bias
    return _Dot.apply(query, bias, places, *sources)


def shifted_mix(weights: Tensor, places: Places, *sources: Tensor) -> Tensor:
    """Each token's sources summed by its weights: (H, head_dim, M).

    Args:
        weights: (H, K, M).
        places: K places.
        sources: values (H, head_dim, columns).
    """
    if torch.compiler.is_compiling():
        parts = _parts(places, sources, weights.shape[-1])
        shares = weights.unsqueeze(2).unbind(1)
        products = [share * part for share, part in zip(shares, parts, strict=True)]
        return sum(products[1:], products[0])
    return _Mix.apply(weights, places, *sources)


def _parts(places: Places, sources: Sequence[Tensor], count: int) -> Iterator[Tensor]:
    """Each key's source, shifted, with zeros outside; plain expressions, which a compiler fuses."""
    for source, offset in places:
        if offset is None:
            yield sources[source]
            continue
        after = max(offset + count - sources[source].shape[-1], 0)
        padded = F.pad(sources[source], (max(-offset, 0), after))
        start = max(offset, 0)
        yield padded[..., start : start + count]


def _spread(
    places: Places, sources: Sequence[Tensor], count: int
) -> Iterator[tuple[int, int, slice, slice]]:
    """For each key its number, its source, the tokens that have it and their columns there."""
    for key, (source, offset) in enumerate(places):
        if offset is None:
            yield key, source, slice(0, count), slice(0, 1)
            continue
        first = min(max(0, -offset), count)
        stop = max(min(count, sources[source].shape[-1] - offset), first)
        yield key, source, slice(first, stop), slice(first + offset, stop + offset)


def _dot(query: Tensor, places: Places, sources: Sequence[Tensor]) -> Tensor:
    """(H, K, M) products of each query (H, head_dim, M) with its keys; 0 where there is none."""
    count = query.shape[-1]
    scores = query.new_zeros(query.shape[0], len(places), count)
    for key, source, tokens, columns in _spread(places, sources, count):
        product = query[..., tokens] * sources[source][..., columns]
        torch.sum(product, 1, out=scores[:, key, tokens])
    return scores


def _gather(weights: Tensor, places: Places, sources: Sequence[Tensor]) -> Tensor:
    """(H, head_dim, M) weighted sum of each token's sources; weights (H, K, M)."""
    count = weights.shape[-1]
    mixed = weights.new_zeros(*sources[0].shape[:2], count)
    for key, source, tokens, columns in _spread(places, sources, count):
        mixed[..., tokens].addcmul_(weights[:, key, None, tokens], sources[source][..., columns])
    return mixed


def _scatter(
    weights: Tensor, places: Places, sources: Sequence[Tensor], states: Tensor
) -> list[Tensor]:
    """The gradient of each source: the transpose of `_gather`, applied to (H, head_dim, M)."""
    back = [torch.zeros_like(source, memory_format=torch.contiguous_format) for source in sources]
    for key, source, tokens, columns in _spread(places, sources, weights.shape[-1]):
        if places[key][1] is None:
            back[source] += states @ weights[:, key, :, None]
            continue
        back[source][..., columns].addcmul_(weights[:, key, None, tokens], states[..., tokens])
    return back


class _Dot(torch.autograd.Function):
    """Scores (H, K, M) of every query against its shifted keys."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, bias: Tensor, places: Places, *keys: Tensor) -> Tensor:
        ctx.places = places
        ctx.save_for_backward(query, *keys)
        return _dot(query, places, keys).add_(bias)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        query, *keys = ctx.saved_tensors
        back = _scatter(grads[0], ctx.places, keys, query)
        return _gather(grads[0], ctx.places, keys), None, None, *back


class _Mix(torch.autograd.Function):
    """Values mixed by the weights: (H, head_dim, M)."""

    @staticmethod
    def forward(ctx: Any, weights: Tensor, places: Places, *values: Tensor) -> Tensor:
        ctx.places = places
        ctx.save_for_backward(weights, *values)
        return _gather(weights, places, values)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        weights, *values = ctx.saved_tensors
        back = _scatter(weights, ctx.places, values, grads[0])
        return _dot(grads[0], ctx.places, values), None, *back
