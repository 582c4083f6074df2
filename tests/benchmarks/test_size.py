"""The size of the code: what counts as a statement, a token, a code line and a pronoun."""

import pytest
from benchmarks import size
from benchmarks.size import Size, by_room, size_of

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
    # The statements of the docstrings count: module, import, function, docstring, two lines.
    assert size.statements == 6
    assert size.code_lines == 7
    # "def", "greet" and "(" are three tokens of one line.
    assert size_of("def greet(\n    name,\n): ...\n").tokens == 8


def test_the_same_code_unfolded_has_the_same_tokens_and_is_less_dense():
    folded = size_of("numbers = [1, 2, 3,]\n")
    unfolded = size_of("numbers = [\n    1,\n    2,\n    3,\n]\n")
    assert folded.tokens == unfolded.tokens
    assert folded.density > unfolded.density


def test_pronouns_count_as_variables_and_as_parameters():
    assert size_of(SOURCE).pronouns == 3  # the parameter, and `again` twice
    # A column of a result may have the name.
    assert size_of("record.found = 1\n").pronouns == 0


def test_rooms_add_up(tmp_path):
    (tmp_path / "room" / "inner").mkdir(parents=True)
    (tmp_path / "room" / "first.py").write_text("x = 1\n")
    (tmp_path / "room" / "inner" / "second.py").write_text("y = 2\nz = 3\n")
    (tmp_path / "door.py").write_text("")
    rooms = by_room(tmp_path)
    assert rooms["room/"] == Size(files=2, statements=3, tokens=9, code_lines=3)
    assert rooms["(files at the root)"] == Size(files=1)


def test_more_pronouns_than_are_left_fail(tmp_path, monkeypatch, capsys):
    (tmp_path / "module.py").write_text("found = 1\n")
    monkeypatch.setattr("sys.argv", ["size", "--sources", str(tmp_path)])
    monkeypatch.setattr(size, "MOST_PRONOUNS", 1)
    size.main()
    monkeypatch.setattr(size, "MOST_PRONOUNS", 0)
    with pytest.raises(SystemExit, match="1"):
        size.main()
    assert "1 pronouns as names, expected at most 0" in capsys.readouterr().err
