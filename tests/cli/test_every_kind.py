"""The tutorial's question, from a folder in which every file is of another kind."""

import gzip
import html
import json
from datetime import UTC, datetime, timedelta

import pytest
import zstandard
from typer.testing import CliRunner

from siamese_news.cli import app
from siamese_news.data.beir import bundled

SEEDS = ("s01", "s02", "s04")  # those of the tutorial
START = datetime(2025, 2, 1, tzinfo=UTC)


def when(number):
    return START + timedelta(minutes=number)


def stamp(number):
    return when(number).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def twarc(path, posts):
    rows = [
        {"id": str(10**18 + n), "text": t, "author_id": "1", "created_at": stamp(n)}
        for n, t in posts
    ]
    with gzip.open(path, "wt") as stream:
        stream.write(
            json.dumps({"data": rows, "meta": {"result_count": len(rows)}}) + "\n"
        )


def archive(path, posts):
    rows = [
        {
            "tweet": {
                "id_str": str(2 * 10**18 + n),
                "full_text": html.escape(t, quote=False),
                "created_at": when(n).strftime("%a %b %d %H:%M:%S +0000 %Y"),
                "entities": {"urls": []},
            }
        }
        for n, t in posts
    ]
    path.write_text("window.YTD.tweets.part0 = " + json.dumps(rows, indent=2))


def jetstream(path, posts):
    rows = []
    for n, t in posts:
        record = {"$type": "app.bsky.feed.post", "text": t, "createdAt": stamp(n)}
        commit = {
            "operation": "create",
            "collection": "app.bsky.feed.post",
            "rkey": f"3k{n}",
        }
        rows.append(
            {
                "did": "did:plc:a",
                "time_us": 1,
                "kind": "commit",
                "commit": {**commit, "record": record},
            }
        )
    path.write_bytes(
        zstandard.compress("".join(json.dumps(r) + "\n" for r in rows).encode())
    )


def search_posts(path, posts):
    rows = [
        {
            "uri": f"at://did:plc:b/app.bsky.feed.post/4k{n}",
            "cid": "bafy",
            "author": {"did": "did:plc:b", "handle": "ann.example"},
            "record": {"$type": "app.bsky.feed.post", "createdAt": stamp(n), "text": t},
            "indexedAt": stamp(n),
            "likeCount": 0,
        }
        for n, t in posts
    ]
    path.write_text(json.dumps({"posts": rows, "cursor": "25", "hitsTotal": len(rows)}))


def telegram(path, posts):
    rows = [
        {
            "id": 0,
            "type": "service",
            "date": "2025-02-01T00:00:00",
            "text": "",
            "action": "create_channel",
            "actor": "n",
        }
    ]
    for n, t in posts:
        start, _, rest = t.partition("#")  # a hashtag is an entity of its own
        tag, blank, end = rest.partition(" ")
        parts = (
            [start, {"type": "hashtag", "text": "#" + tag}, blank + end] if rest else t
        )
        rows.append(
            {
                "id": n + 1,
                "type": "message",
                "date": stamp(n)[:19],
                "from": "n",
                "date_unixtime": str(int(when(n).timestamp())),
                "text": parts,
                "text_entities": [],
            }
        )
    chat = {"name": "n", "type": "public_channel", "id": 9, "messages": rows}
    path.write_text(json.dumps(chat, indent=1, ensure_ascii=False))


def mastodon(path, posts):
    rows = [
        {
            "id": str(n),
            "created_at": stamp(n),
            "content": f"<p>{html.escape(t)}</p>",
            "uri": f"https://s.example/{n}",
            "url": f"https://s.example/@a/{n}",
            "reblog": None,
            "spoiler_text": "",
            "account": {"id": "1", "acct": "ann"},
            "language": "en",
        }
        for n, t in posts
    ]
    path.write_text(json.dumps(rows))


def reddit(path, posts):
    rows = [
        {
            "kind": "t1",
            "data": {
                "id": f"e{n}",
                "body": html.escape(t, quote=False),
                "author": "a",
                "subreddit": "town",
                "created_utc": when(n).timestamp(),
                "permalink": f"/r/town/comments/x/_/e{n}/",
            },
        }
        for n, t in posts
    ]
    path.write_text(
        json.dumps({"kind": "Listing", "data": {"after": None, "children": rows}})
    )


def excel(path, posts):
    openpyxl = pytest.importorskip(
        "openpyxl", reason="the extra [office] is not installed"
    )
    book = openpyxl.Workbook()
    book.active.append(["Comment ID", "Comment", "Date"])
    for n, t in posts:
        book.active.append([f"x{n}", t, when(n).replace(tzinfo=None)])
    book.save(path)


def parquet(path, posts):
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        "tweet_id": [3 * 10**18 + n for n, _ in posts],
        "tweet": [t for _, t in posts],
    }
    pq.write_table(
        pa.table({**columns, "created_at": [when(n) for n, _ in posts]}), path
    )


def table(path, posts, *, delimiter=";", encoding="cp1252"):
    lines = [delimiter.join(("id", "message", "date"))]
    for n, t in posts:
        quoted = '"' + t.replace('"', '""') + '"'
        lines.append(delimiter.join((f"{path.suffix[1]}{n}", quoted, stamp(n))))
    path.write_text(
        "\r\n".join(lines) + "\r\n",
        encoding=encoding,
        errors="xmlcharrefreplace",
        newline="",
    )


def utf16(path, posts):
    table(path, posts, delimiter="\t", encoding="utf-16")


KINDS = {
    "tweets.jsonl.gz": (twarc, "Twitter API v2"),
    "tweets.js": (archive, "Twitter archive"),
    "bluesky.jsonl.zst": (jetstream, "Bluesky Jetstream"),
    "searchPosts.json": (search_posts, "Bluesky feed or search"),
    "result.json": (telegram, "Telegram Desktop"),
    "statuses.json": (mastodon, "Mastodon"),
    "listing.json": (reddit, "Reddit listing"),
    "comments.xlsx": (excel, "Excel"),
    "tweets.parquet": (parquet, "Parquet"),
    "export.csv": (table, "CSV"),
    "export.tsv": (utf16, "TSV"),
}


def plain(text):
    return " ".join(text.split())


@pytest.fixture(scope="module")
def flood(tmp_path_factory):
    """The folder with posts and articles of all kinds, and one file with the same posts."""
    folder = tmp_path_factory.mktemp("flood")
    (folder / "dumps").mkdir()
    (folder / "articles").mkdir()
    stories = bundled()
    # What every one of these forms can say; one of them has no character outside of cp1252.
    whole = (
        p.text.encode("cp1252", "ignore").decode("cp1252")
        for p in stories.posts.values()
    )
    texts = dict.fromkeys(map(plain, whole))
    posts = list(enumerate(texts))
    for number, (name, (write, _)) in enumerate(KINDS.items()):
        write(folder / "dumps" / name, posts[number :: len(KINDS)])
    with (folder / "one.jsonl").open("w") as stream:
        stream.writelines(
            json.dumps({"id": n, "text": t, "created_at": stamp(n)}) + "\n"
            for n, t in posts
        )
    first, second, third = (stories.articles[id] for id in SEEDS)
    page = f"<html><head><title>{first.title}</title></head><body><article><h1>{first.title}</h1>"
    page += "".join(f"<p>{html.escape(p)}</p>" for p in first.text.split("\n\n"))
    (folder / "articles" / "saved.html").write_text(page + "</article></body></html>")
    (folder / "articles" / "copied.txt").write_text(
        f"{second.title}\n\n{second.text}\n"
    )
    row = {"_id": "from-json", "title": third.title, "text": third.text}
    (folder / "articles" / "rows.jsonl").write_text(json.dumps(row) + "\n")
    return folder


def run(*arguments):
    done = CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done


def found(path):
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return {plain(row["text"]): row for row in rows}


def test_doctor_knows_every_file(flood):
    for named in ([flood / "dumps"], sorted((flood / "dumps").iterdir())):
        said = run("doctor", *named).stdout
        for name, (_, kind) in KINDS.items():
            assert f"{name}: {kind}" in said, said
    assert "bad" not in said.replace("no bad", "")


def test_what_is_passed_over_in_a_folder_is_said(flood, tmp_path):
    tweets = (flood / "dumps" / "tweets.js").read_text()
    (tmp_path / "tweets-part1.js").write_text(tweets)
    (tmp_path / "account.js").write_text("window.YTD.account.part0 = []")
    (tmp_path / "posts.odt").write_text("x")
    (tmp_path / ".DS_Store").write_text("x")
    seed = flood / "articles" / "copied.txt"
    done = run(
        "rank", "--articles", seed, "--posts", tmp_path, "--out", tmp_path / "out.csv"
    )
    assert "tweets-part1.js: Twitter archive" in done.stderr
    for name in ("account.js", "posts.odt"):
        assert f"{name}: skipped because of its extension" in done.stderr
    assert "DS_Store" not in done.stderr


def test_the_ranking_is_that_of_the_same_posts_in_one_plain_file(flood):
    pytest.importorskip("trafilatura", reason="the extra [web] is not installed")
    lists = []
    for posts in ("dumps", "one.jsonl"):
        out = flood / f"{posts}.out.jsonl"
        run(
            "rank",
            "--articles",
            flood / "articles",
            "--posts",
            flood / posts,
            "--one-story",
            "--top",
            "200",
            "--out",
            out,
        )
        lists.append(found(out))
    many, one = lists
    assert many.keys() == one.keys()
    assert len(many) == 200
    for text, row in many.items():
        assert row["score"] == pytest.approx(one[text]["score"], abs=2e-6)
        assert row["created_at"][:16] == one[text]["created_at"][:16], text
    assert any("Harlow" in text for text in list(many)[:5])
    counts = [
        json.loads((flood / f"{p}.out.jsonl.meta.json").read_text())["counts"]
        for p in ("dumps", "one.jsonl")
    ]
    assert counts[0]["read"] == counts[1]["read"]
    assert counts[0]["rejected"] == 0


def test_the_rest_of_the_tutorial(flood):
    pytest.importorskip("trafilatura", reason="the extra [web] is not installed")
    seeds = ("--articles", flood / "articles", "--posts", flood / "dumps")
    results = flood / "found.jsonl"
    run(
        "filter",
        *seeds,
        "--min-score",
        "0.1",
        "--after",
        "2025-02-01",
        "--out",
        results,
    )
    best = next(iter(found(results).values()))
    said = run("explain", *seeds, "--post", best["post"]).stdout
    assert "without" in said
    words = run(
        "keywords", "--results", results, "--posts", flood / "dumps", "--limit", "5"
    )
    assert "flood" in words.stdout.lower()
    run("report", "--results", results, "--out", flood / "report.html")
    text = (flood / "report.html").read_text(encoding="utf-8")
    assert "https://bsky.app/profile/" in text
    assert "https://www.reddit.com/r/town/comments/" in text
