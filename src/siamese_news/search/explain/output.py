"""Write explanations: tables for people, JSON lines for programs."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import IO, Any

import numpy as np

from siamese_news.search.explain.records import Explained
from siamese_news.utils.terminal import clean, counted

SHOWN = 12
"""Rows of a table; JSON lines have all."""

_NOISE = 5e-4  # a share that shows as 0.0 %


def write_explained(
    stream: IO[str], explained: Sequence[Explained], format: str, *, terminal: bool
) -> None:
    """Write explanations.

    Args:
        stream: where to.
        explained: what to write.
        format: ``table`` or ``jsonl``.
        terminal: whether a person reads the stream; tables are then coloured.
    """
    for one in explained:
        if format == "jsonl":
            stream.write(json.dumps(record_of(one), ensure_ascii=False) + "\n")
        else:
            _tables(stream, one, terminal)


def record_of(one: Explained) -> dict[str, Any]:
    """Everything that an explanation says, as plain values."""
    return {
        "post": one.post.id,
        "article": one.article.id,
        "score": one.score,
        "kind": one.kind,
        "lexical": one.lexical,
        "dense": one.dense,
        "surface": one.surface,
        "neighbors": [
            {"post": near.post, "text": near.text, "weight": near.weight, "added": near.added}
            for near in one.neighbors
        ],
        "feedback": one.feedback,
        "rest": one.rest,
        "text": one.post.text,
        "sentences": [
            {"number": number, **asdict(sentence), "share": _share(sentence.contribution, one)}
            for number, sentence in enumerate(one.sentences, 1)
        ],
        "terms": [{**asdict(term), "contribution": term.contribution} for term in one.terms],
        "alphas": one.alphas,
        "check": one.check
        and {**asdict(one.check), "sentence": one.check.sentence + 1, "holds": one.check.holds},
    }


def check_words(one: Explained) -> str:
    """The outcome of the test in a sentence or two."""
    if one.check is None:
        return "No sentence carries the score."
    number, drop = one.check.sentence + 1, one.check.drop
    tested = f"Tested: without sentence {number} the score is {one.score - drop:.4f}"
    if one.check.greatest is None:
        return f"{tested}; no other sentence is of about its length, to compare with."
    best = one.score - one.check.greatest
    others = f"{tested}, without another of about its length {best:.4f} or more"
    many = f"({counted(one.check.others, 'sentence')})"
    if one.check.holds:
        return f"{others} {many}: the explanation holds."
    return f"{others} {many}: the explanation does not hold; trust the column 'without' here."


def _tables(stream: IO[str], one: Explained, terminal: bool) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, width=None if terminal else 140, force_terminal=terminal)

    def say(line: str) -> None:
        console.print(Text(clean(line)))

    say(f"post {one.post.id} for {one.article.id}: {one.article.title or one.article.text[:80]}")
    say(one.post.text)
    heads = f"words {one.lexical:.4f}, vectors {one.dense:.4f}" if one.kind == "mixture" else ""
    if one.surface:
        heads += f", n-grams {one.surface:.4f}"
    if one.neighbors:
        heads += f", its neighbors {sum(near.added for near in one.neighbors):.4f}"
    say(f"score {one.score:.4f} ({one.kind}){': ' if heads else ''}{heads}")
    console.print(_sentences(one))
    if one.terms:
        console.print(_terms(one))
    if one.neighbors:
        console.print(_neighbors(one))
    for name, alphas in one.alphas.items():
        say(f"alphas {name}: {' '.join(f'{alpha:.2f}' for alpha in alphas)}")
    say(check_words(one))


def _sentences(one: Explained) -> Any:
    from rich.table import Table
    from rich.text import Text

    attention = [_attention(sentence.attention) for sentence in one.sentences]
    attends = any(sentence.attention for sentence in one.sentences)
    table = Table(title="sentences of the article", title_justify="left")
    for name in ("", "share", *(["attention"] if attends else []), "without"):
        table.add_column(name, justify="right")
    table.add_column("sentence", overflow="fold")
    strength = [
        abs(s.contribution) + given for s, given in zip(one.sentences, attention, strict=True)
    ]
    order = sorted(range(len(strength)), key=lambda number: -strength[number])
    shown = {number for number in order[:SHOWN] if strength[number]}
    named = None if one.check is None else one.check.sentence
    if named is not None:
        shown.add(named)
    for number in sorted(shown):
        sentence = one.sentences[number]
        cells = [
            f"{'> ' if number == named else ''}{number + 1}",
            _percent(sentence.contribution, one),
        ]
        cells += [f"{attention[number]:.3f}" if attention[number] else ""] if attends else []
        cells += [f"{sentence.without:.4f}", clean(sentence.text)]
        table.add_row(*map(Text, cells), style="bold" if number == named else "")
    blank = [""] * (2 if attends else 1)
    rest = [s.contribution for number, s in enumerate(one.sentences) if number not in shown]
    if rest:
        table.add_row("", _percent(sum(rest), one), *blank, f"{len(rest)} other sentences")
    if one.feedback:
        table.add_row("", _percent(one.feedback, one), *blank, "(by its best posts in the pool)")
    if abs(one.rest) > _NOISE * one.score:
        table.add_row("", _percent(one.rest, one), *blank, "(no sentence accounts for this)")
    return table


def _terms(one: Explained) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(title="words of the post", title_justify="left")
    both = one.kind == "mixture"
    for name in ("share", *(("by words", "by vectors", "by n-grams") if both else ())):
        table.add_column(name, justify="right")
    table.add_column("word", overflow="fold")
    if fields := any(term.fields for term in one.terms):
        table.add_column("field", overflow="fold")
    for term in one.terms[:SHOWN]:
        cells = [_percent(term.contribution, one)]
        if both:
            values = (term.lexical, term.dense, term.surface)
            cells += [f"{value:.4f}" if value else "" for value in values]
        cells += [clean(term.term), *([clean(", ".join(term.fields))] if fields else [])]
        table.add_row(*map(Text, cells))
    return table


def _neighbors(one: Explained) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title="its neighbors: posts like it, whose scores it takes on", title_justify="left"
    )
    for name in ("share", "added"):
        table.add_column(name, justify="right")
    table.add_column("post")
    table.add_column("text", overflow="fold")
    for near in one.neighbors[:SHOWN]:
        cells = [_percent(near.added, one), f"{near.added:.4f}", clean(near.post or "")]
        table.add_row(*map(Text, cells), Text(clean(near.text)))
    rest = [near.added for near in one.neighbors[SHOWN:]]
    if rest:
        table.add_row(_percent(sum(rest), one), f"{sum(rest):.4f}", "", f"{len(rest)} others")
    return table


def _attention(heads: dict[str, list[float]]) -> float:
    """The mean over the heads of the last attention that looks at the whole article."""
    return float(np.mean(list(heads.values())[-1])) if heads else 0.0


def _share(value: float, one: Explained) -> float | None:
    return value / one.score if one.score > 0 else None


def _percent(value: float, one: Explained) -> str:
    """An exact zero is shown as nothing."""
    share = _share(value, one)
    return f"{round(100 * share, 1) + 0.0:.1f}%" if value and share is not None else ""
