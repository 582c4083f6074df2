"""Files as people send them, in office formats and with what goes wrong: real processes."""

import csv
import json

import pyarrow
import pyarrow.parquet
import pytest
from tests.commands import siamese_news as process

import siamese_news
from siamese_news.data.readers import open_posts
from siamese_news.data.readers.fields import UnknownFields

STORY = "The river took the bridge of the town. The mayor called a vote on the flood."


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def files(tmp_path, tiny_model):
    tiny_model.save(tmp_path / "model", card="")
    (tmp_path / "story.txt").write_text(
        "Flood in the town\n\nThe river took the bridge.\n"
    )
    (tmp_path / "dump").mkdir()
    (tmp_path / "dump" / "a.jsonl").write_text(
        lines([{"id": "1", "text": "flood river bridge"}])
    )
    return tmp_path


def rank(files, *more, posts):
    return (
        "rank",
        "--model",
        files / "model",
        "--articles",
        files / "story.txt",
        "--posts",
        *(files / name for name in posts),
        *more,
    )


def test_the_version_is_said():
    done = process("--version")
    assert (done.returncode, done.stdout) == (
        0,
        f"siamese-news {siamese_news.__version__}\n",
    )


def test_posts_in_an_excel_file(files):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Tweet ID", "Full text", "Created at"])
    sheet.append(
        ["912345678901234567", "The flood took the bridge", "2013-04-15T10:00:00Z"]
    )
    sheet.append(["912345678901234568", "vote for the mayor", "2013-04-20T10:00:00Z"])
    sheet.append([])
    sheet.append([912345678901234567, "an id that Excel has rounded", None])
    book.create_sheet("notes").append(["nothing"])
    book.save(files / "posts.xlsx")
    out = files / "out.jsonl"
    done = process(*rank(files, "--out", out, posts=["posts.xlsx"]))
    assert done.returncode == 0, done.stderr
    assert {json.loads(line)["post"] for line in out.read_text().splitlines()} == {
        "912345678901234567",
        "912345678901234568",
    }
    assert "1 other sheet is not read" in done.stderr
    assert (
        json.loads(out.read_text().splitlines()[0])["created_at"]
        == "2013-04-15T10:00:00Z"
    )
    (rejected,) = (files / "out.jsonl.rejected.jsonl").read_text().splitlines()
    assert json.loads(rejected)["line"] == 5
    looked = process("doctor", files / "posts.xlsx")
    assert looked.returncode == 0, looked.stderr
    assert "Excel" in looked.stdout + looked.stderr


def test_a_cover_page_is_not_the_sheet_with_posts(tmp_path):
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["Export of posts"])
    book.active.append([])
    book.active.append(["Made on", "2024-12-31"])
    sheet = book.create_sheet("Posts")
    sheet.append(["Posts about the river"])
    sheet.append(["id", "date", "text", "note"])
    sheet.append(["a1", "2024-12-31", "The river rises", "seen"])
    book.save(tmp_path / "posts.xlsx")
    stream = open_posts([tmp_path / "posts.xlsx"])
    assert stream.detected[0].format == (
        "Excel, sheet 'Posts', header in row 2; 1 other sheet is not read"
    )
    assert [(post.id, post.text) for post in stream] == [("a1", "The river rises")]
    stream = open_posts([tmp_path / "posts.xlsx"], text_field="note")
    assert [post.text for post in stream] == ["seen"]


@pytest.mark.parametrize("form", ["csv", "json", "parquet", "xlsx"])
def test_a_table_that_is_not_understood_shows_its_fields_and_asks_for_all_three(
    tmp_path, form
):
    rows = [
        {"Nr": "17", "Wortlaut": "Die Brücke, sie ist weg", "Wann": "02.05.2024"},
        {"Nr": "18", "Wortlaut": "Hochwasser", "Wann": "02.05.2024"},
    ]
    path = tmp_path / f"posts.{form}"
    if form == "csv":
        path.write_text(
            "Nr;Wortlaut;Wann\n" + "".join(f"{';'.join(r.values())}\n" for r in rows)
        )
    elif form == "json":
        path.write_text(json.dumps({"all": rows}))
    elif form == "parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    else:
        book = pytest.importorskip("openpyxl").Workbook()
        for row in (rows[0].keys(), *(row.values() for row in rows)):
            book.active.append(list(row))
        book.save(path)
    asked = process("doctor", path)
    assert asked.returncode == 2
    said = asked.stdout + asked.stderr
    assert (
        'Wortlaut ("Die Brücke, sie ist weg", "Hochwasser"); Wann ("02.05.2024")'
        in said
    )
    assert all(
        option in said for option in ("--text-field", "--id-field", "--date-field")
    )
    with pytest.raises(UnknownFields) as caught:
        open_posts([path])
    assert caught.value.samples == {
        "Nr": ["17", "18"],
        "Wortlaut": ["Die Brücke, sie ist weg", "Hochwasser"],
        "Wann": ["02.05.2024"],
    }
    done = process(
        "doctor", path, "--text-field=Wortlaut", "--id-field=Nr", "--date-field=Wann"
    )
    assert "17 | Die Brücke, sie ist weg" in done.stdout and "2024-05-02" in done.stdout


@pytest.mark.parametrize("header", [["Tweet ID", "Text"], ["Wortlaut", "Nr"]])
def test_the_header_of_an_excel_file_is_found_below_its_title(files, header):
    book = pytest.importorskip("openpyxl").Workbook()
    for row in (
        ["Export of the flood"],
        ["made on 3 May 2024"],
        [],
        header,
        ["17", "18"],
    ):
        book.active.append(row)
    book.save(files / "posts.xlsx")
    chosen = [] if "Text" in header else ["--text-field=Wortlaut", "--id-field=Nr"]
    done = process("doctor", files / "posts.xlsx", *chosen)
    assert done.returncode == 0, done.stdout
    assert "header in row 4" in done.stdout and "1 post read\n" in done.stdout


FACEBOOK = [
    {
        "timestamp": 1714644000,
        "title": "Ann Lee updated her status.",
        "attachments": [
            {"data": [{"external_context": {"url": "https://paper.example/story"}}]}
        ],
        "data": [
            {"update_timestamp": 1714644000},
            {"post": "The river caf\u00c3\u00a9 is flooded \u00f0\u009f\u0098\u00a2"},
        ],
    },
    {
        "timestamp": 1714644000,
        "title": "Ann Lee added a new photo.",
        "data": [],
        "attachments": [
            {
                "data": [
                    {"media": {"uri": "a.jpg", "description": "the br\u00c3\u00bccke"}}
                ]
            }
        ],
    },
    {
        "timestamp": 1714645000,
        "title": "Ann Lee shared a memory.",
        "data": [{"update_timestamp": 1714645000}],
    },
]


def test_the_download_of_facebook_is_read_in_all_its_files(files):
    folder = files / "posts"
    folder.mkdir()
    (folder / "your_posts_1.json").write_text(json.dumps(FACEBOOK[:2], indent=1))
    (folder / "your_posts_2.json").write_text(json.dumps(FACEBOOK[2:]))
    out = files / "out.jsonl"
    done = process(*rank(files, "--out", out, posts=["posts"]))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Facebook download") == 2
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert sorted(row["text"] for row in rows) == [
        "",
        "The river café is flooded 😢",
        "the brücke",
    ]
    assert all(row["created_at"].startswith("2024-05-02T10:") for row in rows)
    # The field by its path: an element of the list has it, and no title stands for it.
    chosen = ["--text-field=data.post", "--id-field=line", "--date-field=timestamp"]
    done = process("doctor", folder / "your_posts_1.json", *chosen)
    assert done.returncode == 0, done.stdout
    assert "1 post read, 1 row rejected (1 no text)" in done.stdout
    assert "added a new photo" not in done.stdout


def pdf_of(text):
    """A PDF of one page, of a few lines."""
    pypdf = pytest.importorskip("pypdf")
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = pypdf.PdfWriter()
    page = writer.add_blank_page(width=595, height=842)
    names = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    font = DictionaryObject({NameObject(k): NameObject(v) for k, v in names.items()})
    fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    content = DecodedStreamObject()
    shown = " ".join(f"({line}) Tj T*" for line in text.splitlines())
    content.set_data(f"BT /F1 12 Tf 14 TL 60 760 Td {shown} ET".encode())
    page[NameObject("/Contents")] = writer._add_object(content)
    return writer


def test_articles_in_word_and_pdf(files):
    docx = pytest.importorskip("docx")
    document = docx.Document()
    document.add_heading("Flood in the valley", 0)
    document.add_paragraph(STORY)
    document.save(files / "word.docx")
    writer = pdf_of(f"Bridge falls\n{STORY}")
    writer.write(files / "print.pdf")
    out = files / "out.jsonl"
    done = process(
        "rank",
        "--model",
        files / "model",
        "--articles",
        files / "word.docx",
        files / "print.pdf",
        "--posts",
        files / "dump",
        "--out",
        out,
    )
    assert done.returncode == 0, done.stderr
    assert 'seed word: "Flood in the valley"' in done.stderr
    assert 'seed print: "Bridge falls"' in done.stderr
    assert {json.loads(line)["article"] for line in out.read_text().splitlines()} == {
        "word",
        "print",
    }


@pytest.mark.parametrize(
    "name", ["empty.docx", "empty.pdf", "broken.docx", "broken.pdf"]
)
def test_an_office_file_without_words_is_named(files, name):
    docx, path = pytest.importorskip("docx"), files / name
    if name.startswith("broken"):
        path.write_bytes(b"%PDF-1.7 or PK it is not")
    elif name.endswith(".docx"):
        docx.Document().save(path)
    else:
        pdf_of("").write(path)
    done = process(
        "rank",
        "--model",
        files / "model",
        "--articles",
        path,
        "--posts",
        files / "dump",
    )
    assert done.returncode == 2
    assert f"{name}: " in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(("empty", "said"), [(1, False), (30, True)])
def test_many_empty_texts_are_said(files, empty, said):
    rows = [
        {"id": str(i), "text": " " if i < empty else f"flood {i}"} for i in range(100)
    ]
    (files / "posts.jsonl").write_text(lines(rows))
    done = process(*rank(files, posts=["posts.jsonl"]))
    assert done.returncode == 0, done.stderr
    assert ("30 of 100 posts have no text" in done.stderr) is said


@pytest.mark.parametrize("option", ["--articles", "--posts"])
def test_a_pasted_address_gets_a_hint(files, option):
    given = {"--articles": files / "story.txt", "--posts": files / "dump"}
    given[option] = "https://www.paper.example/story?id=1"
    done = process(
        "rank", "--model", files / "model", *(v for p in given.items() for v in p)
    )
    assert done.returncode == 2
    assert "save" in done.stderr and "paper.example" in done.stderr


@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_own_results_give_back_what_was_guarded(files, form):
    texts = {
        "=1": "=flood in the town",
        "-2": "-2 flood",
        "3": "'=river",
        "4": "'plain flood",
        "\x1b[5m": "\x1b[31mflood",
        "＝6": "＝flood",
        "7": "＋flood",
        "8": "－flood",
        "9": "＠flood",
    }
    (files / "raw.jsonl").write_text(
        lines({"id": i, "text": t} for i, t in texts.items())
    )
    first = files / "found.csv"
    assert process(*rank(files, "--out", first, posts=["raw.jsonl"])).returncode == 0
    assert "'=flood" in first.read_text() and "\x1b" not in first.read_text()
    assert all(f"'{mark}flood" in first.read_text() for mark in "＝＋－＠")
    if form == "xlsx":  # as a spreadsheet saves it
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for row in csv.reader(first.open(newline="")):
            book.active.append(row)
            for cell in book.active[book.active.max_row]:
                cell.data_type = "s"
        first = files / "found.xlsx"
        book.save(first)
    again = files / "again.jsonl"
    done = process(*rank(files, "--out", again, posts=[first.name]))
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in again.read_text().splitlines()]
    assert {row["post"]: row["text"] for row in rows} == texts


@pytest.mark.parametrize("command", ["rank", "filter", "explain"])
def test_no_text_of_others_reaches_the_terminal_as_commands(files, command):
    row = {
        "id": "1\x1b[31m",
        "text": "\x1b[2Jflood \x9b31m river",
        "lang": "\x1b[m",
        "x\x1b": 1,
    }
    (files / "posts.jsonl").write_text(lines([row, {"id": "2", "text": "vote"}]))
    (files / "story.txt").write_text(
        "Flood in the \x1b[31mtown\n\nThe river took the bridge.\n"
    )
    _, *given = rank(files, posts=["posts.jsonl"])
    more = {
        "rank": [],
        "filter": ["--min-score", "-1"],
        "explain": ["--post", row["id"]],
    }[command]
    if command == "filter":
        more += ["--out", files / "out.csv"]
    for options in (more, [*more, "--text-field", "\x1b[31m"]):
        done = process(command, *given, *options)
        assert done.returncode == (2 if "--text-field" in options else 0), done.stderr
        assert not {"\x1b", "\x9b"} & {*done.stdout, *done.stderr}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("command", ["rank", "filter", "workers", "index"])
def test_one_unreadable_file_of_a_folder_is_left_out_and_named(files, command):
    (files / "dump" / "b.csv").write_bytes(b"PK\x03\x04 an archive")
    (files / "dump" / "c.jsonl").write_text(lines([{"id": "3", "text": "vote"}]))
    options = {
        "rank": [],
        "filter": ["--min-score", "-1"],
        "workers": ["--min-score=-1", "--workers=2"],
        "index": [],
    }[command]
    out = files / ("posts.index" if command == "index" else "out.jsonl")
    typed = command if command in ("rank", "index") else "filter"
    given = [*rank(files, *options, "--out", out, posts=["dump"])[1:]]
    if command == "index":
        given = ["--model", files / "model", "--posts", files / "dump", "--out", out]
    named = process(
        typed, *given[:-2], "--out", out, "--posts", files / "dump" / "b.csv"
    )
    assert named.returncode == 2 and "b.csv: is a zip archive" in named.stderr
    done = process(typed, *given)
    assert done.returncode == 0, done.stderr
    said = done.stderr.strip().splitlines()
    left_out = [line for line in said[2:] if "b.csv: is a zip archive" in line]
    assert any(line.startswith("1 unreadable file left out: ") for line in left_out)
    if command == "index":
        return
    assert {json.loads(line)["post"] for line in out.read_text().splitlines()} == {
        "1",
        "3",
    }
    meta = json.loads((files / "out.jsonl.meta.json").read_text())
    assert meta["counts"]["unreadable"] == 1 and "b.csv: is" in " ".join(
        meta["remarks"]
    )
