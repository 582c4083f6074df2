"""Write explanations: tables for people, JSON lines for programs."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import IO, Any

from siamese_news.search.explain.explainer import Explained
from siamese_news.search.output import add_row, console, empty_table
from siamese_news.utils.terminal import clean, counted

SHOWN = 12
"""Rows of a table; JSON lines have all."""

_NOISE = 5e-4  # a share that shows as 0.0 %


def write_explained(
    stream: IO[str], explained: Sequence[Explained], format: str, *, terminal: bool
) -> None:
    """Write explanations as ``table``, colored on a terminal, or ``jsonl``."""
    for one in explained:
        if format == "jsonl":
            stream.write(json.dumps(record_of(one), ensure_ascii=False) + "\n")
        else:
            _tables(stream, one, terminal)


def record_of(one: Explained) -> dict[str, Any]:
    """All of an explanation, as plain values."""
    parts = ("score", "kind", "lexical", "dense", "surface")
    near = ("post", "text", "weight", "added")
    return {
        "post": one.post.id,
        "article": one.article.id,
        **{name: getattr(one, name) for name in parts},
        "neighbors": [
            {name: getattr(post, name) for name in near} for post in one.neighbors
        ],
        "feedback": one.feedback,
        "rest": one.rest,
        "text": one.post.text,
        "sentences": [
            {
                "number": number,
                **asdict(sentence),
                "share": _share(sentence.contribution, one),
            }
            for number, sentence in enumerate(one.sentences, 1)
        ],
        "terms": [
            {**asdict(term), "contribution": term.contribution} for term in one.terms
        ],
        "check": one.check
        and {
            **asdict(one.check),
            "sentence": one.check.sentence + 1,
            "holds": one.check.holds,
        },
    }


def check_words(one: Explained) -> str:
    """The outcome of the test in a sentence or two."""
    if one.check is None:
        return "No sentence carries the score."
    number = one.check.sentence + 1
    drop = one.check.drop
    found = f"without sentence {number} the score is {one.score - drop:.4f}"
    if one.check.greatest is None:
        return f"Tested: {found}; no other sentence is about as long, so there is no comparison."
    best = one.score - one.check.greatest
    count = counted(one.check.others, "other sentence")
    which = "the" if one.check.others == 1 else "any of"
    found += f"; without {which} {count} about as long, it is at least {best:.4f}"
    if one.check.holds:
        return f"Tested, the explanation holds: {found}."
    return f"Tested, the explanation does not hold: {found}. Trust the column 'without' here."


def _tables(stream: IO[str], one: Explained, terminal: bool) -> None:
    from rich.text import Text

    out = console(stream, terminal)

    def say(line: str) -> None:
        out.print(Text(clean(line)))

    say(
        f"post {one.post.id} for {one.article.id}: {one.article.title or one.article.text[:80]}"
    )
    say(one.post.text)
    heads = (
        f"words {one.lexical:.4f}, vectors {one.dense:.4f}"
        if one.kind == "mixture"
        else ""
    )
    if one.surface:
        heads += f", n-grams {one.surface:.4f}"
    if one.neighbors:
        heads += f", its neighbors {sum(near.added for near in one.neighbors):.4f}"
    say(f"score {one.score:.4f} ({one.kind}){': ' if heads else ''}{heads}")
    out.print(_sentences(one))
    if one.terms:
        out.print(_terms(one))
    if one.neighbors:
        out.print(_neighbors(one))
    say(check_words(one))


def _sentences(one: Explained) -> Any:
    columns = ("", "share", "without", "sentence")
    table = empty_table("sentences of the article", columns, texts=("sentence",))
    strength = [abs(sentence.contribution) for sentence in one.sentences]
    order = sorted(range(len(strength)), key=lambda number: -strength[number])
    shown = {number for number in order[:SHOWN] if strength[number]}
    named = None if one.check is None else one.check.sentence
    if named is not None:
        shown.add(named)
    for number in sorted(shown):
        sentence = one.sentences[number]
        mark = "> " if number == named else ""
        share = _percent(sentence.contribution, one)
        without = f"{sentence.without:.4f}"
        cells = [f"{mark}{number + 1}", share, without, clean(sentence.text)]
        add_row(table, cells, style="bold" if mark else "")
    rest = [
        s.contribution for number, s in enumerate(one.sentences) if number not in shown
    ]
    others = {
        counted(len(rest), "other sentence"): sum(rest) if rest else None,
        "(by its best posts in the pool)": one.feedback or None,
        "(no sentence accounts for this)": (
            one.rest if abs(one.rest) > _NOISE * one.score else None
        ),
    }
    for name, value in others.items():
        if value is not None:
            add_row(table, ["", _percent(value, one), "", name])
    return table


def _terms(one: Explained) -> Any:
    views = ["by words", "by vectors", "by n-grams"] if one.kind == "mixture" else []
    fields = any(term.fields for term in one.terms)
    columns = ["share", *views, "word", *["field"] * fields]
    table = empty_table("words of the post", columns, texts=("word", "field"))
    for term in one.terms[:SHOWN]:
        values = (term.lexical, term.dense, term.surface)[: len(views)]
        numbers = [f"{value:.4f}" if value else "" for value in values]
        named = [clean(term.term), *[clean(", ".join(term.fields))] * fields]
        add_row(table, [_percent(term.contribution, one), *numbers, *named])
    return table


def _neighbors(one: Explained) -> Any:
    title = "its neighbors: similar posts, whose scores are part of its score"
    table = empty_table(
        title, ("share", "added", "post", "text"), texts=("post", "text")
    )
    rows = [
        (near.added, clean(near.post or ""), clean(near.text)) for near in one.neighbors
    ]
    if rest := rows[SHOWN:]:
        rows[SHOWN:] = [
            (sum(added for added, *_ in rest), "", counted(len(rest), "other"))
        ]
    for added, *named in rows:
        add_row(table, [_percent(added, one), f"{added:.4f}", *named])
    return table


def _share(value: float, one: Explained) -> float | None:
    return value / one.score if one.score > 0 else None


def _percent(value: float, one: Explained) -> str:
    """Nothing for an exact zero."""
    share = _share(value, one)
    return f"{round(100 * share, 1) + 0.0:.1f}%" if value and share is not None else ""
