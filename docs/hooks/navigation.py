"""An entry of the navigation that ends in a slash becomes all pages of that folder.

It comes after the hooks that make these pages.
"""

from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Put the pages in, the index first."""
    pages = sorted(
        (file.src_uri for file in files.documentation_pages()),
        key=lambda uri: (not uri.endswith("index.md"), uri),
    )
    config.nav = _filled(config.nav, pages)
    return files


def _filled(entry: Any, pages: list[str]) -> Any:
    if isinstance(entry, list):
        return [_filled(part, pages) for part in entry]
    if isinstance(entry, dict):
        return {title: _filled(part, pages) for title, part in entry.items()}
    if entry.endswith("/"):
        return [uri for uri in pages if uri.startswith(entry)]
    return entry
