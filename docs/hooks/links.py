"""Pages from outside docs/ (the results, the architecture), and links as they work on GitHub, too.

A link is written as it leads somewhere in the repository. Here it becomes one to the page that the
file is on the site, or that another hook makes of a folder; where it is none, to the file at its
public address. The strict build stops at one that leads nowhere.
"""

import os
import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

log = get_plugin_logger("links")
ROOT = Path(__file__).parents[2]
REPOSITORY = "https://github.com/siamese-news/siamese_news/blob/main/"
OUTSIDE = (
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "benchmarks/*.md",
    "benchmarks/results/*.md",
)
_LINK = re.compile(r"(\]\()(?!\w+:|#)([^)#\s]+)(#[^)\s]*)?(\))")
_CODE = re.compile(r"(^```.*?^```|`[^`\n]+`)", flags=re.S | re.M)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that lie outside docs/."""
    for pattern in OUTSIDE:
        for path in sorted(ROOT.glob(pattern)):
            uri = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def on_page_markdown(
    markdown: str, page: Page, config: MkDocsConfig, files: Files
) -> str:
    """Every relative link of a page, as it works on the site; code is left alone."""
    source = page.file.abs_src_path
    if source is not None:
        folder = posixpath.dirname(Path(source).relative_to(ROOT).as_posix())
    elif page.file.src_uri.startswith("notebooks/"):
        folder = "notebooks"
    else:  # made by another hook, for the site
        return markdown
    pieces = _CODE.split(markdown)
    pieces[::2] = [
        _LINK.sub(
            lambda found: _on_site(found, folder, page.file.src_uri, files), piece
        )
        for piece in pieces[::2]
    ]
    return "".join(pieces)


def _made_of(path: str) -> tuple[str, str]:
    """The page that a hook makes of a path in the repository, and the place on it."""
    if path.startswith("notebooks"):
        return f"{path.removesuffix('/')}/index.md", ""
    if path == "src/siamese_news/cli":
        return "commands.md", ""
    if path == "papers":
        return "reproduction/index.md", ""
    for folder, pages in (("conf", "configuration"), ("src/siamese_news", "api")):
        if path == folder:
            return f"{pages}/index.md", ""
        if path.startswith(f"{folder}/"):
            name, option = path.removeprefix(f"{folder}/"), ""
            if name.endswith(".yaml"):
                name, _, option = name.removesuffix(".yaml").rpartition("/")
            name = name.removesuffix(".py").replace("/", "-")
            return f"{pages}/{name}.md", f"#{option}" if option else ""
    return "", ""


def _on_site(found: re.Match[str], folder: str, page: str, files: Files) -> str:
    before, target, anchor, after = found.groups(default="")
    path = posixpath.normpath(posixpath.join(folder, target))
    name = path.removeprefix("docs/").replace(".ipynb", ".md")
    made, place = _made_of(path)
    if (ROOT / path).exists() and files.get_file_from_path(made):
        name, anchor = made, anchor or place
    if files.get_file_from_path(name):
        target = os.path.relpath(name, posixpath.dirname(page) or ".")
    elif (ROOT / path).exists():
        target = REPOSITORY + path
    else:
        log.warning("%s: the link to %s leads nowhere", page, target)
    return f"{before}{target}{anchor}{after}"
