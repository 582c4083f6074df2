"""The reference of the commands, from the command line itself."""

import re
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

_INTRODUCTION = """# Commands

`siamese-news COMMAND --help` says the same in the terminal. Training and evaluation are not among
them: `python -m siamese_news.train` and `python -m siamese_news.evaluate` are
[configured in another way](configuration/index.md). What a command ends with:
[exit codes](exit-codes.md).
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page."""
    files.append(File.generated(config, "commands.md", content=page()))
    return files


def page() -> str:
    """All commands in Markdown, in the order of ``siamese-news --help``."""
    from siamese_news.cli import app

    group: Any = typer.main.get_command(app)
    context = group.make_context("siamese-news", [], resilient_parsing=True)
    parts = [_INTRODUCTION]
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        parts.append(f"## `{name}`\n\n{_text(command.help or '')}\n")
        for option in command.params:
            record = option.get_help_record(context)
            if record and option.name != "help":
                parts.append(f"`{record[0]}`\n:   {_escaped(record[1])}\n")
    return "\n".join(parts)


def _text(help: str) -> str:
    """The help of a command: an example is code."""
    parts = []
    for part in re.split(r"\n\s*\n", help.replace("\b", "").strip()):
        part = " ".join(part.split())
        if part.startswith("Example: "):
            parts.append(f"```bash\n{part.removeprefix('Example: ')}\n```")
        else:
            parts.append(_escaped(part))
    return "\n\n".join(parts)


def _escaped(text: str) -> str:
    """What Markdown and HTML would take for theirs."""
    return re.sub(
        r"([*_\[\]])", r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;")
    )
