"""A browser, and pages full of posts that try to get out of them."""

import shutil
import sys
from pathlib import Path

import pytest

sys.path += [
    str(Path(__file__).parents[2] / room)
    for room in ("tests/browser", "tests/search", "desk/tests/page")
]
from hostile import HOSTILE, hostile_text
from served import Served
from steps import PATIENCE

from siamese_news.search.report import (
    ReportData,
    ReportPost,
    Seed,
    write_report,
)

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)


def _hostile_posts(count):
    for number in range(count):
        text = hostile_text(number)
        # Every tenth post is a copy of the one before it, so that there is something to open.
        cluster = number - (number % 10 == 9)
        yield ReportPost(
            rank=number + 1,
            id=HOSTILE[number % len(HOSTILE)][:200] + str(number),
            score=1 - number / count,
            text=text,
            cluster=cluster,
            cluster_size=2 if number % 10 in (8, 9) else 1,
            seed=HOSTILE[number % 7],
            created_at=f"2026-03-{1 + number % 28:02}T10:00:00Z"
            if number % 3
            else text[:50],
            lang=text[:30],
            terms=["window", text[:12], "<script>"],
        )


def _hostile_data(count):
    return ReportData(
        title=HOSTILE[3] + HOSTILE[0],
        command=HOSTILE[1] + "x" * 5000,
        provenance={HOSTILE[4]: HOSTILE[2], "long": "y" * 5000},
        seeds=[
            Seed(seed, title)
            for seed, title in zip(HOSTILE[:7], HOSTILE[7:], strict=False)
        ],
        posts=list(_hostile_posts(count)),
        histogram={
            "edges": [i / 20 for i in range(21)],
            "counts": [10**6 >> i for i in range(20)],
        },
        threshold=0.5,
        counts={HOSTILE[0]: 5},
        remarks=[HOSTILE[2], "z" * 5000],
    )


@pytest.fixture(scope="session")
def hostile_page(tmp_path_factory):
    """The file of a report over so many hostile posts."""

    def make(count):
        path = tmp_path_factory.mktemp("report") / "page.html"
        write_report(path, _hostile_data(count))
        return path

    return make


@pytest.fixture(scope="session")
def browser():
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed"
    )
    binary = next(filter(None, map(shutil.which, NAMES)), None)
    if binary is None:
        pytest.skip(f"no Chromium on the PATH (looked for {', '.join(NAMES)})")
    with sync_api.sync_playwright() as playwright:
        # Inside a container there is nothing to sandbox with; the page is a file of ours.
        browser = playwright.chromium.launch(
            executable_path=binary, args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    """Open the page; what it asks the network for and what it complains about is kept."""
    contexts = []

    def go(path, **options):
        contexts.append(browser.new_context(**options))
        contexts[-1].set_default_timeout(1000 * PATIENCE)
        page = contexts[-1].new_page()
        page.asked, page.complaints = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("dialog", lambda dialog: page.complaints.append(dialog.message))
        page.goto(path.as_uri())
        return page

    yield go
    for context in contexts:
        context.close()


@pytest.fixture
def open_page(browser):
    """Open the page of a server; what it complains about and asks others for is kept."""
    contexts = []

    def go(served, **options):
        contexts.append(browser.new_context(accept_downloads=True, **options))
        contexts[-1].set_default_timeout(1000 * PATIENCE)
        page = contexts[-1].new_page()
        page.complaints, page.asked = [], []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("dialog", lambda dialog: page.complaints.append(dialog.message))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(served.address)
        page.wait_for_url(served.base)
        return page

    yield go
    for context in contexts:
        context.close()


@pytest.fixture
def serve():
    """Start servers; those that still run at the end are ended."""
    pytest.importorskip("siamese_news_desk")
    running = []

    def start(*arguments, **options):
        running.append(Served(*arguments, **options))
        return running[-1]

    yield start
    for served in running:
        if served.process.is_alive():
            served.kill()
