"""The page of a certificate, and the answers to a reviewer that a report shows as well."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from siamese_news.utils.terminal import counted
from siamese_news_desk.decide.certificate import left_sentence, sentence_of
from siamese_news_desk.decide.methods import (
    interval_sentence,
    methods_of,
    people_sentence,
    range_text,
    recall_sentence,
    share_text,
)
from siamese_news_desk.decide.plan.population import score_text

_WIDTH, _HEIGHT = 640, 240
_LEFT = 60
_RIGHT = 14
_TOP = 14
_BOTTOM = 40


def page_of(content: Mapping[str, Any]) -> str:
    """The page of a certificate, as HTML."""
    values = {
        "claims": [(claim, sentence_of(content, claim)) for claim in content["claims"]],
        "left": left_sentence(content),
        **answer_values(content),
    }
    return _environment().get_template("page.html.j2").render(values) + "\n"


def answers_html(
    content: Mapping[str, Any], audit: Mapping[str, Any] | None = None
) -> str:
    """The answers to a reviewer, as a part of a page."""
    return (
        _environment()
        .get_template("answers.html.j2")
        .render(answer_values(content, audit))
    )


def answer_values(
    content: Mapping[str, Any], audit: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The values of the template of the answers."""
    answers = content["answers"]
    lists = zip(content["claims"], answers["lists"], strict=True)
    paragraph, *references = methods_of(content, audit)
    return {
        "c": content,
        "lists": [
            (
                claim,
                answer,
                interval_sentence(content, answer),
                _bands_picture(answer["bands"]),
            )
            for claim, answer in lists
        ],
        "spent": _spent_picture(answers["spent"], len(content["claims"])),
        "people": people_sentence(content),
        "recall": recall_sentence(audit) if audit else "",
        "paragraph": paragraph,
        "references": references,
    }


@cache
def _environment() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("siamese_news_desk.decide", "."), autoescape=True
    )
    environment.filters |= {
        "counted": counted,
        "share": share_text,
        "range": range_text,
        "score": score_text,
    }
    return environment


def _spent_picture(points: Sequence[Any], targets: int) -> dict[str, Any]:
    """Posts in the lists against labels spent, as a picture."""
    max_posts = max([1, *(posts for _, lists in points for posts in lists)])
    labels = max(1, points[-1][0])

    def x(count: float) -> float:
        return round(_LEFT + count / labels * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(posts: float) -> float:
        return round(
            _HEIGHT - _BOTTOM - posts / max_posts * (_HEIGHT - _TOP - _BOTTOM), 1
        )

    lines = [
        " ".join([f"{x(count)},{y(lists[target])}" for count, lists in points])
        for target in range(targets)
    ]
    return {
        **_frame(),
        "lines": lines,
        "x": [
            (x(quarter * labels // 4), f"{quarter * labels // 4:,}")
            for quarter in range(5)
        ],
        "y": [
            (y(quarter * max_posts // 4), f"{quarter * max_posts // 4:,}")
            for quarter in range(5)
        ],
    }


def _bands_picture(bands: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The share of relevant posts in bands of scores with their intervals, as a picture."""
    step = (_WIDTH - _LEFT - _RIGHT) / max(len(bands), 1)

    def y(share: float) -> float:
        return round(_HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM), 1)

    marks = []
    for number, band in enumerate(bands):
        at = round(_LEFT + (number + 0.5) * step, 1)
        share = 1 - band["errors"] / band["labels"] if band["labels"] else None
        marks.append(
            {
                "x": at,
                "low": y(band["low"]),
                "high": y(band["high"]),
                "share": None if share is None else y(share),
                "label": f"{band['from']:.3g}",
            }
        )
    return {
        **_frame(),
        "marks": marks,
        "y": [(y(quarter / 4), f"{quarter / 4:g}") for quarter in range(5)],
    }


def _frame() -> dict[str, int]:
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "left": _LEFT,
        "right": _WIDTH - _RIGHT,
        "bottom": _HEIGHT - _BOTTOM,
    }
