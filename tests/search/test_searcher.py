"""The search from Python: every kind of input, the same results as the command line."""

import json
import subprocess
import sys
from datetime import UTC, datetime

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from typer.testing import CliRunner

from siamese_news import Searcher
from siamese_news.cli import app
from siamese_news.data.readers import open_posts
from siamese_news.data.records import Article, Post
from siamese_news.errors import InputError
from siamese_news.search.python_inputs import articles_of, posts_of
from siamese_news.search.query import TYPES, Query, SearchOptions

STORY = "Flood in the town: the river took the bridge"
TEXTS = ["vote for the mayor", "flood flood river", "a bridge in the flood", "🔥"]
ROWS = [
    {"id": 9007199254740993 + n, "text": text, "lang": "en", "created_at": "2024-05-01"}
    for n, text in enumerate(TEXTS)
]


@pytest.fixture
def searcher(tiny_model):
    return Searcher(tiny_model)


def test_a_list_of_texts(searcher):
    rows = searcher.rank([STORY], TEXTS, top=2)
    assert [row["rank"] for row in rows] == [1, 2]
    assert {row["post_id"] for row in rows} == {"1", "2"}
    assert rows[0]["text"] in TEXTS[1:3]
    assert list(rows.to_pandas().columns) == list(rows[0])


def test_one_post_is_a_list_of_one_and_empty_posts_are_left_out(searcher, caplog):
    caplog.set_level("INFO", "siamese_news.search.searcher")
    (row,) = searcher.rank(STORY, TEXTS[1])
    assert row["text"] == TEXTS[1]
    assert searcher.rank(STORY, {"id": "7", "text": TEXTS[1]})[0]["post_id"] == "7"
    assert {row["text"] for row in searcher.rank(STORY, [*TEXTS, "", " "])} == {
        *TEXTS
    } - {""}
    assert "posts with an empty text are left out" in caplog.text


FORMS = {
    "dicts": lambda: ROWS,
    "tuple": lambda: tuple(ROWS),
    "generator": lambda: (row for row in ROWS),
    "pandas": lambda: pandas.DataFrame(ROWS),
    "polars": lambda: polars.DataFrame(ROWS),
    "posts": lambda: list(posts_of(ROWS)),
    "iterator": lambda: iter(posts_of(ROWS)),
    "pyarrow": lambda: pyarrow.Table.from_pylist(ROWS),
    "pyarrow batch": lambda: pyarrow.RecordBatch.from_pylist(ROWS),
    "numbered frame": lambda: pandas.DataFrame(ROWS, index=[5, 5, 6, 7]),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_what_the_command_line_gives(searcher, form, tmp_path):
    searcher.model.save(tmp_path / "model", card="")
    (tmp_path / "0.txt").write_text(STORY)
    (tmp_path / "posts.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in ROWS)
    )
    common = ["--model", "model", "--articles", "0.txt", "--posts", "posts.jsonl"]
    for command, more, found in (
        ("rank", ["--top", "3"], searcher.rank([STORY], FORMS[form](), top=3)),
        (
            "filter",
            ["--min-score", "0.1"],
            searcher.filter([STORY], FORMS[form](), min_score=0.1),
        ),
    ):
        out = tmp_path / f"{command}.jsonl"
        names = [str(tmp_path / x) if (tmp_path / x).exists() else x for x in common]
        done = CliRunner().invoke(app, [command, *names, *more, "--out", str(out)])
        assert done.exit_code == 0, done.output
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        assert found == [
            {
                {"article": "article_id", "post": "post_id"}.get(k, k): v
                for k, v in row.items()
            }
            for row in rows
        ]
        assert 0 < len(found) < 4


def test_a_file_is_read_by_its_reader(searcher, tmp_path):
    path = tmp_path / "posts.csv"
    path.write_text("id,text\na,flood in the town\nb,vote\n")
    rows = searcher.rank([Article("s", "the river", title="Flood")], open_posts([path]))
    assert {(row["article_id"], row["post_id"]) for row in rows} == {
        ("s", "a"),
        ("s", "b"),
    }


@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame])
def test_frames_with_holes(make):
    when = datetime(2024, 5, 1, 12, tzinfo=UTC)
    frame = make(
        {
            "Text": ["a", None, "c"],
            "created_at": [when, None, when],
            "n": [1.5, 2, None],
        }
    )
    posts = list(posts_of(frame))
    assert [(post.id, post.text) for post in posts] == [
        ("0", "a"),
        ("1", ""),
        ("2", "c"),
    ]
    assert posts[0].metadata["created_at"].startswith("2024-05-01")
    assert "created_at" not in posts[1].metadata


def test_series_numpy_and_missing_values():
    series = pandas.Series(["a", float("nan"), "c"], index=[7, 8, 9])
    assert [post.text for post in posts_of(series)] == ["a", "", "c"]
    assert [post.text for post in posts_of(polars.Series(["a", None]))] == ["a", ""]
    assert [post.text for post in posts_of(np.array(["a", "b"]))] == ["a", "b"]
    row = {
        "id": np.int64(2**62 + 1),
        "text": "x",
        "lang": pandas.NA,
        "date": pandas.NaT,
    }
    assert list(posts_of([row])) == [Post(str(2**62 + 1), "x")]
    for missing in (np.float32("nan"), np.ma.masked, pandas.NA):
        assert list(posts_of([missing, "b"])) == [Post("0", ""), Post("1", "b")]


def test_articles_in_every_form():
    rows = [
        {"title": "Flood", "text": "The river."},
        {"url": "https://x.example/b", "text": "B"},
    ]
    expected = ["Flood\nThe river.", "B"]
    for given in (rows, pandas.DataFrame(rows), polars.DataFrame(rows), iter(rows)):
        articles = articles_of(given)
        assert [article.full_text for article in articles] == expected
    assert [article.id for article in articles_of(rows)] == ["0", "https://x.example/b"]
    mixed = articles_of(["Text", {"text": "B"}, Article("c", "C")])
    assert [article.id for article in mixed] == ["0", "1", "c"]


def test_several_seeds_and_negative_ones(searcher):
    both = searcher.rank([STORY, "The vote of the mayor"], TEXTS, one_story=True, top=4)
    assert len(both) == 4
    assert {row["article_id"] for row in both} == {"0", "1"}
    pushed = searcher.rank([STORY], TEXTS, negatives=["The vote of the mayor"])
    plain = searcher.rank([STORY], TEXTS)
    of = {row["post_id"]: row["score"] for row in plain}
    assert next(r["score"] for r in pushed if r["post_id"] == "0") < of["0"]


def test_either_head_and_feedback_as_asked():
    story = "Ferry sinks off Lesbos\nThirteen migrants drowned."
    posts = [
        "ferry sinks off lesbos",
        "13 drowned off lesbos, ferry sinks: skipper Yannis held",
        "lesbos ferry sinks, skipper Yannis",
        "skipper Yannis in court",
        *(f"lunch was number {n}" for n in range(50)),
    ]

    def scores(**options):
        rows = Searcher().rank([story], posts, **options)
        kept = Searcher().filter([story], posts, min_score=-1, **options)
        found = {row["post_id"]: row["score"] for row in rows}
        assert found == {row["post_id"]: row["score"] for row in kept[: len(rows)]}
        return found

    # No word of the story: what it has by words comes from the best posts.
    assert scores(fusion="words")["3"] > 0.04
    assert scores()["3"] > 0.04
    assert scores(fusion="vectors") != scores()


def test_a_threshold_that_nothing_reaches_gives_nothing(searcher):
    assert searcher.filter([STORY], TEXTS, min_score=2) == []


def test_copies_collapse(searcher):
    copies = [
        "the flood in the river town tonight",
        "RT @x: the flood in the river town tonight",
    ]
    assert len(searcher.rank([STORY], copies, dedupe=True)) == 1
    assert len(searcher.filter([STORY], copies, min_score=-1, dedupe=True)) == 1
    assert searcher.rank([STORY], copies)[0]["cluster_size"] == 2


def test_explanations_are_plain(searcher):
    (row,) = searcher.explain([STORY], TEXTS[1:2])
    assert row["post_id"] == "0" and row["sentences"]
    json.dumps(row)


def test_a_model_folder_or_the_shipped_model(tiny_model, tmp_path, monkeypatch):
    from siamese_news.model import loading

    tiny_model.save(tmp_path / "m", card="")
    expected = Searcher(tiny_model).rank([STORY], TEXTS)
    assert Searcher(tmp_path / "m").rank([STORY], TEXTS) == expected
    assert Searcher(str(tmp_path / "m")).rank([STORY], TEXTS) == expected
    monkeypatch.setattr(loading, "PRETRAINED", tmp_path / "m")
    assert Searcher().rank([STORY], TEXTS, second_look="none") == expected


@pytest.mark.parametrize(
    ("articles", "posts", "message"),
    [
        ([STORY], "posts.jsonl", "posts is 'posts.jsonl', a path rather than a text"),
        ("story.txt", ["x"], "articles is 'story.txt', a path rather than a text"),
        ([STORY], "tests", "posts is 'tests', a path"),
        ([STORY], 3, "posts is of type int"),
        ([STORY], Article("1", "x"), "posts is of type Article"),
        ([], TEXTS, "no seed article"),
        ([STORY], [], "no posts to"),
        ([STORY], ["x", 3], "posts, item 1 is a int"),
        ([STORY], [{"a": 1}], "posts, item 0: no field of it is a text"),
        ([STORY], [{"text": ["x"]}], "posts, item 0: field 'text' is a list"),
        (
            [STORY],
            [{"id": 1.5, "text": "x"}],
            "field 'id' is a number with a decimal point",
        ),
        ([STORY], [{"id": "1", "text": "x"}] * 2, "post id '1' occurs twice"),
        ([{"text": ""}], TEXTS, "articles, item 0: field 'text' is empty"),
        ([Article("a", "x")] * 2, TEXTS, "article id 'a' occurs twice"),
    ],
)
def test_mistakes_are_named(searcher, articles, posts, message):
    for search in (searcher.rank, lambda *given: searcher.filter(*given, min_score=0)):
        with pytest.raises(InputError, match=message):
            search(articles, posts)


def test_a_threshold_must_be_a_number(searcher):
    with pytest.raises(InputError, match="min_score is nan"):
        searcher.filter([STORY], TEXTS, min_score=float("nan"))


def test_importing_the_package_loads_nothing_heavy():
    probe = (
        "import sys, siamese_news; "
        "heavy = {'torch', 'numpy', 'scipy', 'pandas', 'polars'} & set(sys.modules); "
        "assert not heavy, heavy; "
        "from siamese_news import Searcher; "
        "assert Searcher.__name__ == 'Searcher' and 'Searcher' in siamese_news.__all__"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_other_names_are_not_there():
    import siamese_news

    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        siamese_news.Nothing  # noqa: B018


DATED = [
    {"id": "a", "text": "flood river bridge", "created_at": "2013-04-15T10:00:00Z"},
    {"id": "b", "text": "flood river town", "created_at": "2013-04-20T10:00:00Z"},
    {"id": "c", "text": "vote for the mayor", "created_at": "2013-04-25T10:00:00Z"},
]


def test_one_text_is_a_list_of_one_and_dates_choose(tiny_model):
    searcher = Searcher(tiny_model)
    found = searcher.rank(
        "flood in the town", DATED, after="2013-04-16", before="2013-04-22"
    )
    assert [row["post_id"] for row in found] == ["b"]
    kept = searcher.filter("flood", DATED, min_score=-1, before="2013-04-22")
    assert sorted(row["post_id"] for row in kept) == ["a", "b"]
    with pytest.raises(InputError, match="none of 1 posts has a readable date"):
        searcher.rank("flood", ["a post without a date"], after="2013")


def test_the_options_in_python_are_those_of_a_query():
    # In Python, a path is a text as well.
    paths = {"second_look", "relevance_map"}
    for name, kind in SearchOptions.__annotations__.items():
        assert kind == TYPES[name] or name in paths
        assert f"        {name}: " in SearchOptions.__doc__


def test_a_number_of_posts_has_the_same_bounds_in_python_as_on_the_command_line():
    for number in (0, True, 1.5):
        with pytest.raises(InputError, match=f"top is {number}; .* from 1 on"):
            Query(top=number)


def test_an_integer_of_numpy_counts_as_the_number_that_it_is():
    query = Query(top=np.int8(100))
    assert type(query.top) is int and query.top == 100


def test_keywords_and_a_report_of_what_was_found(tiny_model, tmp_path):
    searcher = Searcher(tiny_model)
    found = searcher.rank("flood river", DATED, top=2)
    wanted = [row for row in found if "flood" in row["text"]]
    terms = searcher.keywords(wanted, DATED)
    assert terms == searcher.keywords(wanted, iter(DATED))
    assert terms == [] or set(terms[0]) >= {"rank", "term", "adds"}
    searcher.report(found, tmp_path / "page.html", title="Floods")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<h1 dir="auto">Floods</h1>' in page
    assert 'id="map"' not in page and "#map" not in page
    assert ".meta.json" not in page and "records in Python" in page
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(found)
    assert searcher.keywords(pandas.DataFrame(wanted), DATED) == terms
    searcher.report(table, tmp_path / "table.html", title="Floods")
    assert (tmp_path / "table.html").exists()
    with pytest.raises(InputError, match="no records to report"):
        searcher.report([], tmp_path / "page.html")


@pytest.mark.parametrize(
    ("results", "words"),
    [
        (None, "results is of type NoneType; expected the records"),
        ("a page", "results is of type str"),
        ([5], "item 0 is of type int"),
        ([{"foo": 1}], "item 0 has no 'post_id'"),
        ([{"post_id": float("nan")}], "item 0 has no 'post_id'"),
    ],
)
def test_what_are_no_results_is_said(tiny_model, results, words):
    with pytest.raises(InputError, match=words):
        Searcher(tiny_model).keywords(results, DATED)


@pytest.mark.parametrize("limit", [0, -1, 1.5, "3", None, True])
def test_a_limit_is_a_whole_number(tiny_model, limit):
    with pytest.raises(InputError, match="limit is .*; expected a whole number"):
        Searcher(tiny_model).keywords([{"post_id": "a"}], DATED, limit=limit)


def test_a_report_needs_the_fields_of_results_and_a_file(tiny_model, tmp_path):
    searcher = Searcher(tiny_model)
    found = searcher.rank("flood river", DATED, top=2)
    lacking = [{"article_id": "0", "post_id": "a"}]
    with pytest.raises(InputError, match="item 0 has no 'rank'"):
        searcher.report(lacking, tmp_path / "page.html")
    for out in (tmp_path, None, 5):
        with pytest.raises(InputError, match="expected the path of a file"):
            searcher.report(found, out)


def test_progress_counts_the_posts(tiny_model, capsys):
    found = Searcher(tiny_model, progress=True).rank("flood", iter(DATED))
    assert len(found) == 3


class Encoder:
    def encode(self, texts):
        return np.zeros((len(texts), 3))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda s: s.rank([STORY], TEXTS, top="5"),
            "top is '5'; expected a whole number",
        ),
        (lambda s: s.rank([STORY], TEXTS, top=2.5), "top is 2.5"),
        (lambda s: s.filter([STORY], TEXTS, min_score="0.1"), "min_score is '0.1'"),
        (lambda s: s.rank([STORY], polars.LazyFrame(ROWS)), "LazyFrame.* collect"),
        (
            lambda s: Searcher(lambda texts: texts),
            "model is a function; expected the path",
        ),
        (lambda s: Searcher(Encoder()), "model is a Encoder.*save_pretrained"),
        (
            lambda s: Searcher("all-MiniLM-L6-v2"),
            "no such model folder.*sentence-transformers",
        ),
        (lambda s: Searcher(s.model, progress="yes"), "progress is 'yes'"),
    ],
)
def test_what_a_notebook_gets_wrong_is_named(searcher, ask, message):
    with pytest.raises(InputError, match=message):
        ask(searcher)


def test_an_option_of_a_query_that_is_none_of_a_searcher_is_refused(searcher):
    with pytest.raises(
        TypeError, match="unexpected option 'out'; expected some of about"
    ):
        searcher.rank([STORY], TEXTS, out="found.csv")
    with pytest.raises(TypeError, match="unexpected option 'one_story'"):
        searcher.filter([STORY], TEXTS, min_score=0, one_story=False)


def test_progress_goes_to_a_function(tiny_model, monkeypatch, capsys):
    from siamese_news.search import scan

    monkeypatch.setattr(scan, "BLOCK", 3)
    told = []
    rows = Searcher(tiny_model, progress=told.append).rank([STORY], iter(TEXTS))
    assert told == [3, 4] and rows == Searcher(tiny_model).rank([STORY], TEXTS)
    assert capsys.readouterr() == ("", "")


def test_what_was_decided_goes_to_a_logger(caplog, capsys):
    stub = "River floods the town\n\nThe river rose. Subscribe to continue reading."
    with caplog.at_level("INFO", logger="siamese_news"):
        Searcher().filter([stub], TEXTS, min_score=0.1)
    assert {record.name for record in caplog.records} == {
        "siamese_news.search.searcher"
    }
    assert (
        "Looking for posts about the event" in caplog.text
        and "paywalled" in caplog.text
    )
    assert capsys.readouterr() == ("", "")


def test_results_and_a_searcher_show_themselves_in_a_notebook(searcher):
    rows = searcher.rank([STORY], ["flood <b>flood</b> & river", *TEXTS])
    assert repr(rows) == f"<{len(rows)} records; columns: {', '.join(rows[0])}>"
    html = rows._repr_html_()
    assert (
        "flood &lt;b&gt;flood&lt;/b&gt; &amp; river" in html
        and "<th>score</th>" in html
    )
    assert (
        f"{len(rows)} of {len(rows)} records" in html and "<th>author</th>" not in html
    )
    assert rows == list(rows) and repr(searcher) == "Searcher('Model')"
    assert (
        repr(searcher.filter([STORY], TEXTS, min_score=9))
        == "<0 records; columns: none>"
    )
