"""Models on a hub: what is fetched at a commit, and what an upload consists of."""

import base64
import hashlib
import json
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest

from siamese_news import InputError, Model

pytest.importorskip("huggingface_hub", reason="the extra [hub] is not installed")
POSTS = ["the river is in my cellar", "no trains today", ""]
COMMIT = "0123456789abcdef" * 2 + "01234567"


class Hub(BaseHTTPRequestHandler):
    """The questions that the client asks of the hub, answered from a folder and written to it."""

    def do_HEAD(self):
        self._send_file(head=True)

    def do_GET(self):
        path = self._path()
        files = sorted(self.server.folder.iterdir())
        if "/tree/" in path:
            tree = [
                {"type": "file", "path": f.name, "size": f.stat().st_size, "oid": "0"}
                for f in files
            ]
            self._send(json.dumps(tree).encode())
        elif path.startswith("/api/models/"):
            names = [{"rfilename": file.name} for file in files]
            about = {"id": "a/b", "sha": COMMIT, "siblings": names, "private": True}
            self._send(json.dumps(about).encode())
        else:
            self._send_file()

    def do_POST(self):
        path = self._path()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if path.endswith("/repos/create"):
            self.server.created = json.loads(body)
            self._send(json.dumps({"url": self.server.address + "/a/b"}).encode())
        elif "/preupload/" in path:
            files = [
                {"path": f["path"], "uploadMode": "regular", "shouldIgnore": False}
                for f in json.loads(body)["files"]
            ]
            self._send(json.dumps({"files": files}).encode())
        elif "/commit/" in path:
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    content = base64.b64decode(line["value"]["content"])
                    (self.server.folder / line["value"]["path"]).write_bytes(content)
            url = f"{self.server.address}/a/b/commit/{COMMIT}"
            done = {"commitOid": COMMIT, "commitUrl": url}
            self._send(json.dumps(done).encode())
        else:  # e.g. the check of the card's front matter
            self._send(b"{}")

    def _path(self):
        path = unquote(self.path.partition("?")[0])
        self.server.asked.append(path)
        return path

    def _send_file(self, head=False):
        file = self.server.folder / self._path().rpartition("/")[2]
        if not file.is_file():
            self.send_error(404)
            return
        content = file.read_bytes()
        etag = hashlib.sha256(content).hexdigest()
        self._send(content, head, ETag=f'"{etag}"')

    def _send(self, body, head=False, **headers):
        self.send_response(200)
        headers |= {"Content-Length": str(len(body)), "X-Repo-Commit": COMMIT}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if not head:
            self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A hub on this machine, with an empty repository; no other address is asked."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.address = f"http://127.0.0.1:{server.server_port}"
    server.folder = tmp_path / "repository"
    server.folder.mkdir()
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_a_pushed_model_comes_back_at_its_commit(hub, tmp_path, tiny_model):
    access = {"endpoint": hub.address, "token": False}
    commit = tiny_model.push_to_hub("a/b", card="# Mine", **access)
    assert commit == COMMIT and "private" in str(hub.created)
    names = {file.name for file in hub.folder.iterdir()}
    assert "model.safetensors" in names and "SHA256SUMS" in names
    (hub.folder / "evil.pkl").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    (hub.folder / "modeling.py").write_text("raise SystemExit('it ran')\n")
    hub.asked.clear()
    cache = tmp_path / "cache"
    opened = Model.from_pretrained("a/b", revision=commit, cache_dir=cache, **access)
    expected = tiny_model.eval().encode_posts(POSTS)
    np.testing.assert_array_equal(opened.encode_posts(POSTS), expected)
    fetched = {path.rpartition("/")[2] for path in hub.asked if "/resolve/" in path}
    assert fetched == names and not {"evil.pkl", "modeling.py"} & fetched
    assert all(commit in path for path in hub.asked if "/resolve/" in path)
    shutil.rmtree(hub.folder)  # from now on the cache alone
    again = Model.from_pretrained(
        "a/b", revision=commit, cache_dir=cache, local_files_only=True
    )
    np.testing.assert_array_equal(again.encode_posts(POSTS), expected)


def test_a_changed_file_of_a_hub_is_refused(hub, tmp_path, tiny_model):
    access = {"endpoint": hub.address, "token": False}
    commit = tiny_model.push_to_hub("a/b", card="# Mine", **access)
    words = hub.folder / "vocab.txt"
    words.write_bytes(words.read_bytes().replace(b"\n", b"x\n", 1))
    with pytest.raises(InputError, match=r"vocab\.txt: differs from SHA256SUMS"):
        Model.from_pretrained("a/b", revision=commit, cache_dir=tmp_path, **access)


@pytest.mark.parametrize("revision", ["main", "v1.0", COMMIT[:7], COMMIT.upper(), ""])
def test_a_revision_that_may_change_is_refused(revision):
    with pytest.raises(InputError, match="expected the 40 digits of a commit"):
        Model.from_pretrained("a/b", revision=revision)
    assert Path("a/b").exists() is False
