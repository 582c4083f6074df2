"""The loops of attention, compiled (``loops.c``): the ring with its gradient, the star's weights.

They read and write the memory once, where the expressions of `siamese_news.attention.ring` do so
for every step of the solver.

Shape letters: H heads, K keys of a query, M tokens of all texts, T tokens of a tile, B texts.
"""

import ctypes
import functools
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from siamese_news.sparsity.maps import (
    AdaptiveEntmax,
    Entmax15,
    Softmax,
    Sparsemax,
    Sparsity,
)
from siamese_news.sparsity.plain_calls import is_plain, is_plain_tensor, is_traced
from siamese_news.utils.compiled_loops import load_loops

SOURCE = Path(__file__).with_name("loops.c")
MAX_KEYS = 16
_IN_LOOPS = (Softmax, Sparsemax, Entmax15, AdaptiveEntmax)
NO_KEY = -1e30  # the score where there is no key
# Numbers of scores, or states over all heads, that one thread does faster than two.
SMALL = 1 << 13


@functools.cache
def library() -> tuple[ctypes.CDLL | None, str]:
    """The compiled loops, or None, and their file or why there are none, in words."""
    return load_loops(SOURCE)


def head_alphas(sparsity: Sparsity, states: Tensor) -> Tensor | None:
    """The alpha of each head, (H,), with its gradient; None if the loops do not take these."""
    if is_traced() or torch.is_autocast_enabled("cpu") or not is_plain_tensor(states):
        return None
    if not states.numel() or not is_plain(sparsity, *_IN_LOOPS):
        return None
    if (states.dtype, states.device.type) != (torch.float32, "cpu") or library()[
        0
    ] is None:
        return None
    if type(sparsity) is Softmax:
        return sparsity.alphas()
    if getattr(sparsity, "backend", None) != "newton":
        return None
    return sparsity.alpha if isinstance(sparsity, AdaptiveEntmax) else sparsity.alphas()


@dataclass(frozen=True)
class Tile:
    """Which tokens are updated, and where the columns of their states begin."""

    radius: int
    length: int  # S, with padding
    start: int  # the first token, counted over all texts
    stop: int
    halo: int  # the token of the first column of keys and values
    scale: float
    itself: bool  # whether each token is one more key: its state, or an own key that is given


class _Matrix(ctypes.Structure):
    """As in ``loops.c``."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("shift", ctypes.c_int64),
        ("columns", ctypes.c_int64),
    ]


class _Arguments(ctypes.Structure):
    """``Ring`` of ``loops.c``."""

    _fields_ = [
        *(
            (name, ctypes.c_int64)
            for name in "heads size radius length start stop".split()
        ),
        ("scale", ctypes.c_float),
        ("alphas", ctypes.c_void_p),
        ("mask", ctypes.c_void_p),
        *(
            (name, _Matrix)
            for name in "query key value own_key own_value relay_key relay_value out".split()
        ),
        ("weights", ctypes.c_void_p),
        *(
            (name, _Matrix)
            for name in "grad d_query d_key d_value d_own_key d_own_value".split()
        ),
        ("d_scores", ctypes.c_void_p),
        ("d_relay_key", _Matrix),
        ("d_relay_value", _Matrix),
        ("d_alphas", ctypes.c_void_p),
    ]


def _given(
    tile: Tile, mask: Tensor, alphas: Tensor, states: Sequence[Tensor | None]
) -> tuple[Any, ...]:
    """The first arguments of both directions of the loop."""
    assert states[0] is not None
    sizes = (tile.radius, tile.length, tile.start, tile.stop, tile.scale)
    pointers = (alphas.data_ptr(), mask.data_ptr())
    return (*states[0].shape[:2], *sizes, *pointers, *_matrices(tile, states))


def _matrices(tile: Tile, states: Sequence[Tensor | None]) -> list[_Matrix]:
    """Query, keys, values, own keys and values, relays' keys and values."""
    query, key, value, own_key, own_value, *relays = states
    matrices = [
        _matrix(query, tile.start),
        _matrix(key, tile.halo),
        _matrix(value, tile.halo),
    ]
    if tile.itself and own_key is None:
        matrices += matrices[1:]
    else:
        matrices += [_matrix(own_key, tile.start), _matrix(own_value, tile.start)]
    return matrices + [_matrix(relay, 0) for relay in relays]


def _matrix(states: Tensor | None, shift: int) -> _Matrix:
    if states is None:
        return _Matrix()
    return _Matrix(states.data_ptr(), shift, states.shape[-1])


@functools.lru_cache(maxsize=1)
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Threads for the heads; `process` because threads do not survive a fork."""
    return ThreadPoolExecutor(threads)


def _run(name: str, arguments: ctypes.Structure, count: int, numbers: int) -> None:
    """Call a loop for all of `count` heads or rows; ctypes lets other threads run meanwhile."""
    threads = 1 if numbers < SMALL else min(torch.get_num_threads(), count)
    ends = [ctypes.c_int64(count * share // threads) for share in range(threads + 1)]
    function = getattr(library()[0], name)
    part_of = functools.partial(function, ctypes.byref(arguments))
    if threads == 1:
        part_of(*ends)
    else:
        pool = _pool(os.getpid(), threads)
        list(pool.map(part_of, ends[:-1], ends[1:]))


class _Rows(ctypes.Structure):
    """``Rows`` of ``loops.c``."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("scores", "alphas")),
        *((name, ctypes.c_int64) for name in ("heads", "width")),
    ]


def row_weights(scores: Tensor, mask: Tensor, alphas: Tensor) -> Tensor:
    """The weights of many keys, without a gradient: scores (B, H, K), mask (B, K), alphas (H,)."""
    batch, heads, keys = scores.shape
    rows = scores.new_full((batch, heads, -(-keys // 16) * 16), NO_KEY)
    rows[..., :keys] = torch.where(mask[:, None], scores, NO_KEY)
    alphas = alphas.float().contiguous()
    arguments = _Rows(rows.data_ptr(), alphas.data_ptr(), heads, rows.shape[-1])
    _run("weigh_rows", arguments, batch * heads, rows.numel())
    return rows[..., :keys]


class RingLoop(torch.autograd.Function):
    """The values of a tile, mixed, (H, head_dim, T), and the gradient of every state and of alpha.

    With a gradient the tile has to be all tokens of all texts.

    Args:
        tile: which tokens.
        mask: (M,) bool.
        alphas: (H,), 1 for softmax.
        *given: query (H, head_dim, T); keys and values of the tokens with a halo; own keys and
            values, or None twice where a token's own are among these; the relays' keys and
            values (H, head_dim, B). All float32.
    """

    @staticmethod
    def forward(
        ctx: Any, tile: Tile, mask: Tensor, alphas: Tensor, *inputs: Tensor | None
    ) -> Tensor:
        """See the class."""
        states = [None if state is None else state.contiguous() for state in inputs]
        query = states[0]
        assert query is not None
        mixed = torch.empty_like(query)
        heads, _, tokens = query.shape
        keys = 2 * tile.radius + 2 + tile.itself
        weights = (
            query.new_empty(heads, keys, tokens) if any(ctx.needs_input_grad) else None
        )
        mask = mask.contiguous()
        alphas = alphas.float().contiguous()
        arguments = _Arguments(
            *_given(tile, mask, alphas, states),
            _matrix(mixed, tile.start),
            None if weights is None else weights.data_ptr(),
        )
        _run("forward", arguments, heads, heads * tokens)
        ctx.tile = tile
        ctx.save_for_backward(mask, alphas, weights, *states)
        return mixed

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of alpha and of the states that were given."""
        mask, alphas, weights, *states = ctx.saved_tensors
        tile = ctx.tile
        grad = grads[0].contiguous()
        back = [
            None if state is None else torch.empty_like(state) for state in states[:5]
        ]
        back += map(torch.zeros_like, states[5:])  # to which every token adds
        d_alphas = torch.zeros_like(alphas)
        d_scores = torch.empty_like(weights)
        gradients = _matrices(tile, back)
        arguments = _Arguments(
            *_given(tile, mask, alphas, states),
            _Matrix(),
            weights.data_ptr(),
            _matrix(grad, tile.start),
            *gradients[:5],
            d_scores.data_ptr(),
            *gradients[5:],
            d_alphas.data_ptr() if ctx.needs_input_grad[2] else None,
        )
        _run("backward", arguments, len(alphas), mask.numel() * len(alphas))
        return None, None, d_alphas, *back
