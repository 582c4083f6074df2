"""Ids that come again: repeats of a post, versions of it, and different posts that share an id."""

import csv
import io
import json
import sys
import tracemalloc

import pytest
from typer.testing import CliRunner

from siamese_news.cli import app
from siamese_news.data.readers import duplicates, open_posts
from siamese_news.errors import InputError

SEED = "Storm over Velden\n\nA storm took the roof of the school in Velden.\n"
# Two rooms of a forum, each with messages numbered from 1.
ROOMS = [
    ("1", "weather", "the storm took our roof in Velden"),
    ("1", "cooking", "which flour for this bread"),
    ("2", "weather", "school closed after the storm"),
    ("2", "cooking", "rye, always rye"),
]


def table(rows, names=("id", "room", "text")):
    text = io.StringIO()
    csv.writer(text).writerows([names, *rows])
    return text.getvalue()


def ids_and_texts(stream):
    return {post.id: post.text for post in stream}


@pytest.mark.parametrize(
    "column", ["room", "chat", "channel", "subreddit", "group", "thread_id"]
)
def test_posts_numbered_in_each_place_are_all_read(read, column):
    stream, posts = read("p.csv", table(ROOMS, ("id", column, "text")))
    assert {post.id: post.text for post in posts} == {
        "1": ROOMS[0][2],
        "cooking/1": ROOMS[1][2],
        "2": ROOMS[2][2],
        "cooking/2": ROOMS[3][2],
    }
    assert stream.counts.rejected == 0
    assert "2 ids of different posts" in str(stream.counts)
    assert "such as cooking/1" in str(stream.counts)


def test_a_later_place_is_found_beyond_the_first_rows(read):
    """The rooms one after the other, thousands of rows apart."""
    rows = [(n, room, f"{room} {n}") for room in "abc" for n in range(1, 3001)]
    stream, posts = read(
        "p.jsonl", [dict(zip(("id", "room", "text"), r, strict=True)) for r in rows]
    )
    assert [post.text for post in posts] == [row[2] for row in rows]
    assert len({post.id for post in posts}) == 9000
    assert stream.counts.renamed == 6000
    again = [(post.id, post.text) for post in stream]
    assert again == [(post.id, post.text) for post in posts]


def test_the_group_that_the_user_names_tells_posts_apart(write):
    path = write("p.csv", table(ROOMS, ("id", "ward", "text")))
    with pytest.raises(InputError):
        list(open_posts([path]))
    posts = list(open_posts([path], group_field="ward"))
    assert [post.id for post in posts] == ["1", "cooking/1", "2", "cooking/2"]


def test_files_that_each_begin_with_1_keep_all_posts(write):
    files = [
        write(f"{name}.csv", f"id,text\n1,{name} first\n2,{name} second\n")
        for name in ("x", "y")
    ]
    stream = open_posts(files)
    assert ids_and_texts(stream) == {
        "1": "x first",
        "2": "x second",
        "y.csv/1": "y first",
        "y.csv/2": "y second",
    }


def test_files_of_one_name_in_two_folders(write):
    files = [
        write(f"{name}/chat.csv", f"id,text\n1,{name}\n") for name in ("a", "b", "c")
    ]
    with pytest.raises(
        InputError, match=r"c/chat\.csv:2: the id '1' is that of another post"
    ):
        list(open_posts(files))


@pytest.mark.parametrize(
    "missing", ["NA", "nan", "None", "null", "-", "0", "#N/A", "n/a"]
)
def test_what_stands_for_no_id_loses_no_post(write, missing):
    path = write(
        "p.csv", "id,text\n" + "".join(f"{missing},post {n}\n" for n in range(30))
    )
    with pytest.raises(InputError) as caught:
        list(open_posts([path]))
    message = str(caught.value)
    assert message.startswith(f"{path}:3: the id '{missing}'")
    assert "stands for a missing id" in message
    assert len(list(open_posts([path], id_field="line"))) == 30


def test_repeats_remain_duplicates(read):
    rows = [*ROOMS, *ROOMS, ("1", "elsewhere", ROOMS[0][2])]
    stream, posts = read("p.csv", table(rows))
    assert len(posts) == 4
    assert stream.counts.reasons == {"duplicate id": 5}


@pytest.mark.parametrize(
    "own_id",
    [
        "1859000000000000001",
        "https://example.org/p/1",
        "at://did:plc:a/app.bsky.feed.post/1",
        "0b0e7e3c-9f7b-4a59-8a3c-6a0f3e6a9d10",
        "t1_k3x9",
        "1059_100000000012345",
    ],
)
def test_ids_given_once_belong_to_versions_of_one_post(read, own_id):
    stream, posts = read(
        "p.csv", f"id,text\n{own_id},a storm\n{own_id},a storm (edited)\n"
    )
    assert [post.text for post in posts] == ["a storm"]
    assert stream.counts.reasons == {"another version": 1}


def test_platforms_formats_read_the_first_version(read):
    tweet = {"id_str": "7", "full_text": "a storm", "user": {"screen_name": "x"}}
    stream, posts = read("p.jsonl", [tweet, tweet | {"full_text": "a storm, longer"}])
    assert len(posts) == 1 and stream.counts.reasons == {"duplicate id": 1}


def test_slack_numbers_messages_by_their_time_in_each_channel(write):
    day = [{"type": "message", "user": "U1", "ts": "1700000000.0001"}]
    files = [
        write(f"{name}/day.json", json.dumps([day[0] | {"text": f"about {name}"}]))
        for name in ("storm", "bread")
    ]
    assert [post.text for post in open_posts(files)] == ["about storm", "about bread"]


def test_links_within_a_place_follow_the_new_ids(read):
    rows = [(*row, "") for row in ROOMS]
    rows += [("3", "cooking", "thanks", "2"), ("4", "weather", "stay safe", "2")]
    _, posts = read("p.csv", table(rows, ("id", "room", "text", "reply_to")))
    links = {post.text: post.metadata.get("reply_to") for post in posts}
    assert links["thanks"] == "cooking/2" and links["stay safe"] == "2"


def test_standard_input_is_read_the_same_way(monkeypatch):
    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(table(ROOMS).encode()))

    monkeypatch.setattr(sys, "stdin", Stdin())
    assert len(ids_and_texts(open_posts("-"))) == 4
    Stdin.buffer = io.BufferedReader(io.BytesIO(b"id,text\nNA,one\nNA,two\n"))
    with pytest.raises(InputError, match=r"^standard input:3: .* in an earlier row;"):
        list(open_posts("-"))


def test_hashes_that_move_to_the_sorted_ones_keep_their_texts(read, monkeypatch):
    monkeypatch.setattr(duplicates, "_RECENT", 100)
    rows = [(n, room, f"{room} {n}") for room in "ab" for n in range(1000)]
    stream, posts = read("p.csv", table([*rows, *rows[::7]]))
    assert [post.text for post in posts] == [row[2] for row in rows]
    assert stream.counts.reasons == {"duplicate id": len(rows[::7])}


def test_texts_and_places_take_eight_bytes_a_post(monkeypatch):
    monkeypatch.setattr(duplicates, "_RECENT", 2**10)
    seen = duplicates.SeenIds()
    tracemalloc.start()
    for start in range(0, 200_000, 1000):
        seen.add(
            [f"id-{n}" for n in range(start, start + 1000)],
            [n + 1 for n in range(1000)],
        )
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 17 * 200_000
    assert (
        seen.mark("id-199999") == 1000
        and seen.mark("id-0") == 1
        and seen.mark("x") is None
    )


@pytest.fixture
def files(write, tiny_model, tmp_path):
    tiny_model.save(tmp_path / "model", card="")
    write("seed.txt", SEED)
    write("rooms.csv", table(ROOMS))
    write("na.csv", "id,text\nNA,one storm\nNA,two roofs\n")
    return tmp_path


def run(files, *words):
    options = ["--model", files / "model"]
    return CliRunner().invoke(app, list(map(str, [*words, *options])))


def told(done):
    """What a command printed, in one line."""
    return " ".join(done.stderr.split())


def test_the_commands_find_all_posts_or_stop(files):
    seeds = ["--articles", files / "seed.txt", "--posts"]
    out = files / "out.jsonl"
    done = run(files, "rank", *seeds, files / "rooms.csv", "--out", out)
    assert done.exit_code == 0, done.stderr
    assert len(out.read_text().splitlines()) == 4
    assert "such as cooking/1" in " ".join(done.stderr.split())
    assert (
        json.loads((files / "out.jsonl.meta.json").read_text())["counts"]["renamed"]
        == 2
    )
    for command in (["rank"], ["filter", "--min-score", "0"]):
        done = run(
            files, *command, *seeds, files / "na.csv", "--out", files / "na.jsonl"
        )
        assert done.exit_code == 2 and "na.csv:3" in told(done)
        assert not (files / "na.jsonl").exists()


def test_workers_refuse_what_only_one_process_can_tell_apart(files, write):
    rows = [(n, room, f"the storm in {room} {n}") for room in "ab" for n in range(9000)]
    write("long.csv", table(rows))
    options = [
        "--articles",
        files / "seed.txt",
        "--min-score",
        "0",
        "--out",
        files / "w.jsonl",
    ]
    done = run(
        files, "filter", "--posts", files / "long.csv", *options, "--workers", "2"
    )
    assert done.exit_code == 2
    assert "leave out --workers" in told(done)
    assert run(
        files, "filter", "--posts", files / "long.csv", *options, "--force"
    ).exit_code in (
        0,
        2,
    )


def test_an_index_has_all_posts_and_refuses_others_with_their_ids(files, write):
    index = ["index", "--out", files / "p.index", "--posts"]
    assert run(files, *index, files / "rooms.csv").exit_code == 0
    done = run(files, *index, files / "rooms.csv", "--add")
    assert done.exit_code == 0 and "(0 added, 4 already there)" in done.stderr
    write("other.csv", "id,room,text\n1,garden,the storm took a tree\n9,garden,roses\n")
    done = run(files, *index, files / "other.csv", "--add")
    assert done.exit_code == 2 and "another post with the id '1'" in told(done)
    done = run(files, *index, files / "rooms.csv", "--add")
    assert done.exit_code == 0 and "4 posts (0 added, 4 already there)" in done.stderr


def test_ids_that_a_database_padded_with_blanks_lose_no_post(tmp_path):
    path = tmp_path / "padded.csv"
    path.write_text("id,text\n1 ,the river rose\n2  ,the bridge fell\n13,a cat\n")
    assert [post.id for post in open_posts([path])] == ["1", "2", "13"]
    lines = [{"id": " a", "text": "the river"}, {"id": "b\u00a0", "text": "the bridge"}]
    path = tmp_path / "padded.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert [post.id for post in open_posts([path])] == ["a", "b"]
