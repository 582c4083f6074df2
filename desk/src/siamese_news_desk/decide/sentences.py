"""Sentences that certificates, audits and findings on recall share."""

from collections.abc import Mapping
from typing import Any

from siamese_news.utils.terminal import counted
from siamese_news_desk.decide.plan.sampling_plan import SamplingPlan
from siamese_news_desk.labels.matching import Labels


def other_plans(plan: SamplingPlan) -> dict[str, Any]:
    """What the findings of a plan have to say of other plans; see `ledger.Charge`."""
    charged = plan.charged
    return {
        "earlier_plans": len(charged.earlier),
        "same_labels_plans": len(charged.same_labels),
        "other_criteria_plans": charged.other_criteria,
        "other_posts_plans": charged.other_posts,
        "unknown_plans": charged.unknown,
    }


def judged_by(labels: Labels) -> str:
    """By whom posts were judged, as far as the files of labels name them."""
    names = sorted(labels.annotators - {""})
    if "" in labels.annotators or not names:
        names.append("annotators who are not named")
    return (
        f"as judged by {', '.join(names[:-1])}{' and ' if names[1:] else ''}{names[-1]}"
    )


def confidence_sentence(confidence: float, wrong: str) -> str:
    """What a confidence is about: plans, and not the findings that are issued.

    If few plans lead to a certificate, more than one in twenty of these may be wrong. `wrong` says
    in words how such a plan ends.
    """
    return (
        f"The confidence is {confidence:g}: of a hundred such plans, each with its own random "
        f"order, at most {100 * (1 - confidence):.3g} on average {wrong}."
    )


def skipped_sentence(skipped: int, meaning: str = "as not relevant") -> str:
    """How posts count that nobody could judge; empty without any."""
    if not skipped:
        return ""
    verb = "counts" if skipped == 1 else "count"
    return f" {counted(skipped, 'skipped post')} {verb} {meaning}."


def earlier_sentence(content: Mapping[str, Any]) -> str:
    """The plans that lowered the confidence; empty without any."""
    if not content["earlier_plans"]:
        return ""
    plans = counted(content["earlier_plans"], "earlier plan")
    return f" This pays for {plans} over these posts or a part of them."


def choice_sentence(content: Mapping[str, Any]) -> str:
    """The plans among which the confidence allows no choice, and what hides others, if any do."""
    unknown = (
        f" Other plans over these posts may be unknown, because {content['unknown_plans']}: if there "
        "are any, the confidence is lower."
        if content["unknown_plans"]
        else ""
    )
    further = [
        f"{counted(number, 'plan')} {which}"
        for name, which in (
            ("other_criteria_plans", "over these posts with other criteria"),
            ("other_posts_plans", "over other posts"),
        )
        if (number := content[name])
    ]
    if not further:
        return unknown
    verb = "is" if further[0].startswith("1 ") else "are"
    return (
        f" There {verb} also {' and '.join(further)}: the confidence holds for each plan alone, not "
        f"for a choice among them.{unknown}"
    )
