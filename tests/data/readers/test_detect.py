"""Which field is what, and which file is none."""

import gzip
import tarfile
import zipfile

import pytest

from siamese_news.data.readers import open_posts
from siamese_news.data.readers.fields import PARTS, UnknownFields
from siamese_news.data.readers.values import without_html
from siamese_news.errors import InputError


@pytest.mark.parametrize(
    ("header", "text_field", "id_field"),
    [
        ("id,text", "text", "id"),
        ("Tweet ID;Full Text;ID_STR", "Full Text", "ID_STR"),
        ("id\tlabel\ttext\tcreated_at", "text", "id"),
        ("Post URL|Message|Post ID", "Message", "Post ID"),
        ("thread_id,id,timestamp,body,author", "body", "id"),
        ("Nr.;Kennung;Inhalt;Veröffentlicht am", "Inhalt", "Kennung"),
        (
            "Identificador,Publicación,Fecha de publicación",
            "Publicación",
            "Identificador",
        ),
        ("Identifiant;Auteur;Contenu;Date de création", "Contenu", "Identifiant"),
        ("ID da publicação;Mensagem;Criado em", "Mensagem", "ID da publicação"),
        ("Group Name,Post Created,Message,URL", "message", "url"),
        ("post_id,post_text,comment_id,comment", "comment", "comment_id"),
        ("post_id,text,comment_id,comment", "text", "comment_id"),
        (
            "id,conversation_id,text,author.username,referenced_tweets.retweeted.id",
            "text",
            "id",
        ),
    ],
)
def test_columns_are_found_by_name(write, header, text_field, id_field):
    row = "".join(c if c in ",;\t|" else "" for c in header)
    mark = row[0]
    values = mark.join(f"v{n}" for n in range(len(row) + 1))
    (found,) = open_posts([write("posts.csv", f"{header}\n{values}\n")]).detected
    assert (found.text_field, found.id_field) == (text_field, id_field)


def test_metadata_from_columns(read):
    content = (
        "id,text,Created At,language,author.username,link,referenced_tweets.retweeted.id\n"
        "1,t,2020-01-02 03:04,en,kim,https://a.example,99\n"
        "2,t,,,,,\n"
    )
    _, (full, bare) = read("t.csv", content)
    assert full.metadata == {
        "created_at": "2020-01-02T03:04:00Z",
        "lang": "en",
        "author": "kim",
        "url": "https://a.example",
        "retweet_of": "99",
    }
    assert bare.metadata == {}


def test_the_user_may_choose_the_fields(read):
    row = {"id": "1", "text": "x", "data": {"words": "chosen"}, "key": 7}
    stream, posts = read("p.jsonl", [row], text_field="data.words", id_field="key")
    assert [(post.id, post.text) for post in posts] == [("7", "chosen")]
    assert (stream.detected[0].text_field, stream.detected[0].id_field) == (
        "data.words",
        "key",
    )
    _, posts = read("p.csv", "id,text,note\n1,x,chosen\n", text_field="note")
    assert [(post.id, post.text) for post in posts] == [("1", "chosen")]


def test_a_platform_gives_way_to_the_user(read):
    status = {
        "did": "d",
        "time_us": 1,
        "kind": "commit",
        "commit": {"rkey": "k", "text": "t"},
    }
    _, posts = read(
        "p.jsonl", [status], text_field="commit.text", id_field="commit.rkey"
    )
    assert [(post.id, post.text) for post in posts] == [("k", "t")]


def test_rows_can_be_numbered(write):
    one, two = write("a b.csv", "text\nx\ny\n"), write("b.csv", "text\nz\n")
    posts = list(open_posts([one, two], id_field="line"))
    assert [post.id.rsplit("/")[-1] for post in posts] == [
        "a_b.csv:2",
        "a_b.csv:3",
        "b.csv:2",
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "p.csv",
            "id,words\n1,x\n",
            r"p\.csv:1: no field was recognized as the text; ",
        ),
        (
            "p.csv",
            "text\nx\n",
            r"p\.csv:1: no field was recognized as the id; .*--id-field line",
        ),
        (
            "p.jsonl",
            '\n{"id": "1"}\n',
            r'p\.jsonl:2: no field .* the text; the file has: id \("1"',
        ),
        ("p.csv", b"PK\x03\x04....", "is a zip archive"),
        ("p.bin", "hello\nworld\n", "neither JSON nor a table"),
        (
            "chat.txt",
            "[03.05.24, 10:15:32] Ann: the river\n",
            "a WhatsApp chat: put its messages",
        ),
        (
            "chat.txt",
            "5/13/24, 10:15\u202fAM - Ann: the river, again\n",
            "a WhatsApp chat",
        ),
        (
            "mail.mbox",
            "From a@b.c Fri May  3 10:15:32 2024\nSubject: x\n\nHi\n",
            "a mailbox",
        ),
        (
            "messages.htm",
            '<!DOCTYPE html>\n<html>\n<body><div class="page_wrap">\n<div class="history">',
            "a Telegram chat as a web page: export it again as machine-readable JSON",
        ),
        (
            "p.json",
            '{"id": {"0": "a"}, "text": {"0": "b"}}',
            "one object of objects, by column",
        ),
        (
            "p.json",
            '{\n"7": {"text": "a"},\n"8": {"text": "b"}\n}',
            "or by id; expected an object",
        ),
        (
            "p.csv",
            "17,the river,2024\n18,a bridge,2024\n",
            "add a line with names such as id",
        ),
        ("a.rtf", "{\\rtf1\\ansi A flood}", "a rich text file"),
        ("a.doc", b"\xd0\xcf\x11\xe0" + bytes(600), r"of Excel, Word or Outlook"),
        ("a.pptx", b"PK\x03\x04" + bytes(600), r"unpack it; .*\.pptx.* save it there"),
        ("a.rds", b"X\n\0\0\0\3" + bytes(90), "a file of R"),
        ("a.rdata", b"RDX3\nX\n", "a file of R"),
        ("a.sas7bdat", bytes(12) + b"\xc2\xea\x81\x60" + bytes(90), "data set of SAS"),
        ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(90), "a picture"),
        ("a.rar", b"Rar!\x1a\x07" + bytes(90), "a RAR archive: unpack it"),
        ("a.h5", b"\x89HDF\r\n\x1a\n" + bytes(90), "arrays or columns"),
        ("a.jsonl.gz", gzip.compress(b"{}"), "packed twice"),
        (
            "a.eml",
            "Return-Path: <a@b.c>\nReceived: from x\n by y\nSubject: hi\n\nHello\n",
            "a message of e-mail",
        ),
        (
            "feed.csv",
            '<?xml version="1.0"?>\n<rss version="2.0">',
            "an RSS or Atom feed",
        ),
        (
            "page.csv",
            "<!DOCTYPE html>\n<html>",
            "a web page: name it with --articles",
        ),
        (
            "t.xls",
            "<table><tr><td>id</td><td>text</td></tr></table>",
            r"a web page: .*some programs call \.xls, is read if it is saved as \.xlsx",
        ),
        ("p.duckdb", bytes(8) + b"DUCK" + bytes(90), "a database"),
        ("p.warc", "WARC/1.0\r\n", "an archive of web pages"),
        ("p.parquet", b"PAR1 and no more", "not a Parquet file"),
        ("p.json", " [ ]\n", "the file is empty"),
        (
            "p.csv",
            "id,text\r1,a\r2,b\r",
            "its lines end as on old Macs: save it as CSV UTF-8",
        ),
        (
            "p.csv",
            "id,text,text\n1,a,b\n",
            r"p\.csv:1: two columns are called 'text'; rename",
        ),
    ],
)
def test_what_is_no_file_of_posts_is_refused_with_a_way_out(
    write, name, content, message
):
    with pytest.raises(InputError, match=message) as caught:
        open_posts([write(name, content)])
    assert name in str(caught.value)


def test_a_spreadsheet_fills_the_lines_above_the_header(read):
    content = "Export of posts,,\nMade in 2020,,\nid,text,date\n1,river,2020-01-02\n"
    _, posts = read("p.csv", content)
    assert [(post.id, post.text) for post in posts] == [("1", "river")]


@pytest.mark.parametrize("name", ["p.csv", "p.jsonl"])
def test_texts_in_html_lose_their_tags(read, name):
    rows = [
        ("1", "<p>Rain &amp; wind in <a>Harlow</a><br>and</p>"),
        ("2", "<p>a < b</p>"),
    ]
    content = [{"id": id, "text": text} for id, text in rows]
    if name == "p.csv":
        content = "id,text\n" + "".join(f"{id},{text}\n" for id, text in rows)
    stream, posts = read(name, content)
    assert [post.text for post in posts] == ["Rain & wind in Harlow\nand", "a < b"]
    assert stream.detected[0].format.endswith(" with texts in HTML")
    _, posts = read(
        "q.jsonl", [{"id": "1", "text": "use <br>"}, {"id": "2", "text": "what?"}]
    )
    assert posts[0].text == "use <br>"  # most texts have no tags


def test_archives_are_named_though_they_look_like_utf_16(write, tmp_path):
    post = write("p.jsonl", [{"id": "1", "text": "x"}])
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
        archive.write(post)
    with tarfile.open(tmp_path / "p.tar.gz", "w:gz") as archive:
        archive.add(post, "p.jsonl")
    for name, what in (("p.zip", "zip"), ("p.tar.gz", "tar")):
        with pytest.raises(InputError, match=f"{name}: is a {what} archive: unpack it"):
            open_posts([tmp_path / name])


@pytest.mark.parametrize("options", [{"text_field": "nope"}, {"id_field": "nope"}])
def test_a_chosen_field_must_be_there(write, options):
    path = write("p.jsonl", [{"id": "1", "text": "x"}])
    with pytest.raises(
        InputError, match=r"p\.jsonl:1: there is no field 'nope' .*has: id"
    ):
        open_posts([path], **options)


def test_content_counts_before_the_name(write):
    path = write("posts.csv", [{"id": "1", "text": "x, y"}])
    assert open_posts([path]).detected[0].format == "JSON lines"
    packed = write("posts.data", gzip.compress(b"id,text\n1,x\n"))
    assert open_posts([packed]).detected[0].format == "CSV"


def test_several_fields_are_one_text_and_kept_apart(read):
    rows = [
        {"id": "1", "text": "look", "media": {"alt": "a bridge"}, "ocr": ""},
        {"id": "2", "text": None, "ocr": "flood"},
        {"id": "3", "text": None},
    ]
    fields = ["text", "media.alt", "ocr"]
    stream, posts = read("p.jsonl", rows, text_field=fields)
    assert stream.detected[0].text_field == "text + media.alt + ocr"
    assert [post.text for post in posts] == ["look\na bridge", "flood"]
    for post in posts:
        start = 0
        for name, length in post.metadata[PARTS]:
            own = {"text": "look", "media.alt": "a bridge", "ocr": "flood"}[name]
            assert post.text[start : start + length] == own
            start += length + 1
    assert stream.counts.reasons == {"no text": 1}
    _, alone = read("q.jsonl", rows, text_field=["ocr"])
    assert [post.text for post in alone] == ["", "flood"] and PARTS not in alone[
        0
    ].metadata
    with pytest.raises(UnknownFields, match=r"no field 'alt' \(--text-field\)"):
        read("p.jsonl", rows, text_field=["text", "alt"])


def test_tags_between_lines_keep_words_apart():
    text = "<ul><li>the weir</li><li>fails</li></ul>now<p>then <i>rain</i>ing<div>all</div>day"
    assert (
        without_html(text).split() == "the weir fails now then raining all day".split()
    )
    assert without_html("<p>a</p>\n<p>b<br>c</p>") == "a\nb\nc"


@pytest.mark.parametrize(
    "name", "nav hgroup dialog fieldset menu search video canvas dd new".split()
)
def test_every_tag_but_those_inside_a_line_keeps_words_apart(name):
    assert without_html(f"<p>weir</p>gate<{name} id=x>sluice</{name}>lock").split() == [
        *("weir", "gate", "sluice", "lock")
    ]
    assert without_html(f"weir<{name}/>gate<{name.upper()}>lock") == "weir\ngate\nlock"


def test_tags_inside_a_line_keep_a_word_whole():
    text = "s<B>lu</B>ice<wbr>gate H<sub>2</sub>O <blob-cat x='y'>r</blob-cat>iver<o:p></o:p>s"
    assert without_html(text) == "sluicegate H2O rivers"


def test_scripts_and_styles_of_a_text_are_no_words():
    text = "<SCRIPT type='x'>if (a < b) c('<p>')</SCRIPT>weir<style>.a > b {}</style >gate<script>"
    assert without_html(text) == "weir\ngate"
