"""The documentation in a real browser: nothing breaks, nothing runs over, nothing is fetched."""

import functools
import http.server
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
AXE = "axe_playwright_python.base"
# A page of each kind.
KINDS = [
    "index.html",
    "certify.html",
    "commands.html",
    "formats.html",
    "papers.html",
    "benchmarks/LEADERBOARD.html",
    "configuration/task.html",
    "api/index.html",
    "api/encoders.html",
    "notebooks/01_find_posts_about_a_story.html",
]


def build(root, folder):
    """A strict build of the sources in `root`; with --quiet warnings would not count."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=root,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of a strict build."""
    pytest.importorskip("mkdocs", reason="the group docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def served(site):
    """Its address on this machine."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def opened(browser, served):
    """Open a page; what it asks for elsewhere and what it complains about is kept."""
    contexts = []

    def go(name, page=None, **options):
        if page is None:
            contexts.append(browser.new_context(**options))
            page = contexts[-1].new_page()
            page.elsewhere, page.complaints = [], []
            page.on("console", lambda message: page.complaints.append(message.text))
            page.on("pageerror", lambda error: page.complaints.append(str(error)))
            page.on(
                "request",
                lambda request: (
                    request.url.startswith((served, "data:", "blob:"))
                    or page.elsewhere.append(request.url)
                ),
            )
        page.goto(served + name)
        return page

    yield go
    for context in contexts:
        context.close()


@pytest.mark.parametrize("width", [380, 1280])
def test_every_page_is_quiet_and_fits(opened, site, width):
    names = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    assert set(KINDS) <= set(names)
    page = None
    for name in names:
        page = opened(name, page, viewport={"width": width, "height": 900})
        page.wait_for_timeout(100)
        over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert over <= 0, f"{name} is {over} pixels too wide"
        assert page.complaints == [], name
        assert page.elsewhere == [], name


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1280])
def test_axe_finds_nothing(opened, scheme, width):
    axe = pytest.importorskip(
        AXE, reason="axe-playwright-python is not installed"
    ).AXE_SCRIPT
    page, found = None, []
    for name in KINDS:
        view = {"width": width, "height": 900}
        page = opened(name, page, viewport=view, color_scheme=scheme)
        page.wait_for_timeout(200)
        page.evaluate(axe)
        result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        assert len(result["passes"]) > 20
        found += [
            f"{name}: {broken['id']}: {node['html'][:200]}"
            for broken in result["violations"]
            # A command prints the tables of the results: their first column has no heading.
            if broken["id"] != "empty-table-header"
            for node in broken["nodes"]
        ]
    assert found == []


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("certify a threshold", "certify.html"),
        ("certificate threshold", "certify.html"),
        ("r-Precision", "api/metrics.html"),
    ],
)
def test_the_search_finds_the_page_on_a_subject_first(opened, words, name):
    page = opened("index.html", viewport={"width": 1280, "height": 900})
    page.locator(".md-search__input").click()
    page.locator(".md-search__input").fill(words)
    first = page.locator(".md-search-result__item").first.locator("a").first
    first.wait_for(timeout=240_000)
    assert name in first.get_attribute("href")
    assert page.elsewhere == []


def test_a_broken_link_or_an_undocumented_name_stops_the_build(tmp_path):
    pytest.importorskip("mkdocs", reason="the group docs is not installed")
    for name in ("docs", "src/siamese_news", "desk/src"):
        shutil.copytree(
            ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("pretrained")
        )
    for name in ("conf", "notebooks", "benchmarks", *map(str, ROOT.glob("*.md"))):
        (tmp_path / Path(name).name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)  # a link would build from where it leads
    with (tmp_path / "docs" / "start.md").open("a", encoding="utf-8") as page:
        page.write("\n[Nothing](nowhere.md) and [less](certify.md#no-such-heading).\n")
    with (tmp_path / "src/siamese_news/encoders/__init__.py").open(
        "a", encoding="utf-8"
    ) as code:
        code.write('EXTRA = 1\n__all__ += ["EXTRA"]\n')
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode == 1
    assert "nowhere.md leads nowhere" in done.stderr
    assert "no-such-heading" in done.stderr
    assert "siamese_news.encoders.EXTRA is public and has no docstring" in done.stderr
