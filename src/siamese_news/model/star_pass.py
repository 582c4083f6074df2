"""The forward pass of a Star Transformer in numpy, with the vectors of `encoders.StarEncoder`.

The tokens of many texts lie in one array, one text behind the other, without padding. Matrices are
multiplied `_block_rows()` rows at a time, the last block filled up with zeros, so a text has the
same bits whatever texts are encoded with it.

Shape letters: B texts, N their tokens, E size of a state, H heads, K keys.
"""

import math
from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

ALPHAS = {"Softmax": 1.0, "Sparsemax": 2.0, "Entmax15": 1.5}
"""The alpha of each sparsity that learns none."""

_ROWS = 256
# Newton steps after which the weights of few and of many keys are those of `sparsity.entmax`.
_FEW_STEPS = 6
_STEPS = 10
_NORM = np.float32(1e-5)  # the epsilon of torch.nn.LayerNorm
# Abramowitz and Stegun, 7.1.26: the error function to 1.5e-7.
_ERF = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
_ERF_PLACE = np.float32(0.3275911 / math.sqrt(2))
_GELU_ROWS = 64  # whose numbers stay in the cache


class StarPass:
    """Texts given by their word vectors to vectors.

    Args:
        weights: by the names of the encoder's modules, float32.
        options: the encoder's in a model folder; `StarModel.fits` has checked them.
    """

    def __init__(
        self, weights: Mapping[str, Floats], options: Mapping[str, Any]
    ) -> None:
        self._weights = weights
        self._options = options
        # As `StarEncoder` takes them from its options.
        heads = options.get("heads")
        size = 30 if heads is None else options["input_dim"] // heads
        self._split = (heads or 10, options.get("head_dim") or size)
        self._scale = np.float32(options.get("scale") or 1 / math.sqrt(self._split[1]))

    def __call__(
        self, words: Floats, word_rows: Ints, token_weights: Floats, offsets: Ints
    ) -> Floats:
        """(B, E) of B texts with a token each, the shortest first, not normalized.

        Args:
            words: (U, E) distinct word vectors.
            word_rows: (N,) which of them each token is.
            token_weights: (N,) of each token in the mean.
            offsets: (B + 1,) where the tokens of each text begin, and the end.
        """
        texts = _Texts(offsets)
        shares = np.ones(len(word_rows), np.float32)
        if lead := self._options.get("lead"):
            shares /= 1 + texts.places.astype(np.float32) / np.float32(lead)
        if self._options["pooling"] == "idf_relay":
            shares *= token_weights
        shares /= np.maximum(texts.total(shares), np.float32(1e-12))

        def mean(states: Floats) -> Floats:
            means = np.empty((len(texts.starts), states.shape[1]), np.float32)
            for rows, tokens, nodes in texts.by_length(states):
                means[rows] = (shares[tokens].reshape(len(nodes), 1, -1) @ nodes)[:, 0]
            return means

        nodes = words[word_rows]
        relay = start = mean(nodes)
        # Before the first ring a token is its word.
        states, lookup = words, word_rows
        norm = 0
        cycles = self._options["cycles"]
        for cycle in range(cycles):
            sides = self._normalized(norm, states), self._normalized(norm, relay)
            update = self._ring(f"rings.{cycle}.", *sides, lookup, texts)
            nodes = self._residual(f"residuals.{2 * cycle}.", nodes, update)
            sides = (
                self._normalized(norm + 1, relay),
                self._normalized(norm + 1, nodes),
            )
            update = self._star(f"stars.{cycle}.", *sides, texts)
            relay = self._residual(f"residuals.{2 * cycle + 1}.", relay, update)
            norm += 2
            name = f"feed_forwards.{cycle}."
            if self._options["feed_forward"]:
                wide = self._linear(f"{name}0.", self._normalized(norm, nodes))
                norm += 1
                _gelu(wide)
                if cycle == cycles - 1:  # the mean of the last map is the map of it
                    wide, nodes = mean(wide), mean(nodes)
                update = self._linear(f"{name}2.", wide)
                nodes = self._residual(f"forward_residuals.{cycle}.", nodes, update)
            states, lookup = nodes, np.arange(len(nodes))
        pooled: Any = nodes if self._options["feed_forward"] else mean(nodes)
        # Where all weights of a text are 0, so is its mean.
        vectors = (pooled * (texts.sums(shares)[:, None] > 0) + relay) / 2
        factor = self._weights.get("block_factor")
        return vectors if factor is None else start + factor * (vectors - start)

    def _ring(
        self, name: str, states: Floats, relay: Floats, lookup: Ints, texts: "_Texts"
    ) -> Floats:
        """One update (N, E) of tokens by their windows and their relay.

        `states` are of what `lookup` (N,) has for each token.
        """
        reach = self._options["window"]
        # With `reach` more on both sides, the neighbors of all tokens are a slice of one array.
        around = np.pad(lookup, reach, mode="edge")
        query = self._heads(f"{name}query.", states)[lookup]
        key, value = (
            self._heads(f"{name}{side}.", states)[around] for side in ("key", "value")
        )
        hub_key, hub_value = (
            self._heads(f"{name}{side}.", relay)[texts.rows]
            for side in ("key", "value")
        )
        windows = [slice(step, step + len(lookup)) for step in range(2 * reach + 1)]
        dots = [
            np.where(
                texts.has_token(window.start - reach),
                np.einsum("nhd,nhd->nh", query, key[window]),
                np.float32(-np.inf),
            )
            for window in windows
        ]
        scores = np.stack([*dots, np.einsum("nhd,nhd->nh", query, hub_key)])
        weights = self._sparse(
            name, scores, lambda x: x.max(axis=0), lambda x: x.sum(axis=0), _FEW_STEPS
        )
        mixed = weights[-1][..., None] * hub_value
        for line, window in zip(weights, windows, strict=False):
            mixed += line[..., None] * value[window]
        return self._joined(name, mixed)

    def _star(
        self, name: str, relay: Floats, states: Floats, texts: "_Texts"
    ) -> Floats:
        """One update (B, E) of the relays by the tokens of their texts."""
        key, value = (
            self._weights[f"{name}{side}.weight"].reshape(*self._split, -1)
            for side in ("key", "value")
        )
        query = self._heads(f"{name}query.", relay)
        # (W_k^T q) . h for q . (W_k h), and W_v sum p h for sum p W_v h: no token is projected.
        folded = np.stack([product(query[:, h], k) for h, k in enumerate(key)], 1)
        groups = texts.by_length(states)
        scores = np.empty((len(states), len(key)), np.float32)
        for rows, tokens, nodes in groups:
            dots = folded[rows] @ nodes.transpose(0, 2, 1)  # (b, H, S)
            scores[tokens] = dots.transpose(0, 2, 1).reshape(-1, len(key))
        weights = self._sparse(name, scores, texts.top, texts.total, _STEPS)
        mixed = np.empty_like(folded)
        for rows, tokens, nodes in groups:
            shares = weights[tokens].reshape(*nodes.shape[:2], -1)
            mixed[rows] = shares.transpose(0, 2, 1) @ nodes
        return self._joined(
            name, np.stack([product(mixed[:, h], v.T) for h, v in enumerate(value)], 1)
        )

    def _sparse(
        self, name: str, scores: Floats, top: "_Over", total: "_Over", steps: int
    ) -> Floats:
        """alpha-entmax of scores (..., H); `top` and `total` are over the keys of a query.

        The steps are those of `sparsity.entmax`: Newton's method on the norm.
        """
        scores = scores * self._scale
        gaps = scores - top(scores)
        kind = self._options["sparsity"]["class"]
        if kind == "Softmax":
            weights = np.exp(gaps)
            return weights / total(weights)
        beta: Any = np.float32(ALPHAS.get(kind, 2) - 1)
        if kind not in ALPHAS:
            learned = 1 / (1 + np.exp(-self._weights[f"{name}sparsity.pre_alpha"]))
            beta = np.clip(learned, np.float32(0.01), np.float32(1))
        gaps = 1 + beta * gaps
        for _ in range(steps):
            x = np.maximum(gaps, np.float32(1e-30))
            slopes = np.exp(np.log(x) * (1 / beta - 1)) * (gaps > 0)
            mass = np.maximum(total(slopes * x), 1)
            change = np.expm1(-beta * np.log(mass)) * mass
            change /= np.maximum(total(slopes), 1)
            gaps += change
        weights = np.maximum(slopes * (x + change / beta), 0) * (gaps > 0)
        return weights / np.maximum(total(weights), np.float32(1e-30))

    def _residual(self, name: str, state: Floats, update: Floats) -> Floats:
        """See `encoders.star.Residual`."""
        if self._options["residual"] == "none":
            return update
        return state + update * self._weights.get(f"{name}factor", np.float32(1))

    def _normalized(self, norm: int, states: Floats) -> Floats:
        """States (..., E) through a layer norm, if there is one."""
        if not self._options["pre_norm"]:
            return states
        centered = states - states.mean(axis=1, keepdims=True)
        squares = np.einsum("ne,ne->n", centered, centered)
        centered /= np.sqrt(squares / np.float32(states.shape[1]) + _NORM)[:, None]
        centered *= self._weights[f"norms.{norm}.weight"]
        return np.add(centered, self._weights[f"norms.{norm}.bias"], out=centered)

    def _linear(self, name: str, states: Floats) -> Floats:
        """The linear map of a name: (n, E) -> (n, out)."""
        return product(
            states,
            self._weights[f"{name}weight"].T,
            self._weights.get(f"{name}bias", 0),
        )

    def _heads(self, name: str, states: Floats) -> Floats:
        """(n, E) -> (n, H, head_dim)."""
        return self._linear(name, states).reshape(-1, *self._split)

    def _joined(self, name: str, heads: Floats) -> Floats:
        """The heads (n, H, head_dim) side by side, projected if there is a map."""
        wide = heads.reshape(len(heads), -1)
        is_projected = self._options["output_projection"]
        return self._linear(f"{name}output.", wide) if is_projected else wide


class _Texts:
    """Where the tokens of B texts lie, the shortest first."""

    def __init__(self, offsets: Ints) -> None:
        self.starts = offsets[:-1]
        self.lengths = np.diff(offsets)
        self.rows = np.repeat(np.arange(len(self.lengths)), self.lengths)
        self.places = np.arange(offsets[-1]) - self.starts[self.rows]

    def has_token(self, step: int) -> NDArray[np.bool_]:
        """(N, 1) whether the token so many places on is of the same text."""
        positions = self.places + step
        return ((positions >= 0) & (positions < self.lengths[self.rows]))[:, None]

    def top(self, x: Floats) -> Floats:
        """(N, …) the maximum over the text of each token."""
        return np.maximum.reduceat(x, self.starts)[self.rows]

    def sums(self, x: Floats) -> Floats:
        """(B, …) the sum of each text."""
        return np.add.reduceat(x, self.starts)

    def total(self, x: Floats) -> Floats:
        """(N, …) the sum of the text of each token."""
        return self.sums(x)[self.rows]

    def by_length(self, states: Floats) -> list[tuple[slice, slice, Floats]]:
        """Texts of one length: their rows, their tokens, and their states (b, S, E)."""
        changes = (np.flatnonzero(np.diff(self.lengths)) + 1).tolist()
        groups = []
        for start, end in pairwise([0, *changes, len(self.lengths)]):
            tokens = slice(
                self.starts[start], self.starts[end - 1] + self.lengths[start]
            )
            nodes = states[tokens].reshape(end - start, self.lengths[start], -1)
            groups.append((slice(start, end), tokens, nodes))
        return groups


_Over = Callable[[Floats], Floats]


def product(states: Floats, matrix: Floats, bias: Floats | float = 0) -> Floats:
    """(n, E) times (E, D), and a bias added; a row's bits do not depend on the others."""
    size = _block_rows()
    result = np.empty((len(states) + -len(states) % size, matrix.shape[1]), np.float32)
    for start in range(0, len(states), size):
        rows = states[start : start + size]
        if len(rows) < size:
            rows = np.concatenate(
                [rows, np.zeros((size - len(rows), rows.shape[1]), np.float32)]
            )
        # A block is finished while it is in the cache.
        block = np.matmul(rows, matrix, out=result[start : start + size])
        block += bias
    return result[: len(states)]


@cache
def _block_rows() -> int:
    """How many rows are multiplied at once: `_ROWS`, or fewer where a row's place changes its bits.

    So it does among more than 8 rows with OpenBLAS on processors that have AVX2 and no AVX-512.
    """
    numbers = np.random.default_rng(0)
    rows = numbers.standard_normal((_ROWS, 100), np.float32)
    matrix = numbers.standard_normal((100, 100), np.float32)
    is_same = rows @ matrix == (rows[::-1] @ matrix)[::-1]
    return _ROWS if is_same.all() else 8


def _gelu(states: Floats) -> None:
    """X times the normal distribution at x, in place: max(x, 0) - |x| (1 - Phi(|x|))."""
    for start in range(0, len(states), _GELU_ROWS):
        x = states[start : start + _GELU_ROWS]
        size = np.abs(x)
        t = 1 / (1 + _ERF_PLACE * size)
        tail: Any = np.float32(0)
        for number in _ERF:
            tail += np.float32(number)
            tail *= t
        tail *= size
        x[:] = np.maximum(x, 0) - tail * np.exp(size * size * np.float32(-0.5)) / 2
