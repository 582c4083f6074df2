"""Bluesky's Jetstream, or another websocket that sends its events."""

import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from siamese_news.data.lines import LINE_CAP
from siamese_news.errors import InputError
from siamese_news.search.watch.stream_sources import (
    TICK,
    Batch,
    Cursor,
    Event,
    LineReader,
)
from siamese_news.utils.extras import needs

PUBLIC = "wss://jetstream2.us-east.bsky.network/subscribe?wantedCollections=app.bsky.feed.post"
"""A public server, which is asked for posts only."""

_EVENT = b'{"did": "did:plc:a", "time_us": 1, "kind": "identity"}\n'
_OVERLAP = 5_000_000  # microseconds that are read again, because events are slightly out of order
_AHEAD = 60  # seconds that a server's clock may be ahead of ours
# Most messages of a batch, and seconds to collect them.
_TOGETHER = 1_000
_COLLECT = 0.5


def jetstream(
    address: str,
    cursor: Cursor,
    fields: Mapping[str, Any],
    *,
    stall: float = 60.0,
    pauses: tuple[float, float] = (1.0, 60.0),
) -> Iterator[Batch]:
    """Events as they arrive; a lost connection is opened again until it succeeds.

    Each connection asks for the events since five seconds before the last one; repeated posts are
    recognized by their ids. If the oldest event of the answer is newer than the last one, the
    server no longer has the events between: a gap. After `stall` seconds without an event the
    connection is opened again. `pauses` are the seconds before the first new attempt and at most;
    each is twice the one before.
    """
    with needs("watch", "--source jetstream"):
        from websockets.exceptions import WebSocketException
        from websockets.sync.client import connect
    if urlsplit(address).scheme not in ("ws", "wss") or not urlsplit(address).hostname:
        raise InputError(f"--source {address}: expected an address such as {PUBLIC}")
    reader = LineReader("jetstream", _EVENT, fields)
    last_time = int(cursor.get("time_us", 0))
    lines = int(cursor.get("lines", 0))
    pause = pauses[0]
    while True:
        resume_time = last_time
        try:
            with connect(_from(address, last_time), max_size=LINE_CAP) as socket:
                for messages in _received(socket, stall):
                    events = []
                    times = _times(messages)
                    if times and resume_time and min(times) > resume_time:
                        gap_start, gap_end = (
                            time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at / 1e6))
                            for at in (resume_time, min(times))
                        )
                        gap = f"the server has nothing from {gap_start} to {gap_end}"
                        events = [Event("gap", f"jetstream: a gap: {gap}")]
                    resume_time = 0 if times else resume_time
                    last_time = max([last_time, *times])
                    pause = pauses[0] if times else pause
                    data = b"".join(messages)
                    at = {"time_us": last_time, "lines": lines + len(messages)}
                    yield reader(data, at, lines, *events)
                    lines += len(messages)
        except (OSError, WebSocketException) as error:
            message = f"jetstream: {type(error).__name__}: {error}; trying again in {pause:g} s"
        yield Batch(
            [],
            {"time_us": last_time, "lines": lines},
            events=[Event("reconnected", message)],
        )
        until = time.monotonic() + pause
        while (seconds_left := until - time.monotonic()) > 0:
            time.sleep(min(seconds_left, TICK))
            yield Batch([], {"time_us": last_time, "lines": lines})
        pause = min(2 * pause, pauses[1])


def _from(address: str, last_time: int) -> str:
    if not last_time:
        return address
    return f"{address}{'&' if urlsplit(address).query else '?'}cursor={max(last_time - _OVERLAP, 1)}"


def _received(socket: Any, stall: float) -> Iterator[list[bytes]]:
    """Messages as lines, those of half a second together; an empty list if there are none.

    Raises:
        TimeoutError: none came for `stall` seconds.
        WebSocketException: the connection is closed.
    """
    from websockets.exceptions import ConnectionClosed

    heard = time.monotonic()
    while True:
        messages: list[bytes] = []
        closed: ConnectionClosed | None = None
        until = time.monotonic() + min(TICK, stall)
        try:
            while (
                len(messages) < _TOGETHER
                and (seconds_left := until - time.monotonic()) > 0
            ):
                messages.append(_line(socket.recv(timeout=seconds_left)))
                until = min(until, time.monotonic() + _COLLECT)
        except TimeoutError:
            pass
        except ConnectionClosed as error:
            closed = error
        heard = time.monotonic() if messages else heard
        yield messages
        if closed is not None:
            raise closed
        if time.monotonic() - heard >= stall:
            raise TimeoutError(f"no event for {stall:g} seconds")


def _line(message: str | bytes) -> bytes:
    data = message.encode("utf-8", "replace") if isinstance(message, str) else message
    return data.replace(b"\n", b" ") + b"\n"


def _times(messages: list[bytes]) -> list[int]:
    """The plausible times of events, in microseconds since 1970."""
    times = []
    limit = int((time.time() + _AHEAD) * 1e6)
    for message in messages:
        try:
            value = msgspec.json.decode(message)["time_us"]
        except (ValueError, TypeError, KeyError, RecursionError):
            continue
        if type(value) is int and 0 < value <= limit:
            times.append(value)
    return times
