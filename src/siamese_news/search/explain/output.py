"""Write explanations: tables for people, JSON lines for programs."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import IO, Any

from siamese_news.search.explain.explainer import Explained
from siamese_news.search.result_files import add_row, console, empty_table
from siamese_news.utils.terminal import clean, counted

SHOWN = 12
"""Rows of a table; JSON lines have all."""

_NOISE = 5e-4  # a share that shows as 0.0 %


def write_explained(
    stream: IO[str], explained: Sequence[Explained], format: str, *, terminal: bool
) -> None:
    """Write explanations as ``table``, colored on a terminal, or ``jsonl``."""
    for explanation in explained:
        if format == "jsonl":
            stream.write(json.dumps(record_of(explanation), ensure_ascii=False) + "\n")
        else:
            _tables(stream, explanation, terminal)


def record_of(explanation: Explained) -> dict[str, Any]:
    """All of an explanation, as plain values."""
    parts = ("score", "kind", "lexical", "dense", "surface")
    near = ("post", "text", "weight", "added")
    return {
        "post": explanation.post.id,
        "article": explanation.article.id,
        **{name: getattr(explanation, name) for name in parts},
        "neighbors": [
            {name: getattr(post, name) for name in near}
            for post in explanation.neighbors
        ],
        "feedback": explanation.feedback,
        "rest": explanation.unexplained,
        "text": explanation.post.text,
        "sentences": [
            {
                "number": number,
                **asdict(sentence),
                "share": _share(sentence.contribution, explanation),
            }
            for number, sentence in enumerate(explanation.sentences, 1)
        ],
        "terms": [
            {**asdict(term), "contribution": term.contribution}
            for term in explanation.terms
        ],
        "check": explanation.check
        and {
            **asdict(explanation.check),
            "sentence": explanation.check.sentence + 1,
            "holds": explanation.check.holds,
        },
    }


def check_words(explanation: Explained) -> str:
    """The outcome of the test in a sentence or two."""
    if explanation.check is None:
        return "No sentence carries the score."
    number = explanation.check.sentence + 1
    drop = explanation.check.drop
    sentence = f"without sentence {number} the score is {explanation.score - drop:.4f}"
    if explanation.check.greatest is None:
        return f"Tested: {sentence}; no other sentence is about as long, so there is no comparison."
    best = explanation.score - explanation.check.greatest
    count = counted(explanation.check.others, "other sentence")
    which = "the" if explanation.check.others == 1 else "any of"
    sentence += f"; without {which} {count} about as long, it is at least {best:.4f}"
    if explanation.check.holds:
        return f"Tested, the explanation holds: {sentence}."
    return f"Tested, the explanation does not hold: {sentence}. Trust the column 'without' here."


def _tables(stream: IO[str], explanation: Explained, terminal: bool) -> None:
    from rich.text import Text

    out = console(stream, terminal)

    def say(line: str) -> None:
        out.print(Text(clean(line)))

    say(
        f"post {explanation.post.id} for {explanation.article.id}: "
        f"{explanation.article.title or explanation.article.text[:80]}"
    )
    say(explanation.post.text)
    near = explanation.neighbors
    heads = [
        f"words {explanation.lexical:.4f}",
        f"vectors {explanation.dense:.4f}",
        *([f"n-grams {explanation.surface:.4f}"] if explanation.surface else []),
        *([f"its neighbors {sum(n.added for n in near):.4f}"] if near else []),
    ]
    parts = f": {', '.join(heads)}" if explanation.kind == "mixture" else ""
    say(f"score {explanation.score:.4f} ({explanation.kind}){parts}")
    out.print(_sentences(explanation))
    if explanation.terms:
        out.print(_terms(explanation))
    if explanation.neighbors:
        out.print(_neighbors(explanation))
    say(check_words(explanation))


def _sentences(explanation: Explained) -> Any:
    columns = ("", "share", "without", "sentence")
    table = empty_table("sentences of the article", columns, texts=("sentence",))
    strength = [abs(sentence.contribution) for sentence in explanation.sentences]
    order = sorted(range(len(strength)), key=lambda number: -strength[number])
    row_numbers = {number for number in order[:SHOWN] if strength[number]}
    tested = None if explanation.check is None else explanation.check.sentence
    if tested is not None:
        row_numbers.add(tested)
    for number in sorted(row_numbers):
        sentence = explanation.sentences[number]
        mark = "> " if number == tested else ""
        share = _percent(sentence.contribution, explanation)
        without = f"{sentence.without:.4f}"
        cells = [f"{mark}{number + 1}", share, without, clean(sentence.text)]
        add_row(table, cells, style="bold" if mark else "")
    hidden_shares = [
        s.contribution
        for number, s in enumerate(explanation.sentences)
        if number not in row_numbers
    ]
    summary_rows = {
        counted(len(hidden_shares), "other sentence"): sum(hidden_shares)
        if hidden_shares
        else None,
        "(by its best posts in the pool)": explanation.feedback or None,
        "(no sentence accounts for this)": (
            explanation.unexplained
            if abs(explanation.unexplained) > _NOISE * explanation.score
            else None
        ),
    }
    for name, value in summary_rows.items():
        if value is not None:
            add_row(table, ["", _percent(value, explanation), "", name])
    return table


def _terms(explanation: Explained) -> Any:
    views = (
        ["by words", "by vectors", "by n-grams"]
        if explanation.kind == "mixture"
        else []
    )
    fields = any(term.fields for term in explanation.terms)
    columns = ["share", *views, "word", *["field"] * fields]
    table = empty_table("words of the post", columns, texts=("word", "field"))
    for term in explanation.terms[:SHOWN]:
        values = (term.lexical, term.dense, term.surface)[: len(views)]
        numbers = [f"{value:.4f}" if value else "" for value in values]
        text_cells = [clean(term.term), *[clean(", ".join(term.fields))] * fields]
        add_row(
            table, [_percent(term.contribution, explanation), *numbers, *text_cells]
        )
    return table


def _neighbors(explanation: Explained) -> Any:
    title = "its neighbors: similar posts, whose scores are part of its score"
    table = empty_table(
        title, ("share", "added", "post", "text"), texts=("post", "text")
    )
    rows = [
        (near.added, clean(near.post or ""), clean(near.text))
        for near in explanation.neighbors
    ]
    if hidden_rows := rows[SHOWN:]:
        rows[SHOWN:] = [
            (
                sum(added for added, *_ in hidden_rows),
                "",
                counted(len(hidden_rows), "other"),
            )
        ]
    for added, *text_cells in rows:
        add_row(table, [_percent(added, explanation), f"{added:.4f}", *text_cells])
    return table


def _share(value: float, explanation: Explained) -> float | None:
    return value / explanation.score if explanation.score > 0 else None


def _percent(value: float, explanation: Explained) -> str:
    """Nothing for an exact zero."""
    share = _share(value, explanation)
    return f"{round(100 * share, 1) + 0.0:.1f}%" if value and share is not None else ""
