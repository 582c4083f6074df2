"""The notebooks as pages, with what they print and draw.

`make docs` runs each notebook into build/notebooks; where that was not done, a page has the code
alone.
"""

import base64
import json
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "notebooks"
EXECUTED = ROOT / "build" / "notebooks"
_INTRODUCTION = """# All notebooks

Each is short, and runs on the invented stories that come with the package; the case study and the
reranking take real collections where they are there, and say so. They lie in `notebooks/` and need
the extra `notebook`.
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each notebook, with its pictures, and one that lists them."""
    lines = [_INTRODUCTION]
    for source in sorted(SOURCES.glob("*.ipynb")):
        executed = EXECUTED / source.name
        path = executed if executed.exists() else source
        text, pictures = page(json.loads(path.read_text(encoding="utf-8")), source.stem)
        files.append(
            File.generated(config, f"notebooks/{source.stem}.md", content=text)
        )
        for name, content in pictures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=content))
        title, first = text.split("\n\n")[:2]
        lines.append(f"- [{title.removeprefix('# ')}]({source.stem}.md): {first}")
    index = "\n".join(lines) + "\n"
    files.append(File.generated(config, "notebooks/index.md", content=index))
    return files


def page(notebook: dict[str, Any], name: str) -> tuple[str, dict[str, bytes]]:
    """A notebook in Markdown, and its pictures by the names of their files."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(
            source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```"
        )
        outputs = cell.get("outputs", [])
        if said := "".join(map(_said, outputs)).rstrip():
            parts.append(
                f'<div class="output" markdown>\n\n```text\n{said}\n```\n\n</div>'
            )
        for data in (output.get("data", {}) for output in outputs):
            if "image/png" in data:
                picture = f"{name}-{len(pictures) + 1}.png"
                pictures[picture] = base64.b64decode(data["image/png"])
                parts.append(f"![Figure {len(pictures)} of this notebook]({picture})")
    return "\n\n".join(parts) + "\n", pictures


def _said(output: dict[str, Any]) -> str:
    """What a cell printed or returned; warnings and bars of progress are left out."""
    if output["output_type"] == "stream":
        return "".join(output["text"]) if output["name"] == "stdout" else ""
    if output["output_type"] == "execute_result":
        return "".join(output["data"]["text/plain"]) + "\n"
    return ""
