"""The page under load: a million scored posts, and labels from four tabs at once.

python -m benchmarks.desk --posts 1000000 --labels 200 --seconds 10
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote
from urllib.request import Request, urlopen

WORDS = (
    "storm wall water street lifeboat mayor night rescue flood harbour wind sand promenade arcade "
    "north south train school coffee market road bridge player album recipe garden winter summer"
).split()


def make(folder: Path, count: int) -> None:
    """A project whose search is done: posts of 12 words, four languages, thirty days.

    One post in five is a run of 40 characters out of the 2,000 of a Japanese newspaper's kind.
    """
    from siamese_news.data.columns import RANKED
    from siamese_news.search.result_files import write_rows

    chance = random.Random(1)
    search = folder / "searches" / "1"
    (folder / ".private").mkdir(parents=True)
    search.mkdir(parents=True)

    def rows():
        for rank in range(1, count + 1):
            words = chance.choices(WORDS, k=10) + [
                f"w{chance.randrange(200_000)}" for _ in "ab"
            ]
            text = " ".join(words)
            lang = chance.choice(["en", "en", "es", "de"])
            if rank % 5 == 0:
                # Squared: as in a language, few characters are frequent and many are rare.
                run = [
                    chr(0x4E00 + int(2000 * chance.random() ** 2)) for _ in range(40)
                ]
                text = "".join(run)
                lang = "ja"
            yield {
                "article": f"seed{rank % 3}",
                "rank": rank,
                "score": round(0.6 - 0.59 * rank / count, 6),
                "post": str(10**18 + rank),
                "text": text,
                "lang": lang,
                "created_at": f"2026-03-{1 + chance.randrange(30):02}T10:{rank % 60:02}:00Z",
                "terms": words[:2],
            }

    with (search / "results.parquet").open("wb") as stream:
        write_rows(stream, rows(), "parquet", columns=RANKED)
    project = {
        "format": "siamese_news project 1",
        "search": 1,
        "options": {"threshold": 0.01},
    }
    (folder / "project.json").write_text(json.dumps(project))
    (search / "search.json").write_text(json.dumps({"arguments": [], "command": ""}))


class Page:
    """A server in a process of its own, and a way to ask it."""

    def __init__(self, folder: Path) -> None:
        command = [
            sys.executable,
            "-m",
            "siamese_news",
            "desk",
            "--no-browser",
            "--project",
            folder,
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.base, self.port, self.token = re.match(
            r"(http://127.0.0.1:(\d+))/\?token=(\S+)", line
        ).groups()

    @property
    def headers(self) -> dict[str, str]:
        """What the page's own requests bring along."""
        return {"Cookie": f"siamese-news-{self.port}={self.token}", "Origin": self.base}

    def cpu(self) -> float:
        """Seconds of CPU that the server took."""
        fields = (
            Path(f"/proc/{self.process.pid}/stat")
            .read_text()
            .rpartition(")")[2]
            .split()
        )
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def ask(self, path: str, row=None) -> bytes:
        """The content of an answer."""
        data = None if row is None else json.dumps(row).encode()
        request = Request(self.base + path, data=data, headers=self.headers)
        with urlopen(request, timeout=300) as answer:
            return answer.read()

    def memory(self) -> int:
        """The most memory the server ever took, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) // 1024


def timed(page: Page, path: str, times: int = 5) -> tuple[float, float]:
    """Milliseconds of the first answer and the median of the following ones."""
    found = []
    for _ in range(times + 1):
        start = time.perf_counter()
        page.ask(path)
        found.append(1000 * (time.perf_counter() - start))
    return found[0], sorted(found[1:] or found)[times // 2]


def label(
    page: Page, rate: int, seconds: int, count: int, tabs: int = 4
) -> tuple[int, float]:
    """So many labels a second from four tabs; how many were confirmed, and how long it took."""
    confirmed = [0] * tabs
    begun = time.perf_counter()

    def tab(own: int) -> None:
        # A browser keeps its connection.
        connection = HTTPConnection("127.0.0.1", int(page.port), timeout=300)
        for number in range(rate * seconds // tabs):
            due = begun + number * tabs / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            post = str(10**18 + 1 + (number * tabs + own) % count)
            row = {"post": post, "label": "yes", "annotator": f"tab{own}", "seen": 0}
            connection.request("POST", "/api/labels", json.dumps(row), page.headers)
            answer = connection.getresponse()
            answer.read()
            confirmed[own] += answer.status == 200
        connection.close()

    threads = [threading.Thread(target=tab, args=(own,)) for own in range(tabs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(confirmed), time.perf_counter() - begun


def main() -> None:
    """Print the figures as a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--posts", type=int, default=1_000_000)
    parser.add_argument("--labels", type=int, default=200, help="a second")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument(
        "--folder", type=Path, help="keep the project there, or use the one there"
    )
    options = parser.parse_args()
    folder = (options.folder or Path(tempfile.mkdtemp())) / "million"
    if not folder.exists():
        make(folder, options.posts)
    page = Page(folder)
    rows = []
    try:
        start = time.perf_counter()
        page.ask("/posts")
        rows.append(
            ("database made and first page", f"{time.perf_counter() - start:.1f} s")
        )
    finally:
        page.process.kill()
        page.process.wait()
    page = Page(folder)
    try:
        start = time.perf_counter()
        page.ask("/posts")
        page.ask("/api/posts")
        rows.append(
            (
                "first page and first posts of a server started anew",
                f"{1000 * (time.perf_counter() - start):.0f} ms",
            )
        )
        for name, query in (
            ("scrolling: 50 posts from rank 500,000 on", "after=500000"),
            ("language", "lang=de"),
            ("a week", "start=2026-03-08&end=2026-03-14"),
            (
                "article, language, a week, above a threshold",
                "seed=seed1&lang=en&start=2026-03-08&end=2026-03-14&least=0.2",
            ),
            ("a word that a third of the posts have", "words=storm"),
            ("a rare word", "words=w12345"),
            ("two words and a language", "words=storm+wall&lang=es"),
            (
                "a word, without another and without a language",
                "words=rescue+-night&lang=!de",
            ),
            ("two characters of Japanese", f"words={quote(chr(0x4E00) + chr(0x4E01))}"),
            (
                "three characters of Japanese",
                f"words={quote(chr(0x4E00) * 2 + chr(0x4E02))}",
            ),
        ):
            begun = page.cpu()
            first, _ = timed(page, f"/api/posts?{query}", 0)
            new = page.cpu() - begun
            _, again = timed(page, f"/api/posts?{query}")
            rows.append(
                (
                    name,
                    f"{first:.0f} ms ({1000 * new:.0f} ms of the server's CPU), "
                    f"again {again:.0f} ms",
                )
            )
        before = page.cpu()
        count, seconds = label(page, options.labels, options.seconds, options.posts)
        written = (folder / "labels.jsonl").read_bytes().count(b"\n")
        rows.append(
            (
                f"labels from four tabs, {options.labels} a second asked for",
                f"{count / seconds:.0f} a second; {count:,} confirmed, {written:,} on the disk; "
                f"{1000 * (page.cpu() - before) / count:.2f} ms of the server's CPU each",
            )
        )
        rows.append(("most memory of the server", f"{page.memory()} MB"))
    finally:
        page.process.kill()
        page.process.wait()
    print(
        f"{options.posts:,} posts, {os.cpu_count()} cores\n\n| what | figure |\n|---|---|"
    )
    for name, figure in rows:
        print(f"| {name} | {figure} |")


if __name__ == "__main__":
    main()
