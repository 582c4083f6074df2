"""Articles in one file, as databases of news export them: cut at their marks, without the forms."""

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
    r"|DISTRIBUTION|HIGHLIGHT|SERIES|TYPE|SPRACHE|RUBRIK|AUTOR|ZEITUNGS-CODE|LANGUE|RUBRIQUE|AUTEUR"
    r"|TYPE-PUBLICATION|DATE-CHARGEMENT|IDIOMA|SECCIÓN|LINGUA|SEZIONE|AUTORE|TAAL|SECTIE|AUTEUR): .*"
    r"|(?:Copyright|©|\(c\)) .*|(?:All Rights Reserved|Alle Rechte vorbehalten|Tous droits réservés"
    r"|Todos los derechos reservados|Tutti i diritti riservati|Todos os direitos reservados"
    r"|Alle rechten voorbehouden)\.?"
    r"|Classification|Full text:|_{9,}"
)
_FIELD = re.compile(_FIELDS, re.I)
_FORM = re.compile(
    rf"(?i:{_FIELDS}|Body|[\d,]+ words|By .{{2,60}}|Page \d+ of \d+|ProQuest document link)"
    r"|\d\d:\d\d|English|[A-Z0-9]{3,12}"
)
# Factiva's codes before the lines of an article, and before those that only describe it.
_FORM_CODES = "HD|BY|CR|WC|PD|ET|SN|SC|ED|PG|LA|CY|LP|TD"
_DESCRIBING_CODES = "CLM|SE|VOL|CO|IN|NS|RE|IPC|IPD|PUB|RF"
_CODE = re.compile(rf"(?:{_FORM_CODES})(?:\s{{2,}}|$)")
_DESCRIBING = re.compile(rf"(?:{_DESCRIBING_CODES})\s{{2,}}.*")
# A code before a tab, or alone above its text.
_APART = re.compile(
    rf"(?m)^({_FORM_CODES}|{_DESCRIBING_CODES}|AN)"
    r"(?:\t\s*|\n(?![A-Z]{2,3}(?:\s{2}|\s*$)))"
)
# Lines of a page about an export: whose it is, what was searched for, which articles there are.
_ABOUT = re.compile(
    r"(?:User Name|Benutzername|Nom d'utilisateur|Nombre de usuario|Date and Time|Datum und Uhrzeit"
    r"|Date et heure|Job Number|Client/Matter|Search (?:Terms|Type)|Suchbegriffe|Termes de recherche"
    r"|Narrowed by|Results Found|Timestamp)\b.*|Do[ck]ument\w* \(\d+\)|Search Summary"
    r"|Table of Contents|Zusammenfassung der Suche|Résumé de la recherche|Resumen de (?:la )?búsqueda"
    r"|.{1,200}\.{4,80} ?\d{1,5}",
    re.I,
)
# A field of RIS: its tag and its text, which may go on in the next lines.
_TAGGED = re.compile(r"(?ms)^([A-Z][A-Z\d])  -(.*?)(?=^[A-Z][A-Z\d]  -|\Z)")
_PARAGRAPH = 25  # words that no line of such a page has
_PAPER = 80  # letters of a line above the text, at most
_LINES = 25  # of the form above a text, at most


def exported(lines: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """The articles in the lines of a file; none if it has no database's marks.

    Each has ``title``, ``text``, ``created_at`` and, in its ``metadata``, ``source``. Returns, too,
    the first lines of pages that are no articles but about the search.

    Example:
        >>> from siamese_news.data.exports import exported
        >>> lines = ["A flood", "The Courier", "3 May 2026", "Body", "It rains.", "End of Document"]
        >>> [article["title"] for article in exported(lines)[0]]
        ['A flood']
    """
    lines = [line.strip() for line in lines if line.strip()]
    if any(line.startswith("TY  -") for line in lines):
        return _references(lines), []
    if any(re.match(r"AN(?:\s|$)", line) for line in lines):
        lines = [
            line
            for line in _APART.sub(r"\1  ", "\n".join(lines)).splitlines()
            if not _DESCRIBING.fullmatch(line)
        ]
        text = "\n".join(lines).replace("BY  ", "By ")
        lines = re.sub(r"(?m)^LP\s+", "(c) -\n", text).splitlines()
        lines = [_CODE.sub("", line) for line in lines]
    if is_proquest := any(line.startswith(_FULL_TEXT) for line in lines):
        text = "\n".join(lines).replace(f"{_FULL_TEXT} ", f"{_FULL_TEXT}\n")
        lines = re.sub(r"(?m)(\A|^_{9,}\n)Title: ", r"\1", text).splitlines()
    for source, mark, leads, form_end, paper_first in _EXPORTS:
        marks = [n for n, line in enumerate(lines) if mark.fullmatch(line)]
        if not marks or (source == "ProQuest" and not is_proquest):
            continue
        edges = [-1, *marks, len(lines)]
        parts = [lines[start + 1 : end] for start, end in pairwise(edges)]
        outside = 0 if leads else len(marks)  # the part that no mark belongs to
        articles, pages = [], []
        for number, section in enumerate(parts):
            begin = _first_line(section) if number == 0 else 0
            is_article = _FULL_TEXT in section if is_proquest else number != outside
            if number == outside and not leads:  # perhaps cut off
                is_article |= any(len(line.split()) >= _PARAGRAPH for line in section)
            if is_article and section[begin:]:
                articles.append(
                    _article(section[begin:], source, form_end, paper_first)
                )
            if begin or not is_article:
                pages += [line for line in section if re.search(r"[^\W_]{2}", line)][:1]
        return articles, pages
    about = [line for line in lines[:_LINES] if _ABOUT.fullmatch(line)]
    return [], lines[:1] if len(about) > 2 else []


def _references(lines: Sequence[str]) -> list[dict[str, Any]]:
    """The articles of RIS, the form of reference managers, which ends each with the tag ER."""
    articles = []
    for record in re.split(r"(?m)^ER  -.*$", "\n".join(lines)):
        fields = {tag: text.strip() for tag, text in _TAGGED.findall(record)}
        title, text, day, source, url = (
            next(filter(None, map(fields.get, tags.split())), "")
            for tags in ("TI T1", "AB N2", "DA Y1", "T2 JF JO PB", "UR")
        )
        if "TY" in fields:
            articles.append(
                {
                    "title": title,
                    "text": text,
                    # Of a year alone, the day would be invented.
                    "created_at": iso_date(day) if len(day.strip("/")) > 4 else None,
                    "url": url,
                    "metadata": {"source": source or "RIS"},
                }
            )
    return articles


def _first_line(lines: Sequence[str]) -> int:
    """Where the first article begins below a page about the export, which may list it; else 0."""
    titles = [line[3:] for line in lines[:_LINES] if line.startswith("1. ")]
    starts = [n for n, line in enumerate(lines) if line in titles[:1]]
    about = [n for n, line in enumerate(lines) if _ABOUT.fullmatch(line)]
    return next(iter(starts), about[-1] + 1 if len(about) > 1 else 0)


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
    if paper_first and below_date:
        titles, papers = below_date, above_date
    elif source == "Factiva":  # a line between title and newspaper is the author
        titles, papers = above_date, [*below_date, *above_date[1:]]
    else:
        titles, papers = above_date, [*reversed(above_date[1:]), *below_date]
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
