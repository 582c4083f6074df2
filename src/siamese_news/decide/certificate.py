"""The certificate: what was shown, from what, under which conditions; as JSON that is sealed."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any

from siamese_news.decide.certification import Certification, Claim
from siamese_news.decide.chart import Line, line_chart
from siamese_news.decide.plan.files import SEAL, read_sealed, write_sealed
from siamese_news.errors import InputError
from siamese_news.labels.matching import Labels, changed_sentence
from siamese_news.utils.files import atomic_write, file_sha256
from siamese_news.utils.provenance import command, provenance

FORMAT = "siamese_news certificate 1"


def certificate_of(
    work: Certification, claims: Sequence[Claim], labels: Labels, sheets: Sequence[Path] = ()
) -> dict[str, Any]:
    """The certificate as plain values.

    Args:
        work: the plan and its population.
        claims: what the labels show.
        labels: all that there are.
        sheets: where they come from.
    """
    plan = work.plan
    relevant = sum(label.relevant for label in labels.of.values())
    return {
        "format": FORMAT,
        "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        "command": command(),
        "provenance": provenance(),
        "method": plan["method"],
        "plan": {"file": work.path.name, "sha256": plan[SEAL], "tables": plan["tables"]},
        "settings": plan["settings"],
        "criteria": plan["criteria"],
        "population": plan["population"],
        "model": plan["model"],
        "corpus": plan["corpus"],
        "confidence": _share(1 - work.error),
        "joint_confidence": _share(1 - work.joint_error),
        "earlier_plans": len(plan["earlier"]),
        "judged": _judged(work),
        "labels": {
            "used": len(labels.of),
            "relevant": relevant,
            "not_relevant": len(labels.of) - relevant,
            "drawn_without_label": sum(name not in labels.of for name in work.sampled.by_name),
            "skipped": sum(label.skipped for label in labels.of.values()),
            "changed": work.log.changed,
            "files": _files(sheets),
        },
        "claims": [_claim(work, claim) for claim in claims],
        "remarks": labels.remarks(),
    }


def with_files(content: Mapping[str, Any], sheets: Sequence[Path]) -> dict[str, Any]:
    """A certificate that names the files of its labels, for labels that came from elsewhere."""
    return {**content, "labels": {**content["labels"], "files": _files(sheets)}}


def _files(sheets: Sequence[Path]) -> list[dict[str, str]]:
    return [{"file": str(path), "sha256": file_sha256(path)} for path in sheets]


def write_certificate(path: Path, content: Mapping[str, Any]) -> None:
    """Write a certificate; one of the same plan is replaced, nothing else is.

    Raises:
        InputError: where something else stands there.
    """
    if path.exists():
        old = read_sealed(path, "certificate")
        if old.get("plan", {}).get("sha256") != content["plan"]["sha256"]:
            raise InputError(f"{path}: the certificate of another plan stands there; move it away")
    write_sealed(path, content)


def same_findings(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether two certificates say the same of the same labels."""
    names = ("plan", "settings", "population", "confidence", "claims")
    counts = ("used", "relevant", "not_relevant", "skipped")
    return all(first[name] == second[name] for name in names) and all(
        first["labels"][name] == second["labels"][name] for name in counts
    )


def sentence_of(content: Mapping[str, Any], claim: Mapping[str, Any]) -> str:
    """What a claim says, to quote."""
    population = content["population"]
    units = "article-post pairs" if population["pairs"] else "posts"
    if claim["threshold"] is None:
        more = claim["more_labels"]
        likely = (
            f"about {more:,} more labels would be needed if errors go on as they came"
            if more is not None
            else "errors come about as often as the target allows, so more labels may not help"
        )
        return (
            f"No threshold could be certified at a precision of {claim['target']} with "
            f"{content['labels']['used']:,} labels; {likely}."
            + changed_sentence(content["labels"].get("changed", 0))
        )
    judged = content["judged"]
    notes = changed_sentence(content["labels"].get("changed", 0))
    given, shown = claim.get("labels_given", 0), claim["labels_of_the_set"]
    if given < shown:
        notes = (
            f" The {shown:,} verdicts that decided it rest on {given:,} labels; the other "
            f"{shown - given:,} posts are copies of labelled ones.{notes}"
        )
    least = f"at least {claim['relevant_at_least']:,} of them are relevant {judged}"
    if claim["exact"]:
        how = "This is known, for every one of them was labelled."
    else:
        how = (
            f"The confidence is {content['confidence']:g}: of a hundred such certificates, each "
            "with a random order of its own, at most "
            f"{100 * (1 - content['confidence']):.3g} are wrong on average."
        )
    return (
        f"{claim['posts']:,} of {population['posts']:,} {units} have a score of "
        f"{claim['threshold']:g} or more, and {least} (precision {claim['target']} or more). "
        f"{how}{notes}"
    )


def _claim(work: Certification, claim: Claim) -> dict[str, Any]:
    step = claim.outcome.certified
    last = claim.outcome.steps[-1] if claim.outcome.steps else None
    blocked = last if last is not None and not last.certified else None
    target = Fraction(claim.target)
    needed = -(-target.numerator * claim.size // target.denominator)
    return {
        "target": claim.target,
        "threshold": claim.threshold,
        "posts": claim.size,
        "relevant_at_least": needed if claim.size else 0,
        "exact": claim.exact,
        "labels_of_the_set": step.labels if step else 0,
        "labels_given": claim.given,
        "errors_of_the_set": step.errors if step else 0,
        "sets_certified": sum(s.certified for s in claim.outcome.steps),
        "next_set": None if blocked is None else {
            "posts": blocked.size, "labels": blocked.labels, "errors": blocked.errors,
        },
        "more_labels": claim.more,
        "descent": [
            [s.size, s.labels, s.errors, s.certified] for s in claim.outcome.steps
        ],
    }  # fmt: skip


def _judged(work: Certification) -> str:
    rate = work.settings.false_positive
    if rate is None:
        return "as judged by the annotator"
    return (
        f"in truth, if the annotator calls at most {rate:g} of the not relevant posts relevant, by "
        "errors that are independent from text to text"
    )


def _share(value: Fraction) -> float:
    return float(max(value, Fraction(0)))


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
