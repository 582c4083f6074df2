"""Labels typed one after the other: on disk before the next post is shown."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from siamese_news.errors import InputError
from siamese_news.labels.journal import Journal
from siamese_news.labels.matching import Label, Labels, SampledPost, SampledPosts
from siamese_news.labels.results import Unit
from siamese_news.labels.sheets import check_value

VALUES: dict[str, int | str] = {"y": 1, "n": 0, "s": "skip"}


@dataclass(slots=True)
class Entry:
    """One answer: the post, what was said, and a note."""

    drawn: SampledPost
    value: int | str
    note: str = ""


class Answers:
    """A file of labels that only grows: JSON lines, the plan's seal first.

    An answer that is taken back is followed by a line that says so.

    Args:
        path: of the file; need not be there yet.
        plan: the seal of the plan.
        drawn: the posts of the plan.

    Raises:
        InputError: for a file of another plan, and a damaged one.
    """

    def __init__(self, path: Path, plan: str, drawn: SampledPosts) -> None:
        self.path = path
        self.entries: list[Entry] = []
        self._journal = Journal(path)
        for number, row in self._journal.rows:
            try:
                if "plan" in row:
                    if row["plan"] != plan:
                        raise InputError(
                            f"{path}:{number}: labels of another plan; name another --labels"
                        )
                elif row.get("undo"):
                    self.entries.pop()
                else:
                    found = drawn.by_key[row["key"]]
                    self.entries.append(Entry(found, row["label"], row.get("note", "")))
            except (KeyError, IndexError, TypeError) as error:
                raise self._journal.damaged(number, error) from error
        # Even with nothing to add, this cuts off what was never confirmed.
        self._journal.append([] if self._journal.rows else [{"plan": plan}])

    def labels(self) -> Labels:
        """The answers as `read_labels` gives them."""
        labels = Labels()
        for entry in self.entries:
            labels.of[entry.drawn.name] = Label(
                entry.drawn, entry.value == 1, entry.value == "skip", str(self.path)
            )
        return labels

    def put(self, drawn: SampledPost, unit: Unit, value: int | str, note: str = "") -> None:
        """Add an answer; it is on disk when this returns."""
        self.entries.append(Entry(drawn, value, note))
        row: dict[str, Any] = {"key": drawn.key, "post": drawn.post}
        row |= {"article": drawn.article} if drawn.article else {}
        row |= {"label": value, "text": unit.text, "check": check_value(drawn.name, unit.text)}
        row |= {"note": note} if note else {}
        self._journal.append([row | {"at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}])

    def undo(self) -> Entry | None:
        """Take the last answer back; None where there is none."""
        if not self.entries:
            return None
        entry = self.entries.pop()
        row = {"key": entry.drawn.key, "post": entry.drawn.post, "label": None, "undo": True}
        self._journal.append([row])
        return entry


Ask = Callable[[Labels], tuple[Unit, SampledPost] | None]
Show = Callable[[Unit, list[Entry]], None]


def annotate(
    answers: Answers,
    ask: Ask,
    show: Show,
    key: Callable[[], str],
    line: Callable[[str], str],
) -> bool:
    """Show a post, read a key, write the label; until nothing is asked, or somebody stops.

    Args:
        answers: the file of labels.
        ask: the next post for the labels that there are; None when done.
        show: puts a post before the annotator.
        key: reads one key; empty at the end of the input.
        line: reads a line, after a prompt.

    Returns:
        Whether it is done.
    """
    while (asked := ask(answers.labels())) is not None:
        unit, drawn = asked
        note = ""
        show(unit, answers.entries)
        while True:
            pressed = key().lower()
            if pressed in ("", "q"):
                return False
            if pressed == "t":
                note = line("note: ")
                continue
            if pressed == "u":
                if answers.undo() is not None:
                    break
                continue
            if pressed in VALUES:
                answers.put(drawn, unit, VALUES[pressed], note)
                break
    return True
