"""Figures are kept a file a release, and a slower revision is told from a noisy one."""

import json
import subprocess
from pathlib import Path

import pytest
from benchmarks import speed_history as history

import siamese_news


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Two records; returns their folder, and what the next measurement gives for each source."""
    times = {"old": {"rank": 0.9, "gone": 1.0}, None: {"rank": 1.0, "filter": 10.0}}
    monkeypatch.setattr(
        history, "measured", lambda turns, *those: [times[one] for one in those]
    )
    monkeypatch.setattr(
        history, "write_revision", lambda revision, folder: {"2": "old"}[revision]
    )
    about = {
        "python": "3.12.1",
        "machine": "here",
        "date": "2026-03-01 10:00",
        "revision": "3",
    }
    monkeypatch.setattr(history, "provenance", lambda: about)
    for date in ("1", "2"):
        record = {
            "date": f"2026-01-0{date} 10:00",
            "machine": "there",
            "revision": date,
        }
        record |= {"version": "0.1.0", "seconds": {"rank": 5.0}}
        (tmp_path / f"{4 - int(date)}.json").write_text(json.dumps(record))
    return tmp_path, times


def test_the_newest_recorded_revision_runs_on_this_machine_too(kept, capsys):
    folder, times = kept
    history.main(["check", "--history", str(folder)])
    assert "rank: 1.00 CPU seconds; 2: 0.90" in capsys.readouterr().out
    times[None]["rank"] = 0.9 * 1.16
    with pytest.raises(
        SystemExit, match=r"more than 15% worse:\nrank: 0\.90 -> 1\.04 .*\+16%"
    ):
        history.main(["check", "--history", str(folder)])
    with pytest.raises(SystemExit, match="no record; run"):
        history.main(["check", "--history", str(folder / "empty")])


def test_a_record_says_what_was_measured_and_where(kept):
    folder, times = kept
    history.main(["record", "--history", str(folder)])
    newest = history.records(folder)[-1]
    assert newest["seconds"] == times[None] and newest["machine"] == "here"


def test_all_recorded_revisions_are_measured_again_on_one_machine(kept, monkeypatch):
    folder, times = kept
    for path in folder.glob("*.json"):
        record = json.loads(path.read_text())
        path.rename(folder / f"{record['date'][:10]}-{record['revision']}.json")
    monkeypatch.setattr(history, "write_revision", lambda revision, folder: revision)
    times |= {"1": {"rank": 4.0}, "2": {"rank": 3.0}}
    history.main(["renew", "--history", str(folder)])
    renewed = history.records(folder)
    assert [one["revision"] for one in renewed] == ["1", "2"]
    assert [one["seconds"] for one in renewed] == [{"rank": 4.0}, {"rank": 3.0}]
    assert all(one["machine"] == "here" for one in renewed)
    assert [one["date"] for one in renewed] == ["2026-01-01 10:00", "2026-01-02 10:00"]


def test_a_recorded_revision_is_unpacked(tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match="git has no revision 0123abcd, the newest in"):
        history.write_revision("0123abcd", tmp_path)
    monkeypatch.setenv("SIAMESE_NEWS_COMPILE", "0")
    source = head(tmp_path)
    assert (source / "__main__.py").is_file()
    assert not list(source.rglob("*.so"))


@pytest.mark.slow
def test_the_loops_of_a_recorded_revision_are_compiled(tmp_path):
    source = head(tmp_path)
    here = Path(siamese_news.__file__).parent
    loops = {path.relative_to(here) for path in here.rglob("*.so")}
    assert {path.relative_to(source) for path in source.rglob("*.so")} >= loops


def head(folder):
    """The package of the current revision, written into a folder; skips without git."""
    asked = ["git", "rev-parse", "HEAD"]
    if subprocess.run(asked, cwd=history.HISTORY, capture_output=True).returncode:
        pytest.skip("this is not a git clone")
    return history.write_revision("HEAD", folder) / "siamese_news"


def test_the_picture_is_drawn_from_the_records():
    assert (
        history.draw(history.records(history.HISTORY)) == history.PICTURE.read_bytes()
    )
