"""The helpers beside these tests."""

import json
import random
import sys
from pathlib import Path

import pytest

import siamese_news.data

sys.path.insert(0, str(Path(__file__).parent))

STORIES = f"{siamese_news.data.__path__[0]}/stories"


@pytest.fixture
def pool(tmp_path):
    """30,000 posts, which are the bundled ones with other names, and two seeds."""
    dice = random.Random(0)
    with open(f"{STORIES}/corpus.jsonl", encoding="utf-8") as stream:
        texts = [json.loads(line)["text"] for line in stream]
    with (tmp_path / "posts.jsonl").open("w", encoding="utf-8") as stream:
        for number in range(30_000):
            text = f"{dice.choice(texts)} {dice.choice(texts)[:20]}"
            stream.write(json.dumps({"id": f"p{number}", "text": text}) + "\n")
    (tmp_path / "seed.txt").write_text(
        "A river floods a town\n\nCellars are full of water.\n"
    )
    return tmp_path
