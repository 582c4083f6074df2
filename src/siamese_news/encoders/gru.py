"""The recurrent encoders of the AST paper's comparison."""

from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from siamese_news.encoders.base import Encoder


class GRUEncoder(Encoder):
    """The final states of a GRU, of both directions if bidirectional. No padding is computed.

    Args:
        input_dim: E.
        hidden_dim: the size of a state in each direction.
        bidirectional: whether a second GRU reads backwards: D = 2 * hidden_dim.

    Raises:
        ValueError: a size below 1.

    Example:
        >>> import torch
        >>> from siamese_news.encoders import GRUEncoder
        >>> encoder = GRUEncoder(input_dim=40, hidden_dim=150, bidirectional=True)
        >>> mask = torch.arange(9) < torch.tensor([[9], [4]])
        >>> encoder(torch.randn(2, 9, 40), mask).shape
        torch.Size([2, 300])
    """

    def __init__(
        self, *, input_dim: int, hidden_dim: int = 300, layers: int = 1, bidirectional: bool = False
    ) -> None:
        super().__init__(input_dim=input_dim, output_dim=hidden_dim * (1 + bidirectional))
        self.gru = nn.GRU(
            input_dim, hidden_dim, layers, batch_first=True, bidirectional=bidirectional
        )

    def forward(self, embeddings: Tensor, mask: Tensor, weights: Tensor | None = None) -> Tensor:
        """See `Encoder`. The vector of a text without a token is zero."""
        if 0 in mask.shape:
            return embeddings.new_zeros(len(mask), self.output_dim)
        lengths = mask.sum(1)
        packed = pack_padded_sequence(
            embeddings, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False
        )
        _, states = self.gru(packed)  # (layers * directions, B, hidden)
        directions = 1 + self.gru.bidirectional
        final = states[-directions:].transpose(0, 1).flatten(1)
        return final * (lengths > 0)[:, None]
