"""The parts of the site that are made: commands, configuration, reference, notebooks, links."""

import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

ROOT = Path(__file__).parents[2]
pytest.importorskip("mkdocstrings", reason="the group docs is not installed")


def hook(name):
    path = ROOT / "docs" / "hooks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"hook_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def api():
    return hook("api")


@pytest.fixture(scope="module")
def package(api):
    return api.packages()[0]


def test_every_public_name_has_a_docstring(api):
    for package in api.packages():
        complaints = api.complaints(package, set())
        assert [line for line in complaints if "docstring" in line] == []


def test_every_public_name_must_stand_on_a_page(api, package):
    """On no page at all, each of them is complained of."""
    names = {one.split()[0] for one in api.complaints(package, set())}
    assert {"siamese_news.Searcher", "siamese_news.encoders.ENCODERS"} <= names
    assert len(names) > 100
    shown = names - {"siamese_news.encoders.StarEncoder"}
    assert "siamese_news.encoders.StarEncoder" in " ".join(
        api.complaints(package, shown)
    )


def test_a_name_without_a_docstring_is_complained_of(api, tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        '"""A package."""\n__all__ = ["LIMIT", "f", "g"]\nLIMIT = 3\n\n'
        'def f():\n    """One."""\n\ndef g():\n    pass\n'
    )
    found = list(api.complaints(api.load("small", tmp_path), {"small.f"}))
    assert [one.split()[0] for one in found] == ["small.LIMIT", "small.g"]


def test_the_first_page_of_the_reference_names_what_the_root_exports(api, package):
    import siamese_news

    index = api.pages(*api.packages())["api/index.md"]
    for name in siamese_news.__all__:
        assert name == "__version__" or f"[`{name}`][siamese_news." in index


def test_public_names_in_sentences_become_links(api):
    page = SimpleNamespace(file=SimpleNamespace(src_uri="papers.md"))
    text = "# `Model`\nA `StarEncoder` and `means`, [`Model`](x.md).\n```python\n`Model`\n```\n"
    found = api.on_page_markdown(text, page, None, None)
    link = "[`StarEncoder`][siamese_news.encoders.StarEncoder]"
    assert found == text.replace("`StarEncoder`", link)


def test_every_file_of_the_configuration_is_on_a_page():
    pages = hook("configuration").pages()
    for path in (ROOT / "conf").rglob("*.yaml"):
        group = path.parent.relative_to(ROOT / "conf").as_posix()
        name = path.stem if group == "." else group.replace("/", "-")
        values = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        page = pages[f"configuration/{name}.md"]
        assert path.stem in page
        for key in values:
            assert re.search(rf"^{key}:", page, flags=re.M), f"{path}: {key}"


def test_a_class_of_the_configuration_is_in_the_reference(api, package):
    text = "".join(hook("configuration").pages().values())
    named = set(re.findall(r"\]\[(siamese_news\.[\w.]+)\]", text))
    public = [pair for room in api._documented(package) for pair in api._public(room)]
    assert named and named <= {
        name for path, member in public for name in (path, member.path)
    }


def test_defaults_are_those_of_the_files():
    pages = hook("configuration").pages()
    assert "Default: `star`" in pages["configuration/encoder.md"]
    assert "Default: `adamw`" in pages["configuration/task-optimizer.md"]
    assert "Default" not in pages["configuration/experiment.md"]


def test_every_command_and_option_is_on_the_page():
    page = hook("commands").page()
    assert re.findall(r"^## `(\w+)`", page, flags=re.M)[:2] == ["rank", "filter"]
    assert "`--threshold RELEVANCE`" in page
    assert "<out>.part" not in page and "&lt;out>.part" in page
    assert "default: 100" in page


def test_a_notebook_becomes_a_page_with_its_pictures():
    notebook = {
        "cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "\n", "Why."]},
            {
                "cell_type": "code",
                "source": ["print(1)"],
                "outputs": [
                    {"output_type": "stream", "name": "stderr", "text": ["Warning\n"]},
                    {"output_type": "stream", "name": "stdout", "text": ["1\n"]},
                    {"output_type": "stream", "name": "stdout", "text": ["2\n"]},
                    {
                        "output_type": "display_data",
                        "data": {"image/png": "aGk=", "text/plain": ["<Figure>"]},
                    },
                ],
            },
        ]
    }
    page, pictures = hook("notebooks").page(notebook, "07_x")
    assert page.startswith("# Title\n\nWhy.\n\n```python\nprint(1)\n```")
    assert (
        "```text\n1\n2\n```" in page
        and "<Figure>" not in page
        and "Warning" not in page
    )
    assert "(07_x-1.png)" in page and pictures == {"07_x-1.png": b"hi"}


@pytest.mark.parametrize(
    ("page", "written", "made"),
    [
        ("docs/certify.md", "../benchmarks/RESULTS.md#a", "benchmarks/RESULTS.md#a"),
        ("benchmarks/RESULTS.md", "../docs/certify.md", "../certify.md"),
        (
            "docs/index.md",
            "../notebooks/01_find_posts_about_a_story.ipynb",
            "notebooks/01_find_posts_about_a_story.md",
        ),
        (
            "docs/papers.md",
            "../CITATION.cff",
            "https://github.com/siamese-news/siamese_news/blob/main/CITATION.cff",
        ),
        ("docs/index.md", "https://x.org/a.md", "https://x.org/a.md"),
        ("docs/train.md", "../conf", "configuration/index.md"),
        ("docs/train.md", "../conf/task/schedule", "configuration/task-schedule.md"),
        (
            "docs/papers.md",
            "../conf/objective/paper.yaml",
            "configuration/objective.md#paper",
        ),
        ("docs/index.md", "../src/siamese_news", "api/index.md"),
        (
            "docs/index.md",
            "../src/siamese_news/training/module.py",
            "api/training-module.md",
        ),
        ("docs/start.md", "../src/siamese_news/cli", "commands.md"),
        ("docs/start.md", "../notebooks", "notebooks/index.md"),
        (
            "docs/start.md",
            "../src/siamese_news/utils",
            "https://github.com/siamese-news/siamese_news/blob/main/src/siamese_news/utils",
        ),
    ],
)
def test_links_work_on_the_site(page, written, made):
    links = hook("links")
    known = {
        "benchmarks/RESULTS.md",
        "certify.md",
        "notebooks/01_find_posts_about_a_story.md",
    }
    known |= {f"configuration/{n}.md" for n in ("index", "objective", "task-schedule")}
    known |= {
        "api/index.md",
        "api/training-module.md",
        "commands.md",
        "notebooks/index.md",
    }
    files = SimpleNamespace(
        get_file_from_path=lambda uri: uri if uri in known else None
    )
    file = SimpleNamespace(
        abs_src_path=str(ROOT / page), src_uri=page.removeprefix("docs/")
    )
    found = links.on_page_markdown(
        f"[x]({written}) `[y]({written})`", SimpleNamespace(file=file), None, files
    )
    assert found == f"[x]({made}) `[y]({written})`"


def test_a_notebook_links_as_it_does_in_the_repository():
    links = hook("links")
    pages = {"certify.md", "notebooks/01_first.md"}
    files = SimpleNamespace(
        get_file_from_path=lambda uri: uri if uri in pages else None
    )
    file = SimpleNamespace(abs_src_path=None, src_uri="notebooks/01_first.md")
    text = "[how](../docs/certify.md#x), [itself](01_first.ipynb)"
    page = SimpleNamespace(file=file)
    assert links.on_page_markdown(text, page, None, files) == (
        "[how](../certify.md#x), [itself](01_first.md)"
    )
    made = SimpleNamespace(file=SimpleNamespace(abs_src_path=None, src_uri="api/x.md"))
    assert links.on_page_markdown(text, made, None, files) == text


def test_a_link_that_leads_nowhere_is_said(caplog):
    links = hook("links")
    files = SimpleNamespace(get_file_from_path=lambda uri: None)
    file = SimpleNamespace(abs_src_path=str(ROOT / "docs/x.md"), src_uri="x.md")
    links.on_page_markdown(
        "[x](../nowhere.md)", SimpleNamespace(file=file), None, files
    )
    assert "../nowhere.md" in caplog.text


def test_pages_that_teach_come_before_the_reference():
    boost = hook("search").boost_of
    order = [
        "certify.md",
        "watch.md",
        "api/siamese_news_desk-decide.md",
        "CHANGELOG.md",
    ]
    values = [boost(uri) for uri in order]
    assert values == sorted(values, reverse=True) and len(set(values)) == 4
    page = SimpleNamespace(meta={}, file=SimpleNamespace(src_uri="certify.md"))
    assert hook("search").on_page_markdown("# Text", page) == "# Text"
    assert page.meta == {"search": {"boost": boost("certify.md")}}
    # No heading of the page on metrics has the word.
    page.file.src_uri = "api/metrics.md"
    hook("search").on_page_markdown("# Text", page)
    assert "r-Precision" in page.meta["tags"]
