"""AST paper, Fig. 1: self-attention over 5 and 25 random embeddings, and the effect of length."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch

from papers.ast.appendix_a import HEAD_DIM
from papers.ast.sweep import ENCODERS, first_jobs, seed_name, splits
from papers.exhibit import Content, Exhibit, Figure, Published, Table
from papers.jobs import Job, Results, Setting
from papers.style import new_figure, series
from papers.training_runs import last_alphas
from siamese_news.sparsity.entmax import entmax

Scores = Literal["cosine", "dot"]
KEYS = (5, 25)
LENGTHS = (5, 10, 25, 50, 100, 200, 500, 1000, 2000)
DRAWS = 200
SEED = 0
MAPS = {"softmax": 1.0, "1.5-entmax": 1.5, "sparsemax": 2.0}
PRINTED = ("softmax", "sparsemax")
PANELS: dict[Scores, str] = {"cosine": "cosines", "dot": "scaled dot products"}


def draw_embeddings(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Random embeddings of the size of a head, standard normal: (*shape, d)."""
    rng = np.random.default_rng([seed, *shape])
    return rng.standard_normal((*shape, HEAD_DIM), dtype=np.float32)


def similarities(kind: Scores, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Cosines or scaled dot products of embeddings: (..., Q, d) and (..., K, d) give (..., Q, K)."""
    if kind == "dot":
        return queries @ keys.swapaxes(-1, -2) / math.sqrt(HEAD_DIM)
    units = [
        vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
        for vectors in (queries, keys)
    ]
    return units[0] @ units[1].swapaxes(-1, -2)


def draw_scores(kind: Scores, keys: int, draws: int, seed: int) -> np.ndarray:
    """Scores of a random query and random keys, (draws, keys); the query is not a key."""
    drawn = draw_embeddings((draws, keys + 1), seed)
    return similarities(kind, drawn[:, :1], drawn[:, 1:])[:, 0]


def self_attention(keys: int, alpha: float, seed: int) -> np.ndarray:
    """The weights of random embeddings for each other, by cosine: a row for each query."""
    drawn = draw_embeddings((keys,), seed)
    return weigh(similarities("cosine", drawn, drawn), alpha)


def weigh(scores: np.ndarray, alpha: float) -> np.ndarray:
    """The weights over the last axis: softmax for alpha = 1, sparsemax for alpha = 2."""
    tensor = torch.from_numpy(scores)
    if alpha == 1.0:
        return tensor.softmax(-1).numpy()
    return entmax(tensor[:, None], alpha, None, -1, "newton")[:, 0].numpy()


def largest_weights(
    kind: Scores,
    alphas: Sequence[float],
    lengths: Sequence[int],
    *,
    draws: int,
    seed: int,
) -> list[float]:
    """The largest weight at each length, a mean over draws and over the alphas (of the heads)."""
    means: list[float] = []
    for length in lengths:
        scores = draw_scores(kind, length, draws, seed)
        largest = [weigh(scores, alpha).max(-1).mean() for alpha in alphas]
        means.append(float(np.mean(largest)))
    return means


def _jobs(setting: Setting) -> list[Job]:
    """The run whose learned alphas the curve uses, and the choice of its learning rate."""
    return first_jobs(setting, splits(setting)[0], [ENCODERS[0].option])


def _lay_out(results: Results) -> Content:
    setting = results.setting
    name = seed_name(ENCODERS[0], splits(setting)[0], setting.seeds[0])
    alphas = {label: [alpha] for label, alpha in MAPS.items()}
    if name in results:
        alphas["learned alpha"] = last_alphas(results[name]["epochs"], "stars")
    curves = {
        kind: {
            label: largest_weights(kind, values, LENGTHS, draws=DRAWS, seed=SEED)
            for label, values in alphas.items()
        }
        for kind in PANELS
    }
    rows = [
        {"scores": PANELS[kind], "keys": length}
        | {label: curve[place] for label, curve in by_label.items()}
        for kind, by_label in curves.items()
        for place, length in enumerate(LENGTHS)
    ]
    matrices = {
        (label, keys): self_attention(keys, MAPS[label], SEED)
        for label in PRINTED
        for keys in KEYS
    }
    last = {label: curve[-1] for label, curve in curves["cosine"].items()}
    note = (
        f"Mean of the largest weight over {DRAWS} draws (seed {SEED}) of a query and its keys, "
        f"standard normal with {HEAD_DIM} dimensions; learned alpha: a mean over "
        "the heads of the star after training (first seed of Table 2)."
    )
    return Content(
        figures=[
            Figure(
                "Self-attention over 5 and 25 random embeddings, by cosine",
                lambda: _draw_matrices(matrices),
                "Four square pictures, a row for each query and a column for each key, darker where "
                "the weight is larger. Over 5 embeddings both maps are dark on the diagonal. Over 25 "
                "softmax is almost even; sparsemax is dark on the diagonal and mostly white.",
                "weights",
            ),
            Figure(
                "Largest weight against the number of keys",
                lambda: _draw_curves(curves),
                "Two panels of falling lines on logarithmic axes: the largest weight falls with "
                "the number of keys, for softmax fastest, for sparsemax slowest.",
                "length",
            ),
        ],
        tables=[
            Table(
                "Largest weight against the number of keys", rows, "length", note=note
            ),
            Table(
                "The weights of self-attention over random embeddings",
                [_summary(*name, weights) for name, weights in matrices.items()],
                "weights",
                note="Means over the queries; of two random embeddings only one with itself has a "
                "cosine of 1.",
            ),
        ],
        outcome="Softmax flattens with length, as the paper says; sparsemax flattens too, later.",
        details=(
            "Of 25 embeddings, the query itself gets "
            + " and ".join(
                f"{matrices[label, 25].diagonal().mean():.2f} of the weight by {label}"
                for label in PRINTED
            )
            + f". Over {LENGTHS[-1]:,} keys with cosines the largest weight is "
            + ", ".join(f"{value:.4f} ({label})" for label, value in last.items())
            + "."
        ),
    )


def _summary(label: str, keys: int, weights: np.ndarray) -> dict[str, Any]:
    """What a matrix of self-attention gives to the query's own key, and to the others."""
    others = weights[~np.eye(keys, dtype=bool)]
    return {
        "map": label,
        "embeddings": keys,
        "weight of the query itself": float(weights.diagonal().mean()),
        "mean weight of another": float(others.mean()),
        "largest weight of another": float(others.max()),
        "weights at zero": float((weights == 0).mean()),
    }


def _draw_matrices(matrices: Mapping[tuple[str, int], np.ndarray]) -> Any:
    figure, axes = new_figure(rows=len(PRINTED), columns=len(KEYS), height=3.0)
    for axis, ((label, keys), weights) in zip(axes.flat, matrices.items(), strict=True):
        image = axis.imshow(weights, cmap="Blues", vmin=0, vmax=1)
        axis.set_title(f"{label}, {keys}")
        axis.set(xticks=[], yticks=[])
    figure.supxlabel("key", fontsize=8)
    figure.supylabel("query", fontsize=8)
    figure.colorbar(image, ax=axes, label="weight", shrink=0.6)
    return figure


def _draw_curves(curves: Mapping[Scores, Mapping[str, Sequence[float]]]) -> Any:
    figure, axes = new_figure(columns=2, height=2.3, sharey=True)
    for axis, (kind, by_label) in zip(axes, curves.items(), strict=True):
        for place, (label, curve) in enumerate(by_label.items()):
            axis.plot(LENGTHS, curve, label=label, **series(place))
        axis.set(xscale="log", yscale="log", title=PANELS[kind])
    axes[0].set_ylabel("largest weight")
    figure.supxlabel("keys", fontsize=8)
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2
    )
    return figure


EXHIBIT = Exhibit(
    paper="ast",
    kind="figure",
    key="1",
    title="Figure 1: softmax and sparsemax over few and over many keys",
    published=Published(
        source="Danovitch 2020, Fig. 1",
        text="Self-attention over 5 and over 25 random embeddings with softmax and with sparsemax, "
        "without numbers: softmax flattens where there are many keys.",
    ),
    remark="The paper says neither how its embeddings are drawn nor how they are compared. Ours "
    f"are standard normal with {HEAD_DIM} dimensions, the size of a head, compared by cosine, the "
    "function that the paper names. With the released code's scaled dot products an embedding is so "
    "similar to itself that softmax does not flatten over 25. The curve over the number of keys is "
    "not in the paper; its query is not one of the keys, like the relay of the star.",
    lay_out=_lay_out,
    jobs=_jobs,
)
