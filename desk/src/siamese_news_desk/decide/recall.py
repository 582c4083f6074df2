"""What is known once a goal of recall is reached: a sentence to quote, and a sealed file."""

from collections.abc import Mapping
from typing import Any

from siamese_news.utils.terminal import counted, verb
from siamese_news_desk.decide.plan.sealed_files import SEAL, made
from siamese_news_desk.decide.sentences import (
    choice_sentence,
    confidence_sentence,
    earlier_sentence,
    judged_by,
    other_plans,
    skipped_sentence,
)
from siamese_news_desk.decide.stopping import Stopping
from siamese_news_desk.labels.matching import Labels, changed_sentence


def findings(stopping: Stopping, labels: Labels) -> dict[str, Any]:
    """The findings of a goal of recall that is reached, as they are written.

    The verdicts are logged first, as before everything that labels show.
    """
    stopping.log.look(labels)
    relevant = sum(label.relevant for label in labels.of.values())
    copies = stopping.copies(labels)
    exact = len(labels.of) + len(copies) == len(stopping.population)
    return {
        "format": "siamese_news recall 1",
        **made(),
        "plan": {"file": stopping.path.name, "sha256": stopping.plan[SEAL]},
        "settings": stopping.plan["settings"],
        "population": stopping.plan["population"],
        "model": stopping.plan["model"],
        "criteria": stopping.plan["criteria"],
        "confidence": float(stopping.confidence),
        **other_plans(stopping),
        "judged": judged_by(labels),
        "exact": exact,
        "recall_at_least": 1.0 if exact else float(stopping.recall),
        "labels": {
            "used": len(labels.of),
            "relevant": relevant,
            "not_relevant": len(labels.of) - relevant,
            "skipped": sum(label.skipped for label in labels.of.values()),
            "changed": stopping.log.changed,
        },
        "copies": {
            "posts": len(copies),
            "relevant": stopping.population.names_at([r for r in copies if copies[r]]),
        },
    }


def sentence_of(content: Mapping[str, Any]) -> str:
    """The findings in words, to quote."""
    labels = content["labels"]
    population = content["population"]
    units = "article-post pair" if population["pairs"] else "post"
    text = (
        f"Of the {counted(population['posts'], units)} of {population['file']}, "
        f"{labels['used']:,} {verb(labels['used'], 'were')} labeled, and {labels['relevant']:,} of "
        f"these {verb(labels['relevant'], 'are')} relevant "
        f"{content['judged']}. "
    )
    if (copies := content["copies"])["posts"]:
        hits = len(copies["relevant"])
        text += (
            f"{counted(copies['posts'], 'more post')} with the text of a labeled one got its label; "
            f"{hits:,} of these {verb(hits, 'are')} relevant. "
        )
    if content["exact"]:
        text += "They are all relevant ones, which is certain, because every text was labeled."
    else:
        sure = confidence_sentence(content["confidence"], "end with a lower recall")
        text += (
            f"They are at least {content['recall_at_least']:g} of all relevant ones (the recall). "
            f"{sure}{earlier_sentence(content)}{choice_sentence(content)}"
        )
    return f"{text}{skipped_sentence(labels['skipped'])}{changed_sentence(labels['changed'])}"
