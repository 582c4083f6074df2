"""An order learned from labels, and goals other than precision, as the page asks for them."""

import json
import random
import re
import shlex
import sys
from pathlib import Path
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from served import begun
from tests.commands import siamese_news

from siamese_news_desk.decide.plan.sealed_files import seal_of


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
    return siamese_news(*arguments, folder=folder)


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
    learned = (
        pq.read_table(folder / "searches/1/learned.parquet").column("post").to_pylist()
    )
    html, after, listed = "", 0, []
    while after is not None:
        part = served.json(f"/api/posts?order=learned&after={after}")
        after = part["next"]
        html += part["html"]
    listed = [row.split('"')[0] for row in html.split('data-post="')[1:]]
    assert listed == learned and len(listed) == 400
    assert "was " in html
    # The command that the page shows writes the same file.
    (line,) = [
        line for line in commands(served) if line.startswith("siamese-news feedback")
    ]
    before = (folder / "searches/1/learned.parquet").read_bytes()
    done = run(line + " --force", folder)
    assert done.returncode == 0, done.stderr
    assert found["sentence"] in done.stdout
    assert (folder / "searches/1/learned.parquet").read_bytes() == before
    queue = served.json("/api/queue?kind=learned&annotator=other&leave=[]")
    assert queue["posts"][0]["post"] == learned[0]


def test_goals_count_every_label_and_end_with_a_sealed_sentence(project):
    served, truth, folder = project
    goal = {
        "find": "40",
        "recall": ".8",
        "confidence": ".9",
    }
    assert served.ask("/api/goals", goal | {"recall": "8"})[0] == 400
    assert served.ask("/api/goals", goal | {"find": "", "recall": ""})[0] == 400
    served.json("/api/goals", goal)
    status, content = served.ask("/api/goals", goal)
    assert status == 400 and "already fixed" in json.loads(content)["error"]
    html = served.ask("/decide")[1].decode()
    assert (
        "Not yet. If you stopped now" in html
        and "down the learned order: 0 relevant" in html
    )
    while posts := served.json("/api/queue?kind=goal&annotator=me&leave=[]")["posts"]:
        label(served, truth, [post["post"] for post in posts])
    html = served.ask("/decide")[1].decode()
    assert "They are at least 0.8 of all relevant ones (the recall)" in html
    assert "The confidence is 0.9:" in html
    assert "there are at most" in html and " of about " not in html
    rows = [
        json.loads(row) for row in (folder / "labels.jsonl").read_text().splitlines()
    ]
    found = sum(row["label"] == "yes" for row in rows)
    assert found >= 0.8 * sum(truth.values()) and len(rows) < len(truth)
    assert f"{len(rows):,} labeled, {found:,} relevant" in html
    sealed = json.loads((folder / "searches/1/goals.recall.json").read_text())
    assert sealed["sha256"] == seal_of(sealed)
    assert sealed["labels"]["relevant"] == found and sealed["recall_at_least"] == 0.8
    # A label that is changed after a look at the recall is counted.
    assert "changed after" not in html
    row = {"post": rows[0]["post"], "annotator": "me"}
    other = "no" if rows[0]["label"] == "yes" else "yes"
    served.json("/api/labels", row | {"label": other})
    assert "1 verdict was changed after the result" in served.ask("/decide")[1].decode()


def queued(served, kind, annotator="me", leave=()):
    found = served.json(
        f"/api/queue?kind={kind}&annotator={annotator}&leave={quote(json.dumps(list(leave)))}"
    )
    return found["posts"], found["ahead"]


def given(served, path, name, machine="gpt"):
    query = f"name={quote(name)}&machine={quote(machine)}"
    return served.ask(f"/api/verdicts?{query}", data=path.read_bytes(), method="PUT")


def test_a_machine_is_a_second_coder_whose_verdicts_are_joined(project, tmp_path):
    served, truth, folder = project
    wrong = set(sorted(truth)[:40])
    file = tmp_path / "gpt 4.csv"
    rows = [f"{post},{int(said != (post in wrong))}" for post, said in truth.items()]
    file.write_text("\n".join(["post,verdict", *rows]), encoding="utf-8")
    status, content = given(served, file, file.name, machine=" ")
    assert status == 400 and "has no name" in json.loads(content)["error"]
    alike = tmp_path / "alike.csv"
    alike.write_text(
        "post,verdict\n" + "".join(f"{post},1\n" for post in truth), encoding="utf-8"
    )
    status, content = given(served, alike, alike.name)
    said = json.loads(content)["error"]
    assert (
        status == 400
        and said.startswith("alike.csv: says 1 of all")
        and str(folder) not in said
    )
    assert not (folder / "verdicts").exists() and "A machine's verdicts" in page(
        served, "/posts"
    )
    status, content = given(served, file, file.name)
    assert (
        status == 200
        and "labels of 400 of 400 posts" in json.loads(content)["sentence"]
    )

    # Without labels the order is joined and says that nothing has judged it.
    assert "cannot judge the new order yet" in served.json("/api/learn", {})["sentence"]
    (line,) = [
        line for line in commands(served) if line.startswith("siamese-news feedback")
    ]
    assert "--verdicts 'verdicts/gpt 4.csv' --name gpt" in line

    label(served, truth, sorted(wrong)[:3] + sorted(set(truth) - wrong)[:3])
    shown = served.json("/api/posts?annotator=me")["html"]
    assert "gpt (machine)" in shown
    posts, _ = queued(served, "second", annotator="other")
    assert posts and not any("gpt" in post["html"] for post in posts)
    posts, _ = queued(served, "conflict")
    assert {post["post"] for post in posts} == set(sorted(wrong)[:3])
    html = page(served, "/decide")
    assert (
        "gpt: labels of 400 of 400 posts." in html
        and "6 posts labeled by people" in html
    )
    rows = [
        json.loads(row) for row in (folder / "labels.jsonl").read_text().splitlines()
    ]
    assert {row["annotator"] for row in rows} == {"me"}

    done = run(line + " --force", folder)
    assert done.returncode == 0, done.stderr
    assert served.ask("/api/verdicts", method="DELETE")[0] == 200
    assert "Stop using gpt" not in page(served, "/posts") and line in commands(served)
    assert (folder / "verdicts/gpt 4.csv").exists()


@pytest.mark.slow
def test_the_posts_that_teach_most_come_mixed_with_the_certificates(project):
    served, truth, _ = project
    first, _ = queued(served, "teach")
    assert len(first) == 8 and not any("score" in post["html"] for post in first)
    label(served, truth, [post["post"] for post in first])
    known = {post["post"] for post in first}
    waiting = [post["post"] for post in queued(served, "teach")[0]]
    assert not known & set(waiting)
    more, _ = queued(served, "teach", leave=waiting)
    assert not (known | set(waiting)) & {post["post"] for post in more}
    label(served, truth, random.Random(1).sample(sorted(truth), 120))
    assert served.json("/api/learn", {})["helps"]
    assert queued(served, "teach")[0]

    plan = {"precision": ".9", "confidence": ".95", "budget": "100"}
    served.json("/api/plan", plan)
    needed, ahead = queued(served, "sample")
    assert re.match(r"\d+ of 100 labels\.", ahead)
    mixed, _ = queued(served, "mixed")
    drawn = {post["post"] for post in needed}
    assert 0 < sum(post["post"] in drawn for post in mixed) < len(mixed)


def test_unsure_posts_come_back_and_changes_are_shown(project):
    served, truth, _ = project
    first, second, third = sorted(truth)[:3]
    for post in (first, second):
        served.json("/api/labels", {"post": post, "label": "skip", "annotator": "me"})
    posts, _ = queued(served, "unsure")
    assert [post["post"] for post in posts] == [first, second]
    assert "labels were changed" not in page(served, "/decide")
    served.json("/api/labels", {"post": first, "label": "yes", "annotator": "me"})
    served.json("/api/labels", {"post": third, "label": "no", "annotator": "me"})
    assert served.json("/api/labels/undo", {"annotator": "me"})["post"] == third
    assert [post["post"] for post in queued(served, "unsure")[0]] == [second]
    html = page(served, "/decide")
    assert "2 labels were changed" in html
    table = html.split('id="changes-head"')[1].split("</table>")[0]
    assert table.index("undone") < table.index("<td>skip</td><td>yes</td>")
    assert first in table and third in table and second not in table


def page(served, address):
    return served.ask(address)[1].decode()
