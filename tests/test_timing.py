"""``--timing``, by the command, and the stopwatch under it."""

import re

import pytest
from typer.testing import CliRunner

import siamese_news.data
from siamese_news.cli import app
from siamese_news.utils import stopwatch as module
from siamese_news.utils.stopwatch import stopwatch, timed, timed_items

STORIES = f"{siamese_news.data.__path__[0]}/stories"


@pytest.mark.parametrize("more", [[], ["--threshold", "0.3"]], ids=["rank", "filter"])
@pytest.mark.parametrize("fusion", ["weighted", "vectors"])
def test_a_search_says_where_its_time_went(tmp_path, more, fusion):
    seed = tmp_path / "seed.txt"
    seed.write_text("A river floods a town\n\nCellars are full of water.\n")
    command = ["filter" if more else "rank", "--articles", str(seed), *more, "--fusion", fusion]
    command += ["--posts", f"{STORIES}/corpus.jsonl", "--out", str(tmp_path / "out.jsonl")]
    silent = CliRunner().invoke(app, command)
    assert silent.exit_code == 0, silent.output
    assert "time:" not in silent.stderr
    told = CliRunner().invoke(app, [*command, "--timing"])
    assert told.exit_code == 0, told.output
    found = re.search(
        r"^time: reading (\d+)%, encoding (\d+)%, scoring (\d+)%, the rest .*? (\d+)% of [\d.]+ s$",
        told.stderr,
        re.MULTILINE,
    )
    assert found, told.stderr
    shares = [int(share) for share in found.groups()]
    assert sum(shares) == pytest.approx(100, abs=2)
    assert shares[1] > 0


def test_a_stage_within_another_counts_alone(monkeypatch):
    now = iter(range(100))
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(now))

    @timed("inner")
    def inner():
        return 1

    @timed("outer")
    def outer():
        return inner() + inner()

    assert outer() == 2  # nothing measures yet
    with stopwatch() as watch:  # 0
        assert outer() == 2  # 1 outer, 2 inner, 3 outer, 4 inner, 5 outer, 6 ends
        assert list(timed_items([1, 2], "items")) == [1, 2]
    assert watch.seconds == {"outer": 3, "inner": 2, "items": 3}


def test_an_error_ends_its_stage():
    @timed("broken")
    def broken():
        raise ValueError("no")

    with stopwatch() as watch:
        with pytest.raises(ValueError, match="no"):
            broken()
        with pytest.raises(ZeroDivisionError):
            list(timed_items((1 / n for n in (1, 0)), "items"))
        seconds = dict(watch.seconds)
        timed("after")(int)()
    assert {name: watch.seconds[name] for name in seconds} == seconds
