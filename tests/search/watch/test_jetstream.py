"""A server on the loopback that replays, cuts, stalls, repeats, reorders and sends rubbish."""

import json
import threading
import time
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import pytest

from siamese_news.errors import InputError
from siamese_news.search.query import FILTER

server = pytest.importorskip(
    "websockets.sync.server", reason="the extra [watch] is missing"
)
from siamese_news.search.watch.jetstream import jetstream  # noqa: E402

START = 1_700_000_000_000_000  # microseconds
SECOND = 1_000_000
PAUSES = (0.05, 0.1)


def event(number, text="a flood", **more):
    return json.dumps(
        {
            "did": "did:plc:a",
            "time_us": START + number * SECOND,
            "kind": "commit",
            "commit": {
                "operation": "create",
                "collection": "app.bsky.feed.post",
                "rkey": f"k{number}",
                "record": {
                    "text": f"{text} {number}",
                    "createdAt": "2023-11-14T22:13:20Z",
                },
            },
        }
        | more
    )


@contextmanager
def replaying(answer):
    """An address where each connection, by its number and cursor, gets what `answer` sends."""
    asked = []

    def handle(socket):
        query = parse_qs(urlsplit(socket.request.path).query)
        asked.append(int(query["cursor"][0]) if "cursor" in query else None)
        answer(socket, len(asked), asked[-1])

    with server.serve(handle, "127.0.0.1", 0) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        try:
            yield f"ws://127.0.0.1:{running.socket.getsockname()[1]}/subscribe", asked
        finally:
            running.shutdown()
            thread.join()


def first_ids(batches, many, seconds=20):
    """The ids of so many different posts, in order of their first appearance, and the events."""
    found, events, until, last = {}, [], time.monotonic() + seconds, None
    for batch in batches:
        last = batch
        events += [one.name for one in batch.events]
        found.update({post.id.rsplit("/", 1)[-1]: None for post in batch.posts})
        assert time.monotonic() < until
        if len(found) >= many:
            return list(found), events, last
    raise AssertionError


def test_a_connection_that_is_cut_is_opened_again_a_little_earlier():
    def answer(socket, number, cursor):
        for at in range(20):
            if cursor is None or START + at * SECOND > cursor:
                socket.send(event(at))
            if number == 1 and at == 8:
                return  # the server closes

    with replaying(answer) as (address, asked):
        found, events, _ = first_ids(
            jetstream(address, {}, FILTER.reading(), pauses=PAUSES), 20
        )
    assert found == [f"k{n}" for n in range(20)]
    assert asked == [None, START + 3 * SECOND]
    assert events == ["reconnected"]


def test_a_server_that_stalls_is_asked_again():
    def answer(socket, number, cursor):
        for at in range(5 if number == 1 else 10):
            socket.send(event(at))
        if number == 1:
            time.sleep(1)

    with replaying(answer) as (address, _):
        batches = jetstream(address, {}, FILTER.reading(), stall=0.5, pauses=PAUSES)
        found, events, _ = first_ids(batches, 10)
    assert found == [f"k{n}" for n in range(10)]
    assert events == ["reconnected"]


def test_a_gap_is_said_once_and_reading_continues():
    def answer(socket, number, cursor):
        assert cursor == START + 95 * SECOND
        for at in range(500, 503):
            socket.send(event(at))

    with replaying(answer) as (address, _):
        cursor = {"time_us": START + 100 * SECOND, "lines": 7}
        batches = jetstream(address, cursor, FILTER.reading(), pauses=PAUSES)
        found, events, last = first_ids(batches, 3)
    assert found == ["k500", "k501", "k502"]
    assert events == ["gap"]
    assert last.cursor == {"time_us": START + 502 * SECOND, "lines": 10}
    (said,) = [one.message for one in last.events]
    assert "2023-11-14T22:15:00Z to 2023-11-14T22:21:40Z" in said


def test_rubbish_order_and_clocks_that_are_ahead():
    ahead = int((time.time() + 86_400) * 1e6)
    messages = [
        event(2),
        event(1),
        event(1),
        "{",
        "[]",
        "null",
        '"text"',
        "\n\n",
        "{}",
        b"\xff\xfe\x00",
        event(4, time_us=ahead),
        event(5, time_us="soon"),
        event(6, time_us=-1),
        event(7, commit=None),
        json.dumps({"kind": "identity", "time_us": START}),
        event(3),
    ]

    def answer(socket, number, cursor):
        for one in messages:
            socket.send(one)
        time.sleep(1)

    with replaying(answer) as (address, _):
        batches = jetstream(address, {}, FILTER.reading(), pauses=PAUSES)
        found, _, last = first_ids(batches, 6)
    assert found == ["k2", "k1", "k4", "k5", "k6", "k3"]
    # A clock that is ahead moves no cursor.
    assert last.cursor["time_us"] == START + 7 * SECOND
    assert len(last.rejections) >= 3


def test_nobody_answers_and_addresses_that_are_none():
    batches = jetstream("ws://127.0.0.1:9/x", {}, FILTER.reading(), pauses=PAUSES)
    events = [one.message for _ in range(6) for one in next(batches).events]
    assert (
        events
        and "ConnectionRefusedError" in events[0]
        and "trying again in 0.05 s" in events[0]
    )
    assert any("trying again in 0.1 s" in said for said in events)
    with pytest.raises(InputError, match="expected an address such as wss://"):
        next(jetstream("http://127.0.0.1", {}, FILTER.reading()))
