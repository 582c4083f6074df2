"""Labeling for one plan or several at once: the next post, the progress, and the findings."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from siamese_news_desk.decide import recall
from siamese_news_desk.decide.certification import Certification
from siamese_news_desk.decide.plan.sealed_files import SEAL, sibling, write_sealed
from siamese_news_desk.decide.stopping import Stopping
from siamese_news_desk.labels.journal import LabelJournal
from siamese_news_desk.labels.matching import Labels, changed_sentence, labels_in
from siamese_news_desk.labels.units import Unit

# Labels after which a bound is computed again; each time counts as a look.
_RENEWED = 10


class Session:
    """Labels in a journal that count for every plan; the posts of earlier plans come first.

    Args:
        plans: over the same posts, at least one. The first one's drawn posts are the labeled ones.
        labels: the file of the journal; it may exist.
    """

    def __init__(self, plans: Sequence[Certification | Stopping], labels: Path) -> None:
        self._plans = plans
        self._recalls = [
            p for p in plans if isinstance(p, Stopping) and p.promises_recall
        ]
        self._sampled = plans[0].sampled
        self.journal = LabelJournal(labels, plans[0].plan[SEAL])
        # The number of labels with which the bounds were computed last, and their text.
        self._shown: tuple[int, str] | None = None
        self._look()

    @property
    def labels(self) -> Labels:
        """All labels so far."""
        return labels_in(self.journal, self._sampled)

    def ask(self) -> Unit | None:
        """The next post to label, recorded as drawn; None once every plan has what it needs."""
        labels = self.labels
        for plan in self._plans:
            if (unit := plan.ask(labels)) is not None:
                self._sampled.draw([unit])
                return unit
        return None

    def status(self) -> str:
        """The progress of every plan, and what the labels show."""
        labels = self.labels
        parts = [
            plan.progress(labels) if isinstance(plan, Stopping) else plan.status(labels)
            for plan in self._plans
        ]
        if self._shown is None or abs(len(labels.of) - self._shown[0]) >= _RENEWED:
            self._look()
            bounds = filter(None, (plan.shown(labels) for plan in self._recalls))
            self._shown = len(labels.of), "; ".join(bounds)
        return "; ".join(filter(None, [*parts, self._shown[1]]))

    def findings(self) -> list[tuple[Path, dict[str, Any]]]:
        """The sealed file and its content for every recall that is reached; writes the files."""
        labels = self.labels
        written = []
        for plan in self._recalls:
            if plan.recall_reached(labels):
                content = recall.findings(plan, labels)
                path = sibling(plan.path, "recall.json")
                write_sealed(path, content)
                written.append((path, content))
        return written

    def remarks(self) -> list[str]:
        """Remarks on the labels, and on verdicts that were changed after a look."""
        self._look()
        changed = [changed_sentence(plan.log.changed).strip() for plan in self._recalls]
        return [*filter(None, changed), *self.labels.remarks()]

    def _look(self) -> None:
        for plan in self._recalls:
            plan.log.look(self.labels)
