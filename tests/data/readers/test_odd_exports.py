"""Edges of GraphQL, comments of forums, names of edit times, and files that are packed twice."""

import gzip
import io
import json
import zipfile

import docx
import pytest
from docx.oxml import parse_xml

from siamese_news import open_posts
from siamese_news.data.articles import read_articles
from siamese_news.errors import InputError
from siamese_news.text import Tokenizer


def edge(number, **fields):
    text = f"the quay floods again {number}"
    return {"cursor": "x", "node": {"id": f"q{number}", "text": text, **fields}}


@pytest.mark.parametrize("lines", [False, True])
def test_posts_and_answers_in_edges(tmp_path, lines):
    edges = [edge(1, replies={"edges": [edge(3), edge(4)]}), edge(2)]
    path = tmp_path / "a.json"
    if lines:
        path = tmp_path / "a.jsonl"
        path.write_text("\n".join(json.dumps(item["node"]) for item in edges))
    else:
        path.write_text(json.dumps({"data": {"board": {"items": {"edges": edges}}}}))
    stream = open_posts(path)
    posts = {post.id: post.metadata.get("reply_to") for post in stream}
    assert posts == {"q1": None, "q3": "q1", "q4": "q1", "q2": None}
    assert not stream.counts.rejected
    assert not stream.detected[0].remarks


def test_comments_inside_html_are_html_and_have_dates(tmp_path):
    comment = {"comment_id": 8, "body": "x &gt; y", "creation_date": 1_779_000_000}
    row = {"answer_id": 7, "body": "<p>So</p>", "comments": [comment]}
    (tmp_path / "a.json").write_text(
        json.dumps({"items": [row, {**row, "answer_id": 9}]})
    )
    inner = next(post for post in open_posts(tmp_path / "a.json") if post.id == "8")
    assert inner.text == "x > y"
    assert inner.metadata["created_at"] == "2026-05-17T06:40:00Z"


@pytest.mark.parametrize("chosen", [None, "text"])
def test_texts_with_references_and_no_tags_lose_nothing(tmp_path, chosen):
    texts = ["locks &amp; weirs", "fish &amp; chips &#33;", "level x<y and y>z &lt; 3"]
    rows = [{"id": f"k{n}", "text": text} for n, text in enumerate(texts)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    stream = open_posts(tmp_path / "a.jsonl", text_field=chosen)
    assert [post.text for post in stream] == texts
    assert Tokenizer()(texts[1]) == ["fish", "&", "chips", "!"]


def test_references_are_resolved_between_tags(tmp_path):
    rows = [{"id": f"k{n}", "text": f"<p>locks &amp; {n}</p>"} for n in range(3)]
    rows.append({"id": "k3", "text": "a &lt; b"})
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    texts = [post.text for post in open_posts(tmp_path / "a.jsonl")]
    assert texts == ["locks & 0", "locks & 1", "locks & 2", "a < b"]


@pytest.mark.parametrize(
    "name",
    ["lastUpdatedAt", "Date Edited", "modificationTime", "更新日時", "geändert am"],
)
def test_the_latest_edit_counts_whatever_its_time_is_called(tmp_path, name):
    row = {"id": "k1", "date": "2026-05-01", "author": "a", name: None}
    rows = [row | {"text": "old"}, row | {"text": "new", name: "2026-05-02T10:00:00Z"}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert [post.text for post in open_posts(tmp_path / "a.jsonl")] == ["new"]


def test_an_edited_post_of_bluesky_is_a_post(tmp_path):
    record = {"text": "the lock is open", "createdAt": "2026-05-01T10:00:00Z"}
    commit = {"collection": "app.bsky.feed.post", "rkey": "k", "record": record}
    event = {"did": "did:plc:a", "time_us": 1_779_000_000_000_000, "kind": "commit"}
    rows = [{**event, "commit": {**commit, "operation": "update"}}]
    rows.append(
        {**event, "commit": {"operation": "delete", "collection": "app.bsky.feed.post"}}
    )
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert [post.text for post in open_posts(tmp_path / "a.jsonl")] == [
        "the lock is open"
    ]


@pytest.mark.parametrize(
    "dates", ["12/03/17 12/04/18 12/05/19", "01/03/16 02/04/17 01/05/18"]
)
def test_few_short_dates_with_one_number_in_front_are_not_guessed(tmp_path, dates):
    rows = [f"{n},a {n},{day}" for n, day in enumerate(dates.split())]
    (tmp_path / "a.csv").write_text("\n".join(["id,text,date", *rows]))
    stream = open_posts(tmp_path / "a.csv")
    assert not any("created_at" in post.metadata for post in stream)
    assert "--date-format dmy" in stream.detected[0].remarks[0]
    stream = open_posts(tmp_path / "a.csv", date_format="dmy")
    assert next(iter(stream)).metadata["created_at"][:4] in ("2016", "2017")


def test_what_is_packed_twice_and_seeds_of_another_kind(tmp_path):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("[Content_Types].xml", "<a/>")
    for name, data in (
        ("a.parquet.gz", b"PAR1\x15"),
        ("a.xlsx.gz", content.getvalue()),
    ):
        (tmp_path / name).write_bytes(gzip.compress(data))
        with pytest.raises(InputError, match="unpack it \\(gunzip"):
            open_posts(tmp_path / name)
    (tmp_path / "seed.odt").write_bytes(b"Rar!")
    with pytest.raises(InputError, match=r"expected \.txt, .*\.docx"):
        read_articles(tmp_path / "seed.odt")


def test_words_between_underscores_stay_whole():
    words = {"ferry": 1, "link": 2, "nor": 3} | {f"w{n}": n for n in range(400)}
    tokenizer = Tokenizer(words=[*words])
    for tag in ("#Quay_Tansymere_Shut", "#quay_tansymere_shut", "#QUAY_TANSYMERE_SHUT"):
        assert tokenizer(tag)[1:] == ["quay", "tansymere", "shut"]


def test_every_word_of_a_word_file_is_read(tmp_path):
    document = docx.Document()
    document.add_paragraph("A flood")
    document.add_table(1, 1).cell(0, 0).text = "In a cell."
    names = (
        'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
        'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    )
    box = "<w:txbxContent><w:p><w:r><w:t>In a box.</w:t></w:r></w:p></w:txbxContent>"
    for content in (
        "<w:ins><w:r><w:t>Inserted.</w:t></w:r></w:ins><w:del><w:r><w:delText>Gone</w:delText></w:r>"
        "</w:del><w:moveFrom><w:r><w:t>Moved</w:t></w:r></w:moveFrom>",
        f"<w:r><mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
        "</mc:AlternateContent></w:r>",
    ):
        document.element.body.insert(-1, parse_xml(f"<w:p {names}>{content}</w:p>"))
    document.save(tmp_path / "a.docx")
    (article,) = read_articles(tmp_path / "a.docx")
    assert article.text.split("\n") == ["In a cell.", "Inserted.", "In a box."]


def test_a_word_file_that_could_declare_entities_is_refused(tmp_path):
    """Its words would vanish where an entity is."""
    document = docx.Document()
    document.add_paragraph("The weir gives way")
    document.save(tmp_path / "plain.docx")
    with (
        zipfile.ZipFile(tmp_path / "plain.docx") as plain,
        zipfile.ZipFile(tmp_path / "weir.docx", "w") as changed,
    ):
        for name in plain.namelist():
            content = plain.read(name)
            if name == "word/document.xml":
                declared = b'<!DOCTYPE w [<!ENTITY weir "flood">]><w:document'
                content = content.replace(b"<w:document", declared, 1)
                content = content.replace(b"The weir", b"The &weir;")
            changed.writestr(name, content)
    with pytest.raises(InputError, match="weir.docx: .* could declare entities"):
        read_articles(tmp_path / "weir.docx")
