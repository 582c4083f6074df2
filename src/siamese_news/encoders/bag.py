"""The bag of words, the baseline that every other encoder has to beat."""

from typing import Literal

from torch import Tensor, nn
from typing_extensions import override

from siamese_news.encoders.encoder import Encoder, weighted_mean
from siamese_news.utils.choices import check_choice

Weighting = Literal["mean", "idf"]


class BagEncoder(Encoder):
    """Mean of the word vectors, plain or weighted, with an optional linear map.

    Args:
        input_dim: E.
        weighting: ``"mean"``, or ``"idf"`` for the mean weighted by `weights`.
        output_dim: D of a trained linear map; None for none, and then nothing is trained.
        lead: the position at which a word counts half as much as the first one (`lead_weights`);
            None weighs all positions alike.

    Raises:
        ValueError: a size below 1, another weighting, or a `lead` that is not above 0.

    Example:
        >>> import torch
        >>> from siamese_news.encoders import BagEncoder
        >>> embeddings = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [9.0, 9.0]]])  # (B, S, E)
        >>> mask = torch.tensor([[True, True, False]])  # the third token is padding
        >>> BagEncoder(input_dim=2)(embeddings, mask)
        tensor([[0.5000, 0.5000]])
    """

    is_bag = True

    def __init__(
        self,
        *,
        input_dim: int,
        weighting: Weighting = "mean",
        output_dim: int | None = None,
        lead: float | None = None,
    ) -> None:
        super().__init__(input_dim=input_dim, output_dim=output_dim or input_dim)
        check_choice("weighting", weighting, Weighting)
        if lead is not None and not lead > 0:
            raise ValueError(
                f"BagEncoder got lead={lead}; expected a position above 0, or None"
            )
        self.uses_weights = weighting == "idf"
        self.lead = lead
        self.output: nn.Linear | None = None
        if output_dim is not None:
            self.output = nn.Linear(input_dim, output_dim, bias=False)
            # An orthogonal map leaves the cosines of the bag unchanged.
            nn.init.orthogonal_(self.output.weight)

    @override
    def forward(
        self, embeddings: Tensor, mask: Tensor, weights: Tensor | None = None
    ) -> Tensor:
        mean = weighted_mean(
            embeddings, mask, weights if self.uses_weights else None, self.lead
        )
        return mean if self.output is None else self.output(mean)
