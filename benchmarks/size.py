"""How large the two packages are, by room: python -m benchmarks.size.

Statements and tokens measure how much there is to read; lines measure only how it is laid out. A
high number of tokens for each code line means dense code. The last column counts pronouns that
stand in for names (`PRONOUNS`), where the content should be named (CONTRIBUTING.md).
"""

import argparse
import ast
import io
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# So many pronouns as names are left; none may be added, so a change lowers this number.
MOST_PRONOUNS = 10

ROOT = Path(__file__).parents[1]
PACKAGES = (ROOT / "src" / "siamese_news", ROOT / "desk" / "src" / "siamese_news_desk")
PRONOUNS = frozenset({"again", "found", "given", "kept", "known", "one", "own", "said"})

_LAYOUT = frozenset(
    {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(slots=True)
class Size:
    """What one file, or several together, contain."""

    files: int = 0
    statements: int = 0
    tokens: int = 0
    code_lines: int = 0
    pronouns: int = 0

    def __iadd__(self, other: "Size") -> "Size":
        self.files += other.files
        self.statements += other.statements
        self.tokens += other.tokens
        self.code_lines += other.code_lines
        self.pronouns += other.pronouns
        return self

    @property
    def density(self) -> float:
        """Tokens for each code line."""
        return self.tokens / max(self.code_lines, 1)


def size_of(source: str) -> Size:
    """The size of a file's text, without its comments and docstrings."""
    tree = ast.parse(source)
    docstrings = set(_docstring_lines(tree))
    code_rows = [
        token.start[0]
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in _LAYOUT and token.start[0] not in docstrings
    ]
    return Size(
        files=1,
        statements=sum(isinstance(node, ast.stmt) for node in ast.walk(tree)),
        tokens=len(code_rows),
        code_lines=len(set(code_rows)),
        pronouns=sum(_is_pronoun(node) for node in ast.walk(tree)),
    )


def by_room(sources: Path) -> dict[str, Size]:
    """The size of each folder directly under `sources`; files that lie loose are one room."""
    rooms: defaultdict[str, Size] = defaultdict(Size)
    for path in sorted(sources.rglob("*.py")):
        inside = path.relative_to(sources)
        room = f"{inside.parts[0]}/" if len(inside.parts) > 1 else "(files at the root)"
        rooms[room] += size_of(path.read_text(encoding="utf-8"))
    return dict(rooms)


def _docstring_lines(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if (
            isinstance(node, _DOCUMENTED)
            and ast.get_docstring(node, clean=False) is not None
        ):
            docstring = node.body[0]
            assert docstring.end_lineno is not None
            yield from range(docstring.lineno, docstring.end_lineno + 1)


def _is_pronoun(node: ast.AST) -> bool:
    name = (
        node.id
        if isinstance(node, ast.Name)
        else node.arg
        if isinstance(node, ast.arg)
        else ""
    )
    return name in PRONOUNS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources", type=Path, nargs="+", default=PACKAGES)
    pronouns = sum(_print_table(sources) for sources in parser.parse_args().sources)
    if pronouns > MOST_PRONOUNS:
        parser.exit(
            1,
            f"{pronouns} pronouns as names, expected at most {MOST_PRONOUNS}: name the content "
            "(CONTRIBUTING.md)\n",
        )


def _print_table(sources: Path) -> int:
    """Print the rooms of a package; the number of its pronouns."""
    rooms = by_room(sources)
    total = Size()
    for size in rooms.values():
        total += size
    print(
        f"| {sources.name} | files | statements | tokens | tokens a code line | pronouns as names |"
    )
    print("|---|---:|---:|---:|---:|---:|")
    for room, size in sorted(rooms.items(), key=lambda item: -item[1].statements):
        print(_row(room, size))
    print(_row("**all**", total), end="\n\n")
    return total.pronouns


def _row(room: str, size: Size) -> str:
    return (
        f"| {room} | {size.files} | {size.statements:,} | {size.tokens:,} "
        f"| {size.density:.1f} | {size.pronouns:,} |"
    )


if __name__ == "__main__":
    main()
