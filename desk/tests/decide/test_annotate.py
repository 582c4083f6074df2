"""`siamese-news annotate` through a real pseudo-terminal, and killed."""

import json
import re
import sys
import termios
import time

import pexpect
import pytest
from sheet_commands import certificate, rows_of, run, scored, start
from tests.commands import OnTerminal

from siamese_news_desk.decide.plan.sealed_files import seal_of


def begin(folder, *arguments):
    return OnTerminal("annotate", *arguments, folder=folder)


def begin_anew(folder, *arguments):
    """In a new Python, for tests about signals."""
    child = pexpect.spawn(
        sys.executable,
        ["-m", "siamese_news", "annotate", *map(str, arguments)],
        cwd=str(folder),
        encoding="utf-8",
        timeout=60,
        dimensions=(40, 120),
    )
    child.delaybeforesend = None
    return child


def press(child, key):
    """Send a key once the child waits for one; what is typed before is flushed."""
    until = time.monotonic() + 60
    while termios.tcgetattr(child.child_fd)[3] & termios.ICANON:
        assert time.monotonic() < until
        time.sleep(0.001)
    child.send(key)


def posted(child):
    """The text of the post on the screen."""
    child.expect(r"text (\d+)\r\n")
    number = child.match.group(1)
    child.expect(r"\[q\] stop")
    return f"p{number}"


def said(folder, name="mine.jsonl"):
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


@pytest.fixture
def pool(tmp_path):
    return tmp_path, scored(tmp_path / "scored.jsonl", size=300, cut=150)


def test_keys_undo_skip_note_and_going_on(pool):
    folder, _ = pool
    arguments = (
        "--results",
        "scored.jsonl",
        "--find",
        "5",
        "--labels",
        "mine.jsonl",
        "--criteria",
        "about the flood",
    )
    child = begin(folder, *arguments)
    child.expect("Relevant: about the flood")
    assert posted(child) == "p0"
    press(child, "n")
    assert posted(child) == "p1"
    assert said(folder)[-1]["post"] == "p0"  # on disk before the next post
    press(child, "u")
    assert posted(child) == "p0"
    press(child, "t")
    child.expect("note: ")
    child.sendline("not sure")
    press(child, "y")
    assert posted(child) == "p1"
    press(child, "s")
    assert posted(child) == "p2"
    press(child, "x")  # no key of ours
    time.sleep(0.3)  # keys that come together are one paste
    press(child, "q")
    child.expect(pexpect.EOF)
    child.close()
    assert child.process.exitcode == 0
    rows = said(folder)
    assert [row.get("label") for row in rows[1:]] == ["no", None, "yes", "skip"]
    assert rows[3]["note"] == "not sure"
    # The plan is kept, and so is the place.
    child = begin(folder, *arguments)
    assert posted(child) == "p2"
    for number in (3, 4, 5):
        press(child, "y")
        assert posted(child) == f"p{number}"
    press(child, "y")
    child.expect("done: the goal is reached")
    child.expect(pexpect.EOF)
    assert sum(row.get("label") == "yes" for row in said(folder)) == 5


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("key", "status", "words"),
    [
        ("\x03", 130, "interrupted; all labels are on disk"),
        ("\x04", 0, "all labels are on disk"),
    ],
)
def test_arrows_and_pasted_text_are_no_labels_and_control_keys_end(
    pool, key, status, words
):
    folder, _ = pool
    child = begin_anew(
        folder, "--results", "scored.jsonl", "--find", "5", "--labels", "mine.jsonl"
    )
    assert posted(child) == "p0"
    for typed in ("\x1b[A", "\x1by", "yes, she says so"):  # up, Alt-y, a pasted text
        press(child, typed)
        time.sleep(0.3)  # a key that comes together with others is not read alone
    press(child, "n")
    assert posted(child) == "p1"
    press(child, key)
    child.expect(words)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == status
    assert [row["label"] for row in said(folder)[1:]] == ["no"]


def test_a_terminal_that_is_closed_ends_the_command(pool):
    folder, _ = pool
    child = begin_anew(
        folder, "--results", "scored.jsonl", "--find", "5", "--labels", "mine.jsonl"
    )
    posted(child)
    press(child, "y")
    posted(child)
    terminal = child.ptyproc
    terminal.fileobj.close()
    # Or it would be closed a second time, when another file may have its number.
    terminal.closed = child.closed = True
    deadline = time.monotonic() + 30
    while terminal.isalive() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert terminal.exitstatus == 129
    assert [row["label"] for row in said(folder)[1:]] == ["yes"]


def test_labels_without_the_modules_that_only_unix_has(pool):
    folder, _ = pool
    # As Windows reads keys: `typer` knows how, and nothing else may need a module of Unix.
    code = (
        "import sys, typer\n"
        "keys = iter(['\\xe0H', 'y', 'q'])\n"
        "typer.getchar = lambda: next(keys)\n"
        "sys.modules['termios'] = sys.modules['tty'] = None\n"
        "from siamese_news.__main__ import main\n"
        "main()\n"
    )
    arguments = [
        "annotate",
        "--results",
        "scored.jsonl",
        "--find",
        "5",
        "--labels",
        "mine.jsonl",
    ]
    child = pexpect.spawn(
        sys.executable, ["-c", code, *arguments], cwd=str(folder), timeout=60
    )
    child.expect("all labels are on disk")
    child.expect(pexpect.EOF)
    assert [row["label"] for row in said(folder)[1:]] == ["yes"]


def test_two_people_with_one_plan_do_not_overwrite_what_the_other_drew(pool):
    folder, relevant = pool
    start(folder, "--budget", "60")
    (folder / "sheet.csv").unlink()
    names = ("ana", "ben")
    children = [
        begin(folder, "--plan", "sheet.plan.json", "--labels", f"{name}.jsonl")
        for name in names
    ]
    given = {}
    for turn in range(20):
        # Both label at the same time, one of them more posts than the other.
        for child in children[: 1 + turn % 2]:
            post = posted(child)
            given[post] = post in relevant
            press(child, "y" if given[post] else "n")
    for child in children:
        posted(child)
        press(child, "q")
        child.expect(pexpect.EOF)
    labels = [word for name in names for word in ("--labels", folder / f"{name}.jsonl")]
    done = run("certify", "--plan", folder / "sheet.plan.json", *labels)
    assert done.exit_code == 0, done.stderr
    assert "not drawn" not in done.stderr
    assert certificate(folder)["labels"]["used"] == len(given) == 20


def test_a_file_of_labels_that_is_open_twice_loses_none(pool):
    folder, _ = pool
    arguments = ("--results", "scored.jsonl", "--find", "50", "--labels", "mine.jsonl")
    first, second = (begin(folder, *arguments) for _ in range(2))
    for child in (first, second):
        assert posted(child) == "p0"
    press(first, "y")
    assert posted(first) == "p1"
    press(second, "n")
    second.expect("another program has written to it")
    second.expect(pexpect.EOF)
    press(first, "yq")  # pasted
    time.sleep(0.3)  # keys that come together are one paste
    press(first, "y")
    assert posted(first) == "p2"
    first.close()
    assert [row["label"] for row in said(folder)[1:]] == ["yes", "yes"]


def test_killed_in_the_middle_nothing_is_lost(pool):
    folder, _ = pool
    arguments = ("--results", "scored.jsonl", "--find", "50", "--labels", "mine.jsonl")
    child = begin(folder, *arguments)
    for _ in range(3):
        posted(child)
        press(child, "y")
    posted(child)
    child.process.kill()
    child.close()
    with (folder / "mine.jsonl").open("a") as stream:
        stream.write('{"key": "half a li')  # as a full disk may leave it
    child = begin(folder, *arguments)
    assert posted(child) == "p3"
    press(child, "q")
    child.expect(pexpect.EOF)
    assert [row["post"] for row in said(folder)[1:]] == ["p0", "p1", "p2"]


def test_labels_for_a_certificate_one_at_a_time(pool):
    folder, _ = pool
    relevant = scored(folder / "scored.jsonl")
    start(folder, "--budget", "30", "--criteria", "the story")
    child = begin(folder, "--plan", "sheet.plan.json", "--labels", "mine.jsonl")
    count = 0
    while True:
        place = child.expect([r"text (\d+)\r\n", "done; now: siamese-news certify"])
        if place:
            break
        number = child.match.group(1)
        child.expect(r"\[q\] stop")
        press(child, "y" if f"p{number}" in relevant else "n")
        count += 1
    child.expect(pexpect.EOF)
    assert 10 < count <= 30
    plan, labels = folder / "sheet.plan.json", folder / "mine.jsonl"
    done = run("certify", "--plan", plan, "--labels", labels)
    assert done.exit_code == 0, done.stderr
    found = certificate(folder)
    assert found["labels"]["used"] == count and found["claims"][0]["posts"] >= 200


def test_recall_by_random_posts_first_through_a_pipe(pool):
    folder, _ = pool
    keys = "y" * 30
    done = run_with_input(folder, keys, "--recall", ".5", "--positives", "10")
    assert done.exit_code == 0, done.stderr
    rows = said(folder)
    first = [row["post"] for row in rows[1:11]]
    assert first != [f"p{n}" for n in range(10)]
    assert "random posts: " in done.stdout and "which guarantees nothing" in done.stdout
    assert re.search(r"recall 0.5: down to post", done.stdout)


def test_recall_names_its_posts_and_counts_labels_changed_in_the_file(pool):
    folder, _ = pool
    options = ("--recall", ".8", "--positives", "20")
    done = run_with_input(folder, "y" * 40, *options)
    assert "changed after" not in done.output
    path = folder / "mine.jsonl"
    rows = said(folder)
    deepest = max(rows[1:], key=lambda row: int(row["post"][1:]))
    deepest["label"] = "no"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run_with_input(folder, "n" * 300, *options)
    assert (
        "done: the goal is reached, among the 300 posts of scored.jsonl" in done.stderr
    )
    assert "1 verdict was changed after the result had been seen" in done.stderr


@pytest.mark.parametrize("recall", ["50%", "0.5", ".6"])
def test_a_recall_that_is_typed_anew_shares_its_verdicts(pool, recall):
    folder, _ = pool
    options = ("--positives", "10")
    run_with_input(folder, "y" * 9, "--recall", ".5", *options)
    for path in folder.glob("mine.*"):
        path.unlink()
    more = ("--again",) if recall == ".6" else ()
    done = run_with_input(folder, "n" * 9, "--recall", recall, *options, *more)
    assert "9 verdicts were changed after the result had been seen" in done.stderr


def test_a_goal_that_every_post_misses(pool):
    folder, _ = pool
    done = run_with_input(folder, "y" * 200 + "n" * 100, "--find", "5000")
    assert done.exit_code == 0, done.output
    assert "every one of the 300 posts of scored.jsonl is labeled" in done.stderr
    assert "fewer than 5,000 are relevant" in done.stderr
    assert "the goal is reached" not in done.stderr


def test_a_recall_ends_with_a_sentence_and_a_sealed_file(pool):
    folder, _ = pool
    relevant = scored(folder / "scored.jsonl", size=400, cut=150)
    options = ("--recall", ".8", "--positives", "40", "--confidence", ".9")
    child = begin(
        folder, "--results", "scored.jsonl", "--labels", "mine.jsonl", *options
    )
    shown, labeled = "", 0
    while not child.expect([r"text (\d+)\r\n", pexpect.EOF]):
        shown += child.before
        number = child.match.group(1)
        child.expect(r"\[q\] stop")
        press(child, "y" if f"p{number}" in relevant else "n")
        labeled += 1
    shown += child.before
    assert "done: the goal is reached" in shown
    rows = said(folder)[1:]
    found = sum(row["label"] == "yes" for row in rows)
    assert len(rows) == labeled < 400
    sentence = (
        f"Of the 400 posts of scored.jsonl, {labeled} were labeled, and {found} of these are "
        "relevant as judged by me. They are at least 0.8 of all relevant ones (the "
        "recall). The confidence is 0.9: of a hundred such plans, each with its own random order, "
        "at most 10 on average end with a lower recall."
    )
    assert sentence in " ".join(shown.split())
    assert shown.count("at least 0.8 of all") == 1
    content = json.loads((folder / "mine.recall.json").read_text())
    assert content["sha256"] == seal_of(content)
    assert content["labels"]["relevant"] == found and content["recall_at_least"] == 0.8
    # The bound on the way is a bound: no number was told that the truth contradicts.
    bounds = re.findall(
        r"at most ([\d,]+) relevant posts; at least \d+% of them \(([\d,]+)\) are",
        shown,
    )
    assert bounds and all(
        int(most.replace(",", "")) >= len(relevant) for most, _ in bounds
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize("rule", ["random-first", "learn-first"])
def test_one_random_post_tells_nothing(pool, rule):
    folder, _ = pool
    scored(folder / "scored.jsonl", size=400, cut=150)
    keys = "n" if rule == "random-first" else "y" * 10 + "n" * 60
    done = run_with_input(folder, keys, "--recall", ".8", "--rule", rule)
    assert done.exit_code == 0, done.stderr
    assert (
        "of about" not in done.stdout and "at most" not in done.stdout.split("[q]")[1]
    )


def test_a_whole_pool_that_is_labeled_has_every_relevant_post(pool):
    folder, _ = pool
    scored(folder / "scored.jsonl", size=30)
    done = run_with_input(
        folder, "yn" * 14 + "ns", "--recall", ".8", "--positives", "20"
    )
    assert "They are all relevant ones, which is certain" in done.stdout
    assert "14 of these are relevant" in done.stdout
    assert "1 skipped post counts as not relevant" in done.stdout


def test_recall_in_a_learned_order_goes_on_where_it_was(pool):
    folder, _ = pool
    relevant = scored(folder / "scored.jsonl", size=250, cut=60)
    said_of = ("dog sleeps", "river flood")
    scored(
        folder / "scored.jsonl",
        size=250,
        cut=60,
        text=lambda n: f"{said_of[f'p{n}' in relevant]} w{n % 7} text {n}",
    )
    arguments = (
        "--results",
        "scored.jsonl",
        "--labels",
        "mine.jsonl",
        "--recall",
        ".8",
        "--rule",
        "learn-first",
    )
    child = begin(folder, *arguments)
    asked = []
    while True:
        place = child.expect([r"text (\d+)\r\n", "done: the goal is reached"])
        if place:
            break
        post = f"p{child.match.group(1)}"
        child.expect(r"\[q\] stop")
        if len(asked) == 60 and asked[-1] != "killed":
            child.process.kill()
            child.close()
            child = begin(folder, *arguments)
            asked.append("killed")
            continue
        asked.append(post)
        press(child, "y" if post in relevant else "n")
    rows = {row["post"]: row["label"] == "yes" for row in said(folder)[1:]}
    assert list(rows) == [post for post in asked if post != "killed"]
    assert asked.count("killed") == 1
    assert len(relevant) > 50 and sum(rows.values()) >= 0.8 * len(relevant)
    assert len(rows) < 200


def test_a_learned_order_needs_texts(pool):
    folder, _ = pool
    scored(folder / "scored.jsonl", text=lambda n: "")
    done = run_with_input(folder, "", "--recall", ".8", "--rule", "learn-first")
    assert done.exit_code == 2 and "name the posts with --posts" in done.stderr
    assert not (folder / "mine.plan.json").exists()


@pytest.mark.parametrize("options", [("--find", "3"), ("--recall", ".8")])
def test_posts_without_texts_are_refused_before_there_is_a_plan(pool, options):
    folder, _ = pool
    scored(folder / "scored.jsonl", text=lambda n: " ")
    done = run_with_input(folder, "y", *options)
    assert done.exit_code == 2 and "has no texts of the posts" in done.stderr
    assert not (folder / "mine.plan.json").exists()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("rule", ["random-first", "learn-first"])
def test_a_person_is_asked_once_for_a_text(pool, rule):
    """Three posts have each text; the statement and its bound count all of them."""
    folder, _ = pool
    relevant = scored(
        folder / "scored.jsonl", size=300, cut=150, text=lambda n: f"text {n // 3} "
    )
    child = begin(
        folder,
        *("--results", "scored.jsonl", "--labels", "mine.jsonl", "--recall", ".8"),
        *("--rule", rule, "--positives", "20"),
    )
    asked = []
    while not child.expect([r"text (\d+)\r\n", "done: the goal is reached"]):
        asked.append(int(child.match.group(1)))
        child.expect(r"\[q\] stop")
        press(child, "y" if asked[-1] < 45 else "n")
    child.close()
    assert len(asked) == len(set(asked)) > 20
    content = json.loads((folder / "mine.recall.json").read_text())
    copies = content["copies"]
    assert len(asked) == content["labels"]["used"] and copies["posts"] > len(asked)
    found = content["labels"]["relevant"] + len(copies["relevant"])
    assert 0.8 * 135 <= found <= 135
    assert all(int(post[1:]) // 3 < 45 for post in copies["relevant"])
    assert relevant


def run_with_input(folder, keys, *more, labels="mine.jsonl"):
    from typer.testing import CliRunner

    from siamese_news.cli import app

    files = (
        "--results",
        str(folder / "scored.jsonl"),
        "--labels",
        str(folder / labels),
    )
    return CliRunner().invoke(app, ["annotate", *files, *more], input=keys)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "--find or --recall"),
        (("--recall", "100%"), "(the share of all relevant posts) is 1;"),
        (("--find", "1", "--annotator", "  "), "--annotator is blank; expected a name"),
        (("--recall", ".99", "--positives", "10"), "--positives 299"),
    ],
)
def test_goals_that_cannot_be(pool, options, words):
    folder, _ = pool
    done = run_with_input(folder, "", *options)
    assert done.exit_code == 2 and words in done.stderr


def test_a_folder_as_the_file_of_labels_is_refused_before_there_is_a_plan(pool):
    folder, _ = pool
    (folder / "labels.jsonl").mkdir()
    done = run_with_input(folder, "y", "--find", "5", labels="labels.jsonl")
    assert done.exit_code == 2 and "is a folder" in done.stderr
    assert not (folder / "labels.plan.json").exists()


def test_two_people_may_look_for_the_same_number_of_posts(pool):
    folder, _ = pool
    for labels in ("mine.jsonl", "her labels.jsonl"):
        done = run_with_input(folder, "y", "--find", "5", labels=labels)
        assert done.exit_code == 0, done.stderr
    recall = ("--recall", ".5", "--positives", "10")
    assert run_with_input(folder, "y", *recall, labels="recall.jsonl").exit_code == 0
    again = run_with_input(folder, "y", *recall, labels="again.jsonl")
    assert again.exit_code == 2 and "is this very plan already" in again.stderr


def test_the_goal_cannot_be_changed_after_the_first_label(pool):
    folder, _ = pool
    assert (
        run_with_input(folder, "y", "--recall", ".5", "--positives", "10").exit_code
        == 0
    )
    done = run_with_input(folder, "y", "--recall", ".6", "--positives", "10")
    assert done.exit_code == 2 and "this file has another plan" in done.stderr


def test_recall_that_is_tried_again_says_what_confidence_is_left(pool):
    folder, _ = pool
    recall = ("--recall", ".5", "--positives", "10")
    first = run_with_input(folder, "y", *recall, labels="first.jsonl")
    assert "confidence" not in first.stdout
    again = run_with_input(
        folder, "y", *recall, "--seed", "2", "--again", labels="second.jsonl"
    )
    assert again.exit_code == 0, again.stderr
    assert "the confidence of the recall is 0.9, after 1 earlier plan" in again.stdout


def test_a_number_of_posts_promises_nothing_so_a_later_plan_does_not_pay_for_it(pool):
    folder, _ = pool
    assert (
        run_with_input(folder, "y", "--find", "5", labels="found.jsonl").exit_code == 0
    )
    recall = ("--recall", ".5", "--positives", "10")
    first = run_with_input(folder, "y", *recall, labels="recall.jsonl")
    assert first.exit_code == 0, first.stderr
    second = run_with_input(folder, "y", *recall, "--seed", "2", labels="second.jsonl")
    assert (
        second.exit_code == 2
        and "already a plan over the same posts" in second.stderr
        and "add --again, which adds" in second.stderr
        and "--withdraw" not in second.stderr  # annotate does not have it
    )


def test_a_certificate_and_other_goals_from_the_same_labels(pool):
    """Precision, recall and a number of posts together, with answers by the truth."""
    folder, _ = pool
    relevant = scored(folder / "scored.jsonl", size=400, cut=200)
    start(folder, "--budget", "40")
    arguments = (
        "--plan",
        "sheet.plan.json",
        "--labels",
        "mine.jsonl",
        "--recall",
        ".8",
        "--positives",
        "30",
        "--find",
        "100",
        "--seed",
        "1",
    )
    child = begin(folder, *arguments)
    asked = []
    while True:
        place = child.expect([r"text (\d+)\r\n", "done; now: siamese-news certify"])
        if place:
            break
        asked.append(f"p{child.match.group(1)}")
        child.expect(r"\[q\] stop")
        press(child, "y" if asked[-1] in relevant else "n")
    child.expect(pexpect.EOF)
    rows = {row["post"]: row["label"] == "yes" for row in said(folder)[1:]}
    assert list(rows) == asked and len(set(asked)) == len(asked)
    # Every goal is reached: the posts, the recall, and a certificate that all labels speak for.
    assert sum(rows.values()) >= 100
    # A recall is promised for 19 of 20 orders at least: 8 of the first 300 seeds miss it here, and
    # the default seed is one of them.
    assert sum(rows.values()) >= 0.8 * len(relevant)
    alone = run(
        "certify",
        "--plan",
        folder / "sheet.plan.json",
        "--labels",
        folder / "mine.jsonl",
    )
    assert alone.exit_code == 0, alone.stderr
    found = certificate(folder)
    assert found["labels"]["used"] == len(asked) > 40
    best = [row["post"] for row in rows_of(folder / "sheet.certificate.csv")]
    assert sum(post in relevant for post in best) >= 0.8 * len(best)
    assert len(best) == found["claims"][0]["posts"] > 150
    # The other goals are fixed as well.
    again = run_with_plan(folder, "--recall", ".7", "--positives", "30")
    assert again.exit_code == 2 and "this file has another plan" in again.stderr


def run_with_plan(folder, *more):
    return run(
        "annotate",
        "--plan",
        folder / "sheet.plan.json",
        "--labels",
        folder / "mine.jsonl",
        *more,
    )
