"""AST paper, Fig. 1: softmax and sparsemax over few and many keys, and the effect of length."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch

from papers.ast.sweep import ENCODERS, first_jobs, seed_name, splits
from papers.exhibit import Content, Exhibit, Figure, Published, Table
from papers.jobs import Job, Results, Setting
from papers.style import COLORS, HATCHES, new_figure, series
from papers.training_runs import last_alphas
from siamese_news.sparsity.entmax import entmax

Scores = Literal["cosine", "dot"]
KEYS = (5, 25)
LENGTHS = (5, 10, 25, 50, 100, 200, 500, 1000, 2000)
DRAWS = 200
SEED = 0
MAPS = {"softmax": 1.0, "1.5-entmax": 1.5, "sparsemax": 2.0}
BARS = ("softmax", "sparsemax")
PANELS: dict[Scores, str] = {"cosine": "cosine scores", "dot": "scaled dot products"}


def draw_scores(kind: Scores, keys: int, draws: int, seed: int) -> np.ndarray:
    """Scores of one query against random keys, (draws, keys).

    ``cosine``: uniform over [-1, 1], as the appendix assumes; ``dot``: the scaled dot product of
    standard normal vectors, which for many dimensions is standard normal.
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
    bars = _bar_rows()
    last = {label: curve[-1] for label, curve in curves["cosine"].items()}
    note = (
        f"Mean of the largest weight over {DRAWS} draws (seed {SEED}); learned alpha: a mean over "
        "the heads of the star after training (first seed of Table 2)."
    )
    return Content(
        figures=[
            Figure(
                "Weights over 5 and 25 keys; the same random scores for both maps",
                lambda: _draw_bars(bars),
                "Four bar charts. Softmax gives every key some weight, over 25 keys less than "
                "a tenth each. Sparsemax gives weight to a few keys and exactly zero to the rest.",
                "weights",
            ),
            Figure(
                "Largest weight against the number of keys",
                lambda: _draw_curves(curves),
                "Two panels of falling lines on logarithmic axes: the largest weight falls with "
                "the number of keys, for softmax as one over the number, for sparsemax slowest.",
                "length",
            ),
        ],
        tables=[
            Table(
                "Largest weight against the number of keys", rows, "length", note=note
            ),
            Table("The weights of the bars", bars, "weights"),
        ],
        outcome="Softmax flattens with length, as the paper says; sparsemax flattens too, later.",
        details=(
            f"Over {LENGTHS[-1]:,} keys with cosine scores the largest weight is "
            + ", ".join(f"{value:.4f} ({label})" for label, value in last.items())
            + "."
        ),
    )


def _bar_rows() -> list[dict[str, Any]]:
    """The weights of softmax and sparsemax over few and over many keys."""
    rows = []
    for keys in KEYS:
        scores = draw_scores("cosine", keys, 1, SEED)
        columns = {"score": scores[0].tolist()}
        columns |= {label: weigh(scores, MAPS[label])[0].tolist() for label in BARS}
        rows += [
            {"keys": keys, "key": key + 1}
            | {name: own[key] for name, own in columns.items()}
            for key in range(keys)
        ]
    return rows


def _draw_bars(rows: Sequence[Mapping[str, Any]]) -> Any:
    figure, axes = new_figure(rows=2, columns=2, height=2.9, sharey=True)
    for row, label in enumerate(BARS):
        for column, keys in enumerate(KEYS):
            axis = axes[row, column]
            weights = [one[label] for one in rows if one["keys"] == keys]
            bars: dict[str, Any] = {"color": COLORS[row], "hatch": HATCHES[row]}
            axis.bar(
                range(1, keys + 1), weights, edgecolor="white", linewidth=0.3, **bars
            )
            axis.set_title(f"{label}\n{keys} keys, {weights.count(0)} at zero")
            axis.set_xticks([1, keys])
    figure.supxlabel("key", fontsize=8)
    figure.supylabel("weight", fontsize=8)
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
        text="The weights of softmax and of sparsemax over 5 and over 25 keys, without numbers: "
        "softmax flattens where there are many keys.",
    ),
    remark="The paper does not print the scores it draws; ours are drawn at random, uniform over "
    "[-1, 1], the distribution that its appendix assumes for the cosine. The curve over the number "
    "of keys is not in the paper.",
    lay_out=_lay_out,
    jobs=_jobs,
)
