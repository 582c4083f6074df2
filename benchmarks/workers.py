"""Filtering in one process, and by several workers: python -m benchmarks.workers.

The posts are those of `benchmarks.real_posts`. What counts is the time on the clock. The machine
should have a core for each worker, and no other work; each process computes on one thread.
"""

import argparse
import os
import tempfile
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.measure import machine
from benchmarks.processes import SIAMESE_NEWS, measured
from benchmarks.real_posts import row, texts
from siamese_news.data.articles import read_articles
from siamese_news.utils.markdown import markdown_table
from siamese_news.utils.provenance import provenance


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--posts", type=int, default=3_000_000)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    data = Path(os.environ["SIAMESE_NEWS_DATA"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "posts.jsonl").open("wb") as stream:
            for number, text in enumerate(islice(texts(data), arguments.posts)):
                stream.write(row(number, text))
        article = read_articles([data / "crisislex-boston" / "queries.jsonl.gz"])[0]
        (folder / "story.txt").write_text(article.full_text, encoding="utf-8")
        search: list[Any] = ["filter", "--articles", folder / "story.txt"]
        search += ["--posts", folder / "posts.jsonl", "--threshold", 0.5]
        rows: list[dict[str, str]] = []
        seconds_of_one = 0.0
        bytes_of_one = b""
        for way, options in (
            ("one process", []),
            (f"{arguments.workers} workers", ["--workers", arguments.workers]),
        ):
            out = folder / f"{len(rows)}.jsonl"
            seconds = measured(*SIAMESE_NEWS, *search, *options, "--out", out).seconds
            written = out.read_bytes()
            if not rows:
                seconds_of_one = seconds
                bytes_of_one = written
            rows.append(
                {
                    "real words": f"{way}, {arguments.posts:,} posts",
                    "seconds": f"{seconds:.1f}",
                    "times as fast": f"{seconds_of_one / seconds:.2f}",
                    "same bytes": "yes" if written == bytes_of_one else "no",
                }
            )
        print(f"{machine()}; {provenance()['revision']}\n")
        print(markdown_table(rows))


if __name__ == "__main__":
    main()
