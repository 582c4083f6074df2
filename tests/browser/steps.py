"""What a person does on the page."""

import time
from urllib.parse import quote, unquote

PATIENCE = 240  # seconds: a machine that does something else as well is slow


def drop(page, kind, name, text):
    """A file falls on the page."""
    transfer = page.evaluate_handle(
        """([name, text]) => { const dropped = new DataTransfer();
        dropped.items.add(new File([text], name)); return dropped; }""",
        [name, text],
    )
    page.locator(f".drop[data-kind={kind}]").dispatch_event(
        "drop", {"dataTransfer": transfer}
    )
    page.locator(f"#{kind}-files", has_text=name.replace("?", "？")).wait_for()


def post_of(page):
    return unquote(page.locator("#card .item").get_attribute("data-post"))


def label(page, truth, number):
    """Give so many labels with the keyboard; fewer where no more are needed."""
    for done in range(number):
        page.wait_for_selector("#card .item[data-label=''], #empty:not([hidden])")
        if page.locator("#empty").is_visible():
            return done
        post = post_of(page)
        page.keyboard.press("y" if truth[post] else "n")
        until(
            page,
            "post => document.querySelector('#card .item')?.dataset.post !== post",
            quote(post),
        )
    return number


def until(page, expression, argument=None):
    """Wait for a condition; the page's policy lets no `wait_for_function` evaluate texts in it."""
    end = time.monotonic() + PATIENCE
    while not page.evaluate(expression, argument):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(20)


def lay_out(page):
    """Lay out what is not on the screen as well: until then a browser guesses its height.

    An audit that asks where off-screen texts lie would find them on top of each other.
    """
    page.evaluate(
        """() => document.styleSheets[0].insertRule(
        ".cluster { content-visibility: visible }", document.styleSheets[0].cssRules.length)"""
    )
