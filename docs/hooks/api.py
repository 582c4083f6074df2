"""The reference of the public names, from their docstrings; the build fails where one has none.

Public is what stands in the ``__all__`` of a package and, in the rooms that have none (`ROOMS`),
each function and class that does not begin with an underscore.
"""

import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocstrings import Inventory

log = get_plugin_logger("api")
ROOT = Path(__file__).parents[2]
PACKAGE = "siamese_news"
FOLDERS = {PACKAGE: ROOT / "src", "siamese_news_desk": ROOT / "desk" / "src"}
# What programs may build on, though its modules are imported one by one.
ROOMS = {
    PACKAGE: (
        "errors",
        "model.loading",
        "search",
        "evaluation",
        "training.datamodule",
        "training.module",
        "training.objective",
        "training.rerank_data",
        "training.rerank_module",
    ),
    "siamese_news_desk": ("decide",),
}
# Blocks of code, headings and links are left as they are.
_NOT_PROSE = re.compile(
    r"(^ *```.*?^ *```|^#.*?$|\[[^\]]*\](?:\([^)]*\))?)", flags=re.S | re.M
)
_NAME = re.compile(r"(?<!`)`(\w+)`(?!`)")
_VERSION = "__version__"  # needs no sentence


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each package, and one that lists them."""
    for uri, text in pages(*packages()).items():
        files.append(File.generated(config, uri, content=text))
    return files


def on_page_markdown(
    markdown: str, page: Page, config: MkDocsConfig, files: Files
) -> str:
    """A public name that stands as code in a sentence leads to where it is described."""
    if page.file.src_uri.startswith("api/"):
        return markdown
    homes = _homes()

    def linked(found: re.Match[str]) -> str:
        home = homes.get(found[1])
        return f"[{found[0]}][{home}]" if home else found[0]

    pieces = _NOT_PROSE.split(markdown)
    pieces[::2] = [_NAME.sub(linked, piece) for piece in pieces[::2]]
    return "".join(pieces)


@functools.cache
def _homes() -> dict[str, str]:
    """The public names that are no common words, and the paths they are described under."""
    homes: dict[str, str] = {}
    for package in packages():
        for module in _documented(package):
            if module is not package and module.exports is not None:
                homes |= {str(name): f"{module.path}.{name}" for name in module.exports}
    package, desk = packages()
    homes |= {
        name: package[name].final_target.path
        for name in ("InputError", "Searcher", "open_model")
    }
    homes["certify_scores"] = desk["certify_scores"].final_target.path
    return {
        name: path
        for name, path in homes.items()
        if "_" in name or name != name.lower()
    }


def on_post_build(config: MkDocsConfig) -> None:
    """Every public name must be on a page; in a strict build a warning ends it."""
    with open(Path(config.site_dir) / "objects.inv", "rb") as stream:
        shown = set(Inventory.parse_sphinx(stream))
    for package in packages():
        for complaint in complaints(package, shown):
            log.warning(complaint)


@functools.cache
def packages() -> list[Any]:
    """The library and the desk."""
    return [load(name, folder) for name, folder in FOLDERS.items()]


def load(package: str, folder: Path) -> Any:
    """The package as its sources say; nothing of it is imported."""
    return griffe.load(package, search_paths=[str(folder)], resolve_aliases=True)


def pages(*packages: Any) -> dict[str, str]:
    """The place of each page on the site, and its Markdown."""
    made, rows = {}, []
    for package in packages:
        for module in sorted(_documented(package), key=lambda module: module.path):
            if module is not package:
                name = module.path.removeprefix(f"{PACKAGE}.").replace(".", "-")
                rows.append(f"| [`{module.path}`]({name}.md) | {_summary(module)} |")
                made[f"api/{name}.md"] = _page(module)
    return {"api/index.md": _index(packages, rows), **made}


def complaints(package: Any, shown: set[str]) -> Iterator[str]:
    """What is public and has no docstring, or stands on no page.

    Args:
        package: as `load` gives it.
        shown: the paths of all names that stand on a page.
    """
    for module in _documented(package):
        for path, member in _public(module):
            if path.endswith(f".{_VERSION}"):
                continue
            if not member.has_docstring:
                yield f"{path} is public and has no docstring: say what it is"
            elif not {path, member.path} & shown:
                yield f"{path} is public and stands on no page of the API reference"


def _documented(package: Any) -> list[Any]:
    """The modules that have pages: those with ``__all__``, and the rooms."""
    rooms = [package[room] for room in ROOMS.get(package.path, ())]
    return [
        module for module in _modules(package) if module.exports is not None
    ] + rooms


def _modules(module: Any) -> Iterator[Any]:
    yield module
    for inner in module.modules.values():
        if not inner.is_alias:
            yield from _modules(inner)


def _public(module: Any) -> Iterator[tuple[str, Any]]:
    """The paths of the public names of a page, and where each is defined."""
    if module.exports is not None:
        for name in map(str, module.exports):
            member = module[name]
            yield (
                f"{module.path}.{name}",
                member.final_target if member.is_alias else member,
            )
        return
    for inner in _parts(module):
        for member in _own(inner):
            yield member.path, member


def _parts(room: Any) -> list[Any]:
    """The modules of a room that have something public, in the order of their names."""
    if not room.is_init_module:
        return [room]
    inside = [
        part
        for part in room.modules.values()
        if not part.is_alias and not part.is_init_module
    ]
    public = [
        part for part in inside if not part.name.startswith("_") and list(_own(part))
    ]
    return sorted(public, key=lambda part: part.name)


def _own(module: Any) -> Iterator[Any]:
    """The public functions and classes that a module defines."""
    for name, member in module.members.items():
        if not name.startswith("_") and not member.is_alias:
            if member.is_class or member.is_function:
                yield member


def _page(module: Any) -> str:
    if module.exports is not None or not module.is_init_module:
        return f"# `{module.path}`\n\n::: {module.path}\n    options: {{show_root_heading: false}}\n"
    parts = [f"# `{module.path}`", module.docstring.value]
    return (
        "\n\n".join([*parts, *(f"::: {part.path}" for part in _parts(module))]) + "\n"
    )


def _index(packages: Iterable[Any], rows: list[str]) -> str:
    lines = ["# All packages"]
    for package in packages:
        lines += [
            "",
            f"`from {package.path} import` gives the names that most programs need:",
            "",
        ]
        for name in map(str, package.exports):
            if name != _VERSION:
                target = package[name].final_target
                lines.append(f"- [`{name}`][{target.path}]: {_summary(target)}")
    lines += ["", "Everything, by package:", "", "| import | what it is |", "|---|---|"]
    return "\n".join([*lines, *rows, ""])


def _summary(member: Any) -> str:
    return member.docstring.value.partition("\n")[0] if member.docstring else ""
