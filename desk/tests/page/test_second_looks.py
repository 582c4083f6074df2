"""Double coding, disagreements, and what the labels say of the threshold."""

import json
import math
import random
import re
import shlex
import sys
from itertools import product
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from served import Served, begun
from tests.commands import siamese_news

from siamese_news_desk.decide.agreement import krippendorff


@pytest.fixture
def project(tmp_path):
    yield from begun(tmp_path / "storm", relevant=150, other=250)


def label(served, posts, value, annotator):
    for post in posts:
        served.json(
            "/api/labels", {"post": post, "label": value(post), "annotator": annotator}
        )


def queue(served, kind, annotator):
    posts = served.json(f"/api/queue?kind={kind}&annotator={annotator}&leave=[]")[
        "posts"
    ]
    return [post["post"] for post in posts], "".join(post["html"] for post in posts)


def test_a_second_annotator_gets_what_others_labeled_and_not_what_they_said(project):
    served, truth, _ = project
    names = sorted(truth)  # those about the story come first
    posts = [*names[:6], *names[-6:]]
    label(served, posts, lambda post: "yes" if truth[post] else "no", "ana")
    assert queue(served, "second", "ana")[0] == []
    first, html = queue(served, "second", "ben")
    assert first == posts[:8] and "ana" not in html and 'class="score"' not in html
    label(served, posts, lambda post: "no", "ben")
    assert queue(served, "second", "ben")[0] == []
    # Two of them disagree wherever the truth is yes.
    label(served, posts[:1], lambda post: "yes", "cora")
    wanted = [post for post in posts if truth[post]]
    disagreed, html = queue(served, "conflict", "ben")
    assert disagreed == wanted
    assert "<bdi>ana</bdi>: relevant" in html
    page = served.ask("/decide")[1].decode()
    assert "3 people labeled 12 posts at least twice" in page
    assert f"both labeled 12 posts and differ on {len(wanted)}" in page
    label(served, disagreed, lambda post: "yes" if truth[post] else "no", "ben")
    assert queue(served, "conflict", "ben")[0] == []


def test_precision_and_recall_at_the_threshold_come_from_random_posts(project):
    served, truth, folder = project
    served.json("/api/threshold", {"threshold": 0.32})
    html = served.json("/api/posts?least=0.32&groups=")
    above = html["found"]
    # Labels from the top of the list say nothing about the list.
    top, _ = queue(served, "rank", "ana")
    label(served, top[:1], lambda post: "yes", "ben")
    assert "not known yet" in served.ask("/decide")[1].decode()
    while posts := queue(served, "threshold", "ana")[0]:
        label(served, posts, lambda post: "yes" if truth[post] else "no", "ana")
        rows = (folder / "labels.jsonl").read_text().count("\n")
        if rows == 121:
            page = served.ask("/decide")[1].decode()
            drawn = [
                int(n)
                for n in re.findall(r"(\d+) random labels above|and (\d+) below", page)
                for n in n
                if n
            ]
            assert abs(drawn[0] - drawn[1]) <= 8 and sum(drawn) in range(115, 122)
            low, high = _interval(page, "precision")
            real = _precision(truth, folder, above)
            assert low <= real <= high and 0.05 < high - low < 0.4
    # With every label the interval is the truth.
    page = served.ask("/decide")[1].decode()
    assert _interval(page, "precision") == pytest.approx([round(real, 2)] * 2)
    recall = real * above / sum(truth.values())
    assert _interval(page, "recall") == pytest.approx([round(recall, 2)] * 2)
    # The command draws the posts that the page asked for first.
    line = next(
        line for line in _commands(page) if line.startswith("siamese-news audit")
    ).replace("--budget 200", "--budget 30")
    done = _run(line, folder)
    assert done.returncode == 0, done.stderr
    drawn = [json.loads(row) for row in (folder / "searches/1/audit.jsonl").open()]
    order = [json.loads(row)["post"] for row in (folder / "labels.jsonl").open()]
    assert {row["post"] for row in drawn} <= set(order[:70]) and len(drawn) == 30


def _interval(page, name):
    found = re.search(rf"<dt>{name}.*?\((\d\.\d\d) to (\d\.\d\d)\)", page, re.DOTALL)
    return [float(found[1]), float(found[2])]


def _precision(truth, folder, above):

    posts = (
        pq.read_table(folder / "searches/1/results.parquet").column("post").to_pylist()
    )
    return sum(truth[post] for post in posts[:above]) / above


def _commands(page):
    from html import unescape

    return unescape(page[page.index('id="command"') :]).splitlines()


def _run(line, folder):
    return siamese_news(*shlex.split(line)[1:], folder=folder)


def test_near_duplicates_are_labeled_together_where_that_is_wanted(project):
    served, _, folder = project
    html = served.json("/api/posts?groups=1")["html"]
    items = re.findall(r'data-post="(\d+)"(.*?)</li>', html, re.DOTALL)
    copied = [post for post, rest in items if "near-duplicates" in rest]
    served.json("/api/labels", {"post": copied[0], "label": "no", "annotator": "ana"})
    row = {"post": copied[1], "label": "yes", "annotator": "ana", "together": True}
    assert served.json("/api/labels", row)["copies"] == 1
    rows = [json.loads(line) for line in (folder / "labels.jsonl").open()]
    assert "copies" not in rows[0] and len(rows[1]["copies"]) == 1
    other = queue(served, "second", "ben")[0]
    assert set(other) == {*copied[:2], *rows[1]["copies"]}
    served.json("/api/labels/undo", {"annotator": "ana"})
    assert queue(served, "second", "ben")[0] == copied[:1]


def test_words_languages_and_articles_can_be_left_out(project):
    served, truth, _ = project

    def count(query):
        return served.json(f"/api/posts?{query}")["found"]

    total = len(truth)
    for query in ("lang=de", "lang=-", "seed=storm", "words=quayle", "words=lant"):
        name, value = query.split("=")
        left_out = f"{name}=-{value}" if name == "words" else f"{name}=!{value}"
        assert 0 < count(query) < total and count(query) + count(left_out) == total
    both = served.json("/api/posts?words=quayle+-wall&lang=!de")
    texts = re.findall(r'<p class="text"[^>]*>(.*?)</p>', both["html"])
    assert (
        both["found"] > 10
        and "wall" not in re.sub(r"<[^>]*>", "", "".join(texts)).lower()
    )
    assert (
        count("words=-quayle+-wall")
        + count("words=wall+-quayle")
        + count("words=quayle")
        == total
    )


@given(st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=5), max_size=12))
def test_alpha_is_that_of_its_definition(units):
    """One minus the observed over the expected disagreement of pairs of values."""
    pairable = [unit for unit in units if len(unit) > 1]
    values = [value for unit in pairable for value in unit]
    if len(set(values)) < 2:
        assert krippendorff(units) is None
        return
    observed = sum(
        sum(unit[i] != unit[j] for i, j in product(range(len(unit)), repeat=2))
        / (len(unit) - 1)
        for unit in pairable
    ) / len(values)
    expected = sum(a != b for a, b in product(values, values)) / (
        len(values) * (len(values) - 1)
    )
    assert math.isclose(krippendorff(units), 1 - observed / expected)


def test_alpha_of_the_published_example():
    """Krippendorff (2011), nominal data, two observers, ten units."""
    first, second = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    assert krippendorff(zip(first, second, strict=True)) == pytest.approx(
        0.095, abs=5e-4
    )


def test_chance_agrees_to_nothing():
    chance = random.Random(1)
    units = [[chance.randrange(2) for _ in range(3)] for _ in range(5000)]
    assert abs(krippendorff(units)) < 0.03


def test_the_end_of_the_list_says_how_many_posts_have_an_unknown_relevance(tmp_path):
    """Two seeds: one that relevance was measured for, and a headline."""
    flood = (
        "The river Asker burst its banks in Harlow Bridge and 900 people were evacuated"
    )
    texts = [f"{flood} {n}" for n in range(12)]
    texts += [f"{word} shares jump today" for word in ("bank", "gold", "tin", "oil")]
    texts += [f"new phone number {n}" for n in range(120)]
    posts = "\n".join(
        json.dumps({"id": f"p{n}", "text": text}) for n, text in enumerate(texts)
    )
    served = Served(tmp_path / "flood")
    for path, data in (
        ("articles/story.txt", flood),
        ("articles/headline.txt", "gold shares jump"),
        ("posts/posts.jsonl", posts),
    ):
        served.json(f"/api/inputs/{path}", method="PUT", data=data.encode())
    served.search(threshold=0.01, second_look=False)
    every_post = served.json("/api/threshold", {"by": "posts", "threshold": 100})
    rows = pq.read_table(
        tmp_path / "flood/searches/1/results.parquet", columns=["article", "relevance"]
    ).to_pylist()
    unknown = [row for row in rows if row["relevance"] is None]
    assert {row["article"] for row in unknown} == {"headline"}
    assert f"unknown here for {len(unknown)} posts of the list" in every_post["detail"]
    assert "needs about" not in every_post["detail"]
    known = sum(row["relevance"] or 0 for row in rows)
    assert f"{len(rows)} posts, about {known:,.0f} of them" in every_post["line"]
    likely = served.json("/api/threshold", {"by": "relevance", "threshold": 0.5})
    last = max(n for n, row in enumerate(rows) if (row["relevance"] or 0) >= 0.5)
    assert likely["posts"] == last + 1
    served.end()
