"""The first step after a search: twenty labels, and the relevance of the list is one's own."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from served import begun, found_before
from steps import PATIENCE, drop, until

from siamese_news.data.label_map import LabelMap

pytest.importorskip("siamese_news_desk")
WIDTHS = (1280, 390)


@pytest.fixture(scope="module")
def served_project(tmp_path_factory):
    yield from begun(tmp_path_factory.mktemp("page"), 240, 260)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("width", WIDTHS)
def test_twenty_labels_make_the_number_the_users_own(tmp_path, serve, open_page, width):
    folder = tmp_path / "storm"
    truth = found_before(folder, 240, 260)
    search = folder / "searches" / "1"
    meta = search / "results.parquet.meta.json"
    meta.write_text(
        json.dumps(json.loads(meta.read_text()) | {"about": {"storm": "event"}})
    )
    served = serve(folder)
    page = open_page(served, viewport={"width": width, "height": 900})
    page.goto(served.base + "posts")
    # The project's relevance is its score, which is too low: few posts have .5 or more.
    before = page.locator("#above").inner_text()
    assert "about the event" in before and "missed" in before
    assert "Estimated from other pools" in page.locator("#whose").inner_text()
    until(page, "document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("link", name="Label 20 posts").click()
    assert page.locator("#kind").input_value() == "relevance"
    for _ in range(20):
        item = page.locator("#card .item[data-label='']")
        item.wait_for()
        assert (
            item.locator(".relevance").count() == 0
        )  # a number would suggest the label
        post = item.get_attribute("data-post")
        page.keyboard.press("y" if truth[post] else "n")
        until(
            page,
            "post => document.querySelector('#card .item')?.dataset.post !== post",
            post,
        )
    until(page, "!document.querySelector('#empty').hidden")
    assert "worth now" in page.locator("#empty").inner_text()
    page.goto(served.base + "posts")
    own = page.locator("#own").inner_text()
    assert "20 of 20 labels" in own and "By 20 labels" in own
    assert "on the right side of .5" in own
    assert "By your 20 labels" in page.locator("#whose").inner_text()
    page.get_by_label("The list ends by").select_option("relevance")
    number = page.get_by_label("Threshold as a number")
    number.fill("0.5")
    with page.expect_response("**/api/threshold"):
        number.press("Enter")
    until(page, "before => document.querySelector('#above').value !== before", before)
    # The page counts by the map of its file, and this is nearer to the truth than the estimate was.
    labels = LabelMap.read(search / "relevance-map.json")
    table = pq.read_table(search / "results.parquet", columns=["post", "relevance"])
    relevance = labels.relevance(table["relevance"].to_numpy())
    kept = int((relevance >= 0.5).sum())
    line = page.locator("#above").inner_text()
    assert line.startswith(f"{kept} posts, about {relevance[:kept].sum():.0f} of them")
    assert f"about {relevance[kept:].sum():.0f} missed" in line
    right = sum(truth[post] for post in table["post"].to_pylist()[:kept])
    assert right / kept > 0.85 and right / 240 > 0.85
    printed = page.locator("#clusters .relevance").first
    assert "about the event, by your labels" in printed.get_attribute("title")
    until(page, "document.documentElement.scrollWidth <= innerWidth")
    # What is handed over has the same numbers.
    status, content = served.ask("/files/csv")
    assert status == 200
    rows = content.decode().splitlines()
    assert len(rows) >= kept
    assert f"{relevance[0]:g}"[:6] in rows[1]
    assert page.complaints == []


@pytest.mark.slow
def test_an_end_by_relevance_names_posts_found_and_missed(served_project, open_page):
    served, _, folder = served_project
    page = open_page(served)
    page.goto(served.base + "posts")
    path = folder / "searches" / "1" / "results.parquet"
    relevance = pq.read_table(path)["relevance"].to_numpy()
    page.get_by_label("The list ends by").select_option("relevance")
    number = page.get_by_label("Threshold as a number")
    for value in ("0.4", "0,1"):
        number.fill(value)
        with page.expect_response("**/api/threshold"):
            number.press("Enter")
        kept = int((relevance >= float(value.replace(",", "."))).sum())
        until(
            page,
            "line => document.querySelector('#above').value.startsWith(line)",
            f"{kept} posts, about {relevance[:kept].sum():.0f} of them relevant, "
            f"about {relevance[kept:].sum():.0f} missed",
        )


@pytest.mark.slow
def test_a_search_of_unknown_relevance_is_made_again_by_score(
    tmp_path, serve, open_page
):
    page = open_page(serve(tmp_path / "storm"))
    drop(page, "articles", "storm.txt", "Storm floods the old port")
    posts = [{"id": f"p{n}", "text": f"The storm, hour {n}"} for n in range(40)]
    drop(page, "posts", "posts.jsonl", "\n".join(map(json.dumps, posts)))
    page.get_by_role("button", name="Search").click()
    again = page.get_by_role("button", name="Search again and keep posts by score")
    again.wait_for(timeout=1000 * PATIENCE)
    assert "relevance, which is unknown here" in page.locator("#state").inner_text()
    page.reload()
    again.click()
    page.wait_for_selector("#onward:not([hidden])", timeout=1000 * PATIENCE)
    assert "Relevance is unknown" in page.locator("#state").inner_text()
    assert not again.is_visible()
    page.get_by_role("link", name="See the posts").click()
    page.get_by_role("link", name="Label 20 posts").wait_for()
    assert page.complaints == []


@pytest.mark.slow
def test_unknown_relevance_is_said_and_labels_mend_it(tmp_path, serve, open_page):
    folder = tmp_path / "storm"
    truth = found_before(folder, 40, 60)
    path = folder / "searches" / "1" / "results.parquet"
    table = pq.read_table(path)
    place = table.column_names.index("relevance")
    unknown = table.schema.field("relevance")
    pq.write_table(
        table.set_column(place, unknown, pa.nulls(len(table), unknown.type)), path
    )
    served = serve(folder)
    page = open_page(served)
    page.goto(served.base + "posts")
    assert "It is unknown here" in page.locator("#own").inner_text()
    assert "Relevance is unknown here" in page.locator("#whose").inner_text()
    options = page.locator("#cut-by option").all_text_contents()
    assert options == ["number of posts", "score"]
    queue = served.json("/api/queue?kind=relevance&annotator=a&leave=[]")
    labeled = 0
    while queue["posts"]:
        post = queue["posts"][0]["post"]
        label = "yes" if truth[post] else "no"
        served.json("/api/labels", {"post": post, "label": label, "annotator": "a"})
        labeled += 1
        queue = served.json("/api/queue?kind=relevance&annotator=a&leave=[]")
    assert labeled == 20
    page.reload()
    assert "Relevance is your own" in page.locator("#own").inner_text()
    assert page.locator("#cut-by option").first.inner_text() == "relevance"
    assert page.locator("#clusters .relevance").count() > 10
    # Labels that are taken back leave no map.
    for _ in range(11):
        served.json("/api/labels/undo", {"annotator": "a"})
    page.reload()
    assert "It is unknown here" in page.locator("#own").inner_text()


def test_a_list_of_fewer_than_ten_posts_is_to_be_read(tmp_path, serve, open_page):
    found_before(tmp_path / "storm", 4, 5)
    served = serve(tmp_path / "storm")
    page = open_page(served)
    page.goto(served.base + "posts")
    assert "read them all" in page.locator("#own").inner_text()
    page.goto(served.base + "label")
    assert page.locator("#kind option[value=relevance]").count() == 0
