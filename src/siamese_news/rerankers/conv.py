"""The general sentence encoder of samCNN: one convolution, maximum over time, a linear map."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from siamese_news.rerankers.pair import WordTexts


def window_valid(mask: Tensor, width: int) -> Tensor:
    """Which windows have a real token: (N, T) bool, of a mask (N, S).

    Windows start at t = -(width - 1) .. S - 1, so there are T = S + width - 1 of them: a text is
    padded with width - 1 zeros on both ends, as in the released code.
    """
    return pad(mask, (width - 1, width - 1)).unfold(1, width, 1).any(dim=2)


# Bytes of the slab (rows, Q, F) that one pass works on: near the cache, yet long enough that the
# calls of a pass cost little.
_SLAB = 1 << 20


# The maximum over windows of a weighted convolution. A convolution is linear in the tokens of its
# window: with token weights c, the value of window t is
#     y[q, t] = sum_j c[q, t + j] * u[w(t + j), j],     u[w, j] = W_j p_w.
# So u is computed once a word, and every query token only rescales it: no kernel per query token
# exists anywhere, although the paper writes one (samCNN, Eq. 1 and 4).
class WindowMax(torch.autograd.Function):
    """Maximum over the windows of a convolution whose input tokens are weighted per query token.

    Only the winning window of each (text, query token, filter) has a gradient.

    Args:
        projected: (U, J, F), word w through row j of the kernel: u[w, j] = W_j p_w.
        rows: (N, S) int64, the word of each token.
        weights: (N, Q, S), the weight of token s for query token q; zero at padding.
        valid: (N, S + J - 1) bool from `window_valid`.

    Returns:
        (N, Q, F); zero for a text without a valid window.
    """

    @staticmethod
    def forward(
        ctx: Any, projected: Tensor, rows: Tensor, weights: Tensor, valid: Tensor
    ) -> Tensor:
        """See the class."""
        winner: Tensor | None
        if projected.is_cuda:
            best, winner = _all_windows(projected, rows, weights, valid)
        else:
            best, winner = _in_slabs(
                projected, rows, weights, valid, winners=any(ctx.needs_input_grad)
            )
        empty = ~valid.any(dim=1)
        if bool(empty.any()):
            best[empty] = 0
        if any(ctx.needs_input_grad):
            ctx.save_for_backward(projected, rows, weights, winner, empty)
        return best

    @staticmethod
    def backward(
        ctx: Any, *gradients: Tensor
    ) -> tuple[Tensor | None, None, Tensor | None, None]:
        """The gradients of `projected` and of `weights`."""
        projected, rows, weights, winner, empty = ctx.saved_tensors
        tokens = rows.shape[1]
        width, filters = projected.shape[1:]
        gradient = gradients[0]
        winner = winner.long()
        if bool(empty.any()):
            gradient = gradient.masked_fill(empty[:, None, None], 0)
        to_projected = torch.zeros_like(projected) if ctx.needs_input_grad[0] else None
        # With zeros on both ends token j of window t is at t + j; no index is out of bounds,
        # and what lies outside the text has weight zero.
        padded = pad(weights, (width - 1, width - 1))
        to_padded = torch.zeros_like(padded) if ctx.needs_input_grad[2] else None
        words = rows[:, None].expand(-1, weights.shape[1], -1)
        for j in range(width):
            padded_index = winner + j if j else winner
            token = padded_index
            if width > 1:
                token = (padded_index - (width - 1)).clamp_(0, tokens - 1)
            word = words.gather(2, token).view(-1, filters)
            if to_projected is not None:
                scaled = padded.gather(2, padded_index).mul_(gradient).view(-1, filters)
                to_projected[:, j].scatter_add_(0, word, scaled)
            if to_padded is not None:
                change = projected[:, j].gather(0, word).view_as(gradient)
                to_padded.scatter_add_(2, padded_index, change * gradient)
        to_weights = None
        if to_padded is not None:
            to_weights = to_padded[:, :, width - 1 : width - 1 + tokens]
        return to_projected, None, to_weights, None


def _all_windows(
    projected: Tensor, rows: Tensor, weights: Tensor, valid: Tensor
) -> tuple[Tensor, Tensor]:
    """The maximum over the windows, and which one has it, from all values at once.

    On a GPU the time of a call counts, not the memory of (N, Q, T, F) values.
    """
    width = projected.shape[1]
    windows = valid.shape[1]
    outside = width - 1
    padded = pad(weights, (outside, outside)).unsqueeze(-1)
    tokens = pad(projected[rows], (0, 0, 0, 0, outside, outside)).unsqueeze(1)
    values = padded[:, :, :windows] * tokens[:, :, :windows, 0]
    for j in range(1, width):
        values.addcmul_(padded[:, :, j : j + windows], tokens[:, :, j : j + windows, j])
    values.masked_fill_(~valid[:, None, :, None], -torch.inf)
    best, winner = values.max(dim=2)
    return best, winner


def _in_slabs(
    projected: Tensor, rows: Tensor, weights: Tensor, valid: Tensor, *, winners: bool
) -> tuple[Tensor, Tensor | None]:
    """As `_all_windows`, with little memory: some texts at a time, window by window."""
    texts, windows = valid.shape
    filters = projected.shape[2]
    queries = weights.shape[1]
    shape = (texts, queries, filters)
    best = projected.new_empty(shape)
    winner = None
    if winners:
        kind = torch.uint8 if windows < 256 else torch.int32
        winner = torch.empty(shape, dtype=kind, device=projected.device)
    # Longest texts first, so that those which reach a window are always the first ones.
    ends = (valid * torch.arange(1, windows + 1, device=valid.device)).amax(dim=1)
    ends, order = ends.sort(descending=True, stable=True)
    text_bytes = queries * filters * projected.element_size()
    step = max(1, _SLAB // max(1, text_bytes))
    for start in range(0, texts, step):
        slab = order[start : start + step]
        slab_ends = ends[start : start + step, None]
        reaching = (slab_ends > torch.arange(windows)).sum(dim=0)
        slab_best = projected.new_full((len(slab), queries, filters), -torch.inf)
        slab_winner = None if winner is None else winner.new_zeros(slab_best.shape)
        texts_of_slab = rows[slab], weights[slab], valid[slab]
        _scan(projected, *texts_of_slab, reaching.tolist(), slab_best, slab_winner)
        best[slab] = slab_best
        if winner is not None and slab_winner is not None:
            winner[slab] = slab_winner
    return best, winner


def _scan(
    projected: Tensor,
    rows: Tensor,
    weights: Tensor,
    valid: Tensor,
    reaching: Sequence[int],
    best: Tensor,
    winner: Tensor | None,
) -> None:
    """Update the running maximum `best` and its window, window by window (not by query token).

    `reaching` is the number of texts, the first ones, that reach each window.
    """
    tokens = rows.shape[1]
    width = projected.shape[1]
    kernel_rows = projected.flatten(0, 1)
    buffer = torch.empty_like(best)
    columns = weights.transpose(1, 2).unsqueeze(-1)
    for window, count in enumerate(reaching):
        if count == 0:
            break
        value = buffer[:count]
        first_kernel_row = max(
            0, width - 1 - window
        )  # the rows of the kernel that meet a token
        for j in range(first_kernel_row, min(width, tokens + width - 1 - window)):
            token = window - (width - 1) + j
            kernel_row = rows[:count, token] * width + j
            words = kernel_rows.index_select(0, kernel_row)[:, None]
            if j == first_kernel_row:
                torch.mul(columns[:count, token], words, out=value)
            else:
                value.addcmul_(columns[:count, token], words)
        is_valid = valid[:count, window]
        if not bool(is_valid.all()):
            value.masked_fill_(~is_valid[:, None, None], -torch.inf)
        running = best[:count]
        if winner is not None and window:
            # Later windows have greater numbers, so the maximum keeps the latest winner.
            latest = winner[:count]
            above = value > running
            better = (
                above.view(torch.uint8) if winner.dtype == torch.uint8 else above.int()
            )
            torch.maximum(latest, better.mul_(window), out=latest)
        torch.maximum(running, value, out=running)


class ConvEncoder(nn.Module):
    """Convolution -> ReLU -> maximum over time -> dropout -> linear (samCNN, section 2.1).

    The same module encodes plain texts and, through `weights`, texts whose tokens are rescaled for
    each query token. With several `widths` the pooled features are concatenated (the paper says
    that this brings no improvement to BiCNN, and nothing of QAtt and PAtt).

    Shapes: N texts, Q rescalings, S tokens, D output size; `WordTexts` has the others.

    Args:
        input_dim: E, the size of a word's vector.
        output_dim: D.
        filters: per width.
        widths: tokens per window, one convolution each.
        dropout: on the pooled features.

    Raises:
        ValueError: no width, or a width below 1.
    """

    def __init__(
        self,
        *,
        input_dim: int,
        output_dim: int,
        filters: int,
        widths: Sequence[int],
        dropout: float,
    ) -> None:
        super().__init__()
        if not widths or min(widths) < 1:
            raise ValueError(
                f"widths is {list(widths)}; expected one or more numbers >= 1"
            )
        self.widths = list(widths)
        self.filters = filters
        self.output_dim = output_dim
        self.kernels = nn.ModuleList(
            nn.Linear(input_dim, width * filters, bias=False) for width in self.widths
        )
        self.biases = nn.ParameterList(
            nn.Parameter(torch.empty(filters)) for _ in self.widths
        )
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(filters * len(self.widths), output_dim)
        for kernel, bias, width in zip(
            self.kernels, self.biases, self.widths, strict=True
        ):
            # As a Conv1d starts: uniform within 1/sqrt(fan in), the fan in being width x E.
            bound = (width * input_dim) ** -0.5
            nn.init.uniform_(kernel.weight, -bound, bound)  # type: ignore[arg-type]
            nn.init.uniform_(bias, -bound, bound)

    def pooled(self, texts: WordTexts, weights: Tensor) -> Tensor:
        """Features before the linear map, dropout included: (N, Q, filters x widths).

        The weights (N, Q, S) are zero at padding.
        """
        features = []
        for kernel, bias, width in zip(
            self.kernels, self.biases, self.widths, strict=True
        ):
            projected = kernel(texts.words).unflatten(-1, (width, self.filters))
            valid = window_valid(texts.mask, width)
            # Bias and ReLU commute with the maximum.
            best = WindowMax.apply(
                projected, texts.rows, weights.to(projected.dtype), valid
            )
            features.append(torch.relu(best + bias))
        return self.dropout(torch.cat(features, dim=-1))

    def forward(self, texts: WordTexts) -> Tensor:
        """Encode plain texts: (N, D)."""
        weights = texts.mask[:, None].to(texts.words)
        return self.linear(self.pooled(texts, weights).squeeze(1))
