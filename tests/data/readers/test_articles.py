"""Seed articles in every form that people have them."""

import gzip
import io
import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from siamese_news.data.articles import read_articles
from siamese_news.errors import InputError

PAGE = """<!doctype html><html lang="en"><head><title>River breaks its banks</title>
<meta property="og:title" content="River breaks its banks">
<meta property="og:url" content="https://news.example/river">
<meta name="author" content="Ann Other">
<meta property="article:published_time" content="2021-07-15T08:00:00Z">
<script>var tracking = "nothing to read";</script></head><body>
<nav><a href="/">Home</a> <a href="/sport">Sport</a></nav>
<article><h1>River breaks its banks</h1>
<p>The river broke its banks on Thursday morning after three days of rain, the mayor said.</p>
<p>Some two hundred people in Lower Street left their houses, many of them by boat.</p>
</article><footer>Imprint, cookies and terms of use</footer></body></html>"""

TRAFILATURA = {
    "title": "River breaks its banks",
    "author": None,
    "hostname": "news.example",
    "date": "2021-07-15",
    "fingerprint": "6c2d",
    "id": None,
    "license": None,
    "comments": "",
    "raw_text": "The river broke its banks.",
    "text": "The river broke its banks.",
    "language": None,
    "image": None,
    "pagetype": "article",
    "filedate": "2026-01-01",
    "source": "https://news.example/river flood",
    "source-hostname": "News",
    "excerpt": None,
    "categories": "",
    "tags": "",
}


def test_a_saved_web_page(write):
    pytest.importorskip("trafilatura")
    (article,) = read_articles([write("The river.html.gz", PAGE)])
    assert article.id == "The-river"
    assert article.title == "River breaks its banks"
    assert article.text.startswith("The river broke its banks on Thursday")
    assert article.text.endswith("many of them by boat.")
    assert article.metadata == {
        "created_at": "2021-07-15T00:00:00Z",
        "author": "Ann Other",
        "url": "https://news.example/river",
    }


def test_a_page_in_another_encoding(write):
    pytest.importorskip("trafilatura")
    page = PAGE.replace("<head>", '<head><meta charset="iso-8859-1">').replace(
        "mayor", "maïré"
    )
    (article,) = read_articles([write("p.htm", page.encode("iso-8859-1"))])
    assert "the maïré said" in article.text


def test_a_page_without_an_article_and_without_trafilatura(write, monkeypatch):
    pytest.importorskip("trafilatura")
    path = write("p.html", "<html><body></body></html>")
    with pytest.raises(InputError, match=r"p\.html: no article was found"):
        read_articles([path])
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    with pytest.raises(
        InputError, match=r"p\.html: .*pip install 'siamese-news\[web\]'"
    ):
        read_articles([path])


@pytest.mark.parametrize("indent", [None, 2])
def test_what_trafilatura_writes(write, indent):
    (article,) = read_articles(
        [write("a.json", json.dumps(TRAFILATURA, indent=indent))]
    )
    assert article.id == "https://news.example/river%20flood"
    assert (article.title, article.text) == (TRAFILATURA["title"], TRAFILATURA["text"])
    assert article.metadata == {"created_at": "2021-07-15T00:00:00Z"}


def test_the_article_of_a_page_in_json_ld(write):
    page = {"headline": "River", "articleBody": "It rose.", "url": "https://a.example"}
    (article,) = read_articles([write("a.json", json.dumps(page))])
    assert (article.title, article.text) == ("River", "It rose.")


def test_a_list_and_lines_in_a_json_file(write):
    rows = [{"id": 2**63 + 1, "text": "a"}, {"url": "https://a.example/b", "text": "b"}]
    ids = [str(2**63 + 1), "https://a.example/b"]
    path = write("a.json", json.dumps(rows, indent=1))
    assert [article.id for article in read_articles([path])] == ids
    assert [article.id for article in read_articles([write("b.json", rows)])] == ids


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.zst", "a.parquet"])
def test_tables_of_articles(write, name):
    rows = [
        ("https://a.example/1", "One", 'Text, with\n"all" of it', "2020-01-02"),
        ("https://a.example/2", "", "Text", ""),
    ]
    names = ("url", "Title", "text", "date")
    if name.endswith(".parquet"):
        out = io.BytesIO()
        columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        pq.write_table(pa.table({**columns, "n": [1, 2]}), out)
        content = out.getvalue()
    else:
        import csv

        text = io.StringIO()
        csv.writer(text, delimiter="\t" if "tsv" in name else ",").writerows(
            [names, *rows]
        )
        content = text.getvalue()
    first, second = read_articles([write(name, content)])
    assert (first.id, first.title, first.text) == (
        "https://a.example/1",
        "One",
        rows[0][2],
    )
    assert first.metadata == {
        "created_at": "2020-01-02T00:00:00Z",
        "url": "https://a.example/1",
    }
    assert (second.title, second.metadata) == ("", {"url": "https://a.example/2"})


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig"])
def test_the_encoding_of_a_table_is_detected(write, encoding):
    content = "id;title;text\n1;Überschwemmung;Der Fluß trat über die Ufer\n"
    (article,) = read_articles([write("a.csv", content.encode(encoding))])
    assert (article.id, article.title) == ("1", "Überschwemmung")
    assert article.text == "Der Fluß trat über die Ufer"


def test_a_folder_with_what_a_browser_saves_beside_a_page(write, tmp_path):
    write("d/b.txt", "Title\n\nThe text.")
    write("d/a.txt", "Only one line")
    write("d/b_files/frame.html", "<html>advertisement</html>")
    write("d/picture.png", b"\x89PNG")
    assert [article.id for article in read_articles([tmp_path / "d"])] == ["a", "b"]
    assert [
        article.id for article in read_articles([str(tmp_path / "d" / "*.txt")])
    ] == ["a", "b"]


@pytest.mark.parametrize(
    ("data", "ids"),
    [
        (b"A title\n\nand a text", ["standard-input"]),
        (gzip.compress(b"A title\n\nand a text", mtime=0), ["standard-input"]),
        (b' {"id": "1", "text": "x"}\n{"id": "2", "text": "y"}\n', ["1", "2"]),
    ],
)
def test_standard_input(monkeypatch, data, ids):
    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(data))

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert [article.id for article in read_articles(["-"])] == ids


def test_standard_input_is_named_in_messages(monkeypatch):
    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(b'{"id": "1"}\n'))

    monkeypatch.setattr(sys, "stdin", Stdin)
    with pytest.raises(InputError, match=r"^standard input:1: field 'text'"):
        read_articles(["-"])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "url,text\nhttps://a.example,\n", r"a\.csv:2: field 'text' is empty"),
        ("a.csv", "url,text\nhttps://a.example\n", r"a\.csv:2: 1 columns, expected 2"),
        ("a.csv", "url,words\nu,x\n", r"a\.csv:2: field 'text', 'article' .*missing"),
        ("a.csv", "\n", r"a\.csv: no line"),
        ("a.csv", "id,text,text\n1,a,b\n", r"a\.csv:1: two columns are called 'text'"),
        ("a.json", "{", r"a\.json:1: not JSON"),
        ("a.json", "[1]", r"a\.json, article 1: expected an object"),
        ("a.json", '{"text": "x"}', r"a\.json: field '_id', 'id', 'url'"),
        ("a.txt", b"\xff", r"a\.txt:1: byte 0 is not UTF-8"),
        (
            "a.txt.gz",
            "many lines\n" * 2**21,
            r"a\.txt\.gz: longer than .*expected one article",
        ),
        ("a.html.gz", "<p>" * 2**23, r"a\.html\.gz: longer than .*is this a dump"),
    ],
)
def test_articles_that_cannot_be_read(write, name, content, message):
    with pytest.raises(InputError, match=message):
        read_articles([write(name, content)])


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    content=st.binary(max_size=80)
    | st.tuples(
        st.sampled_from(
            [b"url,text\n", b'{"id":"1","text":', b'[{"id":"1","text":', b"<p>"]
        ),
        st.binary(max_size=40),
    ).map(b"".join),
    name=st.sampled_from(
        ["a.txt", "a.json", "a.jsonl", "a.csv", "a.tsv", "a.parquet", "a.gz"]
    ),
)
def test_whatever_comes_is_read_or_refused(tmp_path, content, name):
    path = tmp_path / name
    path.write_bytes(content)
    try:
        articles = read_articles([path])
    except InputError as error:
        assert str(path) in str(error)
        return
    for article in articles:
        assert article.text.strip()
        article.full_text.encode()


def test_a_text_file_is_what_its_beginning_says(write):
    """A page or JSON that was saved as .txt; other kinds are named, and are no mojibake."""
    pytest.importorskip("trafilatura")
    (article,) = read_articles([write("page.txt", PAGE)])
    assert article.title == "River breaks its banks" and "by boat" in article.text
    row = {"id": "7", "title": "Weir", "text": "It gave way."}
    for content in (json.dumps(row) + "\n", json.dumps([row], indent=1)):
        (article,) = read_articles([write("row.txt", content)])
        assert (article.id, article.title) == ("7", "Weir")
    for content, kind in (
        (rb"{\rtf1\ansi Weir}", "rich text"),
        (b"%PDF-1.7", r"ending .pdf"),
        (b"PK\x03\x04" + b"\0" * 26 + b"word/document.xml", "office file"),
    ):
        with pytest.raises(InputError, match=kind):
            read_articles([write("x.txt", content)])
    for title in (
        "ORCA in the harbor",
        "{Weir} gives way",
        "SQLite is 25",
        "RIFF and run",
    ):
        (article,) = read_articles([write("words.txt", f"{title}\nIt is so.")])
        assert article.title == title
