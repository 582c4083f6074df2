"""What the AST paper leaves open, each point changed by itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from papers.ast.sweep import ENCODERS, EPOCHS, overrides, share, splits
from papers.exhibit import Content, Exhibit, Table
from papers.jobs import Job, Results, Setting
from papers.training_runs import forget_checkpoints, train_link

AST = ENCODERS[0]
RATE = 0.001


@dataclass(frozen=True, slots=True)
class Variant:
    """One point, changed.

    Attributes:
        name: part of the name of its runs.
        title: in the table.
        options: of ``siamese_news.train``.
        cost: of an epoch, beside that of the others.
    """

    name: str
    title: str
    options: tuple[str, ...]
    cost: float = 1.0


_TWO = ("trainer=ddp_spawn", "trainer.devices=2")
_APART = "objective.gather_across_devices=false"
_TENTH = ("encoder.heads=10", "encoder.head_dim={tenth}")
VARIANTS = (
    Variant("base", "T = 1, c = 2, no e_i, heads of 30, projected", ()),
    Variant("cycles2", "T = 2 cycles", ("encoder.cycles=2",), 1.8),
    Variant("cycles3", "T = 3 cycles", ("encoder.cycles=3",), 2.6),
    Variant("window1", "window c = 1", ("encoder.window=1",)),
    Variant("window3", "window c = 3", ("encoder.window=3",), 1.2),
    Variant("embedding", "e_i among the keys", ("encoder.context_includes_embedding=true",), 1.2),
    Variant("narrow", "heads of E / H, projected", _TENTH),
    Variant(
        "concatenated",
        "heads of E / H, only concatenated: Eq. 3 as printed (star_paper)",
        (*_TENTH, "encoder.output_projection=false"),
    ),
    Variant("together", "two devices, mined together", _TWO),
    Variant(
        "apart",
        "two devices, each mined by itself",
        (*_TWO, "objective.gather_across_devices=false"),
    ),
)
SMALL_VARIANTS = tuple(variant for variant in VARIANTS if not {*_TWO} & {*variant.options})


def _name(variant: Variant, seed: int) -> str:
    return f"settings_{variant.name}_seed{seed}"


def _jobs(setting: Setting) -> list[Job]:
    split = splits(setting)[0]
    shared = setting.data == "shared"
    data = f"usatoday-cnn, split by {split}" if shared else "bundled stories"
    jobs = []
    for seed in setting.seeds:
        for variant in VARIANTS if shared else SMALL_VARIANTS:
            # 100-d vectors, or the 50-d ones that come with a package.
            own = [option.format(tenth=10 if shared else 5) for option in variant.options]
            options = [*overrides(setting, AST, split), *own, f"seed={seed}"]
            run = partial(_train, [*options, f"task.optimizer.lr={RATE}"])
            minutes = AST.minutes * EPOCHS[setting.data] * variant.cost * share(setting, split)
            jobs.append(Job(_name(variant, seed), run, minutes, data, (seed,)))
    return jobs


def _train(options: Sequence[str], folder: Path, results: Results) -> Mapping[str, Any]:
    values = train_link(options, folder)
    forget_checkpoints(folder)
    return values


def _lay_out(results: Results) -> Content:
    rows: list[Mapping[str, Any]] = []
    for variant in VARIANTS:
        names = [_name(variant, seed) for seed in results.setting.seeds]
        runs = [results[name]["row"] for name in names if name in results]
        if runs:
            maps = [run["MAP"] for run in runs]
            rows.append(
                {
                    "setting": variant.title,
                    "seeds": len(runs),
                    "mAP": float(np.mean([run["AP"] for run in runs])),
                    "AUC": float(np.mean([run["AUC"] for run in runs])),
                    "MAP by article": float(np.mean(maps)),
                    "± over seeds": float(np.std(maps, ddof=1)) if len(maps) > 1 else None,
                    "dev MAP": float(np.mean([run["dev map"] for run in runs])),
                }
            )
    if not rows:
        return Content()
    best = max(rows, key=lambda row: row["dev MAP"])
    outcome = (
        f"Of {len(rows)} settings, dev prefers: {best['setting']} (dev MAP {best['dev MAP']:.3f}, "
        f"test mAP {best['mAP']:.3f})."
    )
    return Content(tables=[Table("The settings, each by itself", rows)], outcome=outcome)


EXHIBIT = Exhibit(
    paper="ast",
    kind="table",
    key="settings",
    title="What the paper leaves open: cycles, window, keys, output projection, mining",
    remark="The paper names neither T nor c; its released code has T = 1 and c = 2, e_i among the "
    "keys, and a projection after the heads, where Eq. 3 only concatenates them (here: "
    "encoder.output_projection=false, which needs H heads of E / H). Several devices mine together "
    "here; under the AllenNLP that the code ran on, each of four mined its own batch. The runs are "
    "those of Table 2 at a learning rate of .001, except for what the row names.",
    lay_out=_lay_out,
    jobs=_jobs,
)
