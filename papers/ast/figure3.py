"""AST paper, Fig. 3: the learned alpha of every head, next to its value before training."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from papers.ast.sweep import (
    ENCODERS,
    data_of,
    overrides,
    row_jobs,
    seed_name,
    share,
    splits,
)
from papers.exhibit import Content, Exhibit, Figure, Published, Table
from papers.jobs import Job, Results, Setting
from papers.style import COLORS, new_figure
from papers.training_runs import initial_alphas, last_alphas, link_job, map_row

PUBLISHED = {
    "stars": (1.681, 1.487, 1.622, 1.151, 1.196, 1.410, 1.286, 1.433, 1.397, 1.147),
    "rings": (1.407, 1.427, 1.249, 1.122, 1.941, 1.847, 1.164, 1.589, 1.619, 1.249),
}
PARTS = {"stars": "star (the relay)", "rings": "ring (the tokens)"}
#: The paper's sentences about this figure: the part, the heads it names, and what it says of them.
SENTENCES: Sequence[tuple[str, tuple[int, int], str]] = (
    ("rings", (4, 5), "approach sparsemax"),
    ("rings", (3, 6), "remain relatively close to softmax"),
    ("stars", (1, 3), "exceed the sparsity of 1.5-entmax"),
)
SPARSITIES = {
    "adaptive": "learned alpha",
    "softmax": "softmax",
    "entmax15": "1.5-entmax",
    "sparsemax": "sparsemax",
}
EPOCHS = {"shared": 10, "stories": 3}
INITIAL = "alphas_initial"
AST = ENCODERS[0]


def _paper_name(sparsity: str, seed: int) -> str:
    return f"alphas_{sparsity}_seed{seed}"


def _jobs(setting: Setting) -> list[Job]:
    """The starts, the runs of Table 2 that learn alphas, and ten epochs as in the code."""
    split = splits(setting)[0]
    options = overrides(setting, AST, split)
    jobs = [
        Job(INITIAL, partial(_start, options, setting.seeds), 0.1, "", setting.seeds)
    ]
    jobs += [job for part in splits(setting) for job in row_jobs(setting, AST, part)]
    # Ten epochs at the learning rate of the released code, without patience.
    epochs = EPOCHS[setting.data]
    options = [option for option in options if not option.startswith("task.epochs=")]
    options += [
        "task.optimizer.lr=0.001",
        f"task.epochs={epochs}",
        "task.patience=null",
    ]
    minutes = AST.minutes * epochs * share(setting, split)
    for sparsity in SPARSITIES:
        for seed in setting.seeds:
            own = [*options, f"sparsity={sparsity}", f"seed={seed}"]
            name = _paper_name(sparsity, seed)
            jobs.append(link_job(name, own, minutes, data_of(setting, split), (seed,)))
    return jobs


def _start(
    options: Sequence[str], seeds: Sequence[int], folder: Path, results: Results
) -> Mapping[str, Any]:
    return {str(seed): initial_alphas([*options, f"seed={seed}"]) for seed in seeds}


def _runs(results: Results) -> list[tuple[str, int, Mapping[str, Any]]]:
    """(label, seed, values) of every finished run that learns alphas."""
    named = [
        ("ten epochs", seed, _paper_name("adaptive", seed))
        for seed in results.setting.seeds
    ]
    named += [
        (f"Table 2, by {split}", seed, seed_name(AST, split, seed))
        for split in splits(results.setting)
        for seed in results.setting.seeds
    ]
    return [
        (label, seed, results[name]) for label, seed, name in named if name in results
    ]


def movement(initial: Sequence[float], trained: Sequence[float]) -> dict[str, float]:
    """How far the alphas of one part moved, and whether they still correlate with their start."""
    first = np.asarray(initial)
    last = np.asarray(trained)
    return {
        "initial mean": float(first.mean()),
        "trained mean": float(last.mean()),
        "mean change": float((last - first).mean()),
        "largest change": float(np.abs(last - first).max()),
        "spread of the initial": float(first.std(ddof=1)),
        "correlation": float(np.corrcoef(first, last)[0, 1]),
    }


def _lay_out(results: Results) -> Content:
    if INITIAL not in results:
        return Content()
    runs = _runs(results)
    rows, heads = [], []
    for label, seed, values in runs:
        initial = results[INITIAL][str(seed)]
        for part, title in PARTS.items():
            first = last_alphas([initial], part)
            last = last_alphas(values["epochs"], part)
            rows.append(
                {"run": label, "seed": str(seed), "part": title} | movement(first, last)
            )
            heads += [
                {"run": label, "seed": str(seed), "part": title, "head": str(head)}
                | {"initial": before, "trained": after}
                for head, (before, after) in enumerate(zip(first, last, strict=True))
            ]
    tables = []
    if rows:
        note = "Correlation: of the heads' trained alphas with their initial ones."
        tables.append(Table("How far the alphas move", rows, "movement", note=note))
        tables.append(Table("The alpha of every head", heads, "heads"))
    if quality := _quality(results):
        title = "Softmax, 1.5-entmax, sparsemax and learned alpha: ten epochs"
        tables.append(Table(title, quality, "sparsities"))
    figures = []
    if runs:
        label, seed, values = runs[0]
        initial = results[INITIAL][str(seed)]
        figures = [
            Figure(
                f"Alpha before and after training ({label}, seed {seed}), and the published alphas",
                lambda: _draw_heads(initial, values),
                "Two panels, star and ring, ten heads each: a hollow circle for the initial alpha, "
                "a filled one for the trained, a cross for the published.",
                "heads",
            ),
            Figure(
                f"Alpha of every head over the epochs ({label}, seed {seed})",
                lambda: _draw_epochs(initial, values),
                "Two panels of ten lines each: where a head's alpha starts and where it goes.",
                "epochs",
            ),
        ]
    return Content(
        tables=tables,
        figures=figures,
        outcome=_outcome(rows),
        details=_details(rows, quality),
    )


def _quality(results: Results) -> list[dict[str, Any]]:
    seeds = results.setting.seeds
    runs = {
        s: results.available([_paper_name(s, seed) for seed in seeds])
        for s in SPARSITIES
    }
    return [map_row({"sparsity": SPARSITIES[s]}, own) for s, own in runs.items() if own]


def _outcome(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return ""
    largest = max(row["largest change"] for row in rows)
    spread = float(np.mean([row["spread of the initial"] for row in rows]))
    return (
        f"No alpha moves by more than {largest:.3f} in training, while the heads have a standard "
        f"deviation of {spread:.3f} at the start."
    )


def _details(
    rows: Sequence[Mapping[str, Any]], quality: Sequence[Mapping[str, Any]]
) -> str:
    if not rows:
        return ""
    lowest = min(row["correlation"] for row in rows)
    text = f"Over {len(rows) // 2} runs, trained and initial alphas correlate at {lowest:.3f} or more"
    if lowest > 0.9:
        text += ": the learned alphas are nearly those that were drawn"
    if len(quality) > 1:
        ranked = sorted(quality, key=lambda row: -row["MAP by article"])
        text += ". MAP: " + ", ".join(
            f"{r['sparsity']} {r['MAP by article']:.3f}" for r in ranked
        )
    return f"{text}."


def _draw_heads(initial: Mapping[str, float], values: Mapping[str, Any]) -> Any:
    figure, axes = new_figure(columns=2, height=2.4, sharey=True)
    for axis, (part, title) in zip(axes, PARTS.items(), strict=True):
        first = last_alphas([dict(initial)], part)
        last = last_alphas(values["epochs"], part)
        places = range(len(first))
        axis.vlines(places, first, last, color="0.6", linewidth=0.8)
        marks: dict[str, Any] = {"linestyle": "", "markersize": 4.5}
        axis.plot(
            places, first, "o", mfc="none", color=COLORS[0], label="initial", **marks
        )
        axis.plot(
            places,
            last,
            "o",
            color=COLORS[0],
            label="trained",
            **{**marks, "markersize": 2.5},
        )
        axis.plot(PUBLISHED[part], "x", color=COLORS[1], label="published", **marks)
        axis.set(title=title, ylim=(1, 2), xticks=range(0, 10, 3))
    axes[0].set_ylabel("alpha")
    figure.supxlabel("head", fontsize=8)
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3
    )
    return figure


def _draw_epochs(initial: Mapping[str, float], values: Mapping[str, Any]) -> Any:
    figure, axes = new_figure(columns=2, height=2.2, sharey=True)
    steps = [dict(initial), *values["epochs"]]
    for axis, (part, title) in zip(axes, PARTS.items(), strict=True):
        curves = np.array([last_alphas([step], part) for step in steps])
        axis.plot(curves, color=COLORS[0])
        axis.set(title=title, ylim=(1, 2))
    axes[0].set_ylabel("alpha")
    figure.supxlabel("epochs trained", fontsize=8)
    return figure


def sentence_holds(
    part: str, heads: Sequence[int], says: str, *, first_head: int
) -> bool:
    """Whether a sentence of the paper is true of its own figure, if heads count from `first_head`.

    Two heads approach sparsemax if theirs are the two largest alphas of the part, remain close to
    softmax if the two smallest, and exceed 1.5-entmax if both alphas are above 1.5.
    """
    alphas = PUBLISHED[part]
    named = sorted(alphas[head - first_head] for head in heads)
    if "sparsemax" in says:
        return named == sorted(alphas)[-len(named) :]
    if "softmax" in says:
        return named == sorted(alphas)[: len(named)]
    return named[0] > 1.5


def _sentence_rows() -> list[Mapping[str, Any]]:
    """Each sentence with the alphas of its heads, counted from 0 and from 1."""
    rows: list[Mapping[str, Any]] = []
    for part, heads, says in SENTENCES:
        row = {"sentence": f"{part[:-1]} heads {heads[0]} and {heads[1]} {says}"}
        for first_head in (0, 1):
            alphas = (f"{PUBLISHED[part][head - first_head]:.3f}" for head in heads)
            holds = sentence_holds(part, heads, says, first_head=first_head)
            row[f"counted from {first_head}"] = (
                f"{' and '.join(alphas)}: {'true' if holds else 'false'}"
            )
        rows.append(row)
    return rows


def _published_rows() -> list[Mapping[str, Any]]:
    stars = PUBLISHED["stars"]
    rings = PUBLISHED["rings"]
    rows: list[Mapping[str, Any]] = [
        {"head": str(head), "star": f"{star:.3f}", "ring": f"{ring:.3f}"}
        for head, (star, ring) in enumerate(zip(stars, rings, strict=True))
    ]
    return [
        *rows,
        {
            "head": "mean",
            "star": f"{np.mean(stars):.3f}",
            "ring": f"{np.mean(rings):.3f}",
        },
    ]


EXHIBIT = Exhibit(
    paper="ast",
    kind="figure",
    key="3",
    title="Figure 3: the learned alpha of every head",
    published=Published(
        source="Danovitch 2020, Fig. 3; bar heights measured in learned_sparsity.pdf of the "
        "released code (jacobdanovitch/jdnlp, branch old-vm)",
        text="The published alphas cannot be told from draws of U(1, 2), from which the released "
        "code initializes them (Kolmogorov-Smirnov p = .21 star, .84 ring). Its clamp turns every "
        "alpha in [1, 2] into 2, so the code in effect ran sparsemax. The paper's sentences about "
        "the ring are true of its figure only if heads count from 0, the one about the star only "
        "if they count from 1. That the star's alphas are more tightly bound is true: their "
        f"standard deviation is {np.std(PUBLISHED['stars'], ddof=1):.3f}, the ring's "
        f"{np.std(PUBLISHED['rings'], ddof=1):.3f}.",
        tables=[
            Table("Published", _published_rows()),
            Table("The paper's sentences, held against its figure", _sentence_rows()),
        ],
    ),
    remark="Here alpha = 1 + sigmoid(p), one for each head, with p drawn from N(0, 1), as in "
    "Correia et al. (2019); nothing is clamped to 2. The paper's loss and miner; articles cut at "
    "300 tokens, 100-d vectors, half of the posts in each epoch. The runs of Table 2 have the "
    "learning rate that dev chose; the ten epochs have the released code's .001 and no patience.",
    lay_out=_lay_out,
    jobs=_jobs,
)
