"""The papers' tables and figures on the site, as `python -m papers` lays them out.

`make docs` lays them out into build/reproduction, from the saved results; where that was not done,
the page has the command alone.
"""

import shutil
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

MADE = Path(__file__).parents[2] / "build" / "reproduction"
TITLES = {
    "ast": "AST: Linking Social Media Posts to News with Siamese Transformers",
    "samcnn": "samCNN: Simple Attention-Based Representation Learning for Ranking Short Posts",
}
_INTRODUCTION = """# The papers' tables and figures

Every table and figure of both papers next to the published one, with its command, seeds, data and
machine, laid out from the saved results. `make reproduce` makes the same pages in `reproduction/`.
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page that leads to both papers."""
    lines = [_INTRODUCTION]
    for paper, title in TITLES.items():
        if not (MADE / paper / "index.html").is_file():
            lines.append(f"- {title}: `python -m papers paper={paper}`")
            continue
        lines.append(f'- <a href="{paper}/index.html">{title}</a>')
    text = "\n".join(lines) + "\n"
    files.append(File.generated(config, "reproduction/index.md", content=text))
    return files


def on_post_build(config: MkDocsConfig) -> None:
    """Copy the pages of both papers as they are, with their tables and pictures."""
    for paper in TITLES:
        target = Path(config.site_dir) / "reproduction" / paper
        if (MADE / paper).is_dir():
            hidden = shutil.ignore_patterns(".*", "*.log")
            shutil.copytree(MADE / paper, target, ignore=hidden, dirs_exist_ok=True)
