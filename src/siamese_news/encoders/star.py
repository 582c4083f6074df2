"""The Adaptive Star Transformer, the encoder of the AST paper (section 3)."""

from collections.abc import Callable, Iterator
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from siamese_news.attention import RingAttention, Similarity, StarAttention
from siamese_news.attention.word_projections import Columns, Words
from siamese_news.encoders.encoder import Encoder, masked_max, sinusoids, weighted_mean
from siamese_news.sparsity.maps import AdaptiveEntmax, Sparsity
from siamese_news.utils.choices import check_choice

Activation = Literal["none", "relu", "leaky_relu", "gelu"]
Kind = Literal["none", "add", "zero_init", "block"]
BLOCK_START = 0.3
Positions = Literal["none", "sinusoidal"]
Pooling = Literal["max_relay", "mean_relay", "idf_relay"]
# Functions with names: an encoder is pickled for processes that are spawned.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "none": torch.positive,
    "relu": F.relu,
    "leaky_relu": F.leaky_relu,
    "gelu": F.gelu,
}


class StarEncoder(Encoder):
    """Reads a text in time linear in its length, over a ring of neighbors and one relay.

    In each of T cycles every token h_i attends to its context, its 2c + 1 neighbors and the relay
    s (Eq. 5 and 6); then the relay attends to every token. Each option is a point that the paper
    leaves open, or on which its released code differs from it.

    With ``feed_forward=4, pre_norm=True, residual="block"`` it is a Transformer whose attention
    is the ring and the star, LN a layer norm with weights of its own at each place:

        h_i <- h_i + ring(LN h, LN s)_i
        s   <- s + star(LN s, LN h)
        h_i <- h_i + W_2 gelu(W_1 LN h_i + b_1) + b_2        W_1: E -> 4 E

    for each cycle, from h = e and s = s_0, their mean. The whole block is then added through one
    learned factor g that starts at .3: the pooling reads e_i + g (h_i - e_i) and s_0 + g (s - s_0).

    Args:
        input_dim: E = D.
        sparsity: called with ``heads=H`` for each ring and each star.
        heads: H; None is 10, as in the released code and in the paper's Fig. 3.
        head_dim: the size of a head; None takes E / H, as Eq. 3 needs, where `heads` is given, and
            else the released code's 30. With a number of its own H * head_dim need not be E.
        window: c, neighbors on each side.
        cycles: T; each cycle has separate weights.
        context_includes_embedding: whether e_i is a key too; in the released code, not in Eq. 5.
        relay_attends_itself: whether the keys of the relay are [s; H], as in the released code, or
            H alone.
        similarity: ``"dot"`` (scaled, the released code) or ``"cosine"`` (the paper's example).
        scale: factor of the similarity; None is 1 / sqrt(head_dim) for ``"dot"`` and 1
            for ``"cosine"``.
        bias: whether queries and outputs have a bias.
        output_projection: whether the heads of a ring or star go through a linear map together, as
            in the released code. Eq. 3 only concatenates them, which needs heads * head_dim = E.
        layer_norm: whether tokens are normalized before the ring and once more after the last
            cycle (Star-Transformer; gone from the released code).
        activation: after ring and star: ``"none"`` (paper, released code), ``"relu"``,
            ``"leaky_relu"`` (an earlier state of the code) or ``"gelu"``.
        residual: ``"none"`` (paper, released code), ``"add"``, or ``"zero_init"``: the update is
            added through one learned factor for each coordinate that starts at zero, so that the
            encoder starts as its pooling of the word vectors; or ``"block"``: updates are added,
            and all of them together through one learned number that starts at .3.
        pre_norm: whether tokens and relay are normalized before each ring and star, and tokens
            before each feed-forward layer; in place of `layer_norm`.
        feed_forward: the width of the feed-forward layer behind each star, as a multiple of E; 0 is
            no such layer (paper, released code).
        positions: ``"none"`` (paper, released code) or ``"sinusoidal"``.
        pooling: ``"max_relay"`` is (max(H) + s) / 2 as in the paper; ``"mean_relay"`` and
            ``"idf_relay"`` have the mean of H, plain or weighted by `weights`, in place of the
            maximum. The relay starts as the mean of the same kind.
        lead: the position at which a token counts half as much as the first one in these means
            (`lead_weights`); None (paper, released code) weighs all positions alike.
        dropout: share dropped of the input and of each update in training.

    Raises:
        ValueError: an option is not among its choices, a size is below 1, `lead` is not above 0,
            or `heads` is given without `head_dim` and does not divide `input_dim`.

    Example:
        >>> import torch
        >>> from siamese_news.encoders import StarEncoder
        >>> from siamese_news.sparsity import Sparsemax
        >>> encoder = StarEncoder(input_dim=60, heads=10, sparsity=Sparsemax)
        >>> embeddings = torch.randn(2, 200, 60)  # (B, S, E)
        >>> mask = torch.arange(200) < torch.tensor([[200], [7]])  # True is a real token
        >>> encoder(embeddings, mask).shape
        torch.Size([2, 60])
        >>> StarEncoder(input_dim=60, heads=7)
        Traceback (most recent call last):
        ...
        ValueError: StarEncoder got heads=7 for input_dim=60, which it does not divide; ...
    """

    def __init__(
        self,
        *,
        input_dim: int,
        sparsity: Callable[..., Sparsity] = AdaptiveEntmax,
        heads: int | None = None,
        head_dim: int | None = None,
        window: int = 2,
        cycles: int = 1,
        context_includes_embedding: bool = False,
        relay_attends_itself: bool = False,
        similarity: Similarity = "dot",
        scale: float | None = None,
        bias: bool = True,
        output_projection: bool = True,
        layer_norm: bool = False,
        activation: Activation = "none",
        residual: Kind = "zero_init",
        positions: Positions = "none",
        pooling: Pooling = "idf_relay",
        lead: float | None = None,
        dropout: float = 0.0,
        pre_norm: bool = False,
        feed_forward: int = 0,
    ) -> None:
        super().__init__(input_dim=input_dim, output_dim=input_dim)
        check_choice("activation", activation, Activation)
        check_choice("residual", residual, Kind)
        check_choice("positions", positions, Positions)
        check_choice("pooling", pooling, Pooling)
        if cycles < 1:
            raise ValueError(f"StarEncoder got cycles={cycles}; expected at least 1")
        if feed_forward < 0:
            raise ValueError(
                f"StarEncoder got {feed_forward=}; expected 0, or a width above it"
            )
        if lead is not None and not lead > 0:
            raise ValueError(
                f"StarEncoder got lead={lead}; expected a position above 0, or None"
            )
        if layer_norm and pre_norm:
            raise ValueError(
                "StarEncoder got layer_norm=True and pre_norm=True, two places of the same layer; "
                "expected one of them"
            )
        heads, head_dim = _heads(input_dim, heads, head_dim)
        self.context_includes_embedding = context_includes_embedding
        self.activation = ACTIVATIONS[activation]
        self.positions = positions
        self.pooling = pooling
        self.uses_weights = pooling == "idf_relay"
        self.lead = lead
        shared = {
            "dim": input_dim,
            "heads": heads,
            "head_dim": head_dim,
            "sparsity": sparsity,
            "similarity": similarity,
            "scale": scale,
            "bias": bias,
            "output_projection": output_projection,
        }
        self.rings = nn.ModuleList(
            RingAttention(radius=window, **shared) for _ in range(cycles)
        )
        self.stars = nn.ModuleList(
            StarAttention(attends_itself=relay_attends_itself, **shared)
            for _ in range(cycles)
        )
        self.residuals = nn.ModuleList(
            Residual(input_dim, residual) for _ in range(2 * cycles)
        )
        self.layer_norm = layer_norm
        self.pre_norm = pre_norm
        count = cycles + 1 if layer_norm else 0
        if pre_norm:
            count = cycles * (3 if feed_forward else 2)
        self.norms = nn.ModuleList(nn.LayerNorm(input_dim) for _ in range(count))
        self.dropout = nn.Dropout(dropout)
        # Of one block of the Transformer; empty lists without one, so that saved weights fit.
        layers = cycles if feed_forward else 0
        width = input_dim * feed_forward
        self.feed_forwards = nn.ModuleList(
            nn.Sequential(
                nn.Linear(input_dim, width), nn.GELU(), nn.Linear(width, input_dim)
            )
            for _ in range(layers)
        )
        self.forward_residuals = nn.ModuleList(
            Residual(input_dim, residual) for _ in range(layers)
        )
        self.block_factor = (
            nn.Parameter(torch.tensor(BLOCK_START)) if residual == "block" else None
        )

    def forward(
        self, embeddings: Tensor, mask: Tensor, weights: Tensor | None = None
    ) -> Tensor:
        """See `Encoder`. A text without a token has the vector of its relay, which starts at 0."""
        return self.pool(*self.states(embeddings, mask, weights), mask, weights)

    def encode_words(
        self, words: Words, rows: Tensor, mask: Tensor, weights: Tensor | None = None
    ) -> Tensor:
        """See `Encoder`. The first ring's queries, keys and values are those of the words."""
        embeddings = words.dense(rows, mask)
        # They are not if a layer lies between the words and the ring.
        reads_words = (
            self.positions == "none" and not len(self.norms) and not self.training
        )
        states = self.states(
            embeddings, mask, weights, words.at(rows) if reads_words else None
        )
        return self.pool(*states, mask, weights)

    def states(
        self,
        embeddings: Tensor,
        mask: Tensor,
        weights: Tensor | None = None,
        columns: Columns | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The tokens H (B, S, E), undefined at padding, and the relay s (B, E) after the cycles.

        `columns` are the embeddings once more, for the first ring; see `RingAttention`.
        """
        if self.positions == "sinusoidal":
            embeddings = embeddings + sinusoids(
                mask.shape[1], self.input_dim, embeddings
            )
        weights = weights if self.uses_weights else None
        embeddings = self.dropout(embeddings)
        nodes = embeddings
        relay = mean = weighted_mean(embeddings, mask, weights, self.lead)
        own_keys = embeddings if self.context_includes_embedding else None
        norms = iter(self.norms)
        for cycle, (ring, star) in enumerate(zip(self.rings, self.stars, strict=True)):
            ring_nodes, ring_relay = self._normalized(norms, nodes, relay)
            update = ring(ring_nodes, mask, ring_relay, own_keys, columns)
            columns = None
            nodes = self.residuals[2 * cycle](
                nodes, self.dropout(self.activation(update))
            )
            star_nodes = nodes
            star_relay = relay
            if self.pre_norm:
                star_nodes, star_relay = self._normalized(norms, nodes, relay)
            update = star(star_relay, star_nodes, mask)
            relay = self.residuals[2 * cycle + 1](
                relay, self.dropout(self.activation(update))
            )
            if len(self.feed_forwards):
                hidden = next(norms)(nodes) if self.pre_norm else nodes
                update = self.dropout(self.feed_forwards[cycle](hidden))
                nodes = self.forward_residuals[cycle](nodes, update)
        if self.layer_norm:
            nodes = next(norms)(nodes)
        if self.block_factor is not None:
            nodes = embeddings + self.block_factor * (nodes - embeddings)
            relay = mean + self.block_factor * (relay - mean)
        return nodes, relay

    def pool(
        self, nodes: Tensor, relay: Tensor, mask: Tensor, weights: Tensor | None = None
    ) -> Tensor:
        """The text's vector (B, E) from the result of `states`."""
        if self.pooling == "max_relay":
            return (masked_max(nodes, mask) + relay) / 2
        weights = weights if self.uses_weights else None
        return (weighted_mean(nodes, mask, weights, self.lead) + relay) / 2

    def _normalized(
        self, norms: Iterator[nn.Module], nodes: Tensor, relay: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Tokens and, with `pre_norm`, the relay through the next layer norm, if there is one."""
        if not (self.layer_norm or self.pre_norm):
            return nodes, relay
        norm = next(norms)
        return norm(nodes), norm(relay) if self.pre_norm else relay


class Residual(nn.Module):
    """How an update changes the state: it replaces the state or is added to it."""

    def __init__(self, dim: int, kind: Kind) -> None:
        super().__init__()
        self.kind = kind
        self.factor = nn.Parameter(torch.zeros(dim)) if kind == "zero_init" else None

    def forward(self, state: Tensor, update: Tensor) -> Tensor:
        """Both (..., E)."""
        if self.kind == "none":
            return update
        return state + (update if self.factor is None else update * self.factor)


def _heads(width: int, heads: int | None, head_dim: int | None) -> tuple[int, int]:
    """H and the size of a head; those of the released code if neither is given."""
    if head_dim is not None or heads is None:
        return 10 if heads is None else heads, 30 if head_dim is None else head_dim
    if heads < 1 or width % heads:
        divisors = [str(number) for number in range(1, 33) if width % number == 0]
        raise ValueError(
            f"StarEncoder got heads={heads} for input_dim={width}, which it does not divide; "
            f"expected a divisor ({', '.join(divisors)}), or give head_dim as well: "
            "heads * head_dim need not be input_dim"
        )
    return heads, width // heads
