"""An audit from its plan to its bounds: of a list, and of the recall at a threshold."""

from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from siamese_news.decide.bounds.hypergeometric import labels_for_recall, lower_bound, recall_bound
from siamese_news.decide.plan.design import Keys, Order
from siamese_news.decide.plan.files import SEAL
from siamese_news.decide.plan.population import Population
from siamese_news.decide.plan.sampling_plan import SamplingPlan
from siamese_news.errors import InputError
from siamese_news.labels.matching import Labels, changed_sentence
from siamese_news.labels.results import Unit
from siamese_news.utils.provenance import command, provenance

ABOVE, BELOW = "above", "below"


class Audit(SamplingPlan):
    """A random sample of a list, or of both sides of a threshold; see `SamplingPlan`."""

    kind = "audit"

    @property
    def settings(self) -> dict[str, Any]:
        """What was fixed before the first label."""
        return dict(self.plan["settings"])

    @classmethod
    def start(
        cls,
        results: Path,
        path: Path,
        *,
        budget: int,
        confidence: str,
        seed: int,
        threshold: float | None = None,
        size: int | None = None,
        posts: Sequence[Path] | None = None,
        again: bool = False,
        withdraw: Sequence[Path] = (),
        criteria: str = "",
    ) -> Self:
        """Fix the sample and write its plan.

        Args:
            results: the list, or the scored pool.
            path: of the plan, a new file.
            budget: posts to draw.
            confidence: as typed.
            seed: of the random order.
            threshold: for recall: the score whose recall is asked for.
            size: for recall: the population, the best so many posts.
            posts: files with the texts.
            again: whether this may be a further plan over the same scores.
            withdraw: earlier plans that this one replaces; see `ledger.register`.
            criteria: what counts as relevant.

        Raises:
            InputError: for a recall of everything, and settings that cannot be.
        """
        population = Population(results)
        settings: dict[str, Any] = {
            "budget": budget,
            "confidence": confidence,
            "seed": seed,
            "threshold": threshold,
            "population": size,
        }
        if threshold is not None:
            settings["above"] = _above(population, threshold, size, results)
        if path.exists():
            raise InputError(f"{path}: a plan stands there; name another --out")
        return cls._fix(
            path,
            population,
            settings,
            error=1 - Fraction(confidence),
            own={},
            posts=posts,
            again=again,
            withdraw=withdraw,
            criteria=criteria,
        )

    @classmethod
    def resume(
        cls, path: Path, *, results: Path | None = None, posts: Sequence[Path] | None = None
    ) -> Self:
        """See `SamplingPlan.resume`; the parts must be those of the scores as well."""
        found = super().resume(path, results=results, posts=posts)
        chosen = found.settings
        if chosen["threshold"] is not None:
            threshold, size = chosen["threshold"], chosen["population"]
            above = _above(found.population, threshold, size, found.results)
            if chosen.get("above") != above:
                raise InputError(f"{path}: its parts are not those of these scores; restore it")
        return found

    @property
    def confidence(self) -> Fraction:
        """What is left of it after earlier audits of the same list."""
        return max(Fraction(0), Fraction(self.settings["confidence"]) - self.earlier_error)

    def parts(self) -> dict[str, tuple[int, int, int]]:
        """Of each part its name, first rank, end, and how many posts are drawn."""
        budget = self.settings["budget"]
        if self.settings["threshold"] is None:
            total = len(self.population)
            return {"": (0, total, min(budget, total))}
        above, size = self.settings["above"], self.settings["population"]
        first = min(above, max(1, budget // 3))
        return {ABOVE: (0, above, first), BELOW: (above, size, min(size - above, budget - first))}

    def draw(self) -> list[tuple[str, Unit]]:
        """The drawn posts, in the order to label them: parts are mixed, so none is recognised."""
        found: list[tuple[int, str, int]] = []
        keys = self.population.keys(self.settings["seed"], "audit")
        for name, (start, end, count) in self.parts().items():
            order = Order(np.array([end - start]), partial(_from, keys, start))
            ranks = (order.first(0, count) + start).tolist()
            found += [(int(k), name, r) for k, r in zip(self._keys(ranks), ranks, strict=True)]
        found.sort()
        units = self.texts.units([rank for _, _, rank in found])
        return [
            (self.sampled.draw([unit], part)[0].key, unit)
            for unit, (_, part, _) in zip(units, found, strict=True)
        ]

    def _keys(self, ranks: Sequence[int]) -> list[int]:
        from siamese_news.decide.plan.design import keys_of

        names = self.population.names_at(ranks) if ranks else []
        found: list[int] = keys_of(self.settings["seed"], names, purpose="mix").tolist()
        return found

    def report(self, labels: Labels) -> dict[str, Any]:
        """What the labels show.

        Raises:
            InputError: where a drawn post has no label: the bounds are for the whole sample.
        """
        missing = [drawn for drawn in self.sampled.by_key.values() if drawn.name not in labels.of]
        if missing:
            raise InputError(
                f"{self.path}: {len(missing)} of the {len(self.sampled)} drawn posts have no "
                f"label, the first is '{missing[0].post}' (key {missing[0].key}); the bound holds "
                "for the whole sample: label all of it (skip where you cannot tell)"
            )
        self.log.look(labels)
        error = float(1 - self.confidence)
        counts = {}
        for name, (start, end, count) in self.parts().items():
            said = [labels.of[drawn.name] for drawn in self.sampled.of_part(name)]
            # Nothing said counts against us: not relevant above, relevant below.
            hits = sum(s.relevant or (s.skipped and name == BELOW) for s in said)
            counts[name] = (end - start, count, hits)
        found: dict[str, Any] = {
            "format": "siamese_news audit 1",
            "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
            "command": command(),
            "provenance": provenance(),
            "plan": {"file": self.path.name, "sha256": self.plan[SEAL]},
            "settings": self.settings,
            "population": self.plan["population"],
            "model": self.plan["model"],
            "criteria": self.plan["criteria"],
            "confidence": float(self.confidence),
            "skipped": sum(label.skipped for label in labels.of.values()),
            "changed": self.log.changed,
        }
        if ABOVE not in counts:
            size, drawn, hits = counts[""]
            least = lower_bound(size, drawn, hits, error)
            return found | {
                "posts": size,
                "labels": drawn,
                "relevant": hits,
                "relevant_at_least": least,
                "precision": hits / drawn,
                "precision_at_least": least / size,
            }
        above, below = counts[ABOVE], counts[BELOW]
        estimate, bound = recall_bound(above, below, error)
        return found | {
            "above": list(above),
            "below": list(below),
            "recall": estimate,
            "recall_at_least": bound,
            "precision": above[2] / above[1],
        }


def sentence_of(found: dict[str, Any]) -> str:
    """What an audit says, to quote."""
    sure, changed = f"with confidence {found['confidence']:g}", changed_sentence(found["changed"])
    if "above" not in found:
        return (
            f"Of {found['posts']:,} posts {found['labels']:,} were drawn at random and labelled: "
            f"{found['relevant']:,} are relevant. At least {found['relevant_at_least']:,} of all "
            f"are (a precision of {found['precision_at_least']:.3f} or more), {sure}.{changed}"
        )
    size = found["settings"]["population"]
    return (
        f"Among the best {size:,} posts of {found['population']['file']}, recall at a score of "
        f"{found['settings']['threshold']:g} is estimated at {found['recall']:.3f} and is at least "
        f"{found['recall_at_least']:.3f} {sure}. It says nothing about posts that are not among "
        f"those {size:,}.{changed}"
    )


def _from(keys: Keys, rank: int, start: int, end: int) -> NDArray[np.uint64]:
    """The keys of a part of the population that begins at a rank."""
    return keys(rank + start, rank + end)


def _above(population: Population, threshold: float, size: int | None, results: Path) -> int:
    above = population.size_at(threshold)
    total = len(population)
    if not above:
        raise InputError(
            f"{results}: no post has a score of {threshold:g} or more; the best has "
            f"{population.scores[0]:g}"
        )
    if size is None:
        labels = labels_for_recall(Fraction(4, 5), above, total - above)
        raise InputError(
            "recall needs a named population: say --population N for the best N posts. For all "
            f"{total:,} a guaranteed recall of .8 would take about {labels:,} labels below the "
            f"threshold even if all {above:,} posts above are relevant and none of the labelled "
            "ones below is, so no number for everything would mean anything"
        )
    if not above < size <= total:
        raise InputError(
            f"--population is {size:,}; expected more than the {above:,} posts at the threshold or "
            f"above, and no more than the {total:,} that there are"
        )
    return above
