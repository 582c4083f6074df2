"""Figures are kept a file a release, and a slower revision is told from a noisy one."""

import json

import pytest

from benchmarks import speed_history as history


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Records of two machines; returns what the next measurement gives."""
    now = {"rank": 1.0, "filter": 10.0}
    monkeypatch.setattr(history, "measured", lambda turns: now)
    about = {"python": "3.12.1", "machine": "here", "date": "2026-03-01 10:00", "revision": "c"}
    monkeypatch.setattr(history, "provenance", lambda: about)
    for date, machine, rank in (("01", "here", 0.5), ("02", "here", 0.9), ("03", "there", 0.1)):
        record = {"date": f"2026-01-{date} 10:00", "machine": machine, "revision": date}
        record |= {"version": "0.1.0", "seconds": {"rank": rank, "gone": 1.0}}
        (tmp_path / f"{4 - int(date)}.json").write_text(json.dumps(record))
    return tmp_path, now, about


def run(folder, step):
    history.main([step, "--history", str(folder)])


def test_the_newest_record_of_the_same_machine_is_compared(kept, capsys):
    folder, now, about = kept
    run(folder, "check")
    assert "compared with 02" in capsys.readouterr().out
    now["rank"] = 0.9 * 1.16
    with pytest.raises(SystemExit, match=r"more than 15% worse:\nrank: 0\.90 -> 1\.04 .*\+16%"):
        run(folder, "check")
    about["machine"] = "elsewhere"
    with pytest.raises(SystemExit, match="no record of elsewhere; run"):
        run(folder, "check")


def test_a_record_says_what_was_measured_and_where(kept):
    folder, now, _ = kept
    run(folder, "record")
    newest = history.records(folder)[-1]
    assert newest["seconds"] == now and newest["machine"] == "here"
    now["rank"] = 1.2
    with pytest.raises(SystemExit, match="rank: 1.00 -> 1.20"):
        run(folder, "check")


def test_the_picture_is_drawn_from_the_records():
    assert history.draw(history.records(history.HISTORY)) == history.PICTURE.read_bytes()
