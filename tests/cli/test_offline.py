"""No command and no kind of model opens a connection or asks for a name."""

import csv
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from packaging.requirements import Requirement
from tests.installed import WITH_DESK, needs_desk
from typer.testing import CliRunner

from siamese_news.cli import app
from siamese_news.errors import InputError

ASKED: list[str] | None = None
SERVING = False  # a server and its browser talk to each other on this machine
LOOPBACK = ("127.0.0.1", "::1")
STORY = "A flood. The river took the bridge and filled every cellar of the town."
POSTS = ["the river is in my cellar", "a new phone", "flood at the bridge", ""]


def heard(event, arguments):
    """Note what would leave this process, while a test listens; a hook cannot be removed."""
    if ASKED is None or not event.startswith("socket."):
        return
    if event in ("socket.__new__", "socket.gethostname"):
        return
    if event == "socket.bind" or SERVING:
        address = arguments if event == "socket.getaddrinfo" else arguments[1]
        if address[0] in LOOPBACK:
            return
    ASKED.append(f"{event}{arguments}")
    raise OSError("the network was asked")


sys.addaudithook(heard)


@pytest.fixture
def asked():
    global ASKED
    ASKED = []
    yield ASKED
    ASKED = None


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIAMESE_NEWS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "a.txt").write_text(STORY)
    rows = [{"id": str(n), "text": text} for n, text in enumerate(POSTS)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "p.jsonl").write_text(lines)
    others = [
        json.dumps({"id": f"x{n}", "text": "my cat sleeps"}) + "\n" for n in range(9)
    ]
    (tmp_path / "more.jsonl").write_text(lines + "".join(others))
    return tmp_path


def run(*arguments):
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output


SEARCH = ("--articles", "a.txt", "--posts", "p.jsonl")


def test_the_guard_hears_a_look_up(asked):
    import socket

    with socket.socket() as endpoint:
        endpoint.bind(("127.0.0.1", 0))
        for outside in (
            lambda: socket.getaddrinfo("example.org", 80),
            lambda: endpoint.connect(("127.0.0.1", 9)),
            lambda: endpoint.connect(("192.0.2.1", 9)),
            lambda: endpoint.bind(("0.0.0.0", 0)),
        ):
            with pytest.raises(OSError, match="the network was asked"):
                outside()
    assert len(asked) == 4


def test_no_command_asks_the_network(files, asked, monkeypatch):
    run("rank", *SEARCH, "--out", "rank.jsonl")
    run("filter", *SEARCH, "--min-score", "0.01", "--out", "filter.csv")
    run("explain", *SEARCH, "--post", "0")
    run("keywords", "--results", "rank.jsonl", "--posts", "more.jsonl")
    run("index", "--posts", "p.jsonl", "--out", "i")
    run("rank", "--articles", "a.txt", "--index", "i", "--top", "2")
    run("report", "--results", "rank.jsonl", "--out", "r.html")
    run("rank", *SEARCH, "--second-look", "star", "--one-story", "--dedupe")
    run("threads", "--results", "rank.jsonl", "--posts", "p.jsonl", "--out", "t.csv")
    stream = ("--source", "stdin", "--min-score", "0.01", "--out", "w.jsonl")
    with (files / "p.jsonl").open() as posts, monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", posts)  # the runner's has no file descriptor
        app(["watch", "--articles", "a.txt", *stream], standalone_mode=False)
    assert "flood at the bridge" in (files / "w.jsonl").read_text()
    run("doctor")
    assert asked == []


def test_a_reranker_asks_nobody(files, asked):
    import torch

    from siamese_news.encoders import TokenEmbedding
    from siamese_news.model.reranker import TextRanker
    from siamese_news.text import Vocabulary

    words = ["flood", "river", "bridge"]
    ranker = {"class": "PAtt", "filters": 6, "widths": [2], "dropout": 0.0, "hidden": 5}
    head = {"head_hidden": 4, "head_order": "relu-norm", "head_dropout": 0.0}
    TextRanker(
        vocabulary=Vocabulary(words, unknown="hash"),
        embedding=TokenEmbedding(torch.ones(3, 4), trainable=False),
        ranker={**ranker, **head},
        exact_match=True,
        tokenizer={"hashtags": "both"},
    ).save(files / "ranker", card="")
    query = ("--query", "river flood", "--posts", "p.jsonl")
    run("rerank", "--model", "ranker", *query, "--first-stage", "bm25")
    assert asked == []


def scored(path):
    rows = [
        {
            "article": "a",
            "post": f"p{n}",
            "score": 1 - n / 400,
            "relevance": round(0.99 - n / 310, 6),
            "text": f"river {n}",
            "rank": n + 1,
        }
        for n in range(300)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def label(sheet):
    with open(sheet, encoding="utf-8-sig", newline="") as stream:
        labeled = [{**row, "label": "1"} for row in csv.DictReader(stream)]
    with open(sheet, "w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(labeled[0]))
        writer.writeheader()
        writer.writerows(labeled)


@needs_desk
def test_no_command_of_the_desk_asks_the_network(files, asked):
    scored(files / "found.jsonl")
    results = ("--results", "found.jsonl")
    run("sample", *results, "--precision", ".8", "--out", "sheet.csv")
    label("sheet.csv")
    run("certify", "--labels", "sheet.csv")
    run("certify", "--check", "sheet.certificate.json")
    run("feedback", *results, "--next", "next.csv")
    run("audit", *results, "--budget", "20", "--out", "audit.csv", "--again")
    label("audit.csv")
    run("audit", "--labels", "audit.csv")
    run("sample", "--for", "relevance", *results, "--out", "own.csv")
    label("own.csv")
    run("relevance", *results, "--labels", "own.csv", "--out", "map.json")
    assert asked == []


class Browser(threading.Thread):
    """Opens every view of the page, searches, labels and takes the list; then presses Ctrl-C."""

    def __init__(self, file):
        super().__init__(daemon=True)
        self._address = re.search(r"url=(\S+?)\"", file.read_text())[1]
        self.statuses = {}
        self.files = b""

    def run(self):
        try:
            self._visit()
        finally:
            signal.raise_signal(signal.SIGINT)

    def _visit(self):
        address = urlsplit(self._address)
        host = f"http://127.0.0.1:{address.port}"
        page = http.client.HTTPConnection("127.0.0.1", address.port, timeout=100)
        headers = {"Origin": host, "Content-Type": "application/json"}

        def ask(path, row=None):
            body = None if row is None else json.dumps(row)
            page.request("GET" if row is None else "POST", path, body, headers)
            answer = page.getresponse()
            content = answer.read()
            self.statuses[path] = answer.status
            return answer, content

        opened, _ = ask(f"/?{address.query}")
        headers["Cookie"] = opened.headers["Set-Cookie"].partition(";")[0]
        ask("/api/search", {"keep_by": "score", "threshold": "0.01"})
        ask("/api/search/events")  # until it has ended
        for view in ("/", "/posts", "/label", "/decide", "/hand-over", "/api/posts"):
            ask(view)
        ask("/api/labels", {"post": "0", "label": "yes", "annotator": "ana"})
        _, self.files = ask("/files/csv")


@needs_desk
@pytest.mark.slow  # its server and its visitor share a process, so a busy machine may cut them off
def test_a_running_desk_uses_the_loopback_address_only(files, asked, monkeypatch):
    """Its search is a process of its own, the command `filter`, which has a test above."""
    import webbrowser

    browsers = []

    def open_page(uri):
        browsers.append(Browser(Path(unquote(urlsplit(uri).path))))
        browsers[0].start()
        return True

    monkeypatch.setattr(webbrowser, "open", open_page)
    monkeypatch.setattr(sys.modules[__name__], "SERVING", True)
    done = CliRunner().invoke(app, ["desk", "--project", "storm", *SEARCH])
    (browser,) = browsers
    browser.join(60)
    assert set(browser.statuses.values()) == {200}, (browser.statuses, done.output)
    assert b"flood at the bridge" in browser.files
    assert asked == []


def save_transformer(folder, pairs):
    """A tiny transformer with its tokenizer, saved by the library in a folder of its own."""
    sentence_transformers = pytest.importorskip("sentence_transformers")
    import transformers

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "flood", "river", "phone"]
    plain = folder.with_name("plain")
    plain.mkdir(exist_ok=True)
    (plain / "vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizerFast(str(plain / "vocab.txt")).save_pretrained(plain)
    sizes = {
        "vocab_size": len(words),
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 8,
    }
    if pairs:
        config = transformers.BertConfig(**sizes, num_labels=1)
        model = transformers.BertForSequenceClassification(config)
        model.save_pretrained(plain)
        sentence_transformers.CrossEncoder(str(plain)).save(str(folder))
        return
    transformers.BertModel(transformers.BertConfig(**sizes)).save_pretrained(plain)
    sentence_transformers.SentenceTransformer(str(plain)).save(str(folder))


@pytest.mark.slow
@pytest.mark.parametrize(("option", "pairs"), [("model", 0), ("second-look", 1)])
def test_no_transformer_asks_the_network(files, asked, option, pairs, monkeypatch):
    """Nor for a folder whose path looks like a name of the hub."""
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    folder = files / "janes-secret-project" / "minilm"
    folder.parent.mkdir()
    save_transformer(folder, pairs)
    asked.clear()
    run("rank", *SEARCH, f"--{option}", "janes-secret-project/minilm")
    if not pairs:
        run("rank", *SEARCH, "--second-look", "janes-secret-project/minilm")
    assert asked == []
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "a/b"}')
    result = CliRunner().invoke(
        app, ["rank", *SEARCH, f"--{option}", "janes-secret-project/minilm"]
    )
    assert result.exit_code == 2 and "is an adapter" in result.output
    assert asked == []


@pytest.mark.parametrize("library", ["sentence_transformers", "model2vec"])
def test_libraries_of_models_are_imported_offline(tmp_path, monkeypatch, library):
    """Their clients of the hub read the environment at their import, and never again."""
    from siamese_news.model import foreign

    for name in foreign._OFFLINE:
        monkeypatch.setenv(name, "0")
    line = "import os\nATIMPORT = dict(os.environ)\n"
    (tmp_path / f"{library}.py").write_text(line)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, library, raising=False)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.safetensors").touch()
    with pytest.raises(InputError, match="Nothing"):
        foreign.open_foreign(tmp_path / "model", library, "Nothing")
    at_import = sys.modules.pop(library).ATIMPORT
    assert {at_import[name] for name in foreign._OFFLINE} == {"1"}
    assert set(foreign._OFFLINE) >= {"HF_HUB_OFFLINE", "HF_HUB_DISABLE_TELEMETRY"}


_IMPORTS = """
import importlib, sys, time
asked = []
def heard(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.getaddrinfo"):
        asked.append(f"{event}{arguments}")
        raise OSError("the network was asked")
sys.addaudithook(heard)
for name in sys.argv[1:]:
    importlib.import_module(name)
time.sleep(1)  # for what a thread sends
assert not asked, asked
"""


@pytest.mark.slow
def test_no_dependency_asks_the_network_at_its_import():
    """Whatever of ours and of the extras is installed, in a process without settings of the hub."""
    modules = packages_distributions()
    wanted = {"siamese-news"}
    packages = ["siamese-news", *(["siamese-news-desk"] if WITH_DESK else [])]
    for line in (line for package in packages for line in requires(package) or ()):
        wanted.add(re.sub(r"[-_.]+", "-", Requirement(line).name).lower())
    names = [
        module
        for module, owners in modules.items()
        if module.isidentifier()
        and not module.startswith("_")
        and any(re.sub(r"[-_.]+", "-", owner).lower() in wanted for owner in owners)
    ]
    assert {"torch", "siamese_news"} <= set(names)
    settings = ("HF_", "TRANSFORMERS_", "DO_NOT_TRACK")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(settings)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", _IMPORTS, *names],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_dependencies_are_told_to_count_no_uses():
    """The one that reports to its makers unless told otherwise: the model hub's client."""
    from siamese_news.model import foreign

    assert foreign._OFFLINE["HF_HUB_DISABLE_TELEMETRY"] == "1"
