"""What the doctor says of an installation and of files."""

import json
import sys

import pytest
from typer.testing import CliRunner

from siamese_news.cli import app
from siamese_news.utils import extras


def doctor(*arguments):
    return CliRunner().invoke(app, ["doctor", *map(str, arguments)])


@pytest.fixture
def posts(tmp_path):
    path = tmp_path / "posts.jsonl"
    rows = [{"id": str(2**60 + n), "text": f"post {n}", "lang": "en"} for n in range(4)]
    rows[0]["text"] = "\x1b[31mred \u202eright to left\nand a line"
    path.write_text(
        "".join(json.dumps(row) + "\n" for row in rows) + "bad\n" + '{"id": "x"}\nbad\n'
    )
    return path


def test_the_installation_alone():
    done = doctor()
    assert done.exit_code == 0, done.output
    assert f"Python {sys.version.split()[0]}" in done.output
    assert "torch " in done.output


def test_what_is_missing_or_broken_comes_with_its_command(monkeypatch, tmp_path):
    for name in ("whole", "torn"):
        (tmp_path / f"{name}_package-1.0.dist-info").mkdir()
        text = f"Metadata-Version: 2.1\nName: {name}-package\nVersion: 1.0\n"
        (tmp_path / f"{name}_package-1.0.dist-info" / "METADATA").write_text(text)
    (tmp_path / "whole_package.py").write_text("")
    (tmp_path / "torn_package.py").write_text(
        "raise OSError('libtorn.so.3: not found')"
    )
    monkeypatch.syspath_prepend(tmp_path)
    of_extras = {
        "": (),
        "there": ("whole-package",),
        "gone": ("whole-package", "no-such-package"),
        "torn": ("whole-package", "torn-package"),
    }
    monkeypatch.setattr(extras, "EXTRAS", of_extras)
    done = doctor()
    assert "extra there: installed" in done.output
    assert (
        "extra gone: missing no-such-package: pip install 'siamese-news[gone]'"
        in done.output
    )
    assert (
        "extra torn: cannot be imported: torn-package (OSError: libtorn.so.3: not found); pip "
        "install --force-reinstall 'siamese-news[torn]'"
    ) in done.output


def test_a_file_of_posts(posts):
    done = doctor(posts)
    assert done.exit_code == 0, done.output
    assert done.output.startswith(f"posts {posts}: JSON lines")
    assert done.output.index("post 2") < done.output.index("extra ")
    assert "text from 'text', id from 'id'" in done.output
    assert "4 posts read, 3 rows rejected (2 not JSON, 1 no text)" in done.output
    assert f"{2**60} | [31mred right to left and a line" in done.output
    assert f"{2**60 + 2} | post 2" in done.output
    assert f"{2**60 + 3} | post 3" not in done.output
    assert done.output.count("not JSON: Expecting") == 1
    assert f"bad: {posts}:6: field 'text' is missing" in done.output
    assert not {"\x1b", "\u202e"} & set(done.output)


def test_only_the_first_rows_are_read(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("id,text\n" + "".join(f"{n},x\n" for n in range(12_000)))
    assert (
        "of the first 10,000 rows of each file: 10,000 posts read"
        in doctor(path).output
    )


def test_the_chosen_fields_are_used(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("words\nhello\n")
    assert doctor(path).exit_code == 2
    done = doctor(path, "--text-field", "words", "--id-field", "line")
    assert done.exit_code == 0, done.output
    assert "| hello" in done.output


def test_other_texts_and_unreadable_dates_are_named(tmp_path):
    path = tmp_path / "posts.csv"
    path.write_text("id,Time,message,comment\n1,10/12/2024 10:00,the post,a comment\n")
    done = doctor(path)
    assert "text from 'message', id from 'id'" in done.output
    assert (
        "could be the text as well: 'comment' (choose with --text-field)" in done.output
    )
    assert "1 date not understood (--date-format says how they are" in done.output
    done = doctor(path, "--text-field", "comment")
    assert "could be the text" not in done.output
    path.write_text("id,text\n1,the post\n")
    assert (
        "no dates were found; if there are any, name their field" in doctor(path).output
    )


def test_articles_and_what_cannot_be_read(tmp_path, posts):
    story = tmp_path / "story.txt"
    story.write_text("A flood\n\nThe river came.\n")
    done = doctor(tmp_path / "gone.csv", story, posts)
    assert done.exit_code == 2
    assert f"cannot be read: {tmp_path / 'gone.csv'}: no such file" in done.output
    assert "story | A flood | The river came." in done.output
    assert "4 posts read" in done.output


@pytest.mark.parametrize("name", ["chat.txt", "chat.html"])
def test_a_chat_is_not_taken_for_an_article(tmp_path, name):
    chat = "[03.05.24, 10:15:32] Ann: the river\n"
    if name.endswith("html"):
        chat = '<!DOCTYPE html>\n<html><body><div class="page_wrap">The river</div></body></html>'
    (tmp_path / name).write_text(chat)
    done = doctor(tmp_path / name)
    assert done.exit_code == 2
    assert (
        f"{name}: is a {'Telegram' if 'html' in name else 'WhatsApp'} chat"
        in done.output
    )


def test_a_table_in_a_text_file_is_not_taken_for_an_article(tmp_path):
    (tmp_path / "posts.txt").write_bytes("id\ttext\n1\tthe river\n".encode("utf-16"))
    done = doctor(tmp_path / "posts.txt")
    assert done.exit_code == 0, done.output
    assert "posts.txt: TSV, utf-16" in done.output and "1 | the river" in done.output


def test_a_page_that_is_no_article_is_named(tmp_path):
    for name, text in (
        ("consent.txt", "Nous et nos 312 partenaires lisons des informations."),
        ("gate.txt", "504 Gateway Time-out\nnginx"),
        ("address.txt", "https://quay.example/locks"),
    ):
        (tmp_path / name).write_text(text)
        done = doctor(tmp_path / name)
        assert done.exit_code == 0, done.output
        assert "the ranking is based on these" in done.output
