"""The threads of found posts: naive walks over small trees, and links no platform should have."""

import io
import json
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.commands import siamese_news as command

from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.search.conversations import (
    FoundPost,
    Links,
    bring_threads,
    find_threads,
    thread_rows,
)
from siamese_news.search.report import read_results, render
from siamese_news.search.result_files import write_rows


def linked(id, reply_to=None, **metadata):
    own = {"reply_to": reply_to} if reply_to else {}
    return Post(str(id), f"text {id}", own | metadata)


def rows_of(posts, found, most=100):
    links = Links(posts)
    scored = [FoundPost("a", post, 1 - n / 1000, n + 1) for n, post in enumerate(found)]
    return links, list(thread_rows(find_threads(links, scored, limit=most), posts))


def test_a_thread_has_what_is_answered_and_the_replies_in_reading_order():
    posts = [
        linked("root", created_at="2020-01-01T00:00:00Z"),
        linked("late", "found", created_at="2020-01-05T00:00:00Z"),
        linked("found", "middle", created_at="2020-01-03T00:00:00Z"),
        linked("middle", "root", created_at="2020-01-02T00:00:00Z"),
        linked("early", "found", created_at="2020-01-04T00:00:00Z"),
        linked("deep", "early", created_at="2020-01-06T00:00:00Z"),
        linked("beside", "root"),
        linked("alone"),
    ]
    _, rows = rows_of(posts, ["found", "alone"])
    assert [(r["post"], r["role"], r["depth"]) for r in rows] == [
        ("root", "answered", 0),
        ("middle", "answered", 1),
        ("found", "found", 2),
        ("early", "reply", 3),
        ("deep", "reply", 4),
        ("late", "reply", 3),
        ("alone", "found", 0),
    ]
    assert [r["thread"] for r in rows] == ["root"] * 6 + ["alone"]
    assert [r.get("rank") for r in rows] == [None, None, 1, None, None, None, 2]


def results_of(path, rows):
    columns = ("article", "post", "score", "rank")
    write(path, [dict(zip(columns, row, strict=False)) for row in rows])
    return path


@pytest.mark.parametrize("ranked", [True, False])
def test_a_conversation_is_one_thread_where_one_list_is_for_several_articles(
    tmp_path, ranked
):
    rows = [("a", "1", 0.9, 1), ("b", "2", 0.8, 2), ("a", "3", 0.7, 3)]
    path = results_of(
        tmp_path / "one.jsonl", rows if ranked else [row[:3] for row in rows]
    )
    posts = [linked("1"), linked("2", "1"), linked("3", "2")]
    found, said = bring_threads(path, posts, limit=10)
    assert [(r["article"], r.get("rank"), r["thread_rank"]) for r in found] == [
        ("a", 1, 1),
        ("b", 2, 1),
        ("a", 3, 1),
    ]
    assert said == ["threads: 1, of 3 posts found, 0 that they answer and 0 replies"]


@pytest.mark.parametrize("ranked", [True, False])
def test_lists_of_several_articles_keep_their_threads_apart(tmp_path, ranked):
    rows = [("a", "1", 0.9, 1), ("b", "1", 0.8, 1), ("a", "2", 0.7, 2)]
    path = results_of(
        tmp_path / "two.jsonl", rows if ranked else [row[:3] for row in rows]
    )
    found, _ = bring_threads(path, [linked("1"), linked("2", "1")], limit=10)
    assert [
        (r["article"], r["post"], r.get("rank"), r["thread_rank"]) for r in found
    ] == [
        ("a", "1", 1, 1),
        ("a", "2", 2, 1),
        ("b", "1", 1, 2),
        ("b", "2", None, 2),
    ]


def test_found_posts_of_one_conversation_are_one_thread_with_its_scores():
    posts = [linked("r"), *(linked(n, "r") for n in range(5))]
    _, rows = rows_of(posts, ["3", "1", "4", "0"])
    assert {r["thread_rank"] for r in rows} == {1} and rows[0]["found"] == 4
    assert rows[0]["best"] == 1.0 and rows[0]["mean3"] == pytest.approx(0.999)
    assert [r["post"] for r in rows] == [
        "r",
        "0",
        "1",
        "3",
        "4",
    ]  # "2" answers no post that is found


def test_the_platform_knows_the_conversation_where_a_post_on_the_way_is_missing():
    posts = [
        linked("t"),
        linked("x", "gone1", thread="t"),
        linked("y", "gone2", thread="t"),
        linked("z", "gone3"),
        linked("w", "gone3"),
    ]
    _, rows = rows_of(posts, ["x", "y", "z", "w"])
    threads = {}
    for row in rows:
        threads.setdefault(row["thread"], []).append((row["post"], row["missing"]))
    assert threads == {
        "t": [("t", 2), ("x", 2), ("y", 2)],
        "gone3": [("w", 1), ("z", 1)],
    }


def test_a_post_that_answers_itself_and_a_circle_are_counted():
    posts = [linked("s", "s"), linked("a", "b"), linked("b", "c"), linked("c", "a")]
    links, rows = rows_of(posts, ["s", "b"])
    assert (links.self_replies, links.cycles) == (1, 1)
    assert sorted(r["post"] for r in rows) == ["a", "b", "c", "s"]


@pytest.mark.parametrize("wide", [True, False])
def test_a_thread_of_30_000_is_bounded_and_what_is_left_out_is_counted(wide):
    posts = [
        linked(0),
        *(linked(n, "0" if wide else str(n - 1)) for n in range(1, 30_000)),
    ]
    for found in (["0"], ["29999"], ["15000"], [str(n) for n in range(30_000)]):
        _, rows = rows_of(posts, found, most=50)
        # One of many replies to one post.
        alone = wide and found in (
            ["29999"],
            ["15000"],
        )
        size = 2 if alone else 30_000
        assert len(rows) == min(50, size) and rows[0]["left_out"] == size - len(rows)


@given(st.data())
def test_any_links_give_what_a_naive_walk_gives(data):
    """Trees, circles, posts that answer themselves or a post that is not there."""
    names = [str(n) for n in range(data.draw(st.integers(1, 12)))]
    parents = {n: data.draw(st.sampled_from([None, "absent", *names])) for n in names}
    found = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    posts = [linked(n, p) for n, p in parents.items()]
    links, rows = rows_of(posts, found, most=1000)

    def up(name):
        seen = []
        while (name := parents.get(name)) in parents and name not in seen:
            seen.append(name)
        return set(seen)

    around = {other for name in found for other in up(name)}
    around |= {other for other in names if up(other) & set(found)}
    kept = [row["post"] for row in rows]
    assert sorted(kept) == sorted(set(found) | around)  # each once, none lost
    assert links.self_replies == sum(n == p for n, p in parents.items())
    # A reply comes after what it answers, one deeper, wherever it can.
    place = {
        row["post"]: (number, row["depth"], row["thread"])
        for number, row in enumerate(rows)
    }
    for name in kept:
        parent = parents[name]
        if parent in place and name not in up(name) and parent != name:
            assert place[parent][0] < place[name][0]
            assert place[parent][1] == place[name][1] - 1
            assert place[parent][2] == place[name][2]


@given(st.integers(1, 30), st.integers(1, 12), st.randoms(use_true_random=False))
def test_no_bound_loses_a_count(size, most, random: random.Random):
    posts = [linked(0), *(linked(n, str(random.randrange(n))) for n in range(1, size))]
    found = random.sample([post.id for post in posts], random.randint(1, size))
    _, rows = rows_of(posts, found, most=most)
    _, whole = rows_of(posts, found, most=1000)
    assert len(rows) + rows[0]["left_out"] == len(whole) and len(rows) <= most
    # FoundPost posts come before the posts around them.
    assert sum(r["role"] == "found" for r in rows) == min(most, len(found))


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def dump(tmp_path):
    posts = [
        {"id": "1", "text": "the bridge fell"},
        {"id": "2", "text": "so true", "reply_to": "1"},
    ]
    write(tmp_path / "posts.jsonl", posts)
    row = {
        "article": "a",
        "rank": 1,
        "score": 0.9,
        "post": "1",
        "text": "the bridge fell",
    }
    write(tmp_path / "found.jsonl", [row | {"terms": ["bridge"]}])
    return tmp_path


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_the_command(dump, ending):
    out = dump / f"threads.{ending}"
    run = command(
        "threads",
        "--results",
        dump / "found.jsonl",
        "--posts",
        dump / "posts.jsonl",
        "--out",
        out,
    )
    assert run.returncode == 0, run.stderr
    assert "threads: 1, of 1 post found, 0 that they answer and 1 reply" in run.stderr
    if ending == "jsonl":
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        assert [(r["post"], r["role"]) for r in rows] == [
            ("1", "found"),
            ("2", "reply"),
        ]
        assert [r["terms"] for r in rows] == [["bridge"], None]
    again = command(
        "threads",
        "--results",
        dump / "found.jsonl",
        "--posts",
        dump / "posts.jsonl",
        "--out",
        out,
    )
    assert again.returncode == 0, again.stderr  # our own file, unchanged


def test_a_found_post_without_terms_has_an_empty_cell(dump):
    row = {"article": "a", "rank": 1, "score": 0.9, "post": "1", "text": "x"}
    results = write(dump / "found.jsonl", [row | {"terms": []}])
    rows, _ = bring_threads(results, [Post("1", "the bridge fell")], limit=10)
    cells = io.StringIO()
    write_rows(cells, rows, "csv", columns=["post", "terms"])
    assert cells.getvalue().splitlines() == ["post,terms", "1,"]


def test_posts_without_links_are_said_to_have_none(dump):
    posts = write(dump / "posts.jsonl", [{"id": "1", "text": "the bridge fell"}])
    given = (
        "--results",
        dump / "found.jsonl",
        "--posts",
        posts,
        "--out",
        dump / "t.csv",
    )
    run = command("threads", *given)
    assert run.returncode == 0 and "no post says which one it answers" in run.stderr, (
        run.stderr
    )


def test_the_command_with_wrong_input(dump):
    write(dump / "others.jsonl", [{"id": "8", "text": "x"}])

    def run(*more, results="found.jsonl", posts="posts.jsonl", out="t.jsonl"):
        found = command(
            "threads",
            "--results",
            dump / results,
            "--posts",
            dump / posts,
            "--out",
            dump / out,
            *more,
        )
        assert found.returncode == 2, found.stderr
        return found.stderr

    assert "none of its posts is among the posts" in run(posts="others.jsonl")
    assert "expected a name that ends in .jsonl, .csv or .parquet\n" in run(
        out="t.trec"
    )
    assert "is one of the input files" in run(out="posts.jsonl")
    assert "others.jsonl:1: expected the columns post and score" in run(
        results="others.jsonl"
    )
    assert not (dump / "t.jsonl").exists()


ROWS = [
    {
        "article": "a",
        "thread": "1",
        "thread_rank": rank,
        "depth": depth,
        "role": role,
        "left_out": 0,
        "rank": own,
        "score": own,
        "post": post,
        "text": f"text {post}",
    }
    for rank, depth, role, own, post in (
        (1, 0, "found", 1, "1"),
        (1, 1, "reply", None, "2"),
        (2, 0, "answered", None, "3"),
        (2, 1, "found", 2, "4"),
    )
]


@given(
    st.integers(0, 3),
    st.sampled_from(sorted(ROWS[0])),
    st.sampled_from(
        [None, "", "x", -1, 0, 2, 1e99, [], {}, [1], True, "found", "reply"]
    ),
    st.permutations(ROWS),
)
def test_a_file_of_threads_that_was_changed_is_a_page_or_an_error(
    number, name, value, order
):
    rows = [dict(row) for row in order]
    rows[number][name] = value
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "t.jsonl", rows)
        try:
            page = render(read_results(path))
        except InputError as error:
            assert "t.jsonl" in str(error)
        else:
            assert "Each entry is a thread" in page or name == "thread_rank"


def test_a_row_without_its_thread_is_an_error(tmp_path):
    rows = [*ROWS[:3], {**ROWS[3], "thread_rank": None}]
    with pytest.raises(InputError, match="some rows have a 'thread_rank'"):
        read_results(write(tmp_path / "t.jsonl", rows))


def test_the_report_shows_each_thread_with_its_posts(tmp_path):
    data = read_results(write(tmp_path / "t.jsonl", ROWS))
    assert [post.id for post in data.posts] == ["1", "4"]
    shown = [
        [(turn.post.id, turn.role) for turn in turns] for turns in data.threads.values()
    ]
    assert shown == [
        [("1", "found"), ("2", "reply")],
        [("3", "answered"), ("4", "found")],
    ]
    page = render(data)
    assert page.count('<li class="cluster"') == 2 and page.count("an earlier post") == 1
    assert "2</strong> posts in this thread, 1 found" in page


@pytest.mark.parametrize("name", ["empty.jsonl", "empty.csv"])
@pytest.mark.parametrize(
    "command_line",
    ["threads --out t.jsonl --posts", "report --out t.html", "keywords --posts"],
)
def test_results_without_a_row_are_named_as_such(dump, monkeypatch, name, command_line):
    monkeypatch.chdir(dump)
    (dump / name).write_text(
        "" if name == "empty.jsonl" else "article,rank,score,post,text\n"
    )
    verb, *options = command_line.split()
    posts = ["posts.jsonl"] if options[-1] == "--posts" else []
    run = command(verb, "--results", name, *options, *posts)
    assert run.returncode == 2
    assert (
        f"{name}: has no row; an empty file is left by a search that found no post"
        in run.stderr
    )
