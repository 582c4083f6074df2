"""The whole way without a mouse: what has the focus is reached by Tab, and answers to a key."""

import csv
import io
from pathlib import Path

import pytest
from steps import PATIENCE, label, until
from tests.storm import ARTICLE, corpus


def go(page, selector, key=None):
    """Press Tab until something that fits has the focus; then the key."""
    for _ in range(200):
        if page.evaluate(
            "selector => document.activeElement.matches(selector)", selector
        ):
            break
        page.keyboard.press("Tab")
    else:
        raise AssertionError(f"Tab does not lead to {selector}")
    if key:
        page.keyboard.press(key)


@pytest.mark.slow
def test_by_keyboard_alone(tmp_path, serve, open_page):
    truth = corpus(tmp_path / "posts.jsonl")
    served = serve(tmp_path / "storm")
    page = open_page(served)
    go(page, "#pasted")
    page.keyboard.insert_text(ARTICLE)
    go(page, "#paste button", "Enter")
    page.locator("#articles-files", has_text="pasted-1.txt").wait_for()
    with page.expect_file_chooser() as chooser:
        go(page, ".drop[data-kind=posts] input", "Enter")
    chooser.value.set_files(tmp_path / "posts.jsonl")
    page.locator("#posts-files", has_text="posts.jsonl").wait_for()
    go(page, "#search-form summary", "Enter")
    go(page, "input[name=threshold]")
    page.keyboard.press("Control+a")
    page.keyboard.type("0.02")
    page.keyboard.press("Enter")
    page.wait_for_selector("#onward:not([hidden])", timeout=1000 * PATIENCE)
    go(page, "#onward a", "Enter")

    page.wait_for_selector("#clusters .item")
    go(page, "#cut", "ArrowRight")
    go(page, "#words")
    page.keyboard.type("lantern")
    until(
        page,
        "document.querySelector('#clusters .item')?.textContent.includes('Lantern')",
    )
    until(page, "document.querySelector('#found').value.endsWith('found')")
    go(page, "#clusters .item", "y")
    page.wait_for_selector("#clusters .item[data-label=yes]")
    until(
        page,
        "document.activeElement === document.querySelectorAll('#clusters > .item')[1]",
    )
    page.keyboard.press("u")
    page.wait_for_selector("#clusters .item[data-label=yes]", state="detached")

    page.keyboard.press("Control+Home")
    page.locator("body").evaluate("() => document.activeElement.blur()")
    go(page, ".steps a[href='/decide']", "Enter")
    page.wait_for_url("**/decide")
    go(page, "input[name=budget]")
    page.keyboard.press("Control+a")
    page.keyboard.type("120")
    page.keyboard.press("Enter")
    page.wait_for_url("**/label")
    given = label(page, truth, 200)
    assert 25 <= given <= 120
    page.locator("body").evaluate("() => document.activeElement.blur()")
    go(page, ".steps a[href='/decide']", "Enter")
    page.wait_for_url("**/decide")
    go(page, "#certify", "Enter")
    until(page, "document.querySelector('#written').value !== ''")
    page.locator("body").evaluate("() => document.activeElement.blur()")
    go(page, "button[data-threshold]", "Enter")
    page.wait_for_url("**/hand-over")
    with page.expect_download() as download:
        go(page, "a[href='/files/csv']", "Enter")
    rows = list(
        csv.DictReader(io.StringIO(Path(download.value.path()).read_text("utf-8")))
    )
    assert len(rows) > 100 and sum(truth[row["post"]] for row in rows) >= 0.9 * len(
        rows
    )
    assert page.complaints == []
