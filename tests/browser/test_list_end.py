"""The list ends by relevance, after a number of posts or at a score, in every view alike."""

import json
import re
import shutil

import pytest
from served import begun, found_before
from steps import until

pytest.importorskip("siamese_news_desk")
WIDTHS = (1280, 390)
# Posts of the project with at least this relevance, by the file of results.
_RELEVANT = 0.5


@pytest.fixture(scope="module")
def served_project(tmp_path_factory):
    for served, _, folder in begun(tmp_path_factory.mktemp("page"), 240, 260):
        yield served, folder


def relevance_of(folder):
    import pyarrow.parquet as pq

    path = folder / "searches" / "1" / "results.parquet"
    return pq.read_table(path, columns=["relevance"])["relevance"].to_pylist()


def choose(page, by, value):
    page.get_by_label("The list ends by").select_option(by)
    number = page.get_by_label("Threshold as a number")
    number.fill(value)
    with page.expect_response("**/api/threshold"):
        number.press("Enter")


def above(page):
    return int(page.locator("#above").inner_text().split()[0].replace(",", ""))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_list_ends_where_it_is_told_and_handing_over_says_the_same(
    served_project, open_page, width
):
    served, folder = served_project
    relevance = relevance_of(folder)
    page = open_page(served, viewport={"width": width, "height": 900})
    page.goto(served.base + "posts")
    for by, value, posts in (
        ("relevance", "0,5", sum(each >= 0.5 for each in relevance)),
        ("posts", "40", 40),
        ("score", "0.4", sum(each >= 0.4 for each in relevance)),
    ):
        choose(page, by, value)
        until(
            page,
            "n => document.querySelector('#above').value.startsWith(n)",
            f"{posts} post",
        )
    # The last choice was by score; the other two numbers are of the same posts.
    page.get_by_label("The list ends by").select_option("posts")
    assert page.get_by_label("Threshold as a number").input_value() == str(posts)
    page.get_by_label("The list ends by").select_option("score")
    score = page.get_by_label("Threshold as a number").input_value()
    page.goto(served.base + "hand-over")
    lead = page.locator(".lead").inner_text()
    assert f"{posts} posts with a score of {score} or more" in lead
    until(page, "document.documentElement.scrollWidth <= innerWidth")
    assert page.complaints == []


def test_what_is_no_number_is_refused_until_a_right_one_comes(
    served_project, open_page
):
    served, _ = served_project
    page = open_page(served)
    page.goto(served.base + "posts")
    choose(page, "posts", "40")
    wrong = (("relevance", "half"), ("posts", ""), ("score", "9"))
    for posts, (by, value) in enumerate(wrong, 40):
        choose(page, by, value)
        page.locator("#problem", has_text="expected a").wait_for()
        assert above(page) == posts
        choose(page, "posts", str(posts + 1))
        until(page, "document.querySelector('#problem').hidden")
    # A list without a post has a short score, and no share of relevant posts.
    choose(page, "posts", "0")
    until(page, "document.querySelector('#above').value.startsWith('0 posts')")
    assert "of these posts" not in page.locator("#whose").inner_text()
    page.get_by_label("The list ends by").select_option("score")
    score = page.get_by_label("Threshold as a number").input_value()
    assert re.fullmatch(r"\d\.\d{1,6}", score)


@pytest.mark.slow
def test_relevant_posts_that_the_list_leaves_out_are_counted(served_project, open_page):
    served, folder = served_project
    missed = sum(relevance_of(folder)[10:])
    page = open_page(served)
    page.goto(served.base + "posts")
    choose(page, "posts", "10")
    line = f"about {missed:.0f} missed"
    until(page, "line => document.querySelector('#above').value.includes(line)", line)


def test_what_prints_as_half_is_at_least_half(served_project, open_page):
    served, folder = served_project
    relevance = relevance_of(folder)
    page = open_page(served)
    page.goto(served.base + "posts")
    choose(page, "relevance", "0.5")
    for _ in range(2):  # as it is typed, and read again
        number = page.get_by_label("Threshold as a number")
        assert number.input_value() == "0.5"
        assert "(relevance 0.5 or more)" in page.locator("#above").inner_text()
        page.reload()
    page.get_by_label("only above the threshold").check()
    kept = sum(each >= _RELEVANT for each in relevance)
    until(page, "n => document.querySelector('#found').value === n", f"{kept} found")
    printed = page.locator("#clusters .relevance").all_text_contents()
    numbers = [float(re.search(r"0\.\d\d", text)[0]) for text in printed]
    expected = [int(100 * each + 1e-9) / 100 for each in relevance[: len(numbers)]]
    assert numbers == expected and min(numbers) >= _RELEVANT


@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.parametrize("width", WIDTHS)
def test_a_box_is_next_to_its_words_and_a_command_is_there_before_a_search(
    tmp_path, serve, open_page, width
):
    served = serve(tmp_path / "storm")
    page = open_page(served, viewport={"width": width, "height": 900})
    page.goto(served.base)
    page.locator("summary", has_text="Options").click()
    boxes = page.evaluate(
        """() => [...document.querySelectorAll('label.check')].map((label) => {
          const box = label.querySelector('input').getBoundingClientRect();
          const range = document.createRange();
          range.selectNodeContents([...label.childNodes].find((node) => node.textContent.trim()));
          return [range.getClientRects()[0].left - box.right, box.width];
        })"""
    )
    assert len(boxes) >= 2
    assert all(0 <= gap <= 16 and size <= 24 for gap, size in boxes), boxes
    command = page.locator("#command").inner_text()
    assert "none yet: add an article" in command
    story = {
        "name": "story.txt",
        "mimeType": "text/plain",
        "buffer": b"The weir gave way.",
    }
    posts = b"id,text\n1,the weir of the mill gave way\n"
    for kind, file in (
        ("articles", story),
        ("posts", {"name": "p.csv", "mimeType": "text/csv", "buffer": posts}),
    ):
        page.locator(f".drop[data-kind={kind}] input[type=file]").set_input_files(file)
        page.locator(f"#{kind}-files", has_text=file["name"]).wait_for()
    command = page.locator("#command").inner_text()
    assert "filter --articles inputs/articles --posts inputs/posts" in command
    assert "--threshold 0.05" in command
    until(page, "document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_a_table_breaks_no_number_and_the_cost_of_earlier_plans_is_named(
    tmp_path, serve, open_page, width
):
    truth = found_before(tmp_path / "storm", 1100, 300)
    served = serve(tmp_path / "storm")
    row = {"precision": ".8", "confidence": ".95", "budget": 60}
    served.json("/api/plan", row)
    for _ in range(12):
        queue = served.json("/api/queue?kind=sample&annotator=a&leave=[]")
        post = queue["posts"][0]["post"]
        label = "yes" if truth[post] else "no"
        served.json("/api/labels", {"post": post, "label": label, "annotator": "a"})
    page = open_page(served, viewport={"width": width, "height": 900})
    page.goto(served.base + "decide")
    broken = page.evaluate(
        """() => [...document.querySelectorAll('td.number')].filter((cell) => {
          const range = document.createRange();
          range.selectNodeContents(cell);
          return new Set([...range.getClientRects()].map((box) => box.top)).size > 1;
        }).map((cell) => cell.textContent)"""
    )
    assert page.locator("td.number").count() > 4 and broken == []
    # A plan for the list of a second search over the same posts pays for the first.
    served.end()
    searches = tmp_path / "storm/searches"
    names = ("results.parquet", "results.parquet.meta.json", "search.json")
    (searches / "2").mkdir()
    for name in names:
        shutil.copy(searches / "1" / name, searches / "2" / name)
    project = tmp_path / "storm/project.json"
    project.write_text(json.dumps({**json.loads(project.read_text()), "search": 2}))
    served = serve(tmp_path / "storm")
    page = open_page(served, viewport={"width": width, "height": 900})
    page.goto(served.base + "decide")
    assert (
        "1 plan was made for these posts already"
        in page.locator("#earlier").inner_text()
    )
    served.json("/api/plan", {**row, "precision": ".75", "again": True})
    for _ in range(40):
        queue = served.json("/api/queue?kind=sample&annotator=a&leave=[]")["posts"]
        if not queue:
            break
        post = queue[0]["post"]
        label = "yes" if truth[post] else "no"
        served.json("/api/labels", {"post": post, "label": label, "annotator": "a"})
    served.json("/api/certify", {})
    certificate = searches / "2/sheet.certificate.json"
    content = json.loads(certificate.read_text())
    assert content["confidence"] == pytest.approx(0.9)
    page.goto(served.base + "hand-over")
    text = page.locator("main").inner_text()
    assert "with confidence 0.9 (.95 was chosen; 1 earlier plan" in text


def test_the_labels_that_a_certificate_of_the_list_needs_are_said(
    served_project, open_page
):
    served, folder = served_project
    relevance = relevance_of(folder)
    page = open_page(served)
    page.goto(served.base + "posts")
    for posts in (10, len(relevance)):
        share = sum(relevance[:posts]) / posts
        choose(page, "posts", str(posts))
        said = "needs about" if share > 0.97 else "ends the list higher"
        until(page, "w => document.querySelector('#whose').value.includes(w)", said)
