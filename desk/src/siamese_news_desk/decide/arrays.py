"""A certificate for any ranking: from an array of scores, and labels that a function gives."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from siamese_news.errors import InputError
from siamese_news.utils.files import atomic_write, json_text
from siamese_news.utils.terminal import counted
from siamese_news_desk.decide.array_arguments import (
    Verdict,
    annotator_of,
    expect_text,
    folder_of,
    names_of,
    scores_of,
    settings_of,
    texts_of,
    verdict_of,
    verdicts_of,
)
from siamese_news_desk.decide.certificate import (
    certificate_of,
    sentence_of,
    write_files,
)
from siamese_news_desk.decide.certificate_page import page_of
from siamese_news_desk.decide.certification import Certification, Claim
from siamese_news_desk.decide.plan.remedies import PlanRefused
from siamese_news_desk.decide.plan.sealed_files import SEAL, sibling
from siamese_news_desk.labels.journal import NO, SKIP, YES, LabelJournal
from siamese_news_desk.labels.matching import labels_in

# Rows that `label` is asked for at one time: a call of a model for each row would be slow.
_BATCH = 25
_LABELS = {True: YES, False: NO, None: SKIP}


@dataclass(frozen=True, slots=True)
class CertifiedSet:
    """The items that are certified for one precision.

    Attributes:
        precision: the target, as it was given.
        rows: (m,) their rows in the array of scores, best first.
        threshold: the lowest certified score. None if no label could certify a set: then `rows` are
            the items that were labeled relevant.
        sentence: the statement to quote, with its confidence.
    """

    precision: str
    rows: NDArray[np.int64]
    threshold: float | None
    sentence: str


@dataclass(frozen=True, slots=True)
class CertifiedScores:
    """What the labels so far certify.

    Attributes:
        sets: one for each target.
        next_rows: rows of the items to label next, in this order; empty once no label is left, or
            none would change the sets.
        labels: how many were given.
        plan: the file that fixed targets, budget and random order before the first label.
        certificate: the file for ``siamese-news certify --check``; a page of answers is next to it.
    """

    sets: list[CertifiedSet]
    next_rows: list[int]
    labels: int
    plan: Path
    certificate: Path


def certify_scores(
    scores: ArrayLike,
    ids: Sequence[object],
    folder: str | Path,
    *,
    label: Callable[[list[int]], Sequence[Verdict]] | None = None,
    labels: Mapping[int, Verdict] | None = None,
    texts: Sequence[str | None] | None = None,
    precision: float | str | Sequence[float | str] = "0.9",
    confidence: float | str = "0.95",
    budget: int = 300,
    criteria: str = "",
    annotator: str = "the annotator",
    another_plan: bool = False,
    seed: int = 0,
) -> CertifiedScores:
    """Find the largest set of the best items that has the wanted precision, from few labels.

    The scores may come from a classifier, a search engine or a language model; only their order
    counts. Which items are to be labeled follows from the plan, which is fixed in `folder` by the
    first call and continued by every further one. The sets are those of ``siamese-news certify``,
    with the same guarantee: exact group-sequential tests without replacement over nested sets.

    Args:
        scores: (n,) finite numbers, higher for items that are more likely relevant.
        ids: (n,) distinct names of the items; numbers of rows will do. A further plan over the same
            items is recognized by their texts, or without these by distinctive ids, or scores.
        folder: where scores, plan, labels and certificate are kept; made if it does not exist.
        label: called with the rows to label next until `budget` labels are given or no label would
            change the sets. Without it the rows are returned as ``next_rows``.
        labels: verdicts by row, for rows that an earlier call asked for.
        texts: (n,) for the files; items with one text share one label. A missing text (None, NaN or
            blank) is unknown and shares none.
        precision: one target or several, each in (0, 1); ``.9``, ``90`` and ``"90%"`` are the same.
        confidence: of each target.
        budget: labels to plan for.
        criteria: what counts as relevant, for the files.
        annotator: who or what gives the labels, as the sentences say it.
        another_plan: allow a further plan over the same items, which costs confidence: the
            sentences say how much is left.
        seed: of the random order in which items are labeled.

    Raises:
        InputError: for arrays of other shapes, scores that are not finite, ids that repeat, texts
            that are no strings, targets or a confidence outside (0, 1), a budget below 1, a folder
            that holds another plan, labels of rows that were not asked for, and a function that
            returns more or fewer verdicts than rows. Arguments are checked before anything is
            written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from siamese_news_desk import certify_scores
        >>> ids = [f"post {row}" for row in range(1000)]  # the first 300 are relevant
        >>> with TemporaryDirectory() as folder:
        ...     done = certify_scores(
        ...         range(1000, 0, -1),
        ...         ids,
        ...         folder,
        ...         label=lambda rows: [row < 300 for row in rows],
        ...         budget=200,
        ...     )
        >>> 280 <= len(done.sets[0].rows) <= 333, done.next_rows
        (True, [])
    """
    values = scores_of(scores)
    names = names_of(ids, len(values))
    texts = texts_of(texts, len(values))
    settings = settings_of(precision, confidence, budget, seed)
    verdicts_given = verdicts_of(labels, names)
    expect_text(criteria, "criteria")
    annotator = annotator_of(annotator)
    if label is not None and not callable(label):
        raise InputError(
            f"label is {label!r}; expected a function from a list of rows to their verdicts"
        )
    sheet = folder_of(folder) / "sheet.jsonl"
    plan = sibling(sheet, "plan.json")
    if verdicts_given and not plan.exists():
        _refuse_not_drawn(next(iter(verdicts_given)))
    results = sheet.with_name("scores.jsonl")
    is_new = _write_scores(results, values, names, texts)
    try:
        certification = Certification.start(
            results, plan, settings, criteria=criteria, another_plan=another_plan
        )
    except InputError as refusal:
        if is_new:
            results.unlink()
            with suppress(OSError):  # other files are in it
                results.parent.rmdir()
        if isinstance(refusal, PlanRefused):
            raise refusal.to("python") from refusal
        raise
    rows = {name: row for row, name in enumerate(names)}
    journal = LabelJournal(sheet, plan=certification.plan[SEAL])
    _add(journal, annotator, certification, names, verdicts_given)
    while True:
        so_far = labels_in(journal, certification.sampled)
        labels_left = max(1, settings.budget - len(so_far.of))
        request = certification.request(
            so_far, at_least=min(_BATCH, labels_left) if label else 1
        )
        units = certification.texts.units(request.ranks)
        certification.sampled.draw(units)
        next_rows = [rows[unit.post] for unit in units]
        if label is None or not next_rows:
            break
        _add(journal, annotator, certification, names, _asked(label, next_rows))
    certification.log.look(so_far)
    claims = certification.claims(so_far)
    content = certificate_of(certification, claims, so_far, [sheet])
    write_files(certification, claims, content, page_of(content))
    sets = [
        CertifiedSet(
            claim.target,
            np.array([rows[name] for name in _members(certification, claim)], np.int64),
            claim.threshold,
            sentence_of(content, statement),
        )
        for claim, statement in zip(claims, content["claims"], strict=True)
    ]
    return CertifiedScores(
        sets,
        next_rows,
        len(so_far.of),
        certification.path,
        sibling(sheet, "certificate.json"),
    )


def _write_scores(
    path: Path,
    scores: NDArray[np.float64],
    names: Sequence[str],
    texts: Sequence[str] | None,
) -> bool:
    """Write the file that a check of the certificate reads, if an earlier call did not.

    Raises:
        InputError: the folder has that of another list, or cannot be written.
    """
    rows = [
        {"post": name, "score": score}
        for name, score in zip(names, scores.tolist(), strict=True)
    ]
    if texts is not None:
        rows = [row | {"text": text} for row, text in zip(rows, texts, strict=True)]
    lines = (json_text(row) + "\n" for row in rows)
    if path.exists():
        with path.open(encoding="utf-8", newline="") as stream:
            if any(line != earlier for line, earlier in zip_longest(lines, stream)):
                raise InputError(
                    f"{path}: holds other scores, ids or texts; expected those of the first call: "
                    "name another folder for another list"
                )
        return False
    try:
        with atomic_write(path) as stream:
            stream.writelines(lines)
    except OSError as error:
        raise InputError(
            f"{path.parent}: cannot be written ({error.strerror}); name another folder"
        ) from error
    return True


def _asked(
    label: Callable[[list[int]], Sequence[Verdict]], rows: list[int]
) -> dict[int, Verdict]:
    """The verdicts of a function by row; an `InputError` unless there is one for each."""
    returned = label(list(rows))
    expected = "expected one for each: True, False or None"
    try:
        verdicts = list(returned)
    except TypeError:
        raise InputError(
            f"label returned {returned!r} for {counted(len(rows), 'row')}; {expected}"
        ) from None
    if len(verdicts) != len(rows):
        raise InputError(
            f"label returned {counted(len(verdicts), 'verdict')} for {counted(len(rows), 'row')}; "
            f"{expected}"
        )
    return {
        row: verdict_of(verdict, row)
        for row, verdict in zip(rows, verdicts, strict=True)
    }


def _add(
    journal: LabelJournal,
    annotator: str,
    certification: Certification,
    names: Sequence[str],
    verdicts: Mapping[int, Verdict],
) -> None:
    """Record verdicts that are new or have changed: all, or none if one cannot be."""
    for row in verdicts:
        if not 0 <= row < len(names) or names[row] not in certification.sampled.by_name:
            _refuse_not_drawn(row)
    for row, verdict in verdicts.items():
        value = _LABELS[verdict]
        if journal.verdict(names[row]) != value:
            journal.add(names[row], value, annotator)


def _refuse_not_drawn(row: int) -> NoReturn:
    raise InputError(
        f"labels has row {row}, which no call has asked for; expected rows of next_rows: other "
        "labels are no random sample"
    )


def _members(certification: Certification, claim: Claim) -> Iterable[str]:
    """The names of the items of a list, best first."""
    taken_out = frozenset(claim.taken_out)
    ranks = [rank for rank in range(claim.size) if rank not in taken_out]
    return certification.population.names_at([*ranks, *claim.put_in])
