"""Write the files of docs/tutorial.md: python docs/tutorial_files.py [FOLDER].

The bundled, invented stories as people have them: a twarc file, a Jetstream file, a CSV, and three
articles as saved web pages.
"""

import csv
import gzip
import html
import json
import sys
from pathlib import Path

import zstandard

from siamese_news.data.beir import bundled

PAGES = {"harlow-bridge": "s01", "port-ellory": "s02", "dunmarrow": "s04"}
PAGE = """<!DOCTYPE html>
<html lang="en"><head><title>{title}</title></head><body>
<nav><a href="/">Home</a> <a href="/weather">Weather</a></nav>
<article><h1>{title}</h1>{text}</article>
<footer>Subscribe to our newsletter</footer></body></html>
"""


def main(folder: Path) -> None:
    """Write them all."""
    (folder / "pages").mkdir(parents=True, exist_ok=True)
    (folder / "dumps").mkdir(exist_ok=True)
    stories = bundled()
    for name, id in PAGES.items():
        article = stories.articles[id]
        text = "".join(
            f"<p>{html.escape(part)}</p>" for part in article.text.split("\n\n")
        )
        page = PAGE.format(title=html.escape(article.title), text=text)
        (folder / "pages" / f"{name}.html").write_text(page, encoding="utf-8")
    rows = [
        (
            10**18 + number,
            f"2025-02-{number % 28 + 1:02}T{number % 24:02}:00:00.000Z",
            post.text,
        )
        for number, post in enumerate(stories.posts.values())
    ]
    tweets, skeets, comments = rows[0::3], rows[1::3], rows[2::3]
    with gzip.open(folder / "dumps" / "tweets.jsonl.gz", "wt", encoding="utf-8") as out:
        for start in range(0, len(tweets), 100):
            data = [
                {
                    "id": str(id),
                    "text": text,
                    "author_id": str(id % 97),
                    "created_at": when,
                    "lang": "en",
                }
                for id, when, text in tweets[start : start + 100]
            ]
            out.write(
                json.dumps({"data": data, "meta": {"result_count": len(data)}}) + "\n"
            )
    events = "".join(json.dumps(_event(*row)) + "\n" for row in skeets)
    packed = zstandard.compress(events.encode())
    (folder / "dumps" / "bluesky.jsonl.zst").write_bytes(packed)
    with (folder / "dumps" / "comments.csv").open(
        "w", encoding="utf-8", newline=""
    ) as out:
        writer = csv.writer(out)
        writer.writerow(["comment_id", "date", "comment"])
        writer.writerows((f"c{id % 10_000}", when, text) for id, when, text in comments)


def _event(id: int, when: str, text: str) -> dict[str, object]:
    record = {
        "$type": "app.bsky.feed.post",
        "text": text,
        "createdAt": when,
        "langs": ["en"],
    }
    commit = {
        "operation": "create",
        "collection": "app.bsky.feed.post",
        "rkey": f"3k{id % 10_000}",
        "record": record,
    }
    return {
        "did": f"did:plc:{id % 89}",
        "time_us": id,
        "kind": "commit",
        "commit": commit,
    }


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "flood"))
