"""The certificate: its findings, the data behind them and their conditions, as sealed JSON."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from siamese_news.errors import InputError
from siamese_news.utils.csv_files import write_csv
from siamese_news.utils.files import atomic_write, file_sha256, readable_name
from siamese_news.utils.terminal import counted, verb
from siamese_news_desk.decide.answers import CONTRADICTING, answers_of, flow_of
from siamese_news_desk.decide.certification import Certification, Claim
from siamese_news_desk.decide.plan.population import score_text
from siamese_news_desk.decide.plan.sealed_files import (
    SEAL,
    made,
    name_for,
    read_sealed,
    sibling,
    write_sealed,
)
from siamese_news_desk.decide.sentences import (
    choice_sentence,
    confidence_sentence,
    earlier_sentence,
    judged_by,
    other_plans,
    skipped_sentence,
)
from siamese_news_desk.labels.matching import Labels, changed_sentence

_ROWS = 65_536  # of a list written at one time


def certificate_of(
    certification: Certification,
    claims: Sequence[Claim],
    labels: Labels,
    sheets: Sequence[Path] = (),
    by: Sequence[str] = (),
) -> dict[str, Any]:
    """The certificate as JSON: the claims of a plan, from these labels in these sheets.

    `by` names columns of the results by which lists are divided; see `answers.answers_of`.
    """
    return {
        **findings_of(certification, claims, labels, sheets),
        "answers": answers_of(certification, claims, labels, by),
        "flow": flow_of(certification, claims, labels),
    }


def findings_of(
    certification: Certification,
    claims: Sequence[Claim],
    labels: Labels,
    sheets: Sequence[Path] = (),
) -> dict[str, Any]:
    """A certificate without its answers, which take a pass over the results."""
    plan = certification.plan
    rate = certification.settings.false_positive
    missed_at_least = certification.settings.false_negative
    relevant = sum(label.relevant for label in labels.of.values())
    # Posts drawn after the last one with a label are no gaps.
    up_to_last = itertools.dropwhile(
        lambda name: name not in labels.of, reversed(certification.sampled.by_name)
    )
    judged = judged_by(labels)
    if rate is not None:
        misses = (
            f" and misses at least {missed_at_least:g} of the relevant ones"
            if missed_at_least
            else ""
        )
        judged = (
            f"in truth, if the annotator calls at most {rate:g} of the irrelevant posts relevant"
            f"{misses}, with independent errors on different texts"
        )
    return {
        "format": "siamese_news certificate 1",
        **made(),
        "method": plan["method"],
        "plan": {
            "file": certification.path.name,
            "sha256": plan[SEAL],
            "tables": plan["tables"],
        },
        "settings": plan["settings"],
        "criteria": plan["criteria"],
        "population": plan["population"],
        "model": plan["model"],
        "corpus": plan["corpus"],
        "confidence": float(1 - certification.error),
        "joint_confidence": float(1 - certification.joint_error),
        **other_plans(certification),
        "judged": judged,
        "labels": {
            "used": len(labels.of),
            "relevant": relevant,
            "not_relevant": len(labels.of) - relevant,
            "drawn_without_label": sum(name not in labels.of for name in up_to_last),
            "skipped": sum(label.skipped for label in labels.of.values()),
            "changed": certification.log.changed,
            "annotators": sorted(labels.annotators - {""}),
            "files": [
                {
                    "file": name_for(certification.path, path),
                    "sha256": file_sha256(path),
                }
                for path in sheets
            ],
        },
        "claims": [_claim(certification, claim) for claim in claims],
        "choice": certification.choice(claims, labels),
        "remarks": [*certification.remarks(), *labels.remarks()],
    }


def write_files(
    certification: Certification,
    claims: Sequence[Claim],
    content: Mapping[str, Any],
    page: str,
) -> list[str]:
    """Write a certificate, its page and its lists next to the plan.

    Only files of an earlier certificate of the same plan are replaced, and not if that one was
    final: if its labels could certify no more and now there are others, its files get another name.

    Returns:
        The file of the lists, if there are any, and that of an earlier, final certificate, in words.

    Raises:
        InputError: one of the files is of another plan, or was not written by this program.
    """
    path = sibling(certification.path, "certificate.json")
    page_file = sibling(certification.path, "certificate.html")
    lists = sibling(certification.path, "certificate.csv")
    earlier = None
    if path.exists():
        old = read_sealed(path, "certificate")
        if old["plan"]["sha256"] != content["plan"]["sha256"]:
            raise InputError(
                f"{path}: is the certificate of another plan; move it away"
            )
        earlier = _moved(path, old, content)
    elif strangers := [file for file in (lists, page_file) if file.exists()]:
        raise InputError(
            f"{strangers[0]}: is here without {path.name}, so it may not be of a certificate, and "
            "would be replaced; move it away or rename it"
        )
    write_sealed(path, content)
    with atomic_write(page_file) as stream:
        stream.write(readable_name(page))
    written = []
    if write_lists(lists, certification, claims):
        written.append(f"{lists}: the posts of the list")
    if earlier is not None:
        written.append(
            f"{earlier}: the certificate of the labels before, with its list and page"
        )
    return written


def _moved(
    path: Path, old: Mapping[str, Any], content: Mapping[str, Any]
) -> Path | None:
    """Rename the files of the certificate `old` if it was final and the labels have changed since.

    Returns:
        Its new path; None where it is replaced.
    """
    n_labels = old["labels"]["used"]
    final = n_labels >= old["settings"]["budget"] or old.get("choice") is not None
    label_hashes = [file["sha256"] for file in old["labels"]["files"]]
    if not final or label_hashes == [
        file["sha256"] for file in content["labels"]["files"]
    ]:
        return None
    stem = f"{path.stem}-of-{n_labels}-labels"
    numbers = itertools.count(2)
    while path.with_name(f"{stem}.json").exists():
        stem = f"{path.stem}-of-{n_labels}-labels-{next(numbers)}"
    for ending in (".html", ".csv", ".json"):
        if (file := path.with_suffix(ending)).exists():
            file.rename(path.with_name(f"{stem}{ending}"))
    return path.with_name(f"{stem}.json")


def sentence_of(content: Mapping[str, Any], claim: Mapping[str, Any]) -> str:
    """A claim in words, to quote."""
    changed = changed_sentence(content["labels"].get("changed", 0))
    if claim["threshold"] is None:
        return f"{_nothing_certified(content, claim)}{changed}"
    posts = claim["posts"]
    those = (
        f"{'that' if posts == 1 else 'those'} with a score of {score_text(claim['threshold'])} or "
        "more"
    )
    if taken_out := claim["taken_out"]:
        were = verb(taken_out, "were")
        those += f", without the {taken_out:,} that {were} labeled not relevant"
    if put_in := claim["put_in"]:
        were = verb(put_in, "were")
        those += f", plus {put_in:,} with a lower score that {were} labeled relevant"
    relevant_at_least = claim["relevant_at_least"]
    relevant = (
        "It is"
        if posts == relevant_at_least == 1
        else f"At least {relevant_at_least:,} of them {verb(relevant_at_least, 'are')}"
    )
    return (
        f"{posts:,} of {_units(content, content['population']['posts'])} "
        f"{verb(posts, 'are')} certified: {those}. {relevant} relevant "
        f"{content['judged']} (precision {claim['target']} or more). "
        f"{_certainty(content, claim)}{changed}"
    )


def _units(content: Mapping[str, Any], number: int) -> str:
    """A number of posts, or of pairs, with their noun."""
    return counted(
        number, "article-post pair" if content["population"]["pairs"] else "post"
    )


def _nothing_certified(content: Mapping[str, Any], claim: Mapping[str, Any]) -> str:
    """What the list is although nothing is certified: the posts that were labeled relevant."""
    labels = content["labels"]
    planned = content["settings"]["budget"]
    n_labels = labels["used"]
    relevant = labels["relevant"]
    undecided = _undecided(content)
    if claim["exact"] and undecided:
        return undecided
    if claim["exact"]:
        population = content["population"]["posts"]
        outcome = (
            f"Every one of the {_units(content, population)} was labeled and none is relevant"
            if population > 1
            else f"The {_units(content, population)} was labeled and is not relevant"
        )
        return (
            f"{outcome} {content['judged']}, so there is no list."
            f"{skipped_sentence(labels['skipped'])}"
        )
    errors = claim["next_set"]["errors"] if claim["next_set"] else 0
    if not n_labels and claim["more_labels"] is None:
        prospect = "how many are needed is not known before the first one"
    elif not n_labels:
        prospect = (
            f"about {claim['more_labels']:,} would be needed if errors are half as frequent as the "
            "target allows"
        )
    elif undecided:
        prospect = (
            "none of them tells whether a post is relevant, so how many more are needed is not "
            "known"
        )
    elif claim["sets_certified"] and n_labels < planned:
        prospect = f"the plan allows {planned:,}"
    elif claim["more_labels"] is None and not errors:
        prospect = "they are too few, and how many more are needed is not known"
    elif claim["more_labels"] is None:
        allowed = (1 - Fraction(claim["target"])) * claim["next_set"]["labels"]
        often = "more" if errors > allowed else "about as"
        than = "than" if errors > allowed else "as"
        prospect = f"errors are {often} frequent {than} the target allows, so more may not help"
    else:
        prospect = (
            f"about {claim['more_labels']:,} more would be needed if errors continue at the "
            "present rate"
        )
    if not n_labels:
        list_sentence = "No post has a label yet, so there is no list."
    elif undecided:
        list_sentence = undecided
    elif not relevant:
        list_sentence = "No post was labeled relevant, so there is no list."
    else:
        several = relevant > 1
        list_sentence = (
            f"The list is the {_units(content, relevant)} that {'were' if several else 'was'} "
            "labeled relevant"
        )
        if content["settings"]["false_positive"] is not None:
            list_sentence += (
                f"; {'some of them' if several else 'it'} may not be so in truth, and its "
                "precision is not guaranteed."
            )
        else:
            list_sentence += (
                f": it is without an error {content['judged']}, because "
                f"{'each of them' if several else 'it'} was labeled (precision 1). Nothing is "
                f"certified beyond {'them' if several else 'it'}."
            )
    units = "article-post pairs" if content["population"]["pairs"] else "posts"
    return (
        f"No {units} without a label are certified at a precision of {claim['target']} with "
        f"{counted(n_labels, 'label')}; {prospect}. {list_sentence}"
    )


def _undecided(content: Mapping[str, Any]) -> str:
    """Why no labeled post has a verdict; empty if one has.

    Findings without their flow do not tell skips apart.
    """
    n_labels = content["labels"]["used"]
    if not 0 < n_labels == content["labels"]["skipped"]:
        return ""
    contradicting = dict(content.get("flow", ())).get(CONTRADICTING)
    if contradicting == 0:
        reason = "Every labeled post was skipped"
    elif contradicting == n_labels:
        reason = "The labels of every labeled post contradict each other"
    else:
        reason = (
            "Every labeled post was skipped or has labels that contradict each other"
        )
    return f"{reason}, which counts as not relevant, so there is no list."


def left_sentence(content: Mapping[str, Any]) -> str:
    """What stopping now saves, and what the labels that are left may bring.

    Empty while the descent needs labels, and once all of them are given.
    """
    choice = content["choice"]
    if choice is None:
        return ""
    labels_left = choice["labels"]
    saved = (
        f"The {counted(labels_left, 'label')} left cannot certify a larger set. You can stop here and "
        f"save {'it' if labels_left == 1 else 'them'}"
    )
    if not choice["posts"]:
        return f"{saved}: no further post can join the list."
    posts = counted(choice["posts"], "best post")
    return (
        f"{saved}, or label the {posts} without a label: each that is relevant joins the "
        "list."
    )


def _certainty(content: Mapping[str, Any], claim: Mapping[str, Any]) -> str:
    """How sure a certified list is, and how many labels that rests on."""
    if claim["exact"]:
        labeled = "it" if claim["posts"] == 1 else "every one of them"
        certainty = f"This is certain, because {labeled} was labeled."
    else:
        sure = confidence_sentence(content["confidence"], "lead to a wrong certificate")
        conditions = _all_targets(content) + choice_sentence(content)
        certainty = f"{sure}{earlier_sentence(content)}{conditions}"
    labels = claim.get("labels_given", 0)
    n_verdicts = claim["labels_of_the_set"]
    verdicts = f"{counted(n_verdicts, 'verdict')} behind it"
    if claim["exact"] and not n_verdicts:
        labels = content["labels"]["used"]
        n_verdicts = content["population"]["posts"]
        verdicts = f"verdicts on all {_units(content, n_verdicts)}"
    if labels < n_verdicts:
        certainty += (
            f" The {verdicts} come from {counted(labels, 'label')}, because copies of a text share "
            "one label."
        )
    return certainty


def _all_targets(content: Mapping[str, Any]) -> str:
    """The confidence of all targets that were tried on these labels; empty for a single one."""
    if content["joint_confidence"] >= content["confidence"]:
        return ""
    targets = len(content["settings"]["targets"])
    whose = [f"all {targets} targets" if targets > 1 else "this target"]
    if withdrawn := content["same_labels_plans"]:
        whose.append(
            f"those of {counted(withdrawn, 'withdrawn plan')} with the same labels"
        )
    return f" For {' and '.join(whose)} together it is {content['joint_confidence']:g}."


def _claim(certification: Certification, claim: Claim) -> dict[str, Any]:
    step = claim.step
    deepest_step = claim.outcome.steps[-1] if claim.outcome.steps else None
    blocked = (
        deepest_step
        if deepest_step is not None and not deepest_step.certified
        else None
    )
    target = Fraction(claim.target)
    listed = claim.size - len(claim.taken_out)
    noisy = certification.settings.false_positive is not None
    is_certain = claim.exact and not noisy
    needed = (
        listed if is_certain else -(-target.numerator * listed // target.denominator)
    )
    return {
        "target": claim.target,
        "threshold": claim.threshold,
        "posts": claim.posts,
        "taken_out": len(claim.taken_out),
        "put_in": len(claim.put_in),
        "relevant_at_least": needed + (0 if noisy else len(claim.put_in)),
        "exact": claim.exact,
        "labels_of_the_set": step.labels if step else 0,
        "labels_given": claim.labels_given,
        "errors_of_the_set": step.errors if step else 0,
        "sets_certified": sum(s.certified for s in claim.outcome.steps),
        "next_set": None
        if blocked is None
        else {
            "posts": blocked.size,
            "labels": blocked.labels,
            "errors": blocked.errors,
        },
        "more_labels": claim.more_labels,
        "descent": [
            [s.size, s.labels, s.errors, s.certified] for s in claim.outcome.steps
        ],
    }


def write_lists(
    path: Path, certification: Certification, claims: Sequence[Claim]
) -> bool:
    """Write the posts of the lists to a CSV file, best first.

    The columns are ids, score, and one for each target; ``labeled relevant`` if this is all that is
    known, because the annotator may err and nothing is certified. Without a list, an earlier file
    is removed. Returns whether there is a list.
    """
    sure = [claim for claim in claims if claim.posts]
    if not sure:
        path.unlink(missing_ok=True)
        return False
    best = max(claim.size for claim in sure)
    below = sorted({rank for claim in sure for rank in claim.put_in if rank >= best})
    inside = [(set(claim.taken_out), set(claim.put_in)) for claim in sure]
    ids = ["article", "post"] if certification.population.pairs else ["post"]

    def rows() -> Iterator[list[Any]]:
        for start in range(0, best + len(below), _ROWS):
            ranks = [*range(start, min(start + _ROWS, best))]
            ranks += below[max(0, start - best) : max(0, start + _ROWS - best)]
            names = certification.population.names_at(ranks)
            scores = certification.population.scores[np.array(ranks)].tolist()
            for rank, name, score in zip(ranks, names, scores, strict=True):
                lists = [
                    int((rank < claim.size or rank in added) and rank not in removed)
                    for claim, (removed, added) in zip(sure, inside, strict=True)
                ]
                if any(lists):
                    yield [*name.split("\t"), score_text(score), *lists]

    with atomic_write(path) as stream:
        names = [
            f"precision {claim.target}"
            if claim.size or certification.settings.false_positive is None
            else "labeled relevant"
            for claim in sure
        ]
        write_csv(stream, [*ids, "score", *names], rows())
    return True
