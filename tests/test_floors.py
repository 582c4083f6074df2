"""An import points down, never up; see ARCHITECTURE.md."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "siamese_news"

# The rooms, from the ground up. A room may import what lies on a lower step, nothing beside it.
STEPS = (
    {"errors"},
    {"utils", "sparsity"},
    {"attention", "text"},
    {"encoders"},
    {"metrics", "baselines", "lexical_head", "rerankers", "data"},
    {"model"},
    {"scoring"},
    {"evaluation", "labels"},
    {"training", "search", "decide"},
    {"train", "evaluate", "cli", "desk", "__main__", "__init__"},
)
STEP = {room: number for number, rooms in enumerate(STEPS) for room in rooms}
DOORS = STEPS[-1]
HEAVY = {"pytorch_lightning", "hydra", "omegaconf", "pytorch_metric_learning"}
SCIENCE = {"gensim", "sklearn", "scipy"}
FORBIDDEN_OUTSIDE = {
    "sparsity": HEAVY | SCIENCE,
    "attention": HEAVY | SCIENCE,
    "encoders": HEAVY | SCIENCE,
    "rerankers": HEAVY | SCIENCE,
    "text": HEAVY | {"torch", "sklearn"},
    "utils": HEAVY | {"torch"},
    "metrics": HEAVY,
    "baselines": HEAVY | {"torch"},
    "lexical_head": HEAVY,
    "data": HEAVY,
    "model": HEAVY,
    "scoring": HEAVY,
    "evaluation": HEAVY,
    "labels": HEAVY | {"torch"},
    "search": HEAVY,
    "decide": HEAVY | {"torch"},
    "cli": HEAVY,
    "desk": HEAVY,
}


def _room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


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
            yield top, rest[0] if top == "siamese_news" and rest else None, node.lineno


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_down(path):
    room = _room(path)
    for top, other, line in _imports(path):
        where = f"{path.relative_to(SOURCE)}:{line}"
        assert top != "lightning", f"{where}: it is pytorch_lightning here"
        assert top not in FORBIDDEN_OUTSIDE.get(room, set()), f"{where}: {room} imports {top}"
        if top == "siamese_news" and room not in DOORS and other and not other.startswith("__"):
            allowed = other == room or STEP[other] < STEP[room]
            assert allowed, f"{where}: {room} imports {other}"


def test_every_room_has_its_step():
    assert {_room(path) for path in FILES} <= set(STEP)
