"""What a user can get wrong with sheets, plans and certificates, and what is said then."""

import gzip
import json
import re
import shutil

import pytest
from sheet_commands import (
    certificate,
    certify,
    fill,
    finish,
    rows_of,
    run,
    save,
    scored,
    start,
)

from siamese_news_desk.decide.plan.sealed_files import SEAL, read_sealed, write_sealed
from siamese_news_desk.labels import matching
from siamese_news_desk.labels.journal import LabelJournal
from siamese_news_desk.labels.matching import Label, Labels, SampledPosts, VerdictLog
from siamese_news_desk.labels.units import Unit


@pytest.fixture
def pool(tmp_path):
    return tmp_path, scored(tmp_path / "scored.jsonl")


def refused(done, *words):
    assert done.exit_code == 2, done.output
    for word in words:
        assert word in done.stderr, done.stderr


def test_a_misspelled_label(pool):
    folder, relevant = pool
    start(folder)
    rows = fill(folder / "sheet.csv", relevant)
    rows[4]["label"] = "yess"
    save(folder / "sheet.csv", rows)
    refused(
        certify(folder), "sheet.csv:6", "'yess'", "expected one of 1, 1.0, yes", "ja"
    )


@pytest.mark.parametrize("command", ["certify", "audit"])
def test_a_missing_sheet_is_named_rather_than_its_plan(pool, command):
    folder, _ = pool
    missing = folder / "nowhere.csv"
    refused(
        run(command, "--labels", missing), f"{missing}: no such sheet; check the path"
    )
    refused(
        run(command, "--labels", folder),
        f"{folder}: is a folder, expected a labeled sheet",
    )


def test_labels_in_another_column(pool):
    folder, _ = pool
    start(folder)
    rows = rows_of(folder / "sheet.csv")
    for row in rows:
        row["note"] = "1"
    save(folder / "sheet.csv", rows)
    refused(certify(folder), "sheet.csv:2", "column 'note'", "move the labels")


def test_the_label_column_is_gone(pool):
    folder, _ = pool
    start(folder)
    rows = [{"post": row["post"], "mine": "1"} for row in rows_of(folder / "sheet.csv")]
    save(folder / "sheet.csv", rows)
    refused(certify(folder), "sheet.csv:1", "post, mine", "expected label")


def test_a_label_given_twice_counts_once_and_a_contradiction_as_not_relevant(pool):
    folder, relevant = pool
    start(folder)
    rows = fill(folder / "sheet.csv", relevant)
    save(folder / "sheet.csv", [*rows, rows[0]])
    done = certify(folder)
    assert done.exit_code == 0 and "1 label was given twice" in done.stderr
    other = {**rows[0], "label": "0" if rows[0]["label"] == "1" else "1"}
    save(folder / "sheet.csv", [*rows, other, {**rows[1], "label": "skip"}])
    (folder / "sheet.2.csv").unlink()
    done = certify(folder)
    said = f"1 post with labels that contradict each other, such as '{rows[0]['post']}': counted as"
    assert done.exit_code == 0 and said in done.stderr
    content = certificate(folder)
    assert content["labels"]["skipped"] == 1 and said in content["remarks"][-1]


def test_two_coders_in_one_journal_are_counted_the_same_way_by_every_command(pool):
    folder, _ = pool
    start(folder)
    rows = rows_of(folder / "sheet.csv")
    (folder / "sheet.csv").unlink()
    plan, labels = folder / "sheet.plan.json", folder / "both.jsonl"
    log = LabelJournal(labels, read_sealed(plan, "plan")[SEAL])
    for row in rows:
        log.add(row["post"], "yes", "ana")
        log.add(row["post"], "no" if row is rows[0] else "yes", "ben")
    said = (
        f"1 post with labels that contradict each other, such as '{rows[0]['post']}': "
    )
    done = run("certify", "--plan", plan, "--labels", labels)
    assert done.exit_code == 0 and f"{said}counted as not relevant" in done.stderr
    assert certificate(folder)["labels"]["not_relevant"] == 1
    scored(folder / "scored.parquet")
    files = ("--results", folder / "scored.parquet", "--labels", labels)
    done = run("feedback", *files, "--next", folder / "next.csv")
    assert done.exit_code == 0 and f"{said}not used until they agree" in done.stderr


def test_labels_of_posts_that_were_not_drawn_are_not_used(pool):
    folder, relevant = pool
    start(folder)
    rows = fill(folder / "sheet.csv", relevant)
    assert certify(folder).exit_code == 0
    before = certificate(folder)["claims"]
    drawn = {row["post"] for row in rows}
    new = folder / "sheet.2.csv"
    drawn |= {row["post"] for row in rows_of(new)} if new.exists() else set()
    extra = [
        {"post": f"p{n}", "label": "1"} for n in range(600) if f"p{n}" not in drawn
    ]
    save(folder / "sheet.csv", rows + extra)
    new.unlink(missing_ok=True)
    done = certify(folder)
    assert f"{len(extra)} labels are of posts that were not drawn" in done.stderr
    assert certificate(folder)["claims"] == before
    save(folder / "sheet.csv", extra)
    refused(certify(folder), "was given in a sheet of this plan")


@pytest.mark.parametrize(
    "writer", ["feedback --next", "sample --for relevance", "sample"]
)
def test_a_sheet_that_is_not_of_the_plan_is_the_one_that_is_named(pool, writer):
    """Next to a sheet of the plan without labels, and with them, whatever posts were drawn."""
    folder, relevant = pool
    start(folder, "--at-least", "300", "--budget", "600")
    results = folder / "scored.jsonl"
    stray = folder / "stray.csv"
    if writer == "feedback --next":
        results = folder / "scored.parquet"
        scored(results)
        done = run("feedback", "--results", results, "--next", stray)
    elif writer == "sample":
        done = start(folder, "--seed", "1", "--again", out="stray.csv")
    else:
        done = run("sample", "--results", results, "--for", "relevance", "--out", stray)
    assert done.exit_code == 0, done.stderr
    plan = ("--plan", folder / "sheet.plan.json", "--labels", folder / "sheet.csv")
    number = len(fill(stray, relevant))
    of_another = f"is a sheet of {writer}, for siamese-news"
    done = run("certify", *plan, "--labels", stray)
    refused(
        done,
        "stray.csv: "
        + (
            f"none of its labels ({number}) was given in a sheet of this"
            if writer == "sample"
            else of_another
        ),
    )
    fill(folder / "sheet.csv", relevant)
    done = run("certify", *plan, "--labels", stray)
    if writer == "sample":
        words = "labels are of posts that were not drawn, or from sheets"
        assert f"{number} {words}" in done.stderr
    else:
        refused(done, of_another)


def test_a_gap_in_the_order_counts_as_an_error(pool):
    folder, _ = pool
    start(folder)
    rows = rows_of(folder / "sheet.csv")
    for row in rows[1:]:
        row["label"] = "1"
    save(folder / "sheet.csv", rows)
    done = certify(folder)
    assert (
        done.exit_code == 0
        and "no label yet for 1 needed post of the sheets; label it" in done.stderr
    )
    rows[0]["label"] = "0"
    gap = certificate(folder)["claims"][0]["posts"]
    save(folder / "sheet.csv", rows)
    certify(folder)
    assert certificate(folder)["claims"][0]["posts"] == gap


def test_a_skipped_post_counts_as_not_relevant(pool):
    folder, relevant = pool
    start(folder)
    rows = fill(folder / "sheet.csv", relevant)
    rows[0]["label"], rows[1]["label"] = "skip", "0"
    save(folder / "sheet.csv", rows)
    certify(folder)
    first = certificate(folder)
    rows[0]["label"] = "0"
    save(folder / "sheet.csv", rows)
    (folder / "sheet.2.csv").unlink(missing_ok=True)
    certify(folder)
    assert first["claims"][0]["posts"] == certificate(folder)["claims"][0]["posts"]
    assert first["labels"]["skipped"] == 1 and first["labels"]["not_relevant"] >= 2


@pytest.mark.parametrize(
    "change",
    [("--budget", "200"), ("--seed", "1"), ("--confidence", ".9"), ("--first", "200")],
)
def test_what_is_fixed_cannot_be_changed_after_the_first_label(pool, change):
    folder, relevant = pool
    start(folder)
    fill(folder / "sheet.csv", relevant)
    done = start(folder, *change, out="other.csv")
    refused(done, f"{change[0][2:]} was", "--again", "a fifth")
    assert (
        not (folder / "other.csv").exists()
        and not (folder / "other.plan.json").exists()
    )


def test_another_target_after_the_first_label(pool):
    folder, relevant = pool
    start(folder)
    fill(folder / "sheet.csv", relevant)
    refused(start(folder, precision=".7", out="other.csv"), "targets was .8, is .7")


def test_a_blank_sheet_frees_no_plan_and_a_withdrawn_one_is_refused_for_good(pool):
    folder, relevant = pool
    start(folder)
    # The labels may be in another program: a blank sheet says nothing.
    refused(start(folder, "--seed", "1", out="b.csv"), "seed was 0, is 1", "--withdraw")
    assert not (folder / "b.plan.json").exists()
    # Another target alone draws the same posts: each is tested once, like those of one plan.
    done = start(
        folder, "--withdraw", folder / "sheet.plan.json", precision=".7", out="b.csv"
    )
    assert done.exit_code == 0
    assert (
        "0.95 for each target, 0.9 for all together, after 1 withdrawn plan"
        in done.stderr
    )
    drawn = [
        [row["post"] for row in rows_of(folder / name)]
        for name in ("sheet.csv", "b.csv")
    ]
    assert drawn[0][:5] == drawn[1][:5]
    # Another order is not free, and neither is a third one.
    done = start(
        folder, "--seed", "1", "--withdraw", folder / "b.plan.json", out="c.csv"
    )
    assert "confidence: 0.85 for each target" in done.stderr, done.stderr
    fill(folder / "sheet.csv", relevant)
    refused(certify(folder), "sheet.plan.json", "was withdrawn")
    refused(start(folder, "--again", out="d.csv"), "was withdrawn")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "change", ["name", "seventh decimal", "folder", "rows", "threshold"]
)
def test_scores_of_the_same_posts_share_one_list(pool, change):
    folder, _ = pool
    start(folder)
    lines = (folder / "scored.jsonl").read_text().splitlines(keepends=True)
    if change == "seventh decimal":
        lines = [re.sub(r'("score": [\d.]+)', r"\g<1>1", line) for line in lines]
    elif change == "rows":
        lines.reverse()
    elif change == "threshold":
        lines = lines[:-100]
    other = folder / "other" if change == "folder" else folder
    other.mkdir(exist_ok=True)
    (other / "again.jsonl").write_text("".join(lines))
    more = ("--seed", "1") if change in ("name", "folder") else ()
    done = start(other, *more, results="again.jsonl", out="b.csv")
    refused(done, "a plan over the same posts")
    done = start(other, *more, "--again", results="again.jsonl", out="b.csv")
    assert "confidence: 0.9 " in done.stderr


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "damage", ["at the end", "between", "of another kind", "no line end"]
)
def test_a_damaged_list_of_plans_blocks_no_plan_for_good(
    pool, monkeypatch, tmp_path, damage
):
    """NULs, as a power cut leaves them, are passed over; for the rest there is a remedy."""
    folder, _ = pool
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    start(folder)
    own = tmp_path / "state/siamese_news/plans.jsonl"
    line = own.read_bytes()
    garbage = {"of another kind": b'{"sha256": 7}\n', "no line end": b"half a line"}
    own.write_bytes(
        {"at the end": line + 512 * b"\0", "between": 512 * b"\0" + b"\n" + line}.get(
            damage
        )
        or line + garbage[damage]
    )
    other = folder / "other"
    other.mkdir()
    scored(other / "scored.jsonl")
    more = ("--seed", "1")
    if damage in garbage:
        refused(
            start(other, *more), "plans.jsonl", "remove what is damaged", "still count"
        )
        own.write_bytes(own.read_bytes().replace(garbage[damage], b""))
    # What is readable still counts.
    refused(start(other, *more), "a plan over the same posts")
    scored(
        other / "others.jsonl",
        ids=lambda n: f"q{n}",
        text=lambda n: f"word {n} of others",
    )
    done = start(other, results="others.jsonl")
    assert done.exit_code == 0, done.output


def test_arguments_and_ids_that_are_not_text(pool):
    """Half an emoji, or a byte that is not UTF-8, as a terminal passes it on."""
    folder, relevant = pool
    done = start(folder, "--criteria", "caf\udce9, \ud83d")
    assert done.exit_code == 0, (done.output, done.exception)
    fill(folder / "sheet.csv", relevant)
    assert certify(folder).exit_code == 0
    assert certificate(folder)["criteria"] == "caf\ufffd, \ufffd"
    assert run("certify", "--check", folder / "sheet.certificate.json").exit_code == 0
    row = '{"post": "p\\ud83d", "score": 1, "text": "x"}\n'
    (folder / "half.jsonl").write_text(row)
    refused(start(folder, results="half.jsonl", out="b.csv"), "half.jsonl:1", "'post'")


def test_the_users_own_list_holds_hashes_alone(pool, monkeypatch, tmp_path):
    folder, _ = pool
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    start(folder, "--criteria", "about the flood")
    text = (tmp_path / "state/siamese_news/plans.jsonl").read_text()
    assert "p1" not in text and "flood" not in text and str(folder) not in text
    assert "sheet.plan.json" not in text


def test_other_posts_and_other_criteria_are_another_question(pool):
    folder, _ = pool
    start(folder, "--criteria", "the flood")
    scored(
        folder / "other.jsonl",
        ids=lambda n: f"q{n}",
        text=lambda n: f"another text {n}",
    )
    assert start(folder, results="other.jsonl", out="b.csv").exit_code == 0
    assert (
        start(folder, "--seed", "1", "--criteria", "The strike", out="c.csv").exit_code
        == 0
    )
    more = ("--seed", "2", "--criteria", "the  FLOOD")
    refused(start(folder, *more, out="d.csv"), "a plan over the same posts")
    refused(start(folder, "--seed", "2", out="d.csv"), "need --criteria of their own")


def test_a_plan_without_criteria_is_about_every_story(pool):
    folder, _ = pool
    start(folder)
    later = start(folder, "--seed", "1", "--criteria", "the flood", out="b.csv")
    refused(
        later,
        "over the same posts (sheet.plan.json",
        "the earlier one has none, so it counts",
    )


@pytest.mark.parametrize("typed", ["90%", "0,9", "90"])
def test_shares_are_read_as_on_the_page(pool, typed):
    folder, _ = pool
    options = ("--criteria", "x", "--confidence", "95 %")
    done = start(folder, *options, precision=typed)
    assert done.exit_code == 0, done.output
    settings = json.loads((folder / "sheet.plan.json").read_text())["settings"]
    assert (settings["targets"], settings["confidence"]) == (["0.9"], "0.95")


def test_a_plan_is_made_once(pool):
    folder, _ = pool
    start(folder)
    refused(start(folder, out="b.csv"), "sheet.plan.json", "is this very plan already")
    for path in folder.glob("sheet.*"):  # somebody moves it
        path.rename(path.with_name("moved" + path.name[5:]))
    assert start(folder, out="b.csv").exit_code == 0


def test_changed_verdicts_are_said_wherever_the_certificate_is_read(pool):
    folder, relevant = pool
    start(folder, "--budget", "40", "--at-least", "40")
    rows = fill(folder / "sheet.csv", relevant - {f"p{n}" for n in range(0, 200, 9)})
    first = certify(folder)
    assert "changed after" not in first.stdout
    turned = [row for row in rows if row["label"] == "0" and row["post"] in relevant]
    fill(folder / "sheet.csv", relevant)
    done = certify(folder)
    said = f"{len(turned)} verdicts were changed after"
    assert len(turned) > 1 and said in done.stdout
    check = run("certify", "--check", folder / "sheet.certificate.json")
    assert check.exit_code == 0 and said in check.stderr
    page = (folder / "sheet.certificate.html").read_text()
    assert said in page and f"{len(turned)} changed after the first look" in page
    assert certificate(folder)["labels"]["changed"] == len(turned)
    # Turning them back does not unsay it, nor does a line that was cut off by a full disk.
    save(folder / "sheet.csv", rows)
    with (folder / "sheet.verdicts.jsonl").open("a") as stream:
        stream.write('{"key": "half a li')
    assert said in certify(folder).stdout


CHANGES = ("log deleted", "renamed", "copied before", "made again", "replaced for free")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("change", CHANGES)
def test_changed_verdicts_are_counted_wherever_the_files_are(pool, change):
    folder, relevant = pool
    start(folder, "--budget", "40", "--at-least", "40")
    other, sheet = folder, "sheet.csv"
    if change == "copied before":
        other = folder / "other"
        shutil.copytree(folder, other)
    fill(folder / "sheet.csv", set())
    assert "changed after" not in certify(folder).stdout
    if change == "log deleted":
        (folder / "sheet.verdicts.jsonl").unlink()
    elif change == "renamed":
        sheet = "mine.csv"
        for ending in ("csv", "plan.json", "drawn.jsonl"):
            (folder / f"sheet.{ending}").rename(folder / f"mine.{ending}")
    elif change == "made again":
        for path in folder.glob("sheet.*"):
            path.unlink()
        start(folder, "--budget", "40", "--at-least", "40")
    elif change == "replaced for free":
        sheet = "b.csv"
        more = (
            "--budget",
            "40",
            "--at-least",
            "40",
            "--withdraw",
            folder / "sheet.plan.json",
        )
        start(folder, *more, precision=".75", out=sheet)
        fill(folder / sheet, set())
        assert "changed after" not in certify(folder, sheet).stdout
        (folder / "b.2.csv").unlink()  # the best posts, for the labels that are left
    turned = [row for row in fill(other / sheet, relevant) if row["label"] == "1"]
    done = certify(other, sheet)
    assert f"{len(turned)} verdicts were changed after" in done.stdout, done.output


@pytest.mark.sampled(1)
@pytest.mark.parametrize("typed", ["90%", "0.90", ".9"])
def test_changed_verdicts_are_counted_however_the_confidence_is_typed(pool, typed):
    folder, relevant = pool
    plan = ("--budget", "40", "--at-least", "40")
    start(folder, *plan, "--confidence", ".9")
    fill(folder / "sheet.csv", set())
    certify(folder)
    for path in folder.glob("sheet.*"):
        path.unlink()
    start(folder, *plan, "--confidence", typed)
    turned = [
        row for row in fill(folder / "sheet.csv", relevant) if row["label"] == "1"
    ]
    done = certify(folder)
    assert f"{len(turned)} verdicts were changed after" in done.stdout, done.output


@pytest.mark.parametrize("role", ["results", "posts"])
@pytest.mark.parametrize("ending", ["certificate.csv", "drawn.jsonl"])
def test_a_file_that_is_read_is_not_written(pool, ending, role):
    folder, _ = pool
    taken = folder / f"sheet.{ending}"
    scored(taken)
    before = taken.read_bytes()
    if role == "results":
        done = start(folder, results=taken.name, out="sheet.2.jsonl")
    else:
        done = start(folder, "--posts", taken)
    refused(done, f"{taken.name}: has the name of a file that is written", "--out")
    assert taken.read_bytes() == before
    assert not (folder / "sheet.plan.json").exists()


def test_results_that_were_moved_to_the_place_of_the_list_stay(pool):
    folder, relevant = pool
    start(folder)
    fill(folder / "sheet.csv", relevant)
    certify(folder)
    moved = (folder / "scored.jsonl").replace(folder / "sheet.certificate.csv")
    before = moved.read_bytes()
    refused(
        certify(folder, more=("--results", moved)), "has the name of a file that is"
    )
    assert moved.read_bytes() == before


@pytest.mark.parametrize("ending", ["csv", "html"])
def test_a_file_of_somebody_else_in_the_place_of_a_certificate_stays(pool, ending):
    folder, relevant = pool
    start(folder, out="storm.csv")
    fill(folder / "storm.csv", relevant)
    mine = folder / f"storm.certificate.{ending}"
    mine.write_text("my notes")
    done = certify(folder, "storm.csv")
    refused(done, f"{mine.name}: is here without storm.certificate.json", "rename it")
    assert mine.read_text() == "my notes"
    mine.unlink()
    assert certify(folder, "storm.csv").exit_code == 0
    assert certify(folder, "storm.csv", "storm.2.csv").exit_code == 0


def test_labels_of_posts_that_are_drawn_later_leave_a_certificate_as_it_was(pool):
    folder, relevant = pool
    start(folder)
    fill(folder / "sheet.csv", relevant)
    labels_before = [
        {"post": f"p{n}", "label": "yes" if f"p{n}" in relevant else "no"}
        for n in range(0, 600, 2)  # also of posts that no sheet has yet
    ]
    save(folder / "before.csv", labels_before)
    path = folder / "sheet.certificate.json"
    for sheets in (["sheet.csv"], ["sheet.csv", "sheet.2.csv"]):
        done = certify(folder, *sheets, "before.csv")
        assert (
            done.exit_code == 0 and "that were not drawn, or from sheets" in done.stderr
        )
        check = run("certify", "--check", path)
        assert check.exit_code == 0, check.stderr
    # They count once their posts are drawn.
    assert certificate(folder)["labels"]["used"] > 25


def test_two_programs_that_are_open_keep_the_verdicts_of_both(tmp_path):
    sampled = SampledPosts(tmp_path / "drawn.jsonl", "plan")
    posts = sampled.draw([Unit(f"p{n}", f"p{n}") for n in range(4)])
    files = sampled, tmp_path / "verdicts.jsonl", tmp_path / "own" / "copy.jsonl"
    page, command = VerdictLog(*files), VerdictLog(*files)
    of = {post.name: Label(post, "yes") for post in posts}
    page.look(Labels(dict(list(of.items())[:1])))
    command.look(Labels(of))
    page.look(Labels(dict(list(of.items())[:2])))
    again = VerdictLog(*files)
    again.look(Labels({name: Label(one.sampled, "no") for name, one in of.items()}))
    assert again.changed == 4


def test_verdicts_given_after_the_clock_was_set_back_are_the_present_ones(
    tmp_path, monkeypatch
):
    sampled = SampledPosts(tmp_path / "drawn.jsonl", "plan")
    (post,) = sampled.draw([Unit("p0", "p0")])
    log = VerdictLog(sampled, tmp_path / "verdicts.jsonl", tmp_path / "copy.jsonl")
    for day, verdict in (("20", "no"), ("10", "yes")):
        monkeypatch.setattr(matching, "now", lambda day=day: f"2026-11-{day}T00:00:00Z")
        log.look(Labels({"p0": Label(post, verdict)}))
    assert log.covers(Labels({"p0": Label(post, "yes")}))
    assert not log.covers(Labels({"p0": Label(post, "no")}))
    assert log.changed == 1


def test_other_criteria_are_other_verdicts(pool, tmp_path):
    folder, relevant = pool
    other = folder / "other"
    other.mkdir()
    shutil.copy(folder / "scored.jsonl", other)
    for place, words, said in (
        (folder, "the flood", set()),
        (other, "the strike", relevant),
    ):
        assert start(place, "--criteria", words).exit_code == 0
        fill(place / "sheet.csv", said)
        assert "changed after" not in certify(place).stdout


@pytest.mark.sampled(2)
@pytest.mark.parametrize("column", ["text", "post", "label", "shifted label"])
def test_columns_that_were_sorted_or_moved_alone_are_refused(pool, column):
    folder, relevant = pool
    start(folder, "--at-least", "60")
    rows = fill(folder / "sheet.csv", {p for p in relevant if int(p[1:]) % 10})
    if column == "shifted label":
        cells = ["", *(row["label"] for row in rows)]
        rows.append(dict.fromkeys(rows[0], ""))
        column, words = "label", [f"sheet.csv:{len(rows) + 1}", "without key and post"]
    else:
        cells = sorted(row[column] for row in rows)
        words = [
            "sheet.csv:2",
            {"label": "are sorted", "post": "mixed up"}.get(column, "check"),
        ]
    for row, cell in zip(rows, cells, strict=True):
        row[column] = cell
    save(folder / "sheet.csv", rows)
    refused(certify(folder), *words)


def test_whole_rows_may_be_sorted_and_old_sheets_still_count(pool):
    folder, relevant = pool
    start(folder)
    rows = fill(folder / "sheet.csv", relevant)
    save(
        folder / "sheet.csv", sorted(rows, key=lambda row: (row["label"], row["text"]))
    )
    done = certify(folder)
    assert done.exit_code == 0 and "check" not in done.stderr
    (folder / "sheet.2.csv").unlink(missing_ok=True)
    for row in rows:
        del row["check"]
    save(folder / "sheet.csv", rows)
    done = certify(folder)
    assert (
        done.exit_code == 0
        and f"{len(rows)} labels are in rows without a check" in done.stderr
    )


def test_verdicts_in_other_languages(pool):
    folder, relevant = pool
    start(folder, "--at-least", "60")
    rows = rows_of(folder / "sheet.csv")
    words = (
        ("ja", "nein"),
        ("Tak", "nie"),
        ("OUI", "non"),
        ("s\u00ed", "no"),
        ("si\u0301", "No "),
        ("x", "N"),
    )
    # What spreadsheets in these languages make of TRUE and FALSE, and words of coders.
    words += (
        ("VRAI", "FAUX"),
        ("WAHR", "FALSCH"),
        ("VERDADERO", "FALSO"),
        ("1,0", "0,0"),
    )
    words += (("pertinent", "non pertinent"), ("Relevant", "nicht relevant"))
    for number, row in enumerate(rows[:-1]):
        yes, no = words[number % len(words)]
        row["label"] = yes if row["post"] in relevant else no
    save(folder / "sheet.csv", rows)
    done = certify(folder)
    assert done.exit_code == 0, done.stderr
    used = certificate(folder)["labels"]
    assert used["used"] == len(rows) - 1 and used["not_relevant"] > 0
    assert used["relevant"] == sum(row["post"] in relevant for row in rows[:-1])


def test_trying_again_until_it_passes_is_refused_or_paid_for(pool):
    folder, _ = pool
    start(folder)
    fill(folder / "sheet.csv", set())
    certify(folder)
    (folder / "sheet.csv").unlink()  # hiding the sheet is no way out
    refused(start(folder, "--seed", "1", out="b.csv"), "--again")
    for number, name in enumerate("bcd", 1):
        done = start(folder, "--seed", number, "--again", out=f"{name}.csv")
        assert done.exit_code == 0, done.stderr
    assert "confidence: 0.8" in done.stderr and "3 earlier plans" in done.stderr
    fill(folder / "d.csv", set())
    certify(folder, "d.csv")
    found = json.loads((folder / "d.certificate.json").read_text())
    assert found["confidence"] == 0.8 and found["earlier_plans"] == 3


def test_the_head_of_a_list_is_not_another_population(pool):
    folder, _ = pool
    start(folder)
    rows = [json.loads(line) for line in (folder / "scored.jsonl").open()]
    best = sorted(rows, key=lambda row: row["rank"])[:200]
    (folder / "best.jsonl").write_text("".join(json.dumps(row) + "\n" for row in best))
    refused(
        start(folder, results="best.jsonl", out="b.csv"),
        "already a plan",
        "sheet.plan.json",
    )
    done = start(folder, "--again", results="best.jsonl", out="b.csv")
    assert done.exit_code == 0 and "confidence: 0.9 " in done.stderr
    # The head of the rest shares no post with it.
    (folder / "rest.jsonl").write_text(
        "".join(json.dumps(r) + "\n" for r in rows if r["rank"] > 400)
    )
    assert start(folder, results="rest.jsonl", out="c.csv").exit_code == 0


def test_plans_with_other_criteria_are_counted_where_the_certificate_is_read(pool):
    folder, relevant = pool
    start(folder, "--criteria", "about the flood")
    again = start(folder, "--criteria", "About  the flood", out="b.csv", precision=".9")
    refused(again, "already a plan")
    for number, name in enumerate("cd", 1):
        options = ("--criteria", f"the flood, {number}", "--seed", number)
        done = start(folder, *options, out=f"{name}.csv")
        assert done.exit_code == 0, done.stderr
    fill(folder / "d.csv", relevant)
    done, _ = finish(folder, relevant, sheet="d.csv")
    said = (
        "There are also 2 plans over these posts with other criteria: the confidence holds for "
        "each plan alone, not for a choice among them."
    )
    assert "are certified" in done.stdout and said in done.stdout
    assert said in (folder / "d.certificate.html").read_text()
    done, _ = finish(folder, relevant)
    assert "are certified" in done.stdout and "other criteria" not in done.stdout


def test_parts_of_a_corpus_are_counted_and_not_refused(pool):
    """A month, then another one, then all: months share no post, so only the whole pays."""
    folder, relevant = pool
    rows = [
        json.loads(line) for line in (folder / "scored.jsonl").read_text().splitlines()
    ]
    for month in (0, 1):
        part = [row for row in rows if row["rank"] % 3 == month]
        (folder / f"{month}.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in part)
        )
        done = start(
            folder, "--budget", "120", results=f"{month}.jsonl", out=f"m{month}.csv"
        )
        assert done.exit_code == 0 and "confidence" not in done.stderr, done.stderr
    done, _ = finish(folder, relevant, sheet="m1.csv")
    assert (
        "There is also 1 plan over other posts: the confidence holds for" in done.stdout
    )
    done = start(folder)
    assert done.exit_code == 0, done.stderr
    assert (
        "confidence: 0.85 for each target, 0.85 for all together, after 2 earlier"
        in done.stderr
    )
    done, _ = finish(folder, relevant)
    assert "The confidence is 0.85: of a hundred such plans" in done.stdout
    assert (
        "This pays for 2 earlier plans over these posts or a part of them."
        in done.stdout
    )


def test_targets_tried_on_the_same_labels_count_together(pool):
    folder, relevant = pool
    start(folder, precision=".9")
    start(
        folder, "--withdraw", folder / "sheet.plan.json", precision=".85", out="b.csv"
    )
    start(folder, "--withdraw", folder / "b.plan.json", precision=".8", out="c.csv")
    done, _ = finish(folder, relevant, sheet="c.csv")
    assert "The confidence is 0.95: of a hundred such plans" in done.stdout
    assert (
        "For this target and those of 2 withdrawn plans with the same labels together it is 0.85."
    ) in done.stdout
    assert (
        json.loads((folder / "c.certificate.json").read_text())["joint_confidence"]
        == 0.85
    )


def test_tries_end_before_the_confidence_does(pool):
    folder, _ = pool
    start(folder, "--confidence", ".6")
    assert (
        start(
            folder, "--confidence", ".6", "--seed", "1", "--again", out="b.csv"
        ).exit_code
        == 0
    )
    done = start(folder, "--confidence", ".6", "--seed", "2", "--again", out="c.csv")
    refused(done, "c.plan.json", "2 earlier plans", "no confidence is left")
    assert not (folder / "c.plan.json").exists()


def test_a_pool_known_by_its_copies_says_how_many_labels_that_took(tmp_path):
    scored(tmp_path / "scored.jsonl", size=60, text=lambda n: f"text {n // 6}")
    start(tmp_path)
    done, _ = finish(tmp_path, {f"p{n}" for n in range(30)})
    assert "30 of 60 posts are certified" in done.stdout
    assert "This is certain" in done.stdout
    assert "verdicts on all 60 posts come from 10 labels, because copies" in done.stdout


def test_labels_in_another_folder_are_found_again(pool):
    folder, relevant = pool
    start(folder)
    fill(folder / "sheet.csv", relevant)
    (folder / "coder").mkdir()
    sheet = (folder / "sheet.csv").rename(folder / "coder" / "labels.csv")
    plan = folder / "sheet.plan.json"
    assert run("certify", "--plan", plan, "--labels", sheet).exit_code == 0
    packet = ("--packet", folder / "packet")
    done = run("certify", "--check", folder / "sheet.certificate.json", *packet)
    assert done.exit_code == 0, done.stderr
    assert run("certify", "--check", folder / "packet").exit_code == 0


def test_a_plan_that_was_moved_without_its_drawn_posts(pool):
    folder, relevant = pool
    start(folder)
    fill(folder / "sheet.csv", relevant)
    (folder / "sheet.drawn.jsonl").unlink()
    refused(certify(folder), "sheet.drawn.jsonl", "is missing")


def test_other_files_of_posts_than_planned(pool):
    folder, relevant = pool
    for name in ("a", "b"):
        (folder / f"{name}.jsonl").write_text(
            json.dumps({"id": "p0", "text": "one text"}) + "\n"
        )
    a, b = ("--posts", folder / "a.jsonl"), ("--posts", folder / "b.jsonl")
    start(folder, *a)
    fill(folder / "sheet.csv", relevant)
    refused(certify(folder, more=[*a, *b]), "1 file", "2")
    for more in ([*a, *a], [*a, "--posts", "-"]):
        refused(start(folder, *more, out="b.csv"), "standard input or a file twice")


def test_ids_that_a_spreadsheet_shortened(pool):
    folder, _ = pool
    row = {"post": "1.23E+18", "score": 1}
    (folder / "excel.jsonl").write_text(2 * (json.dumps(row) + "\n"))
    done = start(folder, results="excel.jsonl", out="b.csv")
    refused(done, "'1.23E+18' occurs twice", "shortened its ids")


def test_a_plan_that_somebody_edited(pool):
    folder, relevant = pool
    start(folder)
    fill(folder / "sheet.csv", relevant)
    path = folder / "sheet.plan.json"
    path.write_text(path.read_text().replace('".8"', '".5"'))
    refused(certify(folder), "sheet.plan.json", "was changed after it was written")


def test_scores_that_changed(pool):
    folder, relevant = pool
    start(folder)
    fill(folder / "sheet.csv", relevant)
    assert certify(folder).exit_code == 0
    path = folder / "scored.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    refused(certify(folder), "600 posts then, 599 now")
    path.write_text(
        "".join(line.replace('"score": 0.', '"score": 1.') for line in lines)
    )
    refused(certify(folder), "that of post 150 from the top was")
    path.write_text("".join(reversed(lines)))
    refused(
        run("certify", "--check", folder / "sheet.certificate.json"), "the file changed"
    )


def test_a_model_that_changed(pool):
    folder, relevant = pool
    meta = folder / "scored.jsonl.meta.json"
    text = json.dumps({"provenance": {"model": {"folder": "m", "sha256": "a" * 64}}})
    meta.write_text(text)
    start(folder)
    fill(folder / "sheet.csv", relevant)
    assert certify(folder).exit_code == 0
    assert certificate(folder)["model"]["sha256"] == "a" * 64
    meta.write_text(text.replace("a" * 64, "b" * 64))
    refused(certify(folder), "the model was aaaaaaaaaaaa, is bbbbbbbbbbbb")


def test_a_certificate_that_somebody_edited(pool):
    folder, relevant = pool
    start(folder)
    finish(folder, relevant)
    path = folder / "sheet.certificate.json"
    text = path.read_text()
    path.write_text(re.sub(r'"posts": \d+', '"posts": 5000', text, count=1))
    refused(run("certify", "--check", path), "was changed")
    path.write_text(text)
    rows = rows_of(folder / "sheet.csv")
    for row in rows:
        row["label"] = "0"
    save(folder / "sheet.csv", rows)
    refused(run("certify", "--check", path), "now lead to another certificate")


def test_a_plan_of_another_test_is_refused(pool):
    folder, _ = pool
    start(folder)
    path = folder / "sheet.plan.json"
    plan = json.loads(path.read_text())
    write_sealed(
        path, plan | {"method": plan["method"].replace("version 4", "version 3")}
    )
    refused(certify(folder), "sheet.plan.json", "with another test", "sample --again")


def test_no_positives_and_all_positives(tmp_path):
    for name, relevant in (("none", set()), ("all", {f"p{n}" for n in range(600)})):
        own = tmp_path / name
        own.mkdir()
        scored(own / "scored.jsonl")
        start(own)
        done, _ = finish(own, relevant)
        claim = certificate(own)["claims"][0]
        if name == "none":
            assert (
                "No posts without a label are certified at a precision of .8"
                in done.stdout
            )
            assert "No post was labeled relevant, so there is no list" in done.stdout
            assert claim["threshold"] is None and claim["posts"] == 0
        else:
            assert claim["posts"] == 600


def test_fewer_posts_than_the_first_set(tmp_path):
    relevant = scored(tmp_path / "scored.jsonl", size=50, cut=40)
    assert start(tmp_path, precision=".6", out="sheet.csv").exit_code == 0
    finish(tmp_path, relevant)
    assert certificate(tmp_path)["claims"][0]["posts"] == len(relevant)


def test_a_budget_above_the_pool_knows_everything(tmp_path):
    relevant = scored(tmp_path / "scored.jsonl", size=120, cut=60)
    start(tmp_path, "--budget", "500")
    assert len(rows_of(tmp_path / "sheet.csv")) == 120
    fill(tmp_path / "sheet.csv", relevant)
    done = certify(tmp_path)
    claim = certificate(tmp_path)["claims"][0]
    assert claim["exact"] and claim["posts"] == claim["relevant_at_least"] == len(
        relevant
    )
    assert "This is certain" in done.stdout


def test_ties_are_not_cut(tmp_path):
    relevant = scored(tmp_path / "scored.jsonl", ties=50)
    start(tmp_path)
    finish(tmp_path, relevant)
    claim = certificate(tmp_path)["claims"][0]
    assert (
        claim["posts"]
        and (claim["posts"] + claim["taken_out"] - claim["put_in"]) % 50 == 0
    )


def test_ids_as_numbers_keep_their_digits(tmp_path):
    ids = lambda n: 9007199254740993 + 2 * n  # noqa: E731
    relevant = scored(tmp_path / "scored.jsonl", ids=ids)
    start(tmp_path)
    rows = rows_of(tmp_path / "sheet.csv")
    assert {row["post"] for row in rows} <= {str(ids(n)) for n in range(600)}
    finish(tmp_path, relevant)
    assert certificate(tmp_path)["claims"][0]["posts"] > 100


@pytest.mark.parametrize("keys", [True, False])
def test_a_sheet_that_excel_saved(tmp_path, keys):
    """Byte order mark, semicolons, CRLF, leading zeros dropped."""
    relevant = scored(tmp_path / "scored.jsonl", ids=lambda n: f"{n:08d}")
    start(tmp_path)
    rows = fill(tmp_path / "sheet.csv", relevant)
    certify(tmp_path)
    expected = certificate(tmp_path)["claims"]
    (tmp_path / "sheet.2.csv").unlink(missing_ok=True)
    for row in rows:
        row["post"] = row["post"].lstrip("0") or "0"
        if not keys:
            del row["key"]
    save(tmp_path / "sheet.csv", rows, delimiter=";", encoding="utf-8-sig", end="\r\n")
    done = certify(tmp_path)
    assert done.exit_code == 0, done.stderr
    assert "ids were changed by another program" in done.stderr
    assert certificate(tmp_path)["claims"] == expected


def test_an_excel_file_is_named(tmp_path):
    scored(tmp_path / "scored.jsonl")
    start(tmp_path)
    (tmp_path / "sheet.csv").write_bytes(b"PK\x03\x04 and so on")
    done = certify(tmp_path)
    assert done.exit_code == 2 and "sheet.csv: is an Excel file" in done.stderr


def test_long_ids_in_scientific_notation(tmp_path):
    relevant = scored(
        tmp_path / "scored.jsonl", ids=lambda n: str(32520820174002 * 10**4 + n)
    )
    start(tmp_path)
    rows = fill(tmp_path / "sheet.csv", relevant)
    for row in rows:
        row["post"] = f"{float(row['post']):.5E}"
    save(tmp_path / "sheet.csv", rows, encoding="utf-16", delimiter="\t")
    assert certify(tmp_path).exit_code == 0
    (tmp_path / "sheet.2.csv").unlink(missing_ok=True)
    for row in rows:
        del row["key"]
    save(tmp_path / "sheet.csv", rows)
    refused(certify(tmp_path), "sheet.csv:2", "lost digits", "key")


def test_rows_that_were_mixed_up(pool):
    folder, relevant = pool
    start(folder)
    rows = fill(folder / "sheet.csv", relevant)
    rows[0]["post"], rows[1]["post"] = rows[1]["post"], rows[0]["post"]
    save(folder / "sheet.csv", rows)
    refused(certify(folder), "sheet.csv:2", "mixed up")


def test_nothing_of_the_users_is_overwritten(pool):
    folder, relevant = pool
    start(folder)
    fill(folder / "sheet.csv", relevant)
    before = (folder / "sheet.csv").read_bytes()
    refused(start(folder), "already exists and may have labels")
    assert (folder / "sheet.csv").read_bytes() == before
    (folder / "sheet.certificate.json").write_text("my notes")
    refused(certify(folder), "sheet.certificate.json")
    assert (folder / "sheet.certificate.json").read_text() == "my notes"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "empty"),
        ('{"id": 1}\n', "post"),
        ('{"post": "1", "score": "x"}\n', "expected a number"),
        ('{"post": "1", "score": 1}\n{"post": "1", "score": 2}\n', "occurs twice"),
        ('{"post": "1", "score": NaN}\n', "expected a number"),
    ],
)
def test_files_that_are_no_scores(tmp_path, content, words):
    (tmp_path / "scored.jsonl").write_text(content)
    refused(start(tmp_path), "scored.jsonl", words)


def test_packed_scores_that_are_cut_off(pool):
    folder, _ = pool
    whole = gzip.compress((folder / "scored.jsonl").read_bytes())
    (folder / "scored.jsonl").unlink()
    (folder / "cut.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    done = run(
        "sample",
        "--results",
        folder / "cut.jsonl.gz",
        "--precision",
        ".9",
        "--out",
        folder / "sheet.csv",
    )
    refused(done, "cut.jsonl.gz:", "cannot be read further", "cut off")
    assert not (folder / "sheet.csv").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--precision", "1"), "precision is 1"),
        (("--precision", ".80"), "twice"),
        (
            ("--precision", "80,90"),
            "precision is '80,90'; expected a share such as .9 or 90%",
        ),
        (("--confidence", "9,5"), "confidence is 9.5"),
        (("--budget", "2000000000000"), "settings.budget: Expected int <="),
        (("--seed", "9223372036854775808"), "no plan can have this value"),
        (("--confidence", ".3"), "at least .5"),
        (("--false-negative-rate", ".1"), "--false-positive-rate"),
        (
            ("--false-positive-rate", ".6", "--false-negative-rate", ".6"),
            "expected a sum below 1",
        ),
    ],
)
def test_options_that_cannot_be(pool, options, words):
    folder, _ = pool
    refused(start(folder, *options), words)
    assert not (folder / "sheet.plan.json").exists()
    assert start(folder).exit_code == 0


def test_a_batch_that_was_left_out(pool):
    folder, relevant = pool
    start(folder)
    fill(folder / "sheet.csv", relevant)
    assert "sheet.2.csv" in certify(folder).stderr
    refused(certify(folder), "sheet.2.csv", "name all of them")


def test_a_plan_with_the_random_order_of_another_version_is_refused(tmp_path):
    relevant = scored(tmp_path / "scored.jsonl")
    start(tmp_path)
    fill(tmp_path / "sheet.csv", relevant)
    path = tmp_path / "sheet.plan.json"
    plan = json.loads(path.read_text())
    plan["order"] = "that of another version"
    write_sealed(path, plan)
    done = certify(tmp_path)
    assert (
        done.exit_code == 2
        and "another version of the program made this plan" in done.stderr
    )


@pytest.mark.parametrize(
    "name",
    [
        "certificate.json",
        "certificate.html",
        "certificate.csv",
        "verdicts.jsonl",
        "drawn.jsonl",
    ],
)
def test_nothing_is_written_through_a_link_next_to_a_sheet(
    pool, tmp_path_factory, name
):
    """A sheet that somebody else sent, with a link that leads to a file of this user."""
    folder, relevant = pool
    start(folder)
    save(folder / "sheet.csv", fill(folder / "sheet.csv", relevant))
    mine = tmp_path_factory.mktemp("home") / ".bashrc"
    mine.write_text("mine\n")
    link = folder / f"sheet.{name}"
    link.unlink(missing_ok=True)
    link.symlink_to(mine)
    refused(certify(folder), f"{link}: is a link")
    assert mine.read_text() == "mine\n"
