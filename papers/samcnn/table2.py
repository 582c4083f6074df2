"""samCNN, Table 2: the settings, as printed, in the released code and here."""

from collections.abc import Mapping
from typing import Any

from papers.exhibit import Content, Exhibit, Published, Table
from papers.jobs import Results
from papers.samcnn.published import LOGGED, PAPER, SETTINGS
from papers.training_runs import compose_training

# Option of task.batches -> whose posts a batch holds.
BATCHES = {"mixed": "of several queries", "query": "of one query"}


def settings_here(experiment: str) -> dict[str, str]:
    """The settings of an experiment of ``conf/experiment``, under the names of `SETTINGS`."""
    options = compose_training([f"experiment={experiment}", "ranker=patt"])
    task = options["task"]
    ranker = options["ranker"]
    vectors = options["vectors"]
    optimizer = task["optimizer"]
    schedule = task["schedule"]
    trained = "fine-tuned" if vectors["trainable"] else "not fine-tuned"
    bound = task["unknown_range"]
    patience = task["patience"]
    stop = f", stopping after {patience} validations without a better one"
    return {
        "word vectors": f"{vectors['source']}, {trained}",
        "words without a vector": "unit vectors"
        if bound is None
        else f"U[-{bound}, {bound}]",
        "filters": str(ranker["filters"]),
        "window width": ", ".join(map(str, ranker["widths"])),
        "size of a text's vector": str(ranker["hidden"]),
        "size of the hidden layer o": str(ranker["head_hidden"]),
        "dropout": f"{ranker['dropout']} (features), {ranker['head_dropout']} (o)",
        "optimizer": f"{optimizer['_target_'].rpartition('.')[2]}, momentum "
        f"{optimizer['momentum']}, weight decay {optimizer['weight_decay']}",
        "batches": f"{task['batch_size']}, {BATCHES[task['batches']]}",
        "aggregation": ranker["aggregation"],
        "learning rate": f"{optimizer['lr']}, times {schedule['gamma']} every "
        f"{schedule['step_size']} epochs",
        "epochs": f"{task['epochs']}{stop if patience else ''}; validated every {_interval(task)}",
    }


def _interval(task: Mapping[str, Any]) -> str:
    """What lies between two validations, in words."""
    if task["validate_queries"] is not None:
        return (
            f"{task['validate_queries']} queries, selected by {task['select'].upper()}"
        )
    return f"{task['validate_every']:g} epochs, selected by {task['select'].upper()}"


def rows() -> list[dict[str, Any]]:
    """One row a setting."""
    experiments = ("rerank_samcnn", "rerank_authors")
    here = {experiment: settings_here(experiment) for experiment in experiments}
    return [
        {"setting": name}
        | {experiment: here[experiment][name] for experiment in experiments}
        for name in SETTINGS
    ]


def _lay_out(results: Results) -> Content:
    return Content(
        tables=[
            Table("The settings", rows(), note="Read from conf/ when the page is made.")
        ],
        outcome=(
            "Every setting that the paper prints is used here except for its vectors: 100-d GloVe "
            "for 300-d."
        ),
    )


EXHIBIT = Exhibit(
    paper="samcnn",
    kind="table",
    key="2",
    title="Table 2: the settings",
    remark=(
        "The paper does not mention epochs, early stopping, momentum, weight decay or a schedule "
        "of the learning rate, and does not say which GloVe it used. Momentum, weight decay, the "
        "schedule and 15 epochs are those of the released code, which names a 300-d file of "
        "Twitter vectors (GloVe's own have at most 200 dimensions); early stopping is ours. A word "
        "that occurs once in the whole collection keeps its first vector."
    ),
    published=Published(
        f"{PAPER}, Table 2; the defaults of github.com/Impavidity/samCNN; {LOGGED}",
        [
            Table(
                "As printed, in the released code, and where the log was made",
                [
                    {
                        "setting": name,
                        "the paper": printed,
                        "the released code": released,
                        "the repository of the log": logged,
                    }
                    for name, (printed, released, logged) in SETTINGS.items()
                ],
            )
        ],
    ),
    lay_out=_lay_out,
)
