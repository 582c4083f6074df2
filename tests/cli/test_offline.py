"""No command and no kind of model opens a connection or asks for a name."""

import csv
import json
import os
import sys

import pytest
from tests.installed import WITH_DESK
from typer.testing import CliRunner

from siamese_news.cli import app
from siamese_news.errors import InputError

ASKED: list[str] | None = None
STORY = "A flood. The river took the bridge and filled every cellar of the town."
POSTS = ["the river is in my cellar", "a new phone", "flood at the bridge", ""]


def heard(event, arguments):
    """Note what would leave this process, while a test listens; a hook cannot be removed."""
    local = event in ("socket.__new__", "socket.gethostname", "socket.bind")
    if ASKED is not None and event.startswith("socket.") and not local:
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

    with pytest.raises(OSError, match="the network was asked"):
        socket.getaddrinfo("example.org", 80)
    assert asked


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


@pytest.mark.skipif(not WITH_DESK, reason="the desk is not installed")
def test_the_desk_asks_nobody(files, asked):
    rows = [
        {"post": f"p{n}", "score": 1 - n / 400, "text": f"river {n}", "rank": n + 1}
        for n in range(300)
    ]
    lines = "".join(json.dumps({"article": "a", **row}) + "\n" for row in rows)
    (files / "found.jsonl").write_text(lines)
    results = ("--results", "found.jsonl")
    run("sample", *results, "--precision", ".8", "--out", "sheet.csv")
    sheet = files / "sheet.csv"
    with sheet.open(encoding="utf-8-sig", newline="") as stream:
        labeled = [{**row, "label": "1"} for row in csv.DictReader(stream)]
    with sheet.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(labeled[0]))
        writer.writeheader()
        writer.writerows(labeled)
    run("certify", "--labels", "sheet.csv")
    run("certify", "--check", "sheet.certificate.json")
    run("feedback", *results, "--next", "next.csv")
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


def test_dependencies_are_told_to_count_no_uses(monkeypatch):
    """Those that report to their makers unless told otherwise: the model hub's client, Ray."""
    from siamese_news.model import foreign
    from siamese_news.search.sharding import workers

    assert foreign._OFFLINE["HF_HUB_DISABLE_TELEMETRY"] == "1"

    class Ray:
        @staticmethod
        def init(**options):
            raise ValueError(os.environ.get("RAY_USAGE_STATS_ENABLED"))

    monkeypatch.delenv("RAY_USAGE_STATS_ENABLED", raising=False)
    monkeypatch.setattr(workers, "ray", lambda: Ray)
    with pytest.raises(InputError, match=r"connect to Ray \(0\)"):
        with workers.ray_workers(1, None, None):
            pass
    os.environ.pop("RAY_USAGE_STATS_ENABLED")
