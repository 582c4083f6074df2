"""What the AST paper leaves open, each point changed by itself."""

from dataclasses import dataclass

from papers.ast.sweep import ENCODERS, EPOCHS, data_of, overrides, share, splits
from papers.exhibit import Content, Exhibit, Table
from papers.jobs import Job, Results, Setting
from papers.training_runs import link_job, map_row

AST = ENCODERS[0]
RATE = 0.001


@dataclass(frozen=True, slots=True)
class Variant:
    """One point, changed by options of ``siamese_news.train``; `cost`: of an epoch, relative."""

    name: str
    title: str
    options: tuple[str, ...]
    cost: float = 1.0


_TWO = ("trainer=ddp_spawn", "trainer.devices=2")
_TENTH = ("encoder.heads=10", "encoder.head_dim={tenth}")
VARIANTS = (
    Variant(
        "base",
        "one cycle, window c = 2, no e_i among the keys, heads of 30, projected",
        (),
    ),
    Variant("cycles2", "two cycles", ("encoder.cycles=2",), 1.8),
    Variant("cycles3", "three cycles", ("encoder.cycles=3",), 2.6),
    Variant("window1", "window c = 1", ("encoder.window=1",)),
    Variant("window3", "window c = 3", ("encoder.window=3",), 1.2),
    Variant(
        "embedding",
        "e_i, the token's own embedding, among the keys",
        ("encoder.context_includes_embedding=true",),
        1.2,
    ),
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


def _name(variant: Variant, seed: int) -> str:
    return f"settings_{variant.name}_seed{seed}"


def _jobs(setting: Setting) -> list[Job]:
    split = splits(setting)[0]
    shared = setting.data == "shared"
    minutes = AST.minutes * EPOCHS[setting.data] * share(setting, split)
    jobs = []
    for seed in setting.seeds:
        for variant in VARIANTS:
            if not shared and _TWO[0] in variant.options:
                continue
            # 100-d vectors, or the 50-d ones that come with a package.
            own = [
                option.format(tenth=10 if shared else 5) for option in variant.options
            ]
            options = [*overrides(setting, AST, split), *own, f"seed={seed}"]
            options.append(f"task.optimizer.lr={RATE}")
            data = data_of(setting, split)
            jobs.append(
                link_job(
                    _name(variant, seed), options, minutes * variant.cost, data, (seed,)
                )
            )
    return jobs


def _lay_out(results: Results) -> Content:
    seeds = results.setting.seeds
    runs = {
        v.title: results.available([_name(v, seed) for seed in seeds]) for v in VARIANTS
    }
    rows = [map_row({"setting": title}, own) for title, own in runs.items() if own]
    if not rows:
        return Content()
    best = max(rows, key=lambda row: row["dev MAP"])
    outcome = (
        f"Of {len(rows)} settings, this one has the highest MAP on dev ({best['dev MAP']:.3f}): "
        f"{best['setting']}."
    )
    return Content(
        tables=[Table("The settings, each by itself", rows)], outcome=outcome
    )


EXHIBIT = Exhibit(
    paper="ast",
    kind="table",
    key="settings",
    title="What the paper leaves open: cycles, window, keys, output projection, mining",
    remark="The paper gives no value for T or c. Its released code has T = 1 and c = 2, e_i among "
    "the keys, and a projection after the heads, where Eq. 3 only concatenates them (here: "
    "encoder.output_projection=false, which needs H heads of E / H). Several devices mine together "
    "here; under the AllenNLP that the code used, each of four mined its own batch. Except for the "
    "point that a row names, the runs are those of Table 2 at a learning rate of .001.",
    lay_out=_lay_out,
    jobs=_jobs,
)
