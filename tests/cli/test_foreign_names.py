"""Names of files that are not UTF-8, as archives made on old Windows machines bring them."""

import csv
import json
import os
import sys

import pytest
from tests.commands import siamese_news

from siamese_news.utils.files import json_text, readable_name
from siamese_news.utils.terminal import clean

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="macOS and Windows keep no such names"
)


def name(text):
    """A name in cp1252."""
    return os.fsdecode(text.encode("cp1252"))


@pytest.fixture
def files(tmp_path):
    seed = "Storm over Velden\n\nA storm took the roof of the school in Velden.\n"
    (tmp_path / name("séed.txt")).write_text(seed)
    rows = [
        {"id": f"p{n}", "text": f"{'storm roof' if n % 3 else 'bread'} {n}"}
        for n in range(90)
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / name("pösts.jsonl")).write_text(lines + "no post\n")
    (tmp_path / name("földer")).mkdir()
    for part in ("ä", "ö"):
        table = f"id,text\n1,a storm {part}\n2,a roof {part}\n"
        (tmp_path / name("földer") / name(f"{part}.csv")).write_text(table)
    return tmp_path


SEEDS = ["--articles", name("séed.txt")]
POSTS = ["--posts", name("pösts.jsonl")]
OUT = name("rösults.jsonl")


def test_every_command_that_takes_files_reads_and_writes_them(files):
    commands = [
        ["rank", *SEEDS, *POSTS, "--top", "90", "--out", OUT],
        ["rank", *SEEDS, *POSTS, "--out", name("rösults.csv")],
        ["rank", *SEEDS, *POSTS, "--top", "90", "--out", name("rösults.parquet")],
        ["filter", *SEEDS, *POSTS, "--min-score", "-2", "--out", name("äll.jsonl")],
        [
            "filter",
            *SEEDS,
            *POSTS,
            "--min-score",
            ".1",
            "--out",
            name("w.jsonl"),
            "--workers",
            "2",
        ],
        ["index", *POSTS, "--out", name("índex")],
        ["index", *POSTS, "--out", name("índex"), "--add"],
        ["rank", *SEEDS, "--index", name("índex"), "--out", name("índexed.jsonl")],
        ["explain", *SEEDS, *POSTS, "--post", "p1", "--out", name("whý.jsonl")],
        ["keywords", "--results", name("w.jsonl"), *POSTS, "--out", name("wörds.csv")],
        ["threads", "--results", OUT, *POSTS, "--out", name("thréads.jsonl")],
        ["report", "--results", OUT, "--out", name("repört.html")],
        ["doctor", name("pösts.jsonl"), name("földer")],
        ["sample", "--results", OUT, "--precision", ".5", "--out", name("sheét.csv")],
    ]
    for arguments in commands:
        if arguments[0] == "sample":
            pytest.importorskip("siamese_news_desk")
        done = siamese_news(*arguments, folder=files)
        assert done.returncode == 0, (arguments, done.stderr)
    with (files / name("sheét.csv")).open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    with (files / name("sheét.csv")).open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(
            {**r, "label": "yes" if "storm" in r["text"] else "no"} for r in rows
        )
    done = siamese_news(
        "certify", "--labels", name("sheét.csv"), "--results", OUT, folder=files
    )
    assert done.returncode in (0, 1) and "Traceback" not in done.stderr
    labels = ["--labels", name("sheét.csv"), "--out", name("nëw.parquet")]
    done = siamese_news(
        "feedback", "--results", name("rösults.parquet"), *labels, folder=files
    )
    assert done.returncode == 0, done.stderr
    assert (files / OUT).read_bytes() and (files / name("índexed.jsonl")).exists()


def test_messages_and_ids_have_names_that_can_be_read(files):
    done = siamese_news("rank", *SEEDS, "--posts", name("nöne.jsonl"), folder=files)
    assert done.returncode == 2 and "n%F6ne.jsonl: no such file" in done.stderr
    out = files / "found.jsonl"
    done = siamese_news(
        "rank", *SEEDS, "--posts", name("földer"), "--out", out, folder=files
    )
    assert done.returncode == 0, done.stderr
    ids = {json.loads(line)["post"] for line in out.read_text().splitlines()}
    assert ids == {"1", "2", "%F6.csv/1", "%F6.csv/2"}
    done = siamese_news(
        *(
            "rank",
            *SEEDS,
            "--posts",
            name("földer"),
            "--id-field",
            "line",
            "--out",
            out,
            "--force",
        ),
        folder=files,
    )
    ids = {json.loads(line)["post"] for line in out.read_text().splitlines()}
    assert ids == {
        f"f%F6lder/{part}.csv:{n}" for part in ("%E4", "%F6") for n in (2, 3)
    }


def test_json_has_the_very_name():
    assert json.loads(json_text({"file": name("é.csv")})) == {"file": name("é.csv")}
    assert json_text({"file": "é.csv"}) == '{"file": "é.csv"}'
    assert readable_name(name("é.csv")) == clean(name("é.csv")) == "%E9.csv"
    assert readable_name("é.csv") == "é.csv"
