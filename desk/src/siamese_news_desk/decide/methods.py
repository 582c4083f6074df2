"""The answers of a certificate in words: sentences, and a paragraph for a methods section."""

from collections.abc import Mapping
from typing import Any

from siamese_news.utils.terminal import counted, verb
from siamese_news_desk.decide.certificate import sentence_of
from siamese_news_desk.decide.sentences import skipped_sentence

# A certificate as JSON, or a part of it.
Content = Mapping[str, Any]

BAUER = "Bauer, P. (1991). Multiple testing in clinical trials. Statistics in Medicine 10, 871-890."
KRIPPENDORFF = (
    "Krippendorff, K. (2011). Computing Krippendorff's alpha-reliability. University of "
    "Pennsylvania."
)
LAN_DEMETS = (
    "Lan, K. K. G., and DeMets, D. L. (1983). Discrete sequential boundaries for clinical trials. "
    "Biometrika 70, 659-663."
)
WAUDBY_SMITH = (
    "Waudby-Smith, I., and Ramdas, A. (2020). Confidence sequences for sampling without "
    "replacement. NeurIPS 33."
)


_TELLING = 10  # labels of somebody who gives all of them alike, to say so


def share_text(value: float | None) -> str:
    """A share with three digits; never rounded to a 1 that it is not."""
    if value is None:
        return "unknown"
    return f"{min(value, 0.999):.3f}" if value < 1 else "1"


def range_text(row: Content) -> str:
    """The bounds of an interval."""
    return f"{share_text(row['low'])} to {share_text(row['high'])}"


def interval_sentence(content: Content, answer: Content) -> str:
    """The two-sided interval of a list, next to the bound; empty without one."""
    row = answer["interval"]
    if row is None:
        return ""
    if row["low"] == row["high"]:
        return f"Every post in doubt was labeled: the precision is {share_text(row['low'])}."
    together = content["answers"]["joint_confidence"]
    (claim,) = (
        statement
        for statement in content["claims"]
        if statement["target"] == answer["target"]
    )
    bound = claim["relevant_at_least"] / claim["posts"]
    return (
        f"The precision of the list is estimated at {share_text(row['estimate'])} and is between "
        f"{share_text(row['low'])} and {share_text(row['high'])} (confidence "
        f"{content['confidence']:g}, for all nested sets and at every look), from "
        f"{counted(row['labels'], 'random verdict')}, {row['errors']:,} of them not relevant "
        "(Waudby-Smith and Ramdas 2020). "
        f"With the certificate, it is between {share_text(max(bound, row['low']))} and "
        f"{share_text(row['high'])}: both hold together with a confidence of {together:g}."
    )


def people_sentence(content: Content) -> str:
    """Who labeled how many posts, and how well they agree."""
    people = content["answers"]["people"]
    annotators = [
        f"{person['name'] or 'annotators who are not named'} {person['labels']:,}"
        for person in people["annotators"]
    ]
    if not annotators:
        return "No post was labeled."
    n_labels = content["labels"]["used"]
    text = f"{counted(n_labels, 'post')} {verb(n_labels, 'were')} labeled ({', '.join(annotators)})."
    for person in people["annotators"]:
        for label, words in (
            ("relevant", "relevant"),
            ("not_relevant", "not relevant"),
        ):
            if person[label] == person["labels"] >= _TELLING and len(annotators) > 1:
                name = person["name"] or "Somebody who is not named"
                text += f" {name} called every one of these {person['labels']:,} posts {words}."
    shared = people["shared"]
    if shared is None:
        return (
            f"{text} No post was labeled by two people who are named, so their agreement is "
            "unknown."
        )
    alpha = shared["alpha"]
    agree = (
        "is not defined, because all of these labels are the same"
        if alpha is None
        else f"is {alpha:.3f}"
    )
    return (
        f"{text} {counted(shared['posts'], 'post')} "
        f"{verb(shared['posts'], 'were')} labeled by two or more; Krippendorff's "
        f"alpha {agree}."
    )


def recall_sentence(audit: Content) -> str:
    """Precision and recall in one sentence, from the audit below a certified list."""
    population = audit["settings"]["population"]
    size, drawn, hits = audit["below"]
    relevant_minimum = audit["relevant_at_least"]
    precision = (
        f"(precision {audit['target']} or more)"
        if audit["settings"]["above"]
        else "(each was labeled)"
    )
    wrong = 100 * (1 - audit["joint_confidence"])
    return (
        f"Of the {counted(audit['posts'], 'post')} in the list, at least {relevant_minimum:,} "
        f"{verb(relevant_minimum, 'are')} relevant {precision}, and the list has at least "
        f"{share_text(audit['recall_at_least'])} of all relevant posts among the best "
        f"{population:,} (the recall; estimated at {share_text(audit['recall'])}): of "
        f"{counted(drawn, 'random post')} of the {size:,} below it, {hits:,} "
        f"{verb(hits, 'are')} relevant. The confidence of both together is "
        f"{audit['joint_confidence']:g}: of a hundred such plans, each with its own random orders, "
        f"at most {wrong:.3g} on average lead to a wrong statement."
        + skipped_sentence(
            audit["skipped"], "as relevant, that is, as missing in the list"
        )
    )


def methods_of(content: Content, audit: Content | None = None) -> list[str]:
    """A paragraph for the methods section, and its references."""
    version = content["provenance"]["versions"]["siamese-news"]
    population = content["population"]
    settings = content["settings"]
    units = "article-post pairs" if population["pairs"] else "posts"
    model = content["model"]
    number = counted(population["posts"], units.removesuffix("s"))
    were = verb(population["posts"], "were")
    scored = f"{number} {were} scored with siamese_news {version}"
    if model:
        scored += f" (model {model['folder']}, SHA-256 {model['sha256'][:12]})"
    meaning = (
        f" A post counts as relevant if: {content['criteria']}."
        if content["criteria"]
        else ""
    )
    sentences = [
        f"{scored}.{meaning}",
        f"Nested sets of the best {units}, the tests of each set and a random order (seed "
        f"{settings['seed']}) were fixed before the first label; sets were tested from the smallest "
        "one on by exact group-sequential tests (Lan and DeMets 1983) in a fixed sequence (Bauer "
        "1991), and annotators saw neither scores nor ranks.",
        people_sentence(content),
        *(sentence_of(content, claim) for claim in content["claims"]),
        *filter(
            None,
            (
                interval_sentence(content, answer)
                for answer in content["answers"]["lists"]
            ),
        ),
        *([] if audit is None else [recall_sentence(audit)]),
        f"The plan and the certificate (SHA-256 {content['plan']['sha256'][:12]}) can be "
        "checked with siamese-news certify --check.",
    ]
    has_intervals = any(answer["interval"] for answer in content["answers"]["lists"])
    return [
        " ".join(sentences),
        f"The siamese_news authors. siamese_news (version {version}) [computer software].",
        BAUER,
        *([KRIPPENDORFF] if content["answers"]["people"]["shared"] else []),
        LAN_DEMETS,
        *([WAUDBY_SMITH] if has_intervals else []),
    ]
