"""A certificate as a page to read: one HTML file that opens anywhere, also offline."""

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from siamese_news.decide.certificate import sentence_of
from siamese_news.decide.chart import Line, line_chart
from siamese_news.utils.files import atomic_write


def write_page(path: Path, content: Mapping[str, Any]) -> None:
    """Write the page of a certificate; it replaces the page of the same certificate."""
    import jinja2
    from markupsafe import Markup

    source = resources.files("siamese_news.decide").joinpath("page.html.j2").read_text("utf-8")
    template = jinja2.Environment(autoescape=True).from_string(source)
    claims = [
        (claim, sentence_of(content, claim), Markup(_picture(claim)))  # our own SVG, escaped there
        for claim in content["claims"]
    ]
    with atomic_write(path) as stream:
        stream.write(template.render(c=content, claims=claims) + "\n")


def _picture(claim: Mapping[str, Any]) -> str:
    """Share of relevant posts among the labelled ones of each set."""
    steps = [step for step in claim["descent"] if step[1]]
    if not steps:
        return ""
    target = float(claim["target"])
    passed = [(size, 1 - errors / labels) for size, labels, errors, good in steps if good]
    failed = [(size, 1 - errors / labels) for size, labels, errors, good in steps if not good]
    ends = [float(steps[0][0]), float(max(steps[-1][0], steps[0][0] + 1))]
    lines = [Line("target", [(x, target) for x in ends], "#555", dashed=True)]
    if passed:
        lines.append(Line("certified", passed, "#1a6b3c", dots=True))
    if failed:
        lines.append(Line("not certified", failed, "#a33", dots=True))
    return line_chart(
        lines,
        title="Share of relevant posts among the labelled ones of each set",
        x_name="posts in the set, from the top of the ranking",
        y_name="share relevant",
        log_x=True,
        low=min(0.5, *(y for _, y in passed + failed)),
        high=1.0,
    )
