"""What the documentation says to type works: code, commands, options, links."""

import contextlib
import functools
import io
import itertools
import json
import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
import typer
from hydra import compose, initialize_config_module
from hydra.errors import HydraException
from markdown.extensions.toc import slugify
from papers.registry import choose
from typer.testing import CliRunner

from siamese_news import open_model
from siamese_news.cli import app
from siamese_news.errors import InputError

from ..installed import WITH_DESK

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
TEXTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (*PAGES, *ROOT.glob("*.md"), *(ROOT / "benchmarks").glob("*.md"))
}
RESULTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "benchmarks" / "results").glob("*.md")
}


def options_of(path):
    """The Markdown of a notebook, and in backticks the strings of its code that may be options."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    parts = []
    for cell in cells:
        text = "".join(cell["source"])
        if cell["cell_type"] == "code":
            strings = re.findall(r"""["']([a-z][\w.]*=[^"'{}]+)["']""", text)
            text = " ".join(f"`{string}`" for string in strings)
        parts.append(text)
    return "\n\n".join(parts)


NOTEBOOKS = {
    path.relative_to(ROOT).as_posix(): options_of(path)
    for path in (ROOT / "notebooks").glob("*.ipynb")
}
PYTHON = [
    pytest.param(
        block,
        id=f"{path.stem}-{number}",
        # The main case of an export is in tests/encoders/test_torch_modules.py.
        marks=pytest.mark.slow if "torch.export" in block else (),
    )
    for path in PAGES
    if path.stem != "tutorial"  # has tests of its own
    for number, block in enumerate(
        re.findall(
            r"```python[^\n]*\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.S
        ),
        1,
    )
    if "pl.Trainer(" not in block  # prints its progress, and writes files: TRAINING
]
TRAINING = {
    (name, block): block
    for name, text in TEXTS.items()
    for block in re.findall(r"```python[^\n]*\n(.*?)```", text, flags=re.S)
    if "pl.Trainer(" in block
}


def lines(name):
    """The commands of a page, one a line."""
    blocks = re.findall(r"^ *```bash\n(.*?)```", TEXTS[name], flags=re.S | re.M)
    return [
        line.partition("  #")[0].strip()
        for block in blocks
        for line in block.splitlines()
    ]


COMMANDS = [(name, line) for name in TEXTS for line in lines(name)]


@pytest.mark.parametrize("block", PYTHON)
def test_python_code_prints_what_it_says(block, monkeypatch):
    if "siamese_news_desk" in block:
        pytest.importorskip("siamese_news_desk")
    monkeypatch.chdir(ROOT)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(block, "<page>", "exec"), {"__name__": "page"})
    promised = re.findall(r"print\(.*\)  # (.*)", block)
    assert out.getvalue().splitlines() == promised


def test_the_lines_that_train_run_as_printed(tmp_path, monkeypatch):
    """With one epoch of one batch."""
    import pytorch_lightning as pl

    whole = pl.Trainer
    short = {"max_epochs": 1, "limit_train_batches": 1}
    monkeypatch.setattr(pl, "Trainer", lambda **options: whole(**options | short))
    assert {"README.md", "docs/library.md", "docs/train.md"} <= {
        name for name, _ in TRAINING
    }
    monkeypatch.chdir(tmp_path)
    out = io.StringIO()
    for block in set(TRAINING.values()):
        with contextlib.redirect_stdout(out):
            exec(compile(block, "<page>", "exec"), {"__name__": "page"})
    assert "['other/auc', 'other/map', 'other/micro_ap']\n" in out.getvalue()
    assert open_model("my-model").encode(["the river is in my cellar"]).any()


def test_the_encoder_of_the_page_keeps_the_contract():
    import torch

    page = {"__name__": "page"}
    exec(next(b.values[0] for b in PYTHON if b.id == "add-an-encoder-1"), page)
    encoder = page["MaxEncoder"](input_dim=4)
    texts, mask = torch.randn(3, 5, 4), torch.arange(5) < torch.tensor([[5], [2], [0]])
    padded = torch.cat([texts, torch.full((3, 4, 4), 9.0)], 1)
    longer = torch.cat([mask, torch.zeros(3, 4, dtype=torch.bool)], 1)
    torch.testing.assert_close(encoder(texts, mask), encoder(padded, longer))
    assert encoder(texts, mask).isfinite().all()


def test_the_five_minute_start_works(tmp_path, monkeypatch):
    for name in ("examples", "src"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    said = {}
    for line in lines("docs/start.md"):
        if line.startswith("mkdir "):
            Path(line.split()[1]).mkdir()
        if line.startswith("cp "):
            shutil.copy(*line.split()[1:])
        if line.startswith("siamese-news"):
            done = CliRunner().invoke(app, shlex.split(line)[1:])
            assert done.exit_code == 0, f"{line}\n{done.output}"
            said[line.split()[1]] = done.stdout
    assert set(said) == {"rank", "filter", "report", "doctor"}
    # As the page says: nine of ten; more than nine in ten, and about one in twenty is another.
    assert len(re.findall(r"ferry-\d+", said["rank"])) == 9
    rows = [json.loads(line) for line in (tmp_path / "found.jsonl").open()]
    ferry = [row for row in rows if row["post"].startswith("ferry-")]
    assert len(ferry) > 0.9 * len((tmp_path / "posts/ferry.jsonl").open().readlines())
    assert len(rows) - len(ferry) <= len(rows) / 10
    assert any(row["text"].startswith("The reef has a light.") for row in ferry)
    assert (tmp_path / "found.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    "line",
    sorted(
        {
            line
            for name, line in COMMANDS
            if line.startswith("siamese-news ") and name != "docs/add-a-command.md"
        }
    ),
)
def test_commands_have_the_options_that_are_shown(line):
    group = typer.main.get_command(app)
    context = group.make_context("siamese-news", [], resilient_parsing=True)
    words = line.split()
    command = group.get_command(context, words[1])
    if command is None and not WITH_DESK:
        pytest.skip("siamese-news-desk is not installed")
    assert command is not None, line
    known = {
        name
        for option in command.params
        for name in (*option.opts, *option.secondary_opts)
    }
    assert {word for word in words if word.startswith("--")} <= known | {"--help"}


def settings(words):
    """The settings of the jobs that some options name: one for each value of the longest list."""
    options = {}
    for word in words:
        key, _, values = word.partition("=")
        if not key.startswith("hydra") and "<" not in values:
            listed = [values] if values[:1] in "[{'" else values.split(",")
            options[key] = listed
    for number in range(max(map(len, options.values()), default=0)):
        yield [
            f"{key}={values[min(number, len(values) - 1)]}"
            for key, values in options.items()
        ]


@pytest.fixture
def folders(monkeypatch):
    """The variables that configurations name; nothing is read from them."""
    for variable in ("SIAMESE_NEWS_DATA", "SIAMESE_NEWS_VECTORS"):
        monkeypatch.setenv(variable, os.environ.get(variable, "folder"))


@functools.cache
def refused(name, *options):
    """Why a command refuses its options before it reads data; None if it takes them.

    Devices are not asked for: those that a page names may not be here.
    """
    from siamese_news.training.plain_options import plain_options
    from siamese_news.training.rerank_task import _check_options
    from siamese_news.training.trainer import make_trainer

    here = {"accelerator": "cpu", "devices": 1, "num_nodes": 1, "strategy": "auto"}
    quiet = {"logger": False, "enable_checkpointing": False}
    try:
        with initialize_config_module("siamese_news.conf", version_base="1.3"):
            config = plain_options(compose(name, overrides=[*options]))
        if "trainer" in config:
            make_trainer({**config["trainer"], **here}, **quiet)
        if config.get("task", {}).get("_target_", "").endswith("rerank.run"):
            _check_options(config["task"])
    except (HydraException, InputError) as error:
        return f"{options}: {error}"
    return None


@pytest.mark.parametrize(
    "line",
    sorted(
        {
            line
            for name, line in COMMANDS
            if re.search(r"-m (siamese_news\.(train|evaluate)|papers)\b", line)
            and not name.startswith("docs/add-")  # options of packages they install
        }
    ),
)
@pytest.mark.usefixtures("folders")
def test_options_that_are_shown_are_taken(line):
    words = [word for word in shlex.split(line) if re.match(r"[+~]*[a-z][\w.]*=", word)]
    if "-m papers" in line:
        options = dict(word.split("=", 1) for word in words)
        exhibits = {key: options.get(key) for key in ("figure", "table")}
        assert choose(options["paper"], **exhibits)
        return
    name = re.search(r"siamese_news\.(\w+)", line)[1]
    for options in settings(words):
        assert refused(name, *options) is None


GROUPS = {path.name for path in (ROOT / "conf").iterdir() if path.is_dir()} - {"hydra"}
INLINE = {
    tuple(shlex.split(code))
    for name, text in (TEXTS | NOTEBOOKS).items()
    if not name.startswith("docs/add-") and name != "CHANGELOG.md"
    for code in re.findall(
        r"`([a-z]+[\w.]*=[^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.S)
    )
    if re.split(r"[.=]", code)[0] in {*GROUPS, "fold"}
    and not re.search(r'<|FOLDER|[="]["{]|my_module', code)
}


def rounds(jobs):
    """Lists of jobs of which no two name the same key, so that one command takes a whole list."""
    keys_and_jobs = []
    for job in jobs:
        keys = {option.partition("=")[0] for option in job}
        for there, listed in keys_and_jobs:
            if there.isdisjoint(keys):
                there |= keys
                listed.append(job)
                break
        else:
            keys_and_jobs.append((keys, [job]))
    return [listed for _, listed in keys_and_jobs]


def refused_jobs(task, jobs):
    """The jobs that a task refuses, with its reasons: all are asked at once, then halves of them."""
    reason = refused("train", *task, *itertools.chain(*jobs))
    if reason is None or len(jobs) == 1:
        return {} if reason is None else {jobs[0]: reason}
    half = len(jobs) // 2
    return refused_jobs(task, jobs[:half]) | refused_jobs(task, jobs[half:])


@pytest.mark.usefixtures("folders")
def test_options_that_a_sentence_or_a_notebook_names_are_taken():
    """By one of the tasks: an option such as `task.whitening` belongs to one alone."""
    jobs = {tuple(job) for words in INLINE for job in settings(words)}
    named_tasks = {job for job in jobs if re.match("task=|experiment=", job[0])}
    assert len(named_tasks) > 5 and len(jobs) > 40
    reasons = {}
    for job in sorted(named_tasks):
        reasons |= refused_jobs([], [job])
    unclaimed = jobs - named_tasks
    for task in ("link", "rerank", "distil", "lists"):
        refusals_by_round = [
            refused_jobs([f"task={task}"], listed)
            for listed in rounds(sorted(unclaimed))
        ]
        unclaimed = {job for refusals in refusals_by_round for job in refusals}
    assert not reasons and not unclaimed, (reasons, refusals_by_round)


def test_a_refused_option_is_found_among_others(folders):
    jobs = [("encoder=bag",), ("task.epochs=0",), ("trainer=gpu",), ("sparsity=no",)]
    assert [*refused_jobs(["task=link"], jobs)] == [jobs[1], jobs[3]]


def test_named_options_exist():
    table = (
        TEXTS["docs/train.md"]
        .partition("| group | options |\n")[2]
        .partition("\n\n")[0]
    )
    rows = re.findall(r"^\| `(\w+)` \| (`[^|]*) \|$", table, flags=re.M)
    assert len(rows) >= 9
    for group, options in rows:
        for option in re.findall(r"`(\w+)`", options):
            assert (ROOT / "conf" / group / f"{option}.yaml").is_file(), (
                f"{group}={option}"
            )


def test_named_targets_are_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = {
        target
        for text in TEXTS.values()
        for target in re.findall(r"`make ([a-z-]+)", text)
    }
    named |= {line.split()[1] for _, line in COMMANDS if line.startswith("make ")}
    assert {"demo", "docs", "reproduce"} <= named
    assert named <= set(re.findall(r"^([a-z-]+):", makefile, flags=re.M))


@pytest.mark.parametrize("group", ["encoder", "sparsity", "objective", "vectors"])
def test_the_library_page_names_every_file_of_a_group(group):
    row = re.search(
        rf"^\| `{group}` \| (.*) \|$", TEXTS["docs/library.md"], flags=re.M
    )[1]
    assert set(re.findall(r"`(\w+)`", row)) == {
        p.stem for p in (ROOT / "conf" / group).iterdir()
    }


def anchors(text):
    """The anchors of a page's headings, as GitHub and the site make them."""
    text = re.sub(r"^ *```.*?^ *```", "", text, flags=re.S | re.M)
    headings = re.findall(r"^#+ (.*)$", text, flags=re.M)
    return {
        slugify(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading), "-")
        for heading in headings
    }


@pytest.mark.parametrize("name", TEXTS | RESULTS | NOTEBOOKS)
def test_links_lead_somewhere(name):
    text = re.sub(r"```.*?```", "", (TEXTS | RESULTS | NOTEBOOKS)[name], flags=re.S)
    links = re.findall(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?[^)]*\)", text)
    for target, anchor in links:
        path = (ROOT / Path(name).parent / target) if target else ROOT / name
        assert path.exists(), target
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path.read_text(encoding="utf-8")), (target, anchor)


def test_the_search_finds_a_word_next_to_punctuation():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    separator = re.search(r"separator: '(.*)'", text)[1]
    words = [
        word
        for word in re.split(separator, "as printed (Table 3), Fig. 4: AP .4135/.2413")
        if word
    ]
    assert words == ["as", "printed", "Table", "3", "Fig", "4", "AP", ".4135", ".2413"]
