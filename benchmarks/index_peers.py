"""The index next to engines that keep posts on disk: python -m benchmarks.index_peers.

    python -m benchmarks.index_peers [--posts 250000] [--only tantivy]

Needs ``pip install bm25s tantivy``. The posts of the times are those of `benchmarks.real_posts`, the
seeds the first of Signal1M, whose own posts and judgments give the mean average precision (MAP) of
the best 1,000. Every step is a process of its own on one thread, start and imports included; the
times are CPU seconds. An engine is asked for any of a seed's different words but stop words, with
BM25 as it ships, and knows nothing else of a seed. Our index is asked without and with the star.
"""

import argparse
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.processes import measured

TOP = 1000
ADDED = 10_000
SEEDS = 14

Texts = Iterator[tuple[str, str]]
"""Ids and texts of posts."""


def words_of_seed(text: str) -> list[str]:
    """The different words of a seed but stop words, in their order."""
    from siamese_news.text.content_words import ENGLISH_STOP_WORDS

    words = dict.fromkeys(re.findall(r"[a-z0-9]+", text.lower()))
    return [word for word in words if word not in ENGLISH_STOP_WORDS]


class Tantivy:
    """A search library in Rust."""

    def _open(self, folder: Path) -> Any:
        import tantivy

        builder = tantivy.SchemaBuilder()
        builder.add_text_field("text", stored=False, tokenizer_name="en_stem")
        builder.add_text_field("id", stored=True, tokenizer_name="raw")
        return tantivy.Index(builder.build(), path=str(folder))

    def build(self, folder: Path, posts: Texts) -> None:
        """Make an index, or add to it."""
        import tantivy

        folder.mkdir(exist_ok=True)
        writer = self._open(folder).writer(heap_size=500_000_000, num_threads=1)
        for id, text in posts:
            writer.add_document(tantivy.Document(text=text, id=id))
        writer.commit()
        writer.wait_merging_threads()

    add = build

    def search(self, folder: Path, seeds: Iterable[list[str]]) -> Iterator[list[str]]:
        """The ids of the best posts of each seed, given by its words, best first."""
        index = self._open(folder)
        searcher = index.searcher()
        for seed in seeds:
            query = index.parse_query(" ".join(seed), ["text"])
            hits = searcher.search(query, TOP, count=False).hits
            yield [searcher.doc(address)["id"][0] for _, address in hits]


class Fts5:
    """The full-text search of SQLite, with Porter's stemmer."""

    def _open(self, folder: Path) -> sqlite3.Connection:
        folder.mkdir(exist_ok=True)
        return sqlite3.connect(folder / "posts.db")

    def build(self, folder: Path, posts: Texts) -> None:
        """Make an index."""
        with self._open(folder) as database:
            columns = "id unindexed, text, tokenize='porter unicode61'"
            database.execute(f"create virtual table posts using fts5({columns})")
        self.add(folder, posts)

    def add(self, folder: Path, posts: Texts) -> None:
        """Add to an index."""
        with self._open(folder) as database:
            database.executemany("insert into posts values (?, ?)", posts)

    def search(self, folder: Path, seeds: Iterable[list[str]]) -> Iterator[list[str]]:
        """The ids of the best posts of each seed, given by its words, best first."""
        database = self._open(folder)
        ask = f"select id from posts where posts match ? order by rank limit {TOP}"
        for seed in seeds:
            query = " OR ".join(f'"{word}"' for word in seed)
            yield [id for (id,) in database.execute(ask, [query])]


class Bm25s:
    """BM25 as sparse matrices, read from the disk as memory maps; nothing can be added."""

    def build(self, folder: Path, posts: Texts) -> None:
        """Make an index."""
        import bm25s

        folder.mkdir(exist_ok=True)
        ids, contents = zip(*posts, strict=True)
        index = bm25s.BM25()
        options = {"stopwords": "en", "show_progress": False}
        index.index(bm25s.tokenize(list(contents), **options), show_progress=False)
        index.save(str(folder))
        (folder / "ids.json").write_text(json.dumps(ids), encoding="utf-8")

    add = None

    def search(self, folder: Path, seeds: Iterable[list[str]]) -> Iterator[list[str]]:
        """The ids of the best posts of each seed, given by its words, best first."""
        import bm25s

        ids = json.loads((folder / "ids.json").read_text(encoding="utf-8"))
        index = bm25s.BM25.load(str(folder), mmap=True)
        for seed in seeds:
            tokens = bm25s.tokenize(
                [" ".join(seed)], stopwords="en", show_progress=False
            )
            rows, _ = index.retrieve(
                tokens, k=min(TOP, len(ids)), show_progress=False, n_threads=1
            )
            yield [ids[row] for row in rows[0].tolist()]


ENGINES: dict[str, Any] = {"tantivy": Tantivy, "SQLite FTS5": Fts5, "bm25s": Bm25s}


def step(name: str, engine: str, folder: Path, source: Path, out: Path) -> None:
    """One step of an engine, in the process that is measured."""
    action = getattr(ENGINES[engine](), name)
    if name == "search":
        lines = source.read_text(encoding="utf-8").splitlines()
        seeds = (json.loads(line)["words"] for line in lines)
        out.write_text(json.dumps(list(action(folder, seeds))), encoding="utf-8")
        return
    with source.open("rb") as lines:
        posts = map(json.loads, lines)
        action(folder, ((post["id"], post["text"]) for post in posts))


def of_engine(engine: str) -> Callable[..., list[Any]]:
    """The command of a step of an engine."""

    def command(name: str, folder: Path, source: Path, out: Path) -> list[Any]:
        paths = ["--folder", folder, "--source", source, "--out", out]
        return [
            "-m",
            "benchmarks.index_peers",
            "--step",
            name,
            "--engine",
            engine,
            *paths,
        ]

    return command


def ours(look: str) -> Callable[..., list[Any]]:
    """The command of a step with our index."""

    def command(name: str, folder: Path, source: Path, out: Path) -> list[Any]:
        if name != "search":
            change = ["--add"] if name == "add" else []
            return [
                *("-m", "siamese_news", "index", "--posts", source),
                *("--out", folder, *change),
            ]
        return [
            *("-m", "siamese_news", "rank", "--articles", source, "--index", folder),
            *("--top", TOP, "--second-look", look, "--format", "trec", "--out", out),
            "--force",
        ]

    return command


def lists_of(out: Path, ids: Sequence[str]) -> dict[str, list[str]]:
    """The best posts of each seed, as a step or `rank` wrote them."""
    content = out.read_text(encoding="utf-8")
    if content.startswith("[["):
        return dict(zip(ids, json.loads(content), strict=True))
    lists: dict[str, list[str]] = {id: [] for id in ids}
    for line in content.splitlines():
        id, _, post, *_ = line.split()
        lists[id].append(post)
    return lists


def write_seeds(path: Path, articles: Iterable[Any]) -> None:
    """Write seeds as JSON lines."""
    lines = (
        json.dumps(
            {
                "_id": article.id,
                "title": article.title,
                "text": article.text,
                "words": words_of_seed(article.full_text),
            }
        )
        for article in articles
    )
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def figures(
    command: Callable[..., list[Any]], folder: Path, can_add: bool
) -> dict[str, Any]:
    """Times, bytes and MAP of one engine; `folder` has the files that `main` wrote."""
    from siamese_news.data.sources import open_source
    from siamese_news.metrics import evaluate_run

    index, judged, out = folder / "index", folder / "judged", folder / "out"
    cells: dict[str, Any] = {}
    cells["build, s"] = measured(
        *command("build", index, folder / "posts.jsonl", out)
    ).cpu
    size = sum(file.stat().st_size for file in index.rglob("*") if file.is_file())
    cells["MB"] = size / 1e6
    cells["one seed, s"] = measured(
        *command("search", index, folder / "seed.jsonl", out)
    ).cpu
    cells[f"{SEEDS} seeds, s"] = measured(
        *command("search", index, folder / "seeds.jsonl", out)
    ).cpu
    if can_add:
        cells[f"add {ADDED:,}, s"] = measured(
            *command("add", index, folder / "more.jsonl", out)
        ).cpu
    measured(*command("build", judged, folder / "signal1m.jsonl", out))
    measured(*command("search", judged, folder / "articles.jsonl", out))
    collection = open_source("signal1m")
    run = {
        id: {post: -float(rank) for rank, post in enumerate(posts)}
        for id, posts in lists_of(out, list(collection.articles)).items()
    }
    precisions = evaluate_run(run, collection.split("test"))["AP"].values()
    cells["MAP"] = sum(precisions) / len(precisions)
    return cells


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--posts", type=int, default=250_000)
    parser.add_argument("--only", help="a part of the names of those to measure")
    for name in ("--step", "--engine"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    for name in ("--folder", "--source", "--out"):
        parser.add_argument(name, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        step(options.step, options.engine, options.folder, options.source, options.out)
        return
    # Not for a step: the process that is measured imports what its engine needs.
    from benchmarks.measure import machine
    from benchmarks.real_posts import row, texts
    from siamese_news.data.sources import open_source
    from siamese_news.utils.markdown import markdown_table
    from siamese_news.utils.provenance import provenance

    collection = open_source("signal1m")
    articles = list(collection.articles.values())
    stream = enumerate(texts(Path(os.environ["SIAMESE_NEWS_DATA"])))
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, count in (("posts", options.posts), ("more", ADDED)):
            lines = (row(number, text) for number, text in islice(stream, count))
            (folder / f"{file}.jsonl").write_bytes(b"".join(lines))
        judged = (
            json.dumps({"id": post.id, "text": post.text}) + "\n"
            for post in collection.posts.values()
        )
        (folder / "signal1m.jsonl").write_text("".join(judged), encoding="utf-8")
        write_seeds(folder / "seed.jsonl", articles[:1])
        write_seeds(folder / "seeds.jsonl", articles[:SEEDS])
        write_seeds(folder / "articles.jsonl", articles)
        commands = {
            "ours, words and vectors": ours("none"),
            "ours, with the star": ours("star"),
            **{engine: of_engine(engine) for engine in ENGINES},
        }
        for label, command in commands.items():
            if options.only and options.only not in label:
                continue
            can_add = label not in ENGINES or ENGINES[label].add is not None
            for file in ("index", "judged"):
                subprocess.run(["rm", "-rf", folder / file], check=True)
            cells = figures(command, folder, can_add)
            rows.append({"": label, **cells})
            print(rows[-1], file=sys.stderr, flush=True)
    print(
        f"{machine()}; revision {provenance()['revision']}; {options.posts:,} posts\n"
    )
    print(markdown_table(rows))


if __name__ == "__main__":
    main()
