"""Files that fall on the page: every name is taken, and every refusal stays to be read."""

import csv
import io
import json

import pytest
from steps import PATIENCE, drop, until
from tests.storm import ARTICLE, corpus

ODD = "What now? – it’s “here” & there! [1] #2 50%;.txt"
STORED = ODD.replace("?", "？")
DROP = """([kind, files]) => { const dropped = new DataTransfer();
for (const [name, text] of files) dropped.items.add(new File([text], name));
document.querySelector(`.drop[data-kind=${kind}]`).dispatchEvent(
    new DragEvent("drop", {dataTransfer: dropped, cancelable: true})); }"""


def refused(page, kind):
    return page.locator(f"#{kind}-refused li span").all_inner_texts()


def test_every_refused_file_keeps_its_message_until_it_is_dismissed(
    tmp_path, serve, open_page
):
    served = serve(tmp_path / "storm")
    page = open_page(served)
    files = [("empty.txt", ""), ("photo.png", "x"), (ODD, ARTICLE), ("run.py", "x")]
    page.evaluate(DROP, ["articles", files])
    page.evaluate(DROP, ["posts", [("notes.odt", "x")]])
    until(page, "document.querySelectorAll('.refused li').length === 4")
    empty, photo, run = refused(page, "articles")
    assert "empty.txt: the file is empty" in empty
    assert "photo.png: the ending" in photo and "run.py: the ending" in run
    assert "notes.odt" in refused(page, "posts")[0]
    assert page.locator("#articles-files .file").all_inner_texts() == [STORED]
    page.get_by_role("button", name="Dismiss: photo.png").click()
    # Another view and back; then the file comes again, and is a good one.
    page.goto(served.base + "posts")
    page.goto(served.base)
    assert refused(page, "articles") == [empty, run]
    drop(page, "articles", "empty.txt", "No longer empty")
    until(page, "document.querySelectorAll('#articles-refused li').length === 1")
    assert refused(page, "articles") == [run]
    page.get_by_role("button", name=f"Remove {STORED}").click()
    until(page, "document.querySelectorAll('#articles-files .file').length === 1")
    assert [path.name for path in (tmp_path / "storm/inputs/articles").iterdir()] == [
        "empty.txt"
    ]
    # What the server refuses is in the browser's own log; nothing else is.
    assert {text for text in page.complaints if "status of 400" not in text} == set()


@pytest.mark.slow
def test_an_odd_name_is_read_in_results_report_and_messages(tmp_path, serve, open_page):
    corpus(tmp_path / "posts.jsonl", relevant=40, other=60)
    served = serve(tmp_path / "storm")
    page = open_page(served)
    drop(page, "articles", ODD, "   ")
    drop(page, "articles", "b?.txt", " ")
    drop(page, "posts", "a?.jsonl", (tmp_path / "posts.jsonl").read_text())
    page.get_by_role("button", name="Search", exact=True).click()
    page.wait_for_selector("#state[data-state=failed]", timeout=1000 * PATIENCE)
    said = page.locator("#state").inner_text()
    assert (
        f"{STORED}: the article is empty" in said
        and "b？.txt: the article is empty" in said
    )
    page.get_by_role("button", name="Remove b？.txt").click()
    page.get_by_role("button", name=f"Remove {STORED}").click()
    until(page, "document.querySelectorAll('#articles-files .file').length === 0")
    drop(page, "articles", ODD, ARTICLE)
    page.get_by_role("button", name="Search", exact=True).click()
    page.wait_for_selector("#onward:not([hidden])", timeout=1000 * PATIENCE)
    # What was meant is read on the list, and changed there, also where no post was kept.
    searches = (
        ("event", "the event"),
        ("article", "this very article"),
        ("event", "the event"),
    )
    for about, words in searches:
        page.goto(served.base + "posts")
        number = json.loads((tmp_path / "storm/project.json").read_text())["search"]
        path = tmp_path / f"storm/searches/{number}/results.parquet.meta.json"
        meta = json.loads(path.read_text())
        assert set(meta["about"].values()) == {about}
        said = page.locator("#meant").inner_text()
        assert f"The search looked for: posts about {words}." in said
        assert (meta["counts"]["kept"] > 0) == (about == "event")
        if number < len(searches):
            page.locator("#meant [data-about]").click()
            page.wait_for_selector("#onward:not([hidden])", timeout=1000 * PATIENCE)
    name = STORED.removesuffix(".txt").replace(" ", "-")  # no blank may be in an id
    listed = csv.DictReader(io.StringIO(served.ask("/files/csv")[1].decode()))
    assert {row["article"] for row in listed} == {name}
    assert ARTICLE.split("\n")[0] in served.ask("/files/report")[1].decode()


@pytest.mark.slow
def test_the_columns_of_a_table_are_chosen_from_samples(tmp_path, serve, open_page):
    rows = [("N1", "Küste", "2026-03-01 10:00", "Sea wall at Quayle Sands has gone")]
    rows += [
        (f"N{n}", "Stadt", "2026-03-02 11:00", f"New bakery in my street {n}")
        for n in (2, 3)
    ]
    table = "\n".join(
        ";".join(row) for row in [("Kennung", "Rubrik", "Zeitpunkt", "Wortlaut"), *rows]
    )
    served = serve(tmp_path / "storm")
    page = open_page(served)
    drop(page, "posts", "known.jsonl", '{"id": "1", "text": "a"}\n')
    page.wait_for_timeout(300)
    assert page.locator("#columns").is_hidden()
    drop(page, "posts", "Ausfuhr?.csv", table)
    page.locator("#columns").wait_for()
    assert "Which columns of Ausfuhr？.csv" in page.locator("#columns-of").inner_text()
    shown = page.locator("#columns tbody tr").all_inner_texts()
    assert shown[3].split() == [
        "Wortlaut",
        *rows[0][3].split(),
        "·",
        *rows[1][3].split(),
        "·",
        *rows[2][3].split(),
    ]
    page.locator("#posts-files").get_by_role(
        "button", name="Remove known.jsonl"
    ).click()
    page.locator("#columns [data-field=text_field]").select_option("Wortlaut")
    page.locator("#columns [data-field=id_field]").select_option("Kennung")
    page.locator("#columns [data-field=date_field]").select_option("Zeitpunkt")
    page.locator("#columns-of", has_text="understood").wait_for()
    drop(page, "articles", "storm.txt", ARTICLE)
    page.get_by_text("Options").click()
    assert page.get_by_label("Column with the text").input_value() == "Wortlaut"
    page.get_by_label("Keep posts by").select_option("score")
    page.get_by_label("of at least").fill("-1")
    page.get_by_role("button", name="Search", exact=True).click()
    page.wait_for_selector("#onward:not([hidden])", timeout=1000 * PATIENCE)
    listed = list(csv.DictReader(io.StringIO(served.ask("/files/csv")[1].decode())))
    assert {row["post"]: row["text"] for row in listed} == {
        row[0]: row[3] for row in rows
    }
    assert {row["created_at"][:10] for row in listed} == {"2026-03-01", "2026-03-02"}
    assert page.complaints == []
