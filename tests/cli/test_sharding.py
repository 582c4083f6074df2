"""`filter` in parts gives what one process gives: the same rows, rejected rows and facts."""

import errno
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from functools import cache, partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from siamese_news.cli import app
from siamese_news.data.readers import rows
from siamese_news.errors import InputError
from siamese_news.model import loading
from siamese_news.search import opened_query, ranked_posts, scan
from siamese_news.search.sharding import workers

WORDS = [
    "flood",
    "river",
    "water",
    "town",
    "bridge",
    "vote",
    "mayor",
    "fire",
    "the",
    "洪水警報",
]
STORY = "Flood in the town\n\nThe river rose at night and took the old bridge of the town.\n"


def post(dice, number):
    row = {
        "id": f"p{number}",
        "text": " ".join(dice.choices(WORDS, k=dice.randint(0, 9))),
    }
    if dice.random() < 0.9:
        row |= {
            "created_at": f"2020-01-{dice.randint(1, 28):02}T00:00:00Z",
            "lang": "en",
        }
    return json.dumps(row)


def corpus(folder: Path, seed: int, count: int) -> None:
    """Files of several kinds, with bad rows, and posts that come again far away."""
    dice = random.Random(seed)
    posts = [post(dice, number) for number in range(count)]
    lines = posts.copy()
    for _ in range(3):
        lines[dice.randrange(count)] = '{"id": broken'
        lines[dice.randrange(count)] = dice.choice(posts)
    cut = count // 3
    first = json.loads(posts[0])["text"]
    folder.mkdir(exist_ok=True)
    (folder / "a.jsonl").write_text("\n".join(lines[:cut]) + "\n")
    (folder / "b.jsonl").write_text("\n".join(lines[cut:]))
    rows = [f'"c{n}","{" ".join(dice.choices(WORDS, k=5))}"' for n in range(cut)]
    (folder / "c.csv").write_text(
        "\n".join(["id,text", *rows, f'"p0","{first}"']) + "\n"
    )
    (folder.parent / "story.txt").write_text(STORY)


def command(root, out, *more, threshold=0.05):
    return list(
        map(
            str,
            [
                "filter",
                "--articles",
                root / "story.txt",
                "--posts",
                root / "posts",
                "--min-score",
                threshold,
                "--out",
                root / out,
                *more,
            ],
        )
    )


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def told(root, out):
    """Everything that is written, but for how and when."""
    meta = json.loads((root / f"{out}.meta.json").read_text())
    rejected = root / f"{out}.rejected.jsonl"
    return (
        (root / out).read_bytes(),
        {
            name: value
            for name, value in meta.items()
            if name not in ("command", "provenance")
        },
        rejected.read_text() if rejected.exists() else "",
    )


def here(opened, folder, count, parts):
    """A worker of this process, as one that was sent its job: each step, parts in any order."""
    job = pickle.loads(pickle.dumps((opened, folder)))
    return map(partial(workers.advance, *job), reversed(parts))


def few(examples):
    """Corpora, parts and options: so many of them."""

    def drawn(test):
        cuts = given(
            st.integers(0, 10**6), st.integers(1, 4), st.booleans(), st.booleans()
        )
        return settings(
            deadline=None,
            max_examples=examples,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=[HealthCheck.function_scoped_fixture],
        )(cuts(test))

    return drawn


@few(3)
def test_however_it_is_cut(tmp_path_factory, tiny_model, seed, count, dense, dated):
    check_a_cut(tmp_path_factory, tiny_model, seed, count, dense, dated)


@pytest.mark.slow
@few(20)
def test_however_it_is_cut_many_times(
    tmp_path_factory, tiny_model, seed, count, dense, dated
):
    check_a_cut(tmp_path_factory, tiny_model, seed, count, dense, dated)


def check_a_cut(tmp_path_factory, tiny_model, seed, count, dense, dated):
    root = tmp_path_factory.mktemp("cut")
    tiny_model.save(root / "model", card="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opened_query, "open_named", cache(loading.open_named))
        patch.setattr(rows, "_ROWS", 7)
        patch.setattr(ranked_posts, "SAMPLE", 10)
        patch.setattr(scan, "BLOCK", 30)
        corpus(root / "posts", seed, 120)
        options = [
            *(["--model", root / "model"] if dense else []),
            *(["--after", "2020-01-05"] if dated else []),
        ]
        done = run(*command(root, "one.jsonl", *options))
        assert done.exit_code == 0, done.output
        patch.setattr(workers, "local_workers", here)
        patch.setattr(workers, "parts_for", lambda *_: count)
        done = run(*command(root, "parts.jsonl", "--workers", 2, *options))
        assert done.exit_code == 0, done.output
    assert told(root, "parts.jsonl") == told(root, "one.jsonl")
    assert not (root / "parts.jsonl.part").exists()


def stopped_before(step, root):
    """The folder of the parts of a filter that was interrupted before a step."""

    def interrupted(*_):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, step, interrupted)
        assert run(*command(root, "out.jsonl", "--workers", 2)).exit_code == 130
    return root / "out.jsonl.part"


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["one", "every"]
)
@pytest.mark.parametrize(
    ("step", "name"),
    [
        *(("merge", name) for name in ("work.json", "00001.read.json", "00001.ids")),
        *(("merge", f"00001.{name}") for name in ("keys.npy", "spool")),
        *(("finish", name) for name in ("00001.read.json", "00002.scored.json")),
        *(("finish", name) for name in ("00001.rows", "pool")),
    ],
)
def test_a_damaged_file_of_a_part_is_named(tmp_path, monkeypatch, step, name, every):
    """By one damage each, of all kinds together; by every one in `make test-all`."""
    monkeypatch.setattr(workers, "local_workers", here)
    monkeypatch.setattr(workers, "parts_for", lambda *_: 2)
    corpus(tmp_path / "posts", 3, 60)
    path = stopped_before(step, tmp_path) / name
    whole = path.read_bytes()
    changed = bytearray(whole)
    changed[len(whole) // 2] ^= 1
    damages = (b"", b"xx", whole[:-1], bytes(changed))
    for damage in damages if every else [damages[len(name) % 4]]:
        path.write_bytes(damage)
        done = run(*command(tmp_path, "out.jsonl", "--workers", 2, "--resume"))
        assert done.exit_code == 2, done.output
        assert f"{path}: is " in done.output and "remove" in done.output
        assert not (tmp_path / "out.jsonl").exists()
    if every:
        path.write_bytes(whole)
        done = run(*command(tmp_path, "out.jsonl", "--workers", 2, "--resume"))
        assert done.exit_code == 0, done.output
        assert run(*command(tmp_path, "one.jsonl")).exit_code == 0
        assert told(tmp_path, "out.jsonl") == told(tmp_path, "one.jsonl")


def test_parts_whose_output_was_just_written_can_be_continued(tmp_path, monkeypatch):
    """As after a kill between the output and its ``.meta.json``."""
    monkeypatch.setattr(workers, "local_workers", here)
    corpus(tmp_path / "posts", 3, 60)
    stopped_before("finish", tmp_path)
    (tmp_path / "out.jsonl").write_text("rows of this run\n")
    done = run(*command(tmp_path, "out.jsonl", "--workers", 2, "--resume"))
    assert done.exit_code == 0, done.output


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A corpus that two workers really share, and what one process makes of it."""
    root = tmp_path_factory.mktemp("large")
    corpus(root / "posts", 1, 3000)
    done = subprocess.run(
        [sys.executable, "-m", "siamese_news", *command(root, "one.csv")]
    )
    assert done.returncode == 0
    return root


@pytest.mark.slow
def test_workers_are_processes_and_give_the_same(large):
    arguments = command(large, "two.csv", "--workers", "2")
    done = subprocess.run(
        [sys.executable, "-m", "siamese_news", *arguments],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert told(large, "two.csv") == told(large, "one.csv")
    assert "shard 2 of 2" in done.stderr
    assert not (large / "two.csv.part").exists()


def workers_of(pid):
    """The processes that this process has started, which are copies of it."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
            line = (path.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[1]) == pid and b"siamese_news" in line:
            found.append(int(path.parent.name))
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_worker_that_dies_is_named_and_the_rest_goes_on(large):
    arguments = [
        sys.executable,
        "-m",
        "siamese_news",
        *command(large, "dies.csv", "--workers", "2"),
    ]
    job = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
    while len(workers := workers_of(job.pid)) < 2 and job.poll() is None:
        time.sleep(0.02)
    # It dies once the other one has finished a part.
    os.kill(workers[0], signal.SIGSTOP)
    while not list(large.glob("dies.csv.part/0*.read.json")) and job.poll() is None:
        time.sleep(0.02)
    os.kill(workers[0], signal.SIGKILL)
    error = job.communicate(timeout=300)[1]
    assert job.returncode == 2, error
    assert f"(process {workers[0]}) was ended by signal 9" in error
    assert not (large / "dies.csv").exists()
    refused = subprocess.run(arguments, capture_output=True, text=True)
    assert refused.returncode == 2 and "left by an unfinished run" in refused.stderr
    again = subprocess.run([*arguments, "--resume"], capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert told(large, "dies.csv") == told(large, "one.csv")


@pytest.fixture
def small(tmp_path, tiny_model):
    corpus(tmp_path / "posts", 2, 60)
    tiny_model.save(tmp_path / "model", card="")
    return tmp_path


def unfinished(root, steps, monkeypatch):
    """A run in three parts that stopped after so many steps, and the folder that it left."""
    left = iter([*[True] * steps, False])

    def broken(*job):
        for done in here(*job):
            if not next(left):
                raise InputError("stopped")
            yield done

    monkeypatch.setattr(workers, "local_workers", broken)
    monkeypatch.setattr(workers, "parts_for", lambda *_: 3)
    done = run(*command(root, "x.jsonl", "--workers", 3))
    assert done.exit_code == 2 and "stopped" in done.output
    assert not (root / "x.jsonl").exists()
    monkeypatch.setattr(workers, "local_workers", here)
    return root / "x.jsonl.part"


def resumed(root, *more):
    return run(*command(root, "x.jsonl", "--workers", 2, "--resume", *more))


def test_a_full_disk_is_named_and_finished_parts_are_kept(small, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(workers, "local_workers", here)
    monkeypatch.setattr(workers, "step_of", lambda folder: ("read.json", full))
    done = run(*command(small, "x.jsonl", "--workers", 2))
    assert done.exit_code == 2
    assert (
        "x.jsonl.part: No space left on device; finished parts are kept" in done.output
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize("steps", [1, 3, 5])
def test_an_unfinished_run_is_refused_or_resumed_to_the_same_bytes(
    small, steps, monkeypatch
):
    folder = unfinished(small, steps, monkeypatch)
    refused = run(*command(small, "x.jsonl", "--workers", 2))
    assert refused.exit_code == 2 and "left by an unfinished run" in refused.output
    assert resumed(small).exit_code == 0 and not folder.exists()
    assert run(*command(small, "one.jsonl")).exit_code == 0
    assert told(small, "x.jsonl") == told(small, "one.jsonl")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["--model", "{model}"], "(model: "),
        (["--after", "2020-01-05"], "(after: "),
    ],
)
def test_parts_of_another_job_are_refused(small, change, said, monkeypatch):
    unfinished(small, 2, monkeypatch)
    done = resumed(small, *(value.format(model=small / "model") for value in change))
    assert done.exit_code == 2 and said in done.output


def test_posts_that_changed_between_the_parts_are_refused(small, monkeypatch):
    unfinished(small, 2, monkeypatch)
    with (small / "posts" / "a.jsonl").open("a") as stream:
        stream.write('{"id": "new", "text": "river"}\n')
    done = resumed(small)
    assert done.exit_code == 2 and "(posts: " in done.output


def test_posts_nearest_to_an_unmeasured_seed_are_left_out_and_counted_in_each_way_to_search(
    tmp_path, monkeypatch
):
    flood = (
        "The river Asker burst its banks in Harlow Bridge and 900 people were evacuated"
    )
    (tmp_path / "story.txt").write_text(f"{flood}.\n")
    (tmp_path / "thai.txt").write_text(
        "แม่น้ำล้นตลิ่งเข้าท่วมเมืองเมื่อคืน ชาวบ้านต้องอพยพออกจากบ้าน"
    )
    texts = [f"{flood} {n}" if n % 3 else f"แม่น้ำล้นตลิ่ง อพยพ {n}" for n in range(24)]
    texts += [f"new phone today {n}" for n in range(200)]
    (tmp_path / "posts").mkdir()
    for name, share in (("a", texts[::2]), ("b", texts[1::2])):
        rows = [
            json.dumps({"id": f"{name}{n}", "text": text})
            for n, text in enumerate(share)
        ]
        (tmp_path / f"posts/{name}.jsonl").write_text("\n".join(rows))
    seeds = ["--articles", tmp_path / "story.txt", "--articles", tmp_path / "thai.txt"]
    pool = ["--posts", tmp_path / "posts"]
    assert run("index", *pool, "--out", tmp_path / "pool").exit_code == 0
    monkeypatch.setattr(workers, "local_workers", here)
    monkeypatch.setattr(workers, "parts_for", lambda *_: 2)
    done = {}
    for out, where in (
        ("one.jsonl", pool),
        ("parts.jsonl", [*pool, "--workers", 2]),
        ("index.jsonl", ["--index", tmp_path / "pool"]),
    ):
        done[out] = run(
            "filter", *seeds, *where, "--threshold", 0.5, "--out", tmp_path / out
        )
        assert done[out].exit_code == 0, done[out].output
    assert told(tmp_path, "parts.jsonl") == told(tmp_path, "one.jsonl")
    kept, meta, _ = told(tmp_path, "one.jsonl")
    assert kept == told(tmp_path, "index.jsonl")[0]
    run(
        "filter",
        *seeds,
        *pool,
        "--min-score",
        meta["threshold"],
        "--out",
        tmp_path / "scores.jsonl",
    )
    rows = [json.loads(line) for line in told(tmp_path, "scores.jsonl")[0].splitlines()]
    left_out = [row for row in rows if row["relevance"] is None]
    assert {row["article"] for row in left_out} == {"thai"}
    assert len(rows) == len(left_out) + len(kept.splitlines())
    for result in done.values():
        last = result.stderr.strip().splitlines()[-1]
        assert f"; {len(left_out)} more reach the score of the cut" in last
    assert any(f"{len(left_out)} of which reach" in line for line in meta["remarks"])
