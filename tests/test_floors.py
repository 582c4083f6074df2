"""An import points down, never up or in a circle; see ARCHITECTURE.md."""

import ast
from graphlib import CycleError, TopologicalSorter
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
    {"train", "evaluate", "cli", "desk"},
    {"__main__", "__init__"},
)
STEP = {room: number for number, rooms in enumerate(STEPS) for room in rooms}
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


def _imported(tree: ast.Module):
    """Full name and line of every import, at any depth; from a package, of what is taken of it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (
                (f"{node.module}.{alias.name}", node.lineno) for alias in node.names
            )


def _circle(sources: dict[str, str]) -> list[str]:
    """Modules that import each other in a circle, by module name and source; none if there is none.

    The root package is left out: it imports nothing by itself, and modules take its version.
    """
    graph = {}
    for module, source in sources.items():
        names = [name for name, _ in _imported(ast.parse(source))]
        found = {name if name in sources else name.rpartition(".")[0] for name in names}
        graph[module] = (found & set(sources)) - {module, "siamese_news"}
    graph.pop("siamese_news", None)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


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
        assert top not in FORBIDDEN_OUTSIDE.get(room, set()), (
            f"{where}: {room} imports {top}"
        )
        if top == "siamese_news" and other and not other.startswith("__"):
            allowed = other == room or STEP[other] < STEP[room]
            assert allowed, f"{where}: {room} imports {other}"


def test_every_room_has_its_step():
    assert {_room(path) for path in FILES} <= set(STEP)


def test_no_file_is_in_a_circle_of_imports():
    """In the rooms, the rooms inside rooms and the doors, imports inside functions included."""
    sources = {}
    for path in FILES:
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        sources[name] = path.read_text(encoding="utf-8")
    assert _circle(sources) == []


@pytest.mark.parametrize(
    "back", ["import p.a", "from p import a", "def f():\n    from p.a import x"]
)
def test_a_circle_is_found(back):
    sources = {"p.a": "from p.b import y", "p.b": "import p.c", "p.c": back}
    assert set(_circle(sources)) == {"p.a", "p.b", "p.c"}
    assert _circle({**sources, "p.c": "import os"}) == []
