"""`siamese-news rank` as a user runs it."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from typer.testing import CliRunner

from siamese_news import Searcher, open_posts
from siamese_news.cli import app


def run(*arguments, **options):
    """In this process: quick."""
    return CliRunner().invoke(app, list(map(str, arguments)), **options)


def process(*arguments, **options):
    """As a real process."""
    return subprocess.run(
        [sys.executable, "-m", "siamese_news", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )


@pytest.fixture
def files(tmp_path, tiny_model):
    tiny_model.save(tmp_path / "model", card="")
    (tmp_path / "story.txt").write_text(
        "Flood in the town\n\nThe river took the bridge.\n"
    )
    (tmp_path / "vote.txt").write_text("The vote of the mayor")
    posts = [
        {
            "id": 9007199254740993,
            "text": "flood flood river",
            "author": "ann",
            "lang": "en",
            "created_at": "2013-04-15T10:00:00Z",
        },
        {"id": "2", "text": "vote for the mayor", "created_at": "2013-04-20T10:00:00Z"},
        {"id": "3", "text": "🔥"},
    ]
    (tmp_path / "posts.jsonl").write_text("".join(json.dumps(p) + "\n" for p in posts))
    return tmp_path


def rank(files, *more, articles="story.txt", by=run):
    return by(
        "rank",
        "--model",
        files / "model",
        "--articles",
        files / articles,
        "--posts",
        files / "posts.jsonl",
        *more,
    )


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_rank_prints_a_table(files):
    done = rank(files, by=process)
    assert done.returncode == 0, done.stderr
    assert "Flood in the town" in done.stdout
    assert done.stdout.index("9007199254740993") < done.stdout.index("vote for")
    assert "3 posts read" in done.stderr


def test_rank_writes_a_file_and_ids_stay_exact(files):
    out = files / "out.jsonl"
    done = rank(files, "--out", out, "--top", "2")
    assert done.exit_code == 0, done.stderr
    rows = rows_of(out)
    assert [row["rank"] for row in rows] == [1, 2]
    assert rows[0]["post"] == "9007199254740993"
    assert rows[0]["article"] == "story"
    assert rows[0]["lang"] == "en"
    assert rows[0]["created_at"] == "2013-04-15T10:00:00Z"
    assert rows[0]["cluster_size"] == 1
    assert "author" not in rows[0]


def test_the_facts_stand_beside_the_file(files):
    from siamese_news.model.folder import folder_sha256

    out = files / "out.csv"
    assert rank(files, "--out", out, "--articles", files / "vote.txt").exit_code == 0
    meta = json.loads((files / "out.csv.meta.json").read_text())
    assert meta["provenance"]["model"]["sha256"] == folder_sha256(files / "model")
    assert meta["counts"] == {
        "read": 3,
        "rejected": 0,
        "duplicates": 0,
        "skipped": 0,
        "scored": 3,
        "kept": 3,
    }
    assert len(meta["histogram"]["edges"]) == 101
    assert sum(meta["histogram"]["counts"]) == 6
    assert meta["titles"] == {"story": "Flood in the town", "vote": ""}
    assert meta["score"] == "cosine"


def test_several_articles_after_one_option(files):
    done = rank(files, "--format", "trec", "--articles", files / "vote.txt")
    assert done.exit_code == 0, done.stderr
    assert {line.split()[0] for line in done.stdout.splitlines()} == {"story", "vote"}


def test_a_trec_file_holds_a_trec_run(files):
    from siamese_news.data.trec import read_run

    out = files / "out.run"
    assert rank(files, "--out", out, "--articles", files / "vote.txt").exit_code == 0
    assert {len(line.split()) for line in out.read_text().splitlines()} == {6}
    assert {query: len(found) for query, found in read_run(out).items()} == {
        "story": 3,
        "vote": 3,
    }


def test_the_same_input_gives_the_same_bytes(files):
    assert (
        rank(files, "--format", "csv").stdout == rank(files, "--format", "csv").stdout
    )


def test_over_seeds_gives_one_list_that_names_the_nearest_seed(files):
    out = files / "out.jsonl"
    done = rank(files, "--articles", files / "vote.txt", "--one-story", "--out", out)
    assert done.exit_code == 0, done.stderr
    rows = rows_of(out)
    assert [row["rank"] for row in rows] == [1, 2, 3]
    assert {row["post"]: row["article"] for row in rows[:2]} == {
        "9007199254740993": "story",
        "2": "vote",
    }
    trec = rank(
        files, "--articles", files / "vote.txt", "--one-story", "--format", "trec"
    ).stdout
    assert [line.split()[0] for line in trec.splitlines()] == ["all"] * 3


def test_rank_and_filter_name_the_one_list_of_a_single_seed_alike(files):
    for command in ("rank", "filter"):
        more = ("--one-story",) if command == "rank" else ("--min-score", "-1")
        sources = ("--model", files / "model", "--articles", files / "story.txt")
        out = files / f"{command}.trec"
        done = run(
            command, *sources, "--posts", files / "posts.jsonl", "--out", out, *more
        )
        assert done.exit_code == 0, done.stderr
        assert [line.split()[0] for line in out.read_text().splitlines()] == [
            "story"
        ] * 3


def test_a_negative_seed_pushes_away(files):
    without, out = files / "without.jsonl", files / "with.jsonl"
    assert rank(files, "--out", without).exit_code == 0
    assert rank(files, "--not", files / "vote.txt", "--out", out).exit_code == 0
    before = {row["post"]: row["score"] for row in rows_of(without)}
    after = {row["post"]: row["score"] for row in rows_of(out)}
    assert before["2"] - after["2"] > 0.9  # it is the other story's own post


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (["--after", "2013-04-16"], {"2", "3"}),
        (["--before", "2013-04-16"], {"9007199254740993", "3"}),
        (
            [
                "--after",
                "2013-04-15T10:00:00Z",
                "--before",
                "2013-04-20T10:00:00Z",
            ],
            {"9007199254740993", "3"},
        ),
    ],
)
def test_posts_by_date(files, options, left):
    out = files / "out.jsonl"
    done = rank(files, "--out", out, *options)
    assert done.exit_code == 0, done.stderr
    assert {row["post"] for row in rows_of(out)} == left
    counts = json.loads((files / "out.jsonl.meta.json").read_text())["counts"]
    assert counts["without a date"] == 1
    assert counts["scored"] == len(left)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--after", "03/04/2013"], "--after is '03/04/2013', expected a date"),
        (
            ["--after", "2014-01-01", "--before", "2013-01-01"],
            "expected an earlier date first",
        ),
        (["--out", "found.xyz"], "expected a name that ends in .jsonl, .csv, .parquet"),
        (["--not", "story.txt"], "is a seed and a negative seed"),
        (["--author", "nokey"], "nokey: cannot be read"),
        (
            ["--author", "short"],
            "short: the key has 2 bytes, expected at least 16",
        ),
        (["--articles", "-", "--posts", "-"], "standard input (-) is named twice"),
    ],
)
def test_an_option_that_cannot_be_met_is_explained(
    files, monkeypatch, options, message
):
    monkeypatch.chdir(files)
    (files / "short").write_text("k!\n")
    done = rank(files, *options)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not (files / "found.xyz").exists()


def test_dates_that_no_post_has_are_named(files):
    row = {"id": "1", "text": "flood", "created_at": "2013-04-15T12:00:00Z"}
    (files / "posts.jsonl").write_text(json.dumps(row) + "\n")
    done = rank(files, "--after", "2020-01-01")
    assert done.exit_code == 2 and "no post is within the dates" in done.stderr


def test_copies_collapse(files):
    text = "flood in the town: the river took the bridge of the town this night"
    copies = [f"RT @a: {text}", text, f"{text} http://t.co/1", "fire in the street"]
    with (files / "posts.jsonl").open("w") as stream:
        for number, copy in enumerate(copies):
            stream.write(json.dumps({"id": str(number), "text": copy}) + "\n")
    out = files / "out.jsonl"
    assert rank(files, "--out", out).exit_code == 0
    assert sorted(row["cluster_size"] for row in rows_of(out)) == [1, 3, 3, 3]
    assert rank(files, "--out", out, "--dedupe").exit_code == 0
    rows = rows_of(out)
    assert [(row["rank"], row["cluster_size"]) for row in rows] == [(1, 3), (2, 1)]
    table = rank(files, "--dedupe").stdout
    assert "copies" in table


def test_parquet_has_the_types(files):
    import pyarrow.parquet

    out = files / "out.parquet"
    assert rank(files, "--out", out).exit_code == 0
    table = pyarrow.parquet.read_table(out)
    assert table.column("post").to_pylist()[0] == "9007199254740993"
    assert str(table.schema.field("rank").type) == "int64"
    assert str(table.schema.field("terms").type).startswith("list<")
    piped = rank(files, "--format", "parquet").stdout_bytes
    assert pyarrow.parquet.read_table(io.BytesIO(piped)).equals(table)


def test_nothing_of_the_words_is_shared_with_ids_only(files):
    out = files / "out.csv"
    assert rank(files, "--out", out, "--ids-only").exit_code == 0
    assert "flood flood" not in out.read_text()
    assert "text" not in out.read_text().splitlines()[0].split(",")


def test_authors_on_request_and_under_a_key(files):
    import hashlib
    import hmac

    def author(*options):
        out = files / "out.csv"
        assert rank(files, "--out", out, *options).exit_code == 0
        with out.open(newline="", encoding="utf-8-sig") as stream:
            return next(iter(csv.DictReader(stream))).get("author")

    key = b"0123456789abcdef"
    (files / "key").write_bytes(key + b"\n")
    assert author() is None
    assert author("--author", "plain") == "ann"
    expected = hmac.new(key, b"ann", hashlib.sha256).hexdigest()
    assert author("--author", files / "key") == expected


BAD = [
    ("posts.jsonl", "", "posts.jsonl: the file is empty"),
    (
        "posts.jsonl",
        '{"id": "1"}\n',
        "posts.jsonl:1: no field was recognized as the text",
    ),
    (
        "posts.jsonl",
        '{"id": "1", "text": "x"}\n{"id": "1", "text": "y"}\n',
        "posts.jsonl:2",
    ),
    ("story.txt", "   \n", "story.txt"),
    ("model/config.json", "{}", "config.json: differs"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD)
def test_bad_input_is_one_clear_line_and_nothing_is_written(
    files, name, content, message
):
    (files / name).write_text(content)
    out = files / "out.csv"
    out.write_text("old")
    done = rank(files, "--format", "csv", "--out", out, "--force")
    assert done.exit_code == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert out.read_text() == "old"
    assert sorted(p.name for p in files.glob("*out.csv*")) == ["out.csv"]


def test_a_bad_row_stops_nothing_and_is_kept(files):
    with (files / "posts.jsonl").open("a") as stream:
        stream.write("{broken\n")
    done = rank(files, "--out", files / "out.jsonl")
    assert done.exit_code == 0
    assert len(rows_of(files / "out.jsonl")) == 3
    [rejected] = rows_of(files / "out.jsonl.rejected.jsonl")
    assert rejected["line"] == 4
    assert "1 row rejected (1 not JSON)" in done.stderr


@pytest.mark.parametrize("missing", ["model", "story.txt", "posts.jsonl"])
def test_a_missing_file_is_named(files, missing):
    (files / missing).rename(files / "gone")
    done = rank(files)
    assert done.exit_code == 2
    assert missing in done.stderr


def test_posts_through_a_pipe(files):
    posts = (files / "posts.jsonl").read_text()
    done = run(
        "rank",
        "--model",
        files / "model",
        "--articles",
        files / "story.txt",
        "--posts",
        "-",
        "--format",
        "trec",
        input=posts,
    )
    assert done.exit_code == 0, done.stderr
    assert done.stdout == rank(files, "--format", "trec").stdout


def test_ctrl_c_exits_130_and_leaves_the_old_output(files):
    out = files / "out.csv"
    out.write_text("old")
    os.mkfifo(files / "slow.jsonl")
    command = [
        "rank",
        "--model",
        files / "model",
        "--articles",
        files / "story.txt",
        "--posts",
        files / "slow.jsonl",
        "--out",
        out,
        "--force",
    ]
    job = subprocess.Popen(
        [sys.executable, "-m", "siamese_news", *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with (files / "slow.jsonl").open("w") as pipe:  # opens when the command reads
        pipe.write('{"id": "1", "text": "x"}\n')
        pipe.flush()
        job.send_signal(signal.SIGINT)
    _, errors = job.communicate(timeout=60)
    assert job.returncode == 130, errors
    assert "interrupted; nothing was written" in errors
    assert out.read_text() == "old"


def test_a_search_starts_without_what_it_does_not_need():
    """Each of these takes a second or more to import."""
    heavy = {
        "sklearn",
        "torchmetrics",
        "matplotlib",
        "pandas",
        "bm25s",
        "pytorch_lightning",
    }
    code = (
        "import sys, siamese_news.search.post_ranking, siamese_news.search.filtering,"
        "siamese_news.scoring, siamese_news.search.result_rows; "
        f"print(sorted({heavy} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout.strip() == "[]", found.stderr


def test_help_needs_no_torch():
    probe = (
        "import sys, siamese_news.cli; "
        "heavy = {'torch', 'pytorch_lightning', 'sklearn', 'gensim', 'numpy'} & set(sys.modules); "
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_nothing_of_a_file_steers_the_terminal(tmp_path):
    """Neither ids nor texts in a table, nor names of fields in a message."""
    (tmp_path / "a.txt").write_text("Flood\nThe river rose.")
    posts = tmp_path / "p.jsonl"
    row = {"id": "\u202e7\u2066", "text": "\x1b[31mflood \u202eof the river\x07"}
    posts.write_text(json.dumps(row) + "\n")
    done = run("rank", "--articles", tmp_path / "a.txt", "--posts", posts)
    assert done.exit_code == 0 and "flood of the river" in done.stdout.replace(
        "[31m", ""
    )
    posts.write_text(json.dumps({"id": "1", "\x1b[31m\u202eevil": "x"}) + "\n")
    wrong = run("rank", "--articles", tmp_path / "a.txt", "--posts", posts)
    assert wrong.exit_code == 2 and "evil" in wrong.stderr
    for written in (done.stdout, wrong.stderr):
        assert not {"\x1b", "\x07", "\u202e", "\u2066"} & set(written)


def test_keywords_of_what_is_no_result_are_refused(files):
    done = run(
        "keywords", "--results", files / "posts.jsonl", "--posts", files / "posts.jsonl"
    )
    assert done.exit_code == 2
    assert "a file that rank or filter wrote" in done.stderr


@pytest.mark.parametrize(
    "command", ["rank", "filter", "keywords", "explain", "report", "rerank"]
)
def test_every_command_has_an_example(command):
    done = run(command, "--help")
    assert done.exit_code == 0
    assert "Example:" in done.stdout
    assert "130" in done.stdout


def test_terms_of_two_words_stay_apart_in_a_csv(tmp_path):
    from siamese_news.search.report import read_results
    from siamese_news.search.result_files import write_rows

    path = tmp_path / "out.csv"
    row = {
        "article": "a",
        "rank": 1,
        "score": 0.5,
        "post": "p",
        "text": "the old bridge fell",
        "terms": ["old bridge", "fell"],
    }
    with path.open("w") as stream:
        write_rows(stream, [row], "csv")
    assert "old bridge; fell" in path.read_text()
    assert read_results(path).posts[0].terms == ["old bridge", "fell"]


@pytest.fixture
def shipped(tmp_path):
    """Stories and posts for the model that ships."""
    corpus = tmp_path / "corpus.jsonl"
    posts = [*SHARED, *(f"lunch was number {n}" for n in range(200))]
    corpus.write_text(
        "".join(
            json.dumps({"id": f"p{n}", "text": t}) + "\n" for n, t in enumerate(posts)
        )
    )
    (tmp_path / "story.txt").write_text(
        "Ferry sinks off Lesbos\n\nThirteen migrants drowned.\n"
    )
    return tmp_path


SHARED = [
    "ferry sinks off lesbos",
    "thirteen drowned off lesbos, ferry sinks: skipper Yannis held",
    "lesbos ferry sinks, skipper Yannis",
    "skipper Yannis in court",
]


def shipped_rank(files, *more, command="rank"):
    out = files / "out.jsonl"
    done = run(
        command,
        "--articles",
        files / "story.txt",
        "--posts",
        files / "corpus.jsonl",
        "--out",
        out,
        *more,
    )
    return done, rows_of(out) if done.exit_code == 0 else None


def test_the_best_posts_speak_for_the_article(shipped):
    done, _ = shipped_rank(shipped, "--top", "4")
    assert "the best posts expand the articles" in done.stderr
    story = (shipped / "story.txt").read_text()
    posts = open_posts([str(shipped / "corpus.jsonl")])
    rows = Searcher().rank([story], posts, top=4, second_look="none")
    assert next(row for row in rows if row["post_id"] == "p3")["score"] > 0.02
    # The skipper is in the posts only.
    assert "skipper" in next(row for row in rows if row["post_id"] == "p3")["terms"]


@pytest.mark.parametrize("fusion", ["words", "vectors"])
def test_either_head_alone(shipped, fusion):
    story = (shipped / "story.txt").read_text()
    posts = open_posts([str(shipped / "corpus.jsonl")])
    rows = Searcher().rank([story], posts, top=3, fusion=fusion, about="event")
    assert {row["post_id"] for row in rows[:2]} <= {"p0", "p1", "p2"}
    kept = Searcher().filter([story], posts, min_score=-1, fusion=fusion)
    assert {row["post_id"]: row["score"] for row in rows}.items() <= {
        row["post_id"]: row["score"] for row in kept
    }.items()


def test_every_field_of_a_query_has_its_option():
    from siamese_news.search.query import OPTIONS, Query

    names = [field.name for field in fields(Query)]
    assert [name for name in names if name != "fusion"] == list(OPTIONS)
    assert all(option.help.endswith((".", ")")) for option in OPTIONS.values())
    assert Query.flag("negatives") == "--not"


def test_a_query_is_the_options_that_ask_for_it():
    from siamese_news.search.query import FILTER, Query

    assert FILTER.arguments(FILTER) == []
    query = Query(
        articles=["a b.txt"],
        negatives=["c"],
        one_story=True,
        about="event",
        min_score=0.25,
        text_field="--x",
        dedupe=True,
        out=Path("o.csv"),
    )
    assert query.arguments(FILTER) == [
        "--articles",
        "a b.txt",
        "--not",
        "c",
        "--min-score",
        "0.25",
        "--text-field=--x",
        "--dedupe",
        "--out",
        "o.csv",
    ]
    several = Query(text_field=["a", "--b"], one_story=True, about="event")
    assert several.arguments(FILTER) == ["--text-field=a", "--text-field=--b"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--posts", "--out", "x.csv"], "--posts needs a value, but --out follows"),
        (["--out", "--force"], "--out needs a value, but --force follows"),
        (["--articles", ""], "--articles has an empty value"),
        (["--not", ""], "--not has an empty value"),
        (["--out", "made"], "made: is a folder; expected the name of a file"),
        (
            ["--out", "story.txt/x.csv"],
            "story.txt/x.csv: story.txt is a file, not a folder",
        ),
    ],
)
def test_a_missing_value_and_a_folder_in_place_of_a_file_are_named(
    files, monkeypatch, arguments, said
):
    monkeypatch.chdir(files)
    (files / "made").mkdir()
    done = rank(files, *arguments)
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.replace("│", " ").split())


def test_an_index_cannot_replace_a_file(tmp_path):
    (tmp_path / "posts.csv").write_text("id,text\n1,flood\n")
    (tmp_path / "index").write_text("mine")
    for force in ([], ["--force"]):
        command = [
            "index",
            "--posts",
            str(tmp_path / "posts.csv"),
            "--out",
            str(tmp_path / "index"),
        ]
        done = CliRunner().invoke(app, [*command, *force])
        assert done.exit_code == 2
        assert (
            f"{tmp_path / 'index'}: is a file; expected the name of a folder"
            in done.output
        )
    assert (tmp_path / "index").read_text() == "mine"


def test_the_six_options_that_most_people_need_come_before_the_panels():
    from siamese_news.cli.commands import _command

    options = _command("rank").params
    panels = [option.rich_help_panel for option in options if option.name != "help"]
    first = [option.name for option in options if not option.rich_help_panel]
    assert first == ["articles", "posts", "index", "top", "one_story", "out"]
    assert len(panels) <= 30 and len(set(panels)) == 6
