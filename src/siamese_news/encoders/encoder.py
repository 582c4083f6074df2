"""The base class of the encoders, which turn the word vectors of a text into one vector.

Shape letters: B texts, S tokens, E embedding size, H heads, D output size, W = 2c + 1 window.
"""

from dataclasses import dataclass
from inspect import signature
from typing import Any, Self

import torch
from torch import Tensor, nn

from siamese_news.attention import Attention
from siamese_news.attention.word_projections import Words
from siamese_news.errors import InputError
from siamese_news.sparsity.maps import Sparsity
from siamese_news.sparsity.plain_calls import is_traced


@dataclass(frozen=True, slots=True)
class Explanation:
    """The contributions of the tokens of a text to its vector, with the attention weights.

    Attributes:
        vectors: (B, D).
        contributions: (B, S), the share of each token in the vector, 0 at padding; for a linear
            encoder the shares of a text sum to 1.
        attention: weights (B, H, queries, K) by the name of the attention in the encoder. The keys
            of a ring are the window from left to right, then e_i if it is a key, then the relay;
            those of a star are the tokens, then the relay if it attends to itself.
        alphas: (H,) by the name of the sparsity in the encoder.

    Example:
        >>> import torch
        >>> from siamese_news.encoders import BagEncoder
        >>> mask = torch.tensor([[True, True, False]])
        >>> explanation = BagEncoder(input_dim=2).explain(torch.ones(1, 3, 2), mask)
        >>> explanation.contributions
        tensor([[0.5000, 0.5000, 0.0000]])
    """

    vectors: Tensor
    contributions: Tensor
    attention: dict[str, Tensor]
    alphas: dict[str, Tensor]


class Encoder(nn.Module):
    """Base of the encoders.

    In `forward` the real tokens of a text come first, padding after them. Padding and the other
    texts of a batch never change a result, and a text without a token has a defined vector.

    A call takes the masks of other frameworks, too: whole numbers or floats of 0 and 1, padding on
    the left or between tokens, and embeddings that are NaN behind the mask. A compiler or exporter
    that records a call gets the bare `forward`, whose padding is on the right and finite.

    Args:
        input_dim: E.
        output_dim: D.

    Attributes:
        uses_weights: whether `forward` reads `weights`.
        is_bag: whether a vector is a linear map, `output` or none, of the mean of the embeddings.
        has_factors: whether there are `heads`: a factor for each token's weight in a lexical head.

    Raises:
        ValueError: a size below 1.

    Example:
        >>> import torch
        >>> from siamese_news.encoders import Encoder
        >>> class First(Encoder):
        ...     def forward(self, embeddings, mask, weights=None):
        ...         return embeddings[:, 0] * mask[:, :1]
        >>> encoder = First(input_dim=2, output_dim=2)
        >>> encoder(torch.ones(1, 3, 2), torch.tensor([[True, True, False]]))
        tensor([[1., 1.]])
    """

    uses_weights: bool = False
    has_factors: bool = False
    is_bag: bool = False

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Keep the arguments, which the folder of a model has to name (`arguments`)."""
        encoder = super().__new__(cls)
        encoder.__dict__["_arguments"] = (arguments, options)
        return encoder

    def __init__(self, *, input_dim: int, output_dim: int) -> None:
        super().__init__()
        if input_dim < 1 or output_dim < 1:
            raise ValueError(
                f"{type(self).__name__} got {input_dim=}, {output_dim=}; expected at least 1"
            )
        self.input_dim = input_dim
        self.output_dim = output_dim

    def arguments(self) -> dict[str, Any]:
        """The arguments that it was made with, by name.

        Raises:
            InputError: it is a copy, which does not have them.
        """
        made_with = vars(self)["_arguments"]
        if made_with is None:
            raise InputError(
                f"encoder {type(self).__name__}: is a copy, which does not know its arguments; make "
                "it anew, and give it to SiameseModule itself"
            )
        positional, options = made_with
        return signature(type(self)).bind_partial(*positional).arguments | options

    def __getstate__(self) -> dict[str, Any]:
        # Without the arguments, which may be functions that cannot be pickled.
        state: dict[str, Any] = super().__getstate__()  # type: ignore[no-untyped-call]
        return {**state, "_arguments": None}

    def __call__(
        self, embeddings: Tensor, mask: Tensor, weights: Tensor | None = None
    ) -> Tensor:
        """The result of `forward`, whatever the form of the mask.

        Raises:
            InputError: the mask or the weights have another shape than the tokens, or the mask has
                values but 0 and 1.
        """
        embeddings, mask, weights, _ = padded_right(embeddings, mask, weights)
        arguments = () if weights is None else (weights,)
        vectors: Tensor = super().__call__(embeddings, mask, *arguments)
        return vectors

    def forward(
        self, embeddings: Tensor, mask: Tensor, weights: Tensor | None = None
    ) -> Tensor:
        """Encode a batch.

        Args:
            embeddings: (B, S, E).
            mask: (B, S) bool, True = a real token.
            weights: (B, S), the importance of each token (IDF and the like); None is 1 for all.

        Returns:
            (B, D).
        """
        raise NotImplementedError

    def encode_words(
        self, words: Words, rows: Tensor, mask: Tensor, weights: Tensor | None = None
    ) -> Tensor:
        """The result of `forward` for tokens that are looked up among distinct words.

        Args:
            words: the words of many batches; what depends on a word alone is computed only once.
            rows: (B, S) int64, the word of each token; any value at padding.
            mask: see `forward`.
            weights: see `forward`.
        """
        return self(words.dense(rows, mask), mask, weights)

    def heads(
        self, embeddings: Tensor, mask: Tensor, weights: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The result of `forward`, (B, D), and a factor for each token, (B, S), 0 at padding."""
        raise NotImplementedError

    def alphas(self) -> dict[str, Tensor]:
        """The alpha of each head, (H,), by the name of the sparsity in the encoder."""
        return {
            name: module.alphas()
            for name, module in self.named_modules()
            if isinstance(module, Sparsity)
        }

    def explain(
        self,
        embeddings: Tensor,
        mask: Tensor,
        weights: Tensor | None = None,
        towards: Tensor | None = None,
    ) -> Explanation:
        """The vectors of `forward`, explained by the tokens; all of it detached.

        With `towards` (B, D) a contribution is the token's share of the dot product of its text's
        vector with this one, not divided by anything. None is the text's own vector, divided by its
        squared length.

        Raises:
            InputError: the mask does not fit, or has padding before a token.
        """
        mask = real_tokens(embeddings, mask)
        if bool((mask[:, 1:] > mask[:, :-1]).any()):
            raise InputError(
                "explain: the mask has padding before a token; expected all of it behind the tokens, "
                "by whose positions the attention is recorded"
            )
        attentions = {
            name: module
            for name, module in self.named_modules()
            if isinstance(module, Attention)
        }
        for module in attentions.values():
            module.record = True
        try:
            with torch.enable_grad():
                inputs = embeddings.detach().requires_grad_()
                vectors = self(inputs, mask, weights)
                target = vectors.detach() if towards is None else towards
                if target.dtype != torch.float64:
                    target = target.float()
                if towards is None:
                    target = target / target.square().sum(1, keepdim=True).clamp(
                        min=1e-12
                    )
                # Gradient times input: exact where the encoder is linear.
                (gradient,) = torch.autograd.grad((vectors * target).sum(), inputs)
            contributions = (gradient * inputs.detach()).sum(2).masked_fill(~mask, 0.0)
            recorded = {
                name: module.recorded.detach()
                for name, module in attentions.items()
                if module.recorded is not None
            }
        finally:
            for module in attentions.values():
                module.record = False
                module.recorded = None
        return Explanation(vectors.detach(), contributions, recorded, self.alphas())


def real_tokens(embeddings: Tensor, mask: Tensor) -> Tensor:
    """A mask (B, S) of 0 and 1 of any type as bool; embeddings (B, S, E) have its shape.

    It may be an array of numpy or a list of lists, too.

    Raises:
        InputError: it has another shape, or other values.
    """
    if not isinstance(mask, Tensor):
        mask = torch.as_tensor(mask, device=embeddings.device)
    if not is_traced() and mask.shape != embeddings.shape[:2]:
        raise InputError(
            f"the mask has the shape {tuple(mask.shape)}, the embeddings {tuple(embeddings.shape)}; "
            f"expected a mask of {tuple(embeddings.shape[:2])}, True at each real token"
        )
    if mask.dtype == torch.bool:
        return mask
    real = mask != 0
    if not is_traced() and not bool((mask == real).all()):
        raise InputError(
            f"the mask has values from {mask.min().item()} to {mask.max().item()}; expected True or "
            "1 at a real token and False or 0 at padding (an additive mask is converted by mask == 0)"
        )
    return real


def padded_right(
    embeddings: Tensor, mask: Tensor, weights: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """A batch whose real tokens come first, with 0 behind them where it had values not finite.

    Returns:
        embeddings (B, S, E), mask (B, S), weights (B, S) or None, and where each token was: (B, S)
        int64, or None if none moved.

    Raises:
        InputError: the mask or the weights have another shape than the tokens, or the mask has
            values but 0 and 1.
    """
    mask = real_tokens(embeddings, mask)
    if weights is not None and weights.shape != mask.shape:
        raise InputError(
            f"weights: got shape {tuple(weights.shape)} for tokens {tuple(mask.shape)}; expected "
            "a weight for each token"
        )
    if is_traced():
        return embeddings, mask, weights, None
    gaps = (mask[:, 1:] > mask[:, :-1]).any()
    total = embeddings.sum() + (0.0 if weights is None else weights.sum())
    if not bool(gaps | ~total.isfinite()):
        return embeddings, mask, weights, None
    order = (~mask).to(torch.uint8).argsort(dim=1, stable=True)
    embeddings = embeddings.masked_fill(~mask[:, :, None], 0.0)
    embeddings = embeddings.take_along_dim(order[:, :, None], 1)
    if weights is not None:
        weights = weights.masked_fill(~mask, 0.0).gather(1, order)
    return embeddings, mask.gather(1, order), weights, order


def weighted_mean(
    states: Tensor,
    mask: Tensor,
    weights: Tensor | None = None,
    lead: float | None = None,
) -> Tensor:
    """Mean over the real tokens: states (B, S, E) -> (B, E); zeros for a text without one.

    Weights (B, S) are not negative; the mean is zero where all weights of a text are. `lead` is the
    position that counts half as much as the first one (`lead_weights`).
    """
    # Half precision holds neither the smallest sum nor the sum of a long text.
    wide = torch.float64 if states.dtype == torch.float64 else torch.float32
    shares = mask.to(wide)
    if lead is not None:
        shares = shares * lead_weights(torch.arange(mask.shape[1]).to(shares), lead)
    if weights is not None:
        shares = shares * weights.to(wide)
    shares = shares / shares.sum(1, keepdim=True).clamp(min=1e-12)
    return (shares[:, None].to(states.dtype) @ states).squeeze(1)


def places_of(starts: Tensor, count: int) -> Tensor:
    """The position of each token in its text, (N,), for concatenated texts.

    Args:
        starts: (B,) int64, where each text begins.
        count: N.

    Example:
        >>> import torch
        >>> from siamese_news.encoders import places_of
        >>> places_of(torch.tensor([0, 3]), 5)  # a text of three tokens, and one of two
        tensor([0, 1, 2, 0, 1])
    """
    lengths = torch.diff(starts, append=starts.new_tensor([count]))
    return torch.arange(count, device=starts.device) - starts.repeat_interleave(lengths)


def lead_weights(positions: Tensor, half: float) -> Tensor:
    """The weight of a token by its position, 1 at the first: news puts first what matters most.

    Args:
        positions: 0 is the first.
        half: the position that counts 1/2.

    Example:
        >>> import torch
        >>> from siamese_news.encoders import lead_weights
        >>> lead_weights(torch.tensor([0, 50, 150]), 50.0)
        tensor([1.0000, 0.5000, 0.2500])
    """
    return 1 / (1 + positions / half)


def masked_max(states: Tensor, mask: Tensor) -> Tensor:
    """Maximum over the real tokens: states (B, S, E) -> (B, E); zeros for a text without one."""
    if not is_traced() and states.shape[1] == 0:
        return states.sum(1)
    if not is_traced() and mask.all():  # no copy
        return states.amax(1)
    # Not -inf, which would become 0 * inf in the gradient of a text without tokens.
    limits = torch.finfo(states.dtype)
    ceiling = states.new_full(mask.shape, limits.max).masked_fill_(~mask, limits.min)
    # A third of the time of `where`.
    highest = torch.minimum(states, ceiling[:, :, None]).amax(1)
    return highest.masked_fill(~mask.any(1, keepdim=True), 0.0)


def sinusoids(length: int, dim: int, like: Tensor) -> Tensor:
    """Sinusoidal positions (Vaswani et al. 2017, section 3.5): (length, dim)."""
    steps = torch.arange(length, device=like.device, dtype=torch.float32)[:, None]
    rates = 10_000 ** (
        -torch.arange(0, dim, 2, device=like.device, dtype=torch.float32) / dim
    )
    angles = steps * rates
    return (
        torch.stack([angles.sin(), angles.cos()], 2).flatten(1)[:, :dim].to(like.dtype)
    )
