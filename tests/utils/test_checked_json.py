"""The JSON of an unfinished run is checked before anything is done with it."""

import json
import zlib
from typing import TypedDict

import pytest

from siamese_news.errors import InputError
from siamese_news.utils.checked_json import (
    Count,
    checksum_of,
    fitting,
    read_state,
    read_state_and_data,
    write_state,
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


@pytest.mark.parametrize("data", [b"x", b"\n", b', "crc32": 5}', bytes(range(256))])
def test_bytes_come_back_and_every_changed_one_is_seen(tmp_path, data):
    path = tmp_path / "state.json"
    write_state(path, WHOLE, data)
    assert read_state_and_data(path, Rows, "again") == (WHOLE, data)
    assert json.loads(path.read_bytes().splitlines()[0]).keys() == {*WHOLE, "crc32"}
    content = path.read_bytes()
    for place in range(len(content)):
        for changed in (
            content[:place],
            content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :],
        ):
            path.write_bytes(changed)
            with pytest.raises(InputError, match="is damaged"):
                read_state_and_data(path, Rows, "again")


def test_the_checksum_of_a_file(tmp_path):
    path = tmp_path / "a"
    assert checksum_of(path) == -1
    path.write_bytes(b"x" * 3_000_000)
    assert checksum_of(path) == zlib.crc32(b"x" * 3_000_000)


def test_a_name_that_does_not_fit_is_said_without_signs_of_the_library():
    with pytest.raises(ValueError, match=r"^field sizes: Expected str"):
        fitting({"rows": 1, "sizes": {1: 2}}, Rows)
