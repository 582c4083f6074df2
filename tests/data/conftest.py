"""A small collection on disk, made up on the spot."""

import json
from pathlib import Path

import pytest


def write_collection(
    folder: Path, *, events: int = 4, per_event: int = 3, posts: int = 3
) -> Path:
    """`events` x `per_event` articles with `posts` posts each, and four unlinked posts."""
    (folder / "qrels").mkdir(parents=True)
    articles, corpus = [], []
    rows: dict[str, list[str]] = {"train": [], "dev": [], "test": []}
    for event in range(events):
        split = (
            "train"
            if event < events - 2
            else ("dev" if event == events - 2 else "test")
        )
        for number in range(per_event):
            article = f"a{event}-{number}"
            meta = {"event": f"event-{event}"}
            words = " ".join(f"w{event}x{number}x{i}" for i in range(5 + 7 * number))
            articles.append(
                {"_id": article, "title": "T", "text": words, "metadata": meta}
            )
            for n in range(posts):
                post = f"p{event}-{number}-{n}"
                corpus.append(
                    {"_id": post, "text": f"{words[:20]} {n}", "metadata": meta}
                )
                rows[split].append(f"{article}\t{post}\t1")
    corpus += [{"_id": f"noise-{n}", "text": f"nothing {n}"} for n in range(4)]
    for name, records in (("queries", articles), ("corpus", corpus)):
        (folder / f"{name}.jsonl").write_text(
            "".join(json.dumps(r) + "\n" for r in records)
        )
    for split, lines in rows.items():
        text = "query-id\tcorpus-id\tscore\n" + "".join(f"{line}\n" for line in lines)
        (folder / "qrels" / f"{split}.tsv").write_text(text)
    return folder


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write_collection(tmp_path / "small")
