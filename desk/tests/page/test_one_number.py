"""One number for one thing: the views, the certificate, its page and the command agree."""

import csv
import io
import json
import re

import pytest
from served import begun
from tests.commands import siamese_news

from siamese_news.errors import InputError
from siamese_news_desk.decide.plan.population import score_text
from siamese_news_desk.labels.journal import LabelJournal
from siamese_news_desk.page.requests import count_in


@pytest.mark.parametrize(
    ("typed", "posts"),
    [
        ("1,401", 1401),
        ("12.753", 12_753),
        ("1 000 000", 10**6),
        ("664", 664),
        (2.9, 2),
        (1.125, 1),
        ("0.500", 0),
    ],
)
def test_a_number_of_posts_is_read_as_the_page_prints_it(typed, posts):
    assert count_in(typed, "the number") == posts


@pytest.mark.parametrize("typed", ["1,40", "abc", "", "1,401 posts"])
def test_what_is_no_number_of_posts_is_refused(typed):
    with pytest.raises(InputError, match="expected a number"):
        count_in(typed, "the number")


@pytest.fixture(scope="module")
def labeled(tmp_path_factory):
    """A page with a plan, labels of two annotators, a conflict and a skipped post."""
    for served, truth, folder in begun(tmp_path_factory.mktemp("page"), 260, 240):
        served.json("/api/plan", {"precision": ".9", "confidence": ".95", "budget": 80})
        for number in range(47):
            found = served.json("/api/queue?kind=sample&annotator=ana&leave=[]")
            if not found["posts"]:
                break
            post = found["posts"][0]["post"]
            label = "skip" if number == 5 else "yes" if truth[post] else "no"
            row = {"post": post, "label": label, "annotator": "ana"}
            served.json("/api/labels", row)
            if number in (3, 4):  # ben agrees once, and contradicts once
                other = label if number == 3 else "no" if label == "yes" else "yes"
                served.json("/api/labels", {**row, "label": other, "annotator": "ben"})
        yield served, truth, folder


def plain(html):
    """The text of a page as it is read."""
    return " ".join(
        re.sub(r"<(style|script)\b.*?</\1>|<[^>]+>", " ", html, flags=re.S).split()
    )


def test_the_views_and_the_certificate_count_the_same_labels(labeled):
    served, _, folder = labeled
    decide = plain(served.ask("/decide")[1].decode())
    ahead = served.json("/api/queue?kind=sample&annotator=ana&leave=[]")["ahead"]
    used = int(re.match(r"(\d+) of 80 labels\.", ahead)[1])
    assert f"{used} of 80: " in decide
    assert f"the {used} labels give all of them" in decide
    estimates = [
        set(re.findall(r"[Aa]bout ([\d,]+) more", view)) for view in (decide, ahead)
    ]
    assert estimates[0] <= estimates[1]
    served.json("/api/certify", {})
    search = folder / "searches" / "1"
    page = plain((search / "sheet.certificate.html").read_text())
    assert f"{used} in all: " in page and f"the {used} labels give all of them" in page
    content = json.loads((search / "sheet.certificate.json").read_text())
    assert content["labels"]["used"] == used
    assert content["labels"]["annotators"] == ["ana", "ben"]
    assert content["judged"] == "as judged by ana and ben"


def test_the_count_of_labels_never_waits_for_the_next_look(labeled):
    served, truth, _ = labeled
    before = served.json("/api/queue?kind=sample&annotator=ana&leave=[]")
    post = before["posts"][0]["post"]
    used = int(before["ahead"].split()[0])
    row = {"post": post, "label": "yes" if truth[post] else "no", "annotator": "ana"}
    served.json("/api/labels", row)
    ahead = served.json("/api/queue?kind=sample&annotator=ana&leave=[]")["ahead"]
    assert ahead.startswith(f"{used + 1} of 80 labels.")
    if "more label" in ahead or "certified" in ahead:
        assert "of them:" in ahead  # the estimate says which labels it is from


def test_a_certificate_of_the_page_holds_for_the_command(labeled):
    """With two annotators who agree and contradict each other, and a skipped post."""
    served, _, folder = labeled
    served.json("/api/certify", {})
    path = folder / "searches" / "1" / "sheet.certificate.json"
    done = siamese_news("certify", "--check", path, folder=folder)
    assert done.returncode == 0, done.stderr
    content = json.loads(path.read_text())
    assert any("contradict each other" in remark for remark in content["remarks"])
    assert content["labels"]["skipped"] == 2


def test_the_threshold_that_is_named_selects_the_certified_posts(labeled):
    served, _, folder = labeled
    served.json("/api/certify", {})
    content = json.loads(
        (folder / "searches" / "1" / "sheet.certificate.json").read_text()
    )
    thresholds = [
        claim["threshold"] for claim in content["claims"] if claim["threshold"]
    ]
    views = [plain(served.ask(view)[1].decode()) for view in ("/decide", "/hand-over")]
    for threshold in thresholds:
        assert float(score_text(threshold)) == threshold
        assert all(f"score {score_text(threshold)} or more" in view for view in views)
    if thresholds:
        assert "precision .9 or more, with confidence 0.95" in views[1]
        served.json("/api/threshold", {"threshold": thresholds[0]})
        view = plain(served.ask("/hand-over")[1].decode())
        assert (
            "with confidence 0.95, its precision is .9 or more, as judged by ana and ben"
            in view
        )


def test_an_undecided_post_counts_against_the_list_as_in_the_audit(tmp_path):
    for served, truth, folder in begun(tmp_path, 30, 30):
        served.json("/api/threshold", {"threshold": 0.3})
        log = LabelJournal(folder / "labels.jsonl")
        assert not log.posts()
        for post in truth:
            served.json(
                "/api/labels", {"post": post, "label": "skip", "annotator": "ana"}
            )
        view = plain(served.ask("/decide")[1].decode())
        counts = re.search(
            r"From (\d+) random labels above the threshold \((\d+) relevant\)", view
        )
        below = re.search(r"and (\d+) below \((\d+) relevant\)", view)
        assert int(counts[2]) == 0 and int(counts[1]) > 0
        assert int(below[1]) == int(below[2]) > 0
        assert "as not relevant above the threshold, as relevant below it" in view


def test_posts_labeled_relevant_are_handed_over_if_nothing_is_certified(tmp_path):
    for served, truth, folder in begun(tmp_path, 30, 30):
        plan = {"precision": ".95", "confidence": ".95", "budget": 20}
        served.json("/api/plan", plan)
        relevant = set()
        for number in range(20):
            found = served.json("/api/queue?kind=sample&annotator=ana&leave=[]")
            if number == 0:
                left = "The 20 labels left cannot certify a larger set."
                assert left in found["ahead"]
                assert left in plain(served.ask("/decide")[1].decode())
            post = found["posts"][0]["post"]
            label = "yes" if truth[post] and number % 2 else "no"
            relevant |= {post} if label == "yes" else set()
            served.json(
                "/api/labels", {"post": post, "label": label, "annotator": "ana"}
            )
        assert not served.json("/api/queue?kind=sample&annotator=ana&leave=[]")["posts"]
        html = served.ask("/decide")[1].decode()
        view = plain(html)
        assert (
            f"The list is the {len(relevant)} posts that were labeled relevant" in view
        )
        assert f"Hand over {len(relevant)} posts labeled as relevant" in view
        threshold = float(re.search(r'data-threshold="([^"]+)"', html)[1])
        served.json("/api/certify", {})
        served.json("/api/threshold", {"threshold": threshold})
        view = plain(served.ask("/hand-over")[1].decode())
        assert f"{len(relevant)} posts labeled as relevant are handed over" in view
        assert "it is without an error as judged by ana" in view
        listed = list(csv.DictReader(io.StringIO(served.ask("/files/csv")[1].decode())))
        assert {row["post"] for row in listed} == relevant
        search = folder / "searches" / "1"
        certified = csv.DictReader((search / "sheet.certificate.csv").open())
        assert {row["post"] for row in certified} == relevant
        done = siamese_news(
            "certify", "--check", search / "sheet.certificate.json", folder=folder
        )
        assert done.returncode == 0, done.stderr


def test_a_plan_fixes_what_counts_even_where_nothing_was_written(labeled):
    served, *_ = labeled
    status, body = served.ask("/api/settings", {"criteria": "about the storm"})
    assert status == 400 and "criteria was left out" in json.loads(body)["error"]
    view = served.ask("/label")[1].decode()
    assert "readonly" in view and "Fixed with the plan." in view
    assert served.ask("/api/settings", {"criteria": " "})[0] == 200  # the plan's own


def test_criteria_of_goals_stay_where_the_form_of_the_certificate_is_blank(tmp_path):
    for served, _, folder in begun(tmp_path, 30, 20):
        served.json("/api/settings", {"criteria": "about the storm"})
        goal = {"find": "5", "recall": ""}
        served.json("/api/goals", goal | {"confidence": ".95"})
        assert "Fixed with the goals." in served.ask("/decide")[1].decode()
        served.json("/api/settings", {"criteria": ""})
        served.json("/api/plan", {"precision": ".9", "confidence": ".95", "budget": 20})
        plan = folder / "searches" / "1" / "sheet.plan.json"
        assert json.loads(plan.read_text())["criteria"] == "about the storm"
        served.json("/api/settings", {"criteria": "about the storm"})
