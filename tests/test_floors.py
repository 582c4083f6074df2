"""An import points down, never up; see ARCHITECTURE.md."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "siamese_news"

# room -> the rooms of the project it may import
GROUND = {"errors", "files", "sparsity", "attention", "encoders", "terminal", "text"}
PARTS = {"metrics", "lexical", "rankers", "data", "tables", "provenance", "published"}
MODEL = {"factors", "folder", "model", "models", "ranker", "foreign", "results", "scoring", "terms"}
MAY = {
    "errors": set(),
    "files": {"errors"},
    "tables": set(),
    "terminal": set(),
    "provenance": set(),
    "published": set(),
    "sparsity": {"errors"},
    "attention": {"errors", "sparsity"},
    "encoders": {"errors", "sparsity", "attention"},
    "text": {"errors", "files"},
    "metrics": {"errors", "files"},
    "lexical": {"errors", "files"},
    "rankers": {"errors", "sparsity", "attention", "encoders"},
    "data": {"errors", "files", "text"},
    "folder": {"errors", "files", "text"},
    "terms": GROUND | {"lexical"},
    "model": GROUND | PARTS | {"folder", "terms"},
    "factors": GROUND | PARTS | {"model"},
    "foreign": {"errors"},
    "models": {"errors", "foreign", "model"},
    "scoring": GROUND | PARTS | {"factors", "foreign", "model", "terms"},
    "ranker": GROUND | {"folder", "rankers"},
    "results": GROUND | PARTS | {"folder", "model", "scoring"},
    "training": GROUND | PARTS | MODEL,
    "search": GROUND | PARTS | MODEL,
    "sweep": {"errors", "files", "tables", "training"},
}
DOORS = {"train", "evaluate", "cli", "__main__", "__init__"}
HEAVY = {"pytorch_lightning", "hydra", "omegaconf", "pytorch_metric_learning"}
OUTSIDE_FORBIDDEN = {
    "sparsity": HEAVY | {"gensim", "sklearn", "scipy"},
    "attention": HEAVY | {"gensim", "sklearn", "scipy"},
    "encoders": HEAVY | {"gensim", "sklearn", "scipy"},
    "rankers": HEAVY | {"gensim", "sklearn", "scipy"},
    "text": HEAVY | {"torch", "sklearn"},
    "metrics": HEAVY,
    "lexical": HEAVY | {"torch"},
    "data": HEAVY,
    "factors": HEAVY,
    "folder": HEAVY,
    "model": HEAVY,
    "models": HEAVY,
    "ranker": HEAVY,
    "results": HEAVY,
    "scoring": HEAVY,
    "foreign": HEAVY | {"torch"},
    "terms": HEAVY,
    "search": HEAVY,
    "cli": HEAVY,
}


# files of one room that stand beside each other at the top
SAME_ROOM = {
    "solver": "sparsity",
    "sparsity_triton": "sparsity",
    "shifts": "attention",
    "columns": "attention",
}


def _room(path: Path) -> str:
    room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    return SAME_ROOM.get(room, room)


def _imports(path: Path):
    """(top package, room of ours or None, line) of every import, at any depth."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            module = node.module or ""
            names = (
                [f"{module}.{alias.name}" for alias in node.names]
                if module == "siamese_news"
                else [module]
            )
        else:
            continue
        for name in names:
            top, *rest = name.split(".")
            room = rest[0] if top == "siamese_news" and rest else None
            yield top, SAME_ROOM.get(room, room), node.lineno


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_down(path):
    room = _room(path)
    for top, other, line in _imports(path):
        where = f"{path.relative_to(SOURCE)}:{line}"
        assert top != "lightning", f"{where}: it is pytorch_lightning here"
        assert top not in OUTSIDE_FORBIDDEN.get(room, set()), f"{where}: {room} imports {top}"
        if top == "siamese_news" and room not in DOORS and other and not other.startswith("__"):
            assert other == room or other in MAY[room], f"{where}: {room} imports {other}"


def test_every_room_has_its_rule():
    rooms = {_room(path) for path in FILES}
    assert rooms <= set(MAY) | DOORS
