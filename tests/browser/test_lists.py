"""What a reader does with the list in a real browser: days, pages, a table to take away, paper."""

import csv
import io
import json
import subprocess
import sys

import pytest

from siamese_news.search.report import read_results
from siamese_news.utils.terminal import guarded

pytestmark = pytest.mark.slow
WORDS = (
    "river bridge council flood mayor evening closed traffic repair million engineer warning "
    "harbour school voters petition stone arch inspection crack lorry detour north quarter"
).split()
TRAPS = [
    '=HYPERLINK("http://evil.example")',
    "+1 for the bridge",
    "-2, he said",
    "@mayor, no",
    "'=quoted",
    'a "word"\nand a line',
    "plain, with a comma",
]


def rows(count, days=40):
    """Results of two seeds; every tenth post is a copy of the one before it."""
    for number in range(count):
        words = [
            WORDS[(number * 7 + k * k + number // 24 * k) % len(WORDS)]
            for k in range(30)
        ]
        text = f"{' '.join(words)} n{number}"
        yield {
            "article": "ab"[number % 2],
            "rank": number + 1,
            "score": round(0.9 - number / count / 2, 6),
            "post": f"{10**17 + number}",
            "text": TRAPS[number] if number < len(TRAPS) else text,
            "cluster": number - (number % 10 == 9),
            "cluster_size": 2 if number % 10 in (8, 9) else 1,
            "lang": "en",
            "created_at": f"2026-{3 + number % days // 28:02}-{1 + number % days % 28:02}T10:00:00Z"
            if number % 100
            else None,
            "terms": ["bridge", "word"],
            "x": number * 37 % 101,
            "y": number * 53 % 97,
            "link": f"https://posts.example/{number}?a=1&b=2",
        }


def report(folder, records, name="found"):
    """The page that the command makes of these results."""
    results = folder / f"{name}.jsonl"
    results.write_text(
        "".join(json.dumps(row) + "\n" for row in records), encoding="utf-8"
    )
    return command(results, folder / f"{name}.html")


def command(results, out):
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "siamese_news",
            "report",
            "--results",
            results,
            "--out",
            out,
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    return report(tmp_path_factory.mktemp("long"), rows(1300))


def shown(page):
    return page.locator(".cluster:visible").count()


def test_the_dates_are_said_and_a_click_on_a_day_lists_its_posts(visit, long):
    page = visit(long)
    assert (
        page.locator(".range").inner_text()
        == "Posts from 2026-03-01 to 2026-04-12 (UTC)"
    )
    bar = page.locator("#time-chart [data-slot='4']")
    assert bar.get_attribute("aria-label").startswith("05 Mar 2026: ")
    bar.click()
    assert bar.get_attribute("aria-pressed") == "true"
    listed = page.locator(".cluster:visible")
    assert listed.count() == 33
    assert {
        d[:10] for d in listed.evaluate_all("all => all.map(c => c.dataset.date)")
    } == {"2026-03-05"}
    assert page.locator("#found").inner_text() == "33 of 1,170 shown"
    assert "05 Mar 2026" in page.locator("#period").inner_text()
    # With words: both hold.
    page.locator("#filter").fill("n404")
    assert shown(page) == 1
    page.locator("#filter").fill("")
    page.locator("#period").click()
    assert page.locator("#period").is_hidden()
    assert shown(page) == 500


def test_a_cluster_is_listed_on_the_days_of_its_copies(visit, long):
    """The copy of post 8, which is of 9 March, is of the day after."""
    page = visit(long)
    page.locator("#time-chart [data-slot='9']").click()
    assert page.locator("#post-8").is_visible()
    page.locator("#time-chart [data-slot='9']").click()  # again: all days
    assert shown(page) == 500


def test_an_empty_place_beside_a_bar_means_the_nearest_day(visit, long):
    page = visit(long)
    bar = page.locator("#time-chart [data-slot='2']")
    bar.scroll_into_view_if_needed()
    box = bar.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] - 5)
    assert page.locator("[aria-pressed='true']").get_attribute("data-slot") == "2"


def test_the_keyboard_chooses_a_day(visit, long):
    page = visit(long)
    inside = "document.activeElement.dataset.slot"
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate(inside):
            break
    assert page.evaluate(inside) == "0"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(inside) == "1"
    page.keyboard.press("Enter")
    assert shown(page) == 33
    page.keyboard.press("End")
    page.keyboard.press("Space")
    assert "12 Apr 2026" in page.locator("#period").inner_text()
    page.keyboard.press("Escape")
    assert shown(page) == 500
    page.keyboard.press("Tab")  # one stop for the whole chart
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_more_than_500_clusters_have_pages(visit, long):
    page = visit(long)
    assert page.locator("#place").inner_text() == "Page 1 of 3: clusters 1 to 500"
    assert page.locator("#previous").is_disabled()
    page.locator("#next").click()
    assert page.evaluate("document.activeElement.id") == "posts"
    assert (shown(page), page.locator("#post-0").is_visible()) == (500, False)
    page.locator("#next").click()
    assert (shown(page), page.locator("#next").is_disabled()) == (170, True)
    assert (
        page.locator("#found").inner_text()
        == "1,170 of 1,170 match, 1,001 to 1,170 shown"
    )
    # Another order begins at its first page.
    page.locator("#order").select_option("oldest")
    assert page.locator("#place").inner_text().startswith("Page 1 of 3")
    page.locator("#filter").fill("n77")
    assert page.locator("#pager").is_hidden()


def test_a_link_to_a_post_opens_its_page(visit, long):
    page = visit(long)
    assert page.locator("#post-1249").is_hidden()  # a copy, folded, on the last page
    page.evaluate("location.hash = '#post-1249'")
    page.wait_for_function("document.getElementById('post-1249')?.checkVisibility()")
    assert page.locator("#place").inner_text().startswith("Page 3 of 3")


def test_few_clusters_have_no_pages(visit, tmp_path):
    page = visit(report(tmp_path, rows(60)))
    assert page.locator("#pager").is_hidden()
    assert page.locator("#found").inner_text() == "54 of 54 shown"


def saved(page):
    with page.expect_download() as download:
        page.locator("#save").click()
    assert page.complaints == []
    return download.value


def test_what_is_listed_can_be_saved_as_the_results_have_it(visit, tmp_path):
    """And the file is one that the command reads: the same rows make the same page."""
    given = {row["post"]: row for row in rows(1300)}
    path = report(tmp_path, given.values())
    download = saved(visit(path))
    assert download.suggested_filename == "found-shown.csv"
    target = tmp_path / "shown.csv"
    download.save_as(target)
    text = target.read_text(encoding="utf-8")
    assert text.startswith("\ufeffarticle,rank,score,post,text,cluster,")
    table = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))
    assert {row["text"] for row in table[:8]} >= {guarded(trap) for trap in TRAPS}
    found = read_results(target).posts
    assert len(found) == 1300
    for post in found:
        row = given[post.id]
        assert (
            post.seed,
            post.rank,
            post.score,
            post.text,
            post.cluster_size,
            post.link,
        ) == (
            row["article"],
            row["rank"],
            row["score"],
            row["text"],
            row["cluster_size"],
            row["link"],
        )
        assert (post.created_at or "")[:19] == (row["created_at"] or "")[:19]
        assert set(post.terms) <= {"bridge", "word"} and (
            post.terms or "bridge" not in post.text
        )
    command(target, tmp_path / "again.html")


def test_the_filters_hold_for_the_table(visit, tmp_path):
    page = visit(report(tmp_path, rows(60)))
    page.locator("#time-chart [data-slot='8']").click()
    page.locator("#seed").select_option("0")
    target = tmp_path / "shown.csv"
    saved(page).save_as(target)
    # 8 and its copy 9, and 48 with its copy 49: both seeds, for a cluster stays whole.
    assert [post.id[-2:] for post in read_results(target).posts] == [
        "08",
        "09",
        "48",
        "49",
    ]


def test_hostile_posts_can_be_saved(visit, hostile_page, tmp_path):
    target = tmp_path / "shown.csv"
    saved(visit(hostile_page(300))).save_as(target)
    assert len(read_results(target).posts) == 300


@pytest.mark.parametrize("script", [True, False])
def test_1300_posts_are_at_most_ten_pages_of_paper(visit, long, script):
    pypdf = pytest.importorskip("pypdf")
    page = visit(long, java_script_enabled=script)
    # What is folded may be open; paper has the clusters alone.
    page.evaluate(
        "document.querySelectorAll('details').forEach(d => { d.open = true; })"
    )
    pages = pypdf.PdfReader(io.BytesIO(page.pdf(format="A4"))).pages
    assert 3 < len(pages) <= 10
    text = "".join(part.extract_text() for part in pages)
    assert "How it was made" in text
    # Of the 500 clusters that the page lists, each has its date.
    assert 480 < text.count("2026-0") < 510
    assert text.count("Map") == 1


def test_paper_says_what_stands_on_it(visit, long):
    page = visit(long)
    page.locator("#filter").fill("n1299")
    page.emulate_media(media="print")
    assert page.locator("#paper").inner_text() == (
        "This printout has clusters 1 to 1 of 1 with the words “n1299”, and the beginning of "
        "each post."
    )
    page.locator("#filter").evaluate(
        "e => { e.value = ''; e.dispatchEvent(new Event('input')); }"
    )
    assert "clusters 1 to 500 of 1,170" in page.locator("#paper").inner_text()
    page.locator("#next").evaluate("e => e.click()")
    page.locator("#next").evaluate("e => e.click()")
    assert shown(page) == 170  # the last page, whole
