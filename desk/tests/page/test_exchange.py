"""Labels out to other programs and back, and a search that is canceled and goes on."""

import csv
import io
import json
import os
import shutil
import sys
import time
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from served import Served, begun, found_before
from tests.storm import ARTICLE, corpus

from siamese_news.errors import InputError
from siamese_news.search.partial_results import output_lock
from siamese_news.search.query import FILTER
from siamese_news_desk.page.project import Project
from siamese_news_desk.page.requests import CAPS
from siamese_news_desk.page.search import Search, query_of


@pytest.fixture
def project(tmp_path):
    yield from begun(tmp_path / "storm", relevant=60, other=60)


def take(served, name, content, who="ana"):
    path = f"/api/labels/import?name={quote(name)}&annotator={who}"
    return served.ask(path, method="PUT", data=content.encode())


def _label_studio(rows, truth):
    """As its JSON export looks once a person has chosen."""
    tasks = []
    for row in rows:
        choice = "relevant" if truth[row["post"]] else "not relevant"
        result = {
            "from_name": "label",
            "to_name": "text",
            "type": "choices",
            "value": {"choices": [choice]},
        }
        tasks.append(
            {"data": row, "annotations": [{"result": [result], "was_cancelled": False}]}
        )
    return json.dumps(tasks)


def _prodigy(rows, truth):
    said = {True: "accept", False: "reject"}
    return "".join(
        json.dumps(
            {"text": row["text"], "meta": row, "answer": said[truth[row["post"]]]}
        )
        + "\n"
        for row in rows
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("name", "person"), [("export.json", _label_studio), ("done.jsonl", _prodigy)]
)
def test_a_list_comes_back_from_other_programs_as_labels(project, name, person):
    served, truth, folder = project
    served.json("/api/threshold", {"threshold": -1})
    rows = list(csv.DictReader(io.StringIO(served.ask("/files/csv")[1].decode())))
    status, answer = take(served, name, person(rows, truth))
    assert status == 200 and json.loads(answer)["taken"] == 120, answer
    given = [json.loads(row) for row in (folder / "labels.jsonl").open()]
    assert {row["post"]: row["label"] == "yes" for row in given} == truth
    assert {row["annotator"] for row in given} == {"ana"}
    # The same file again changes nothing.
    again = json.loads(take(served, name, person(rows, truth))[1])
    assert again == {"taken": 0, "already": 120, "unknown": 0, "conflicts": 0}


def test_the_pages_own_labels_open_in_another_project(project, tmp_path):
    served, truth, _ = project
    for post in list(truth)[:20]:
        row = {
            "post": post,
            "label": "yes" if truth[post] else "no",
            "annotator": "ana",
        }
        served.json("/api/labels", row)
    content = served.ask("/files/labels")[1].decode()
    found_before(tmp_path / "other", relevant=60, other=60)
    other = Served(tmp_path / "other")
    try:
        assert json.loads(take(other, "labels.csv", content)[1])["taken"] == 20
        bad = content.replace(",yes,", ",perhaps,", 1)
        status, answer = take(other, "bad.csv", bad)
        assert status == 400 and "nothing was imported" in json.loads(answer)["error"]
        for name in ("../labels.csv", "", ".csv"):
            assert take(other, name, content)[0] == 400
        assert (tmp_path / "other/labels.jsonl").read_text().count("\n") == 20
    finally:
        other.end()


def test_the_page_asks_for_a_second_look_where_it_was_started_with_one(tmp_path):
    (tmp_path / "minilm").mkdir()
    (tmp_path / "story.txt").write_text(ARTICLE)
    given = [[str(tmp_path / "story.txt")], [str(tmp_path / "posts.jsonl")]]
    for folder, wanted, asked in (
        (tmp_path / "minilm", True, ["--second-look", str(tmp_path / "minilm")]),
        (tmp_path / "minilm", False, ["--second-look", "none"]),
        (None, True, []),  # by the star
        (None, False, ["--second-look", "none"]),
    ):
        project = Project(
            tmp_path / f"{folder is None}{wanted}", *given, second_look=folder
        )
        options = project.config()["options"] | {"second_look": wanted}
        line = query_of(project, options, project.results).arguments(FILTER)
        place = line.index("--second-look") if "--second-look" in line else len(line)
        assert line[place : place + 2] == asked


def test_an_upload_that_is_too_large_leaves_nothing(project):
    served, _, folder = project

    status, content = 0, b""
    with suppress(OSError):  # where the server closed before everything was sent
        data = b"x" * (CAPS["articles"] + 1)
        status, content = served.ask(
            "/api/inputs/articles/a.txt", method="PUT", data=data
        )
    assert status in (0, 400) and (not content or b"larger than" in content)
    assert served.ask("/")[0] == 200
    assert not list((folder / "inputs/articles").iterdir())
    assert not list((folder / ".private").glob("upload-*"))
    assert f'data-cap="{CAPS["articles"]}"' in served.ask("/")[1].decode()


# Read by each Python that begins: searches have small blocks, tell and record each of them, and
# wait in the second pass while a file is there, so that a small pool is enough to cancel one.
_HELD_SEARCHES = """
import os, sys, time

if "filter" in sys.orig_argv:
    from siamese_news.model import text_model

    text_model.BLOCK = 100  # before others take it from there
    from siamese_news.search import file_pool
    from siamese_news.search.sharding import steps

    file_pool._STEP = 100
    file_pool._SECONDS = steps._SECONDS = 0.0
    record = steps.ShardFolder.record

    def held(folder, index, name, file, progress, state=b""):
        record(folder, index, name, file, progress, state)
        while (
            name == "scoring.json"
            and progress["blocks"] >= 3
            and os.path.exists(os.environ["HOLD"])
        ):
            time.sleep(0.02)

    steps.ShardFolder.record = held
"""


def test_a_canceled_search_is_discarded_resumed_or_begun_again(tmp_path, monkeypatch):
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text(_HELD_SEARCHES)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"), prepend=os.pathsep)
    hold = tmp_path / "hold"
    monkeypatch.setenv("HOLD", str(hold))
    found_before(tmp_path / "storm", relevant=20, other=20)
    corpus(tmp_path / "posts.jsonl", relevant=300, other=600)
    content = (tmp_path / "posts.jsonl").read_bytes()
    searches = tmp_path / "storm/searches"
    before = {path.name for path in (searches / "1").iterdir()}
    served = Served(tmp_path / "storm")

    def canceled(number, threshold):
        hold.touch()
        served.json("/api/search", {"keep_by": "score", "threshold": threshold})
        _wait_for(served, lambda state: state["posts"] > 0)
        folder = searches / str(number)
        state = _wait_for(served, lambda _: _blocks_done(folder) >= 3)
        assert state["state"] == "running"
        assert served.ask("/api/search/discard", {})[0] == 400  # it is running
        served.json("/api/search/cancel", {})
        assert (
            _wait_for(served, lambda state: state["state"] != "running")["state"]
            == "stopped"
        )
        assert (folder / "results.parquet.part/00001.rows").stat().st_size > 0
        assert not (folder / "results.parquet").exists()
        hold.unlink()

    try:
        for path, data in (
            ("articles/a.txt", ARTICLE.encode()),
            ("posts/p.jsonl", content),
        ):
            assert served.ask(f"/api/inputs/{path}", method="PUT", data=data)[0] == 200
        canceled(2, 0.05)
        shutil.copytree(searches / "2", tmp_path / "canceled")
        served.json("/api/search/discard", {})
        assert [path.name for path in searches.iterdir()] == ["1"]
        assert served.json("/api/posts")["found"] == 40  # those of before are back

        shutil.copytree(tmp_path / "canceled", searches / "2")
        assert b"Resume" in served.ask("/")[1]
        served.search(threshold=0.05, map=False)

        canceled(3, 0.3)
        (searches / "3/left.part").write_text("x")
        served.search(threshold=0.05, map=False)
        assert {path.name for path in searches.iterdir()} == {"1", "2", "3"}
        assert before <= {path.name for path in (searches / "1").iterdir()}
        resumed, whole = ((searches / n / "results.parquet").read_bytes() for n in "23")
        assert resumed == whole
        assert not [
            path.name for path in (searches / "3").iterdir() if ".part" in path.name
        ]
    finally:
        served.end()


def _blocks_done(folder):
    """Blocks of the second pass that a search has recorded: it writes rows in no other."""
    progress = folder / "results.parquet.part/00001.scoring.json"
    return json.loads(progress.read_bytes())["blocks"] if progress.exists() else 0


@pytest.mark.parametrize(
    ("share", "quiet", "left"),
    [(0.5, 0, 20), (0.5, 5, 15), (0.5, 60, None), (0.995, 0, None), (1.0, 60, None)],
)
def test_the_time_that_is_left_is_not_told_where_it_is_not_known(
    tmp_path, share, quiet, left
):
    """After the last post come near-duplicates, the map and the file: minutes for a long list."""
    found_before(tmp_path / "storm", relevant=5, other=5)
    search = tmp_path / "storm/searches/1"
    saved = {"query": None, "command": "", "process": os.getpid()}
    (search / "search.json").write_text(json.dumps(saved))
    row = {
        "pass": 2,
        "done": share * 1000,
        "total": 1000,
        "posts": 900,
        "seconds": 20.0,
    }
    (search / "progress.log").write_text(f"one line\n{json.dumps(row)}\n")
    then = time.time() - quiet
    os.utime(search / "progress.log", (then, then))
    with output_lock(search / "results.parquet"):  # as a search that runs holds it
        state = Search(Project(tmp_path / "storm")).status()
    assert state["state"] == "running"
    if left is None:
        assert state["seconds"] is None and state["share"] is None
    else:
        assert left - 5 < state["seconds"] <= left and state["share"] == share
    assert state["posts"] == 900 and state["message"] == "one line"


def _wait_for(served, condition):
    """The first state of the search that fits."""
    connection = HTTPConnection("127.0.0.1", served.port, timeout=240)
    connection.request("GET", "/api/search/events", headers={"Cookie": served.cookie})
    answer = connection.getresponse()
    try:
        while line := answer.readline():
            if line.startswith(b"data: "):
                state = json.loads(line[6:])
                if condition(state):
                    return state
    finally:
        connection.close()
    raise AssertionError(f"it never came; the last state is {state}")


def test_a_file_is_not_the_folder_of_a_project(tmp_path):
    (tmp_path / "file.csv").touch()
    with pytest.raises(InputError, match="is a file; expected the folder of a project"):
        Project(tmp_path / "file.csv")


def test_the_command_before_a_search_names_what_was_given(tmp_path):
    """From the command line, then what is uploaded; nothing that is empty is named."""
    for name, text in (("weir.txt", ARTICLE), ("dump.csv", "id,text\n1,the weir\n")):
        (tmp_path / name).write_text(text)
    folder = tmp_path / "storm"
    search = Search(Project(folder, articles=[str(tmp_path / "weir.txt")]))
    assert search.command == ""
    project = Project(
        folder, [str(tmp_path / "weir.txt")], posts=[str(tmp_path / "dump.csv")]
    )
    command = Search(project).command
    assert (
        f"filter --articles {tmp_path}/weir.txt --posts {tmp_path}/dump.csv" in command
    )
    assert "inputs/" not in command and "--out found.parquet" in command
    project.paste(ARTICLE)
    command = Search(project).command
    assert f"--articles inputs/articles --articles {tmp_path}/weir.txt" in command
