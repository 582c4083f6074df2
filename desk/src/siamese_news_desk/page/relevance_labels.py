"""Relevance by the user's own labels: the posts to label for it, and the map of their labels."""

import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

from siamese_news_desk.decide.own_relevance import (
    FEWEST,
    LABELS,
    OwnRelevance,
    estimates_of,
    next_places,
    own_sample,
)
from siamese_news_desk.labels.journal import LabelJournal
from siamese_news_desk.labels.matching import Labels, labels_in
from siamese_news_desk.page.project import Project

# A file of results never changes, so it is read once.
_estimates_of = lru_cache(1)(estimates_of)


class RelevanceLabels:
    """The posts of the current search whose labels make its relevance the user's own.

    They are drawn when they are first asked for, as ``sample --for relevance`` draws them, and any
    label of them counts. The map is a file of the search; the results use it (`Results.use`).
    """

    def __init__(self, project: Project, log: LabelJournal) -> None:
        self._project = project
        self._log = log
        self._guard = threading.RLock()

    def posts(self) -> list[str]:
        """The ids of the posts to label so far; none where the list has fewer than ten.

        Once they have labels there are more, where these leave relevance open, up to 20.
        """
        with self._guard:
            sampled = own_sample(self._sheet)
            size = len(self._project.load_results())
            missing = min(LABELS, size) - len(sampled)
            labels = labels_in(self._log, sampled)
            if size >= FEWEST and missing and len(labels.of) == len(sampled):
                estimates = _estimates_of(self._project.results)
                count = min(missing, FEWEST)
                ranks = next_places(estimates, sampled.by_name, labels, count, 0)
                sampled.draw(estimates[0].units(ranks))
            return [drawn.post for drawn in sampled.by_key.values()]

    def fit(self) -> None:
        """Fit the map to the present labels; with too few of them there is none."""
        path = self._project.relevance_map
        if not self._project.results.exists():  # a search has begun
            return
        with self._guard:
            fitted = self._fitted()
            if fitted is None:
                path.unlink(missing_ok=True)
            else:
                fitted.map.write(path)
            self._project.load_results().use(fitted.map if fitted else None)

    def state(self) -> dict[str, Any]:
        """The state of the labels.

        Returns:
            How many posts are to be labeled in all (``drawn``), how many of them are ``labeled``, and
            ``sentences`` on what the map is worth, none before ten labels.
        """
        with self._guard:
            posts = self.posts()
            fitted = self._fitted()
            return {
                "drawn": min(LABELS, len(self._project.load_results())) * bool(posts),
                "labeled": len(self._labels().of),
                "sentences": fitted.sentences() if fitted else [],
            }

    @property
    def _sheet(self) -> Path:
        return self._project.search / "relevance.jsonl"

    def _labels(self) -> Labels:
        return labels_in(self._log, own_sample(self._sheet))

    def _fitted(self) -> OwnRelevance | None:
        """The map of the present labels."""
        labels = self._labels()
        if sum(not label.skipped for label in labels.of.values()) < FEWEST:
            return None
        return OwnRelevance.of(_estimates_of(self._project.results), labels)
