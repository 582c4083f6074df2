"""The report in a real browser, with 5,000 posts that try to get out of it."""

import pytest
from hostile import HOSTILE, hostile_text

from siamese_news.search.report.page import pieces, visible

pytestmark = pytest.mark.slow
POSTS = 5000


@pytest.fixture(scope="module")
def path(hostile_page):
    return hostile_page(POSTS)


@pytest.fixture
def opened(visit, path):
    return lambda **options: visit(path, **options)


def pages(page, expression):
    """What an expression comes to on each page of the list, from the present one on."""
    found = [page.evaluate(expression)]
    while page.locator("#next").is_enabled():
        page.locator("#next").click()
        found.append(page.evaluate(expression))
    return found


def test_no_script_of_a_post_runs_and_nothing_is_asked_of_the_network(opened, path):
    page = opened()
    page.locator("#toggle").click()
    page.mouse.move(300, 500)
    page.wait_for_timeout(300)
    assert page.evaluate("window.owned") is None
    assert page.evaluate("document.scripts.length") == 1
    assert page.asked == [path.as_uri()]
    assert page.complaints == []
    assert page.url == path.as_uri()


def test_a_script_that_got_in_would_not_run(opened):
    """The policy is a second wall: it holds where the first would fail."""
    page = opened()
    page.evaluate(
        """() => { const script = document.createElement("script");
        script.textContent = "window.owned = 1"; document.body.append(script);
        const image = document.createElement("img"); image.src = "https://evil.example/x";
        document.body.append(image); }"""
    )
    page.wait_for_timeout(200)
    assert page.evaluate("window.owned") is None
    assert "script-src" in " ".join(page.complaints)
    assert "evil.example" in " ".join(page.complaints)


def test_the_posts_stand_there_as_text(opened):
    page = opened()
    assert page.title() == visible(HOSTILE[3] + HOSTILE[0])
    shown = page.locator("#clusters p.text").evaluate_all(
        "all => all.map(p => p.textContent)"
    )
    for number in range(200):
        text = hostile_text(number)
        if len(text) <= 700:
            marked = pieces(text, ["window", text[:12], "<script>"])
            expected = "".join(visible(piece) for _, piece in marked)
            assert expected in shown
    sizes = "() => [...document.querySelectorAll('[id^=post-]')].map(post => post.id)"
    assert len({name for names in pages(page, sizes) for name in names}) == POSTS


def test_nothing_sticks_out_sideways(opened):
    page = opened()
    page.evaluate(
        "document.querySelectorAll('details').forEach(d => { d.open = true; })"
    )
    for width in (320, 768, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        wide = page.evaluate(
            """() => [...document.querySelectorAll("body *:not(svg *)")]
            .filter(e => e.getBoundingClientRect().right > innerWidth + 1
              && !e.matches(".skip, .visually-hidden"))
            .map(e => e.outerHTML.slice(0, 80))"""
        )
        assert wide == []


def test_the_keyboard_reaches_the_filter_and_the_copies(opened):
    page = opened()
    focus = "document.activeElement.id || document.activeElement.textContent"
    page.keyboard.press("Tab")
    assert page.evaluate(focus) == "Skip to the posts"
    page.keyboard.press("Enter")
    assert page.evaluate(focus) == "posts"
    page.keyboard.press("Tab")
    assert page.evaluate(focus) == "filter"
    page.keyboard.type("NUL bell 57")  # copies stay with their post
    assert 0 < page.locator(".cluster:visible").count() < 300
    assert " of " in page.locator("#found").inner_text()
    page.locator("#filter").fill("")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.parentElement.className") == "copies":
            break
    details = page.locator("details.copies").first
    assert details.get_attribute("open") is None
    page.keyboard.press("Enter")
    assert details.get_attribute("open") is not None


def test_the_order_can_be_changed(opened):
    page = opened()
    dates = "() => [...document.querySelectorAll('.cluster')].map(c => c.dataset.date)"
    page.locator("#order").select_option("newest")
    newest = [date for part in pages(page, dates) for date in part if date]
    assert newest == sorted(newest, reverse=True) and len(set(newest)) > 20
    page.locator("#order").select_option("oldest")
    found = [date for part in pages(page, dates) for date in part]
    oldest = [date for date in found if date]
    assert oldest == sorted(oldest) and found[: len(oldest)] == oldest
    page.locator("#order").select_option("size")
    counted = (
        "() => [...document.querySelectorAll('.cluster')].map(c => +c.dataset.size)"
    )
    sizes = [size for part in pages(page, counted) for size in part]
    assert sizes == sorted(sizes, reverse=True) and len(set(sizes)) > 1
    page.locator("#seed").select_option("3")
    page.locator("#order").select_option("rank")
    shown = page.locator(".cluster:visible .rank").all_inner_texts()
    assert [int(rank) for rank in shown[:3]] == [4, 11, 18]


def test_without_scripts_the_page_is_complete(opened):
    page = opened(java_script_enabled=False)
    assert page.locator("#controls").is_hidden()
    assert page.locator("[id^=post-]").count() == POSTS
    details = page.locator("details.copies").first
    details.locator("summary").click()
    assert details.locator("li p.text").first.is_visible()


def test_light_dark_and_paper(opened):
    ground = "getComputedStyle(document.body).backgroundColor"

    def brightness(page):
        return sum(map(int, page.evaluate(ground)[4:-1].split(",")[:3])) / 3

    page = opened()
    page.emulate_media(color_scheme="light")
    assert brightness(page) > 230
    page.emulate_media(color_scheme="dark")
    assert brightness(page) < 60
    page.emulate_media(media="print", color_scheme="dark")
    assert brightness(page) == 255
    assert page.locator("#controls").is_hidden()


def test_a_dot_of_the_map_leads_to_its_post(opened):
    page = opened()
    page.locator("#filter").fill("no such word anywhere")
    assert page.locator(".cluster:visible").count() == 0
    # The tenth post is a copy: it lies folded under the ninth.
    page.locator(".dot[data-row='9']").dispatch_event("click")
    assert page.evaluate("location.hash") == "#post-9"
    assert page.locator("#post-9").is_visible()
