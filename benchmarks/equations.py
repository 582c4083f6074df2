"""Ring and star attention as the AST paper's equations, which the package's forms are held to."""

from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from siamese_news.attention import RingAttention, StarAttention
from siamese_news.attention.word_projections import Columns

Module = TypeVar("Module", bound=nn.Module)


class RingEquations(RingAttention):
    """The ring with the context of every token copied."""

    def forward(
        self,
        nodes: Tensor,
        mask: Tensor,
        relay: Tensor,
        embeddings: Tensor | None = None,
        columns: Columns | None = None,
    ) -> Tensor:
        """See `RingAttention`."""
        length = nodes.shape[1]
        offsets = torch.arange(-self.radius, self.radius + 1, device=nodes.device)
        index = torch.arange(length, device=nodes.device)[:, None] + offsets  # (S, W)
        inside = (index >= 0) & (index < length)
        index = index.clamp(0, max(length - 1, 0))
        context = [nodes[:, index]]  # (B, S, W, E)
        real = [mask[:, index] & inside]
        if embeddings is not None:
            context.append(embeddings[:, :, None])
            real.append(mask[:, :, None])
        context.append(relay[:, None, None].expand(-1, length, -1, -1))
        real.append(torch.ones_like(mask[:, :, None]))
        contexts = torch.cat(context, 2)  # (B, S, K, E): C_i of Eq. 5
        query = self._unit(self._split(self.query(nodes)))
        key = self._unit(self._split(self.key(contexts)))
        value = self._split(self.value(contexts))
        scores = torch.einsum("bshd,bskhd->bhsk", query, key) * self.scale
        weights = self._weigh(scores, torch.cat(real, 2)[:, None], -1)
        mixed = torch.einsum("bhsk,bskhd->bshd", weights.to(value.dtype), value)
        return self._joined(mixed.flatten(2))


class StarEquations(StarAttention):
    """The star with every token projected."""

    def forward(self, relay: Tensor, nodes: Tensor, mask: Tensor) -> Tensor:
        """See `StarAttention`."""
        query = self._unit(self._split(self.query(relay)))
        if self.attends_itself:
            nodes = torch.cat([nodes, relay[:, None]], 1)
            mask = F.pad(mask, (0, 1), value=True)
        key = self._unit(self._split(self.key(nodes)))
        weights = self._weights(torch.einsum("bhd,bshd->bhs", query, key), mask)
        value = self._split(self.value(nodes))
        mixed = torch.einsum("bhs,bshd->bhd", weights.to(value.dtype), value)
        return self._joined(mixed.flatten(1))


def as_equations(module: Module) -> Module:
    """The module itself, whose rings and stars compute the equations from now on."""
    for part in module.modules():
        if type(part) is RingAttention:
            part.__class__ = RingEquations
        elif type(part) is StarAttention:
            part.__class__ = StarEquations
    return module
