"""Goals of labeling down a ranking, followed label by label as the page follows them."""

import json
import re

import numpy as np
import pytest
from sheet_commands import certificate, run, scored, start

from siamese_news.errors import InputError
from siamese_news_desk.decide import recall, stopping
from siamese_news_desk.decide.certification import Certification
from siamese_news_desk.decide.plan.remedies import PlanRefused
from siamese_news_desk.decide.plan.sealed_files import SEAL, seal_of, write_sealed
from siamese_news_desk.decide.stopping import Goal, Stopping
from siamese_news_desk.labels.journal import LabelJournal
from siamese_news_desk.labels.matching import changed_sentence, labels_in

LEARNER = stopping.word_learner


@pytest.fixture(autouse=True)
def order_of_the_search(monkeypatch):
    """The order stays that of the search, because learning costs a second for ten labels."""

    def learner(scores, texts):
        return lambda by_rank: np.arange(len(scores))

    monkeypatch.setattr(stopping, "word_learner", learner)


@pytest.fixture
def pool(tmp_path):
    return tmp_path, scored(tmp_path / "scored.jsonl", size=300, cut=150)


def goal(find=None, recall=None, confidence=".95", seed=0):
    return Goal(find, recall, confidence, seed)


def begin(folder, goal, *, name="mine", **options):
    path = folder / f"{name}.plan.json"
    return Stopping.start(folder / "scored.jsonl", path, goal, **options)


def follow(plans, log, verdict_of, count=10**6):
    """Label one post at a time until no plan needs a label; returns the posts."""
    sampled = plans[0].sampled
    asked = []
    while len(asked) < count:
        labels = labels_in(log, sampled)
        needed = (
            plan.needed(labels)
            if isinstance(plan, Stopping)
            else plan.request(labels).ranks
            for plan in plans
        )
        ranks = next(filter(None, needed), None)
        if ranks is None:
            break
        (unit,) = plans[0].texts.units(ranks[:1])
        sampled.draw([unit])
        log.add(unit.name, verdict_of(unit.post), "me")
        asked.append(unit.post)
    return asked


def journal(folder, name="mine"):
    return LabelJournal(folder / f"{name}.jsonl")


def truth(relevant):
    return lambda post: "yes" if post in relevant else "no"


def findings(plan, log):
    return recall.findings(plan, labels_in(log, plan.sampled))


def test_recall_goes_down_the_order_and_says_what_it_found(pool):
    folder, _ = pool
    plan = begin(folder, goal(recall=".5"))
    log = journal(folder)
    follow([plan], log, lambda post: "yes", 10)
    status = plan.status(labels_in(log, plan.sampled))
    assert "down the learned order: 10 relevant" in status
    assert "which guarantees nothing" in status


def test_a_goal_that_every_post_misses_asks_for_all_of_them_once(pool):
    folder, _ = pool
    plan = begin(folder, goal(find=5000))
    assert len(follow([plan], journal(folder), lambda post: "no")) == 300


def test_a_recall_ends_with_a_sentence_and_a_sealed_file(pool):
    folder, _ = pool
    relevant = scored(folder / "scored.jsonl", size=400, cut=100)
    plan = begin(folder, goal(recall=".6", confidence=".8"))
    log = journal(folder)
    statuses = []
    while not plan.recall_reached(labels_in(log, plan.sampled)):
        follow([plan], log, truth(relevant), 1)
        statuses.append(plan.status(labels_in(log, plan.sampled)))
    labeled = len(log.posts())
    assert labeled == len(statuses) < 400
    hits = sum(log.verdict(post) == "yes" for post in log.posts())
    content = findings(plan, log)
    assert recall.sentence_of(content) == (
        f"Of the 400 posts of scored.jsonl, {labeled} were labeled, and {hits} of these are "
        "relevant as judged by me. They are at least 0.6 of all relevant ones (the "
        "recall). The confidence is 0.8: of a hundred such plans, each with its own random order, "
        "at most 20 on average end with a lower recall."
    )
    path = folder / "mine.recall.json"
    write_sealed(path, content)
    sealed = json.loads(path.read_text())
    assert sealed[SEAL] == seal_of(sealed)
    assert sealed["labels"]["relevant"] == hits and sealed["recall_at_least"] == 0.6
    # The bound on the way is a bound: no number was told that the truth contradicts.
    pattern = r"at most ([\d,]+) relevant posts; at least \d+% of them \(([\d,]+)\) are"
    bounds = re.findall(pattern, "\n".join(statuses))
    assert bounds and all(
        int(most.replace(",", "")) >= len(relevant) for most, _ in bounds
    )


def test_posts_of_the_learned_order_tell_no_bound(pool):
    folder, _ = pool
    plan = begin(folder, goal(recall=".8"))
    log = journal(folder)
    follow([plan], log, lambda post: "yes", 10)
    assert "at most" not in plan.status(labels_in(log, plan.sampled))


def test_a_whole_pool_that_is_labeled_has_every_relevant_post(pool):
    folder, _ = pool
    scored(folder / "scored.jsonl", size=30)
    plan = begin(folder, goal(recall=".8"))
    log = journal(folder)
    answers = iter(["yes", "no"] * 14 + ["no", "skip"])
    follow([plan], log, lambda post: next(answers))
    sentence = recall.sentence_of(findings(plan, log))
    assert "They are all relevant ones, which is certain" in sentence
    assert "14 of these are relevant" in sentence
    assert "1 skipped post counts as not relevant" in sentence


def test_labels_that_changed_after_a_look_are_counted_by_the_next_findings(pool):
    folder, _ = pool
    scored(folder / "scored.jsonl", size=60)
    plan = begin(folder, goal(recall=".8"))
    log = journal(folder)
    follow([plan], log, lambda post: "yes", 20)
    assert "changed" not in recall.sentence_of(findings(plan, log))
    log.add(log.posts()[0], "no", "me")
    follow([plan], log, lambda post: "no")
    assert plan.recall_reached(labels_in(log, plan.sampled))
    sentence = recall.sentence_of(findings(plan, log))
    assert "1 verdict was changed after the result had been seen" in sentence


@pytest.mark.parametrize("typed", ["0.50", "1/2", ".6"])
def test_a_recall_that_is_typed_anew_shares_its_verdicts(pool, typed):
    folder, _ = pool
    plan = begin(folder, goal(recall=".5"))
    log = journal(folder)
    follow([plan], log, lambda post: "yes", 9)
    plan.log.look(labels_in(log, plan.sampled))
    for path in folder.glob("mine.*"):
        path.unlink()
    again = goal(recall=typed)
    plan = begin(folder, again, another_plan=typed == ".6")
    log = journal(folder, "again")
    follow([plan], log, lambda post: "no", 9)
    plan.log.look(labels_in(log, plan.sampled))
    sentence = changed_sentence(plan.log.changed)
    assert "9 verdicts were changed after the result had been seen" in sentence


def test_recall_in_a_learned_order_continues_where_it_was(pool, monkeypatch):
    monkeypatch.setattr(stopping, "word_learner", LEARNER)
    folder, _ = pool
    relevant = scored(folder / "scored.jsonl", size=130, cut=30)
    words = ("dog sleeps", "river flood")
    scored(
        folder / "scored.jsonl",
        size=130,
        cut=30,
        text=lambda n: f"{words[f'p{n}' in relevant]} w{n % 7} text {n}",
    )
    learned = goal(recall=".8")
    asked = follow([begin(folder, learned)], journal(folder), truth(relevant), 30)
    # The plan and the journal are opened anew.
    again = Stopping.resume(folder / "mine.plan.json")
    asked += follow([again], journal(folder), truth(relevant))
    assert len(set(asked)) == len(asked) < 130
    hits = sum(post in relevant for post in asked)
    assert len(relevant) > 25 and hits >= 0.8 * len(relevant)


def test_a_learned_order_needs_texts(pool, monkeypatch):
    monkeypatch.setattr(stopping, "word_learner", LEARNER)
    folder, _ = pool
    scored(folder / "scored.jsonl", text=lambda n: "")
    with pytest.raises(InputError, match="expected results with texts"):
        begin(folder, goal(recall=".8"))
    assert not (folder / "mine.plan.json").exists()


def test_a_person_is_asked_once_for_a_text(pool):
    """Three posts have each text; the statement and its bound count all of them."""
    folder, _ = pool
    scored(folder / "scored.jsonl", size=120, cut=60, text=lambda n: f"text {n // 3} ")
    plan = begin(folder, goal(recall=".8"))
    log = journal(folder)
    relevant = {f"p{n}" for n in range(60)}
    asked = [int(p[1:]) // 3 for p in follow([plan], log, truth(relevant))]
    assert len(asked) == len(set(asked)) > 15
    content = findings(plan, log)
    copies = content["copies"]
    assert len(asked) == content["labels"]["used"] and copies["posts"] > len(asked)
    hits = content["labels"]["relevant"] + len(copies["relevant"])
    assert 0.8 * 60 <= hits <= 60
    assert relevant.issuperset(copies["relevant"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "expected a number of posts, or a share"),
        ({"recall": "1"}, r"\(the share of all relevant posts\) is 1;"),
        ({"recall": ".8", "confidence": "1"}, "confidence is 1;"),
    ],
)
def test_goals_that_cannot_be(pool, options, words):
    with pytest.raises(InputError, match=words):
        begin(pool[0], goal(**options))


def test_two_people_may_look_for_the_same_number_of_posts(pool):
    folder, _ = pool
    for name in ("mine", "her labels"):
        begin(folder, goal(find=5), name=name)
    begin(folder, goal(recall=".5"), name="recall")
    with pytest.raises(InputError, match="is this very plan already"):
        begin(folder, goal(recall=".5"), name="again")


def test_the_goal_cannot_be_changed_after_it_was_fixed(pool):
    folder, _ = pool
    begin(folder, goal(recall=".5"))
    with pytest.raises(PlanRefused, match=r"this file has another plan \(recall was"):
        begin(folder, goal(recall=".6"))


def test_recall_that_is_tried_again_says_what_confidence_is_left(pool):
    folder, _ = pool
    first = begin(folder, goal(recall=".5"), name="first")
    labels = labels_in(journal(folder), first.sampled)
    assert "confidence" not in first.status(labels)
    second = goal(recall=".5", seed=2)
    again = begin(folder, second, name="second", another_plan=True)
    assert "the confidence of the recall is 0.9, after 1 earlier plan" in (
        again.status(labels)
    )


def test_a_number_of_posts_promises_nothing_so_a_later_plan_does_not_pay_for_it(pool):
    folder, _ = pool
    begin(folder, goal(find=5), name="found")
    begin(folder, goal(recall=".5"), name="recall")
    with pytest.raises(PlanRefused, match="already a plan over the same posts"):
        begin(folder, goal(recall=".5", seed=2), name="second")


def test_a_certificate_and_other_goals_from_the_same_labels(pool):
    """Precision, recall and a number of posts together, with answers by the truth."""
    folder, _ = pool
    relevant = scored(folder / "scored.jsonl", size=300, cut=200)
    start(folder, "--budget", "40")
    certification = Certification.resume(folder / "sheet.plan.json")
    goals = begin(folder, goal(find=100, recall=".5", confidence=".8", seed=1))
    log = LabelJournal(folder / "mine.jsonl", certification.plan[SEAL])
    asked = follow([certification, goals], log, truth(relevant))
    assert len(set(asked)) == len(asked)
    # Every goal is reached: the posts, the recall, and a certificate that all labels speak for.
    hits = sum(post in relevant for post in asked)
    assert hits >= 100
    assert hits >= 0.5 * len(relevant)
    files = ("--plan", folder / "sheet.plan.json", "--labels", folder / "mine.jsonl")
    done = run("certify", *files)
    assert done.exit_code == 0, done.stderr
    assert certificate(folder)["labels"]["used"] == len(asked) > 40
    assert certificate(folder)["claims"][0]["posts"] > 150
