"""The JSON of an unfinished run is checked before anything is done with it."""

import json
from typing import TypedDict

import pytest

from siamese_news.errors import InputError
from siamese_news.search.partial_results import PartialResults, Progress
from siamese_news.search.sharding.steps import ShardFolder
from siamese_news.utils.records import Count, read_state


class Rows(TypedDict):
    rows: Count
    sizes: dict[str, Count]


WHOLE = {"rows": 3, "sizes": {"a": 0}}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "Expecting value"),
        (b"\xff", "decode"),
        (b"[" * 100_000, "recursion"),
        (b"[]", "expected object"),
        (b'{"rows": 3}', "required field sizes"),
        (json.dumps(WHOLE | {"rows": -1}).encode(), "field rows"),
        (json.dumps(WHOLE | {"rows": 10**30}).encode(), "field rows"),
        (json.dumps(WHOLE | {"rows": 1.0}).encode(), "field rows"),
        (json.dumps(WHOLE | {"sizes": {"a": True}}).encode(), "field sizes"),
    ],
)
def test_a_damaged_state_names_the_file_the_reason_and_the_remedy(
    tmp_path, content, reason
):
    path = tmp_path / "state.json"
    path.write_bytes(content)
    with pytest.raises(
        InputError, match=r"state\.json: is damaged .*; start over"
    ) as e:
        read_state(path, Rows, "start over")
    assert reason.lower() in str(e.value).lower()


def test_a_whole_state_is_read(tmp_path):
    path = tmp_path / "state.json"
    path.write_text(json.dumps(WHOLE))
    assert read_state(path, Rows, "start over") == WHOLE


def unfinished(out):
    """The files of a run that stopped after 5 rows, and the JSON of its progress."""
    results = PartialResults(out, {"seeds": "x"}, resume=False)
    results.append([b"1\n"] * 5)
    results.progress.blocks = 1
    results.progress.state = b"observed"
    results.progress.histogram = {"0": 1, "2400": 3, "3999": 1}
    results.save()
    results.close()
    path = out.with_name(out.name + ".part.json")
    return path, json.loads(path.read_text())


def test_progress_is_read_as_it_was_written(tmp_path):
    unfinished(tmp_path / "out")
    progress = PartialResults(tmp_path / "out", {"seeds": "x"}, resume=True).progress
    assert progress == Progress(
        1, 10, 5, 0, {"0": 1, "2400": 3, "3999": 1}, b"observed", False
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda values: values.pop("rows"),
        lambda values: values.pop("observed"),
        lambda values: values.update(blocks=-1),
        lambda values: values.update(size=-10),
        lambda values: values.update(scored="5"),
        lambda values: values.update(state="no base64"),
        lambda values: values.update(histogram={"-1": 5}),
        lambda values: values.update(histogram={"4000": 5}),
        lambda values: values.update(histogram={"2400": -5}),
    ],
)
def test_a_progress_that_cannot_be_is_refused(tmp_path, change):
    path, content = unfinished(tmp_path / "out")
    change(content["progress"])
    path.write_text(json.dumps(content))
    with pytest.raises(
        InputError, match="is damaged .*remove it and out.part to start"
    ):
        PartialResults(tmp_path / "out", {"seeds": "x"}, resume=True)
    assert (tmp_path / "out.part").stat().st_size == 10


@pytest.mark.parametrize("shards", [0, -2, "2", None])
def test_parts_that_cannot_be_are_refused(tmp_path, shards):
    ShardFolder(tmp_path / "out").start({"seeds": "x"}, 2)
    path = tmp_path / "out.shards" / "work.json"
    path.write_text(json.dumps({"job": {"seeds": "x"}, "shards": shards}))
    with pytest.raises(InputError, match="is damaged .*field shards"):
        ShardFolder(tmp_path / "out").start({"seeds": "x"}, 2)
