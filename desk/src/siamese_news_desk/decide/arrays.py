"""A certificate for any ranking: from an array of scores, and labels that a function gives."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from siamese_news.errors import InputError
from siamese_news.utils.files import atomic_write, json_text
from siamese_news_desk.decide.certificate import (
    certificate_of,
    sentence_of,
    write_files,
)
from siamese_news_desk.decide.certificate_page import page_of
from siamese_news_desk.decide.certification import Certification, Claim, Settings
from siamese_news_desk.decide.plan.files import SEAL, sibling
from siamese_news_desk.labels.journal import NO, SKIP, YES, LabelJournal
from siamese_news_desk.labels.matching import labels_in

Verdict = bool | None
"""Whether an item is relevant; None for one that cannot be decided, which counts as not relevant."""

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
    texts: Sequence[str] | None = None,
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
        ids: (n,) distinct names of the items, by which a further plan over them is recognized.
        folder: where scores, plan, labels and certificate are kept; made if it does not exist.
        label: called with the rows to label next until `budget` labels are given or no label would
            change the sets. Without it the rows are returned as ``next_rows``.
        labels: verdicts by row, for rows that an earlier call asked for.
        texts: (n,) for the files; items with one text share one label.
        precision: one target or several, each in (0, 1).
        confidence: of each target.
        budget: labels to plan for.
        criteria: what counts as relevant, for the files.
        annotator: who or what gives the labels, as the sentences say it.
        another_plan: allow a further plan over the same items, which costs confidence: the
            sentences say how much is left.
        seed: of the random order in which items are labeled.

    Raises:
        InputError: for arrays of other shapes, scores that are not finite, ids that repeat, targets
            or a confidence outside (0, 1), a folder that holds another plan, labels of rows that
            were not asked for, and a function that returns more or fewer verdicts than rows.

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
        ...         budget=100,
        ...     )
        >>> 280 <= len(done.sets[0].rows) <= 333, done.next_rows
        (True, [])
    """
    values = np.asarray(scores, np.float64)
    names = list(map(str, ids))
    _check(values, names, texts)
    targets = (precision,) if isinstance(precision, float | str) else tuple(precision)
    settings = Settings(tuple(map(str, targets)), str(confidence), budget, seed=seed)
    sheet = Path(folder) / "sheet.jsonl"
    results = sheet.with_name("scores.jsonl")
    sheet.parent.mkdir(parents=True, exist_ok=True)
    _write_scores(results, values, names, texts)
    work = Certification.start(
        results,
        sibling(sheet, "plan.json"),
        settings,
        criteria=criteria,
        another_plan=another_plan,
    )
    rows = {name: row for row, name in enumerate(names)}
    journal = LabelJournal(sheet, plan=work.plan[SEAL])
    _add(journal, annotator, work, names, labels or {})
    while True:
        so_far = labels_in(journal, work.sampled)
        left = max(1, budget - len(so_far.of))
        ranks = work.next_posts(so_far, at_least=min(_BATCH, left) if label else 1)
        units = work.texts.units(ranks)
        work.sampled.draw(units)
        next_rows = [rows[unit.post] for unit in units]
        if label is None or not next_rows:
            break
        verdicts = list(label(next_rows))
        if len(verdicts) != len(next_rows):
            raise InputError(
                f"label returned {len(verdicts)} verdicts for {len(next_rows)} rows; expected one "
                "for each: True, False or None"
            )
        verdicts_by_row = dict(zip(next_rows, verdicts, strict=True))
        _add(journal, annotator, work, names, verdicts_by_row)
    work.log.look(so_far)
    claims = work.claims(so_far)
    content = certificate_of(work, claims, so_far, [sheet])
    write_files(work, claims, content, page_of(content))
    sets = [
        CertifiedSet(
            claim.target,
            np.array([rows[name] for name in _members(work, claim)], np.int64),
            claim.threshold,
            sentence_of(content, statement),
        )
        for claim, statement in zip(claims, content["claims"], strict=True)
    ]
    return CertifiedScores(
        sets, next_rows, len(so_far.of), work.path, sibling(sheet, "certificate.json")
    )


def _check(
    scores: NDArray[np.float64], ids: Sequence[str], texts: Sequence[str] | None
) -> None:
    """Raise an `InputError` for arrays that do not fit together."""
    if scores.ndim != 1 or not len(scores):
        raise InputError(
            f"scores has the shape {scores.shape}; expected one dimension and a number or more"
        )
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        raise InputError(
            f"scores[{bad[0]}] is {scores[bad[0]]}; expected finite numbers"
        )
    for what, values in (("ids", ids), ("texts", texts)):
        if values is not None and len(values) != len(scores):
            raise InputError(
                f"{what} has {len(values)} values for {len(scores)} scores; expected as many"
            )
    first: dict[str, int] = {}
    for row, name in enumerate(ids):
        if first.setdefault(name, row) != row:
            raise InputError(
                f"ids[{first[name]}] and ids[{row}] are both {name!r}; expected distinct ids"
            )


def _write_scores(
    path: Path,
    scores: NDArray[np.float64],
    names: Sequence[str],
    texts: Sequence[str] | None,
) -> None:
    """Write the scores once; an `InputError` if the folder has those of another list."""
    lines = (
        json_text(
            {"post": name, "score": score}
            | ({} if texts is None else {"text": str(texts[row])})
        )
        + "\n"
        for row, (name, score) in enumerate(zip(names, scores.tolist(), strict=True))
    )
    if path.exists():
        with path.open(encoding="utf-8", newline="") as stream:
            same = all(
                line == next(stream, None) for line in lines
            ) and not stream.read(1)
        if not same:
            raise InputError(
                f"{path}: holds other scores, ids or texts; expected those of the first call: name "
                "another folder for another list"
            )
        return
    with atomic_write(path) as stream:
        stream.writelines(lines)


def _add(
    journal: LabelJournal,
    annotator: str,
    work: Certification,
    names: Sequence[str],
    verdicts: Mapping[int, Verdict],
) -> None:
    """Record verdicts that are new or have changed."""
    for row, verdict in verdicts.items():
        name = names[row] if 0 <= row < len(names) else None
        if name is None or name not in work.sampled.by_name:
            raise InputError(
                f"labels has row {row}, which no call has asked for; expected rows of next_rows: "
                "other labels are no random sample"
            )
        if isinstance(verdict, np.bool_):
            verdict = bool(verdict)
        if verdict is not None and not isinstance(verdict, bool):
            raise InputError(
                f"the verdict of row {row} is {verdict!r}; expected True, False or None"
            )
        value = _LABELS[verdict]
        if journal.verdict(name) != value:
            journal.add(name, value, annotator)


def _members(work: Certification, claim: Claim) -> Iterable[str]:
    """The names of the items of a list, best first."""
    taken_out = frozenset(claim.taken_out)
    ranks = [rank for rank in range(claim.size) if rank not in taken_out]
    return work.population.names_at([*ranks, *claim.put_in])
