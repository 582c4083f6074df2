"""The prediction head of the rankers: features in, log-probabilities of the two classes out."""

from typing import Literal

import torch
from torch import Tensor, nn

Order = Literal["relu-norm", "norm-tanh"]


class PredictionHead(nn.Module):
    """A hidden layer, its normalisation and a two-way log-softmax (samCNN, section 2.3).

    The paper has ReLU, then batch normalisation; the released code has batch normalisation, tanh
    and dropout.
    """

    def __init__(
        self, *, input_dim: int, hidden: int, order: Order, dropout: float, features: int = 0
    ) -> None:
        """Build the head.

        Args:
            input_dim: size of the encoded pair.
            hidden: size of the hidden layer.
            order: "relu-norm" (the paper) or "norm-tanh" (the released code).
            dropout: probability, on the hidden layer.
            features: number of extra features, joined to the hidden layer.

        Raises:
            ValueError: for another order.
        """
        super().__init__()
        if order not in ("relu-norm", "norm-tanh"):
            raise ValueError(f"order is {order!r}; expected 'relu-norm' or 'norm-tanh'")
        self.features = features
        self.hidden = nn.Linear(input_dim, hidden)
        self.norm = nn.BatchNorm1d(hidden)
        self.order = order
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(hidden + features, 2)

    def hidden_layer(self, encoded: Tensor) -> Tensor:
        """The hidden layer o, (B, hidden).

        In the paper's order it is the output of ReLU, before its normalisation; in that of the
        released code, the output of tanh.

        Args:
            encoded: (B, input_dim).
        """
        hidden = self.hidden(encoded)
        if self.order == "relu-norm":
            return torch.relu(hidden)
        return torch.tanh(self.norm(hidden))

    def forward(self, encoded: Tensor, features: Tensor | None = None) -> Tensor:
        """Log-probabilities (B, 2) of (not relevant, relevant).

        Args:
            encoded: (B, input_dim).
            features: (B, N), exactly where the head was built for N > 0.

        Raises:
            ValueError: features missing, or more or fewer than the head was built for.
        """
        got = 0 if features is None else features.shape[1]
        if got != self.features:
            raise ValueError(f"the head got {got} extra features; it was built for {self.features}")
        hidden = self.hidden_layer(encoded)
        if self.order == "relu-norm":
            hidden = self.norm(hidden)
        hidden = self.dropout(hidden)
        if features is not None:
            hidden = torch.cat([hidden, features.to(hidden)], dim=1)
        return torch.log_softmax(self.output(hidden), dim=1)
