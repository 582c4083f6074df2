"""The configuration reference, from the files of conf/ and their comments.

One page for each group, with every option as its file spells it out, and the two files that a
command composes them in.
"""

import re
from pathlib import Path

import yaml
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

CONF = Path(__file__).parents[2] / "conf"
# The commands, each with a file beside the groups.
TOP = {
    path.stem: f"python -m siamese_news.{path.stem}"
    for path in sorted(CONF.glob("*.yaml"))
}
MEANING = {
    "callbacks": "Lightning callbacks in addition to those of the task.",
    "data": "What is trained on and what is evaluated on.",
    "encoder": "What turns the word vectors of a text into one vector.",
    "experiment": "Settings that belong together; they come last and change only what differs.",
    "hydra": "Where a run writes.",
    "logger": "Where figures are logged while training; several as a list: `logger=[csv,wandb]`.",
    "module": "The LightningModule, which joins encoder, objective, vectors and optimizer.",
    "objective": "What training makes small, and which triplets are mined for it.",
    "ranker": "What orders short posts for a keyword query (`task=rerank`).",
    "sparsity": "What makes weights of attention scores.",
    "task": "What a run does: train on pairs, distil, make the shipped model, train a ranker.",
    "task/optimizer": "The optimizer of `task=link` and `task=rerank`.",
    "task/schedule": "How the learning rate changes: none by default, `step` for `task=rerank`.",
    "terms": "The lexical head.",
    "trainer": "On what a run computes.",
    "vectors": "Word vectors.",
}
_COMMAND = re.compile(r"^python -m \S.*$")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    for uri, text in pages().items():
        files.append(File.generated(config, uri, content=text))
    return files


def pages() -> dict[str, str]:
    """The place of each page on the site, and its Markdown."""
    groups = sorted(
        {path.parent.relative_to(CONF).as_posix() for path in CONF.rglob("*.yaml")}
    )
    groups.remove(".")
    made = {
        f"configuration/{name.replace('/', '-')}.md": _group(name) for name in groups
    }
    made |= {f"configuration/{name}.md": _top(name) for name in TOP}
    return {"configuration/index.md": _index(groups), **made}


def _index(groups: list[str]) -> str:
    lines = [
        "# All groups",
        "",
        "Training and evaluation are configured with [Hydra](https://hydra.cc): `group=option`",
        "takes another file of `conf/`, `key=value` changes one number of it, and `-m` runs every",
        "combination of values between commas. Every run writes its resolved configuration into",
        "its folder (`config.yaml`). These pages are made from the files themselves.",
        "",
        "| group | what it is | default | options |",
        "|---|---|---|---|",
    ]
    for name in groups:
        options = ", ".join(f"`{path.stem}`" for path in _options(name))
        default = _default(name)
        page = f"[`{name}`]({name.replace('/', '-')}.md)"
        lines.append(
            f"| {page} | {MEANING[name]} | {f'`{default}`' if default else ''} | {options} |"
        )
    lines += [
        "",
        "The options of the commands themselves: "
        + ", ".join(f"[`{command}`]({name}.md)" for name, command in TOP.items())
        + ".",
        "",
    ]
    return "\n".join(lines)


def _group(name: str) -> str:
    default = _default(name)
    said = f" Default: `{default}`." if default else ""
    parts = [f"# `{name}`", f"{MEANING[name]}{said}"]
    for path in _options(name):
        parts.append(f"## `{name}={path.stem}` {{ #{path.stem} }}")
        parts.append(_option(path))
    return "\n\n".join(parts) + "\n"


def _top(name: str) -> str:
    return f"# `{TOP[name]}`\n\n{_option(CONF / f'{name}.yaml')}\n"


def _option(path: Path) -> str:
    """What the comment at the top says, the class with a link, and the values."""
    said, values = split(path.read_text(encoding="utf-8"))
    commands = [line for line in said if _COMMAND.match(line)]
    text = " ".join(line for line in said if line not in commands)
    parts = [text] if text else []
    parts += ["```bash\n" + "\n".join(commands) + "\n```"] if commands else []
    target = (yaml.safe_load(values) or {}).get("_target_", "")
    # A task, no public name.
    if target.startswith("siamese_news.") and target.endswith(".run"):
        parts.append(f"It is run by `{target}`.")
    elif target.startswith("siamese_news."):
        parts.append(
            f"Its class is [`{target}`][{target}], which says what each value means."
        )
    return "\n\n".join([*parts, f"```yaml\n{values.strip()}\n```"])


def split(text: str) -> tuple[list[str], str]:
    """The lines of the comment that a file begins with, without their marks, and the rest."""
    lines = text.removeprefix("# @package _global_\n").splitlines()
    count = next(
        (i for i, line in enumerate(lines) if not line.startswith("#")), len(lines)
    )
    return [line.removeprefix("#").strip() for line in lines[:count]], "\n".join(
        lines[count:]
    )


def _options(group: str) -> list[Path]:
    return sorted((CONF / group).glob("*.yaml"))


def _default(group: str) -> str | None:
    """The option that training takes where none is named."""
    parent, _, name = group.rpartition("/")
    path = CONF / (f"{parent}/link.yaml" if parent else "train.yaml")
    defaults = yaml.safe_load(path.read_text(encoding="utf-8"))["defaults"]
    return next(
        (
            entry[name]
            for entry in defaults
            if isinstance(entry, dict) and name in entry
        ),
        None,
    )
