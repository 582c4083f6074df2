"""The size of the code: what counts as a statement, a token, a code line and a vague name."""

import pytest
from benchmarks import size
from benchmarks.size import Size, by_room, shared_names, size_of

SOURCE = '''"""A docstring.

Of three lines.
"""

import sys  # a comment


def greet(
    name: str,
    found: int = 1,
) -> None:
    """Say hello."""
    again = f"hello {name}"
    print(again, file=sys.stderr)
'''


def test_docstrings_comments_and_layout_are_no_code():
    size = size_of(SOURCE)
    # Neither docstrings nor imports count: the function and its two lines do.
    assert size.statements == 3
    assert size.code_lines == 7
    # "def", "greet" and "(" are three tokens of one line.
    assert size_of("def greet(\n    name,\n): ...\n").tokens == 8


def test_the_same_code_unfolded_has_the_same_tokens_and_is_less_dense():
    folded = size_of("numbers = [1, 2, 3,]\n")
    unfolded = size_of("numbers = [\n    1,\n    2,\n    3,\n]\n")
    assert folded.tokens == unfolded.tokens
    assert folded.density > unfolded.density


def test_vague_names_count_where_a_variable_or_a_parameter_gets_them():
    assert size_of(SOURCE).vague == 2  # the parameter, and `again` where it is assigned
    # A column of a result may have the name.
    assert size_of("record.found = 1\n").vague == 0


def test_a_file_name_that_two_rooms_use_is_shared(tmp_path):
    for name in (
        "a/rows.py",
        "b/rows.py",
        "b/pool.py",
        "a/__init__.py",
        "b/__init__.py",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert shared_names([tmp_path]) == ["rows.py"]
    assert shared_names([tmp_path / "a", tmp_path / "b"]) == ["rows.py"]


def test_rooms_add_up(tmp_path):
    (tmp_path / "room" / "inner").mkdir(parents=True)
    (tmp_path / "room" / "first.py").write_text("x = 1\n")
    (tmp_path / "room" / "inner" / "second.py").write_text("y = 2\nz = 3\n")
    (tmp_path / "door.py").write_text("")
    rooms = by_room(tmp_path)
    assert rooms["room/"] == Size(files=2, statements=3, tokens=9, code_lines=3)
    assert rooms["(files at the root)"] == Size(files=1)


@pytest.mark.parametrize(
    ("limit", "name"),
    [("MOST_VAGUE", "vague names"), ("MOST_STATEMENTS", "statements")],
)
def test_more_than_the_limit_fails(tmp_path, monkeypatch, capsys, limit, name):
    (tmp_path / "module.py").write_text("found = 1\n")
    monkeypatch.setattr("sys.argv", ["size", "--sources", str(tmp_path)])
    monkeypatch.setattr(size, limit, 1)
    size.main()
    monkeypatch.setattr(size, limit, 0)
    with pytest.raises(SystemExit, match="1"):
        size.main()
    assert f"1 {name}, expected at most 0" in capsys.readouterr().err
