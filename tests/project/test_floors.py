"""An import points down, never up or in a circle; see ARCHITECTURE.md."""

import ast
import functools
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "src" / "siamese_news"
DESK = ROOT / "desk" / "src" / "siamese_news_desk"

# The rooms, from the ground up. A room may import what lies on a lower step, nothing on its own.
STEPS = (
    {"errors"},
    {"utils", "sparsity"},
    {"attention", "text"},
    {"encoders"},
    {"metrics", "baselines", "lexical_head", "rerankers", "data"},
    {"model"},
    {"scoring"},
    {"evaluation"},
    {"training", "search"},
    {"train", "evaluate", "cli"},
    {"__main__", "__init__"},
)
STEPS_OF_THE_DESK = ({"labels"}, {"decide"}, {"page"}, {"cli"}, {"__init__"})
STEP = {
    LIBRARY: {room: number for number, rooms in enumerate(STEPS) for room in rooms},
    DESK: {
        room: number for number, rooms in enumerate(STEPS_OF_THE_DESK) for room in rooms
    },
}
# What the desk builds on: errors, files, terminal, readers, results, the query and its output.
FOR_THE_DESK = (
    "errors",
    "utils",
    "text.spaceless",
    "text.tokens",
    "data",
    "search.clusters",
    "search.output",
    "search.partial_results",
    "search.query",
    "search.records",
    "search.report",
    "cli.outputs",
)
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
    "search": HEAVY,
    "cli": HEAVY,
}
ROOTS = {"siamese_news", "siamese_news_desk"}
FORBIDDEN_IN_THE_DESK = HEAVY | {"torch", "gensim"}


def _house(path: Path) -> Path:
    return DESK if path.is_relative_to(DESK) else LIBRARY


def _room(path: Path) -> str:
    return path.relative_to(_house(path)).parts[0].removesuffix(".py")


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
    """Modules that import each other in a circle, by module name and source; empty without a circle.

    The root packages are left out: they import nothing by themselves, and modules take their version.
    """
    graph = {}
    for module, source in sources.items():
        names = [name for name, _ in _imported(ast.parse(source))]
        found = {name if name in sources else name.rpartition(".")[0] for name in names}
        graph[module] = (found & set(sources)) - {module, *ROOTS}
    for root in ROOTS:
        graph.pop(root, None)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@functools.cache
def _imports(path: Path) -> list[tuple[str, int]]:
    """(module, line) of every import, at any depth; what is taken of a root package is a module."""
    imports = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            module = node.module or ""
            names = (
                [f"{module}.{alias.name}" for alias in node.names]
                if module in ROOTS
                else [module]
            )
        else:
            continue
        imports += [(name, node.lineno) for name in names]
    return imports


FILES = sorted(LIBRARY.rglob("*.py"))
FILES_OF_THE_DESK = sorted(DESK.rglob("*.py"))


def _name(path: Path) -> str:
    return str(path.relative_to(_house(path).parent))


@pytest.mark.parametrize("path", FILES + FILES_OF_THE_DESK, ids=_name)
def test_imports_point_down(path):
    house, room = _house(path), _room(path)
    steps = STEP[house]
    for name, line in _imports(path):
        where = f"{_name(path)}:{line}"
        top, _, inner = name.partition(".")
        other = inner.partition(".")[0]
        assert top != "lightning", f"{where}: it is pytorch_lightning here"
        forbidden = (
            FORBIDDEN_IN_THE_DESK
            if house == DESK
            else FORBIDDEN_OUTSIDE.get(room, set())
        )
        assert top not in forbidden, f"{where}: {room} imports {top}"
        if top == house.name and other and not other.startswith("__"):
            allowed = other == room or steps[other] < steps[room]
            assert allowed, f"{where}: {room} imports {other}"


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_the_library_knows_nothing_of_the_desk(path):
    for name, line in _imports(path):
        assert not name.startswith(DESK.name), f"{_name(path)}:{line}: imports {name}"


@pytest.mark.parametrize("path", FILES_OF_THE_DESK, ids=_name)
def test_the_desk_takes_little_of_the_library(path):
    for name, line in _imports(path):
        top, _, inner = name.partition(".")
        if top == LIBRARY.name and not inner.startswith("__"):
            allowed = any(f"{inner}.".startswith(f"{part}.") for part in FOR_THE_DESK)
            assert allowed, f"{_name(path)}:{line}: imports {name}"


def test_every_part_that_the_desk_may_take_is_taken():
    names = [name for path in FILES_OF_THE_DESK for name, _ in _imports(path)]
    for part in FOR_THE_DESK:
        assert any(f"{name}.".startswith(f"siamese_news.{part}.") for name in names), (
            part
        )


def test_every_room_has_its_step():
    for path in FILES + FILES_OF_THE_DESK:
        assert _room(path) in STEP[_house(path)], path


def test_no_file_is_in_a_circle_of_imports():
    """In the rooms, the rooms inside rooms and the doors, imports inside functions included."""
    sources = {}
    for path in FILES + FILES_OF_THE_DESK:
        parts = path.relative_to(_house(path).parent).with_suffix("").parts
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
