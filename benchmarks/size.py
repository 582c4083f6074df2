"""How large the two packages are, by room: python -m benchmarks.size.

Statements and tokens measure how much there is to read; lines measure only how it is laid out, and
neither a docstring nor an import counts. A high number of tokens for each code line means dense
code. The last column counts variables and arguments with a vague name (`VAGUE`), where the content
should be named (CONTRIBUTING.md). The last line counts file names that several rooms use.
"""

import argparse
import ast
import io
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# The most of each that both packages may have; a change lowers the last two, never raises one.
MOST_STATEMENTS = 25_714
MOST_VAGUE = 23
MOST_SHARED = 0

ROOT = Path(__file__).parents[1]
PACKAGES = (ROOT / "src" / "siamese_news", ROOT / "desk" / "src" / "siamese_news_desk")
VAGUE = frozenset(
    """
    some few more most other others rest least left whole every part work here before after both
    shown named wanted made read taken first last place places low high each much many same said
    again found given kept known own one asked done due next used fits what who how why where
    """.split()
)

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
    vague: int = 0

    def __iadd__(self, other: "Size") -> "Size":
        self.files += other.files
        self.statements += other.statements
        self.tokens += other.tokens
        self.code_lines += other.code_lines
        self.vague += other.vague
        return self

    @property
    def density(self) -> float:
        """Tokens for each code line."""
        return self.tokens / max(self.code_lines, 1)


def size_of(source: str) -> Size:
    """The size of a file's text, without its comments, docstrings and imports."""
    tree = ast.parse(source)
    documented = [node for node in ast.walk(tree) if _has_docstring(node)]
    docstrings = {line for node in documented for line in _docstring_lines(node)}
    code_rows = [
        token.start[0]
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in _LAYOUT and token.start[0] not in docstrings
    ]
    return Size(
        files=1,
        statements=sum(_counts(node) for node in ast.walk(tree)) - len(documented),
        tokens=len(code_rows),
        code_lines=len(set(code_rows)),
        vague=sum(_is_vague(node) for node in ast.walk(tree)),
    )


def by_room(sources: Path) -> dict[str, Size]:
    """The size of each folder directly under `sources`; files that lie loose are one room."""
    rooms: defaultdict[str, Size] = defaultdict(Size)
    for path in sorted(sources.rglob("*.py")):
        inside = path.relative_to(sources)
        room = f"{inside.parts[0]}/" if len(inside.parts) > 1 else "(files at the root)"
        rooms[room] += size_of(path.read_text(encoding="utf-8"))
    return dict(rooms)


def _has_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, _DOCUMENTED)
        and ast.get_docstring(node, clean=False) is not None
    )


def _docstring_lines(documented: Any) -> range:
    docstring = documented.body[0]
    return range(docstring.lineno, docstring.end_lineno + 1)


def _counts(node: ast.AST) -> bool:
    """Whether a node is a statement other than an import; `size_of` takes off docstrings."""
    return isinstance(node, ast.stmt) and not isinstance(
        node, ast.Import | ast.ImportFrom
    )


def _is_vague(node: ast.AST) -> bool:
    """Whether a node makes a variable or an argument that has a vague name."""
    if isinstance(node, ast.Name):
        return isinstance(node.ctx, ast.Store) and node.id in VAGUE
    return isinstance(node, ast.arg) and node.arg in VAGUE


def shared_names(packages: Iterable[Path]) -> list[str]:
    """The names that several files of the packages have."""
    names = (path.name for package in packages for path in package.rglob("*.py"))
    counts = Counter(name for name in names if not name.startswith("__"))
    return sorted(name for name, count in counts.items() if count > 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources", type=Path, nargs="+", default=PACKAGES)
    packages = parser.parse_args().sources
    total = Size()
    for package in packages:
        total += _print_table(package)
    shared = shared_names(packages)
    print(
        f"{total.statements:,} statements, {total.vague} vague names, {len(shared)} file names "
        f"that several rooms use: {', '.join(shared)}"
    )
    counts = (
        ("statements", total.statements, MOST_STATEMENTS),
        ("vague names", total.vague, MOST_VAGUE),
        ("shared file names", len(shared), MOST_SHARED),
    )
    for what, count, most in counts:
        if count > most:
            parser.exit(
                1, f"{count:,} {what}, expected at most {most:,} (CONTRIBUTING.md)\n"
            )


def _print_table(sources: Path) -> Size:
    """Print the rooms of a package; the size of all of it."""
    rooms = by_room(sources)
    total = Size()
    for size in rooms.values():
        total += size
    print(
        f"| {sources.name} | files | statements | tokens | tokens a code line | vague names |"
    )
    print("|---|---:|---:|---:|---:|---:|")
    for room, size in sorted(rooms.items(), key=lambda item: -item[1].statements):
        print(_row(room, size))
    print(_row("**all**", total), end="\n\n")
    return total


def _row(room: str, size: Size) -> str:
    return (
        f"| {room} | {size.files} | {size.statements:,} | {size.tokens:,} "
        f"| {size.density:.1f} | {size.vague:,} |"
    )


if __name__ == "__main__":
    main()
