"""Articles of a story that is not meant, and files that need a word of help, through a search."""

import json
import sys
from pathlib import Path

import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent))
from served import Served
from tests.storm import ARTICLE, corpus

OTHER = "Quayle Sands elects a mayor\n\nEdda Thorn was elected mayor of Quayle Sands on Sunday."


def scores(project):
    (number,) = (json.loads((project / "project.json").read_text())["search"],)
    table = pq.read_table(project / f"searches/{number}/results.parquet")
    return dict(zip(table["post"].to_pylist(), table["score"].to_pylist(), strict=True))


def test_a_story_that_is_not_meant_is_subtracted_and_columns_can_be_named(tmp_path):
    corpus(tmp_path / "posts.jsonl", relevant=40, other=60)
    rows = [json.loads(row) for row in (tmp_path / "posts.jsonl").open()]
    named = [{"nummer": row["id"], "inhalt": row["text"] + " é"} for row in rows]
    content = "\n".join(json.dumps(row, ensure_ascii=False) for row in named).encode(
        "cp1252"
    )
    served = Served(tmp_path / "storm")
    try:

        def put(path, data):
            return served.ask(f"/api/inputs/{path}", method="PUT", data=data)

        assert put("articles/storm.txt", ARTICLE.encode())[0] == 200
        assert put("posts/export.jsonl", content)[0] == 200
        options = {
            "keep_by": "score",
            "threshold": -1,
            "text_field": "inhalt",
            "id_field": "nummer",
            "encoding": "cp1252",
        }
        assert served.ask("/api/search", options | {"about": "nothing"})[0] == 400
        served.search(**options)
        before = scores(served.project)
        status, content = put("not/mayor.txt", OTHER.encode())
        assert status == 200 and b"mayor.txt" in content
        assert put("not/run.py", b"x")[0] == 400 and put("else/a.txt", b"x")[0] == 400
        served.search(**options, map=False)
        after = scores(served.project)
        command = served.ask("/")[1].decode()
    finally:
        served.end()
    assert "--not inputs/not" in command and "--text-field=inhalt" in command
    assert "--about auto" not in command  # `filter` looks for the event
    assert before.keys() == after.keys() == {row["id"] for row in rows}
    texts = {row["id"]: row["text"] for row in rows}
    lost = {post: before[post] - after[post] for post in before}
    mayors = [lost[post] for post in lost if "Mayor Edda Thorn" in texts[post]]
    others = [lost[post] for post in lost if "Waves broke" in texts[post]]
    assert min(mayors) > max(others)
