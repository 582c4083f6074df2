"""The paper's four encoders for ten epochs at one learning rate, split by pair, three seeds.

`conf/experiment/usatoday_order.yaml`: more training than the sweep has, with the epochs and
the learning rate of the released code.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from papers.ast.sweep import ENCODERS
from papers.exhibit import Table
from papers.jobs import Job, Results, Setting
from papers.training_runs import forget_checkpoints, train_link

NAME = "ten_epochs_pair"
FIGURES = ("AP", "AUC", "mRP", "MAP", "dev map")
PAPERS_FOUR = tuple(encoder for encoder in ENCODERS if encoder.published)


def ten_epochs_jobs(setting: Setting) -> list[Job]:
    """One job: twelve runs. The bundled stories have no split by pair."""
    if setting.data != "shared":
        return []
    run = partial(_train, setting)
    return [Job(NAME, run, 120.0, "usatoday-cnn, split by pair", setting.seeds)]


def _train(setting: Setting, folder: Path, results: Results) -> Mapping[str, Any]:
    rows = []
    for encoder in PAPERS_FOUR:
        runs = []
        for seed in setting.seeds:
            out = folder / f"{encoder.option}-{seed}"
            options = ["experiment=usatoday_order", f"encoder={encoder.option}", f"seed={seed}"]
            runs.append(train_link([*options, "task.bootstrap=0"], out)["row"])
            forget_checkpoints(out)
        row: dict[str, Any] = {"encoder": encoder.option, "seeds": len(runs)}
        for name in FIGURES:
            values = [run[name] for run in runs]
            row[name] = float(np.mean(values))
            row[f"{name} ±"] = float(np.std(values, ddof=1)) if len(values) > 1 else None
        rows.append(row)
    return {"rows": rows}


def ten_epochs_table(results: Results) -> list[Table]:
    """The table, where there is a result."""
    if NAME not in results:
        return []
    titles = {encoder.option: encoder.title for encoder in PAPERS_FOUR}
    rows = [
        {
            "encoder": titles[row["encoder"]],
            "seeds": row["seeds"],
            "mAP": row["AP"],
            "± over seeds": row["AP ±"],
            "AUC": row["AUC"],
            "mRP (8 rows)": row["mRP"],
            "MAP by article": row["MAP"],
            "± of MAP": row["MAP ±"],
            "dev MAP": row["dev map"],
        }
        for row in results[NAME]["rows"]
    ]
    note = (
        "The same vectors, objective and cut; up to 64 posts of an article in each epoch, which is "
        "twice the sweep's; ten epochs at .001, of which dev chooses the best: python -m "
        "siamese_news.train experiment=usatoday_order."
    )
    title = "Ten epochs at one learning rate, split by pair"
    return [Table(title, rows, "ten_epochs", note=note)]
