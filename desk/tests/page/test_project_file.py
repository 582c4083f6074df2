"""The file of somebody else's project: a value of another type anywhere is named, or harmless."""

import json

import pytest
from served import found_before

from siamese_news.errors import InputError
from siamese_news_desk.page.open_project import Desk
from siamese_news_desk.page.project import Project

WRONG = (
    None,
    True,
    -1,
    2.5,
    "a",
    "../x",
    [],
    {},
    [1],
    {"a": 1},
    10**30,
    float("nan"),
    "a\\x00",
)
WHOLE = {
    "format": "siamese_news project 1",
    "search": 1,
    "options": {"threshold": 0.02, "dedupe": False, "about": "event"},
    "criteria": "about the flood",
    "threshold": 0.3,
    "machine": {"name": "gpt", "file": "verdicts.csv"},
}
PLACES = [(name,) for name in WHOLE]
PLACES += [(name, key) for name in ("options", "machine") for key in WHOLE[name]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "storm"
    found_before(path, 10, 10)
    return path


@pytest.mark.parametrize("place", PLACES, ids=".".join)
def test_no_value_ends_in_a_traceback(folder, place):
    file = folder / "project.json"
    for wrong in WRONG:
        content = json.loads(json.dumps(WHOLE))
        parent = content
        for name in place[:-1]:
            parent = parent[name]
        parent[place[-1]] = wrong
        file.write_text(json.dumps(content))
        try:
            project = Project(folder)
        except InputError as error:
            assert str(error).startswith(f"{file}: "), error
            continue
        assert isinstance(project.threshold, float) and isinstance(
            project.criteria, str
        )
        assert project.search.parent == folder / "searches"
        source = Desk(project).machine.source
        assert source is None or source[0].parent == folder / "verdicts"


def test_a_whole_one_opens(folder):
    (folder / "project.json").write_text(json.dumps(WHOLE))
    project = Project(folder)
    assert (project.threshold, project.criteria) == (0.3, "about the flood")


@pytest.mark.parametrize(
    "text", ["[]", "7", "{", "[" * 100_000, '{"format": []}', "\x00"]
)
def test_a_file_of_another_shape_is_named(folder, text):
    file = folder / "project.json"
    file.write_text(text)
    with pytest.raises(InputError, match="project.json: "):
        Project(folder)
