"""A certificate, and the recall of its list, as a part of the page of a report."""

import json
from pathlib import Path
from typing import Any

from siamese_news.errors import InputError
from siamese_news.utils.files import readable_name
from siamese_news_desk.decide.certificate import sentence_of
from siamese_news_desk.decide.certificate_page import answers_html
from siamese_news_desk.decide.checking import check_certificate
from siamese_news_desk.decide.plan.files import SEAL, read_sealed, seal_of


def certificate_html(path: Path, audit: Path | None = None) -> str:
    """The claims and the answers of a certificate that holds, as HTML.

    `audit` is the result of an audit below its list.

    Raises:
        InputError: the certificate does not hold, or the audit is of another one.
    """
    check_certificate(path)
    content = read_sealed(path, "certificate")
    recall = None if audit is None else _recall_of(audit, content[SEAL])
    from markupsafe import escape

    claims = "".join(
        f'<p class="claim">{escape(sentence_of(content, claim))}</p>'
        for claim in content["claims"]
    )
    return readable_name(
        f"<h2>What the list guarantees</h2>{claims}{answers_html(content, recall)}"
    )


def _recall_of(path: Path, seal: str) -> dict[str, Any]:
    try:
        audit = json.loads(path.read_text(encoding="utf-8"))
        certified = audit["settings"]["certificate"]["sha256"]
        sealed = audit[SEAL]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: is not the result of an audit below a certified list ({error}); expected the "
            ".audit.json of audit --certificate"
        ) from error
    if seal_of(audit) != sealed:
        raise InputError(
            f"{path}: was changed after it was written; run audit --labels again"
        )
    if certified != seal:
        raise InputError(
            f"{path}: is about another certificate; expected the audit below the list of this one"
        )
    return dict(audit)
