"""The jobs of a multirun: one that fails does not end it, and a table compares the others."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from siamese_news.errors import InputError
from siamese_news.training.job import ROW, read_row
from siamese_news.utils.files import atomic_write, write_json
from siamese_news.utils.markdown import markdown_table

log = logging.getLogger(__name__)
#: The error of a job, in its folder.
FAILED = "failed.txt"


@contextmanager
def one_of_many(out: Path) -> Iterator[None]:
    """Log an error of a multirun's job, and keep it for the end, so that the other jobs run."""
    (out / FAILED).unlink(missing_ok=True)
    try:
        yield
    except Exception as error:
        log.error(
            "%s", error, exc_info=None if isinstance(error, InputError) else error
        )
        with atomic_write(out / FAILED) as stream:
            stream.write(f"{error}\n")


def collect_rows(folder: Path) -> list[dict[str, Any]]:
    """The rows of a multirun's jobs that did not fail, in the order of the jobs.

    Each override that is not the same in all jobs is a column in front of the figures.
    """
    jobs = []
    overrides_of = []
    for name, path in _by_job(folder, ROW):
        if path.with_name(
            FAILED
        ).is_file():  # another sweep's row, which this one refused
            continue
        row = read_row(path)
        del row["config"]
        pairs = (override.partition("=") for override in row.pop("overrides"))
        row.pop("loops", None)
        overrides_of.append({key.lstrip("+~"): value for key, _, value in pairs})
        jobs.append((name, row))
    columns = {}
    for key in dict.fromkeys(key for overrides in overrides_of for key in overrides):
        values = [overrides.get(key) for overrides in overrides_of]
        # Some rows hold their options already: their seed, the name of their encoder.
        if len(set(values)) > 1 and values != [str(row.get(key)) for _, row in jobs]:
            columns[key] = (
                f"{key} (override)" if any(key in row for _, row in jobs) else key
            )
    return [
        {
            "job": name,
            **{title: overrides.get(key) for key, title in columns.items()},
            **row,
        }
        for (name, row), overrides in zip(jobs, overrides_of, strict=True)
    ]


class SweepTable(Callback):
    """Hydra callback: prints the table of all jobs and writes it as table.md and table.json."""

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Collect the rows, and end with code 2 if a job failed."""
        folder = Path(config.hydra.sweep.dir)
        if rows := collect_rows(folder):
            table = markdown_table(rows)
            with atomic_write(folder / "table.md") as stream:
                stream.write(table + "\n")
            write_json(folder / "table.json", rows)
            print(f"\n{table}\n\nwritten to {folder / 'table.md'}")
        else:
            log.warning("no job of %s finished, so no table was written", folder)
        failed = _by_job(folder, FAILED)
        for name, path in failed:
            log.error(
                "job %s failed: %s", name, path.read_text(encoding="utf-8").strip()
            )
        if failed:
            sys.exit(2)


def _by_job(folder: Path, file: str) -> list[tuple[str, Path]]:
    """The names of the jobs that have a file, in their order, and its paths."""
    rows_found = [
        (str(path.parent.relative_to(folder)), path) for path in folder.rglob(file)
    ]
    return sorted(
        rows_found, key=lambda job: (int(job[0]) if job[0].isdigit() else 10**9, job[0])
    )
