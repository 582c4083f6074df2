import json

import pytest
from benchmarks import results_page
from benchmarks.goals import goals

NAMES = sorted(path.stem for path in results_page.DATA.glob("*.json"))


def test_the_pages_are_made_of_the_data_files():
    for file, text in results_page.pages().items():
        assert file.read_text(encoding="utf-8") == text, (
            "run python -m benchmarks.results_page"
        )


def test_a_page_shows_every_table_with_its_source():
    pages = [file.read_text(encoding="utf-8") for file in results_page.pages()]
    for name in NAMES:
        source = results_page.read(name)
        assert source["command"] and source["date"] and source["machine"], name
        assert sum(results_page.table(name) in page for page in pages) == 1, name


def test_a_goal_is_reached_by_its_figures_alone():
    tables = {name: results_page.read(name) for name in NAMES}
    reached = {goal.goal: goal.met for goal in goals(tables)}
    assert reached["no list is empty"] == "yes"
    tables["labels_left"]["rows"][0][6] = "1"
    assert {goal.goal: goal.met for goal in goals(tables)} == {
        **reached,
        "no list is empty": "no",
    }


def test_a_row_of_another_width_is_refused(tmp_path, monkeypatch):
    (data,) = (
        json.loads((results_page.DATA / f"{name}.json").read_text())
        for name in NAMES[:1]
    )
    data["rows"][0] = data["rows"][0][:-1]
    (tmp_path / "short.json").write_text(json.dumps(data))
    monkeypatch.setattr(results_page, "DATA", tmp_path)
    with pytest.raises(ValueError, match="short.json: row 1 has"):
        results_page.read("short")
