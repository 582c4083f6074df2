"""Scores as the AST paper's appendix has them, and the weights that the maps make of them."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch

from siamese_news.sparsity.entmax import entmax

Scores = Literal["cosine", "dot"]


def draw_scores(kind: Scores, keys: int, draws: int, seed: int) -> np.ndarray:
    """Scores of one query against random keys, (draws, keys).

    Args:
        kind: ``cosine``: uniform over [-1, 1], as the appendix assumes; ``dot``: the scaled dot
            product of standard normal vectors, which for many dimensions is standard normal.
        keys: S.
        draws: of the whole row.
        seed: of the draws.
    """
    rng = np.random.default_rng([seed, keys])
    if kind == "cosine":
        return rng.uniform(-1.0, 1.0, (draws, keys))
    return rng.standard_normal((draws, keys))


def weigh(scores: np.ndarray, alpha: float) -> np.ndarray:
    """The weights over the last axis: softmax for alpha = 1, sparsemax for alpha = 2."""
    tensor = torch.from_numpy(scores)
    if alpha == 1.0:
        return tensor.softmax(-1).numpy()
    return entmax(tensor[:, None], alpha, None, -1, "newton")[:, 0].numpy()


def largest_weights(
    kind: Scores, alphas: Sequence[float], lengths: Sequence[int], *, draws: int, seed: int
) -> list[float]:
    """The largest weight at each length, a mean over draws and over the alphas (of the heads)."""
    means: list[float] = []
    for length in lengths:
        scores = draw_scores(kind, length, draws, seed)
        largest = [weigh(scores, alpha).max(-1).mean() for alpha in alphas]
        means.append(float(np.mean(largest)))
    return means


def last_alphas(epochs: Sequence[dict[str, Any]], part: str) -> list[float]:
    """The alpha of each head after the last epoch.

    Args:
        epochs: what a training logged at the end of each epoch.
        part: ``rings`` or ``stars``.
    """
    if not epochs:
        return []
    prefix = f"alpha/{part}."
    named = {name: value for name, value in epochs[-1].items() if name.startswith(prefix)}
    return [named[name] for name in sorted(named, key=lambda name: int(name.rpartition("/")[2]))]
