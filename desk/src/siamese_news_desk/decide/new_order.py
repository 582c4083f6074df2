"""Results with labels of people and of a machine, and the posts in the order learned from them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.results import read_table
from siamese_news.errors import InputError
from siamese_news.search.result_files import write_rows
from siamese_news.utils.files import atomic_write, file_sha256, write_json
from siamese_news.utils.provenance import provenance
from siamese_news.utils.terminal import counted, verb
from siamese_news_desk.decide.agreement import machine_lines
from siamese_news_desk.decide.learning import Feedback, learn, next_posts, unjudged
from siamese_news_desk.decide.learning_examples import TooFewLabels
from siamese_news_desk.decide.learning_views import PostWords
from siamese_news_desk.decide.plan.sampling_plan import BEFORE
from siamese_news_desk.labels.journal import (
    CONFLICT,
    NO,
    YES,
    common_label,
    conflict_remarks,
)
from siamese_news_desk.labels.machine import MachineVerdicts, read_machine
from siamese_news_desk.labels.matching import FOR_LEARNING
from siamese_news_desk.labels.sheets import read_rows
from siamese_news_desk.labels.units import Unit


def read_verdicts(
    paths: Sequence[Path], say: Callable[[str], None] | None = None
) -> dict[str, bool]:
    """Posts with unanimous labels, from any files with the columns post and label.

    Skipped posts, and those with contradicting labels, are left out; `say` is told the latter.
    """
    labels_of: dict[str, set[str]] = {}
    for path in paths:
        for row in read_rows(path):
            if value := row.verdict():
                post = (
                    row.key[len(FOR_LEARNING) :]
                    if row.key.startswith(FOR_LEARNING)
                    else row.post
                )
                labels_of.setdefault(post, set()).add(value)
    verdicts = {post: common_label(values) for post, values in labels_of.items()}
    if say is not None:
        for remark in unused(verdicts):
            say(remark)
    return certain(verdicts)


def certain(labels: Mapping[str, str]) -> dict[str, bool]:
    """Whether the posts with a certain `common_label` are relevant."""
    return {post: label == YES for post, label in labels.items() if label in (YES, NO)}


def unused(labels: Mapping[str, str]) -> list[str]:
    """The remark on the posts that `certain` leaves out because of contradicting labels."""
    return conflict_remarks(
        [p for p, label in labels.items() if label == CONFLICT], "not used"
    )


@dataclass(frozen=True, slots=True)
class LabeledResults:
    """A list of posts with their texts (`table`), and labels of people and of a machine.

    Attributes:
        verdicts: place of a labeled post -> whether it is relevant.
        missing: unused labels, of posts that are not in the list.
    """

    path: Path
    table: Any
    verdicts: Mapping[int, bool]
    missing: int
    machine: MachineVerdicts | None

    @classmethod
    def read(
        cls,
        path: Path,
        verdicts: Mapping[str, bool],
        machine: tuple[Path, str] | None = None,
    ) -> "LabeledResults":
        """Read results, with the labels of people by id and a machine's file and name.

        Raises:
            InputError: for unusable results, and labels of other posts; see `read_machine`.
        """
        table = read_table(path)
        if BEFORE in table.column_names:
            raise InputError(
                f"{path}: is an order learned from labels, which cannot judge it again; expected "
                "the results of the search, and all labels"
            )
        posts = table.column("post").to_pylist()
        row_of = {post: row for row, post in enumerate(posts)}
        places_of = {
            row_of[post]: verdict
            for post, verdict in verdicts.items()
            if post in row_of
        }
        if verdicts and not places_of:
            raise InputError(f"{path}: has none of the labeled posts; check both files")
        machine_verdicts = read_machine(*machine, posts) if machine else None
        return cls(
            path, table, places_of, len(verdicts) - len(places_of), machine_verdicts
        )

    def learn(self, seed: int = 0) -> Feedback:
        """Learn the new order.

        Raises:
            TooFewLabels: see `learning.learn`; never with a machine.
        """
        scores = self.table.column("score").to_numpy()
        machine = self.machine
        values = None if machine is None else machine.values
        if values is not None and all(self.verdicts.values()):
            new_scores = unjudged(scores, self.verdicts, values)
        else:
            try:
                new_scores = learn(
                    PostWords.of(self.table.column("text").to_pylist()),
                    scores,
                    self.verdicts,
                    self._groups(),
                    machine=values,
                    seed=seed,
                )
            except TooFewLabels:
                if values is None:
                    raise
                new_scores = unjudged(scores, self.verdicts, values)
        return (
            new_scores if machine is None else replace(new_scores, machine=machine.name)
        )

    def remarks(self) -> list[str]:
        """Remarks on labels and verdicts, and how well they agree."""
        remarks = []
        if self.missing:
            remarks.append(
                f"{counted(self.missing, 'labeled post')} {verb(self.missing, 'are')} not in "
                f"{self.path}; not used"
            )
        if self.machine is None:
            return remarks
        ranks = self.table.column("rank").to_numpy()
        return remarks + machine_lines(self.machine, self.verdicts, ranks)

    def next_units(
        self, feedback: Feedback | None, count: int, seed: int
    ) -> list[tuple[str, Unit]]:
        """The posts to label next, with their keys; see `learning.next_posts`."""
        scores = self.table.column("score").to_numpy()
        odds = None
        if feedback is not None and feedback.helps:
            scores = feedback.scores
            odds = feedback.odds
        rows = next_posts(scores, odds, self._groups(), self.verdicts, count, seed=seed)
        posts = self.table.take(rows).to_pylist()
        return [
            (
                FOR_LEARNING + post["post"],
                Unit(
                    post["post"],
                    post["post"],
                    text=post["text"],
                    link=post.get("link") or "",
                ),
            )
            for post in posts
        ]

    def _groups(self) -> NDArray[np.int64]:
        """(N,) the clusters of near-duplicates; without them, posts with the same text."""
        table = self.table
        if "cluster" in table.column_names and not table.column("cluster").null_count:
            return np.asarray(table.column("cluster").to_numpy())
        texts = [
            " ".join(text.lower().split()) for text in table.column("text").to_pylist()
        ]
        return np.unique(texts, return_inverse=True)[1]


def learn_order(
    results: Path,
    verdicts: Mapping[str, bool],
    machine: tuple[Path, str] | None,
    out: Path,
    *,
    command_line: str,
) -> tuple[Feedback, list[str]]:
    """Learn from labels (`LabeledResults.read`), and write the learned order to `out` if it helps.

    Returns the learned order, and remarks on labels and verdicts.

    Raises:
        InputError: for unusable results, and labels that are too few.
    """
    labeled = LabeledResults.read(results, verdicts, machine)
    feedback = labeled.learn()
    if feedback.helps:
        write_order(out, labeled, feedback, command_line)
    return feedback, labeled.remarks()


def order_format(path: Path) -> str:
    """The format of a file for a learned order, by its ending.

    Raises:
        InputError: it is another one than ``.parquet``, ``.jsonl`` or ``.csv``.
    """
    format = Path(path.name.removesuffix(".gz")).suffix.lower().removeprefix(".")
    if format not in ("parquet", "jsonl", "csv"):
        raise InputError(
            f"{path}: expected a name that ends with .parquet, .jsonl or .csv"
        )
    return format


def write_order(
    path: Path, labeled: LabeledResults, feedback: Feedback, command_line: str
) -> None:
    """Write the posts in the learned order with their former ranks, and a file about it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = labeled.table
    scores = np.round(feedback.scores, 6)
    order = np.lexsort([table.column("rank").to_numpy(), -scores])
    ranks = table.column("rank")
    table = table.set_column(
        table.column_names.index("score"), "score", pa.array(scores)
    )
    table = table.append_column(BEFORE, ranks).take(pa.array(order))
    new = pa.array(np.arange(1, len(table) + 1))
    table = table.set_column(table.column_names.index("rank"), "rank", new)
    format = order_format(path)
    if format == "parquet":
        with atomic_write(path, "wb") as stream:
            pq.write_table(table, stream, compression="zstd", row_group_size=65_536)
    else:
        with atomic_write(path) as stream:
            write_rows(stream, table.to_pylist(), format, columns=table.column_names)
    meta = {
        "command": command_line,
        "provenance": provenance(),
        "feedback": feedback.plain()
        | {
            "of": labeled.path.name,
            "remarks": labeled.remarks(),
            "learned_from": [
                labeled.table.column("post")[n].as_py() for n in labeled.verdicts
            ],
        },
        "sha256": file_sha256(path),
    }
    write_json(path.with_name(path.name + ".meta.json"), meta)
