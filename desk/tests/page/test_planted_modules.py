"""The page runs no file that somebody else put into a project."""

import pytest
from served import Served, found_before
from tests.planted import Planted
from tests.storm import ARTICLE, corpus


@pytest.mark.slow
def test_the_page_runs_no_module_of_a_project_or_of_the_current_folder(
    tmp_path,
):
    planted = Planted(tmp_path / "ran")
    dumps = planted.plant(tmp_path / "dumps")
    project = tmp_path / "project"
    found_before(project, relevant=60, other=60)
    for folder in (project, project / "searches" / "1"):
        planted.plant(folder)
    truth = corpus(tmp_path / "posts.jsonl", relevant=60, other=60)
    served = Served(project, folder=dumps)
    try:
        for path, data in (
            ("articles/a.txt", ARTICLE.encode()),
            ("posts/p.jsonl", (tmp_path / "posts.jsonl").read_bytes()),
        ):
            assert served.ask(f"/api/inputs/{path}", method="PUT", data=data)[0] == 200
        served.search(threshold=0, map=False)
        for post in list(truth)[:10] + list(truth)[-10:]:
            label = "yes" if truth[post] else "no"
            served.json(
                "/api/labels", {"post": post, "label": label, "annotator": "me"}
            )
        assert served.json("/api/learn", {})["sentence"]
        assert planted.ran() == ""
    finally:
        served.end()
