"""The original recipe as a peer: copied windows, 50 bisections, every projection computed.

The weights and the results equal those of the package's encoder; only the computation differs.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.equations import as_equations
from siamese_news.attention import RingAttention
from siamese_news.attention.word_projections import Columns
from siamese_news.encoders import StarEncoder, build_encoder


def star(
    dim: int, original: bool = False, sparsity: str = "AdaptiveEntmax"
) -> StarEncoder:
    """The star encoder with the settings of the AST paper, either way, with the same weights."""
    torch.manual_seed(1)
    encoder = build_encoder(
        {
            "class": "StarEncoder",
            "input_dim": dim,
            "heads": 10,
            "head_dim": dim // 10,
            "window": 2,
            "cycles": 1,
            "context_includes_embedding": True,
            "relay_attends_itself": True,
            "similarity": "dot",
            "scale": None,
            "bias": True,
            "layer_norm": False,
            "activation": "none",
            "residual": "none",
            "positions": "none",
            "pooling": "max_relay",
            "dropout": 0.0,
            "sparsity": {
                "class": sparsity,
                "backend": "entmax" if original else "newton",
            },
        }
    )
    assert isinstance(encoder, StarEncoder)
    if original:
        as_equations(encoder)
        encoder.rings = nn.ModuleList(_copying(ring) for ring in encoder.rings)
    return encoder


def _copying(ring: nn.Module) -> RingAttention:
    ring.__class__ = CopyingRing
    assert isinstance(ring, CopyingRing)
    return ring


class CopyingRing(RingAttention):
    """The ring through `torch.nn.functional.unfold`, keys between heads and tokens."""

    def forward(
        self,
        nodes: Tensor,
        mask: Tensor,
        relay: Tensor,
        embeddings: Tensor | None = None,
        columns: Columns | None = None,
    ) -> Tensor:
        """See `RingAttention`."""
        width = 2 * self.radius + 1
        batch, length, _ = nodes.shape

        def windows(states: Tensor) -> Tensor:  # (B, S, H * d) -> (B, H, d, W, S)
            columns = states.transpose(1, 2).unsqueeze(3)
            copies = F.unfold(columns, (width, 1), padding=(self.radius, 0))
            return copies.view(batch, self.heads, self.head_dim, width, length)

        def single(states: Tensor) -> Tensor:  # (B, S, H * d) -> (B, H, d, 1, S)
            split = states.view(batch, -1, self.heads, self.head_dim, 1)
            return split.permute(0, 2, 3, 4, 1).expand(-1, -1, -1, -1, length)

        parts = [
            torch.cat(
                [
                    windows(linear(nodes)),
                    *([] if embeddings is None else [single(linear(embeddings))]),
                    single(linear(relay)[:, None]),
                ],
                3,
            )
            for linear in (self.key, self.value)
        ]
        query = single(self.query(nodes))
        scores = (query * parts[0]).sum(2) * self.scale  # (B, H, K, S)
        real = [
            F.pad(mask, (self.radius, self.radius))[:, step : step + length]
            for step in range(width)
        ]
        real += [] if embeddings is None else [mask]
        open_keys = torch.stack([*real, torch.ones_like(mask)], 1)[:, None]
        weights = self._weigh(scores, open_keys, 2)
        mixed = (weights[:, :, None].to(parts[1].dtype) * parts[1]).sum(3)
        return self.output(mixed.permute(0, 3, 1, 2).flatten(2))
