"""Names, saved results, and a folder that is written whole or not at all."""

import csv
import json
import logging
import math
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf
from papers import (
    PAPERS,
    Content,
    Exhibit,
    Figure,
    Job,
    Published,
    Setting,
    Table,
    choose,
)
from papers import __main__ as door
from papers.jobs import Store
from papers.layout import IN_HISTORY, Made, folds, write_folder
from papers.run import reproduce
from papers.samcnn import table3
from papers.style import new_figure
from tests.commands import python_m

from siamese_news.errors import InputError
from siamese_news.metrics import randomization_test
from siamese_news.utils.markdown import plain_cell

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def no_shared_data(monkeypatch):
    monkeypatch.delenv("SIAMESE_NEWS_DATA", raising=False)


@pytest.mark.parametrize(
    "paper", [paper for paper, modules in PAPERS.items() if modules]
)
def test_every_exhibit_has_a_name_of_its_own_and_a_remark(paper):
    exhibits = choose(paper)
    names = [exhibit.name for exhibit in exhibits]
    assert len(set(names)) == len(names)
    for exhibit in exhibits:
        assert exhibit.paper == paper and exhibit.remark
        for data in ("shared", "stories"):
            jobs = exhibit.jobs(Setting(data, (0, 1)))
            assert len({job.name for job in jobs}) == len(jobs)


def test_names_are_numbers_words_or_lists():
    assert [e.name for e in choose("ast", figure=1)] == ["figure1"]
    assert [e.name for e in choose("ast", figure=["appendix_a", 1])] == [
        "figure1",
        "appendix_a",
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"paper": "bert"}, "paper=bert: no such paper; expected ast or samcnn"),
        (
            {"paper": "ast", "figure": 17},
            "figure=17: paper=ast has no such figure; expected.*1",
        ),
        ({"paper": "ast", "table": "appendix_a"}, "table=appendix_a: .* no such table"),
        ({"paper": "ast", "figure": [1, "two"]}, "figure=two"),
    ],
)
def test_a_name_that_does_not_exist_lists_those_that_do(options, said):
    with pytest.raises(InputError, match=said):
        choose(**options)


def toy(jobs=(), lay_out=None):
    """An exhibit with a table and a figure, over the values of its jobs."""

    def make(results):
        rows = [
            {"job": name, "value": results[name]["value"]} for name in results.by_job
        ]
        drawn = Figure("A line", lambda: _line(len(rows)), "One line.")
        return Content(
            tables=[Table("Values | all", rows or [{"job": "none"}])], figures=[drawn]
        )

    return Exhibit(
        paper="ast",
        kind="table",
        key="77",
        title="Table 77 <b>",
        remark="Not comparable.",
        published=Published("Nobody 1999", [Table("Then", [{"value": 0.5}])]),
        jobs=lambda setting: list(jobs),
        lay_out=lay_out or make,
    )


def _line(points):
    figure, axis = new_figure()
    axis.plot(range(points), range(points))
    return figure


def job(name, value, ran=None):
    def run(folder, results):
        if ran is not None:
            ran.append(name)
        if isinstance(value, BaseException):
            raise value
        return {"value": value}

    return Job(name, run, 1.0, "toy data", (0, 3))


def store(tmp_path, **options):
    return Store(
        **{"saved": tmp_path / "saved", "made": tmp_path / "made", "paper": "ast"}
        | options
    )


def lay_out(exhibit, tmp_path, missing="train", **options):
    out = tmp_path / "out"
    return reproduce(
        [exhibit], out, store=store(tmp_path, **options), seeds=(0,), missing=missing
    )


def test_the_folder_has_each_table_twice_each_figure_twice_and_a_page(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    page = lay_out(toy([job("a", 0.25), job("b", None)]), tmp_path).read_text(
        encoding="utf-8"
    )
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {
        "table77.csv",
        "table77.md",
        "table77.png",
        "table77.svg",
        "index.html",
    }
    rows = list(csv.DictReader((tmp_path / "out" / "table77.csv").open()))
    assert rows == [{"job": "a", "value": "0.25"}, {"job": "b", "value": ""}]
    for text in (page, (tmp_path / "out" / "table77.md").read_text()):
        for part in ("Nobody 1999", "Not comparable.", "0, 3", "toy data", "table=77"):
            assert part in text
    assert "Table 77 &lt;b&gt;" in page  # escaped
    assert "2 of 2 runs are missing: about 2 minutes" in caplog.text


def test_a_table_of_many_columns_has_the_width_of_the_page(tmp_path):
    for count, style in ((6, "beside"), (7, "beside wide")):
        rows = [{f"column {number}": number for number in range(count)}]
        exhibit = toy(
            lay_out=lambda results, rows=rows: Content(tables=[Table("Many", rows)])
        )
        page = lay_out(exhibit, tmp_path / str(count)).read_text(encoding="utf-8")
        assert f'<div class="{style}">' in page


def test_several_tables_have_the_width_of_the_page_next_to_each_other(tmp_path):
    for count, style in ((2, "beside"), (3, "beside wide")):
        tables = [Table(f"Table {n}", [{"post": n}]) for n in range(count)]
        exhibit = toy(lay_out=lambda results, tables=tables: Content(tables=tables))
        page = lay_out(exhibit, tmp_path / str(count)).read_text(encoding="utf-8")
        assert f'<div class="{style}">' in page


def test_marks_of_significance_are_small_and_numbers_stand_at_the_right(tmp_path):
    rows = [
        {"system": "one", "AP": "0.25 ±0.01 ↑1,12", "topics": "1,940", "seeds": "3"},
        {"system": "two", "AP": "0.31", "topics": "55", "seeds": "three"},
    ]
    exhibit = toy(lay_out=lambda results: Content(tables=[Table("Marks", rows)]))
    page = lay_out(exhibit, tmp_path).read_text(encoding="utf-8")
    assert (
        '<td class="marked">0.25 <small>±0.01</small> <small>↑1, 12</small></td>'
        in page
    )
    assert '<td class="number">1,940</td>' in page
    assert '<th scope="col" class="number">topics</th>' in page
    assert "<td>3</td>" in page  # a column with a word in it is one of words


def test_words_alone_stand_above_ours_and_long_details_are_folded(tmp_path):
    for length in (300, 301):
        exhibit = toy(lay_out=lambda results, n=length: Content(details="x" * n))
        page = lay_out(
            replace(exhibit, published=Published("Nobody 1999", text="A picture.")),
            tmp_path / str(length),
        ).read_text(encoding="utf-8")
        assert '<div class="beside wide">' in page
        assert ("The figures in words" in page) == (length > 300)


def test_details_of_many_numbers_are_folded():
    assert not folds("AP is .1, 0.2, -3 and 4,000.")
    assert folds("AP is .1, 0.2, -3, 4,000 and 5.")


def test_a_long_table_is_folded_and_every_row_is_named_by_its_first_column(tmp_path):
    # The words, and the way a result was made, are always folded.
    for kind, count, folded in (
        ("figure", 14, 2),
        ("figure", 15, 3),
        ("table", 24, 2),
        ("table", 25, 3),
    ):
        rows = [{"head": f"head {number}", "alpha": 1.5} for number in range(count)]
        exhibit = toy(
            lay_out=lambda results, rows=rows: Content(tables=[Table("Alphas", rows)])
        )
        exhibit = replace(exhibit, kind=kind)
        page = lay_out(exhibit, tmp_path / str(count)).read_text(encoding="utf-8")
        assert page.count("<details>") == page.count("</details>") == folded
        assert page.count('<th scope="row">head') == count
    assert "Alphas: 25 rows</summary>" in page


def test_a_saved_result_is_used_and_fresh_leaves_it_aside(tmp_path):
    ran = []
    lay_out(toy([job("a", 1, ran)]), tmp_path)
    lay_out(toy([job("a", 2, ran)]), tmp_path)
    assert ran == ["a"]
    (tmp_path / "made" / "results").rename(tmp_path / "saved")
    lay_out(toy([job("a", 2, ran)]), tmp_path)
    assert (
        ran == ["a"] and ",1" not in (tmp_path / "out" / "table77.csv").read_text()[:5]
    )
    lay_out(toy([job("a", 3, ran)]), tmp_path, saved=None)
    assert ran == ["a", "a"]
    assert "a,3" in (tmp_path / "out" / "table77.csv").read_text()


def test_an_interrupted_command_keeps_what_it_has(tmp_path):
    ran = []
    broken = [job("a", 1, ran), job("b", KeyboardInterrupt(), ran)]
    with pytest.raises(KeyboardInterrupt):
        lay_out(toy(broken), tmp_path)
    assert not (tmp_path / "out").exists()
    page = lay_out(toy([job("a", 1, ran), job("b", 2, ran)]), tmp_path).read_text(
        "utf-8"
    )
    assert ran == ["a", "b", "b"]
    assert "0.0 minutes in 1 runs; not recorded for 1" in page


def test_what_is_missing_is_said(tmp_path, caplog):
    page = lay_out(toy([job("a", 1)]), tmp_path, missing="say").read_text(
        encoding="utf-8"
    )
    assert "1 of 1 runs; python -m papers" in page
    assert "of one processor core: a" in caplog.text
    with pytest.raises(InputError, match="missing=maybe: expected train or say"):
        lay_out(toy(), tmp_path, missing="maybe")


def test_by_default_nothing_is_trained(tmp_path, monkeypatch, caplog):
    ran = []
    monkeypatch.setattr(door, "choose", lambda *_, **__: [toy([job("a", 1, ran)])])
    config = OmegaConf.load(ROOT / "papers" / "papers.yaml")
    del config.hydra, config.defaults
    config.update(paper="ast", made=str(tmp_path / "made"))
    door.reproduce(config, tmp_path / "out")
    assert ran == []
    assert "missing=train makes them in about 1 minute" in caplog.text
    config.fresh = True
    door.reproduce(config, tmp_path / "trained")
    assert ran == ["a"]


def test_without_data_the_page_says_that_the_stories_were_read(tmp_path):
    asked = store(tmp_path)
    exhibits = [toy([job("a", 1)])]
    page = reproduce(
        exhibits, tmp_path / "out", store=asked, seeds=(0, 1), missing="train"
    )
    page = page.read_text(encoding="utf-8")
    assert "Made on the bundled stories" in page and "Missing" not in page
    assert (
        "Made on the bundled stories" in (tmp_path / "out" / "table77.md").read_text()
    )
    # A saved result of the shared data needs no data.
    (tmp_path / "made" / "results" / "ast" / "stories").rename(
        tmp_path / "made" / "results" / "ast" / "shared"
    )
    page = lay_out(toy([job("a", 1)]), tmp_path).read_text(encoding="utf-8")
    assert "Made on the bundled stories" not in page


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"format": 0, "values": {}, "made": {}}', "{}"]
)
def test_a_saved_result_of_another_version_is_named(tmp_path, text):
    path = tmp_path / "made" / "results" / "ast" / "stories" / "a.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(InputError, match=r"a\.json: .*fresh=true"):
        lay_out(toy([job("a", 1)]), tmp_path)


def test_nothing_is_written_where_an_exhibit_fails(tmp_path):
    def fail(results):
        raise InputError("no such thing")

    made = store(tmp_path)
    with pytest.raises(InputError):
        reproduce(
            [toy(), toy(lay_out=fail)],
            tmp_path / "out",
            store=made,
            seeds=(0,),
            missing="say",
        )
    drawn = Content(figures=[Figure("Bad", lambda: 1 / 0, "")])
    with pytest.raises(ZeroDivisionError):
        write_folder(tmp_path / "out", "ast", [Made(toy(), drawn, [], False)])
    assert not (tmp_path / "out").exists()


def test_values_that_are_not_numbers_are_not_saved(tmp_path):
    with pytest.raises(ValueError):
        lay_out(toy([job("a", math.nan)]), tmp_path)
    assert not list((tmp_path / "made" / "results").rglob("*.json"))


def test_the_saved_results_hold_no_text():
    """Ids, figures and names of settings: no value is as long as a post."""
    folder = Path(__file__).parents[2] / "papers" / "saved"

    def strings(value):
        if isinstance(value, dict):
            for part in value.values():
                yield from strings(part)
        elif isinstance(value, list):
            for part in value:
                yield from strings(part)
        elif isinstance(value, str):
            yield value

    for path in folder.rglob("*.json"):
        document = json.loads(path.read_text(encoding="utf-8"))
        for text in strings(
            {k: v for k, v in document["values"].items() if k != "command"}
        ):
            assert len(text) < 200, f"{path}: {text[:80]}"


@pytest.mark.slow
def test_the_command_refuses_a_bad_name_in_one_line(tmp_path):
    arguments = ["paper=ast", "figure=99", f"hydra.run.dir={tmp_path / 'out'}"]
    done = python_m("papers", *arguments, folder=ROOT)
    assert done.returncode == 2
    said = done.stdout + done.stderr
    assert "figure=99" in said and "Traceback" not in said
    assert not (tmp_path / "out" / "index.html").exists()


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("seeds=[]", "expected a list of whole numbers"),
        ("seeds=a", "expected a list of whole numbers"),
        ("made=taken/deep", "is a file, or lies below one"),
    ],
)
def test_the_door_refuses_seeds_and_folders_that_cannot_be(
    tmp_path, monkeypatch, option, said
):
    (tmp_path / "taken").touch()
    monkeypatch.chdir(tmp_path)
    with initialize_config_module("papers", version_base="1.3"):
        config = compose("papers", overrides=["paper=ast", "figure=appendix_a", option])
    with pytest.raises(InputError, match=said):
        door.reproduce(config, tmp_path / "out")


def test_the_door_lays_out_what_needs_no_run(tmp_path):
    with initialize_config_module("papers", version_base="1.3"):
        config = compose("papers", overrides=["paper=ast", "figure=appendix_a"])
    page = door.reproduce(config, tmp_path / "out")
    assert "1.1752" in page.read_text(encoding="utf-8")


def test_a_saved_result_says_whether_its_revision_is_in_the_history():
    def git(*arguments):
        command = ["git", "-C", str(ROOT), *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, check=False
        ).stdout.strip()

    if git("rev-parse", "--is-shallow-repository") != "false":
        pytest.skip("no git history here, or a shallow one")
    revisions = git("log", "--format=%H").split()
    for path in sorted((ROOT / "papers" / "saved").rglob("*.json")):
        made = json.loads(path.read_text(encoding="utf-8"))["made"]
        named = made["revision"].partition("+")[0]
        there = any(revision.startswith(named) for revision in revisions)
        assert made.get(IN_HISTORY, True) == there, path


def test_a_page_says_which_revision_is_not_in_the_history(tmp_path):
    jobs = [job("a", 1)]
    asked = store(tmp_path)
    reproduce([toy(jobs)], tmp_path / "out", store=asked, seeds=(0,), missing="train")
    (path,) = (tmp_path / "made" / "results").rglob("a.json")
    saved = json.loads(path.read_text(encoding="utf-8"))
    saved["made"] |= {"revision": "0123abc", IN_HISTORY: False}
    path.write_text(json.dumps(saved), encoding="utf-8")
    page = reproduce(
        [toy(jobs)], tmp_path / "out", store=asked, seeds=(0,), missing="train"
    )
    assert "0123abc (not in the history)" in page.read_text(encoding="utf-8")


def test_what_rounds_to_zero_has_no_sign():
    assert plain_cell(-0.00001) == "0.0000" and plain_cell(-0.0001) == "-0.0001"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("paper", PAPERS)
def test_every_section_of_the_saved_papers_begins_with_one_sentence(monkeypatch, paper):
    def few(first, second, samples):  # its marks are no part of a summary
        return randomization_test(first, second, samples=100)

    monkeypatch.setattr(table3, "randomization_test", few)
    saved = Store(saved=ROOT / "papers" / "saved", made=Path("nowhere"), paper=paper)
    setting = Setting("shared")
    for exhibit in choose(paper):
        results = saved.results(setting, exhibit.jobs(setting))
        headline = exhibit.lay_out(results).outcome
        numbers = re.findall(r"(?<![\w.])[+-]?\.?\d[\d,.]*(?!\w)", headline)
        assert headline and len(numbers) <= 3, (exhibit.name, headline)
        assert not re.search(r"[.;] [A-Z]", headline), (exhibit.name, headline)
