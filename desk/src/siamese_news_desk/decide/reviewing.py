"""A certificate, and the recall of its list, as a part of the page of a report."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from siamese_news.data.results import read_columns
from siamese_news.errors import InputError
from siamese_news.utils.files import readable_name
from siamese_news.utils.terminal import counted, verb
from siamese_news_desk.decide.certificate import sentence_of
from siamese_news_desk.decide.certificate_page import answers_html
from siamese_news_desk.decide.checking import check_certificate
from siamese_news_desk.decide.plan.population import Population
from siamese_news_desk.decide.plan.sealed_files import SEAL, read_sealed

_SAME = 1e-4  # scores of one search differ by less, whatever the format of its files


def certificate_html(
    path: Path,
    audit: Path | None = None,
    posts: Sequence[tuple[str, str, float]] = (),
) -> str:
    """The claims and the answers of a certificate that holds, as HTML.

    `audit` is the result of an audit below its list; `posts` are those of the page: the article,
    the id and the score of each.

    Raises:
        InputError: the certificate does not hold or is about other posts than these, or the audit
            is of another certificate.
    """
    checked = check_certificate(path)
    content = checked.content
    remark = _of_these(path, checked.certification.population, posts) if posts else ""
    recall = None if audit is None else _recall_of(audit, content[SEAL])
    from markupsafe import escape

    claims = "".join(
        f'<p class="claim">{escape(sentence_of(content, claim))}</p>'
        for claim in content["claims"]
    )
    if remark:
        claims = f"<p><strong>{escape(remark)}</strong></p>{claims}"
    return readable_name(
        f"<h2>What the list guarantees</h2>{claims}{answers_html(content, recall)}"
    )


def _of_these(
    path: Path, population: Population, posts: Sequence[tuple[str, str, float]]
) -> str:
    """What a reader must know if the posts of a page are not all certified ones or below them.

    Empty if each is among the scored posts of the certificate, and has its score there.

    Raises:
        InputError: the posts are those of another search.
    """
    names = [f"{article}\t{i}" if population.pairs else i for article, i, _ in posts]
    rank_of = population.ranks_of(names)
    shared = [
        (population.scores[rank_of[name]], post[2])
        for name, post in zip(names, posts, strict=True)
        if name in rank_of
    ]
    about = f"the {counted(len(population), 'post')} of {population.path.name}"
    if not shared:
        raise InputError(
            f"{path}: is about {about}, and none of the {counted(len(posts), 'post')} of the "
            "results is among them; expected the certificate of these results"
        )
    equal = sum(math.isclose(*pair, rel_tol=_SAME, abs_tol=_SAME) for pair in shared)
    articles = read_columns(population.path)[1]
    if not equal and articles and not {post[0] for post in posts} & set(articles[1]):
        raise InputError(
            f"{path}: is about {about}, which have other articles and other scores than the "
            "results; expected the certificate of these results"
        )
    sentences = []
    if missing := len(posts) - len(shared):
        sentences.append(
            f"{missing:,} of the {counted(len(posts), 'post')} on this page {verb(missing, 'are')} "
            f"not among {about}, to which alone the certificate refers."
        )
    if changed := len(shared) - equal:
        sentences.append(
            f"{changed:,} of the {counted(len(posts), 'post')} on this page {verb(changed, 'have')} "
            f"another score than in {population.path.name}; the certificate refers to the scores "
            "there."
        )
    return " ".join(sentences)


def _recall_of(path: Path, seal: str) -> dict[str, Any]:
    audit = read_sealed(path, "audit")
    certified = (audit.get("settings") or {}).get("certificate") or {}
    if certified.get("sha256") != seal:
        raise InputError(
            f"{path}: is not about this certificate; expected the .audit.json of an audit below "
            "its list (audit --certificate)"
        )
    return audit
