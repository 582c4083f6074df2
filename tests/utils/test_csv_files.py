"""What a CSV writer writes, other programs and our own readers read back cell by cell."""

import csv
import io
import json

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_news.data.readers import open_posts
from siamese_news.data.results import result_rows
from siamese_news.search.result_files import write_rows
from siamese_news.utils.csv_files import write_csv
from siamese_news.utils.terminal import guarded

from ..commands import siamese_news as process

ODD = st.text(
    st.sampled_from("a,;'\"\t\r\n\x0b\x0c\x1c\x00\x1b\u2028=- é"), max_size=12
)
COLUMNS = ["article", "rank", "score", "post", "text", "link"]


def pandas_rows(path):
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    return list(frame.columns), frame.to_numpy().tolist()


@given(st.lists(st.tuples(ODD, ODD, ODD), min_size=1, max_size=5))
@settings(deadline=None)
def test_pandas_and_python_read_the_cells_that_were_written(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        write_csv(stream, ["a", "b", "c"], rows)
    expected = [[guarded(cell) for cell in row] for row in rows]
    assert pandas_rows(path) == (["a", "b", "c"], expected)
    with path.open(newline="", encoding="utf-8") as stream:
        assert list(csv.reader(stream, strict=True)) == [["a", "b", "c"], *expected]


@given(st.lists(ODD, min_size=1, max_size=5))
@settings(deadline=None)
def test_results_are_read_back_with_their_texts(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("csv") / "list.csv"
    rows = [
        {
            "article": "s",
            "rank": rank,
            "score": 0.5,
            "post": f"p{rank}",
            "text": text,
            "link": "",
        }
        for rank, text in enumerate(texts, 1)
    ]
    with path.open("w", newline="", encoding="utf-8") as stream:
        write_rows(stream, rows, "csv", columns=COLUMNS)
    assert [row["text"] for _, row in result_rows(path)] == texts
    assert [row[COLUMNS.index("text")] for row in pandas_rows(path)[1]] == [
        *map(guarded, texts)
    ]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "odd",
    [
        *("\r", "\u2028", '"', "\x00"),
        *(
            pytest.param(odd, marks=pytest.mark.slow)
            for odd in ("\n", "\r\n", "\x0b", "\x85", "\t")
        ),
    ],
)
def test_a_list_of_posts_with_odd_line_ends_is_a_table_for_everyone(tmp_path, odd):
    """The command writes it; pandas, `report` and `rank` itself read it."""
    texts = [
        f"the river Lune{odd}floods the old mill",
        "nine hundred left the old mill",
    ]
    posts = "".join(
        json.dumps({"id": f"7{n}", "text": t}) + "\n" for n, t in enumerate(texts)
    )
    (tmp_path / "posts.jsonl").write_text(posts)
    (tmp_path / "seed.txt").write_text(
        "The river Lune floods the old mill; hundreds left.\n"
    )
    rank = ("rank", "--articles", "seed.txt", "--posts")
    done = process(*rank, "posts.jsonl", "--out", "list.csv", folder=tmp_path)
    assert not done.returncode, done.stderr
    columns, rows = pandas_rows(tmp_path / "list.csv")
    assert [row[columns.index("article")] for row in rows] == ["seed", "seed"]
    assert {row[columns.index("post")] for row in rows} == {"70", "71"}
    done = process(
        "report", "--results", "list.csv", "--out", "page.html", folder=tmp_path
    )
    assert not done.returncode, done.stderr
    assert len(list(open_posts(tmp_path / "list.csv"))) == 2
    done = process(*rank, "list.csv", "--out", "second.csv", folder=tmp_path)
    assert not done.returncode, done.stderr
    assert len(pandas_rows(tmp_path / "second.csv")[1]) == 2


def test_lines_end_as_on_unix():
    stream = io.StringIO()
    write_csv(stream, ["a", "b"], [["1", None], [2.5, "x\r"], ["-0.5", "-a"]], bom=True)
    assert stream.getvalue() == '\ufeffa,b\n1,\n2.5,"x\r"\n-0.5,\'-a\n'
