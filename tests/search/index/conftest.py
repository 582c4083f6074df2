"""An invented pool, and an index of it."""

import json
import random

import pytest
from typer.testing import CliRunner

from siamese_news.cli import app

POSTS = 500
SEEDS = {
    "flood.txt": "River floods the old town\n\nThe river rose at night and took the stone bridge. "
    "Rescue boats carried families from flooded streets in Harlowton, the mayor said.",
    "fire.txt": "Warehouse fire near the harbour\n\nFirefighters fought a warehouse blaze near the "
    "harbour all night. Smoke closed the railway, and two workers were treated in hospital.",
    "vote.txt": "Council votes on the budget\n\nThe council passed a budget that raises taxes for "
    "schools. The opposition walked out before the vote, and the mayor called it childish.",
}
WORDS = (
    "river flood town bridge night rescue boats families streets harlowton mayor warehouse fire "
    "harbour smoke railway workers hospital council votes budget taxes schools opposition walked "
    "childish music football phone summer coffee today people game love happy weather train market "
    "film song dinner garden winter doctor teacher history science travel money computer question "
    "unbekannteswort kjhgfd #flood #fire2020 123 don't 🔥 the of and a"
).split()


def posts(count: int, seed: int = 0) -> list[dict]:
    """Posts of all lengths; some without words, some copies, some without a date."""
    dice = random.Random(seed)
    found = []
    for number in range(count):
        text = " ".join(dice.choices(WORDS, k=dice.randint(0, 14)))
        if number % 9 == 0 and found:
            text = dice.choice(found)["text"]
        row = {"id": f"p{seed}-{number}", "text": text, "author": f"user{number % 7}"}
        if number % 5:
            row["created_at"] = f"2020-01-{number % 28 + 1:02}T03:04:05Z"
        if number % 3:
            row["lang"] = "en"
        found.append(row)
    return found


def write(path, rows) -> None:
    """As JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def run(*arguments, exit=0):
    """A command, which has to end with this exit code."""
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == exit, done.output + str(done.exception)
    return done


def rows_of(path) -> list[dict]:
    """The rows of a result."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def small_pieces():
    """Blocks, chunks and segments so small that a small pool has several of each."""
    from siamese_news.search import scan
    from siamese_news.search.index import chunks, writing

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "_ROWS", 60)
        patch.setattr(chunks, "_TOGETHER", 16)
        patch.setattr(scan, "BLOCK", 64)
        patch.setattr(writing, "_POSTS", 200)
        yield


@pytest.fixture(scope="module")
def pool(tmp_path_factory, small_pieces):
    """A folder with the seeds, ``posts.jsonl`` of 500 posts and ``posts.index`` of them."""
    folder = tmp_path_factory.mktemp("pool")
    for name, text in SEEDS.items():
        (folder / name).write_text(text, encoding="utf-8")
    write(folder / "posts.jsonl", posts(POSTS))
    run("index", "--posts", folder / "posts.jsonl", "--out", folder / "posts.index")
    return folder
