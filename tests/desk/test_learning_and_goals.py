"""An order learned from labels, and goals other than precision, as the page asks for them."""

import json
import random
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from served import begun


@pytest.fixture
def project(tmp_path):
    yield from begun(tmp_path / "storm", relevant=150, other=250)


def label(served, truth, posts):
    for post in posts:
        row = {"post": post, "label": "yes" if truth[post] else "no", "annotator": "me"}
        served.json("/api/labels", row)


def run(line, folder):
    program, *arguments = shlex.split(line)
    assert program == "siamese-news"
    return subprocess.run(
        [sys.executable, "-m", "siamese_news", *arguments],
        cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def commands(served):
    return served.ask("/files/commands")[1].decode().splitlines()


def test_a_learned_order_is_what_the_command_writes_and_is_off_without_labels(project):
    served, truth, folder = project
    status, content = served.ask("/api/learn", {})
    assert status == 400 and "at least 3" in json.loads(content)["error"]
    label(served, truth, random.Random(1).sample(sorted(truth), 120))
    found = served.json("/api/learn", {})
    assert found["helps"] and "cross-validated" in found["sentence"]
    assert found["sentence"] in served.ask("/posts")[1].decode().replace("&#43;", "+")
    learned = pq.read_table(folder / "searches/1/learned.parquet").column("post").to_pylist()
    html, after, listed = "", 0, []
    while after is not None:
        part = served.json(f"/api/posts?order=learned&after={after}")
        after = part["next"]
        html += part["html"]
    listed = [row.split('"')[0] for row in html.split('data-post="')[1:]]
    assert listed == learned and len(listed) == 400
    assert "was " in html
    # The command that the page shows writes the same file.
    (line,) = [line for line in commands(served) if line.startswith("siamese-news feedback")]
    before = (folder / "searches/1/learned.parquet").read_bytes()
    done = run(line + " --force", folder)
    assert done.returncode == 0, done.stderr
    assert found["sentence"] in done.stdout
    assert (folder / "searches/1/learned.parquet").read_bytes() == before
    queue = served.json("/api/queue?kind=learned&annotator=other&leave=[]")
    assert queue["posts"][0]["post"] == learned[0]


def test_goals_count_every_label_and_end_where_annotate_ends(project):
    served, truth, folder = project
    goal = {"find": "40", "recall": ".8", "confidence": ".9", "rule": "random-first",
            "positives": "20"}  # fmt: skip
    assert served.ask("/api/goals", goal | {"recall": "8"})[0] == 400
    assert served.ask("/api/goals", goal | {"rule": "guess"})[0] == 400
    assert served.ask("/api/goals", goal | {"find": "", "recall": ""})[0] == 400
    served.json("/api/goals", goal)
    status, content = served.ask("/api/goals", goal)
    assert status == 400 and "fixed already" in json.loads(content)["error"]
    html = served.ask("/decide")[1].decode()
    assert "Not yet. If you stopped now" in html and "random posts: 0 of 20" in html
    while posts := served.json("/api/queue?kind=goal&annotator=me&leave=[]")["posts"]:
        label(served, truth, [post["post"] for post in posts])
    html = served.ask("/decide")[1].decode()
    assert "Enough: at least .8 of all relevant posts" in html
    assert "a random order takes about" in html
    rows = [json.loads(row) for row in (folder / "labels.jsonl").read_text().splitlines()]
    found = sum(row["label"] == "yes" for row in rows)
    assert found >= 0.8 * sum(truth.values()) and len(rows) < len(truth)
    # The command goes on from the same labels: nothing is left to ask.
    (line,) = [line for line in commands(served) if line.startswith("siamese-news annotate")]
    done = run(line, folder)
    assert done.returncode == 0, done.stderr
    assert "done: the rule is satisfied" in done.stderr
    assert f"{len(rows):,} labelled, {found:,} relevant" in done.stdout
