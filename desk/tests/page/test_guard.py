"""Nobody but the page gets anything, and nothing leaves the project's folder."""

import http.client
import json
import os
import re
import socket
import stat
import sys
import time
import unicodedata
from pathlib import Path
from urllib.parse import quote

import pytest
from markupsafe import escape

sys.path.insert(0, str(Path(__file__).parent))
from served import Served, found_before
from tests.commands import in_own_process

from siamese_news.data.articles import SUFFIXES
from siamese_news.search.report.page import visible
from siamese_news_desk.cli.desk import _listening
from siamese_news_desk.page.project import Project
from siamese_news_desk.page.requests import shares_in

VIEWS = ("/", "/posts", "/label", "/decide", "/hand-over")
READS = (
    *VIEWS,
    "/api/posts",
    "/api/queue?kind=rank&annotator=a",
    "/files/csv",
    "/api/copies/1",
)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guard") / "storm"
    found_before(folder, relevant=30, other=30)
    running = Served(folder)
    yield running
    running.end()


def _raw(served, method, path, headers, body=None):
    """An answer with exactly these headers."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in headers:
        connection.putheader(name, value)
    if body is not None:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read()
    connection.close()
    return found


@pytest.mark.parametrize("path", READS)
def test_without_the_token_there_is_nothing(served, path):
    for cookie in (None, f"siamese-news-{served.port}=wrong", f"other={served.token}"):
        status, content = served.ask(path, headers={"Cookie": cookie})
        assert status == 401
        assert b"Quayle" not in content and served.token.encode() not in content
    assert served.ask(path)[0] == 200


def test_the_token_opens_the_page_once_and_leaves_the_address(served):
    host = ("Host", f"127.0.0.1:{served.port}")
    status, headers, content = _raw(served, "GET", f"/?token={served.token}", [host])
    cookie = headers["set-cookie"]
    assert (
        status == 200 and b'url=/"' in content and served.token.encode() not in content
    )
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    assert _raw(served, "GET", "/?token=wrong", [host])[0] == 401
    assert _raw(served, "GET", f"/posts?token={served.token}", [host])[0] == 401


@pytest.mark.parametrize(
    "hosts",
    [
        ["evil.example"],
        ["evil.example:{port}"],
        ["127.0.0.1"],
        [],
        ["127.0.0.1:{port}", "evil"],
    ],
)
def test_another_name_for_this_address_gets_nothing(served, hosts):
    headers = [("Host", host.format(port=served.port)) for host in hosts]
    headers.append(("Cookie", served.cookie))
    status, _, content = _raw(served, "GET", "/posts", headers)
    assert status in (400, 421) and b"Quayle" not in content


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "https://127.0.0.1:{port}"]
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/labels"),
        ("POST", "/api/search"),
        ("POST", "/api/search/cancel"),
        ("PUT", "/api/inputs/posts/a.jsonl"),
        ("DELETE", "/api/inputs/posts/a.jsonl"),
        ("POST", "/api/plan"),
        ("PUT", "/api/labels/import?name=a.csv&annotator=a"),
    ],
)
def test_what_changes_something_must_come_from_the_page(served, method, path, origin):
    given = origin and origin.format(port=served.port)
    status, _ = served.ask(path, method=method, data=b"{}", headers={"Origin": given})
    assert status == 403


def test_another_site_reads_nothing_though_the_browser_sends_the_cookie(served):
    status, _ = served.ask("/api/posts", headers={"Sec-Fetch-Site": "cross-site"})
    assert status == 403


def test_every_answer_is_locked_down(served):
    for path in (*READS, "/nothing", "/files/nothing"):
        host = [("Host", f"127.0.0.1:{served.port}"), ("Cookie", served.cookie)]
        _, headers, _ = _raw(served, "GET", path, host)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and "http" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


def _files(served):
    return {path for path in served.project.parent.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "name",
    ["../out.jsonl", "..%2Fout.jsonl", "/etc/out.jsonl", "run.py", "..", "a.jsonl.exe"],
)
def test_no_upload_leaves_its_folder(served, name):
    before = _files(served)
    path = f"/api/inputs/posts/{quote(name, safe='%')}"
    status, _ = served.ask(path, method="PUT", data=b'{"id": "1", "text": "a"}\n')
    assert status in (400, 404)
    assert _files(served) == before


@pytest.mark.parametrize(
    "name",
    [
        "What now? – it's “here” & there! [1] #2 50%;+,@().jsonl",
        "Ça va ? 漢字.jsonl.gz",
        '<a|b> "c": *.jsonl',
        ".hidden.jsonl",
        "-o.jsonl",
        "~a.jsonl",
        "a\\b.jsonl",
        "a\0b.jsonl",
        "a\nb\x7f.jsonl",
        "Wait...jsonl",
        "\u202eabc.jsonl",
        "x" * 400 + ".jsonl",
        "é" * 200 + ".csv",
        "con.jsonl",
        "LPT1.tar.jsonl",
        "nul .csv",
        ".jsonl",
        " a.jsonl",
        "\U0001f30a.jsonl",
    ],
)
def test_a_name_of_any_kind_is_stored_safely(served, name):
    before, path = _files(served), f"/api/inputs/posts/{quote(name)}"
    html = served.json(path, method="PUT", data=b"first\n")["html"]
    (stored,) = _files(served) - before
    assert (
        stored.parent == served.project / "inputs/posts"
        and stored.read_bytes() == b"first\n"
    )
    own = stored.name
    assert (
        len(own.encode()) < 200
        and own[0] not in ".-~ "
        and not set(own) & set('<>:"/\\|?*')
    )
    assert all(unicodedata.category(sign)[0] != "C" for sign in own)
    assert own.split(".")[0].strip().lower() not in ("con", "lpt1", "nul")
    assert f"<bdi>{escape(visible(own))}</bdi>" in html
    assert served.ask(path, method="PUT", data=b"second\n")[0] == 400
    assert stored.read_bytes() == b"first\n"
    (button,) = re.findall(r'data-remove="([^"]*)"', html)
    assert served.ask(f"/api/inputs/posts/{button}", method="DELETE")[0] == 200
    assert _files(served) == before


def test_names_that_differ_in_what_is_replaced_alone_are_one_file(served):
    html = served.json("/api/inputs/posts/a%3F.csv", method="PUT", data=b"first")[
        "html"
    ]
    assert "<bdi>a？.csv</bdi>" in html
    status, content = served.ask(
        f"/api/inputs/posts/{quote('a？.csv')}", method="PUT", data=b"2"
    )
    assert status == 400 and "already exists" in json.loads(content)["error"]
    (stored,) = (served.project / "inputs/posts").iterdir()
    assert stored.read_text() == "first"
    served.json("/api/inputs/posts/a%3F.csv", method="DELETE")
    assert not list((served.project / "inputs/posts").iterdir())


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/api/copies/999", "no post of rank 999"),
        ("/api/copies/0", "no post of rank 0"),
        ("/api/queue?kind=rank&annotator=a&leave=abc", "a JSON list"),
    ],
)
def test_what_does_not_exist_is_answered_in_words(served, path, words):
    status, content = served.ask(path)
    assert status == 400 and words in json.loads(content)["error"]


def test_a_file_of_labels_is_named_as_the_user_does(served):
    path = "/api/labels/import?name=my%20labels.csv&annotator=a"
    status, content = served.ask(path, data=b"0123456789", method="PUT")
    said = json.loads(content)["error"]
    assert (
        status == 400
        and said.startswith("my labels.csv:1: ")
        and "nothing was imported" in said
    )


def test_uploads_are_whole_and_never_replace_one(served):
    path = "/api/inputs/posts/mine.jsonl"
    assert served.ask(path, method="PUT", data=b"first\n")[0] == 200
    status, content = served.ask(path, method="PUT", data=b"second\n")
    assert status == 400 and b"already" in content
    file = served.project / "inputs/posts/mine.jsonl"
    assert file.read_bytes() == b"first\n"
    assert served.ask(path, method="DELETE")[0] == 200
    assert not file.exists()
    assert served.ask("/api/inputs/articles/a.txt", method="PUT", data=b"")[0] == 400
    # A connection that breaks off leaves nothing.
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    connection.putrequest("PUT", path)
    for name, value in (("Cookie", served.cookie), ("Origin", served.base.rstrip("/"))):
        connection.putheader(name, value)
    connection.putheader("Content-Length", "1000000")
    connection.endheaders(b"only the beginning")
    connection.close()
    end = time.monotonic() + 60
    while list((served.project / ".private").glob("upload-*")):
        assert served.ask("/")[0] == 200 and time.monotonic() < end
    assert not file.exists()


def test_an_upload_that_breaks_off_prints_nothing(tmp_path):
    served = Served(tmp_path / "storm")
    host, origin = f"127.0.0.1:{served.port}", served.base.rstrip("/")
    for path in (
        "/api/inputs/posts/a.jsonl",
        "/api/labels/import?name=a.csv&annotator=a",
    ):
        lines = [
            f"PUT {path} HTTP/1.1",
            f"Host: {host}",
            f"Origin: {origin}",
            f"Cookie: {served.cookie}",
            "Content-Length: 1000000",
            "",
            "the beginning",
        ]
        with socket.create_connection(("127.0.0.1", served.port)) as connection:
            connection.sendall("\r\n".join(lines).encode())
            end = time.monotonic() + 60
            while not list((served.project / ".private").glob("upload-*")):
                assert time.monotonic() < end
    while list((served.project / ".private").glob("upload-*")):
        assert time.monotonic() < end
    served.end()
    (line,) = served.said().splitlines()
    assert "interrupted" in line


@pytest.mark.parametrize(
    ("path", "row"),
    [
        ("/api/labels", {"post": "nobody", "label": "yes", "annotator": "a"}),
        ("/api/labels", {"post": 7, "label": "yes", "annotator": "a"}),
        (
            "/api/labels",
            {"post": "9007199254740993", "label": "perhaps", "annotator": "a"},
        ),
        ("/api/labels", {"post": "9007199254740993", "label": "yes", "annotator": ""}),
        ("/api/labels", {"post": "1", "label": "yes", "annotator": "a", "seen": "x"}),
        ("/api/threshold", {"threshold": "nan"}),
        ("/api/threshold", {"threshold": "90"}),
        ("/api/search", {"threshold": "90 %"}),
        ("/api/search", {"keep_by": "score", "threshold": "90 %"}),
        ("/api/search", {"keep_by": ["score"]}),
        ("/api/search", {"keep_by": "rank"}),
        ("/api/threshold", {"by": "relevance", "threshold": "1.5"}),
        ("/api/threshold", {"by": "posts", "threshold": "many"}),
        ("/api/threshold", {"by": ["posts"], "threshold": "many"}),
        ("/api/plan", {"precision": "2", "confidence": ".95", "budget": 10}),
        ("/api/plan", {"precision": ".9", "confidence": ".95", "budget": 0}),
        ("/api/plan", {"precision": "", "confidence": ".95", "budget": 10}),
        ("/api/search", {"threshold": "a lot"}),
        ("/api/search", {}),
        ("/api/pasted", {"text": "  "}),
    ],
)
def test_bad_input_is_said_and_changes_nothing(served, path, row):
    before = (served.project / "labels.jsonl").read_bytes()
    status, content = served.ask(path, row)
    assert status == 400 and "error" in json.loads(content)
    assert (served.project / "labels.jsonl").read_bytes() == before
    assert not (served.project / "searches/1/sheet.plan.json").exists()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (".9", [".9"]),
        ("0,9", ["0.9"]),
        ("90", ["0.9"]),
        ("90 %", ["0.9"]),
        ("90%", ["0.9"]),
        ("92,5 %", ["0.925"]),
        ("99.9", ["0.999"]),
        ("9/10", ["9/10"]),
        (",9", [".9"]),
        (".8 .9", [".8", ".9"]),
        (".8,.9", [".8", ".9"]),
        ("0,8; 0,9", ["0.8", "0.9"]),
        ("80, 90", ["0.8", "0.9"]),
        ("80%,90 %", ["0.8", "0.9"]),
        ("0.8,0.9", ["0.8", "0.9"]),
        ("0.5%", ["0.005"]),
        ("ninety", ["ninety"]),
        ("", []),
    ],
)
def test_shares_are_read_as_people_write_them(typed, meant):
    assert shares_in(typed) == meant


@pytest.mark.parametrize(
    "typed", ["80,90", "0,8,0,9", "100", "0", "1", "150", "-5", "%", "nine"]
)
def test_what_is_no_share_is_said(served, typed):
    row = {"precision": typed, "confidence": ".95", "budget": 10}
    assert served.ask("/api/plan", row)[0] == 400
    goal = {
        "find": "",
        "recall": typed,
        "confidence": ".9",
    }
    assert served.ask("/api/goals", goal)[0] == 400
    assert served.ask("/api/goals", goal | {"recall": ".8 .9"})[0] == 400
    assert not list((served.project / "searches/1").glob("*.plan.json"))


def test_what_is_no_json_or_too_long_is_refused(served):
    for data in (b"{", b"[1]", b'"' + b"x" * 5_000_000 + b'"', b"[" * 100_000):
        assert served.ask("/api/labels", method="POST", data=data)[0] == 400
    assert served.ask("/api/posts?start=yesterday")[0] == 400
    assert served.ask("/api/posts?after=x")[0] == 400


def test_filters_take_anything_as_words(served):
    for words in (
        '"',
        "a OR b",
        "NEAR(",
        "*",
        "wall*",
        "%",
        "_",
        "\\",
        "ü ß",
        "漢字",
        "'; DROP",
        "-",
    ):
        assert served.ask(f"/api/posts?words={quote(words)}")[0] == 200
    found = served.json("/api/posts?words=QUAYLE")["found"]
    assert (
        found
        == served.json("/api/posts?words=quayle&start=2026-03-01&end=2026-03-20")[
            "found"
        ]
    )
    assert 0 < found < 60


def test_a_second_server_and_a_strange_folder_are_refused(served, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for folder, message in (
        (served.project, "is open in another"),
        (tmp_path, "no project.json"),
    ):
        said = in_own_process("desk", "--no-browser", "--project", folder, timeout=60)
        assert said.returncode == 2 and message in said.stderr and said.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX")
@pytest.mark.parametrize("umask", [0o022, 0])
def test_a_new_project_is_its_owners_alone(tmp_path, umask):
    before = os.umask(umask)
    try:
        for folder in (tmp_path / "storm", tmp_path / "deep" / "storm"):
            Project(folder)
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    finally:
        os.umask(before)


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX")
def test_the_private_folder_is_private_and_only_loopback_answers(served):
    assert stat.S_IMODE((served.project / ".private").stat().st_mode) == 0o700
    listening = Path("/proc/net/tcp")
    if listening.exists():
        port = f"{served.port:04X}"
        rows = [row.split() for row in listening.read_text().splitlines()[1:]]
        mine = [
            row[1] for row in rows if row[1].endswith(f":{port}") and row[3] == "0A"
        ]
        assert mine == [f"0100007F:{port}"]


def test_the_pages_of_a_filter_have_each_of_its_posts_once(served):
    def listed(query):
        found, after = [], 0
        while after is not None:
            part = served.json(f"/api/posts?{query}&after={after}")
            found += [
                row.split('"')[0] for row in part["html"].split('data-post="')[1:]
            ]
            after = part["next"]
        return found

    for query in (
        "words=quay",
        "words=the+wa&lang=en",
        "words=storm&least=0.3",
        "words=nowhere",
    ):
        posts = listed(query)
        assert (
            served.json(f"/api/posts?{query}")["found"] == len(posts) == len(set(posts))
        )


def test_answers_are_not_held_back():
    """Asyncio sends at once only where a socket names its protocol (40 ms an answer otherwise)."""
    with _listening(0) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.proto == socket.IPPROTO_TCP


def test_a_post_has_its_relevance_next_to_its_score_unless_it_is_labeled_blind(served):
    shown = served.json("/api/posts")["html"]
    assert re.search(r'class="relevance"[^>]*>.*</span>0\.\d\d<', shown)
    blind = json.dumps(served.json("/api/queue?kind=threshold&annotator=a"))
    assert "cluster item" in blind and 'class=\\"relevance' not in blind


def test_every_ending_of_an_article_can_be_chosen(served):
    page = served.ask("/")[1].decode()
    chosen = re.findall(r'accept="([^"]+)"', page)
    assert len(chosen) == 2
    for endings in chosen:
        assert {*SUFFIXES, ".mhtml", ".gz"} <= {*endings.split(",")}
