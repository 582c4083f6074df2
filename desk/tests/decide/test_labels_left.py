"""Labels that the descent does not need go to the best posts; posts labeled relevant are listed."""

import json
import re
from fractions import Fraction

import numpy as np
import pytest
from benchmarks.promises import FAMILIES, border
from benchmarks.replay import (
    generator_of,
    random_order,
    replay,
    tables_of,
)
from sheet_commands import (
    certificate,
    certify,
    fill,
    finish,
    rows_of,
    run,
    scored,
    start,
)

from siamese_news_desk.decide.bounds.hypergeometric import interval
from siamese_news_desk.decide.certification import Certification, Settings
from siamese_news_desk.decide.plan.design import first_set, nested_sets
from siamese_news_desk.labels.matching import Label, Labels

HARD = {f"p{n}" for n in range(0, 600, 2)}  # every other post: nothing can be certified


def planned(folder, **settings):
    return Certification.start(
        folder / "scored.jsonl",
        folder / "sheet.plan.json",
        Settings(**{"targets": (".9",), "confidence": ".95", "budget": 100} | settings),
    )


def label(work, labels, ranks, relevant):
    for drawn in work.sampled.draw(work.texts.units(ranks)):
        labels.of[drawn.name] = Label(drawn, "yes" if drawn.post in relevant else "no")


def label_all(work, relevant, **how):
    labels, best = Labels(), []
    while (request := work.request(labels, **how)).ranks:
        if request.best:
            best += request.ranks
        label(work, labels, request.ranks, relevant)
    return labels, best


def test_nothing_certified_lists_what_was_labeled_relevant(tmp_path):
    scored(tmp_path / "scored.jsonl")
    work = planned(tmp_path)
    labels, best = label_all(work, HARD)
    (claim,) = work.claims(labels)
    assert len(labels.of) == 100 and claim.size == 0
    labeled = {work.population.names_at([rank])[0] for rank in claim.put_in}
    assert labeled == {name for name, one in labels.of.items() if one.relevant}
    assert len(labeled) == claim.posts >= 45
    # The best ones without a label, in the random order.
    known = set(range(max(best) + 1))
    by_rank = set(work.population.ranks_of(list(labels.of)).values())
    assert known <= by_rank
    assert best != sorted(best)


def test_below_a_certified_set_the_next_best_posts_are_asked_for(tmp_path):
    relevant = scored(tmp_path / "scored.jsonl", size=3000, cut=500)
    work = planned(tmp_path, targets=(".8",), budget=200)
    labels = Labels()
    while not (request := work.request(labels, at_least=25)).best and request.ranks:
        label(work, labels, request.ranks, relevant)
    (before,) = work.claims(labels)
    choice = work.choice([before], labels)
    assert (
        before.size > 200
        and choice["labels"] == 200 - len(labels.of) == choice["posts"]
    )
    assert min(request.ranks) >= before.size
    labeled = set(work.population.ranks_of(list(labels.of)).values())
    below = set(range(before.size, max(request.ranks) + 1))
    assert below <= labeled | set(request.ranks)
    label(work, labels, request.ranks, relevant)
    (after,) = work.claims(labels)
    hits = sum(
        labels.of[name].relevant for name in work.population.names_at(request.ranks)
    )
    assert after.size >= before.size and after.posts >= before.posts + hits - 30
    assert not work.request(labels).ranks and work.choice([after], labels) is None
    assert work.request(labels, extra_labels=10).ranks


def test_best_posts_come_once_no_target_can_use_the_labels_left(tmp_path):
    """Also the first target, which leaves half of the labels to the second one."""
    relevant = scored(tmp_path / "scored.jsonl", size=3000, cut=500)
    work = planned(tmp_path, targets=(".8", ".99"), budget=300)
    labels = Labels()
    while not (request := work.request(labels, at_least=25)).best and request.ranks:
        label(work, labels, request.ranks, relevant)
    left = 300 - len(labels.of)
    needed = [len(claim.outcome.needed) for claim in work.claims(labels)]
    assert all(count == 0 or count > left for count in needed)
    assert len(labels.of) > 150 and work.claims(labels)[0].size > 150


def test_if_every_set_is_certified_no_label_is_asked_for(tmp_path):
    scored(tmp_path / "scored.jsonl", size=400)
    work = planned(tmp_path, targets=(".8",), budget=300)
    labels, best = label_all(work, {f"p{n}" for n in range(400)})
    (claim,) = work.claims(labels)
    assert claim.size == 400 and not best and len(labels.of) < 300
    choice = work.choice([claim], labels)
    assert choice == {"labels": 300 - len(labels.of), "posts": 0}


def test_with_label_noise_a_certified_list_takes_no_single_posts(tmp_path):
    relevant = scored(tmp_path / "scored.jsonl", size=3000, cut=500)
    work = planned(tmp_path, targets=(".7",), budget=150, false_positive=0.05)
    labels, best = label_all(work, relevant)
    assert work.claims(labels)[0].size and not best


def test_command_page_certificate_and_check_tell_the_same(tmp_path):
    scored(tmp_path / "scored.jsonl")
    start(tmp_path, "--budget", "60")
    done, sheets = None, ["sheet.csv"]
    while True:
        fill(tmp_path / sheets[-1], HARD)
        done = certify(tmp_path, *sheets)
        sheets.append(re.search(r"([^/\s]+): \d+ more posts? to label", done.stderr)[1])
        if "the best ones without a label" in done.stderr:
            break
    content = certificate(tmp_path)
    choice, labels = content["choice"], content["labels"]
    assert (
        choice["labels"] == 60 - labels["used"] == len(rows_of(tmp_path / sheets[-1]))
    )
    sentence = (
        f"The {choice['labels']} labels left cannot certify a larger set. You can stop here and "
        f"save them, or label the {choice['posts']} best posts without a label: each that"
    )
    assert sentence in done.stderr
    assert sentence in (tmp_path / "sheet.certificate.html").read_text()
    assert "sheet.certificate.csv: the posts of the list" in done.stderr
    # The certificate of somebody who stops here is one, and so is that of all labels.
    path = tmp_path / "sheet.certificate.json"
    assert run("certify", "--check", path).exit_code == 0
    posts = len(rows_of(tmp_path / "sheet.certificate.csv"))
    fill(tmp_path / sheets[-1], HARD)
    done = certify(tmp_path, *sheets)
    assert (
        "done: 60 of 60 labels" in done.stderr and "cannot certify" not in done.stderr
    )
    assert len(rows_of(tmp_path / "sheet.certificate.csv")) > posts
    assert run("certify", "--check", path).exit_code == 0
    listed = tmp_path / "sheet.certificate.csv"
    listed.write_text("".join(listed.read_text().splitlines(keepends=True)[:-1]))
    assert "is not the list" in run("certify", "--check", path).stderr


def test_more_labels_after_the_budget_go_to_the_best_posts(tmp_path):
    scored(tmp_path / "scored.jsonl")
    start(tmp_path, "--budget", "60")
    done, sheets = finish(tmp_path, HARD)
    done = certify(tmp_path, *sheets, more=("--more", "40"))
    assert "40 more posts to label, the best ones without a label" in done.stderr


@pytest.mark.sampled(2)
@pytest.mark.parametrize("family", ["easy", "hard", "few positives", "ties"])
def test_the_commands_hand_over_what_a_replay_does(tmp_path, family):
    pool = FAMILIES[family](np.random.default_rng(4), Fraction(".9"), 100)
    relevant = pool.relevant[:1500]
    rows = [
        {
            "post": f"p{n}",
            "score": float(-pool.scores[0] + pool.scores[n]),
            "text": f"text {n}",
        }
        for n in range(1500)
    ]
    (tmp_path / "scored.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )
    work = planned(tmp_path)
    labels, _ = label_all(work, {f"p{n}" for n in np.flatnonzero(relevant)})
    (claim,) = work.claims(labels)
    truth = relevant[work.population.names_at(range(1500)).index("p0") :]
    again = replay(work.tables[0], work.order, truth, target=Fraction(".9"), budget=100)
    assert (claim.size, claim.posts, len(labels.of)) == (
        again.size,
        again.posts,
        again.labels,
    )
    assert again.labels == 100 and claim.posts > 0


@pytest.mark.parametrize("seed", range(5))
def test_no_replay_hands_over_less_than_one_that_stops(seed):
    generator = np.random.default_rng(seed)
    for family in FAMILIES.values():
        pool, target = family(generator, Fraction(".9"), 100), Fraction(".9")
        sizes = nested_sets(pool.scores, first_size=first_set(100))
        tables = tables_of(sizes, target, 100, 0.05)
        stopped, spent = (
            replay(
                tables,
                random_order(sizes, generator_of(seed, pool.name), 100),
                pool.relevant,
                target=target,
                budget=100,
                stop=stop,
            )
            for stop in (True, False)
        )
        assert spent.posts >= stopped.posts and spent.size >= stopped.size
        assert spent.labels == 100 or spent.size == len(pool.scores)
        assert spent.posts > 0 or not pool.relevant[spent.labeled].any()


@pytest.mark.slow
@pytest.mark.parametrize("target", [".8", ".9", ".95"])
@pytest.mark.parametrize("budget", [100, 300])
def test_spending_the_rest_makes_no_list_false_too_often(target, budget):
    """By the list itself, on corpora whose sets have the errors that their tests rule out."""
    share, wrong = Fraction(target), 0
    pool = border(np.random.default_rng(5), share, budget)
    sizes = nested_sets(pool.scores, first_size=first_set(budget))
    tables = tables_of(sizes, share, budget, 0.05)
    for number in range(2000):
        order = random_order(sizes, generator_of(8, target, budget, number), budget)
        done = replay(tables, order, pool.relevant, target=share, budget=budget)
        assert done.size or done.hits == done.posts
        wrong += done.misses(share)
    print(target, budget, wrong)
    assert interval(wrong, 2000)[0] <= 0.05
