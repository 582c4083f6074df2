"""The table of the ablation: means over seeds, intervals over articles, tests against the bag."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from siamese_news.metrics.statistics import percentile_interval, randomization_test
from siamese_news.utils.markdown import markdown_table
from siamese_news.utils.provenance import provenance

Run = dict[str, Any]
KINDS = ("entmax15", "sparsemax", "adaptive")
COMPARED = [
    *((("lexical", "star", kind), ("lexical", "star", "softmax")) for kind in KINDS),
    *((("dense", "star", kind), ("dense", "star", "softmax")) for kind in KINDS),
    (("lexical", "star", "softmax"), ("lexical", "mean", "softmax")),
    (("lexical", "star", "adaptive"), ("lexical", "mean", "softmax")),
]


def table(runs: Sequence[Run], steps: int, devs: Sequence[str]) -> str:
    """Markdown: MAP by dev set, and the difference to the head's reference."""
    about = provenance()
    parts = []
    for head in ("lexical", "dense"):
        head_runs = [run for run in runs if run["cell"][0] == head]
        start = [run for run in head_runs if run["steps"] == 0]
        groups: dict[tuple[str, str], list[Run]] = {}
        for run in head_runs:
            if run["steps"] == steps:
                groups.setdefault((run["cell"][1], run["cell"][2]), []).append(run)
        reference = ("bag", "softmax" if head == "lexical" else "none")
        rows = [_row("untrained", "", start, devs, None)] if start else []
        for (context, kind), group in groups.items():
            other = groups.get(reference) if (context, kind) != reference else start
            rows.append(_row(context, kind, group, devs, other))
        name = f"bag, {reference[1]}" if reference[1] != "none" else "bag"
        parts += [
            f"## {head} head",
            markdown_table(rows),
            f"Δ: mean over the dev sets against `{name}` (that one: against untrained), 95% "
            "bootstrap over articles, each dev set resampled by itself; p: paired randomization "
            "test over all dev articles.",
        ]
    parts += [
        "## Sparse against dense attention, star against mean",
        markdown_table(_pairs(runs)),
    ]
    parts.append(
        f"`{about['command']}` · {about['date']} · revision {about['revision']} · "
        f"{about['machine']} · torch {about['versions']['torch']}"
    )
    return "\n\n".join(parts) + "\n"


def _by_article(runs: Sequence[Run]) -> list[np.ndarray]:
    """AP by article, mean over seeds, for each dev set; articles in the order of their ids."""
    return [
        np.mean([[ap[article] for article in sorted(ap)] for ap in same], axis=0)
        for same in zip(*(run["AP"] for run in runs), strict=True)
    ]


def _row(
    context: str,
    kind: str,
    runs: Sequence[Run],
    devs: Sequence[str],
    other: Sequence[Run] | None,
) -> dict[str, Any]:
    values = _by_article(runs)
    row: dict[str, Any] = {"context": context, "sparsity": kind, "seeds": len(runs)}
    row |= {
        name: float(dev_values.mean())
        for name, dev_values in zip(devs, values, strict=True)
    }
    means = [
        float(np.mean([np.mean(list(ap.values())) for ap in run["AP"]])) for run in runs
    ]
    row["mean"] = float(np.mean(means))
    row["over seeds"] = f"{min(means):.3f}–{max(means):.3f}"
    row |= _difference(runs, other) if other else {"Δ": None, "Δ 95%": None, "p": None}
    row["minutes"] = float(np.mean([run["minutes"] for run in runs]))
    return row


def _difference(runs: Sequence[Run], other: Sequence[Run]) -> dict[str, Any]:
    differences = [
        a - b for a, b in zip(_by_article(runs), _by_article(other), strict=True)
    ]
    flat = np.concatenate(differences)
    return {
        "Δ": float(np.mean([dev_values.mean() for dev_values in differences])),
        "Δ 95%": "{:+.3f} to {:+.3f}".format(*_interval(differences)),
        "p": randomization_test(flat, np.zeros_like(flat), samples=20_000),
    }


def _pairs(runs: Sequence[Run]) -> list[dict[str, Any]]:
    trained: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        if run["steps"]:
            trained.setdefault(tuple(run["cell"]), []).append(run)
    return [
        {"head": one[0], "one": ", ".join(one[1:]), "other": ", ".join(two[1:])}
        | _difference(trained[one], trained[two])
        for one, two in COMPARED
        if one in trained and two in trained
    ]


def _interval(differences: Sequence[np.ndarray]) -> tuple[float, float]:
    """Bootstrap interval of the mean over dev sets, each of which is resampled separately."""
    generator = np.random.default_rng(0)
    draws = np.mean(
        [
            generator.multinomial(
                len(dev_values),
                np.full(len(dev_values), 1 / len(dev_values)),
                size=2000,
            )
            @ dev_values
            / len(dev_values)
            for dev_values in differences
        ],
        axis=0,
    )
    return percentile_interval(draws)
