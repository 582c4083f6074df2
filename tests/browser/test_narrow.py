"""On a phone, no column of the tables of a certificate is out of sight."""

import pytest
from served import begun
from steps import until

WIDTHS = (360, 390)
# The right edge of each cell, and of what shows it: the window, or a box that scrolls.
_EDGES = """() => [...document.querySelectorAll('.descent:not(.wide) th, main > section th')].map(
  (cell) => [cell.textContent, cell.getBoundingClientRect().right,
    Math.min(innerWidth, cell.closest('.descent')?.getBoundingClientRect().right ?? innerWidth)])"""


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    """A page with a certificate, whose sets have four digits."""
    pytest.importorskip("siamese_news_desk")
    for served, truth, folder in begun(tmp_path_factory.mktemp("page"), 1100, 300):
        served.json(
            "/api/plan", {"precision": ".8 .9", "confidence": ".95", "budget": 60}
        )
        for _ in range(25):
            post = served.json("/api/queue?kind=sample&annotator=a&leave=[]")["posts"][
                0
            ]["post"]
            label = "yes" if truth[post] else "no"
            served.json("/api/labels", {"post": post, "label": label, "annotator": "a"})
        served.json("/api/certify", {})
        yield served, folder


@pytest.mark.sampled(1)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_columns_of_the_progress_fit(certified, open_page, width):
    served, _ = certified
    page = open_page(served, viewport={"width": width, "height": 900})
    page.goto(f"{served.base}decide")
    edges = page.evaluate(_EDGES)
    assert [name for name, *_ in edges].count("passed") == 2
    assert [name for name, right, seen in edges if right > seen + 0.5] == []
    until(page, "document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_columns_of_a_certificate_fit(certified, visit, width):
    _, folder = certified
    path = folder / "searches" / "1" / "sheet.certificate.html"
    page = visit(path, viewport={"width": width, "height": 900})
    edges = page.evaluate(_EDGES)
    assert [name for name, *_ in edges].count("Passed") == 2
    assert [name for name, right, seen in edges if right > seen + 0.5] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
