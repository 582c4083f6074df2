"""`push` and `pull` as processes, against a stand-in for the hub on the loopback."""

import base64
import hashlib
import json
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from siamese_news.model.base import PRETRAINED
from tests.commands import siamese_news

pytest.importorskip("huggingface_hub", reason="the extra [hub] is not installed")
COMMIT = "1f0c2ab" + "0" * 33


class Hub(BaseHTTPRequestHandler):
    """One repository in memory; of the API what push and pull use."""

    files: dict[str, bytes]
    private = False
    address = ""

    def log_message(self, *_):
        pass

    def answer(self, value, code=200, **headers):
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(code)
        for name, content in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), content)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        if self.headers.get("Authorization") != "Bearer hf_right":
            error = {"X_Error_Message": "Invalid user token"}
            return self.answer({"error": "Invalid user token"}, 401, **error)
        if self.path == "/api/repos/create":
            type(self).private = json.loads(body).get("visibility") == "private"
            return self.answer({"url": f"{self.address}/me/model"})
        if self.path == "/api/validate-yaml":
            return self.answer({"errors": [], "warnings": []})
        if "/preupload/" in self.path:
            names = [one["path"] for one in json.loads(body)["files"]]
            plain = {"uploadMode": "regular", "shouldIgnore": False, "oid": None}
            return self.answer({"files": [{"path": name, **plain} for name in names]})
        if "/commit/" in self.path:
            for line in body.splitlines():
                row = json.loads(line)
                if row["key"] == "file":
                    self.files[row["value"]["path"]] = base64.b64decode(row["value"]["content"])
            url = f"{self.address}/me/model/commit/{COMMIT}"
            return self.answer({"commitUrl": url, "commitOid": COMMIT, "success": True})
        return self.answer({}, 404)

    def do_GET(self):
        if not self.path.removeprefix("/api/models").startswith("/me/model"):
            return self.answer({}, 404, X_Error_Code="RepoNotFound")
        if self.path.startswith("/api/") and "/tree/" in self.path:
            oid = {name: hashlib.sha1(data).hexdigest() for name, data in self.files.items()}
            rows = [
                {"type": "file", "path": name, "size": len(data), "oid": oid[name]}
                for name, data in self.files.items()
            ]
            return self.answer(rows, **{"Content-Type": "application/json"})
        if self.path.startswith("/api/"):
            siblings = [{"rfilename": name} for name in self.files]
            return self.answer(
                {"id": "me/model", "sha": COMMIT, "siblings": siblings, "private": self.private}
            )
        name = self.path.split("/resolve/")[1].partition("/")[2].partition("?")[0]
        if name not in self.files:
            return self.answer({}, 404, X_Error_Code="EntryNotFound")
        tag = f'"{hashlib.sha1(self.files[name]).hexdigest()}"'
        return self.answer(self.files[name], ETag=tag, X_Repo_Commit=COMMIT)

    do_HEAD = do_GET


@pytest.fixture
def hub():
    handler = type("OneHub", (Hub,), {"files": {".gitattributes": b"* text\n"}})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        handler.address = f"http://127.0.0.1:{server.server_port}"
        yield handler
        server.shutdown()
        thread.join()


@pytest.fixture
def run(hub, tmp_path, monkeypatch):
    def call(*arguments, token="hf_right", endpoint=None):
        monkeypatch.setenv("HF_ENDPOINT", endpoint or hub.address)
        monkeypatch.setenv("HF_TOKEN", token)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        return siamese_news(*arguments, timeout=120)

    return call


def test_a_model_comes_back_as_it_went(hub, run, tmp_path):
    done = run("push", "--model", PRETRAINED, "--repo", "me/model", "--private")
    assert done.returncode == 0, done.stderr
    assert COMMIT in done.stderr and hub.private
    done = run("pull", "--repo", "me/model", "--out", tmp_path / "mine", "--revision", COMMIT)
    assert done.returncode == 0, done.stderr
    names = {path.name for path in Path(PRETRAINED).iterdir() if path.is_file()}
    assert {path.name for path in (tmp_path / "mine").iterdir()} == names
    for name in names:
        assert (tmp_path / "mine" / name).read_bytes() == (Path(PRETRAINED) / name).read_bytes()
    again = run("pull", "--repo", "me/model", "--out", tmp_path / "mine")
    assert again.returncode == 2 and "exists already" in again.stderr


def test_what_is_wrong_is_said_in_one_line_and_nothing_is_left(hub, run, tmp_path):
    assert run("push", "--model", PRETRAINED, "--repo", "me/model").returncode == 0
    hub.files["vocab.txt"] += b"more\n"
    config = json.loads(hub.files["config.json"])
    damaged = run("pull", "--repo", "me/model", "--out", tmp_path / "mine")
    hub.files["config.json"] = json.dumps(config | {"format": 99}).encode()
    newer = run("pull", "--repo", "me/model", "--out", tmp_path / "mine")
    hub.files.clear()
    hub.files["readme.txt"] = b"nothing"
    other = run("pull", "--repo", "me/model", "--out", tmp_path / "mine")
    none = run("pull", "--repo", "me/none", "--out", tmp_path / "mine")
    away = run(
        "pull", "--repo", "me/model", "--out", tmp_path / "mine", endpoint="http://127.0.0.1:9"
    )
    refused = run("push", "--model", PRETRAINED, "--repo", "me/model", token="hf_wrong")
    empty = run("push", "--model", tmp_path, "--repo", "me/model")
    for done in (damaged, newer, other, none, away, refused, empty):
        assert done.returncode == 2, done.stderr
        assert "Traceback" not in done.stderr and done.stderr.startswith("siamese-news: ")
    assert "vocab.txt" in damaged.stderr
    assert "token" in refused.stderr
    assert not [path for path in tmp_path.iterdir() if "mine" in path.name]


def test_a_folder_of_another_library_is_pulled_and_needs_no_library(hub, run, tmp_path):
    hub.files |= {"modules.json": b"[]", "config.json": b"{}"}
    done = run("pull", "--repo", "me/model", "--out", tmp_path / "minilm")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "minilm" / "modules.json").exists()
    shutil.rmtree(tmp_path / "minilm")
