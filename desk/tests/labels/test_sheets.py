"""Labels as annotation tools export them, above all the ones that nobody meant to give."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siamese_news.errors import InputError
from siamese_news_desk.labels.sheets import format_of, read_rows, write_sheet
from siamese_news_desk.labels.units import Unit


def said(path, rows, *, whole=False):
    """The verdicts of rows of JSON lines, or of one JSON list."""
    lines = (
        json.dumps(rows) if whole else "".join(json.dumps(row) + "\n" for row in rows)
    )
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
        said(
            tmp_path / "done.jsonl",
            [{"accept": ["a", "b"], "answer": "accept", **meta}],
        )


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
        (
            {"label": "1", "was_cancelled": "True"},
            "skip",
        ),  # Label Studio, as a spreadsheet
        ({"label": "1", "was_cancelled": "False"}, "yes"),
        (
            {"label": "1", "status": "deleted by its author"},
            "yes",
        ),  # a column of the post
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


def verdicts(path, text):
    path.write_text(text)
    return [(row.key or row.post, row.verdict()) for row in read_rows(path)]


ASREVIEW_2 = """\
key,label,text,post,asreview_label,asreview_time,asreview_note
k1,,a flood,p1,1,1714644000.1,
k2,,a storm,p2,0.0,1714644001.2,unsure
k3,,a fire,p3,,,
"""
ASREVIEW_1 = """\
record_id,post,text,asreview_label_to_validate,included,asreview_ranking
0,p1,a flood,0,1,1
1,p2,a storm,1,0,2
2,p3,a fire,1,,3
3,p4,a lake,1,-1,4
"""


def test_a_table_in_parquet_is_labels(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    rows = [{"post": "17", "label": "yes"}, {"post": "18", "label": None}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "labels.parquet")
    labels = [(r.post, r.label) for r in read_rows(tmp_path / "labels.parquet")]
    assert labels == [("17", "yes"), ("18", "")]


def test_the_exports_of_asreview_are_labels(tmp_path):
    path = tmp_path / "asreview.csv"
    assert verdicts(path, ASREVIEW_2) == [("k1", "yes"), ("k2", "no"), ("k3", "")]
    found = verdicts(path, ASREVIEW_1)
    assert found == [("p1", "yes"), ("p2", "no"), ("p3", ""), ("p4", "")]
    # ASReview 1 fills a column `label` that the file already has.
    own = ASREVIEW_1.replace("included", "label").replace(",-1,", ",,")
    assert verdicts(path, own) == found
    # A former label is none of the review.
    assert verdicts(path, ASREVIEW_2.replace("k3,,", "k3,1,"))[2] == ("k3", "")
    with pytest.raises(
        InputError, match=r"asreview.csv:1: the columns are .*key or post"
    ):
        verdicts(path, ASREVIEW_1.replace("post,", "title,", 1))


LABEL_STUDIO = """\
annotation_id,annotator,check,created_at,id,key,lead_time,link,post,topic,text,updated_at
11,1,c1,2024-05-02T10:00:00Z,1,k1,3.1,,p1,Relevant,a flood,2024-05-02T10:00:00Z
12,2,c1,2024-05-02T10:01:00Z,1,k1,2.0,,p1,Not relevant,a flood,2024-05-02T10:01:00Z
13,1,c2,2024-05-02T10:02:00Z,2,k2,1.0,,p2,,a storm,2024-05-02T10:02:00Z
"""


def test_the_csv_of_label_studio_is_labels(tmp_path):
    path = tmp_path / "project.csv"
    assert verdicts(path, LABEL_STUDIO) == [("k1", "yes"), ("k1", "no"), ("k2", "")]
    assert [row.annotator for row in read_rows(path)] == ["1", "2", "1"]
    several = LABEL_STUDIO.replace(
        "Not relevant", '"{""choices"": [""Relevant"", ""New""]}"'
    )
    with pytest.raises(InputError, match=r"project.csv:3: label is .*choices"):
        verdicts(path, several)
    with pytest.raises(InputError, match=r"project.csv:1: .*no column has labels"):
        verdicts(path, LABEL_STUDIO.replace("Relevant", "Flood"))
    with pytest.raises(InputError, match=r"project.csv:1: .*\(sure, topic\)"):
        verdicts(
            path, LABEL_STUDIO.replace(",link,", ",sure,").replace("3.1,,", "3.1,1,")
        )


def test_a_column_label_with_labels_is_used_whatever_else_a_table_has(tmp_path):
    table = "key,label,included\nk1,1,0\nk2,0,1\n"
    assert verdicts(tmp_path / "a.csv", table) == [("k1", "yes"), ("k2", "no")]


CELLS = st.text(
    st.sampled_from("a,;'\"\t\r\n\x0b\x0c\x1c\x00\x1b\u2028=- é"), max_size=12
)


@given(st.lists(CELLS, min_size=1, max_size=5))
def test_a_sheet_keeps_its_rows(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("csv") / "sheet.csv"
    units = [
        Unit(name=f"p{row}", post=f"p{row}", text=text)
        for row, text in enumerate(texts)
    ]
    write_sheet(path, [(str(row), unit) for row, unit in enumerate(units)], "csv")
    assert [row.post for row in read_rows(path)] == [unit.post for unit in units]
    pandas = pytest.importorskip(
        "pandas"
    )  # an annotator's program, which is not the desk's
    frame = pandas.read_csv(path, dtype=str, keep_default_na=False)
    assert frame.iloc[:, 0].tolist() == [str(row) for row in range(len(units))]


@pytest.mark.parametrize("start", [b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"])
def test_packed_labels_are_named(tmp_path, start):
    (tmp_path / "labels.csv").write_bytes(start + b"\0" * 40)
    with pytest.raises(InputError, match="an Excel file, or packed"):
        list(read_rows(tmp_path / "labels.csv"))


def test_an_ending_of_no_sheet_names_the_commands_with_an_option(tmp_path):
    with pytest.raises(InputError, match="sample, audit and certify take --format"):
        format_of(tmp_path / "next.parquet", None)
