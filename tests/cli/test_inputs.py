"""Nothing of the user's is destroyed or left out in silence, as a user meets it: real processes."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.commands import siamese_news as process

from siamese_news.utils.files import file_sha256

POSTS = [
    {"id": "1", "text": "flood river bridge", "created_at": "2013-04-15T10:00:00Z"},
    {"id": "2", "text": "vote for the mayor", "created_at": "2013-04-20T10:00:00Z"},
]


def start(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "siamese_news", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def files(tmp_path, tiny_model):
    tiny_model.save(tmp_path / "model", card="")
    (tmp_path / "story.txt").write_text(
        "Flood in the town\n\nThe river took the bridge.\n"
    )
    (tmp_path / "dump").mkdir()
    (tmp_path / "dump" / "a.jsonl").write_text(lines(POSTS))
    return tmp_path


def rank(files, *more, posts=("dump",)):
    return (
        "rank",
        "--model",
        files / "model",
        "--articles",
        files / "story.txt",
        "--posts",
        *(name if name == "-" else files / name for name in posts),
        *more,
    )


def found(path):
    return [json.loads(line)["post"] for line in path.read_text().splitlines()]


@pytest.mark.parametrize("command", ["rank", "filter", "keywords", "explain"])
def test_no_command_writes_over_what_it_reads(files, command):
    dump = files / "dump" / "a.jsonl"
    before = dump.read_bytes()
    model = ("--model", files / "model")
    articles = ("--articles", files / "story.txt")
    arguments = {
        "rank": (*model, *articles, "--posts", files / "dump"),
        "filter": (
            *model,
            *articles,
            "--posts",
            f"{files}/d*/*.jsonl",
            "--min-score",
            "0",
        ),
        "keywords": ("--results", files / "story.txt", "--posts", dump),
        "explain": (*model, *articles, "--posts", dump, "--post", "1"),
    }[command]
    os.link(dump, files / "same.jsonl")  # another name of the same file
    for out in (dump, files / "same.jsonl"):
        done = process(command, *arguments, "--out", out, "--force")
        assert done.returncode == 2, done.stderr
        assert "one of the input files" in done.stderr
    story = files / "story.txt"
    done = process(command, *arguments, "--out", story, "--force")
    assert done.returncode == 2
    assert story.read_text().startswith("Flood in the town")
    assert dump.read_bytes() == before


def test_the_key_of_the_pseudonyms_is_not_written_over(files):
    key = files / "key.csv"
    key.write_bytes(b"k" * 20)
    done = process(*rank(files, "--out", key), "--author", key, "--force")
    assert done.returncode == 2 and "one of the input files" in done.stderr
    assert key.read_bytes() == b"k" * 20


def test_what_lies_beside_the_output_is_no_input_either(files):
    beside = files / "dump" / "b.meta.json"
    beside.write_text(lines([{"id": "9", "text": "x"}]))
    done = process(*rank(files, "--out", files / "dump" / "b"), "--format", "jsonl")
    assert done.returncode == 2
    assert "would also write b.meta.json" in done.stderr
    assert json.loads(beside.read_text())["id"] == "9"


def test_another_file_is_replaced_only_by_force_and_own_results_freely(files):
    out = files / "out.jsonl"
    out.write_text("my notes\n")
    done = process(*rank(files, "--out", out))
    assert done.returncode == 2
    assert "--force" in done.stderr
    assert out.read_text() == "my notes\n"
    for more in (["--force"], []):
        done = process(*rank(files, "--out", out, *more))
        assert done.returncode == 0, done.stderr
    out.write_text(out.read_text() + "\n")  # results that somebody worked on
    assert process(*rank(files, "--out", out)).returncode == 2


def test_own_results_in_the_folder_are_no_posts_and_a_search_can_be_repeated(files):
    out = files / "dump" / "found.jsonl"
    command = ("filter", *rank(files, "--min-score", "-1", "--out", out)[1:])
    for _ in range(2):
        done = process(*command)
        assert done.returncode == 0, done.stderr
    assert sorted(found(out)) == ["1", "2"]
    assert "it is a results file of this program" in done.stderr


def test_own_results_can_be_searched(files):
    first = files / "first.jsonl"
    assert process(*rank(files, "--out", first)).returncode == 0
    again = files / "again.csv"
    done = process(*rank(files, "--out", again, posts=["first.jsonl"]))
    assert done.returncode == 0, done.stderr
    assert "results of this program" in done.stderr
    assert "2013-04-15T10:00:00Z" in again.read_text()
    table = process(*rank(files, posts=["again.csv"]))
    assert "2 posts read" in table.stderr


def test_values_after_an_option_join_it(files):
    (files / "dump" / "b.csv").write_text("id,text\n3,flood\n")
    out = files / "out.jsonl"
    done = process(*rank(files, "--out", out, posts=["dump/a.jsonl", "dump/b.csv"]))
    assert done.returncode == 0, done.stderr
    assert sorted(found(out)) == ["1", "2", "3"]
    assert 'seed story: "Flood in the town", 9 words' in done.stderr
    assert done.stderr.count("seed ") == 1
    assert done.stderr.index("seed story") < done.stderr.index("posts read")


def test_an_unknown_option_with_a_value_is_named(files):
    done = process(*rank(files, "--artikels", files / "story.txt"))
    assert done.returncode == 2
    said = " ".join(done.stderr.replace("│", " ").split())
    assert "No such option: --artikels" in said and "--articles" in said


def test_a_stray_argument_stops_with_what_was_taken_for_what(files):
    done = process(*rank(files, "--top", "5", files / "dump" / "a.jsonl"))
    assert done.returncode == 2
    said = " ".join(done.stderr.replace("│", " ").split())
    assert "does not belong to an option" in said
    assert "--articles took" in said
    assert "--posts took" in said


def test_dates_that_are_not_understood_are_said(files):
    rows = [*POSTS, {"id": "3", "text": "flood", "created_at": "10/11/2013"}]
    (files / "dump" / "a.jsonl").write_text(lines(rows))
    done = process(*rank(files, "--after", "2013-04-01"))
    assert done.returncode == 0
    assert "1 of 3 posts has no readable date" in done.stderr
    unread = [
        {"id": str(n), "text": "flood", "seen": f"1{n}/11/2013"} for n in range(3)
    ]
    (files / "dump" / "a.jsonl").write_text(lines(unread))
    out = files / "out.jsonl"
    for command in (
        rank(files, "--after", "2013-04-01", "--out", out),
        (
            "filter",
            *rank(files, "--min-score", "0", "--before", "2014", "--out", out)[1:],
        ),
    ):
        done = process(*command)
        assert done.returncode == 2
        assert "--date-field" in done.stderr
    assert not out.exists()
    dated = [row | {"seen": f"2013-04-1{row['id']} 10:00:00 EDT"} for row in unread]
    (files / "dump" / "a.jsonl").write_text(lines(dated))
    done = process(
        *rank(files, "--after", "2013-04-11", "--date-field", "seen", "--out", out)
    )
    assert done.returncode == 0, done.stderr
    assert sorted(found(out)) == ["1", "2"]
    assert (
        "dates from 2013-04-10 to 2013-04-12"
        in process("doctor", files / "dump" / "a.jsonl", "--date-field", "seen").stdout
    )


def test_a_stray_quotation_mark_costs_one_line(files):
    rows = [f"{10**6 + n},2013-04-15,post number {n}\n" for n in range(20_000)]
    rows[100] = f'{10**6 + 100},2013-04-15,"oops\n'
    rows[150] = f'{10**6 + 150},2013-04-15,"whole, and quoted"\n'
    rows[5000] = f'{10**6 + 5000},2013-04-15,"never closed\n'
    table = files / "posts.csv"
    table.write_text("id,created_at,text\n" + "".join(rows))
    out = files / "out.jsonl"
    done = process(*rank(files, "--top", "1", "--out", out, posts=["posts.csv"]))
    assert done.returncode == 0, done.stderr
    assert "19,998 posts read, 2 rows rejected (2 stray quotation mark)" in done.stderr
    kept = [json.loads(line) for line in (files / "out.jsonl.rejected.jsonl").open()]
    assert [row["line"] for row in kept] == [102, 5002]


def test_a_json_document_in_another_encoding_is_named(files):
    document = (
        '{"query": "caf\xe9", "found": {"posts": [{"id": 1, "text": "caf\xe9"}]}}'
    )
    (files / "posts.json").write_bytes(document.encode("latin-1"))
    done = process(*rank(files, posts=["posts.json"]))
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "posts.json:1: byte 14 is not UTF-8; convert the file" in done.stderr


AROUND = [
    '{"results": %s, "next": null}',
    '{"of": {"query": %s}}\n',
    '{"page": 1, "rows": %s}\n' * 2,
]


@pytest.mark.parametrize("around", AROUND)
def test_documents_on_lines_are_read_as_one_over_several_is(files, around):
    pages = [json.dumps(POSTS[:1]), json.dumps(POSTS[1:])]
    filled = around % (tuple(pages) if around.count("%s") == 2 else json.dumps(POSTS))
    (files / "posts.json").write_text(filled)
    done = process(*rank(files, "--out", files / "out.jsonl", posts=["posts.json"]))
    assert done.returncode == 0, done.stderr
    assert sorted(found(files / "out.jsonl")) == ["1", "2"]


@pytest.mark.parametrize("lines", [1, 2])
def test_what_lies_in_posts_whose_text_was_not_found_is_not_taken_for_posts(
    files, lines
):
    inside = {
        "tags": [{"text": "flood"}],
        "by": [{"id": "a", "text": "flood"}][: lines - 1],
    }
    rows = [{"id": str(number), "words": "x", **inside} for number in range(lines)]
    (files / "posts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = process(*rank(files, posts=["posts.jsonl"]))
    assert done.returncode == 2 and 'the file has: id ("' in done.stderr


@pytest.mark.parametrize(
    ("number", "reason"),
    [("9" * 5000, "number too long"), ("1e99999999999999999999", "damaged file")],
)
def test_a_number_that_no_program_can_hold_ends_what_is_read(files, number, reason):
    first, second = map(json.dumps, POSTS)
    document = (
        f'[{first}, {second}, {{"id": "3", "text": "{number}", "likes": {number}}}]'
    )
    (files / "posts.json").write_text(document)
    done = process(*rank(files, "--out", files / "out.jsonl", posts=["posts.json"]))
    assert done.returncode == 0 and f"1 row rejected (1 {reason})" in done.stderr
    assert sorted(found(files / "out.jsonl")) == ["1", "2"]


def test_a_cut_off_gz_gives_every_complete_line(files):
    text = lines(
        {"id": str(n), "text": f"flood {n * 7919}"} for n in range(30_000)
    ).encode()
    packed = gzip.compress(text)[: len(gzip.compress(text)) - 5]
    (files / "posts.jsonl.gz").write_bytes(packed)
    done = process(*rank(files, "--top", "1", posts=["posts.jsonl.gz"]))
    assert done.returncode == 0, done.stderr
    assert "30,000 posts read, 1 row rejected (1 damaged file)" in done.stderr


def test_a_line_is_no_name_of_an_output(files):
    done = process(*rank(files, "--out", "-", "--format", "jsonl"))
    assert done.returncode == 2
    assert "--out -: expected the name of a file" in done.stderr
    assert not (files / "-").exists()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_that_ends_it_leaves_nothing_behind(files, tmp_path, number, code):
    spool = tmp_path / "spool"
    spool.mkdir()
    running = start(
        *rank(files, "--out", files / "out.jsonl", posts=["-"]),
        stdin=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(spool)},
    )
    running.stdin.write(
        lines({"id": str(n), "text": "flood " * 50} for n in range(20_000))
    )
    running.stdin.flush()
    for line in running.stderr:  # the pipe is looked at, and then copied
        if "posts standard input" in line:
            break
    time.sleep(0.5)
    running.send_signal(number)
    assert running.wait(timeout=60) == code
    assert "terminated" in running.stderr.read()
    assert list(spool.iterdir()) == []
    assert not list(files.glob("*out.jsonl*"))


def changed(folder, name, data):
    (folder / name).write_bytes(data)
    sums = folder / "SHA256SUMS"
    kept = [
        line for line in sums.read_text().splitlines() if not line.endswith(f"  {name}")
    ]
    sums.write_text("\n".join([*kept, f"{file_sha256(folder / name)}  {name}"]) + "\n")


def test_weights_of_another_type_are_refused(files):
    weights = files / "model" / "model.safetensors"
    tensors = load_file(weights)
    name = "embedding.matrix"
    save_file({**tensors, name: tensors[name].to(torch.int32)}, weights)
    changed(files / "model", "model.safetensors", weights.read_bytes())
    done = process(*rank(files))
    assert done.returncode == 2
    assert "is int32, expected float32" in done.stderr


@pytest.mark.parametrize("depth", [900, 100_000])
def test_a_config_nested_too_deeply_is_refused(files, depth):
    changed(files / "model", "config.json", b'{"a": ' * depth + b"1" + b"}" * depth)
    done = process(*rank(files))
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "config.json" in done.stderr


@pytest.mark.parametrize("command", ["rank", "filter"])
def test_the_address_of_a_post_reaches_the_results(files, command):
    address = "https://www.reddit.com/r/town/comments/aa/_/e1/"
    post = {
        "id": "e1",
        "body": "flood river bridge",
        "author": "ann",
        "subreddit": "town",
        "created_utc": 1546300800,
        "link_id": "t3_aa",
        "permalink": "/r/town/comments/aa/_/e1/",
    }
    (files / "dump" / "a.jsonl").write_text(lines([post]))
    out = files / "out.jsonl"
    more = ["--min-score", "-2"] if command == "filter" else []
    done = process(command, *rank(files, "--out", out, *more)[1:])
    assert done.returncode == 0, done.stderr
    assert json.loads(out.read_text())["link"] == address


CONTEXT = {"visibility": "public", "uri": "u", "account": {"acct": "a"}}
MESSAGE = {"type": "message", "date": "2020-01-01T10:00:00", "text": "flood"}
COMMENT = {"subreddit": "s", "created_utc": 1580000000}


def comment(key, replies=""):
    return {
        "kind": "t1",
        "data": {**COMMENT, "id": key, "body": "flood", "replies": replies},
    }


def listing(*children):
    return {"kind": "Listing", "data": {"children": list(children)}}


EXPORTS = {
    "all chats of Telegram, those that were left too": (
        "result.json",
        {
            "chats": {"list": [{"id": 1, "messages": [{"id": 1, **MESSAGE}]}]},
            "left_chats": {"list": [{"id": 2, "messages": [{"id": 1, **MESSAGE}]}]},
        },
        ["1/1", "2/1"],
    ),
    "the context of a status of Mastodon, before and after it": (
        "context.json",
        {
            "ancestors": [{"id": "1", "content": "<p>flood</p>", **CONTEXT}],
            "descendants": [{"id": "2", "content": "<p>flood</p>", **CONTEXT}],
        },
        ["1", "2"],
    ),
    "replies to replies on Reddit": (
        "thread.json",
        listing(
            comment("a", listing(comment("b", listing(comment("c"))))), {"kind": "more"}
        ),
        ["t1_a", "t1_b", "t1_c"],
    ),
    "a file that a browser unpacked, still called .gz": (
        "posts.csv.gz",
        "id,text\n1,flood\n2,flood\n",
        ["1", "2"],
    ),
}


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("name", EXPORTS)
def test_no_post_of_an_export_is_left_out(files, name, indent):
    file, content, ids = EXPORTS[name]
    text = content if isinstance(content, str) else json.dumps(content, indent=indent)
    (files / file).write_text(text)
    done = process(*rank(files, "--out", files / "out.jsonl", posts=[file]))
    assert done.returncode == 0, done.stderr
    assert sorted(found(files / "out.jsonl")) == ids
    assert f"{len(ids)} posts read" in done.stderr and "rejected" not in done.stderr


def test_an_array_of_posts_that_is_not_read_is_named(files):
    others = [{"id": "9", "text": "flood", "likes": [{"id": "8", "text": "x"}]}]
    (files / "posts.json").write_text(
        json.dumps({"posts": POSTS, "users": [], "replies": others})
    )
    done = process(*rank(files, posts=["posts.json"]))
    assert done.returncode == 0, done.stderr
    assert "posts.json: JSON (posts; not read: replies): text from" in done.stderr


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("id;text\n1,23E+18;flood\n1,24E+18;flood\n", "field 'id' is '1,23E+18'"),
        (
            "id,text\n" + "".join(f"12345678901234{n}0000,flood\n" for n in range(3)),
            "all ids in 'id' end in zeros after 15 digits",
        ),
        (
            "id,date,text,date\n1,2020-01-01,flood,2021-01-01\n",
            "two columns are called 'date'",
        ),
    ],
)
def test_what_a_spreadsheet_lost_is_not_taken_for_whole(files, table, message):
    (files / "posts.csv").write_text(table)
    done = process(*rank(files, posts=["posts.csv"]))
    assert done.returncode == 2 and message in done.stderr


def test_marks_inside_a_quoted_column_stay_where_they_are(files):
    rows = ['1,"the 6" pipe, burst"', '2,"a "flood", they say"', '3,the 6" pipe']
    (files / "posts.csv").write_text("id,text\n" + "\n".join(rows) + "\n")
    done = process(*rank(files, "--out", files / "out.jsonl", posts=["posts.csv"]))
    assert done.returncode == 0, done.stderr
    read = {
        row["post"]: row["text"]
        for row in map(json.loads, (files / "out.jsonl").open())
    }
    assert read == {"1": 'the 6" pipe, burst', "3": 'the 6" pipe'}
    assert "1 row rejected (1 wrong number of columns)" in done.stderr


def test_the_length_of_a_seed_without_spaces_is_in_characters(files):
    (files / "story.txt").write_text(
        "洪水警報\n\n大雨のため川があふれ、橋が流された。\n"
    )
    assert '"洪水警報", 22 characters' in process(*rank(files)).stderr
    (files / "story.txt").write_text("홍수 경보\n\n강이 범람하여 다리가 떠내려갔다\n")
    assert '"홍수 경보", 6 words' in process(*rank(files)).stderr


def test_an_output_next_to_which_no_file_can_be_made(files):
    posts = ("--posts", files / "dump")
    outs = [files / ("x" * 252), *(["/proc/index"] if Path("/proc").is_dir() else [])]
    for out in outs:
        done = process("index", *posts, "--model", files / "model", "--out", out)
        assert done.returncode == 2, done.stderr
        assert (
            f"{out}: cannot be written: no file can be made in {Path(out).parent}"
            in done.stderr
        )


def test_nothing_is_written_into_the_index_that_is_searched(files):
    index, model = files / "index", ("--model", files / "model")
    assert (
        process("index", "--posts", files / "dump", *model, "--out", index).returncode
        == 0
    )
    before = sorted(index.rglob("*"))
    for out in (index / "out.csv", index / "new" / "out.csv"):
        done = process(
            "rank",
            *model,
            "--articles",
            files / "story.txt",
            "--index",
            index,
            "--out",
            out,
        )
        assert done.returncode == 2 and "is inside the index" in done.stderr
    assert sorted(index.rglob("*")) == before
