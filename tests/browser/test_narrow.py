"""On a phone, no column of the tables of a certificate is out of sight."""

import pytest
from served import begun
from steps import until
from tests.commands import siamese_news

WIDTHS = (360, 390)
# Numbers in tables of which a part is on the next line.
_BROKEN = """(cells) => [...document.querySelectorAll(cells)].flatMap((cell) => {
  const text = [...cell.childNodes].find((node) => node.nodeType === 3);
  return [...(text?.textContent ?? '').matchAll(/\\d[\\d.,]*/g)].filter((number) => {
    const range = document.createRange();
    range.setStart(text, number.index);
    range.setEnd(text, number.index + number[0].length);
    return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1;
  }).map(([number]) => number);
})"""
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


@pytest.mark.sampled(1)
@pytest.mark.parametrize("width", (*WIDTHS, 1280))
def test_no_number_of_the_answers_to_a_reviewer_is_broken(
    certified, open_page, visit, width
):
    served, folder = certified
    page = open_page(served, viewport={"width": width, "height": 900})
    page.goto(f"{served.base}decide")
    assert page.locator("#answers td").count() > 20
    assert page.evaluate(_BROKEN, "td") == []
    until(page, "document.documentElement.scrollWidth <= innerWidth")
    search = folder / "searches" / "1"
    report = folder / "report.html"
    done = siamese_news(
        *("report", "--results", search / "results.parquet", "--out", report),
        *("--certificate", search / "sheet.certificate.json"),
    )
    assert done.returncode == 0, done.stderr
    page = visit(report, viewport={"width": width, "height": 900})
    assert page.locator(".review td").count() > 20
    assert page.evaluate(_BROKEN, ".review td") == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
