import pytest

from siamese_news.data.trec import read_qrels, read_run, write_run
from siamese_news.errors import InputError


@pytest.mark.parametrize("name", ["a.run", "a.run.gz"])
def test_a_run_survives(tmp_path, name):
    run = {"9007199254740993": {"10": 0.5, "9": 0.5000001, "é": 2.0}}
    write_run(tmp_path / name, run, "tag")
    found = read_run(tmp_path / name)
    assert list(found["9007199254740993"].items()) == [
        ("é", 2.0),
        ("9", 0.5),
        ("10", 0.5),
    ]
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    "line",
    ["1 Q0 d 1 nan t", "1 Q0 d 1 x t", "1 Q0 d 1 2", "1 Q0 a 1 2 t", "1 Q0 d 1 inf t"],
)
def test_bad_lines_are_named(tmp_path, line):
    path = tmp_path / "r"
    path.write_text(f"1 Q0 a 1 3 t\n{line}\n")
    with pytest.raises(InputError, match=r"r:2: "):
        read_run(path)


def test_qrels(tmp_path):
    path = tmp_path / "q"
    path.write_text("1 0 a 2\n\n1 0 b -1\n")
    assert read_qrels(path) == {"1": {"a": 2, "b": -1}}
    path.write_text("1 0 a 1.5\n")
    with pytest.raises(InputError, match=r"q:1: grade"):
        read_qrels(path)


@pytest.mark.parametrize(
    "run", [{"1": {"a": float("nan")}}, {"1": {"a b": 1.0}}, {"": {"a": 1.0}}]
)
def test_nothing_is_half_written(tmp_path, run):
    with pytest.raises(InputError):
        write_run(tmp_path / "r", run, "t")
    assert not list(tmp_path.iterdir())
