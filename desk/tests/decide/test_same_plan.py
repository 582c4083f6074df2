"""Which plans are the same: shares by their value, criteria by their words, in every door."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from sheet_commands import fill, finish, run, scored, start

from siamese_news.errors import InputError
from siamese_news_desk import certify_scores
from siamese_news_desk.decide.certification import Certification, Settings
from siamese_news_desk.decide.plan import ledger
from siamese_news_desk.decide.plan.remedies import (
    ANOTHER_FILE,
    ANOTHER_ORDER,
    ANOTHER_PLAN,
    PlanRefused,
    further_plan,
)
from siamese_news_desk.decide.plan.sealed_files import read_sealed
from siamese_news_desk.decide.stopping import Goal, Stopping
from siamese_news_desk.labels.journal import LabelJournal


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    scored(tmp_path / "scored.jsonl")
    return tmp_path


def other(done, *words):
    assert done.exit_code == 2, done.output
    for word in words:
        assert word in done.stderr


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "typed", [("0.8", "0.95"), ("80%", ".950"), ("80 %", "95%"), ("0,80", "19/20")]
)
def test_a_share_is_its_value(folder, typed):
    precision, confidence = typed
    assert start(folder).exit_code == 0
    more = ("--confidence", confidence)
    other(start(folder, *more, precision=precision, out="b.csv"), "this very plan")
    (folder / "sheet.csv").unlink()  # the plan stays, and quotes what was typed first
    done = start(folder, *more, precision=precision)
    assert done.exit_code == 0, done.stderr
    assert read_sealed(folder / "sheet.plan.json", "plan")["settings"]["targets"] == [
        ".8"
    ]
    done = start(folder, "--budget", "70", *more, precision=precision, out="b.csv")
    other(done, "budget was 300, is 70;")
    assert "targets was" not in done.stderr and "confidence was" not in done.stderr


def test_one_value_twice_is_named_everywhere(folder):
    twice = ("--precision", ".90", "90%")
    files = ("--results", folder / "scored.jsonl")
    for done in (run("sample", *files, *twice, "--out", folder / "b.csv"),):
        other(done, "has the same target twice")


def begin(folder, recall, *, name="mine", find=None, criteria=""):
    goal = Goal(find, recall, ".95", 0)
    plan = folder / f"{name}.plan.json"
    return Stopping.start(folder / "scored.jsonl", plan, goal, criteria=criteria)


def test_a_goal_is_continued_however_it_is_typed(folder):
    for recall in (".5", "1/2", "0.50"):
        assert begin(folder, recall).plan["settings"]["recall"] == ".5"
    with pytest.raises(PlanRefused, match=r"recall was \.5, is 0\.6"):
        begin(folder, "0.6")
    with pytest.raises(InputError, match="this very plan"):
        begin(folder, "0.50", name="again")


def test_other_criteria_are_another_plan_that_is_said(folder):
    start(folder, "--criteria", "about the flood")
    done = start(folder, "--criteria", "about the flood, no jokes", out="b.csv")
    assert done.exit_code == 0, done.stderr
    assert "1 plan over these posts with other criteria" in done.stderr
    fill(folder / "b.csv", {f"p{n}" for n in range(600)})
    assert run("certify", "--labels", folder / "b.csv").exit_code == 0
    certified = certificate_of(folder / "b.certificate.json")
    assert certified["other_criteria_plans"] == 1
    (folder / "sheet.csv").unlink()
    done = start(folder, "--criteria", "about the storm")
    other(done, "criteria was about the flood, is about the storm")
    assert start(folder).exit_code == 0  # left out, they are those of the plan


#: A full stop, a byte order mark, wide letters, a ligature and a sharp s.
SAME_WORDS = [
    'the "flood" in Gießen, first offices.',
    "\ufeffThe “flood” in GIESSEN,\u200b first o\ufb03ces",
    "the «flood» in \uff27ießen, first\u00a0offices .",
    "the „flood‟ in Gie\u00adssen, ﬁrst offices",
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("words", SAME_WORDS)
def test_criteria_are_the_same_whatever_the_signs(folder, words):
    plan = ("--budget", "40", "--at-least", "40")
    start(folder, *plan, "--criteria", SAME_WORDS[0])
    fill(folder / "sheet.csv", set())
    run("certify", "--labels", folder / "sheet.csv")
    done = start(folder, "--criteria", words, "--seed", "5", out="b.csv")
    other(done, "there is already a plan over the same posts")
    assert "criteria was" not in done.stderr
    Certification.resume(folder / "sheet.plan.json").expect_criteria(words)
    for path in folder.glob("sheet.*"):
        path.unlink()
    start(folder, *plan, "--criteria", words)
    rows = fill(folder / "sheet.csv", {f"p{n}" for n in range(0, 600, 3)})
    turned = sum(row["label"] == "1" for row in rows)
    done = run("certify", "--labels", folder / "sheet.csv")
    assert f"{turned} verdicts were changed after" in done.stdout, done.output


@pytest.mark.parametrize("words", ["the flood, no jokes", "the flood's", "the-flood"])
def test_other_words_are_other_criteria(words):
    assert ledger.plain_criteria(words) != ledger.plain_criteria("the flood")


@pytest.mark.parametrize("blank", [" \t ", "\u200b", "\ufeff \u2060", "."])
def test_blank_criteria_are_none(folder, blank):
    start(folder, "--criteria", blank)
    assert read_sealed(folder / "sheet.plan.json", "plan")["criteria"] == ""


def test_an_annotator_reads_the_criteria_of_the_plan(folder):
    start(folder, "--criteria", "about the flood")
    plan = Certification.resume(folder / "sheet.plan.json")
    words = "criteria was 'about the flood', is 'about the storm'"
    with pytest.raises(InputError, match=words):
        plan.expect_criteria("about the storm")
    plan.expect_criteria("About the flood")


def test_a_plan_without_criteria_gets_none_later(folder):
    start(folder)
    with pytest.raises(InputError, match="criteria was left out, is 'about the storm'"):
        Certification.resume(folder / "sheet.plan.json").expect_criteria(
            "about the storm"
        )


def test_goals_without_criteria_leave_them_open(folder):
    assert not begin(folder, None, find=2).fixes_criteria
    storm = begin(folder, None, name="b", find=2, criteria="about the storm")
    assert storm.fixes_criteria


def test_other_criteria_in_python(folder):
    ids = [f"item {row}" for row in range(300)]
    given = (range(300, 0, -1), ids, folder / "python")
    certify_scores(*given, budget=20, criteria="about the flood")
    assert certify_scores(*given, budget=20, confidence="95%").next_rows
    with pytest.raises(InputError, match="criteria was about the flood, is .* storm"):
        certify_scores(*given, budget=20, criteria="about the storm")


def test_a_plan_that_is_refused_leaves_no_file(folder):
    start(folder)
    away = folder / "away"
    away.mkdir()
    (away / "copy.jsonl").write_bytes((folder / "scored.jsonl").read_bytes())
    done = start(away, "--seed", "7", results="copy.jsonl")
    other(done, "a plan over the same posts (in another folder")
    assert [path.name for path in away.iterdir()] == ["copy.jsonl"]
    budget = ("--results", away / "copy.jsonl", "--budget", "50")
    for number in range(21):  # until no confidence is left
        done = run(
            "audit",
            *budget,
            "--seed",
            number,
            "--again",
            "--out",
            away / f"{number}.csv",
        )
        if done.exit_code:
            break
    assert "no confidence is left" in done.stderr
    assert not [path for path in away.iterdir() if path.name.startswith(f"{number}.")]


def test_an_earlier_certificate_of_a_file_that_grows_holds(folder):
    """Labels that are added later, and their changes, are not those of the first certificate."""
    ids = [f"item {row}" for row in range(400)]
    answers = [row < 150 for row in range(400)]
    given = (range(400, 0, -1), ids, folder / "python")

    def label(rows):
        return [answers[row] for row in rows]

    done = certify_scores(*given, budget=60, label=label)
    first = done.certificate
    assert run("certify", "--check", first).exit_code == 0
    earlier = first.with_name("earlier.certificate.json")
    for ending in (".json", ".csv", ".html"):
        if (file := first.with_suffix(ending)).exists():
            earlier.with_suffix(ending).write_bytes(file.read_bytes())
    sheet = first.with_name("sheet.jsonl")
    journal = LabelJournal(sheet, plan=read_sealed(done.plan, "plan")["sha256"])
    post = journal.posts()[-1]
    changed = "no" if journal.verdict(post) == "yes" else "yes"
    journal.add(post, changed, "the annotator")
    certify_scores(*given, budget=60)
    checked = run("certify", "--check", earlier)
    assert checked.exit_code == 0, checked.stderr
    assert certificate_of(first)["labels"]["changed"] == 1
    assert certificate_of(earlier)["labels"]["changed"] == 0
    sheet.write_text(sheet.read_text().replace('"yes"', '"no"', 1))
    other(run("certify", "--check", earlier), "was changed afterwards")


def certificate_of(path: Path):
    return json.loads(path.read_text())


def test_a_finished_certificate_is_checked_after_a_later_change(folder):
    relevant = {f"p{n}" for n in range(0, 600, 2)}
    start(folder, "--budget", "60")
    _, sheets = finish(folder, relevant)
    labels = [part for sheet in sheets for part in ("--labels", folder / sheet)]
    run("certify", *labels, "--more", "20")
    new = folder / f"sheet.{len(sheets) + 1}.csv"
    for answers in (relevant, set()):
        fill(new, answers)
        assert run("certify", *labels, "--labels", new).exit_code == 0
    assert certificate_of(folder / "sheet.certificate.json")["labels"]["changed"] > 0
    earlier = folder / "sheet.certificate-of-60-labels.json"
    for name in (earlier.name, "sheet.json", "scored.json"):  # sheet.csv has the labels
        done = run("certify", "--check", earlier.replace(folder / name))
        assert done.exit_code == 0, done.stderr
        earlier = folder / name
        missing = f"the list of posts ({earlier.stem}.csv is not here)"
        assert (missing in done.stderr) == (name in ("sheet.json", "scored.json"))
        assert "changed after" not in done.stderr


@pytest.mark.parametrize(
    "remedy",
    [
        ANOTHER_FILE,
        ANOTHER_ORDER,
        ANOTHER_PLAN,
        *[further_plan(Fraction(1, 20), "", replaceable=r) for r in (True, False)],
    ],
)
def test_each_door_names_what_it_has(remedy):
    refused = PlanRefused("scored.jsonl: no; ", remedy)
    assert "--" in str(refused)
    for door in ("python", "page"):
        message = str(refused.to(door))
        assert message.startswith("scored.jsonl: no; ") and "--" not in message
    assert "=" not in str(refused.to("page"))


def test_plans_of_earlier_versions_still_count(tmp_path, monkeypatch):
    """Their lines have ids and texts alone, and no reason why other plans may be unknown."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    rows = [
        {
            "post": f"1{n * 7919**4 % 10**17:017}",
            "score": 1 - n / 500,
            "text": f"post {n}",
        }
        for n in range(400)
    ]
    results = tmp_path / "scored.jsonl"
    results.write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = Settings(targets=(".9",), confidence=".95", budget=50)
    Certification.start(results, tmp_path / "a.plan.json", settings)
    for path in ledger.lists_of(results):
        line = json.loads(path.read_text())
        names = "sha256 kind posts best texts best_texts criteria order error earlier"
        later = {"same_labels": [], "other_criteria": 0, "other_posts": 0, "words": []}
        old = {name: line[name] for name in names.split()} | later
        path.write_text(json.dumps(old) + "\n")
    (tmp_path / "a.plan.json").unlink()
    again = results, tmp_path / "b.plan.json", replace(settings, seed=1)
    with pytest.raises(PlanRefused, match="already a plan over the same posts"):
        Certification.start(*again)
    work = Certification.start(*again, another_plan=True)
    assert work.joint_error == Fraction(1, 10)
