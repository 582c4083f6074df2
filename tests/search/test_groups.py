"""Groups side by side: counts that add up, columns that are empty or full, and the command."""

import csv
import json
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.commands import siamese_news

from siamese_news.data.groups import NONE
from siamese_news.data.readers import open_posts
from siamese_news.search.report import ReportData, ReportPost
from siamese_news.search.report.group_comparison import (
    SHOWN,
    compare,
    shares,
    wilson,
)


def found(number, text="the old bridge", **more):
    own = {
        "rank": number + 1,
        "score": 1.0,
        "cluster": number,
        "cluster_size": 1,
        "seed": "s",
    }
    return ReportPost(id=str(number), text=text, **(own | more))


def data(posts):
    return ReportData("t", "c", {}, [], posts)


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", "c", None, ""]), st.booleans()), min_size=1
    ),
    st.booleans(),
)
def test_counts_are_those_of_a_naive_loop(pool, whole):
    posts = [found(n) for n, (_, kept) in enumerate(pool) if kept] * 2  # for two seeds
    known = [(str(n), {"party": party}) for n, (party, _) in enumerate(pool)]
    if not whole:
        known = [known[int(post.id)] for post in posts]
    made = compare(data(posts), "party", known, pool=whole)
    kept = Counter(party or NONE for party, kept in pool if kept)
    every = Counter(party or NONE for party, _ in pool)
    assert {group.name: group.n_found for group in made.groups if group.n_found} == kept
    for group in made.groups:
        assert group.of == (every[group.name] if whole else kept.total())
        assert group.interval == wilson(group.n_found, group.of)


def test_10_000_groups_are_20_and_the_rest():
    known = [(str(n), {"outlet": f"o{n % 10_000}"}) for n in range(30_000)]
    posts = [found(n) for n in range(0, 30_000, 7)]
    made = compare(data(posts), "outlet", known, pool=True)
    assert (
        len(made.groups) == SHOWN + 1 and made.groups[-1].name == "other (9,980 groups)"
    )
    assert sum(group.of for group in made.groups) == 30_000
    assert sum(group.n_found for group in made.groups) == len(posts)
    assert (
        made.remarks[0]
        == "The 20 groups with the most posts found, of 10,000, are shown."
    )


def test_an_empty_column_is_said():
    made = compare(
        data([found(0)]), "party", [("0", {"party": " "}), ("1", {})], pool=True
    )
    assert [(group.name, group.of) for group in made.groups] == [(NONE, 2)]
    assert "No post has a value for party." in made.remarks


def test_months_are_in_order_and_a_post_that_is_not_there_is_counted():
    dates = {
        "0": "2024-03-02",
        "1": "2024-01-05T10:00:00Z",
        "2": "2024-03-09",
        "3": None,
    }
    known = [(id, {"created_at": date}) for id, date in dates.items()]
    made = compare(data([found(n) for n in (0, 2, 9)]), "month", known, pool=True)
    rows = [(group.name, group.n_found, group.of) for group in made.groups]
    assert rows == [("2024-01", 0, 1), ("2024-03", 2, 2), (NONE, 0, 1)]
    assert (
        "Posts found that are missing from the posts and have no group: 1."
        in made.remarks
    )


def test_the_csv_has_the_shares_of_the_groups():
    made = compare(
        data([found(0), found(1)]), "party", [("0", {"party": "a"})], pool=True
    )
    assert list(shares(made)) == [
        {
            "group": "a",
            "found": 1,
            "of": 1,
            "share": 1.0,
            "low": round(wilson(1, 1)[0], 6),
            "high": 1.0,
        }
    ]


@given(st.integers(1, 10**7), st.data())
def test_the_bounds_of_a_share_are_1_96_of_their_errors_away(posts, data):
    """Wilson (1927): the shares p for which |found - posts p| is z sqrt(posts p (1 - p))."""
    found = data.draw(st.integers(0, posts))
    low, high = wilson(found, posts)
    assert 0 <= low <= found / posts <= high <= 1
    for bound, extreme in ((low, found == 0), (high, found == posts)):
        if extreme:
            assert bound == round(bound)
            continue
        error = 1.959963984540054 * math.sqrt(posts * bound * (1 - bound))
        assert abs(found - posts * bound) == pytest.approx(error, rel=1e-6, abs=1e-6)


def test_no_posts_say_nothing():
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("party", ["x", "True", "2.5", None]),
        ("platform", ["CSV"] * 4),
        ("lang", ["en"] * 4),
    ],
)
def test_readers_keep_the_column(tmp_path, by, expected):
    if by == "party":
        path = tmp_path / "p.jsonl"
        values = [{"party": v} for v in ("x", True, 2.5)] + [{}]
        path.write_text(
            "".join(
                json.dumps({"id": str(n), "text": "t"} | v) + "\n"
                for n, v in enumerate(values)
            )
        )
    else:
        path = tmp_path / "p.csv"
        path.write_text("id,text,lang\n" + "".join(f"{n},t,en\n" for n in range(4)))
    posts = open_posts(path, group_field=by)
    assert [post.metadata.get("group") for post in posts] == expected


def test_pages_have_what_they_are_of(tmp_path):
    page = {"data": [{"id": "1", "text": "a", "lang": "de"}], "meta": {}}
    path = tmp_path / "page.jsonl"
    path.write_text(json.dumps(page))
    for by, group in (
        ("platform", "Twitter API v2 (twarc2)"),
        ("lang", "de"),
        ("meta", None),
    ):
        (post,) = open_posts(path, group_field=by)
        assert post.metadata.get("group") == group


@pytest.fixture
def search(tmp_path):
    (tmp_path / "posts.csv").write_text(
        "id,text,party,date\n"
        + "".join(
            f"{n},post {n},{'ab'[n % 2]},2024-03-{1 + n % 9:02}\n" for n in range(40)
        )
    )
    rows = [
        {
            "article": "s",
            "rank": n + 1,
            "score": 0.5,
            "post": str(n),
            "text": f"post {n}",
        }
        for n in range(0, 40, 4)
    ]
    (tmp_path / "found.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )
    return tmp_path


def test_the_command(search):
    given = ("--results", search / "found.jsonl", "--out", search / "page.html")
    for _ in range(2):  # its own files are replaced
        run = siamese_news(
            "report", *given, "--by", "party", "--posts", search / "posts.csv"
        )
        assert run.returncode == 0, run.stderr
    page = (search / "page.html").read_text()
    assert "Groups by party" in page and "10 of 20" in page
    with (search / "page.csv").open() as stream:
        rows = {row["group"]: row for row in csv.DictReader(stream)}
    assert (rows["a"]["found"], rows["a"]["of"], rows["b"]["found"]) == (
        "10",
        "20",
        "0",
    )
    low, high = wilson(10, 20)
    assert float(rows["a"]["low"]) == pytest.approx(low, abs=1e-6)
    assert float(rows["a"]["high"]) == pytest.approx(high, abs=1e-6)


def test_a_language_that_no_post_carries_is_detected(search):
    german = "Der Fluss ist über die Ufer getreten und die alte Brücke ist gesperrt"
    english = "The river has burst its banks and the old bridge is closed"
    posts = [{"id": str(n), "text": german if n < 8 else english} for n in range(40)]
    (search / "posts.jsonl").write_text(
        "".join(json.dumps(post) + "\n" for post in posts)
    )
    given = (
        "--results",
        search / "found.jsonl",
        "--out",
        search / "page.html",
        "--by",
        "lang",
    )
    run = siamese_news("report", *given, "--posts", search / "posts.jsonl")
    assert run.returncode == 0, run.stderr
    with (search / "page.csv").open() as stream:
        rows = {row["group"]: row for row in csv.DictReader(stream)}
    assert {name: (row["found"], row["of"]) for name, row in rows.items()} == {
        "de": ("2", "8"),
        "en": ("8", "32"),
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--by", "partei", "--posts", "posts.csv"),
            "the posts have no column 'partei'",
        ),
        (("--by", "party"), "found.jsonl: has no column 'party' (--by)"),
        (("--posts", "posts.csv"), "--posts is for comparing groups"),
    ],
)
def test_the_command_with_wrong_input(search, options, message, monkeypatch):
    monkeypatch.chdir(search)
    run = siamese_news(
        "report", "--results", "found.jsonl", "--out", "page.html", *options
    )
    assert message in run.stderr
    assert run.returncode == 2 and not (search / "page.html").exists()
