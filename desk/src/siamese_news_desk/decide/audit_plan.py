"""Audits: of the precision of a list, and of the recall at a threshold or of a certified list."""

from fractions import Fraction
from itertools import repeat
from pathlib import Path
from typing import Any, Self, Unpack

import numpy as np

from siamese_news.errors import InputError
from siamese_news.utils.files import file_sha256
from siamese_news.utils.terminal import counted, verb
from siamese_news_desk.decide.bounds.hypergeometric import (
    labels_for_recall,
    lower_bound,
    recall_bound,
    upper_bound,
)
from siamese_news_desk.decide.checking import certified_list
from siamese_news_desk.decide.methods import recall_sentence
from siamese_news_desk.decide.plan.design import keys_of, share_of
from siamese_news_desk.decide.plan.population import Population, score_text
from siamese_news_desk.decide.plan.sampling_plan import PlanOptions, SamplingPlan
from siamese_news_desk.decide.plan.sealed_files import (
    SEAL,
    made,
    name_for,
    named_by,
    read_sealed,
)
from siamese_news_desk.decide.sentences import (
    choice_sentence,
    earlier_sentence,
    other_plans,
    skipped_sentence,
)
from siamese_news_desk.labels.matching import Labels, changed_sentence
from siamese_news_desk.labels.units import Unit

ABOVE, BELOW = "above", "below"


class Audit(SamplingPlan):
    """A random sample of a list, or of both sides of a threshold; see `SamplingPlan`."""

    kind = "audit"

    def _prepare(self) -> None:
        self.settings: dict[str, Any] = self.plan["settings"]
        share_of(self.settings["confidence"], "confidence")
        threshold = self.settings["threshold"]
        if certified := self.settings.get("certificate"):
            below = self.settings["population"]
            if certified["size"] != self.settings.get("above") or not below:
                raise InputError("its parts do not match its certificate; restore it")
            _check_population(certified["size"], below, len(self.population))
        elif threshold is not None:
            above = _above(self.population, threshold, self.settings["population"])
            if self.settings.get("above") != above:
                raise InputError("its parts do not match these scores; restore it")

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
        certificate: Path | None = None,
        **options: Unpack[PlanOptions],
    ) -> Self:
        """Fix the sample of `budget` posts and write its plan, a new file.

        With a `threshold`, the sample estimates the recall at it among the best `size` posts; with
        a `certificate`, the recall of its list, from posts below it alone.

        Raises:
            InputError: for a recall without a population, and impossible settings.
        """
        if size is not None and threshold is None and certificate is None:
            raise InputError("--population requires --threshold or --certificate")
        if threshold is not None and certificate is not None:
            raise InputError("expected either --threshold or --certificate")
        error = 1 - share_of(confidence, "confidence")
        population = Population(results)
        settings: dict[str, Any] = {
            "budget": budget,
            "confidence": confidence,
            "seed": seed,
            "threshold": threshold,
            "population": size,
        }
        if threshold is not None:
            settings["above"] = _above(population, threshold, size)
        if certificate is not None:
            settings |= _below_certified(path, certificate, results, population, size)
        if path.exists():
            raise InputError(
                f"{path}: there is already a plan in this file; use another --out"
            )
        return cls._fix(path, population, settings, error=error, **options)

    @property
    def confidence(self) -> Fraction:
        """The confidence that is left after earlier audits of the same posts."""
        return max(
            Fraction(0), Fraction(self.settings["confidence"]) - self.earlier_error
        )

    def parts(self) -> dict[str, tuple[int, int, int]]:
        """The parts by name: first rank, end, and number of posts to draw."""
        budget = self.settings["budget"]
        if self.settings.get("certificate"):
            above = self.settings["above"]
            size = self.settings["population"]
            return {BELOW: (above, size, min(size - above, budget))}
        if self.settings["threshold"] is None:
            total = len(self.population)
            return {"": (0, total, min(budget, total))}
        above = self.settings["above"]
        size = self.settings["population"]
        n_above = min(above, max(1, budget // 3))
        return {
            ABOVE: (0, above, n_above),
            BELOW: (above, size, min(size - above, budget - n_above)),
        }

    def draw(self) -> list[tuple[str, Unit]]:
        """The keys and posts to label, in an order that mixes the parts, so it reveals neither."""
        seed: int = self.settings["seed"]
        draws: list[tuple[int, str, int]] = []
        keys = self.population.keys(seed, "audit")
        for name, (start, end, count) in self.parts().items():
            ranks = (
                start + np.argsort(keys(start, end), kind="stable")[:count]
            ).tolist()
            if ranks:
                mixed = keys_of(
                    seed, self.population.names_at(ranks), purpose="mix"
                ).tolist()
                draws += zip(mixed, repeat(name), ranks, strict=False)
        draws.sort()
        units = self.texts.units([rank for _, _, rank in draws])
        return self.sampled.keyed(units, [part_name for _, part_name, _ in draws])

    def report(self, labels: Labels) -> dict[str, Any]:
        """The findings, as they are written.

        Raises:
            InputError: for a drawn post without a label.
        """
        missing = [
            drawn
            for drawn in self.sampled.by_key.values()
            if drawn.name not in labels.of
        ]
        if missing:
            raise InputError(
                f"{self.path}: {len(missing)} of the {len(self.sampled)} drawn posts "
                f"{verb(len(missing), 'have')} no label; the first is '{missing[0].post}' (key "
                f"{missing[0].key}). The bound is "
                "only valid for the whole sample: label all of it (skip posts that you cannot "
                "judge)"
            )
        self.log.look(labels)
        error = float(1 - self.confidence)
        counts = {}
        for name, (start, end, count) in self.parts().items():
            part_labels = [
                labels.of[sampled.name]
                for sampled in self.sampled.by_key.values()
                if sampled.stratum == name
            ]
            # A skipped post counts against us: not relevant above, relevant below.
            hits = sum(s.relevant or (s.skipped and name == BELOW) for s in part_labels)
            counts[name] = (end - start, count, hits)
        report: dict[str, Any] = {
            "format": "siamese_news audit 1",
            **made(),
            "plan": {"file": self.path.name, "sha256": self.plan[SEAL]},
            "settings": self.settings,
            "population": self.plan["population"],
            "model": self.plan["model"],
            "criteria": self.plan["criteria"],
            "confidence": float(self.confidence),
            **other_plans(self),
            "skipped": sum(label.skipped for label in labels.of.values()),
            "changed": self.log.changed,
        }
        if certified := self.settings.get("certificate"):
            return report | self._recall_of(certified, counts[BELOW], error)
        if ABOVE not in counts:
            size, drawn, hits = counts[""]
            relevant_minimum = lower_bound(size, drawn, hits, error)
            return report | {
                "posts": size,
                "labels": drawn,
                "relevant": hits,
                "relevant_at_least": relevant_minimum,
                "precision": hits / drawn,
                "precision_at_least": relevant_minimum / size,
            }
        above = counts[ABOVE]
        below = counts[BELOW]
        estimate, bound = recall_bound(above, below, error)
        return report | {
            "above": list(above),
            "below": list(below),
            "recall": estimate,
            "recall_at_least": bound,
            "precision": above[2] / above[1],
        }

    def _recall_of(
        self, certified: dict[str, Any], below: tuple[int, int, int], error: float
    ) -> dict[str, Any]:
        """The recall of a certified list, by the posts drawn below it."""
        path = named_by(self.path, certified["file"])
        if read_sealed(path, "certificate")[SEAL] != certified["sha256"]:
            raise InputError(
                f"{path}: was written again after this sample was drawn, so its list may be "
                "another one; draw a new sample with audit --certificate"
            )
        size, drawn, hits = below
        listed = certified["put_in"]  # they are below the threshold, and in the list
        relevant = certified["relevant_at_least"]
        missed = max(0, upper_bound(size, drawn, hits, error) - listed)
        likely = max(0.0, hits / drawn * size - listed) if drawn else 0.0
        joint = max(Fraction(0), self.confidence - Fraction(certified["error"]))
        return {
            "target": certified["target"],
            "posts": certified["posts"],
            "relevant_at_least": relevant,
            "below": list(below),
            "missed_at_most": missed,
            "recall": relevant / (relevant + likely),
            "recall_at_least": relevant / (relevant + missed),
            "joint_confidence": float(joint),
        }


def sentence_of(report: dict[str, Any]) -> str:
    """The findings of an audit in words, to quote."""
    sure = f"with confidence {report['confidence']:g}"
    changed = (
        earlier_sentence(report)
        + choice_sentence(report)
        + changed_sentence(report["changed"])
    )
    if "joint_confidence" in report:
        return recall_sentence(report) + changed
    if "above" not in report:
        drawn, hits = report["labels"], report["relevant"]
        relevant_minimum = report["relevant_at_least"]
        return (
            f"Of {counted(report['posts'], 'post')}, {drawn:,} {verb(drawn, 'were')} drawn at random "
            f"and labeled; {hits:,} of these {verb(hits, 'are')} relevant. At least "
            f"{relevant_minimum:,} of all {report['posts']:,} {verb(relevant_minimum, 'are')} relevant "
            f"(a precision of {report['precision_at_least']:.3f} or more), {sure}."
            f"{skipped_sentence(report['skipped'])}{changed}"
        )
    size = report["settings"]["population"]
    threshold = score_text(report["settings"]["threshold"])
    skipped = skipped_sentence(
        report["skipped"],
        "against the recall: as not relevant at the threshold and above, as relevant below it",
    )
    return (
        f"Among the best {size:,} posts of {report['population']['file']}, recall at a score of "
        f"{threshold} is estimated at {report['recall']:.3f} and is at least "
        f"{report['recall_at_least']:.3f}, {sure}. This says nothing about posts outside these "
        f"{size:,}.{skipped}{changed}"
    )


def _above(population: Population, threshold: float, size: int | None) -> int:
    """The number of posts at the threshold or above."""
    above = population.size_at(threshold)
    total = len(population)
    if not above:
        raise InputError(
            f"{population.path}: no post has a score of {score_text(threshold)} or more; the "
            f"highest score is {score_text(population.scores[0])}"
        )
    if size is None:
        labels = labels_for_recall(Fraction(4, 5), above, total - above)
        raise InputError(
            "recall needs a named population: give --population N for the best N posts. For all "
            f"{total:,}, a guaranteed recall of .8 would take about {labels:,} labels below the "
            f"threshold even if every post above it is relevant and none of the labeled ones "
            "below it is, so a number for the whole pool would mean nothing"
        )
    _check_population(above, size, total)
    return above


def _check_population(above: int, size: int, total: int) -> None:
    if not above < size <= total:
        raise InputError(
            f"--population is {size:,}; expected more than the {counted(above, 'post')} at the "
            f"threshold or above, and at most the {total:,} posts of the results"
        )


def _below_certified(
    path: Path,
    certificate: Path,
    results: Path,
    population: Population,
    size: int | None,
) -> dict[str, Any]:
    """The settings of an audit below a certified list."""
    certification, claim, content = certified_list(certificate)
    if file_sha256(certification.results) != file_sha256(results):
        raise InputError(
            f"{results}: is not the file that {certificate.name} is about; expected "
            f"{certification.results}"
        )
    if certification.settings.false_positive is not None:
        raise InputError(
            f"{certificate}: allows for errors of the annotator, which a sample below the list "
            "cannot; expected a certificate without --false-positive-rate"
        )
    if size is None:
        raise InputError(
            "recall needs a named population: give --population N for the best N posts of the "
            f"{len(population):,}; the more there are, the more labels a bound takes"
        )
    _check_population(claim.size, size, len(population))
    outside = sum(rank >= size for rank in claim.put_in)
    (statement,) = (
        claimed for claimed in content["claims"] if claimed["target"] == claim.target
    )
    return {
        "above": claim.size,
        "certificate": {
            "file": name_for(path, certificate),
            "sha256": content[SEAL],
            "target": claim.target,
            "size": claim.size,
            "posts": claim.posts,
            "put_in": len(claim.put_in) - outside,
            "relevant_at_least": statement["relevant_at_least"] - outside,
            "error": str(certification.error if claim.size else Fraction(0)),
        },
    }
