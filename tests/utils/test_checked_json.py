"""The JSON of an unfinished run is checked before anything is done with it."""

import json
import zlib
from typing import TypedDict

import pytest

from siamese_news.errors import InputError
from siamese_news.search.partial_results import PartialResults, Progress
from siamese_news.search.sharding.steps import ShardFolder
from siamese_news.utils.checked_json import (
    Count,
    checksum_of,
    fitting,
    read_state,
    write_state,
    write_state_pieces,
)


class Rows(TypedDict):
    rows: Count
    sizes: dict[str, Count]


WHOLE = {"rows": 3, "sizes": {"a": 0}}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"rows": 3}, "required field sizes"),
        (WHOLE | {"rows": -1}, "field rows"),
        (WHOLE | {"rows": 10**30}, "field rows"),
        (WHOLE | {"rows": 1.0}, "field rows"),
        (WHOLE | {"sizes": {"a": True}}, "field sizes"),
        (WHOLE | {"sizes": {"a": -1}}, "field sizes"),
    ],
)
def test_a_state_of_another_form_is_named_with_the_remedy(tmp_path, content, reason):
    path = tmp_path / "state.json"
    write_state(path, content)
    with pytest.raises(
        InputError, match=rf"state\.json: is damaged.*{reason}.*; again"
    ):
        read_state(path, Rows, "again")


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"[" * 100_000, b"[]", json.dumps(WHOLE).encode()]
)
def test_what_was_not_written_as_a_state_is_refused(tmp_path, content):
    path = tmp_path / "state.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match="it differs from its checksum"):
        read_state(path, Rows, "again")


def test_every_changed_byte_is_seen(tmp_path):
    path = tmp_path / "state.json"
    write_state(path, WHOLE)
    content = path.read_bytes()
    for place in range(len(content)):
        for changed in (content[:place], content[:place] + b"0" + content[place + 1 :]):
            if changed != content:
                path.write_bytes(changed)
                with pytest.raises(InputError, match="is damaged"):
                    read_state(path, Rows, "again")


@pytest.mark.parametrize("pieces", [1, 2, 3, 7, 1000])
def test_a_state_is_read_in_whatever_pieces_it_was_written(tmp_path, pieces):
    path = tmp_path / "state.json"
    text = json.dumps(WHOLE)
    size = -(-len(text) // pieces)
    write_state_pieces(path, (text[n : n + size] for n in range(0, len(text), size)))
    assert read_state(path, Rows, "again") == WHOLE
    assert json.loads(path.read_text()).keys() == {*WHOLE, "crc32"}


def test_the_checksum_of_a_file(tmp_path):
    path = tmp_path / "a"
    assert checksum_of(path) == -1
    path.write_bytes(b"x" * 3_000_000)
    assert checksum_of(path) == zlib.crc32(b"x" * 3_000_000)


def test_a_name_that_does_not_fit_is_said_without_signs_of_the_library():
    with pytest.raises(ValueError, match=r"^field sizes: Expected str"):
        fitting({"rows": 1, "sizes": {1: 2}}, Rows)


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
    content = json.loads(path.read_text())
    del content["crc32"]
    return path, content


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
        lambda values: values.update(histogram={"2400": -5}),
    ],
)
def test_a_progress_that_cannot_be_is_refused(tmp_path, change):
    path, content = unfinished(tmp_path / "out")
    change(content["progress"])
    write_state(path, content)
    with pytest.raises(InputError, match=r"field .*remove it and out\.part to start"):
        PartialResults(tmp_path / "out", {"seeds": "x"}, resume=True)
    assert (tmp_path / "out.part").stat().st_size == 10


@pytest.mark.parametrize("shards", [0, -2, "2", None])
def test_parts_that_cannot_be_are_refused(tmp_path, shards):
    ShardFolder(tmp_path / "out").start({"seeds": "x"}, 2)
    path = tmp_path / "out.shards" / "work.json"
    write_state(path, {"job": {"seeds": "x"}, "shards": shards})
    with pytest.raises(InputError, match=r"is damaged.*field shards"):
        ShardFolder(tmp_path / "out").start({"seeds": "x"}, 2)
