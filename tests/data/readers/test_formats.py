"""Every format of the registry, by its sample: the file in the folder of the format's name."""

import json
import runpy
from pathlib import Path

import pytest
from typer.testing import CliRunner

from siamese_news.cli import app
from siamese_news.data.readers import open_posts
from siamese_news.data.readers.known_formats import FORMATS

TEXT = "The river is over the bridge"
IDS = [found.name for found in FORMATS]


SAMPLES = {
    path.parent.name: path
    for path in sorted((Path(__file__).parent / "samples").glob("*/*"))
}


@pytest.fixture(params=FORMATS, ids=IDS)
def sample(request):
    return request.param, SAMPLES[request.param.name]


def test_every_sample_is_of_a_format():
    assert set(SAMPLES) == set(IDS)


def test_names_differ():
    assert len(set(IDS)) == len(IDS)


def test_a_sample_is_what_it_is_and_gives_its_post(sample):
    known, path = sample
    stream = open_posts([path], strict=True)
    posts = list(stream)
    assert stream.detected[0].format == known.name
    first = posts[0]
    assert TEXT in " ".join(first.text.split())
    assert first.id
    assert first.metadata["created_at"].endswith("Z")
    link = first.metadata.get("permalink")
    assert link is None or link.startswith("https://")


@pytest.mark.sampled(12)
def test_doctor_says_what_a_sample_is(sample):
    known, path = sample
    done = CliRunner().invoke(app, ["doctor", str(path)])
    assert done.exit_code == 0, done.output
    assert f"{path}: {known.name}" in done.output
    assert "dates from 20" in done.output


JSON = [f for f in FORMATS if SAMPLES[f.name].suffix in (".json", ".jsonl")]


@pytest.mark.parametrize("packing", ["one a line", "in one line", "indented", "twice"])
@pytest.mark.parametrize("known", JSON, ids=lambda found: found.name)
def test_json_is_read_however_it_is_written(known, tmp_path, packing):
    path = SAMPLES[known.name]
    text = path.read_text(encoding="utf-8")
    values = (
        [json.loads(line) for line in text.splitlines()]
        if path.suffix == ".jsonl"
        else None
    )
    values = values or [json.loads(text)]
    if len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    other = tmp_path / "other.json"
    if packing == "one a line":
        other.write_text("".join(json.dumps(value) + "\n" for value in values))
    elif packing == "in one line":
        other.write_text(json.dumps(values))
    elif packing == "indented":
        other.write_text(
            "".join(json.dumps(value, indent=2) + "\n" for value in values)
        )
    else:  # what a script makes that appends one answer to the next
        other.write_text(
            json.dumps([values[0]], indent=1) + json.dumps([values[0]], indent=1)
        )
    stream = open_posts([other])
    again = [(post.id, post.text) for post in stream]
    assert stream.detected[0].format == known.name, packing
    first = open_posts([path])
    assert again == [(post.id, post.text) for post in first]
    if packing != "twice":  # boosts, notices and the like, also those inside pages
        assert stream.counts.skipped == first.counts.skipped


def test_chats_of_one_export_keep_their_ids_apart(tmp_path):
    chat = json.loads(SAMPLES["Telegram Desktop"].read_text(encoding="utf-8"))
    other = {**chat, "id": 99, "type": "personal_chat"}
    path = tmp_path / "result.json"
    path.write_text(
        json.dumps({"about": "all", "chats": {"list": [chat, other]}}, indent=1)
    )
    assert [post.id for post in open_posts([path])] == ["1234567890/2", "99/2"]


def test_a_bad_reply_does_not_cost_its_thread(tmp_path):
    page = json.loads(SAMPLES["YouTube Data API"].read_text(encoding="utf-8"))
    page["items"][0]["replies"]["comments"].insert(
        0, {"kind": "youtube#comment", "id": "x"}
    )
    path = tmp_path / "comments.json"
    path.write_text(json.dumps(page))
    stream = open_posts([path])
    assert [post.id for post in stream] == ["Ugx1", "Ugx1.9z"]
    assert str(stream.counts) == "2 posts read, 1 row rejected (1 unexpected shape)"


def test_the_table_in_the_documents_is_current():
    document = Path(__file__).parents[3] / "docs" / "formats.md"
    text = document.read_text(encoding="utf-8")
    made = runpy.run_path(str(document.parent / "hooks" / "formats.py"))["with_table"]
    assert made(text) == text
