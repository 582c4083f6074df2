"""Scores, labels and columns that say little: an answer in words, and nothing overwritten."""

import json

import numpy as np
import pytest
from sheet_commands import (
    certificate,
    certify,
    fill,
    finish,
    rows_of,
    run,
    save,
    scored,
    start,
)

from siamese_news_desk.decide.certificate import sentence_of
from siamese_news_desk.decide.plan.design import nested_sets


def pool(folder, scores, **columns):
    rows = [
        {"post": f"p{n}", "score": score, "text": f"text {n}"}
        | {name: value(n) for name, value in columns.items()}
        for n, score in enumerate(scores)
    ]
    (folder / "scored.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )


def holds(folder, name="sheet.certificate.json"):
    done = run("certify", "--check", folder / name)
    assert done.exit_code == 0, done.stderr


def test_scores_that_are_all_equal(tmp_path):
    pool(tmp_path, [0.5] * 300)
    done = start(tmp_path, "--budget", "60")
    said = (
        "All 300 posts have the same score: they are certified together or not at all"
    )
    assert said in done.stderr
    done, _ = finish(tmp_path, {f"p{n}" for n in range(300) if n % 2})
    assert (
        said in done.stderr
        and said in (tmp_path / "sheet.certificate.html").read_text()
    )
    (claim,) = certificate(tmp_path)["claims"]
    assert (
        claim["threshold"] is None
        and claim["posts"] == certificate(tmp_path)["labels"]["relevant"]
    )
    holds(tmp_path)


def test_equal_scores_of_relevant_posts_are_certified_together(tmp_path):
    pool(tmp_path, [0.5] * 300)
    start(tmp_path, "--budget", "60")
    finish(tmp_path, {f"p{n}" for n in range(300)})
    assert certificate(tmp_path)["claims"][0]["posts"] == 300
    holds(tmp_path)


def test_the_verdicts_of_a_classifier_as_scores(tmp_path):
    pool(tmp_path, [1] * 80 + [0] * 220)
    done = start(tmp_path, "--budget", "60")
    said = "The scores have 2 different values, and a list ends where the score changes: after 80 or"
    assert said in done.stderr
    finish(tmp_path, {f"p{n}" for n in range(80)})
    (claim,) = certificate(tmp_path)["claims"]
    assert (claim["threshold"], claim["posts"]) == (1.0, 80)
    holds(tmp_path)


def test_a_set_ends_before_many_equal_scores():
    ones = np.repeat([1.0, 0.0], [80, 220])
    assert nested_sets(ones, first_size=100).tolist() == [80, 300]
    assert nested_sets(np.repeat([1.0, 0.0], [9, 291]), first_size=100).tolist() == [
        300
    ]
    assert nested_sets(np.repeat([1.0, 0.0], [80, 120]), first_size=100).tolist() == [
        200
    ]
    assert nested_sets(np.repeat([1.0, 0.0], [150, 220]), first_size=100).tolist()[
        :1
    ] == [150]


@pytest.mark.parametrize("size", [1, 2, 10])
def test_a_list_that_is_smaller_than_the_plan(tmp_path, size):
    pool(tmp_path, [1 - n / 20 for n in range(size)])
    done = start(tmp_path)
    assert "so every post is asked for, and the result is certain" in done.stderr
    done, sheets = finish(tmp_path, {"p0", "p3"})
    assert len(rows_of(tmp_path / sheets[0])) == size and len(sheets) == 1
    (claim,) = certificate(tmp_path)["claims"]
    assert claim["exact"] and claim["posts"] == claim["relevant_at_least"] == (
        1 if size < 4 else 2
    )
    assert "This is certain" in done.stdout
    holds(tmp_path)


def test_every_post_is_labeled_and_none_is_relevant(tmp_path):
    pool(tmp_path, [1 - n / 20 for n in range(10)])
    start(tmp_path)
    done, _ = finish(tmp_path, set())
    assert (
        "Every one of the 10 posts was labeled and none is relevant as judged by"
        in done.stdout
    )
    assert not (tmp_path / "sheet.certificate.csv").exists()
    holds(tmp_path)


@pytest.mark.parametrize("skipped", [3, 12])
def test_every_post_is_labeled_and_some_are_skipped(tmp_path, skipped):
    pool(tmp_path, [1 - n / 20 for n in range(12)])
    start(tmp_path)
    rows = rows_of(tmp_path / "sheet.csv")
    labels = ["skip"] * skipped + ["0"] * (12 - skipped)
    save(
        tmp_path / "sheet.csv",
        [row | {"label": label} for row, label in zip(rows, labels, strict=True)],
    )
    done = certify(tmp_path)
    if skipped == 12:
        assert "Every labeled post was skipped, which counts as not" in done.stdout
        assert "was labeled and none is relevant" not in done.stdout
    else:
        assert "Every one of the 12 posts was labeled and none is rel" in done.stdout
        assert "3 skipped posts count as not relevant." in done.stdout
    holds(tmp_path)


def test_how_frequent_errors_are_is_said(tmp_path):
    scored(tmp_path / "scored.jsonl")
    start(tmp_path, "--budget", "40")  # a precision of .8
    sheet = tmp_path / "sheet.csv"
    fill(sheet, {row["post"] for row in rows_of(sheet)[:9]})
    done = certify(tmp_path)
    more = "errors are more frequent than the target allows, so more may not help"
    assert more in done.stdout
    content = certificate(tmp_path)
    (claim,) = content["claims"]
    claim["next_set"] = {"posts": 100, "labels": 25, "errors": 5}
    assert "about as frequent as the target allows" in sentence_of(content, claim)


def test_all_labels_are_skips(tmp_path):
    scored(tmp_path / "scored.jsonl")
    start(tmp_path, "--budget", "40")
    rows = rows_of(tmp_path / "sheet.csv")
    save(tmp_path / "sheet.csv", [row | {"label": "skip"} for row in rows])
    done = certify(tmp_path)
    assert "Every labeled post was skipped, which counts as not relevant" in done.stdout
    content = certificate(tmp_path)
    assert (
        content["labels"]["skipped"] == len(rows) and content["claims"][0]["posts"] == 0
    )
    assert dict(content["flow"])["skipped, which counts as not relevant"] == len(rows)
    assert "as frequent as the target allows" not in done.stdout
    assert not (tmp_path / "sheet.certificate.csv").exists()
    holds(tmp_path)


def test_all_labels_contradict_each_other(tmp_path):
    scored(tmp_path / "scored.jsonl")
    start(tmp_path, "--budget", "40")
    rows = rows_of(tmp_path / "sheet.csv")
    both = [row | {"label": label} for row in rows for label in "10"]
    save(tmp_path / "sheet.csv", both)
    done = certify(tmp_path)
    assert (
        "The labels of every labeled post contradict each other, which" in done.stdout
    )
    assert "skipped" not in done.stdout
    later = [path.name for path in tmp_path.glob("sheet.2.csv")]
    assert "as frequent as the target allows" not in done.stdout
    some = [row | {"label": "skip"} for row in rows[:3]] + both[6:]
    save(tmp_path / "sheet.csv", some)
    done = certify(tmp_path, "sheet.csv", *later)
    assert done.exit_code == 0, done.stderr
    assert "was skipped or has labels that contradict each other" in done.stdout


@pytest.mark.parametrize("precision", [".8", ".999"])
def test_no_label_yet(tmp_path, precision):
    scored(tmp_path / "scored.jsonl")
    start(tmp_path, "--budget", "40", precision=precision)
    done = certify(tmp_path)
    assert done.exit_code == 0, done.stderr
    assert "No post has a label yet, so there is no list." in done.stdout
    assert "errors are about as frequent" not in done.stdout
    assert "present rate" not in done.stdout


def test_too_few_labels_without_an_error(tmp_path):
    scored(tmp_path / "scored.jsonl")
    start(tmp_path, "--budget", "40", precision=".999")
    done, _ = finish(tmp_path, {f"p{n}" for n in range(600)})
    assert "No posts without a label are certified" in done.stdout
    assert "as frequent as the target allows" not in done.stdout


def test_more_labels_are_not_offered_where_every_post_has_one(tmp_path):
    scored(tmp_path / "scored.jsonl", size=10)
    start(tmp_path, "--budget", "60")
    done, _ = finish(tmp_path, {"p1", "p2"})
    assert "--more" not in done.stderr
    assert "done: 10 labels for every one of the 10 posts" in done.stderr


def test_one_annotator_of_two_always_says_yes(tmp_path):
    scored(tmp_path / "scored.jsonl")
    relevant = {f"p{n}" for n in range(0, 600, 2)}
    start(tmp_path, "--budget", "60")
    rows = rows_of(tmp_path / "sheet.csv")
    for who in ("ana", "ben"):
        for row in rows:
            row |= {
                "label": str(int(who == "ben" or row["post"] in relevant)),
                "annotator": who,
            }
        save(tmp_path / f"{who}.csv", rows)
    (tmp_path / "sheet.csv").unlink()
    done = certify(
        tmp_path, "ana.csv", "ben.csv", more=("--plan", tmp_path / "sheet.plan.json")
    )
    assert done.exit_code == 0, done.stderr
    content = certificate(tmp_path)
    agreed = sum(row["post"] in relevant for row in rows)
    assert content["labels"]["relevant"] == agreed == content["claims"][0]["posts"]
    assert (
        f"{len(rows) - agreed} posts with labels that contradict each other"
        in done.stderr
    )
    page = (tmp_path / "sheet.certificate.html").read_text()
    assert f"ben called every one of these {len(rows)} posts relevant" in page
    assert content["answers"]["people"]["shared"]["alpha"] < 0.1
    holds(tmp_path)


def test_labels_that_arrive_after_the_certificate(tmp_path):
    """Its list, its page and itself stay, under another name, and still hold."""
    scored(tmp_path / "scored.jsonl")
    start(tmp_path, "--budget", "60")
    done, sheets = finish(tmp_path, {f"p{n}" for n in range(0, 600, 2)})
    before = {
        ending: (tmp_path / f"sheet.certificate.{ending}").read_bytes()
        for ending in ("json", "csv", "html")
    }
    again = certify(tmp_path, *sheets)  # the same labels: nothing is moved
    assert "the certificate of the labels before" not in again.stderr
    kept = sorted(path.name for path in tmp_path.glob("*-of-60-labels*"))
    assert kept == []
    before = {
        ending: (tmp_path / f"sheet.certificate.{ending}").read_bytes()
        for ending in ("json", "csv", "html")
    }
    done = certify(tmp_path, *sheets, more=("--more", "20"))
    new = next(tmp_path.glob(f"sheet.{len(sheets) + 1}.csv"))
    assert "20 more posts to label" in done.stderr
    before["json"] = (tmp_path / "sheet.certificate.json").read_bytes()
    before["html"] = (tmp_path / "sheet.certificate.html").read_bytes()
    fill(new, {f"p{n}" for n in range(0, 600, 2)})
    done = certify(tmp_path, *sheets, new.name)
    kept = tmp_path / "sheet.certificate-of-60-labels.json"
    assert f"{kept}: the certificate of the labels before" in done.stderr
    for ending, content in before.items():
        assert kept.with_suffix(f".{ending}").read_bytes() == content
    assert certificate(tmp_path)["labels"]["used"] == 80
    holds(tmp_path)
    holds(tmp_path, kept.name)
    # A label of a sheet is changed: the former certificate no longer follows from its files.
    rows = rows_of(tmp_path / "sheet.csv")
    rows[0]["label"] = "0" if rows[0]["label"] == "1" else "1"
    save(tmp_path / "sheet.csv", rows)
    done = run("certify", "--check", kept)
    assert done.exit_code == 2 and "was changed" in done.stderr
    done = certify(tmp_path, *sheets, new.name)
    assert "1 verdict was changed after the result had been seen" in done.stdout
    assert (tmp_path / "sheet.certificate-of-80-labels.json").exists()


def test_a_column_with_one_post_a_group(tmp_path):
    pool(
        tmp_path,
        [1 - n / 700 for n in range(600)],
        url=lambda n: f"https://x/{n}",
        site=lambda n: "x",
    )
    start(tmp_path, "--budget", "150")
    done, sheets = finish(tmp_path, {f"p{n}" for n in range(400)})
    done = certify(tmp_path, *sheets, more=("--by", "url", "--by", "site"))
    assert done.exit_code == 0, done.stderr
    (answer,) = certificate(tmp_path)["answers"]["lists"]
    assert [group["rows"] for group in answer["groups"]] == [[], []]
    page = (tmp_path / "sheet.certificate.html").read_text()
    assert (
        "By url: Every post has a value of its own, so there are no groups to compare"
        in page
    )
    assert "By site: All posts of the list have one value, x." in page
    holds(tmp_path)
