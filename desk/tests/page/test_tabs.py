"""Labels from four tabs at once: each that was confirmed is on the disk, also after a kill."""

import json
import sys
import threading
from http.client import HTTPConnection, HTTPException
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from served import Served, found_before

_TABS = 4


def _label(served, tab, posts, confirmed, enough):
    connection = HTTPConnection("127.0.0.1", served.port, timeout=30)
    said = 0
    headers = {"Cookie": served.cookie, "Origin": served.base.rstrip("/")}
    try:
        for number, post in enumerate(posts):
            # Every twentieth post has a near-duplicate, which comes next and has its label then.
            row = {
                "post": post,
                "label": "no",
                "annotator": f"tab {tab}",
                "together": number % 20 == 10,
                "seen": said if number % 20 == 11 else 0,
            }
            connection.request("POST", "/api/labels", json.dumps(row), headers)
            answer = connection.getresponse()
            content = json.loads(answer.read())
            assert answer.status == 200, content
            said = content["n"]
            confirmed[tab].append((content["n"], post))
            if sum(map(len, confirmed)) >= 400:
                enough.set()
    except (OSError, HTTPException):
        assert enough.is_set()  # the server was killed
    finally:
        connection.close()


def test_no_confirmed_label_is_lost_when_the_server_is_killed(tmp_path):
    posts = list(found_before(tmp_path / "storm", relevant=500, other=500))
    served = Served(tmp_path / "storm")
    confirmed, enough = [[] for _ in range(_TABS)], threading.Event()
    tabs = [
        threading.Thread(target=_label, args=(served, tab, posts, confirmed, enough))
        for tab in range(_TABS)
    ]
    for tab in tabs:
        tab.start()
    assert enough.wait(120)
    served.kill()
    for tab in tabs:
        tab.join()
    lines = (
        (tmp_path / "storm/labels.jsonl").read_text("utf-8").splitlines(keepends=True)
    )
    written = {}
    for line in lines:
        if line.endswith("\n"):
            row = json.loads(line)
            written[row["n"]] = row["post"], row["annotator"]
    assert sorted(written) == list(range(1, len(written) + 1))
    for tab, labels in enumerate(confirmed):
        assert len(labels) > 20
        assert all(written[number] == (post, f"tab {tab}") for number, post in labels)
    again = Served(tmp_path / "storm")
    shown = again.json("/api/queue?kind=rank&annotator=tab%200&leave=[]")["counts"]
    assert shown["no"] >= len(confirmed[0])
    again.end()
