"""What a screen reader, a keyboard and tired eyes need of the report, checked by axe-core."""

import pytest
from steps import lay_out

pytestmark = pytest.mark.slow
AXE = "axe_playwright_python.base"
# Every stop of the Tab key, up to the place where it comes round.
STOPS = "a[href], button, input, select, summary, [tabindex='0']"


@pytest.fixture(scope="module")
def path(hostile_page):
    return hostile_page(120)


@pytest.fixture
def audited(visit, path):
    """What axe-core finds wrong with the page, as text; empty where nothing is."""
    axe = pytest.importorskip(
        AXE, reason="axe-playwright-python is not installed"
    ).AXE_SCRIPT

    def go(**options):
        page = visit(path, **options)
        page.locator("#toggle").click()
        page.evaluate(
            "document.querySelectorAll('details').forEach(d => { d.open = true; })"
        )
        lay_out(page)
        page.evaluate(axe)
        result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        assert len(result["passes"]) > 40
        return [
            f"{broken['id']}: {broken['help']}: {node['html'][:200]}"
            for broken in result["violations"]
            for node in broken["nodes"]
        ]

    return go


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_axe_finds_nothing(audited, scheme, width):
    assert audited(color_scheme=scheme, viewport={"width": width, "height": 900}) == []


def test_axe_would_find_something(visit, path):
    """A control without a name and gray on white: the audit does bite."""
    axe = pytest.importorskip(
        AXE, reason="axe-playwright-python is not installed"
    ).AXE_SCRIPT
    page = visit(path)
    page.evaluate(
        """() => { document.querySelector("label").replaceWith(document.querySelector("#filter"));
        document.querySelector("#filter").placeholder = "";
        document.querySelector("h1").style.color = "#bbb"; }"""
    )
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")[
        "violations"
    ]
    assert {"label", "color-contrast"} <= {broken["id"] for broken in found}


def test_tab_reaches_everything_and_shows_where_it_is(visit, path):
    page = visit(path)
    stops = page.locator(STOPS).evaluate_all(
        "all => all.filter(e => e.checkVisibility() && !e.disabled).length"
    )
    seen = []
    for _ in range(stops):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate(
                """() => { const e = document.activeElement, s = getComputedStyle(e);
                e.dataset.stop = "1";
                return [e.tagName, s.outlineStyle, parseFloat(s.outlineWidth)]; }"""
            )
        )
    assert page.locator("[data-stop]").count() == stops > 30
    assert all(style == "solid" and width >= 2 for _, style, width in seen)


def test_nothing_moves_by_itself(visit, path):
    page = visit(path)
    page.locator("#toggle").click()
    assert page.evaluate("document.getAnimations().length") == 0
