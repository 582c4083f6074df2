"""`siamese-news sample` and `certify` as a user runs them, on files of every kind."""

import json
import re
import subprocess
import sys

import pytest
from sheet_commands import (
    certificate,
    certify,
    fill,
    finish,
    own_text,
    rows_of,
    run,
    save,
    scored,
    start,
)
from tests.commands import in_own_process


@pytest.fixture
def pool(tmp_path):
    return tmp_path, scored(tmp_path / "scored.jsonl")


def test_the_sheet_shows_neither_score_nor_rank(pool):
    folder, _ = pool
    done = start(folder, "--criteria", "about the flood")
    assert done.exit_code == 0, done.stderr
    rows = rows_of(folder / "sheet.csv")
    assert list(rows[0]) == [
        "key",
        "label",
        "text",
        "link",
        "article",
        "post",
        "note",
        "check",
    ]
    assert all(row["text"].startswith("text ") and not row["label"] for row in rows)
    plan = json.loads((folder / "sheet.plan.json").read_text())
    assert plan["settings"]["budget"] == 300 and plan["criteria"] == "about the flood"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["scored.jsonl", "scored.csv", "scored.parquet"])
def test_from_scores_to_a_certificate_that_is_true(tmp_path, name):
    relevant = scored(tmp_path / name)
    done = start(tmp_path, results=name)
    assert done.exit_code == 0, done.stderr
    done, sheets = finish(tmp_path, relevant)
    claim = certificate(tmp_path)["claims"][0]
    assert claim["posts"] > 200
    assert f"{claim['posts']} of 600 posts are certified" in done.stdout
    assert f"a score of {claim['threshold']:g} or more" in done.stdout
    assert (
        f"without the {claim['taken_out']} that were labeled not relevant"
        in done.stdout
    )
    found = {row["post"] for row in rows_of(tmp_path / "sheet.certificate.csv")}
    above = {
        f"p{n}" for n in range(600) if round(0.9 - n / 600, 6) >= claim["threshold"]
    }
    said = [row for sheet in sheets for row in rows_of(tmp_path / sheet)]
    wrong = {row["post"] for row in said if row["post"] not in relevant}
    below = {row["post"] for row in said if row["post"] in relevant} - above
    assert found == above - wrong | below and len(found) == claim["posts"]
    assert (len(above & wrong), len(below)) == (claim["taken_out"], claim["put_in"])
    assert len(found & relevant) >= claim["relevant_at_least"] >= 0.8 * len(found)
    assert certificate(tmp_path)["labels"]["used"] <= 300
    page = (tmp_path / "sheet.certificate.html").read_text()
    assert (
        "The last sets that were tested" in page
        and "Precision .8" in page
        and str(claim["relevant_at_least"]) in page
    )
    again = run("certify", "--check", tmp_path / "sheet.certificate.json")
    assert again.exit_code == 0 and "holds" in again.stderr


def test_the_sentence_is_about_plans_and_names_a_score_that_selects_the_same_posts(
    tmp_path,
):
    """A certificate that few plans lead to is wrong more often than one in twenty of its kind."""
    relevant = scored(tmp_path / "scored.jsonl")
    rows = [
        json.loads(line)
        for line in (tmp_path / "scored.jsonl").read_text().splitlines()
    ]
    for row in rows:  # all scores are the same in six digits
        row["score"] = 0.75 - row["rank"] * 1e-9
    (tmp_path / "scored.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )
    start(tmp_path)
    done, _ = finish(tmp_path, relevant)
    assert (
        "of a hundred such plans, each with its own random order, at most 5 on average lead to a "
        "wrong certificate"
    ) in done.stdout
    claim = certificate(tmp_path)["claims"][0]
    score = float(re.search(r"a score of (\S+) or more", done.stdout)[1])
    above = sum(row["score"] >= score for row in rows)
    assert above == claim["posts"] + claim["taken_out"] - claim["put_in"] > 200
    listed = rows_of(tmp_path / "sheet.certificate.csv")
    scores = {row["post"]: row["score"] for row in rows}
    assert all(float(row["score"]) == scores[row["post"]] for row in listed)


@pytest.mark.parametrize("noise", [(), ("--false-positive-rate", ".05")])
def test_without_a_certificate_the_sentence_tells_what_the_user_holds(tmp_path, noise):
    scored(tmp_path / "scored.jsonl")
    relevant = {f"p{n}" for n in range(0, 600, 2)}
    start(tmp_path, "--budget", "60", *noise)
    done, sheets = finish(tmp_path, relevant)
    content = certificate(tmp_path)
    assert content["claims"][0]["threshold"] is None
    labeled = [row["post"] for sheet in sheets for row in rows_of(tmp_path / sheet)]
    held = len(relevant & set(labeled))
    assert held == content["labels"]["relevant"] > 0
    assert "No posts without a label are certified at a precision of .8" in done.stdout
    said = f"The list is the {held} posts that were labeled relevant"
    more = (
        "; some of them may not be so in truth"
        if noise
        else ": it is without an error as judged"
    )
    assert said + more in done.stdout
    assert said + more in (tmp_path / "sheet.certificate.html").read_text()
    assert content["labels"]["used"] == 60 and content["choice"] is None
    listed = rows_of(tmp_path / "sheet.certificate.csv")
    assert {row["post"] for row in listed} == relevant & set(labeled)
    assert list(listed[0])[2:] == ["labeled relevant" if noise else "precision .8"]
    assert content["claims"][0]["relevant_at_least"] == (0 if noise else held)
    check = run("certify", "--check", tmp_path / "sheet.certificate.json")
    assert check.exit_code == 0, check.stderr


def test_every_format_gives_the_same_certificate(tmp_path):
    relevant = scored(tmp_path / "scored.jsonl")
    claims = []
    for ending in ("csv", "jsonl", "json", "prodigy.jsonl"):
        own = tmp_path / ending.replace(".", "")
        own.mkdir()
        (own / "scored.jsonl").write_bytes((tmp_path / "scored.jsonl").read_bytes())
        assert start(own, "--at-least", "30", out=f"sheet.{ending}").exit_code == 0
        answer(own / f"sheet.{ending}", ending, relevant)
        done = certify(own, f"sheet.{ending}")
        assert done.exit_code == 0, done.stderr
        claims.append(certificate(own)["claims"])
        assert certificate(own)["labels"]["used"] == 30
    assert (
        all(claim == claims[0] for claim in claims)
        and claims[0][0]["sets_certified"] > 0
    )


def answer(sheet, ending, relevant):
    """What the other programs write."""
    if ending == "csv":
        fill(sheet, relevant)
    elif ending == "jsonl":
        rows = [json.loads(line) for line in sheet.read_text().splitlines()]
        lines = [
            json.dumps({**row, "label": row["post"] in relevant}) + "\n" for row in rows
        ]
        sheet.write_text("".join(lines))
    elif ending == "json":
        tasks = json.loads(sheet.read_text())
        for number, task in enumerate(tasks, 1):
            choice = "relevant" if task["data"]["post"] in relevant else "not relevant"
            result = {"type": "choices", "value": {"choices": [choice]}}
            task |= {
                "id": number,
                "annotations": [{"result": [result], "was_cancelled": False}],
            }
        sheet.write_text(json.dumps(tasks))
    else:
        rows = [json.loads(line) for line in sheet.read_text().splitlines()]
        for row in rows:
            row["answer"] = "accept" if row["meta"]["post"] in relevant else "reject"
        sheet.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_labels_later_give_the_certificate_of_all_at_once(pool):
    folder, relevant = pool
    start(folder)
    _, sheets = finish(folder, relevant)
    later = certificate(folder)["claims"]
    for sheet in sheets[1:]:
        assert rows_of(folder / sheet)
    for path in folder.glob("sheet.certificate.*"):
        path.unlink()
    assert certify(folder, *reversed(sheets)).exit_code == 0
    assert certificate(folder)["claims"] == later


def test_more_labels_than_planned_go_on_with_the_same_plan(pool):
    folder, relevant = pool
    start(folder, "--budget", "60")
    finish(folder, relevant)
    before = certificate(folder)
    sheets = [
        path.name for path in folder.glob("sheet*.csv") if "cert" not in path.name
    ]
    done = certify(folder, *sheets, more=("--more", "40"))
    assert "more posts to label" in done.stderr
    fill(folder / re.search(r"([^/\s]+): \d+ more posts", done.stderr)[1], relevant)
    sheets = [
        path.name for path in folder.glob("sheet*.csv") if "cert" not in path.name
    ]
    assert certify(folder, *sheets).exit_code == 0
    after = certificate(folder)
    assert after["labels"]["used"] > 60 >= before["labels"]["used"]
    # The set is no smaller; the list may be, for more errors are known.
    sets = [
        found["claims"][0]["posts"]
        + found["claims"][0]["taken_out"]
        - found["claims"][0]["put_in"]
        for found in (before, after)
    ]
    assert sets[1] >= sets[0] > 0
    assert after["claims"] != before["claims"]
    assert after["confidence"] == before["confidence"] == 0.95


def test_several_targets_share_one_order_and_say_what_holds_together(pool):
    folder, relevant = pool
    done = start(folder, "--precision", ".9")
    assert "0.95 for each target, 0.9 for all together" in done.stderr
    finish(folder, relevant)
    claims = certificate(folder)["claims"]
    assert [claim["target"] for claim in claims] == [".8", ".9"]
    assert claims[0]["posts"] >= claims[1]["posts"] > 0
    assert certificate(folder)["joint_confidence"] == 0.9


def test_the_next_command_can_be_copied_for_a_name_with_a_blank(pool):
    folder, _ = pool
    done = start(folder, out="my sheet.csv")
    assert done.stderr.rstrip().endswith(
        f"certify --labels '{folder / 'my sheet.csv'}'"
    )
    missing = run("certify", "--labels", folder / "my sheets.csv")
    assert missing.exit_code == 2 and "no such sheet" in missing.stderr


def test_a_text_is_labeled_once(tmp_path):
    relevant = scored(tmp_path / "scored.jsonl", text=lambda n: f"text {n // 3}")
    start(tmp_path, "--at-least", "50", "--budget", "100")  # of 200 texts
    rows = rows_of(tmp_path / "sheet.csv")
    assert len({row["text"] for row in rows}) == len(rows)
    done, _ = finish(
        tmp_path, {f"p{n}" for n in range(600) if f"p{n // 3 * 3}" in relevant}
    )
    used = certificate(tmp_path)
    (claim,) = used["claims"]
    assert 0 < claim["labels_given"] < claim["labels_of_the_set"]
    assert f"come from {claim['labels_given']} labels, because" in done.stdout
    steps = used["claims"][0]["descent"]
    assert max(labels for _, labels, _, _ in steps) > 0
    assert used["labels"]["used"] <= 200


def test_an_annotator_who_errs_on_copies_alike(tmp_path):
    """Declared errors make the tables stricter, the more so where a text has many copies."""
    nulls = []
    for copies in (1, 2, 30):
        scored(
            tmp_path / "scored.jsonl",
            ids=lambda n, c=copies: f"c{c}-{n}",
            text=lambda n, c=copies: f"one of {c} copies {n // c}",
        )
        name = f"{copies}.csv"
        more = ("--false-positive-rate", ".05", "--at-least", "60")
        done = start(tmp_path, *more, out=name)
        if copies == 30:
            assert done.exit_code == 2 and "copies share one" in done.stderr
            assert not (tmp_path / "30.plan.json").exists()
            break
        relevant = {f"c{copies}-{n}" for n in range(480)}
        finish(tmp_path, relevant, sheet=name)
        found = json.loads((tmp_path / f"{copies}.certificate.json").read_text())
        assert "independent errors on different texts" in found["judged"]
        assert found["claims"][0]["posts"] > 0
        nulls.append(
            json.loads((tmp_path / f"{copies}.plan.json").read_text())["nulls"][0][0]
        )
    assert 31 > nulls[0] > nulls[1] > 0


def test_both_declared_rates_are_in_the_sentence(tmp_path):
    """A fifth of the pool is irrelevant: what is certified rests on the labels that are missed."""
    scored(tmp_path / "scored.jsonl", size=400)
    rates = ("--false-positive-rate", ".01", "--false-negative-rate", ".3")
    assert start(tmp_path, *rates, precision=".9").exit_code == 0
    done, _ = finish(tmp_path, {f"p{n}" for n in range(400) if n % 6})
    said = " ".join(done.stdout.split())
    assert "400 of 400 posts are certified" in said
    assert (
        "at most 0.01 of the irrelevant posts relevant and misses at least 0.3 of"
        in said
    )
    # A post that is drawn but not labeled counts as an error, not as a copy.
    assert "because copies of a text share one label" not in said


def test_posts_without_words_are_no_copies(tmp_path):
    scored(tmp_path / "scored.jsonl", text=lambda n: "" if n else "a text")
    assert start(tmp_path, "--at-least", "30").exit_code == 0
    assert len(rows_of(tmp_path / "sheet.csv")) == 30


def test_nothing_is_written_without_a_text_to_label(tmp_path):
    scored(tmp_path / "scored.jsonl", text=lambda n: "")
    before = sorted(tmp_path.iterdir())
    done = start(tmp_path)
    assert done.exit_code == 2 and "scored.jsonl: has no texts" in done.stderr
    assert "--posts" in done.stderr and "delete" not in done.stderr
    assert sorted(tmp_path.iterdir()) == before
    posts = [{"id": f"p{n}", "text": f"text {n}"} for n in range(600)]
    (tmp_path / "posts.jsonl").write_text("".join(json.dumps(p) + "\n" for p in posts))
    assert start(tmp_path, "--posts", tmp_path / "posts.jsonl").exit_code == 0


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_results_with_the_name_of_a_sheet_are_none(tmp_path, ending):
    relevant = scored(tmp_path / f"scored.{ending}")
    other = "csv" if ending == "jsonl" else "jsonl"
    scored(tmp_path / f"scored.3.{ending}")  # of another search
    sheet = f"scored.{other}"
    assert start(tmp_path, results=f"scored.{ending}", out=sheet).exit_code == 0
    if other == "csv":
        fill(tmp_path / sheet, relevant)
    done = certify(tmp_path, sheet)
    assert done.exit_code == 0, done.stderr
    if other == "csv":
        assert "scored.2.csv" in done.stderr
        refused = certify(tmp_path, "scored.2.csv")
        assert refused.exit_code == 2 and "scored.csv" in refused.stderr


def test_a_year_in_the_name_of_a_sheet_is_not_its_number(tmp_path):
    relevant = scored(tmp_path / "scored.jsonl")
    for seed, sheet in enumerate(("storm.2025.csv", "storm.2026.csv")):
        done = start(tmp_path, "--again", "--seed", seed, out=sheet)
        assert done.exit_code == 0, done.stderr
    assert (tmp_path / "storm.2026.plan.json").exists()
    fill(tmp_path / "storm.2026.csv", relevant)
    done = certify(tmp_path, "storm.2026.csv")
    assert done.exit_code == 0, done.stderr
    assert "storm.2026.2.csv" in done.stderr
    assert certify(tmp_path, "storm.2026.csv", "storm.2026.2.csv").exit_code == 0


def test_a_sheet_in_another_folder_than_the_results(tmp_path):
    (tmp_path / "search").mkdir()
    (tmp_path / "labels").mkdir()
    relevant = scored(tmp_path / "search" / "scored.jsonl")
    assert (
        start(tmp_path, results="search/scored.jsonl", out="labels/sheet.csv").exit_code
        == 0
    )
    fill(tmp_path / "labels" / "sheet.csv", relevant)
    done = certify(tmp_path, "labels/sheet.csv")
    assert done.exit_code == 0, done.stderr
    done = run("certify", "--check", tmp_path / "labels")
    assert done.exit_code == 0, done.stderr
    moved = (tmp_path / "search" / "scored.jsonl").rename(
        tmp_path / "labels" / "scored.jsonl"
    )
    done = run("certify", "--check", tmp_path / "labels")
    assert done.exit_code == 0, done.stderr
    moved.unlink()
    done = certify(tmp_path, "labels/sheet.csv")
    assert done.exit_code == 2 and "name the scored posts with --results" in done.stderr


@pytest.mark.parametrize("named", ["dump/posts.jsonl", "dump"])
def test_texts_come_from_the_posts_where_the_results_have_none(tmp_path, named):
    (tmp_path / "dump").mkdir()
    relevant = scored(tmp_path / "full.jsonl")
    rows = [
        json.loads(line) for line in (tmp_path / "full.jsonl").read_text().splitlines()
    ]
    posts = [
        {
            "id": row["post"],
            "text": row["text"],
            "permalink": "https://x/" + row["post"],
        }
        for row in rows
    ]
    (tmp_path / "dump" / "posts.jsonl").write_text(
        "".join(json.dumps(p) + "\n" for p in posts)
    )
    run_lines = [f"all Q0 {r['post']} {r['rank']} {r['score']} x\n" for r in rows]
    (tmp_path / "scored.run").write_text("".join(run_lines))
    done = start(tmp_path, "--posts", tmp_path / named, results="scored.run")
    assert done.exit_code == 0, done.stderr
    row = rows_of(tmp_path / "sheet.csv")[0]
    assert (
        row["text"] == own_text(int(row["post"][1:]))
        and row["link"] == "https://x/" + row["post"]
    )
    fill(tmp_path / "sheet.csv", relevant)
    assert certify(tmp_path).exit_code == 0
    with (tmp_path / "dump" / "posts.jsonl").open("a") as stream:
        stream.write('{"id": "new", "text": "x"}\n')
    done = certify(tmp_path)
    assert done.exit_code == 2 and "the corpus changed" in done.stderr


def test_pairs_of_article_and_post_are_units_of_their_own(tmp_path):
    rows = []
    for article in ("a", "b"):
        for n in range(200):
            rows.append(
                {
                    "article": article,
                    "rank": n + 1,
                    "score": 1 - n / 200 - (article == "b") * 0.001,
                    "post": f"p{n}",
                    "text": f"text {n}",
                }
            )
    (tmp_path / "scored.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    assert start(tmp_path, "--at-least", "100").exit_code == 0
    sheet = rows_of(tmp_path / "sheet.csv")
    assert {row["article"] for row in sheet} == {"a", "b"}
    for row in sheet:
        row["label"] = "y" if row["article"] == "a" else "n"
    save(tmp_path / "sheet.csv", sheet)
    assert certify(tmp_path).exit_code == 0
    assert certificate(tmp_path)["population"]["pairs"] is True
    claim = certificate(tmp_path)["claims"][0]
    assert claim["threshold"] is None
    assert claim["posts"] == sum(row["label"] == "y" for row in sheet)


def test_another_row_order_gives_the_same_sheet(pool):
    folder, _ = pool
    start(folder)
    other = folder / "other"
    other.mkdir()
    lines = (folder / "scored.jsonl").read_text().splitlines()
    (other / "scored.jsonl").write_text("\n".join(sorted(lines)) + "\n")
    assert start(other, "--again").exit_code == 0
    first, second = rows_of(folder / "sheet.csv"), rows_of(other / "sheet.csv")
    assert [row["post"] for row in first] == [row["post"] for row in second]


def test_real_processes_and_help_without_heavy_imports(pool):
    folder, relevant = pool
    asked = ["--results", "scored.jsonl", "--precision", ".8", "--out", "s.csv"]
    done = in_own_process("sample", *asked, folder=folder)
    assert done.returncode == 0, done.stderr
    fill(folder / "s.csv", relevant)
    done = in_own_process("certify", "--labels", "s.csv", folder=folder)
    assert done.returncode == 0 and "precision of .8" in done.stdout
    code = (
        "import sys, siamese_news_desk.cli.sample, siamese_news_desk.cli.certify, "
        "siamese_news_desk.decide.certification as c; "
        "assert not {'torch', 'pytorch_lightning', 'hydra'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_copies_do_not_end_a_sheet_early(tmp_path):
    relevant = scored(tmp_path / "scored.jsonl", text=lambda n: f"text {n % 90}")
    assert start(tmp_path, "--at-least", "25").exit_code == 0
    rows = rows_of(tmp_path / "sheet.csv")
    assert len(rows) == len({row["text"] for row in rows}) == 25
    assert relevant


def test_a_round_reads_the_posts_once(tmp_path, monkeypatch):
    from siamese_news_desk.decide.plan import texts

    relevant = scored(
        tmp_path / "full.jsonl", size=3000, cut=2500, text=lambda n: f"text {n // 2}"
    )
    rows = [
        json.loads(line) for line in (tmp_path / "full.jsonl").read_text().splitlines()
    ]
    posts = [{"id": row["post"], "text": row.pop("text")} for row in rows]
    (tmp_path / "posts.jsonl").write_text(
        "".join(json.dumps(post) + "\n" for post in posts)
    )
    (tmp_path / "scored.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )
    own, read = texts.open_posts, []

    def counted(*given, **options):
        read.append(given)
        return own(*given, **options)

    monkeypatch.setattr(texts, "open_posts", counted)
    assert (
        start(
            tmp_path, "--posts", tmp_path / "posts.jsonl", "--budget", "300"
        ).exit_code
        == 0
    )
    sheets = ["sheet.csv"]
    for _ in range(3):
        fill(tmp_path / sheets[-1], relevant)
        read.clear()
        done = certify(tmp_path, *sheets, more=("--at-least", "60"))
        assert done.exit_code == 0, done.stderr
        assert len(read) == 1
        following = re.search(r"([^/\s]+): \d+ more posts to label", done.stderr)
        if following is None:
            break
        sheets.append(following[1])
    assert len(sheets) > 2
