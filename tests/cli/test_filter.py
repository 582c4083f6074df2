"""`siamese-news filter`: what is kept, and that a cut-off run goes on to the same bytes."""

import errno
import json
import os
import random
import signal
import subprocess
import sys
from copy import copy

import pytest
from typer.testing import CliRunner

from siamese_news.cli import app
from siamese_news.search import filtering, scan
from siamese_news.search.sharding import steps

WORDS = [
    "flood",
    "river",
    "water",
    "town",
    "bridge",
    "vote",
    "mayor",
    "fire",
    "train",
    "the",
]
BLOCK = 40
POSTS = 400

# The command as a process that blocks are small for, and that dies at a given one.
DIES = """
import os, signal, sys
from siamese_news.search import filtering, scan
from siamese_news.search.sharding import steps
scan.BLOCK = {block}
steps._SECONDS = {seconds}
lines = filtering._lines
def dying(scorer, seeds, block, *rest):
    found = lines(scorer, seeds, block, *rest)
    if block.number == {dies}:
        os.kill(os.getpid(), signal.{signal})
    return found
filtering._lines = dying
from siamese_news.cli import app
app(sys.argv[1:])
"""


@pytest.fixture
def files(tmp_path, tiny_model, monkeypatch):
    monkeypatch.setattr(scan, "BLOCK", BLOCK)
    monkeypatch.setattr(steps, "_SECONDS", 0.0)
    tiny_model.save(tmp_path / "model", card="")
    (tmp_path / "story.txt").write_text(
        "Flood in the town\n\nThe river took the bridge.\n"
    )
    dice = random.Random(1)
    with (tmp_path / "posts.jsonl").open("w") as stream:
        for number in range(POSTS):
            text = " ".join(dice.choices(WORDS, k=dice.randint(0, 5)))
            stream.write(
                json.dumps({"id": f"p{number}", "text": text, "lang": "en"}) + "\n"
            )
    return tmp_path


def command(files, *more, out="out.jsonl", threshold=0.4):
    return [
        "filter",
        "--model",
        files / "model",
        "--articles",
        files / "story.txt",
        "--posts",
        files / "posts.jsonl",
        "--min-score",
        threshold,
        "--out",
        files / out,
        *more,
    ]


def run(files, *more, **options):
    return CliRunner().invoke(app, list(map(str, command(files, *more, **options))))


def cut_off(files, *more, dies, how="SIGKILL", seconds=0.0, **options):
    """A real process that a signal ends inside block `dies`."""
    code = DIES.format(block=BLOCK, dies=dies, signal=how, seconds=seconds)
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, command(files, *more, **options))],
        capture_output=True,
        text=True,
        timeout=120,
    )


def left(files):
    return sorted(path.name for path in files.iterdir() if "out" in path.name)


def test_it_keeps_what_rank_puts_at_or_over_the_threshold(files):
    done = run(files)
    assert done.exit_code == 0, done.stderr
    rows = [json.loads(line) for line in (files / "out.jsonl").read_text().splitlines()]
    whole = CliRunner().invoke(
        app,
        [
            "rank",
            "--model",
            str(files / "model"),
            "--articles",
            str(files / "story.txt"),
            "--posts",
            str(files / "posts.jsonl"),
            "--top",
            str(POSTS),
            "--format",
            "jsonl",
        ],
    )
    ranked = [json.loads(line) for line in whole.stdout.splitlines()]
    expected = [row for row in ranked if row["score"] >= 0.4]
    assert 0 < len(rows) < POSTS
    same = ("article", "rank", "score", "post", "text", "lang", "terms")
    assert [[r[k] for k in same] for r in rows] == [
        [r[k] for k in same] for r in expected
    ]
    meta = json.loads((files / "out.jsonl.meta.json").read_text())
    assert meta["threshold"] == 0.4
    assert meta["counts"]["kept"] == len(rows)
    assert meta["counts"]["scored"] == sum(meta["histogram"]["counts"]) == POSTS
    assert left(files) == ["out.jsonl", "out.jsonl.meta.json"]


@pytest.mark.parametrize("how", ["SIGKILL", "SIGINT"])
def test_a_cut_off_run_goes_on_to_the_same_bytes(files, how):
    assert run(files, out="whole_out.csv").exit_code == 0
    block = random.Random(how).randrange(1, POSTS // BLOCK)
    cut = cut_off(files, out="out.csv", dies=block, how=how)
    if how == "SIGKILL":
        assert cut.returncode == -signal.SIGKILL
    else:
        assert cut.returncode == 130
        assert "the same command with --resume" in cut.stderr
    assert not (files / "out.csv").exists()
    with (files / "out.csv.part/00001.rows").open("ab") as stream:
        stream.write(b'{"half a li')  # what was being written
    again = run(files, out="out.csv")
    assert again.exit_code == 2
    assert "left by an unfinished run; continue with --resume" in again.stderr
    if how == "SIGKILL":  # as if it came between the output and its .meta.json
        (files / "out.csv").write_text("rows of this run\n")
    done = run(files, "--resume", out="out.csv")
    assert done.exit_code == 0, done.stderr
    assert "out.csv.part: continues the unfinished run" in done.stderr
    assert (files / "out.csv").read_bytes() == (files / "whole_out.csv").read_bytes()
    meta, whole = (
        json.loads((files / f"{name}out.csv.meta.json").read_text())
        for name in ("", "whole_")
    )
    assert meta["counts"] == whole["counts"]
    assert meta["histogram"] == whole["histogram"]
    assert "out.csv.part" not in left(files)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("adapts", [False, True])
@pytest.mark.parametrize("dies", [0, 3, 9, 10, 14, 19, 20])
def test_wherever_it_stops_in_one_pass_or_two(files, monkeypatch, adapts, dies):
    """A scorer that learns from the pool and then scores otherwise."""
    from siamese_news.scoring import Observer
    from siamese_news.scoring.cosine import CosineScorer
    from siamese_news.search import filtering, opened_query

    class Learning(CosineScorer):
        seen = 0

        def observer(self):
            return Counting(self) if adapts else None

        def scores(self, posts):
            return super().scores(posts) - self.seen / 10_000

        def state(self):
            return json.dumps(self.seen).encode()

        def restored(self, state):
            other = copy(self)
            other.seen = json.loads(state)
            return other

    class Counting(Observer):
        def __init__(self, scorer):
            self.scorer, self.seen = scorer, 0

        def observe(self, posts):
            mark()
            self.seen += len(posts)

        def settle(self):
            return self.scorer.restored(self.state())

        def state(self):
            return json.dumps(self.seen).encode()

        def merge(self, state):
            self.seen += json.loads(state)

    def mark():
        calls.append(1)
        if len(calls) == dies + 1:
            raise KeyboardInterrupt

    calls = [None] * 100
    monkeypatch.setattr(
        opened_query,
        "open_scorer",
        lambda model, texts, **_: Learning(model, model.encode_articles(texts)),
    )
    assert run(files, out="whole_out.jsonl").exit_code == 0
    lines = filtering._lines
    calls.clear()

    def dying(*arguments):
        mark()
        return lines(*arguments)

    monkeypatch.setattr(filtering, "_lines", dying)
    first = run(files)
    finished = dies >= (20 if adapts else 10)
    assert first.exit_code == (0 if finished else 130)
    if not finished:
        done = run(files, "--resume")
        assert done.exit_code == 0, done.stderr
        # Only the block it died in came twice.
        assert len(calls) == (20 if adapts else 10) + 1
    assert (files / "out.jsonl").read_bytes() == (
        files / "whole_out.jsonl"
    ).read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: (f / "story.txt").write_text("Another story"), "(seeds: "),
        (lambda f: (f / "posts.jsonl").open("a").write("{}\n"), "(posts: "),
        (lambda f: ["--min-score", "0.5"], "(min_score: "),
        (lambda f: ["--author", "plain"], "(author: "),
        (
            lambda f: (f / "out.jsonl.part/00001.rows").write_bytes(b""),
            "it was changed",
        ),
        (
            lambda f: (f / "out.jsonl.part/00001.scoring.json").write_text("{"),
            "is damaged",
        ),
    ],
)
def test_another_job_is_not_gone_on_with(files, monkeypatch, change, message):
    from siamese_news.search import filtering

    lines = filtering._lines

    def dying(scorer, seeds, block, *rest):
        if block.number == 5:
            raise KeyboardInterrupt
        return lines(scorer, seeds, block, *rest)

    monkeypatch.setattr(filtering, "_lines", dying)
    assert run(files).exit_code == 130
    part = (files / "out.jsonl.part/00001.rows").read_bytes()
    assert part
    options = change(files)
    done = run(files, "--resume", *(options if isinstance(options, list) else []))
    assert done.exit_code == 2
    assert message in done.stderr
    assert "to start over" in done.stderr
    if "changed" not in message:
        assert (files / "out.jsonl.part/00001.rows").read_bytes() == part


def test_resume_without_anything_to_resume_starts(files):
    assert run(files, "--resume").exit_code == 0
    assert (files / "out.jsonl").exists()


def test_a_pipe_cannot_be_resumed(files):
    arguments = [
        a if a != files / "posts.jsonl" else "-" for a in command(files, "--resume")
    ]
    done = CliRunner().invoke(
        app, list(map(str, arguments)), input=(files / "posts.jsonl").read_text()
    )
    assert done.exit_code == 2
    assert "save them to a file" in done.stderr


@pytest.mark.parametrize("workers", [[], ["--workers", "2"]])
def test_results_for_a_pipe_cannot_be_resumed(files, workers):
    os.mkfifo(files / "out")
    done = run(files, *workers, "--format", "jsonl", "--resume", out="out")
    assert done.exit_code == 2
    assert "keeps no earlier results" in done.stderr


@pytest.mark.parametrize("workers", [[], ["--workers", "2"]])
def test_nothing_stays_of_results_for_a_pipe_whose_reader_leaves(files, workers):
    os.mkfifo(files / "out")
    before = sorted(files.iterdir())
    with subprocess.Popen(["head", "-c", "10", files / "out"]) as reader:
        done = run(files, *workers, "--format", "jsonl", out="out", threshold=-1)
    assert reader.returncode == 0
    assert done.exit_code == 1
    assert sorted(files.iterdir()) == before


@pytest.mark.parametrize("name", ["rank", "filter"])
def test_two_runs_do_not_write_one_output(files, name):
    from siamese_news.search.partial_results import output_lock

    arguments = command(files)
    if name == "rank":
        arguments = ["rank", *arguments[1:7], "--out", files / "out.jsonl"]
    with output_lock(files / "out.jsonl"):
        done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 2
    assert "another run is writing it" in done.stderr
    assert CliRunner().invoke(app, list(map(str, arguments))).exit_code == 0


def test_a_full_disk_leaves_the_old_output_and_can_be_resumed(files, monkeypatch):
    from siamese_news.search import opened_query

    (files / "out.jsonl").write_text("old")
    write = opened_query.write_rows

    def full(stream, rows, *format, **options):
        write(stream, [next(iter(rows))], *format, **options)
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(opened_query, "write_rows", full)
        done = run(files, "--force")
    assert done.exit_code == 1
    assert (
        f"{files / 'out.jsonl'}: cannot be written (No space left on device)"
        in done.stderr
    )
    assert "--resume" in done.stderr
    assert (files / "out.jsonl").read_text() == "old"
    assert run(files, "--resume").exit_code == 0
    assert len((files / "out.jsonl").read_text().splitlines()) > 1


def test_options_of_rank_are_taken_and_a_model_that_is_no_folder_is_explained(files):
    done = run(files, "--model", "all-MiniLM-L6-v2", out="other.jsonl")
    assert done.exit_code == 2
    for word in (
        "all-MiniLM-L6-v2: no such",
        "sentence-transformers",
        "model2vec",
        "[bench]",
    ):
        assert word in done.stderr


def test_nothing_over_the_threshold_is_an_empty_file(files):
    done = run(files, out="out.csv", threshold=1.5)
    assert done.exit_code == 0, done.stderr
    assert (files / "out.csv").read_text().splitlines()[1:] == []
    assert f"0 of {POSTS} posts" in done.stderr


def test_copies_collapse_and_ranks_stay_whole(files):
    assert run(files, "--dedupe").exit_code == 0
    rows = [json.loads(line) for line in (files / "out.jsonl").read_text().splitlines()]
    assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
    clusters = [row["cluster"] for row in rows]
    assert len(set(clusters)) == len(clusters)
    kept = json.loads((files / "out.jsonl.meta.json").read_text())["counts"]["kept"]
    assert sum(row["cluster_size"] for row in rows) == kept > len(rows)


def test_the_report_reads_what_filter_wrote(files):
    from siamese_news.search.report import read_results

    assert run(files, out="out.parquet").exit_code == 0
    found = read_results(files / "out.parquet")
    assert found.threshold == 0.4
    assert sum(found.histogram["counts"]) == POSTS
    assert found.seeds[0].title == "Flood in the town"


def test_what_stopped_before_its_first_block_leaves_nothing(files):
    row = '{"id": "1", "text": "%s"}\n'
    (files / "posts.jsonl").write_text(row % "flood" + row % "fire")
    done = run(files)
    assert done.exit_code == 2
    assert "posts.jsonl:2" in done.stderr
    assert left(files) == []


def test_pseudonyms_are_all_that_reaches_the_disk(files, monkeypatch):
    (files / "key").write_bytes(b"k" * 20)
    lines = (files / "posts.jsonl").read_text().splitlines()
    with (files / "posts.jsonl").open("w") as stream:
        stream.writelines(
            json.dumps(json.loads(line) | {"author": "ann"}) + "\n" for line in lines
        )
    parts = []
    remove = steps.ShardFolder.remove

    def kept(self):
        if self.rows.exists():
            parts.append(self.rows.read_text())
        remove(self)

    monkeypatch.setattr(steps.ShardFolder, "remove", kept)
    assert run(files, "--author", files / "key").exit_code == 0
    assert '"ann"' not in parts[0] + (files / "out.jsonl").read_text()
    rows = [json.loads(line) for line in (files / "out.jsonl").read_text().splitlines()]
    assert {len(row["author"]) for row in rows} == {64}


def test_the_share_and_the_highest_score_are_reported(files):
    done = run(files, threshold=0.4)
    rows = [json.loads(line) for line in (files / "out.jsonl").read_text().splitlines()]
    highest = max(row["score"] for row in rows)
    last = done.stderr.strip().splitlines()[-1]
    assert f"{len(rows)} of {POSTS} posts ({len(rows) / POSTS:.2%})" in last
    assert abs(float(last.rsplit(" ", 1)[1]) - highest) <= 0.001


def test_a_threshold_above_every_score_is_named_with_the_highest_score(files):
    done = run(files, threshold=1.5)
    assert done.exit_code == 0, done.stderr
    remarks = json.loads((files / "out.jsonl.meta.json").read_text())["remarks"]
    remark = next(one for one in remarks if one.startswith("No post was kept"))
    assert "below the threshold 1.5" in remark and remark in done.stderr.replace(
        "\n", " "
    )
    assert 0 < float(remark.split("score is ")[1].split(",")[0]) <= 1


def test_a_threshold_that_keeps_a_large_share_is_named(files):
    remarks = {}
    for threshold in (-2, 0.9):
        assert run(files, "--force", threshold=threshold).exit_code == 0
        meta = json.loads((files / "out.jsonl.meta.json").read_text())
        remarks[threshold] = [
            one for one in meta["remarks"] if "posts were kept" in one
        ]
        if threshold == 0.9:
            assert 0 < meta["counts"]["kept"] <= POSTS / 5
    assert remarks[-2][0].startswith("100% of the posts were kept") and not remarks[0.9]


def test_an_index_names_the_same_shares(files):
    model = ["--model", str(files / "model")]
    posts = ["--posts", str(files / "posts.jsonl"), "--out", str(files / "pool.index")]
    assert CliRunner().invoke(app, ["index", *model, *posts]).exit_code == 0
    streamed = run(files, out="a.jsonl")
    arguments = command(files, out="b.jsonl")
    place = arguments.index("--posts")
    arguments[place : place + 2] = ["--index", files / "pool.index"]
    indexed = CliRunner().invoke(app, list(map(str, arguments)))
    ends = [
        done.stderr.strip().splitlines()[-1].split(": ")[1]
        for done in (streamed, indexed)
    ]
    assert ends[0] == ends[1]


def test_a_filter_that_runs_out_of_memory_says_so_and_continues(files, monkeypatch):
    assert run(files, out="whole.jsonl").exit_code == 0
    lines = filtering._lines

    def full(scorer, opened, block, *rest):
        if block.number == 3:
            raise MemoryError
        return lines(scorer, opened, block, *rest)

    monkeypatch.setattr(filtering, "_lines", full)
    stopped = run(files)
    assert stopped.exit_code == 2
    assert "there is not enough memory (none was left)" in stopped.stderr
    assert "--resume" in stopped.stderr
    monkeypatch.undo()
    monkeypatch.setattr(scan, "BLOCK", BLOCK)
    assert run(files, "--resume").exit_code == 0
    assert (files / "out.jsonl").read_bytes() == (files / "whole.jsonl").read_bytes()
