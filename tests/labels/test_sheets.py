"""Labels as annotation tools export them, above all the ones that nobody meant to give."""

import json

import pytest

from siamese_news.errors import InputError
from siamese_news.labels.sheets import read_rows


def said(path, rows, *, whole=False):
    """The verdicts of rows of JSON lines, or of one JSON list."""
    lines = json.dumps(rows) if whole else "".join(json.dumps(row) + "\n" for row in rows)
    path.write_text(lines)
    return [row.verdict() for row in read_rows(path)]


def annotated(choice, **more):
    result = [{"type": "choices", "value": {"choices": [choice]}}] if choice else []
    return {"result": result, **more}


def test_a_task_skipped_in_label_studio_is_skipped_whatever_was_chosen_before(tmp_path):
    tasks = [
        {"data": {"key": f"k{number}"}, "annotations": [annotation]}
        for number, annotation in enumerate(
            (
                annotated("relevant", was_cancelled=True),
                annotated("not_relevant", was_cancelled=True),
                annotated(None, was_cancelled=True),
                annotated("relevant", was_cancelled=False),
                annotated("not_relevant"),
                annotated(None, was_cancelled=False),
            )
        )
    ]
    found = said(tmp_path / "export.json", tasks, whole=True)
    assert found == ["skip", "skip", "skip", "yes", "no", ""]


def test_an_ignored_task_of_prodigy_is_skipped_and_its_question_counts(tmp_path):
    meta = {"meta": {"key": "k1", "post": "p1"}}
    rows = [
        {"label": "RELEVANT", "answer": "accept", **meta},
        {"label": "RELEVANT", "answer": "reject", **meta},
        {"label": "RELEVANT", "answer": "ignore", **meta},
        {"label": "NOT_RELEVANT", "answer": "accept", **meta},
        {"label": "NOT_RELEVANT", "answer": "reject", **meta},
        {"label": "NOT_RELEVANT", "answer": "ignore", **meta},
        {"label": "FLOOD", "answer": "accept", **meta},
        {"accept": ["not_relevant"], "answer": "accept", **meta},
        {"accept": ["relevant"], "answer": "accept", **meta},
        {"accept": ["relevant"], "answer": "ignore", **meta},
        {"accept": [], "answer": "accept", **meta},
    ]
    expected = "yes no skip no yes skip yes no yes skip skip".split()
    assert said(tmp_path / "done.jsonl", rows) == expected
    with pytest.raises(InputError, match="done.jsonl:1: accept"):
        said(tmp_path / "done.jsonl", [{"accept": ["a", "b"], "answer": "accept", **meta}])


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"label": ["relevant"]}, "yes"),  # Doccano
        ({"label": []}, ""),
        ({"label": "relevant", "status": "submitted"}, "yes"),  # Argilla
        ({"label": "relevant", "status": "discarded"}, "skip"),
        ({"label": "relevant", "response_status": "draft"}, ""),
        ({"label": "1", "status": "pending"}, ""),
        ({"label": "1", "AssignmentStatus": "Rejected"}, "skip"),  # Mechanical Turk
        ({"label": "0", "AssignmentStatus": "Approved"}, "no"),
        ({"label": "1", "skipped": True}, "skip"),
        ({"label": "1", "was_cancelled": "True"}, "skip"),  # Label Studio, as a spreadsheet
        ({"label": "1", "was_cancelled": "False"}, "yes"),
        ({"label": "1", "status": "deleted by its author"}, "yes"),  # a column of the post
        ({"label": "RELEVANT", "answer": "reject"}, "no"),  # Prodigy, as a spreadsheet
        ({"label": "RELEVANT", "answer": "ignore"}, "skip"),
    ],
)
def test_a_label_that_its_annotator_set_aside_is_no_verdict(tmp_path, row, expected):
    assert said(tmp_path / "rows.jsonl", [{"key": "k1", **row}]) == [expected]
    if isinstance(row["label"], str):
        cells = {"key": "k1", **{name: str(value) for name, value in row.items()}}
        path = tmp_path / "rows.csv"
        path.write_text(f"{','.join(cells)}\n{','.join(cells.values())}\n")
        assert [found.verdict() for found in read_rows(path)] == [expected]


def test_two_labels_in_one_row_are_refused(tmp_path):
    row = {"key": "k1", "label": ["relevant", "not_relevant"]}
    with pytest.raises(InputError, match=r"rows.jsonl:1: has 2 labels"):
        said(tmp_path / "rows.jsonl", [row])


def test_half_a_character_in_an_id_or_a_label(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"post": "p\\ud83d", "label": "1", "text": "\\ude00"}\n')
    (row,) = read_rows(path)
    assert (row.post, row.text) == ("p\ufffd", "\ufffd")
