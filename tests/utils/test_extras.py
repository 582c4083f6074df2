"""What is not installed is named with the extra that brings it, whatever one runs or imports."""

import ast
import csv
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.installed import needs_desk

from siamese_news.errors import InputError, MissingExtraError
from siamese_news.utils.extras import EXTRAS, absent, needs

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
NAMES = {
    "backports": "backports.zstd",
    "yaml": "pyyaml",
    "docx": "python-docx",
    "hydra": "hydra-core",
    "sklearn": "scikit-learn",
    "markupsafe": "jinja2",
    "huggingface_hub": "huggingface_hub",
}
# A finder that a process takes up at its start: what it blocks is as if it were not installed.
BLOCK = """
import os, sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in os.environ["BLOCKED"].split(","):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Block())
"""


def slow(*values):
    """A further case, or one that starts torch, for the tests of all."""
    return pytest.param(*values, marks=pytest.mark.slow)


def distribution(requirement):
    return re.match(r"[\w.-]+", requirement)[0]


def third_party(sources):
    """(file, package as installed) of every import of the sources that is not Python's own."""
    for path in sorted(sources.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else []
            )
            if isinstance(node, ast.ImportFrom):
                names = [node.module]
            for name in {name.partition(".")[0] for name in names}:
                if name not in sys.stdlib_module_names:
                    yield path, NAMES.get(name, name.replace("_", "-"))


@pytest.fixture
def without(tmp_path):
    """Run Python as it would run without some packages."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(BLOCK)
    path = os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")])

    def run(blocked, *arguments):
        return subprocess.run(
            [sys.executable, *map(str, arguments)],
            env=os.environ | {"PYTHONPATH": path, "BLOCKED": blocked},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )

    return run


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("blocked", "command"),
    [
        ("pyarrow", "rank --articles a.txt --posts p.jsonl --out new/found.parquet"),
        slow(
            "backports",
            "filter --articles a.txt --posts p.jsonl --min-score 0 --out new/a.csv",
        ),
        pytest.param("uvicorn", "desk --project new --no-browser", marks=needs_desk),
    ],
)
def test_what_lacks_an_extra_leaves_no_folder(without, files, blocked, command):
    done = without(blocked, "-m", "siamese_news", *command.split())
    assert done.returncode == 2 and f"needs {blocked}" in done.stderr, done.stderr
    assert not (files / "new").exists()
    assert "posts read" not in done.stderr  # said before the work, not after it


@pytest.fixture
def files(tmp_path):
    (tmp_path / "a.txt").write_text("A flood\n\nA river floods a town.\n")
    (tmp_path / "p.jsonl").write_text(
        '{"id": "1", "text": "the river is in my cellar"}\n'
    )
    (tmp_path / "r.jsonl").write_text(
        '{"post": "1", "text": "river", "score": 0.5, "rank": 1}\n'
    )
    return tmp_path


def test_every_import_is_declared_once():
    declared = [distribution(name) for name in PROJECT["dependencies"]]
    for requirements in PROJECT["optional-dependencies"].values():
        declared += [distribution(name) for name in requirements]
    declared = [name for name in declared if name != "siamese-news"]
    assert len(declared) == len(set(declared))
    declared.append("siamese-news")
    for path, package in third_party(ROOT / "src"):
        # A module of Python 3.14.
        assert package in (*declared, "compression"), f"{path}: {package}"


def test_every_import_of_the_desk_is_declared_and_nothing_else_is():
    text = (ROOT / "desk" / "pyproject.toml").read_text(encoding="utf-8")
    declared = tomllib.loads(text)["project"]["dependencies"]
    imported = {package for _, package in third_party(ROOT / "desk" / "src")}
    assert imported - {"siamese-news-desk"} == set(map(distribution, declared))


def test_the_core_is_small():
    heavy = {"torch", "entmax", "pyarrow", "pytorch-lightning", "gensim", "pandas"}
    assert not heavy & {distribution(name) for name in PROJECT["dependencies"]}


def test_the_table_of_extras_is_that_of_the_projects():
    desk = tomllib.loads((ROOT / "desk" / "pyproject.toml").read_text(encoding="utf-8"))
    requirements = PROJECT["optional-dependencies"]

    def brings(names):
        packages = set()
        for name in names:
            packages.add(distribution(name))
            if inner := re.match(r"siamese-news\[(.*)\]", name):
                for extra in inner[1].split(","):
                    packages |= brings(requirements[extra])
            elif name == "siamese-news-desk":
                packages |= brings(desk["project"]["dependencies"])
        return packages

    base = brings(PROJECT["dependencies"])
    expected = {"": base}
    for extra, names in requirements.items():
        expected[extra] = brings(names) - base - {"siamese-news"}
    assert {extra: set(packages) for extra, packages in EXTRAS.items()} == expected
    assert list(EXTRAS) == list(expected)  # the first that has a package is named


def test_the_readme_installs_what_its_first_command_needs():
    first = re.search(
        r"^pip install .*$", (ROOT / "README.md").read_text(), flags=re.M
    )[0]
    command = first.partition("#")[0].split()
    assert command[:2] == ["pip", "install"] and command[-1] == "."  # without an extra


def test_absent_packages():
    assert absent(["torch", "no-such-package"]) == ["no-such-package"]


def test_the_error_names_the_extra_that_is_asked_for():
    with pytest.raises(
        MissingExtraError, match=r"^it needs torch.*'siamese-news\[train\]'$"
    ):
        with needs("train", "it"):
            raise ModuleNotFoundError("No module named 'torch'", name="torch")


def test_what_every_installation_has_needs_no_extra():
    with pytest.raises(
        MissingExtraError, match=r"^it needs scipy.*; run pip install siamese-news$"
    ):
        with needs("train", "it"):
            raise ModuleNotFoundError("No module named 'scipy'", name="scipy")


def test_the_error_names_another_extra_where_that_one_brings_it():
    with pytest.raises(
        MissingExtraError, match=r"needs hydra-core.*'siamese-news\[eval\]'$"
    ):
        with needs("desk", "it"):
            try:
                raise ModuleNotFoundError("No module named 'hydra'", name="hydra")
            except ModuleNotFoundError as error:
                raise RuntimeError("Error locating target") from error


@pytest.mark.parametrize(
    "error",
    [
        ModuleNotFoundError(
            "No module named 'siamese_news.gone'", name="siamese_news.gone"
        ),
        ModuleNotFoundError("No module named 'mine'", name="mine"),
        InputError("posts.jsonl: no such file"),
        RuntimeError("boom"),
    ],
)
def test_other_errors_come_as_they_are(error):
    with pytest.raises(type(error)) as caught, needs("train", "it"):
        raise error
    assert caught.value is error


def test_the_root_imports_neither_torch_nor_numpy(without):
    code = "import siamese_news, sys; print(siamese_news.__version__, *siamese_news.__all__)"
    done = without("torch,numpy,msgspec,scipy", "-c", code)
    assert done.returncode == 0, done.stderr
    assert "StarEncoder" in done.stdout


def test_what_the_root_exports_can_be_imported():
    import siamese_news

    for name in siamese_news.__all__:
        assert getattr(siamese_news, name), name
    assert set(siamese_news.__all__) == set(dir(siamese_news))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = siamese_news.Nothing


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("blocked", "statement", "words"),
    [
        (
            "msgspec",
            "from siamese_news import open_posts",
            "msgspec.*install siamese-news$",
        ),
        (
            "torch",
            "from siamese_news import Model",
            "Model needs torch.*\\[encoders\\]",
        ),
        (
            "torch",
            "from siamese_news.model import Model",
            "Model needs torch.*\\[encoders\\]",
        ),
        slow(
            "entmax",
            "from siamese_news import StarEncoder",
            "needs entmax.*\\[encoders\\]",
        ),
        (
            "scipy",
            "from siamese_news import Searcher",
            "Searcher needs scipy.*install siamese-news$",
        ),
        slow("bm25s", "from siamese_news.baselines import BM25", "bm25s.*\\[eval\\]"),
        ("hydra", "import siamese_news.train", "hydra-core.*\\[train\\]"),
    ],
)
def test_an_import_says_what_is_missing(without, blocked, statement, words):
    done = without(blocked, "-c", statement)
    assert done.returncode == 1
    assert re.search(words, done.stderr.strip().splitlines()[-1]), done.stderr


@pytest.mark.parametrize(
    "names",
    ["Article, Post, InputError", slow("StarEncoder, build_encoder, InputError")],
)
def test_records_and_encoders_need_no_extra(without, names):
    done = without(
        "scipy,msgspec,safetensors,typer", "-c", f"from siamese_news import {names}"
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("blocked", "arguments"),
    [
        ("typer", ["rank", "--help"]),
        ("msgspec", ["rank", "--articles", "a.txt", "--posts", "p.jsonl"]),
        (
            "scipy",
            [
                "filter",
                "--articles",
                "a.txt",
                "--posts",
                "p.jsonl",
                "--min-score",
                "0.1",
                "--out",
                "found.jsonl",
            ],
        ),
        slow(
            "nupunkt",
            ["explain", "--articles", "a.txt", "--posts", "p.jsonl", "--post", "1"],
        ),
        slow("rich", ["keywords", "--results", "r.jsonl", "--posts", "p.jsonl"]),
        ("jinja2", ["report", "--results", "r.jsonl", "--out", "r.html"]),
        slow("msgspec", ["doctor", "p.jsonl"]),
    ],
)
def test_a_command_says_what_is_missing(without, files, blocked, arguments):
    done = without(blocked, "-m", "siamese_news", *arguments)
    assert done.returncode == 2, done.stderr
    assert done.stderr.strip().splitlines()[-1] == (
        f"siamese-news: siamese-news needs {blocked}, which is not installed; "
        "run pip install siamese-news"
    )
    assert "Traceback" not in done.stderr
    assert not (files / "found.jsonl").exists()


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("package", "extra", "arguments"),
    [
        (
            "torch",
            "encoders",
            ["rerank", "--model", "m", "--query", "river", "--posts", "p.jsonl"],
        ),
        slow(
            "pyarrow",
            "parquet",
            ["rank", "--articles", "a.txt", "--posts", "p.jsonl", "--out", "p.parquet"],
        ),
        pytest.param(
            *("starlette", "desk", ["desk", "--project", "p"]), marks=needs_desk
        ),
    ],
)
def test_a_command_names_the_extra_that_it_lacks(
    without, files, package, extra, arguments
):
    name = {"scikit-learn": "sklearn"}.get(package, package)
    done = without(name, "-m", "siamese_news", *arguments)
    assert done.returncode == 2, done.stderr
    assert f"needs {package}, which is not installed" in done.stderr
    assert f"pip install 'siamese-news[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


# Command after command in one process.
COMMANDS = """
import json, sys
from siamese_news.__main__ import main
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["siamese-news", *arguments]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
"""
NOT_IN_THE_BASE = (
    "torch,entmax,pyarrow,sklearn,bm25s,pytorch_lightning,hydra,torchmetrics"
)


def test_every_command_of_a_search_runs_on_the_base_alone(without, files):
    """With none of the packages that only extras bring."""
    lines = [
        {"id": str(n), "text": f"the river is in cellar {n}" if n % 3 else f"phone {n}"}
        for n in range(300)
    ]
    (files / "p.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    seeds = ["--articles", "a.txt"]
    commands = [
        ["rank", *seeds, "--posts", "p.jsonl", "--out", "all.jsonl", "--top", "300"],
        [
            "filter",
            *seeds,
            "--posts",
            "p.jsonl",
            "--min-score",
            "0.05",
            "--out",
            "found.csv",
        ],
        ["explain", *seeds, "--posts", "p.jsonl", "--post", "1", "--out", "why.jsonl"],
        [
            "keywords",
            "--results",
            "found.csv",
            "--posts",
            "p.jsonl",
            "--out",
            "words.csv",
        ],
        ["report", "--results", "all.jsonl", "--out", "all.html"],
        ["index", "--out", "p.index", "--posts", "p.jsonl"],
        ["rank", *seeds, "--index", "p.index", "--out", "again.jsonl", "--top", "300"],
        ["doctor", "p.jsonl"],
    ]
    done = without(NOT_IN_THE_BASE, "-c", COMMANDS, json.dumps(commands))
    assert done.returncode == 0, done.stderr
    rows = [
        [(row["post"], row["score"]) for row in map(json.loads, (files / name).open())]
        for name in ("all.jsonl", "again.jsonl")
    ]
    assert rows[0] == rows[1]


def test_a_command_of_the_desk_names_its_package(monkeypatch):
    from typer.testing import CliRunner

    from siamese_news.cli import app, commands

    points = {n: p for n, p in commands._points().items() if n not in commands._IN_DESK}
    monkeypatch.setattr(commands, "_points", lambda: points)
    done = CliRunner().invoke(app, ["certify", "--labels", "sheet.csv"])
    assert done.exit_code == 2
    assert done.stderr.startswith(
        "siamese-news: certify comes with the package siamese-news-desk"
    )
    assert done.stderr.count("\n") == 1


@needs_desk
def test_a_certificate_needs_nothing_of_evaluation_and_training(without, files):
    rows = [
        {"post": str(n), "score": 1 - n / 1000, "text": f"river {n}" if n % 3 else "x"}
        for n in range(300)
    ]
    (files / "all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    blocked = "torch,entmax,bm25s,pytorch_lightning,hydra,torchmetrics"
    sample = "sample --results all.jsonl --precision .8 --out sheet.csv".split()
    done = without(blocked, "-m", "siamese_news", *sample)
    assert done.returncode == 0, done.stderr
    sheet = list(csv.DictReader((files / "sheet.csv").open(encoding="utf-8-sig")))
    with (files / "sheet.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(sheet[0]))
        writer.writeheader()
        for row in sheet:
            writer.writerow({**row, "label": "yes" if "river" in row["text"] else "no"})
    done = without(blocked, *"-m siamese_news certify --labels sheet.csv".split())
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("blocked", "package", "module", "extra", "option"),
    [
        ("hydra", "hydra-core", "train", "train", "--help"),
        slow("pytorch_lightning", "pytorch-lightning", "train", "train", "encoder=bag"),
        slow(
            "pytorch_metric_learning",
            "pytorch-metric-learning",
            "train",
            "train",
            "encoder=bag",
        ),
        ("omegaconf", "omegaconf", "evaluate", "eval", "--help"),
        slow("bm25s", "bm25s", "evaluate", "eval", "peers=[bm25]"),
    ],
)
def test_a_module_says_what_is_missing(
    without, blocked, package, module, extra, option
):
    done = without(blocked, "-m", f"siamese_news.{module}", option)
    assert done.returncode == 2, done.stderr
    assert (
        f"python -m siamese_news.{module} needs {package}, which is not installed; "
        f"run pip install 'siamese-news[{extra}]'"
    ) in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_search_needs_nothing_of_evaluation_and_training(without, files):
    """`rank`, `filter` and `report` run where only the extra of the README's first line is."""
    more = set(EXTRAS["all"]) - set(EXTRAS[""])
    modules = {"hydra-core": "hydra", "python-docx": "docx"}
    blocked = ",".join(
        modules.get(name, name.replace("-", "_")) for name in sorted(more)
    )
    pool = ["--articles", "a.txt", "--posts", "p.jsonl"]
    for arguments in (
        ["rank", *pool, "--out", "top.csv"],
        ["filter", *pool, "--min-score", "0", "--out", "found.jsonl"],
        ["report", "--results", "found.jsonl", "--out", "found.html"],
    ):
        done = without(blocked, "-m", "siamese_news", *arguments)
        assert done.returncode == 0, done.stderr
    assert (files / "found.html").stat().st_size > 10_000


PAGE = "<html><body><article><h1>A storm</h1><p>The storm took the roof of the school.</p></article>"


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("module", "package", "arguments"),
    [
        (
            "trafilatura",
            "trafilatura",
            ["rank", "--articles", "a.html", "--posts", "p.jsonl"],
        ),
        slow("pypdf", "pypdf", ["rank", "--articles", "a.pdf", "--posts", "p.jsonl"]),
        slow(
            "docx",
            "python-docx",
            ["rank", "--articles", "a.docx", "--posts", "p.jsonl"],
        ),
        slow(
            "openpyxl", "openpyxl", ["rank", "--articles", "a.txt", "--posts", "p.xlsx"]
        ),
        slow(
            "pyarrow",
            "pyarrow",
            ["rank", "--articles", "a.txt", "--posts", "p.jsonl", "--out", "p.parquet"],
        ),
        pytest.param(
            *("uvicorn", "uvicorn", ["desk", "--project", "p", "--no-browser"]),
            marks=needs_desk,
        ),
        slow(
            "websockets",
            "websockets",
            [
                *("watch", "--articles", "a.txt", "--source", "jetstream"),
                *("--min-score", ".3", "--out", "w.jsonl"),
            ],
        ),
    ],
)
@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "import not_there",
            "which needs not-there, which is not installed; run pip install",
        ),
        slow(
            "raise ImportError('libgone.so.1: cannot open shared object file')",
            "which cannot be imported (libgone.so.1: cannot open shared object file); install",
        ),
        (
            "from dataclasses import dataclass\n@dataclass\nclass A:\n    b: int = 1\n    c: int",
            "which cannot be imported (non-default argument 'c' follows",
        ),
        slow("1 / 0", "which cannot be imported (division by zero); install"),
    ],
)
def test_a_broken_package_is_not_called_absent(
    without, files, module, package, arguments, line, words
):
    """A package that is installed, but whose import fails in its own file."""
    from openpyxl import Workbook

    (files / "site" / module).mkdir()
    (files / "site" / module / "__init__.py").write_text(line + "\n")
    (files / "a.html").write_text(PAGE)
    (files / "a.pdf").write_bytes(b"%PDF-1.4\n")
    (files / "a.docx").write_bytes(b"PK\x03\x04")
    Workbook().save(files / "p.xlsx")
    done = without("none", "-m", "siamese_news", *arguments)
    assert done.returncode == 2, done.stderr
    last = " ".join(done.stderr.split())
    assert f"needs {package}, {words}" in last
    assert "Traceback" not in last


def test_an_error_of_a_function_of_a_package_is_none_of_its_import():
    """Nor is one whose name only looks like that of a package."""
    code = "def work(): raise NameError('torch is not defined', name='torch')"
    exec(code, module := {"__name__": "torch"})
    with pytest.raises(NameError), needs("train", "it"):
        module["work"]()


def test_a_module_that_an_installed_package_lacks_is_not_an_absent_package():
    with pytest.raises(
        MissingExtraError, match=r"^it needs torch, which cannot be imported \(No"
    ):
        with needs("train", "it"):
            exec(  # as a file of torch would raise it
                "raise ModuleNotFoundError(\"No module named 'torch._C'\", name='torch._C')",
                {"__name__": "torch"},
            )


@pytest.mark.slow
def test_a_package_that_another_package_needs_is_the_one_to_install(without, files):
    (files / "a.html").write_text(PAGE)
    done = without(
        "justext", *"-m siamese_news rank --articles a.html --posts p.jsonl".split()
    )
    assert done.returncode == 2
    assert (
        "needs trafilatura, which needs justext, which is not installed; run pip install justext"
        in (" ".join(done.stderr.split()))
    )


def test_a_postponed_module_is_loaded_by_its_first_use():
    code = """
import sys
from siamese_news.utils.extras import postpone
import numpy
postpone("numpy.f2py", "numpy.testing", "json", "no_such.module")
import scipy.sparse
assert "numpy.f2py.crackfortran" not in sys.modules
assert numpy.f2py.get_include() and "numpy.f2py.crackfortran" in sys.modules
from numpy.testing import assert_allclose
assert_allclose(1.0, 1.0)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
