"""Half an emoji, as a field that ends at a number of characters leaves it, in every text sent."""

import csv
import json

import pytest
from served import begun

HALF = "\ud83d"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    yield from begun(tmp_path_factory.mktemp("page"), 20, 20)


def test_a_note_with_half_an_emoji_is_a_label(page):
    served, truth, folder = page
    post = next(iter(truth))
    row = {
        "post": post,
        "label": "yes",
        "annotator": f"ana {HALF}",
        "note": f"sure {HALF}",
    }
    assert served.json("/api/labels", row)["label"] == "yes"
    line = json.loads((folder / "labels.jsonl").read_text().splitlines()[-1])
    assert (line["note"], line["annotator"]) == ("sure \ufffd", "ana \ufffd")
    status, content = served.ask("/files/labels")
    assert status == 200 and "sure \ufffd" in content.decode()
    assert (
        next(csv.DictReader(content.decode("utf-8-sig").splitlines()))["note"]
        == "sure \ufffd"
    )
    gone = served.json("/api/labels/undo", {"annotator": f"ana {HALF}"})
    assert gone == {"post": post}


@pytest.mark.parametrize(
    ("path", "row"),
    [
        ("/api/labels", {"post": HALF, "label": "yes", "annotator": "ana"}),
        ("/api/labels", {"post": "p", "label": HALF, "annotator": HALF}),
        ("/api/settings", {"criteria": HALF}),
        ("/api/pasted", {"text": f"An article {HALF}"}),
        ("/api/threshold", {"threshold": HALF}),
        (
            "/api/goals",
            {n: HALF for n in ("find", "recall", "confidence")},
        ),
        ("/api/plan", {"precision": HALF, "confidence": HALF, "budget": HALF}),
        ("/api/search", {"threshold": HALF, HALF: HALF, "about": HALF}),
        ("/api/labels/undo", {"annotator": HALF}),
    ],
)
def test_no_text_of_a_request_ends_in_an_error_of_the_server(page, path, row):
    served, _, _ = page
    status, content = served.ask(path, row)
    assert status in (200, 400), (status, content)
    assert json.loads(content).get("error") or status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/api/queue?kind=rank&leave=%5B%22%5Cud83d%22%5D&annotator=%ED%A0%BD",
        "/api/posts?words=%ED%A0%BD&seed=%ED%A0%BD&lang=%ED%A0%BD&start=%ED%A0%BD",
        "/api/copies/1?annotator=%ED%A0%BD",
        "/api/columns?text_field=%ED%A0%BD",
    ],
)
def test_no_address_does_either(page, path):
    served, _, _ = page
    status, content = served.ask(path)
    assert status in (200, 400), (status, content)


@pytest.mark.parametrize(
    "address", ["/api/labels/import?name=a.jsonl", "/api/verdicts?name=a.jsonl"]
)
def test_nor_does_an_uploaded_file(page, address):
    served, truth, _ = page
    rows = [{"post": post, "label": "1"} for post in [*list(truth)[:2], HALF]]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path = f"{address}&annotator=ana&machine=gpt"
    status, content = served.ask(path, data=data, method="PUT")
    assert status in (200, 400), (status, content)
