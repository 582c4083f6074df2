"""The comparison table at the end of a multirun: one row a job, from the row each job wrote."""

import json
import logging
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from siamese_news.errors import InputError
from siamese_news.utils.files import atomic_write
from siamese_news.utils.markdown import markdown_table

ROW = "row.json"
log = logging.getLogger(__name__)


def write_row(folder: Path, row: dict[str, Any]) -> None:
    """Write a job's row of the comparison table; a job with this file counts as done."""
    with atomic_write(folder / ROW) as stream:
        json.dump(row, stream, indent=2, ensure_ascii=False)
        stream.write("\n")


def collect_rows(folder: Path) -> list[dict[str, Any]]:
    """The rows of a multirun's finished jobs, in the order of the jobs."""
    rows = []
    for path in sorted(folder.glob(f"*/{ROW}"), key=lambda path: _natural(path.parent.name)):
        try:
            rows.append({"job": path.parent.name, **json.loads(path.read_text(encoding="utf-8"))})
        except ValueError as error:
            raise InputError(f"{path}: not JSON ({error}); run the job again") from error
    return rows


class SweepTable(Callback):
    """Hydra callback: prints the table of all jobs and writes it as table.md and table.json."""

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Collect the rows; a failed job has no row and is left out."""
        folder = Path(config.hydra.sweep.dir)
        rows = collect_rows(folder)
        if not rows:
            log.warning("no job of %s finished; there is no table", folder)
            return
        table = markdown_table(rows)
        if "ranker" in rows[0]:  # rankers by test year, mean and deviation over seeds
            from siamese_news.training.rerank.table import summarise

            table = f"{summarise(rows)}\n\n{table}"
        with atomic_write(folder / "table.md") as stream:
            stream.write(table + "\n")
        with atomic_write(folder / "table.json") as stream:
            json.dump(rows, stream, indent=2, ensure_ascii=False)
        print(f"\n{table}\n\nwritten to {folder / 'table.md'}")


def _natural(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isdigit() else (10**9, name)
