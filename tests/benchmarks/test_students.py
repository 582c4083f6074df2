"""The documentation shows the saved students: their table and their picture."""

import json
from pathlib import Path

from benchmarks.students import (
    PICTURE,
    PICTURE_OF_TEXTS,
    RESULTS,
    STUDENTS,
    picture,
    picture_of_texts,
    table,
    table_of_texts,
)

PAGE = Path(__file__).parents[2] / "docs" / "quality-methods.md"
#: What the page calls a student.
TITLES = {
    "dense Transformer": "dense Transformer, 2 layers, without positions",
    "star as printed": "star as printed (no feed-forward), 2 cycles",
    "star, softmax": "star with feed-forward, 2 cycles, softmax",
    "star, adaptive": "the same, a learned alpha a head",
}


def test_the_picture_is_drawn_from_the_saved_students():
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert picture(results) == PICTURE.read_text(encoding="utf-8")


def test_the_picture_of_texts_is_drawn_from_the_saved_students():
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert picture_of_texts(results) == PICTURE_OF_TEXTS.read_text(encoding="utf-8")


def test_the_page_quotes_the_students_of_growing_draws():
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    page = PAGE.read_text(encoding="utf-8").replace("**", "")
    head, _, *rows = table_of_texts(results).strip().splitlines()
    assert head in page
    for row in rows:
        assert row.replace("0.", ".") in page


def test_the_page_quotes_the_saved_students():
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    saved = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in table(results).splitlines()
        if line.startswith("|")
    ]
    head = saved[0]
    page = PAGE.read_text(encoding="utf-8").replace("**", "")
    assert [row[0] for row in saved[2:]] == list(STUDENTS)
    for row in saved[2:]:
        cells = dict(zip(head, row, strict=True))
        mean = cells["mean without dast-da"].replace("0.", ".")
        name = TITLES.get(row[0], row[0])
        assert f"| {name} | {cells['weights']} | {cells['posts/s']} | {mean} |" in page
