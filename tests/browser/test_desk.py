"""The page in a real browser: the whole way, with a server that is killed in the middle of it."""

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from served import found_before
from steps import PATIENCE, drop, label, lay_out, post_of, until
from tests.storm import ARTICLE, corpus

AXE = "axe_playwright_python.base"
VIEWS = ("", "posts", "label", "decide", "hand-over")


def _run(*arguments, folder):
    return subprocess.run(
        [sys.executable, "-m", "siamese_news", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )


def test_labels_by_keyboard_survive_and_no_tab_overwrites_another(
    tmp_path, serve, open_page
):
    truth = found_before(tmp_path / "storm")
    served = serve(tmp_path / "storm")
    page = open_page(served)
    page.goto(served.base + "label")
    first = post_of(page)
    other = open_page(served)
    other.goto(served.base + "label")
    other.wait_for_selector("#card .item")
    assert label(page, truth, 3) == 3
    # The second tab still shows the first post without its label.
    assert post_of(other) == first
    other.keyboard.press("n" if truth[first] else "y")
    other.wait_for_selector("#problem:not([hidden])")
    said = other.locator("#card .item").get_attribute("data-label")
    assert said == ("yes" if truth[first] else "no")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("u")
    page.wait_for_selector("#card .item[data-label='']")
    served.kill()
    page.keyboard.press("y")
    page.wait_for_selector("#problem:not([hidden])")
    assert "does not answer" in page.locator("#problem").inner_text()
    again = serve(tmp_path / "storm")
    page = open_page(again)
    page.goto(again.base + "label")
    until(page, "document.querySelector('#progress').value.includes('relevant')")
    numbers = page.locator("#progress").inner_text()
    assert (
        sum(int(word) for word in numbers.replace(",", "").split() if word.isdigit())
        == 2
    )
    assert not [message for message in page.complaints if "favicon" not in message]
    assert again.end() in (0, 130)


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, pytest.param(1280, marks=pytest.mark.slow)])
def test_the_curve_of_found_posts_follows_the_labels(tmp_path, serve, open_page, width):
    truth = found_before(tmp_path / "storm")
    served = serve(tmp_path / "storm")
    page = open_page(served)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(served.base + "label")
    page.wait_for_selector("#card .item")
    assert page.locator("#reading-chart").count() == 0
    label(page, truth, 4)
    drawn = "document.querySelector('#reading figcaption')?.textContent.startsWith"
    until(page, f"{drawn}('4 posts read')")
    page.locator("#reading summary").click()
    rows = page.locator("#reading tbody tr").all_inner_texts()
    assert [row.split() for row in rows][-1][0] == "4"
    picture = page.get_by_role("img", name="Relevant posts found against posts read")
    assert picture.bounding_box()["width"] <= width
    page.keyboard.press("u")
    until(page, f"{drawn}('3 posts read')")
    assert page.locator("#reading details[open]").count() == 1
    page.reload()
    until(page, f"{drawn}('3 posts read')")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert not [message for message in page.complaints if "favicon" not in message]


ODD_IDS = (
    "a\x01b",
    "a\x02b",
    "\x00",
    "n\nl",
    "c\r\nr",
    "t\x0bt",
    "\"q'<b>&amp;",
    "a/b/../c?d#e%20",
    "ü",
    "\U0001f30a\u200d\u202e",
    "=1+1",
    "\x85\u2028",
    "\ufeffid",
    "-",
    "é%C3%A9",
)


@pytest.mark.slow
def test_every_post_can_be_labeled_whatever_its_id_holds(tmp_path, serve, open_page):
    """A certificate needs certain posts; one that no request could name would stop it for good."""
    ids = [*ODD_IDS, *(f"{name}0" for name in ODD_IDS)]
    truth = found_before(tmp_path / "storm", relevant=len(ids) - 5, other=5, ids=ids)
    served = serve(tmp_path / "storm")
    served.json(
        "/api/plan", {"precision": ".5", "confidence": ".9", "budget": len(ids)}
    )
    page = open_page(served)
    page.goto(served.base + "label")
    asked = label(page, truth, 8)
    assert asked == 8
    page.keyboard.press("u")
    # Another queue before the server has answered: no post may be skipped for it.
    page.get_by_label("Posts to label").select_option("threshold")
    number = "document.querySelector('#progress').value.match(/\\d+/g).reduce((a, b) => a + +b, 0)"
    until(page, f"{number} === 7")
    assert asked - 1 + label(page, truth, 99) == len(ids)
    page.goto(served.base + "posts")
    page.get_by_label("group near-duplicates").uncheck()
    until(
        page,
        "n => document.querySelectorAll('#clusters > .item').length === n",
        len(ids),
    )
    item = page.locator("#clusters > .item[data-post='a%01b']")
    item.focus()
    page.keyboard.press("u")
    until(
        page,
        "document.querySelectorAll('#clusters > .item[data-label=\"\"]').length === 1",
    )
    assert page.complaints == []
    served.kill()
    served = serve(tmp_path / "storm")
    served.json("/api/certify", {})
    rows = [
        json.loads(row) for row in (tmp_path / "storm/labels.jsonl").open(newline="\n")
    ]
    gone = {row["undo"] for row in rows if "undo" in row}
    left = [row for row in rows if "undo" not in row and row["n"] not in gone]
    said = {row["post"]: row["label"] == "yes" for row in left}
    assert len(said) == len(ids) - 1 and said.items() <= truth.items()


@pytest.mark.slow
def test_numbers_as_people_write_them_and_the_certified_list(
    tmp_path, serve, open_page
):
    truth = found_before(tmp_path / "storm")
    served = serve(tmp_path / "storm")
    page = open_page(served)
    page.goto(served.base + "posts")
    page.get_by_label("The list ends by").select_option("score")
    cut = page.get_by_label("Threshold as a number")
    cut.fill("0,25")
    with page.expect_response("**/api/threshold"):
        cut.press("Enter")
    assert page.locator("#cut").input_value() == "0.25"
    cut.fill("a lot")
    cut.press("Enter")
    page.locator("#problem", has_text="expected a").wait_for()
    page.goto(served.base + "decide")
    page.get_by_label("Share of relevant posts").fill("0,8 90 %")
    page.get_by_label("Posts I am willing to label").fill("40")
    page.get_by_role("button", name="Fix the target").click()
    page.wait_for_url("**/label")
    assert (
        json.loads((tmp_path / "storm/project.json").read_text())["threshold"] == 0.25
    )
    label(page, truth, 40)
    page.goto(served.base + "decide")
    assert "--precision 0.8 --precision 0.9" in page.locator("#command").inner_text()
    (main,) = page.locator(".main").all()
    certified = re.search(r"[\d,]+ certified posts", main.inner_text())[0]
    # Who goes to the files directly is led to the certified list as well.
    page.goto(served.base + "hand-over")
    assert "with a score of 0.25" in page.locator(".lead").inner_text()
    assert certified in page.locator("button.main").first.inner_text()
    page.goto(served.base + "decide")
    page.locator("button.main").click()
    page.locator("#certified").wait_for()
    listed = list(csv.DictReader(io.StringIO(served.ask("/files/csv")[1].decode())))
    assert f"{len(listed)} certified posts" == certified
    certificate = json.loads(
        (tmp_path / "storm/searches/1/sheet.certificate.json").read_text()
    )
    assert len(listed) in {claim["posts"] for claim in certificate["claims"]}
    # What a reviewer asks, and the paragraph that is pasted into the paper.
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(served.base + "decide")
    page.get_by_role("button", name="Copy the paragraph").click()
    until(page, "document.querySelector('#copied').value !== ''")
    pasted = page.evaluate("navigator.clipboard.readText()")
    assert certified.replace("certified posts", "of 500 posts are certified") in pasted
    assert "The siamese_news authors. siamese_news (version" in pasted
    assert page.locator("#answers svg").count() == 3
    assert {text for text in page.complaints if "status of 400" not in text} == set()


@pytest.mark.slow
def test_what_is_labeled_blind_shows_nothing_of_the_score(tmp_path, serve, open_page):
    """Matched words and copies tell what the search thinks, and so would a colleague's label."""
    texts = [f"The wall at Quayle Sands has gone {n // 2}" for n in range(40)]
    truth = found_before(tmp_path / "storm", texts=texts)
    served = serve(tmp_path / "storm")
    copied = list(truth)[10]  # the next one is its copy
    served.json(
        "/api/labels",
        {"post": copied, "label": "no", "annotator": "ana", "together": True},
    )
    page = open_page(served)
    page.goto(served.base + "label")
    page.wait_for_selector("#card mark")
    assert page.locator("#card .score").count() == 1
    page.get_by_label("Posts to label").select_option("second")
    page.wait_for_selector("#card .copies")
    assert post_of(page) in list(truth)[10:12]
    page.locator("#card .copies summary").click()
    page.wait_for_selector("#card .copies .item")
    assert page.locator("#card :is(mark, .score, .meter, .rank)").count() == 0
    assert "ana" not in page.locator("#card").inner_text()
    page.goto(served.base + "posts")
    page.wait_for_selector("#clusters mark")


@pytest.mark.slow
def test_what_got_its_label_together_does_not_come(tmp_path, serve, open_page):
    texts = ["Sea wall at Quayle Sands has gone"] * 60
    found_before(tmp_path / "storm", texts=texts)
    served = serve(tmp_path / "storm")
    page = open_page(served)
    page.goto(served.base + "label")
    page.wait_for_selector("#card .item")
    page.get_by_label("Posts to label").select_option("threshold")
    page.wait_for_selector("#card .item")
    page.get_by_label("near-duplicates get the same label").check()
    page.locator("#card .item").focus()
    asked = label(
        page,
        dict.fromkeys((str(9_007_199_254_740_993 + n * 7) for n in range(60)), True),
        99,
    )
    assert asked == 57  # three of the sixty are near-duplicates of others
    assert page.locator("#problem").is_hidden() and page.complaints == []
    rows = [json.loads(line) for line in (tmp_path / "storm/labels.jsonl").open()]
    assert len(rows) == 57 and sum(len(row.get("copies", [])) for row in rows) == 3


@pytest.mark.slow
def test_a_bar_is_a_day_and_filters_leave_out(tmp_path, serve, open_page):
    found_before(tmp_path / "storm")
    served = serve(tmp_path / "storm")
    page = open_page(served)
    page.goto(served.base + "posts")
    found = "text => document.querySelector('#found').value === text"
    until(page, found, "475 found")
    page.locator("summary", has_text="Time").click()
    bar = page.locator("#timeline [data-slot='4']")
    assert bar.locator("title").text_content().startswith("05 Mar 2026: ")
    number = bar.locator("title").text_content().split()[3]
    bar.dispatch_event("click")
    until(page, found, f"{number} found")
    dates = page.locator("#clusters time").evaluate_all(
        "all => all.map(t => t.dateTime)"
    )
    assert {date[:10] for date in dates} == {"2026-03-05"} and len(dates) == int(number)
    assert page.get_by_label("From", exact=True).input_value() == "2026-03-05"
    page.get_by_role("button", name="All dates").click()
    until(page, found, "475 found")
    assert page.locator("#all-dates").is_hidden()
    page.get_by_label("Language").select_option("!de")
    page.get_by_label("Filter").fill("-quayle")
    until(page, "document.querySelector('#found').value !== '475 found'")
    until(page, "!document.querySelector('#clusters').textContent.includes('Quayle')")
    assert "de" not in page.locator("#clusters .lang").all_inner_texts()
    assert page.locator("#clusters .item").count() > 10
    assert page.complaints == []


@pytest.mark.slow
def test_the_whole_way(tmp_path, serve, open_page):
    truth = corpus(tmp_path / "posts.jsonl")
    project = tmp_path / "storm"
    served = serve(project)
    page = open_page(served)
    drop(page, "articles", "storm.txt", ARTICLE)
    drop(page, "posts", "posts.jsonl", (tmp_path / "posts.jsonl").read_text())
    page.get_by_text("Options").click()
    page.get_by_label("Keep posts by").select_option("score")
    page.get_by_label("of at least").fill("0.02")
    page.get_by_role("button", name="Search").click()
    page.wait_for_selector("#onward:not([hidden])", timeout=1000 * PATIENCE)
    page.get_by_role("link", name="See the posts").click()

    # The count beside the threshold is that of the list.
    page.wait_for_selector("#clusters .item")
    page.locator("#cut").focus()
    with page.expect_response("**/api/threshold"):
        for _ in range(60):
            page.keyboard.press("ArrowRight")
    page.get_by_label("only above the threshold").check()
    page.get_by_label("group near-duplicates").uncheck()
    above = int(page.locator("#above").inner_text().split()[0].replace(",", ""))
    until(page, "n => document.querySelector('#found').value === `${n} found`", above)
    page.get_by_label("Filter").fill("lantern")
    until(page, "document.querySelector('#found').value !== ''")
    until(
        page,
        "[...document.querySelectorAll('#clusters .item')].every("
        "item => item.textContent.toLowerCase().includes('lantern'))",
    )

    page.get_by_role("link", name="Decide").first.click()
    page.get_by_label("Share of relevant posts").fill(".9")
    page.get_by_label("Posts I am willing to label").fill("120")
    page.get_by_label("What counts as relevant").fill(
        "about the sea wall at Quayle Sands"
    )
    page.get_by_role("button", name="Fix the target").click()
    page.wait_for_url("**/label")
    given = label(page, truth, 25)
    assert given == 25
    served.kill()
    served = serve(project)
    page = open_page(served)
    page.goto(served.base + "label")
    given += label(page, truth, 200)
    assert 50 <= given <= 120
    rows = [
        json.loads(line) for line in (project / "labels.jsonl").read_text().splitlines()
    ]
    assert {row["post"]: row["label"] == "yes" for row in rows} == {
        row["post"]: truth[row["post"]] for row in rows
    }
    assert len(rows) == given

    page.get_by_role("link", name="Decide").first.click()
    page.get_by_role("button", name="Write the certificate").click()
    until(page, "document.querySelector('#written').value !== ''")
    sentence = page.locator(".claim").inner_text()
    page.get_by_role("button", name="Hand over ").click()
    page.wait_for_url("**/hand-over")
    files = {}
    for name in ("CSV", "Certificate", "Report"):
        with page.expect_download() as download:
            page.get_by_role("link", name=name, exact=True).click()
        files[name] = Path(download.value.path()).read_bytes()
    assert page.complaints == []
    assert {
        address.split("/")[2] for address in page.asked if address.startswith("http")
    } == {f"127.0.0.1:{served.port}"}

    # The same labels through the commands: the same sentence, the same list.
    copied = tmp_path / "copied"
    shutil.copytree(project, copied)
    said = _run("certify", "--labels", "searches/1/sheet.jsonl", folder=copied)
    assert sentence in said.stdout
    page_says = json.loads(files["Certificate"])
    command_says = json.loads(
        (copied / "searches/1/sheet.certificate.json").read_text()
    )
    assert page_says["claims"] == command_says["claims"]
    assert page_says["labels"]["used"] == command_says["labels"]["used"] == given
    # The list on the page is the certified one, not all posts over the threshold.
    listed = [row["post"] for row in csv.DictReader(io.StringIO(files["CSV"].decode()))]
    with (copied / "searches/1/sheet.certificate.csv").open(newline="") as stream:
        assert sorted(listed) == sorted(row["post"] for row in csv.DictReader(stream))
    assert len(listed) == page_says["claims"][0]["posts"]
    # With these labels the statement is also true.
    assert (
        sum(truth[post] for post in listed)
        >= page_says["claims"][0]["relevant_at_least"]
    )

    # The folder opens elsewhere, with every label.
    elsewhere = serve(copied)
    page = open_page(elsewhere)
    page.goto(elsewhere.base + "decide")
    assert page.locator(".claim").inner_text() == sentence


@pytest.mark.slow
def test_axe_finds_nothing_on_any_view(tmp_path, serve, open_page):
    axe = pytest.importorskip(
        AXE, reason="axe-playwright-python is not installed"
    ).AXE_SCRIPT
    found_before(tmp_path / "storm")
    served = serve(tmp_path / "storm")
    wrong = []
    for planned in (False, True):
        if planned:
            served.json(
                "/api/plan", {"precision": ".8", "confidence": ".9", "budget": 40}
            )
        for scheme in ("light", "dark"):
            for width in (1280, 380):
                viewport = {"width": width, "height": 900}
                page = open_page(served, color_scheme=scheme, viewport=viewport)
                for view in VIEWS:
                    page.goto(served.base + view)
                    if view in ("posts", "label"):
                        page.wait_for_selector(".item")
                    page.evaluate(
                        "document.querySelectorAll('details').forEach(d => { d.open = true; })"
                    )
                    lay_out(page)
                    page.evaluate(axe)
                    found = page.evaluate(
                        "axe.run(document, {resultTypes: ['violations']})"
                    )
                    assert len(found["passes"]) > 20
                    wrong += [
                        (view, scheme, width, broken["id"], node["html"][:200])
                        for broken in found["violations"]
                        for node in broken["nodes"]
                    ]
                    wide = page.evaluate(
                        "document.documentElement.scrollWidth > innerWidth"
                    )
                    wrong += [(view, scheme, width, "wider than the window")] * wide
                    out = page.locator(
                        ".panel :is(input, select, button, textarea)"
                    ).evaluate_all(
                        """all => { const right = e => e.getBoundingClientRect().right;
                        return all.filter(e => e.checkVisibility()
                        && !e.matches(".visually-hidden")
                        && right(e) > right(e.parentElement.closest("label, .panel")) + 1)
                        .map(e => e.outerHTML.slice(0, 80)); }"""
                    )
                    wrong += [(view, scheme, width, html) for html in out]
                assert page.complaints == []
    assert wrong == []


@pytest.mark.slow
def test_tab_reaches_every_control_and_shows_where_it_is(tmp_path, serve, open_page):
    found_before(tmp_path / "storm", relevant=8, other=8)
    served = serve(tmp_path / "storm")
    page = open_page(served)
    stops = "a[href], button, input, select, summary, textarea, [tabindex='0']"
    for view in VIEWS:
        page.goto(served.base + view)
        if view in ("posts", "label"):
            page.wait_for_selector(".item")
        wanted = page.locator(stops).evaluate_all(
            "all => all.filter(e => e.checkVisibility() && !e.disabled).length"
        )
        page.locator("#main").focus()
        page.evaluate(
            "document.activeElement.blur(); window.getSelection().removeAllRanges()"
        )
        for _ in range(wanted + 30):
            page.keyboard.press("Tab")
            page.evaluate(
                """() => { const e = document.activeElement; if (e === document.body) return;
                const drawn = s => s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 1;
                e.dataset.stop = [e, e.closest('label')].some(
                    x => x && drawn(getComputedStyle(x))) ? "seen" : "unseen"; }"""
            )
        reached = page.locator("[data-stop]").count()
        assert reached >= wanted, view
        unseen = page.locator("[data-stop=unseen]").evaluate_all(
            "all => all.map(e => e.outerHTML)"
        )
        assert [html[:150] for html in unseen if "item" not in html] == [], view


@pytest.mark.slow
def test_hostile_posts_stay_text(tmp_path, serve, open_page):
    from hostile import HOSTILE, hostile_text

    # Readers have replaced lone surrogates before a search sees them.
    texts = [hostile_text(n).encode("utf-8", "replace").decode() for n in range(5000)]
    ids = [f"{HOSTILE[n % len(HOSTILE)][:150]}{n}" for n in range(5000)]
    ids = [post.encode("utf-8", "replace").decode() for post in ids]
    found_before(tmp_path / "storm", texts=texts, ids=ids)
    served = serve(tmp_path / "storm")
    page = open_page(served)
    for view in ("posts", "label", "hand-over"):
        page.goto(served.base + view)
        if view != "hand-over":
            page.wait_for_selector(".item")
    page.goto(served.base + "posts")
    page.wait_for_selector(".item")
    for _ in range(20):
        before = page.locator("#clusters > .item").count()
        page.evaluate("document.querySelector('#end').scrollIntoView()")
        until(
            page,
            "n => document.querySelectorAll('#clusters > .item').length > n",
            before,
        )
    assert page.locator("#clusters > .item").count() >= 1000
    assert page.complaints == []
    assert (
        page.locator("#clusters :is(script, img, iframe, object, style, a)").count()
        == 0
    )
    assert {
        address.split("/")[2] for address in page.asked if address.startswith("http")
    } == {f"127.0.0.1:{served.port}"}


@pytest.mark.slow
def test_a_machine_and_two_coders_among_ten_thousand_posts(tmp_path, serve, open_page):
    truth = found_before(tmp_path / "storm", relevant=2000, other=8000)
    wrong = set(sorted(truth)[::7])
    verdicts = tmp_path / "gpt.csv"
    rows = [f"{post},{int(about != (post in wrong))}" for post, about in truth.items()]
    verdicts.write_text("\n".join(["post,verdict", *rows]), encoding="utf-8")
    served = serve(tmp_path / "storm")
    page = open_page(served)
    page.goto(served.base + "posts")
    page.locator("#learn-head").click()
    page.locator("#verdicts-file").set_input_files(verdicts)
    page.locator("#verdicts-name").fill("gpt")
    page.get_by_role("button", name="Use them").click()
    page.locator("#forget").wait_for(state="attached")

    page.goto(served.base + "label?kind=teach")
    assert label(page, truth, 15) == 15
    assert page.locator("#card .score").count() == 0
    page.keyboard.press("?")
    until(page, "document.querySelector('#progress').value.includes('1 unsure')")
    served.kill()
    served = serve(tmp_path / "storm")
    page = open_page(served)
    page.goto(served.base + "label?kind=unsure")
    unsure = post_of(page)
    page.keyboard.press("y" if truth[unsure] else "n")
    until(page, "!document.querySelector('#progress').value.includes('1 unsure')")

    second = open_page(served)
    second.goto(served.base + "label?kind=second")
    second.locator("#annotator").fill("Ida")
    second.locator("#annotator").blur()
    second.wait_for_selector("#card .item[data-label='']")
    assert "gpt" not in second.locator("#card").inner_text()
    assert label(second, truth, 30) == 16

    page.goto(served.base + "posts")
    page.locator("#learn-head").click()
    page.get_by_role("button", name="Learn from 16 labeled posts and gpt").click()
    page.locator("#learned").wait_for()
    assert "gpt counts 1 times as much" in page.locator("#learned").inner_text()

    page.goto(served.base + "decide")
    page.get_by_label("Share of relevant posts").fill(".9")
    page.get_by_label("Posts I am willing to label").fill("100")
    page.get_by_role("button", name="Fix the target").click()
    page.wait_for_url("**/label")
    page.locator("#kind").select_option("mixed")
    assert label(page, truth, 24) == 24
    assert " of 100 labels." in page.locator("#ahead").inner_text()
    page.goto(served.base + "decide")
    said = page.locator("main").inner_text()
    assert "gpt: labels of 10,000 of 10,000 posts." in said and "me and Ida" not in said
    assert "Ida and me both labeled 16 posts and differ on 0." in said
    assert "1 labels were changed" not in said and "1 label was changed" in said
    rows = [
        json.loads(line)
        for line in (tmp_path / "storm/labels.jsonl").read_text().splitlines()
    ]
    assert len(rows) == 15 + 1 + 1 + 16 + 24
    assert page.complaints == second.complaints == []
