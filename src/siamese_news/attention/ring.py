"""Ring attention: every token attends to its window, with sparse weights.

Shape letters: B texts, S tokens, E size of a token's state, H heads, K keys of a query, M = B * S.

Logically a state is (B, S, E). In memory its tokens lie innermost, (E, M): a neighbor is then the
same memory shifted: windows are never copied, every elementwise loop is long whatever the length of
the texts, and a sum over few keys costs a twentieth of the same sum with the keys innermost.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from siamese_news.attention.attention import Attention
from siamese_news.attention.compiled import MAX_KEYS, RingLoop, Tile, head_alphas
from siamese_news.attention.word_projections import Columns, projected, repeated, tiles

Places = tuple[tuple[int, int | None], ...]


# Products with shifted neighbors, without copies of windows. A place (source, offset) tells where a
# key of every token is: the key of token i is column i + offset of that source, or its only column,
# the same for all tokens, where offset is None. Three sums over shifted views do everything, and
# the gradient of each is made of the other two. K: keys; M: tokens; a source may have more columns.


def _spread(
    key_places: Places, sources: Sequence[Tensor], count: int
) -> Iterator[tuple[int, int, slice, slice]]:
    """For each key its number, its source, the tokens that have it and their columns there."""
    for key, (source, offset) in enumerate(key_places):
        if offset is None:
            yield key, source, slice(0, count), slice(0, 1)
            continue
        start = min(max(0, -offset), count)
        last_columns = sources[source].shape[-1] - offset
        stop = max(min(count, last_columns), start)
        yield key, source, slice(start, stop), slice(start + offset, stop + offset)


def _dot(query: Tensor, key_places: Places, sources: Sequence[Tensor]) -> Tensor:
    """(H, K, M) products of each query (H, head_dim, M) with its keys; 0 where there is none."""
    count = query.shape[-1]
    scores = query.new_zeros(query.shape[0], len(key_places), count)
    for key, source, tokens, columns in _spread(key_places, sources, count):
        product = query[..., tokens] * sources[source][..., columns]
        torch.sum(product, 1, out=scores[:, key, tokens])
    return scores


def _gather(weights: Tensor, key_places: Places, sources: Sequence[Tensor]) -> Tensor:
    """(H, head_dim, M) weighted sum of each token's sources; weights (H, K, M)."""
    count = weights.shape[-1]
    mixed = weights.new_zeros(*sources[0].shape[:2], count)
    for key, source, tokens, columns in _spread(key_places, sources, count):
        mixed[..., tokens].addcmul_(
            weights[:, key, None, tokens], sources[source][..., columns]
        )
    return mixed


def _scatter(
    weights: Tensor, key_places: Places, sources: Sequence[Tensor], states: Tensor
) -> list[Tensor]:
    """The gradient of each source: the transpose of `_gather`, applied to (H, head_dim, M)."""
    back = [
        torch.zeros_like(source, memory_format=torch.contiguous_format)
        for source in sources
    ]
    for key, source, tokens, columns in _spread(key_places, sources, weights.shape[-1]):
        if key_places[key][1] is None:
            back[source] += states @ weights[:, key, :, None]
            continue
        back[source][..., columns].addcmul_(
            weights[:, key, None, tokens], states[..., tokens]
        )
    return back


class _Dot(torch.autograd.Function):
    """Scores (H, K, M) of every query against its shifted keys, plus a bias without a gradient."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, bias: Tensor, key_places: Places, *keys: Tensor
    ) -> Tensor:
        ctx.places = key_places
        ctx.save_for_backward(query, *keys)
        return _dot(query, key_places, keys).add_(bias)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        query, *keys = ctx.saved_tensors
        back = _scatter(grads[0], ctx.places, keys, query)
        return _gather(grads[0], ctx.places, keys), None, None, *back


class _Mix(torch.autograd.Function):
    """Values mixed by the weights: (H, head_dim, M)."""

    @staticmethod
    def forward(
        ctx: Any, weights: Tensor, key_places: Places, *values: Tensor
    ) -> Tensor:
        ctx.places = key_places
        ctx.save_for_backward(weights, *values)
        return _gather(weights, key_places, values)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        weights, *values = ctx.saved_tensors
        back = _scatter(weights, ctx.places, values, grads[0])
        return _dot(grads[0], ctx.places, values), None, *back


class _TileStates(NamedTuple):
    """What the values of a tile's tokens are mixed from.

    Attributes:
        texts: the texts of the tile.
        query: (H, head_dim, T).
        window: keys and values of the columns from ``Tile.halo`` on.
        itself: those of the tokens' embeddings; None where these are the nodes, or not given.
        relays: those of the relays of all texts.
    """

    texts: slice
    query: Tensor
    window: list[Tensor]
    itself: list[Tensor] | None
    relays: list[Tensor]


_Mixer = Callable[[Tile, _TileStates], Tensor]
"""A tile and its states -> the mixed values of its tokens (H, head_dim, T)."""


def _by_loop(real: Tensor, alphas: Tensor, tile: Tile, states: _TileStates) -> Tensor:
    """The mixed values of a tile by the compiled loop; see `_Mixer`."""
    itself = (None, None) if states.itself is None else states.itself
    keys_and_values = (*states.window, *itself, *states.relays)
    return RingLoop.apply(tile, real, alphas, states.query, *keys_and_values)


# Without gradients the ring on a CPU runs over this many tokens at a time: its memory stays in the
# cache.
TILE = 1024


class RingAttention(Attention):
    """Every token attends to its window, to the relay and, if given, to its own embedding.

    Eq. 6 of the AST paper with the roles its released code gives them: the token is the query and
    its context holds keys and values; the other way round a query would have one key.

    Args:
        radius: c, how many neighbors on each side; W = 2c + 1 with the token itself.
        **options: see `Attention`.

    Raises:
        ValueError: a radius below 0; see `Attention`.

    Example:
        >>> import torch
        >>> from siamese_news.attention import RingAttention
        >>> from siamese_news.sparsity import Softmax
        >>> ring = RingAttention(radius=2, dim=60, heads=10, head_dim=6, sparsity=Softmax)
        >>> nodes, mask = torch.randn(4, 9, 60), torch.ones(4, 9, dtype=torch.bool)
        >>> ring(nodes, mask, relay=nodes.mean(1)).shape
        torch.Size([4, 9, 60])
    """

    def __init__(self, *, radius: int, **options: Any) -> None:
        super().__init__(**options)
        if radius < 0:
            raise ValueError(f"RingAttention got radius={radius}; expected at least 0")
        self.radius = radius

    def forward(
        self,
        nodes: Tensor,
        mask: Tensor,
        relay: Tensor,
        embeddings: Tensor | None = None,
        columns: Columns | None = None,
    ) -> Tensor:
        """One update of all tokens: (B, S, E), undefined at padding.

        Args:
            nodes: (B, S, E).
            mask: (B, S) bool; a padded or absent neighbor is never a key.
            relay: (B, E).
            embeddings: (B, S, E), each token's own e_i as a further key.
            columns: the nodes in a form whose projections are cheaper (words that are looked up).
        """
        if self._may_fuse(nodes):
            return self._by_columns(nodes, mask, relay, embeddings, columns)
        return self._by_modules(nodes, mask, relay, embeddings)

    def _by_modules(
        self, nodes: Tensor, mask: Tensor, relay: Tensor, embeddings: Tensor | None
    ) -> Tensor:
        """The update by one call of each submodule; none of its numbers depends on the length."""
        sides = [nodes]
        if embeddings is not None and embeddings is not nodes:  # else e_i is h_i
            sides.append(embeddings)
        states = torch.cat([*sides, relay[:, None]], 1)
        query = self._unit(self._split(self.query(nodes)))  # (B, S, H, head_dim)
        key_states = self._unit(self._split(self.key(states)))
        value_states = self._split(self.value(states))
        keys = self._contexts(key_states, mask, embeddings)
        values = self._contexts(value_states, mask, embeddings)
        scores = torch.stack([(query * key).sum(-1) for key in keys], -1) * self.scale
        real = torch.stack(self._real(mask, embeddings is not None), -1)  # (B, S, K)
        # (B, H, S, K), as the weights are recorded.
        weights = self._weigh(scores.transpose(1, 2), real[:, None], -1)
        # For each key (B, S, H, 1).
        shares = weights.transpose(1, 2).unsqueeze(-1).to(query.dtype).unbind(-2)
        mixed = [share * value for share, value in zip(shares, values, strict=True)]
        total = sum(mixed[1:], mixed[0])
        return self._joined(total.flatten(2))

    def _contexts(
        self, states: Tensor, mask: Tensor, embeddings: Tensor | None
    ) -> list[Tensor]:
        """Each token's keys or values, (B, S, H, head_dim) or, of the relay, (B, 1, H, head_dim).

        The states are those of the tokens, of their embeddings if they differ, and of the relay.
        """
        length = mask.shape[1]
        contexts = self._windows(states[:, :length])
        if embeddings is not None:
            contexts.append(states[:, -1 - length : -1])
        contexts.append(states[:, -1:])
        return contexts

    def _windows(self, states: Tensor) -> list[Tensor]:
        """The neighbor of each token at every place of the window; zeros beyond the text's ends."""
        length = states.shape[1]
        around = [0, 0] * (states.dim() - 2) + [self.radius, self.radius]
        padded = F.pad(states, around)
        return [padded[:, step : step + length] for step in range(2 * self.radius + 1)]

    def _by_columns(
        self,
        nodes: Tensor,
        mask: Tensor,
        relay: Tensor,
        embeddings: Tensor | None,
        columns: Columns | None,
    ) -> Tensor:
        """The update by matrix products over columns of memory, without calling the linear maps."""
        batch, length, dim = nodes.shape
        if columns is None:  # a view where the tokens already lie innermost
            columns = Columns(nodes.flatten(0, 1).t())
        embedded = None  # where an embedding is not the node itself
        if embeddings is not None and embeddings is not nodes:
            embedded = Columns(embeddings.flatten(0, 1).t())
        relays = self._memory(Columns(relay.t()))  # (H, head_dim, B)
        with_embedding = embeddings is not None
        mix = self._mixer(nodes, mask, with_embedding)
        # A GPU is slow by many small steps, and its cache is not what they are cut for.
        is_single_tile = (
            torch.is_grad_enabled() or self.record or nodes.device.type != "cpu"
        )
        updated = nodes.new_empty(dim, 0 if is_single_tile else batch * length)
        # Under autocast a product has another type than the buffer.
        in_place = not (is_single_tile or torch.is_autocast_enabled(nodes.device.type))
        for texts, columns_of_tile in tiles(
            batch, length, None if is_single_tile else TILE
        ):
            halo = self._halo(columns_of_tile, length)
            tile = Tile(
                radius=self.radius,
                length=length,
                start=columns_of_tile.start,
                stop=columns_of_tile.stop,
                halo=halo.start,
                scale=self.scale,
                itself=with_embedding,
            )
            query = self._unit(self._project(self.query, columns[columns_of_tile]), 1)
            window = self._memory(columns[halo])
            itself = None
            if embedded is not None:
                itself = self._memory(embedded[columns_of_tile])
            mixed = mix(tile, _TileStates(texts, query, window, itself, relays))
            joined = mixed.flatten(0, 1)
            to = updated[:, columns_of_tile] if in_place else None
            if self.output is not None:
                joined = projected(self.output, joined, to)
            if is_single_tile:
                updated = joined
            elif to is None or self.output is None:
                updated[:, columns_of_tile] = joined
        if self.record and self.recorded is not None:  # (1, H, K, M)
            by_text = self.recorded[0].unflatten(-1, (batch, length))
            self.recorded = by_text.permute(2, 0, 3, 1)
        return updated.view(dim, batch, length).permute(1, 2, 0)

    def _mixer(self, nodes: Tensor, mask: Tensor, with_embedding: bool) -> _Mixer:
        """How a tile's values are mixed: by the compiled loop, or where it cannot run by torch."""
        alphas = self._loop_alphas(nodes, with_embedding)
        if alphas is not None:
            return partial(_by_loop, mask.flatten(), alphas)
        return partial(self._by_shifts, self._bias(mask, with_embedding, nodes))

    def _by_shifts(self, bias: Tensor, tile: Tile, states: _TileStates) -> Tensor:
        """The mixed values of a tile by products with shifted columns; see `_Mixer`."""
        tokens = slice(tile.start, tile.stop)
        middle = tile.start - tile.halo
        sources, key_places = self._sources(
            states.window, middle, states.itself, tile.itself
        )
        hub, offset = _relays_of(states.relays, states.texts, tokens)
        key_places.append((len(sources), offset))
        bias_of_tile = bias[:, tokens].contiguous()
        return self._attend(
            states.query, [*sources, hub], tuple(key_places), bias_of_tile
        )

    def _loop_alphas(self, nodes: Tensor, with_embedding: bool) -> Tensor | None:
        """The alphas (H,) that the compiled loop takes; None where it cannot run."""
        keys = 2 * self.radius + 2 + with_embedding
        if self.record or keys > MAX_KEYS:
            return None
        return head_alphas(self.sparsity, nodes)

    def _halo(self, tile: slice, length: int) -> slice:
        """The columns of a tile and of its neighbors; whole texts have none beyond the tile.

        Its ends are multiples of 16: other products of matrices are up to a half slower.
        """
        beyond = self.radius if tile.stop - tile.start < length else 0
        begin = max(tile.start - beyond, 0) // 16 * 16
        end = -(-(tile.stop + beyond) // 16) * 16
        return slice(begin, end)

    def _sources(
        self,
        window: list[Tensor],
        middle: int,
        itself: list[Tensor] | None,
        with_embedding: bool,
    ) -> tuple[list[list[Tensor]], list[tuple[int, int | None]]]:
        """Where the keys of a tile's tokens are, but for the relay, and their places there.

        The tile begins at column `middle` of the window; `itself` are the tokens' embeddings, if
        these are not the nodes.
        """
        steps = range(-self.radius, self.radius + 1)
        key_places: list[tuple[int, int | None]] = [
            (0, middle + step) for step in steps
        ]
        if itself is not None:
            return [window, itself], [*key_places, (1, 0)]
        if with_embedding:
            key_places.append((0, middle))
        return [window], key_places

    def _attend(
        self,
        query: Tensor,
        sources: Sequence[Sequence[Tensor]],
        key_places: Places,
        bias: Tensor,
    ) -> Tensor:
        """Mix the values of a tile: (H, head_dim, M)."""
        keys, values = zip(*sources, strict=True)
        scores = _Dot.apply(query, bias, key_places, *keys) * self.scale
        weights = self._weigh(scores[None], None, 2)[0]
        return _Mix.apply(weights.to(query.dtype), key_places, *values)

    def _project(self, linear: nn.Linear, columns: Columns) -> Tensor:
        """(H, head_dim, M)."""
        return columns.through(linear).unflatten(0, (self.heads, self.head_dim))

    def _memory(self, columns: Columns) -> list[Tensor]:
        """Key and value of each column."""
        return [
            self._unit(self._project(self.key, columns), 1),
            self._project(self.value, columns),
        ]

    def _bias(self, mask: Tensor, with_embedding: bool, like: Tensor) -> Tensor:
        """(K, M): 0 where there is a key, -inf at padding and beyond the text's ends."""
        real = torch.stack(self._real(mask, with_embedding)).flatten(1)
        bias = like.new_zeros(real.shape)
        return bias.masked_fill_(~real, -math.inf)

    def _real(self, mask: Tensor, with_embedding: bool) -> list[Tensor]:
        """Which tokens (B, S) have each of the K keys: the window, themselves, the relay."""
        real = self._windows(mask)
        if with_embedding:
            real.append(mask)
        return [*real, torch.ones_like(mask)]


def _relays_of(
    relays: Sequence[Tensor], texts: slice, tile: slice
) -> tuple[list[Tensor], int | None]:
    """Key and value of the relays of a tile's texts, and the offset of a token's own there."""
    hub = [side[..., texts].contiguous() for side in relays]
    if hub[0].shape[-1] == 1:
        return hub, None
    return [repeated(side, tile) for side in hub], 0
