"""Articles in one file, as Nexis and Factiva export them: cut at their marks, without the forms."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from siamese_news.data.readers.values import iso_date

_NUMBERED = re.compile(
    r"\d+ (?:of|von|de|sur|van|di) \d+ do[ck]ument\w*"
    r"|do[ck]ument\w* \d+ (?:of|von|de|sur|van|di) \d+",
    re.I,
)
_FULL_TEXT = "Full text:"
# Of a database: its mark between articles, whether that is above its article, the last line of the
# form above a text, and whether the newspaper comes before the title there.
_EXPORTS = (
    ("ProQuest", _NUMBERED, True, re.compile(_FULL_TEXT), False),
    ("ProQuest", re.compile("_{9,}"), False, re.compile(_FULL_TEXT), False),
    (
        "Nexis",
        _NUMBERED,
        True,
        re.compile(
            "(?:LENGTH|LÄNGE|LONGUEUR|LONGITUD|EXTENSIÓN|LENGTE|LUNGHEZZA): .*", re.I
        ),
        True,
    ),
    (
        "Nexis",
        re.compile(
            "End of document|Ende des Dokuments|Fin (?:du|de) document|Fin del documento"
            "|Fine del documento|Fi[mn] do documento|Einde? van (?:het )?document",
            re.I,
        ),
        False,
        re.compile(
            "Body|Text|Haupttext|Volltext|Corps(?: du texte)?|Texte|Cuerpo|Texto|Testo|Tekst",
            re.I,
        ),
        False,
    ),
    (
        "Factiva",
        re.compile(r"(?:AN\s+)?Document [A-Za-z0-9]{15,40}"),
        False,
        re.compile(r"(?:Copyright|©|\(c\)).*", re.I),
        False,
    ),
)
_FIELDS = (
    r"(?:BYLINE|SECTION|LENGTH|LOAD-DATE|LANGUAGE|PUBLICATION-TYPE|DATELINE|GRAPHIC|SUBJECT|COUNTRY"
    r"|AUTHOR|TITLE|PUBLICATION (?:INFO|TITLE|DATE)|ABSTRACT|LINKS"
    r"|CITY|STATE|COMPANY|ORGANIZATION|PERSON|GEOGRAPHIC|INDUSTRY|JOURNAL-CODE|ACC-NO|CORRECTION-DATE"
    r"|DISTRIBUTION|HIGHLIGHT|SERIES|TYPE): .*|(?:Copyright|©|\(c\)) .*|All Rights Reserved\.?"
    r"|Classification|Full text:|_{9,}"
)
_FIELD = re.compile(_FIELDS, re.I)
_FORM = re.compile(
    rf"(?i:{_FIELDS}|Body|[\d,]+ words|By .{{2,60}}|Page \d+ of \d+|ProQuest document link)"
    r"|\d\d:\d\d|English|[A-Z0-9]{3,12}"
)
# Factiva's codes before the lines of an article, and of lines that only describe it.
_CODE = re.compile(r"(?:SE|HD|BY|CR|WC|PD|ET|SN|SC|ED|PG|LA|CY|LP|TD)\s{2,}")
_DESCRIBING = re.compile(r"(?:CO|IN|NS|RE|IPC|IPD|PUB|RF|CLM)\s{2,}.*")
_PAPER = 80  # letters of a line above the text, at most
_LINES = 25  # of the form above a text, at most


def exported(lines: Sequence[str]) -> list[dict[str, Any]]:
    """The articles in the lines of a file; none if it has no database's marks.

    Each has ``title``, ``text``, ``created_at`` and, in its ``metadata``, ``source``.

    Example:
        >>> from siamese_news.data.exports import exported
        >>> lines = ["A flood", "The Courier", "3 May 2026", "Body", "It rains.", "End of Document"]
        >>> [article["title"] for article in exported(lines)]
        ['A flood']
    """
    lines = [line.strip() for line in lines if line.strip()]
    if any(line.startswith("AN ") for line in lines):
        lines = [line for line in lines if not _DESCRIBING.fullmatch(line)]
        text = "\n".join(lines).replace("BY  ", "By ")
        lines = re.sub(r"(?m)^LP\s+", "(c) -\n", text).splitlines()
        lines = [_CODE.sub("", line) for line in lines]
    if is_proquest := any(line.startswith(_FULL_TEXT) for line in lines):
        text = "\n".join(lines).replace(f"{_FULL_TEXT} ", f"{_FULL_TEXT}\n")
        lines = re.sub(r"(?m)(\A|^_{9,}\n)Title: ", r"\1", text).splitlines()
    for source, mark, leads, form_end, paper_first in _EXPORTS:
        marks = [n for n, line in enumerate(lines) if mark.fullmatch(line)]
        parts = [
            lines[start + 1 : end]
            for start, end in pairwise([-1, *marks, len(lines)][1 if leads else 0 :])
        ]
        if marks and (is_proquest or source != "ProQuest"):
            return [
                _article(article_lines, source, form_end, paper_first)
                for article_lines in parts
                if article_lines and (not is_proquest or _FULL_TEXT in article_lines)
            ]
    return []


def _article(
    lines: Sequence[str], source: str, form_end: re.Pattern[str], paper_first: bool
) -> dict[str, Any]:
    head = lines[:_LINES]
    dates = {
        n: d
        for n, line in enumerate(head)
        if len(line) < _PAPER and (d := iso_date(line))
    }
    day = next(iter(dates), 0)
    # Without a form, the text begins below the date.
    start = (
        next((n for n, line in enumerate(head) if form_end.fullmatch(line)), day) + 1
    )
    names = [
        (n, line)
        for n, line in enumerate(lines[:start])
        if n not in dates and not _FORM.fullmatch(line)
    ]
    above_date = [line for n, line in names if n < day or not dates]
    below_date = [line for n, line in names if n > day]
    titles, papers = (
        (below_date, above_date)
        if paper_first and below_date
        else (above_date, [*above_date[1:], *below_date])
    )
    # ProQuest has them below the text.
    described = dict(
        re.findall(r"(?m)^(Publication (?:date|title)): (.+)$", "\n".join(lines))
    )
    return {
        "title": next(iter(titles), ""),
        "text": "\n".join(line for line in lines[start:] if not _FIELD.fullmatch(line)),
        "created_at": dates.get(day) or iso_date(described.get("Publication date")),
        "metadata": {
            "source": next(iter(papers), described.get("Publication title", source))
        },
    }
