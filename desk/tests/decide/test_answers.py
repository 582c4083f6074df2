"""Answers to a reviewer: intervals that hold, counts that add up, one number everywhere."""

import html
import json
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sheet_commands import certificate, certify, own_text, rows_of, run, save, start

from siamese_news_desk.decide.answers import answers_of
from siamese_news_desk.decide.bounds.hypergeometric import interval
from siamese_news_desk.decide.bounds.sequential import between
from siamese_news_desk.decide.certification import Certification, Settings
from siamese_news_desk.decide.methods import methods_of, share_text
from siamese_news_desk.labels.matching import Label, Labels

SIZE = 900


def results(path, *, cut=400, seed=0):
    """Scored posts in two languages over three months; the ids of the relevant ones."""
    generator = np.random.default_rng(seed)
    chance = 0.97 / (1 + np.exp((np.arange(SIZE) - cut) / 60))
    relevant = generator.random(SIZE) < chance
    rows = [
        {
            "article": "all",
            "rank": n + 1,
            "score": round(0.9 - n / 1000, 4),
            "post": f"p{n}",
            "text": own_text(n),
            "lang": "de" if n % 4 == 0 else "en",
            "created_at": f"2026-0{1 + n % 3}-05" if n % 10 else None,
            "site": f"site {n % 30}",
        }
        for n in range(SIZE)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {f"p{n}" for n in np.flatnonzero(relevant)}


def label_sheet(path, relevant, who=""):
    rows = rows_of(path)
    for row in rows:
        row["label"] = "1" if row["post"] in relevant else "0"
        if who:
            row["annotator"] = who
    save(path, rows)


def to_the_end(folder, relevant, *more):
    start(
        folder, "--budget", "150", "--criteria", "it is about the flood", precision=".8"
    )
    sheets = ["sheet.csv"]
    while True:
        label_sheet(folder / sheets[-1], relevant, who=("ana", "ben")[len(sheets) % 2])
        done = certify(folder, *sheets, more=more)
        assert done.exit_code == 0, done.stderr
        following = re.search(r"([^/\s]+): \d+ more posts? to label", done.stderr)
        if following is None:
            return done, sheets
        sheets.append(following[1])


def plain(text):
    text = re.sub(r"<(style|svg|script)\b.*?</\1>", " ", text, flags=re.S)
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", text).split()))


@given(st.integers(2, 60), st.data())
@settings(max_examples=40, deadline=None)
def test_an_interval_has_the_numbers_that_the_labels_leave(size, data):
    drawn = data.draw(st.integers(0, size))
    hits = data.draw(st.integers(0, drawn))
    low, high = between(hits, drawn, size, 1.0, 9.0, 0.05)
    assert hits <= low <= high <= size - (drawn - hits) or drawn == 0
    if drawn == size:
        assert low == high == hits


@pytest.mark.slow
def test_an_interval_holds_at_every_look():
    """Of 400 orders, at most 5% leave the truth at any of 120 looks."""
    generator, left = np.random.default_rng(2), 0
    truth = np.zeros(300, bool)
    truth[:24] = True
    for _ in range(400):
        seen = generator.permutation(truth)[:120]
        left += any(
            not (bounds := between(int(seen[:n].sum()), n, 300, 1.0, 19.0, 0.05))[0]
            <= 24
            <= bounds[1]
            for n in range(4, 121, 4)
        )
    assert interval(left, 400)[0] <= 0.05


def test_the_answers_of_a_certificate_add_up(tmp_path):
    relevant = results(tmp_path / "scored.jsonl")
    (tmp_path / "scored.jsonl.meta.json").write_text(
        json.dumps(
            {
                "counts": {
                    "read": 990,
                    "empty": 3,
                    "rejected": 5,
                    "duplicates": 85,
                    "without a date": 90,
                    "scored": 900,
                }
            }
        )
    )
    to_the_end(tmp_path, relevant)
    content = certificate(tmp_path)
    (claim,), (answer,) = content["claims"], content["answers"]["lists"]
    listed = {row["post"] for row in rows_of(tmp_path / "sheet.certificate.csv")}
    assert claim["threshold"] is not None
    truth = len(listed & relevant) / len(listed)
    row = answer["interval"]
    assert row["posts"] == claim["posts"] == len(listed)
    assert (
        row["low"] <= truth <= row["high"]
        and row["low"] <= row["estimate"] <= row["high"]
    )
    assert [group["column"] for group in answer["groups"]] == ["lang", "month"]
    for group in answer["groups"]:
        assert sum(row["posts"] for row in group["rows"]) == claim["posts"]
        assert all(0 <= row["low"] <= row["high"] <= 1 for row in group["rows"])
        assert sum(row["labels"] for row in group["rows"]) >= row["labels"]
    bands = answer["bands"]
    assert bands[0]["to"] == 0.9 and all(
        a["from"] > b["to"] for a, b in pairwise(bands)
    )
    assert content["answers"]["spent"][-1] == [
        content["labels"]["used"],
        [claim["posts"]],
    ]
    assert content["answers"]["spent"][0] == [0, [0]]
    flow = dict(content["flow"])
    assert flow["posts read"] == 990 and flow["rows with the id of another post"] == 85
    assert flow["of these, without a text"] == 3 and flow["posts without a date"] == 90
    assert (
        flow["labeled"]
        == flow["labeled relevant"] + flow["labeled not relevant"]
        == 150
    )
    assert flow["in the list for a precision of .8"] == claim["posts"]
    people = content["answers"]["people"]
    assert [one["name"] for one in people["annotators"]] == ["ana", "ben"]
    assert sum(one["labels"] for one in people["annotators"]) == 150
    assert people["shared"] is None
    page = plain((tmp_path / "sheet.certificate.html").read_text())
    assert f"is between {share_text(row['low'])} and {share_text(row['high'])}" in page
    assert f"ana {people['annotators'][0]['labels']}, ben" in page
    paragraph = methods_of(content)[0]
    assert paragraph in page and "it is about the flood" in paragraph
    for number in (
        f"{claim['posts']} of 900 posts",
        f"{claim['relevant_at_least']} of them",
    ):
        assert number in paragraph
    assert run("certify", "--check", tmp_path / "sheet.certificate.json").exit_code == 0
    (tmp_path / "scored.jsonl.meta.json").unlink()
    check = run("certify", "--check", tmp_path / "sheet.certificate.json")
    assert check.exit_code == 0 and "the rows that were read" in check.stderr


def test_two_annotators_of_the_same_posts_are_counted_and_compared(tmp_path):
    relevant = results(tmp_path / "scored.jsonl")
    start(tmp_path, "--budget", "60", precision=".8")
    rows = rows_of(tmp_path / "sheet.csv")
    for who, wrong in (("ana", 0), ("ben", 3)):
        for place, row in enumerate(rows):
            said = (row["post"] in relevant) != (place < wrong)
            row |= {"label": "1" if said else "0", "annotator": who}
        save(tmp_path / f"{who}.csv", rows)
    (tmp_path / "sheet.csv").unlink()
    done = certify(
        tmp_path, "ana.csv", "ben.csv", more=("--plan", tmp_path / "sheet.plan.json")
    )
    assert done.exit_code == 0, done.stderr
    content = certificate(tmp_path)
    people = content["answers"]["people"]
    assert [(one["name"], one["labels"]) for one in people["annotators"]] == [
        ("ana", 25),
        ("ben", 25),
    ]
    shared = people["shared"]
    assert (shared["posts"], shared["pairs"][0]["disagreements"]) == (25, 3)
    assert (
        dict(content["flow"])["with contradicting labels, which counts as not relevant"]
        == 3
    )
    page = plain((tmp_path / "sheet.certificate.html").read_text())
    assert f"Krippendorff's alpha is {shared['alpha']:.3f}" in page
    assert "ana and ben both labeled 25 posts and differ on 3" in page


def test_a_column_is_chosen_and_an_unknown_one_is_named(tmp_path):
    relevant = results(tmp_path / "scored.jsonl")
    start(tmp_path, "--budget", "150", precision=".8")
    label_sheet(tmp_path / "sheet.csv", relevant)
    done = certify(tmp_path, more=("--by", "site", "--by", "year"))
    assert done.exit_code == 0, done.stderr
    (answer,) = certificate(tmp_path)["answers"]["lists"]
    if answer["interval"]:
        assert [group["column"] for group in answer["groups"]] == ["site"]
        assert answer["groups"][0]["rows"][-1]["group"].startswith("other (")
    assert run("certify", "--check", tmp_path / "sheet.certificate.json").exit_code == 0
    before = (tmp_path / "sheet.certificate.json").read_bytes()
    (tmp_path / "sheet.2.csv").unlink()
    done = certify(tmp_path, more=("--by", "site", "--by", "site"))
    assert done.exit_code == 2 and "names a column twice" in done.stderr
    done = certify(tmp_path, more=("--by", "plat"))
    assert (
        done.exit_code == 2
        and "has no column 'plat' (--by); expected one of" in done.stderr
    )
    assert (tmp_path / "sheet.certificate.json").read_bytes() == before


def test_precision_and_recall_in_one_sentence(tmp_path):
    relevant = results(tmp_path / "scored.jsonl")
    to_the_end(tmp_path, relevant)
    path = tmp_path / "sheet.certificate.json"
    listed = {row["post"] for row in rows_of(tmp_path / "sheet.certificate.csv")}
    drawn = ("audit", "--results", tmp_path / "scored.jsonl", "--certificate", path)
    done = run(*drawn, "--out", tmp_path / "recall.csv")
    assert done.exit_code == 2 and "give --population N" in done.stderr
    done = run(
        *drawn, "--population", 900, "--budget", 120, "--out", tmp_path / "recall.csv"
    )
    assert done.exit_code == 0, done.stderr
    (claim,) = certificate(tmp_path)["claims"]
    rows = rows_of(tmp_path / "recall.csv")
    ranks = {int(row["post"][1:]) for row in rows}
    above = claim["posts"] + claim["taken_out"] - claim["put_in"]
    assert len(rows) == 120 and min(ranks) >= above
    label_sheet(tmp_path / "recall.csv", relevant)
    done = run("audit", "--labels", tmp_path / "recall.csv")
    assert done.exit_code == 0, done.stderr
    found = json.loads((tmp_path / "recall.audit.json").read_text())
    truth = len(listed & relevant) / len(relevant)
    assert 0.3 < found["recall_at_least"] <= truth and found["joint_confidence"] == 0.9
    sentence = done.stdout.strip()
    assert (
        f"at least {claim['relevant_at_least']} are relevant (precision .8 or more)"
        in sentence
    )
    assert "The confidence of both together is 0.9" in sentence
    out = tmp_path / "report.html"
    asked = (
        "report",
        "--results",
        tmp_path / "scored.jsonl",
        "--certificate",
        path,
        "--out",
        out,
    )
    done = run(*asked, "--audit", tmp_path / "recall.audit.json")
    assert done.exit_code == 0, done.stderr
    page = plain(out.read_text())
    # By itself, and in the paragraph for the methods section.
    assert page.count(sentence) == 2
    assert (
        plain((tmp_path / "sheet.certificate.html").read_text()).count(
            "Answers to a reviewer"
        )
        == 1
    )
    # An audit of another certificate, and a changed one.
    audit = json.loads((tmp_path / "recall.audit.json").read_text())
    audit["recall_at_least"] = 1.0
    (tmp_path / "other.audit.json").write_text(json.dumps(audit))
    done = run(*asked, "--force", "--audit", tmp_path / "other.audit.json")
    assert done.exit_code == 2 and "was changed after it was written" in done.stderr
    done = run(*asked, "--force", "--audit", tmp_path / "sheet.plan.json")
    assert done.exit_code == 2 and "audit --certificate" in done.stderr
    # The certificate is made again with other labels: the sample was for the other list.
    certify(
        tmp_path,
        *sorted(p.name for p in tmp_path.glob("sheet*.csv") if "cert" not in p.name),
        more=("--by", "site"),
    )
    done = run("audit", "--labels", tmp_path / "recall.csv")
    assert done.exit_code == 2 and "draw a new sample" in done.stderr


def test_a_report_takes_the_certificate_of_its_own_posts_only(tmp_path):
    relevant = results(tmp_path / "scored.jsonl")
    start(tmp_path, "--budget", "60", precision=".8")
    label_sheet(tmp_path / "sheet.csv", relevant)
    assert certify(tmp_path).exit_code == 0
    rows = [json.loads(line) for line in (tmp_path / "scored.jsonl").open()]

    def report(*changed):
        found = tmp_path / "found.jsonl"
        found.write_text("".join(json.dumps(row) + "\n" for row in changed))
        path = tmp_path / "sheet.certificate.json"
        out = ("--out", tmp_path / "report.html", "--force")
        return run("report", "--results", found, "--certificate", path, *out)

    def page():
        return plain((tmp_path / "report.html").read_text())

    for part in (rows, rows[:5], rows[-5:]):
        done = report(*part)
        assert done.exit_code == 0, done.stderr
        assert "on this page" not in page().split("What the list guarantees")[1]
    (tmp_path / "report.html").unlink()
    flood = [row | {"post": f"flood {n}"} for n, row in enumerate(rows[:5])]
    done = report(*flood)
    assert done.exit_code == 2, done.stderr
    assert "none of the 5 posts of the results is among them" in done.stderr
    # Another search over the same posts.
    done = report(*[row | {"article": "flood", "score": 0.01} for row in rows[:5]])
    assert done.exit_code == 2 and "other articles and other scores" in done.stderr
    assert not (tmp_path / "report.html").exists()
    done = report(*rows[:3], *flood[3:])
    assert done.exit_code == 0, done.stderr
    assert "2 of the 5 posts on this page are not among the 900 posts" in page()
    done = report(*rows[:3], *[row | {"score": 0.01} for row in rows[3:5]])
    assert (
        done.exit_code == 0 and "2 of the 5 posts on this page have another" in page()
    )


def test_the_recall_of_a_list_of_labeled_posts(tmp_path):
    results(tmp_path / "scored.jsonl")
    relevant = {f"p{n}" for n in range(0, SIZE, 3)}
    start(tmp_path, "--budget", "60", precision=".8")
    label_sheet(tmp_path / "sheet.csv", relevant)
    certify(tmp_path)
    path = tmp_path / "sheet.certificate.json"
    (claim,) = certificate(tmp_path)["claims"]
    assert claim["threshold"] is None
    more = (
        "--population",
        300,
        "--budget",
        150,
        "--seed",
        3,
        "--out",
        tmp_path / "recall.csv",
    )
    run("audit", "--results", tmp_path / "scored.jsonl", "--certificate", path, *more)
    label_sheet(tmp_path / "recall.csv", relevant)
    done = run("audit", "--labels", tmp_path / "recall.csv")
    assert done.exit_code == 0, done.stderr
    found = json.loads((tmp_path / "recall.audit.json").read_text())
    best = {f"p{n}" for n in range(300)}
    listed = {row["post"] for row in rows_of(tmp_path / "sheet.certificate.csv")} & best
    assert found["recall_at_least"] <= len(listed & relevant) / len(best & relevant)
    assert found["joint_confidence"] == 0.95 and "(each was labeled)" in done.stdout


@pytest.mark.slow
def test_intervals_of_lists_and_groups_hold(tmp_path, monkeypatch):
    """Of 150 plans at the end of their labels, at most 5% have an interval without the truth."""
    wrong = {"list": 0, "band": 0, "group": 0}
    for number in range(150):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.setenv("XDG_STATE_HOME", str(folder))  # another user each time
        relevant = results(folder / "scored.jsonl", seed=number, cut=300)
        work = Certification.start(
            folder / "scored.jsonl",
            folder / "sheet.plan.json",
            Settings((".8",), ".95", 100, seed=number),
            another_plan=True,
        )
        labels = Labels()
        while ranks := work.request(labels, at_least=20).ranks:
            for drawn in work.sampled.draw(work.texts.units(ranks)):
                labels.of[drawn.name] = Label(
                    drawn, "yes" if drawn.post in relevant else "no"
                )
        claims = work.claims(labels)
        (answer,) = answers_of(work, claims, labels)["lists"]
        band = answer["bands"][0]
        share = sum(f"p{n}" in relevant for n in range(band["posts"])) / band["posts"]
        wrong["band"] += not band["low"] - 1e-9 <= share <= band["high"] + 1e-9
        if not claims[0].size:
            continue
        ranks = set(range(claims[0].size)) - set(claims[0].taken_out) | set(
            claims[0].put_in
        )
        names = {
            rank: int(name[1:])
            for rank, name in zip(
                sorted(ranks), work.population.names_at(sorted(ranks)), strict=True
            )
        }
        share = np.mean([f"p{n}" in relevant for n in names.values()])
        row = answer["interval"]
        wrong["list"] += not row["low"] - 1e-9 <= share <= row["high"] + 1e-9
        german = [f"p{n}" in relevant for n in names.values() if n % 4 == 0]
        row = next(r for r in answer["groups"][0]["rows"] if r["group"] == "de")
        assert row["posts"] == len(german)
        wrong["group"] += not row["low"] - 1e-9 <= np.mean(german) <= row["high"] + 1e-9
    print(wrong)
    assert all(interval(count, 150)[0] <= 0.05 for count in wrong.values())


def test_a_share_is_never_rounded_to_one():
    assert [share_text(x) for x in (None, 1.0, 0.99999, 0.5)] == [
        "unknown",
        "1",
        "0.999",
        "0.500",
    ]
