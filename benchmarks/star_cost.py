"""What the star's second look costs a search of many posts: python -m benchmarks.star_cost.

    python -m benchmarks.star_cost --posts 250000           # an index, seeds of events-dev
    python -m benchmarks.star_cost --posts 60000 --seeds 1 2 16 [--of signal1m]
    python -m benchmarks.star_cost --posts 1000000 --scan   # one seed, files of posts

The posts are those of `benchmarks.real_posts`. Each search is ``siamese-news rank --top 100`` as a
process of its own on one thread, start and imports included, with the star and without it
(``--second-look none``). An index says how many of its posts were scored. Without --seeds, its seeds
are the first English one, eleven English ones, and these with a Spanish, a Portuguese and an
Italian one; with --seeds, the first so many articles of the collection.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from benchmarks.printed_table import print_table
from benchmarks.processes import SIAMESE_NEWS, measured
from benchmarks.real_posts import row, texts
from siamese_news.data.records import Article
from siamese_news.data.sources import open_source

ENGLISH = 11
FOREIGN = ("-es", "-pt", "-it")


def in_languages(articles: Sequence[Article]) -> dict[str, Sequence[Article]]:
    """Seeds of events-dev by language; the ids end in it."""
    english = [one for one in articles if one.id.endswith("-en")][:ENGLISH]
    foreign = [
        next(one for one in articles if one.id.endswith(ending)) for ending in FOREIGN
    ]
    return {
        "one in English": english[:1],
        "one in Spanish": foreign[:1],
        "eleven in English": english,
        "fourteen in four languages": [*english, *foreign],
    }


def write_seeds(path: Path, articles: Sequence[Article]) -> None:
    """Write seeds as JSON lines."""
    lines = (
        json.dumps({"_id": one.id, "title": one.title, "text": one.text})
        for one in articles
    )
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def searched(
    folder: Path, pool: Sequence[object], articles: Sequence[Article], turns: int
) -> dict[str, str]:
    """CPU seconds and posts scored, the least of some turns, without the star and with it."""
    seeds, out = folder / "seeds.jsonl", folder / "out.jsonl"
    write_seeds(seeds, articles)
    ask = ["rank", "--articles", seeds, *pool, "--top", 100, "--out", out, "--force"]
    used: dict[str, list[float]] = {"none": [], "star": []}
    cells = {}
    for _ in range(turns):
        for look, times in used.items():
            times.append(measured(*SIAMESE_NEWS, *ask, "--second-look", look).cpu)
            meta = json.loads(out.with_name("out.jsonl.meta.json").read_bytes())
            cells[look] = f"{min(times):.2f}, {meta['counts']['scored']:,}"
    difference = min(used["star"]) - min(used["none"])
    return {
        "without the star: s, posts scored": cells["none"],
        "with the star": cells["star"],
        "difference, s": f"{difference:.2f}",
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--posts", type=int, default=250_000)
    parser.add_argument(
        "--of", default="events-dev", help="the collection of the seeds"
    )
    parser.add_argument("--seeds", type=int, nargs="+")
    parser.add_argument("--scan", action="store_true", help="files, no index")
    parser.add_argument("--turns", type=int, default=2)
    options = parser.parse_args()
    articles = list(open_source(options.of).articles.values())
    questions = in_languages(articles) if options.of == "events-dev" else {}
    if options.seeds:
        questions = {f"the first {n}": articles[:n] for n in options.seeds}
    elif options.scan:
        questions = {"one in English": questions["one in English"]}
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        posts = folder / "posts.jsonl"
        data = Path(os.environ["SIAMESE_NEWS_DATA"])
        with posts.open("wb") as stream:
            for number, text in enumerate(islice(texts(data), options.posts)):
                stream.write(row(number, text))
        pool: list[object] = ["--posts", posts]
        if not options.scan:
            measured(*SIAMESE_NEWS, "index", *pool, "--out", folder / "posts.index")
            pool = ["--index", folder / "posts.index"]
        for what, seeds in questions.items():
            cells = searched(folder, pool, seeds, options.turns)
            rows.append({"seeds": what, **cells})
            print(rows[-1], flush=True)
    print_table(rows)


if __name__ == "__main__":
    main()
