"""The comparison table at the end of a multirun: one row a job, from the row each job wrote."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from siamese_news.training.job import ROW, read_row
from siamese_news.utils.files import atomic_write, write_json
from siamese_news.utils.markdown import markdown_table

log = logging.getLogger(__name__)
#: Columns of figures in the table of rankers.
FIGURES = ("AP", "P30")


def collect_rows(folder: Path) -> list[dict[str, Any]]:
    """The rows of a multirun's finished jobs, in the order of the jobs.

    Each override that is not the same in all jobs is a column in front of the figures.
    """
    jobs, given = [], []
    paths = {str(path.parent.relative_to(folder)): path for path in folder.rglob(ROW)}
    for name, path in sorted(paths.items(), key=lambda item: _natural(item[0])):
        row = read_row(path)
        del row["config"]
        pairs = (override.partition("=") for override in row.pop("overrides"))
        given.append({key.lstrip("+~"): value for key, _, value in pairs})
        jobs.append((name, row))
    columns = {}
    for key in dict.fromkeys(key for overrides in given for key in overrides):
        values = [overrides.get(key) for overrides in given]
        # Some rows hold their options already: their seed, the name of their encoder.
        if len(set(values)) > 1 and values != [str(row.get(key)) for _, row in jobs]:
            columns[key] = f"{key} (override)" if any(key in row for _, row in jobs) else key
    return [
        {"job": name, **{title: overrides.get(key) for key, title in columns.items()}, **row}
        for (name, row), overrides in zip(jobs, given, strict=True)
    ]


class SweepTable(Callback):
    """Hydra callback: prints the table of all jobs and writes it as table.md and table.json."""

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Collect the rows; a failed job has no row and is left out."""
        folder = Path(config.hydra.sweep.dir)
        rows = collect_rows(folder)
        if not rows:
            log.warning("no job of %s finished, so no table was written", folder)
            return
        table = markdown_table(rows)
        if "ranker" in rows[0]:  # rankers by test year, mean and deviation over seeds
            table = f"{summarize(rows)}\n\n{table}"
        with atomic_write(folder / "table.md") as stream:
            stream.write(table + "\n")
        write_json(folder / "table.json", rows)
        print(f"\n{table}\n\nwritten to {folder / 'table.md'}")


def _natural(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isdigit() else (10**9, name)


def summarize(rows: Sequence[Mapping[str, Any]]) -> str:
    """Markdown: one line per ranker, AP and P30 by test year, mean (deviation) over seeds."""
    from siamese_news.training.rerank.results import SUFFIXES

    years = sorted({row["fold"] for row in rows})
    systems: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for suffix in SUFFIXES:
        for row in rows:
            if f"AP{suffix}" in row:
                systems.setdefault((suffix, row["ranker"], row["vectors"]), []).append(row)
    lines: list[dict[str, Any]] = []
    for (suffix, ranker, vectors), runs in systems.items():
        seeds = len({row["seed"] for row in runs})
        lines.append({"system": ranker + suffix, "vectors": vectors, "seeds": seeds})
        for year in years:
            of_year = [row for row in runs if row["fold"] == year]
            for figure in FIGURES:
                lines[-1][f"{year} {figure}"] = spread([row[figure + suffix] for row in of_year])
    return markdown_table(lines)


def spread(values: Sequence[float]) -> str | None:
    """Mean, and the sample deviation where there are several values."""
    if not values:
        return None
    mean = f"{np.mean(values):.4f}"
    return mean if len(values) == 1 else f"{mean} ±{np.std(values, ddof=1):.4f}"
