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
# What the desk builds on: errors, files, terminal, readers, results, the query and its output; and
# the star that ships, whose vectors orders are learned from.
FOR_THE_DESK = (
    "errors",
    "utils",
    "text.spaceless",
    "text.tokens",
    "data",
    "model.loading",
    "search.clusters",
    "search.result_files",
    "search.partial_results",
    "search.query",
    "search.list_relevance",  # the words for what relevance is to
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


def _refused(path: Path, name: str) -> str:
    """Why a file must not import what has this name; empty if it may."""
    house, room = _house(path), _room(path)
    top, _, inner = name.partition(".")
    other = inner.partition(".")[0]
    if top == "lightning":
        return "it is pytorch_lightning here"
    if top in (
        FORBIDDEN_IN_THE_DESK if house == DESK else FORBIDDEN_OUTSIDE.get(room, ())
    ):
        return f"{room} imports {top}"
    if top == house.name and other and not other.startswith("__"):
        lower = other == room or STEP[house][other] < STEP[house][room]
        return "" if lower else f"{room} imports {other}"
    return ""


def test_imports_point_down():
    refused = [
        f"{_name(path)}:{line}: {reason}"
        for path in FILES + FILES_OF_THE_DESK
        for name, line in _imports(path)
        if (reason := _refused(path, name))
    ]
    assert refused == []


def test_an_import_that_points_up_is_refused():
    assert _refused(LIBRARY / "text" / "tokens.py", "siamese_news.search.query")
    assert _refused(LIBRARY / "data" / "lines.py", "siamese_news.metrics.runs")
    assert _refused(LIBRARY / "utils" / "files.py", "torch.nn")
    assert not _refused(LIBRARY / "search" / "rank.py", "siamese_news.scoring.scorer")


def test_the_library_knows_nothing_of_the_desk():
    imports = [
        f"{_name(path)}:{line}: imports {name}"
        for path in FILES
        for name, line in _imports(path)
        if name.startswith(DESK.name)
    ]
    assert imports == []


def test_the_desk_takes_little_of_the_library():
    taken = [
        (f"{_name(path)}:{line}: imports {name}", name.partition(".")[2])
        for path in FILES_OF_THE_DESK
        for name, line in _imports(path)
        if name.partition(".")[0] == LIBRARY.name
    ]
    refused = [
        where
        for where, inner in taken
        if not inner.startswith("__")
        and not any(f"{inner}.".startswith(f"{part}.") for part in FOR_THE_DESK)
    ]
    assert taken and refused == []


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
