"""`siamese-news feedback`: a better order from labels, only where it is one."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sheet_commands import run
from sklearn.metrics import average_precision_score

from siamese_news.data.results import read_table
from siamese_news.search.result_files import write_rows
from siamese_news.utils.files import atomic_write
from siamese_news_desk.decide.new_order import LabeledResults, read_verdicts
from siamese_news_desk.labels.matching import FOR_LEARNING
from siamese_news_desk.labels.sheets import read_rows

WORDS = "road train coffee garden music window letter river market bridge school paper".split()


def pool(path, *, telling, size=900, seed=0):
    """Results whose score is half right; in `telling` pools a word tells the rest."""
    generator = np.random.default_rng(seed)
    relevant = generator.random(size) < 0.4
    score = relevant + generator.normal(0, 1.0, size)
    rows = []
    for number in np.argsort(-score).tolist():
        word = (
            "sandbags"
            if relevant[number] and telling and generator.random() < 0.8
            else "today"
        )
        text = " ".join([word, *generator.choice(WORDS, 6)])
        rows.append(
            {
                "article": "a",
                "post": f"p{number}",
                "score": float(score[number]),
                "text": f"{text} {number}",
                "rank": len(rows) + 1,
            }
        )
    pq.write_table(pa.Table.from_pylist(rows), path)
    return {f"p{n}": bool(relevant[n]) for n in range(size)}


def label(path, truth, posts):
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["post", "label", "annotator"])
        writer.writerows([post, "yes" if truth[post] else "no", "me"] for post in posts)


def feedback(folder, *more):
    return run(
        "feedback",
        "--results",
        folder / "found.parquet",
        "--labels",
        folder / "labels.csv",
        "--out",
        folder / "learned.parquet",
        *more,
    )


def test_a_word_that_tells_makes_the_order_better_on_posts_without_labels(tmp_path):
    truth = pool(tmp_path / "found.parquet", telling=True)
    label(tmp_path / "labels.csv", truth, [f"p{n}" for n in range(300)])
    done = feedback(tmp_path)
    assert done.exit_code == 0, done.stderr
    table = pq.read_table(tmp_path / "learned.parquet")
    rows = {row["post"]: row for row in table.to_pylist()}
    assert table.column("rank").to_pylist() == list(range(1, 901))
    before = {
        r["post"]: r for r in pq.read_table(tmp_path / "found.parquet").to_pylist()
    }
    assert all(rows[post]["rank_before"] == row["rank"] for post, row in before.items())
    unseen = [f"p{n}" for n in range(300, 900)]
    said = [truth[post] for post in unseen]
    old = average_precision_score(said, [before[post]["score"] for post in unseen])
    new = average_precision_score(said, [rows[post]["score"] for post in unseen])
    meta = json.loads((tmp_path / "learned.parquet.meta.json").read_text())["feedback"]
    assert new > old + 0.1
    assert meta["helps"] and meta["after"] > meta["before"]
    assert "sandbags" in meta["words"][0] and meta["sentence"] in done.stdout
    # The unchanged output of an earlier run is replaced, another file is not.
    assert feedback(tmp_path).stdout == done.stdout
    with (tmp_path / "learned.parquet").open("ab") as stream:
        stream.write(b"changed")
    assert feedback(tmp_path).exit_code != 0


def test_where_words_tell_nothing_the_order_stays(tmp_path):
    truth = pool(tmp_path / "found.parquet", telling=False)
    label(tmp_path / "labels.csv", truth, [f"p{n}" for n in range(120)])
    done = feedback(tmp_path)
    assert done.exit_code == 0 and "not a sure gain" in done.stdout
    assert not (tmp_path / "learned.parquet").exists()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(3))
def test_copies_of_a_text_do_not_judge_themselves(tmp_path, seed):
    """Random labels, each text ten times: learned by heart it would seem perfect."""
    generator = np.random.default_rng(seed)
    said = generator.random(30) < 0.5
    rows = [
        {
            "article": "a",
            "post": f"p{n}",
            "score": 1 - n / 300,
            "rank": n + 1,
            "text": f"word{n % 30} and {WORDS[n % 30 % 12]}",
        }
        for n in range(300)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "found.parquet")
    label(
        tmp_path / "labels.csv",
        {f"p{n}": bool(said[n % 30]) for n in range(300)},
        [f"p{n}" for n in range(300)],
    )
    given = read_verdicts([tmp_path / "labels.csv"])
    assert (
        LabeledResults.read(tmp_path / "found.parquet", given)
        .learn()
        .judgment.learned_precision
        < 0.9
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda f: label(f / "labels.csv", {"p1": True, "p2": False}, ["p1", "p2"]),
            "at least 3",
        ),
        (
            lambda f: (f / "labels.csv").write_text("post,label\np1,perhaps\n"),
            "label is 'perhaps'",
        ),
        (
            lambda f: (f / "labels.csv").write_text("post,label\nq1,yes\n"),
            "none of the labeled",
        ),
        (lambda f: (f / "found.parquet").write_text("no"), "not a Parquet file"),
        (
            lambda f: ((f / "found.parquet").unlink(), (f / "found.parquet").mkdir()),
            "is a folder",
        ),
        (
            lambda f: pq.write_table(
                pa.table({"post": ["a"], "score": [1.0]}), f / "found.parquet"
            ),
            "has no column 'text'",
        ),
    ],
)
def test_what_cannot_be_learned_from(tmp_path, change, words):
    pool(tmp_path / "found.parquet", telling=True, size=50)
    label(tmp_path / "labels.csv", {}, [])
    change(tmp_path)
    done = feedback(tmp_path)
    assert done.exit_code == 2 and words in done.stderr


def test_too_few_labels_do_not_keep_back_the_next_posts(tmp_path):
    pool(tmp_path / "found.parquet", telling=True, size=200)
    label(tmp_path / "labels.csv", {"p1": True, "p2": False}, ["p1", "p2"])
    done = feedback(tmp_path, "--next", tmp_path / "second.csv")
    assert done.exit_code == 0, done.stderr
    assert (
        "nothing is learned yet: " in done.stderr
        and "learned.parquet: not written" in done.stderr
    )
    assert not (tmp_path / "learned.parquet").exists()
    posts = [row.post for row in read_rows(tmp_path / "second.csv")]
    assert len(posts) == 20 and not {"p1", "p2"} & {*posts}
    alone = feedback(tmp_path)
    assert alone.exit_code == 2 and "at least 3" in alone.stderr


LABEL_STUDIO = (
    "annotation_id,annotator,created_at,id,lead_time,post,relevance,text,updated_at"
)
ASREVIEW = "record_id,post,abstract,asreview_prior,asreview_label,asreview_time"


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("header", "row"),
    [
        (LABEL_STUDIO, "1,me,2024,1,2.5,{post},{word},x,2024"),
        (ASREVIEW, "1,{post},x,,{digit},1.5"),
    ],
)
def test_exports_of_other_programs_teach_as_a_sheet_does(tmp_path, header, row):
    truth = pool(tmp_path / "found.parquet", telling=True)
    posts = [f"p{n}" for n in range(300)]
    label(tmp_path / "labels.csv", truth, posts)
    expected = feedback(tmp_path)
    words = ("Not relevant", "Relevant")
    rows = (
        row.format(post=p, word=words[truth[p]], digit=int(truth[p])) for p in posts
    )
    (tmp_path / "labels.csv").write_text("\n".join((header, *rows)))
    done = feedback(tmp_path, "--force")
    assert done.exit_code == 0 and done.stdout == expected.stdout


def test_disputed_and_skipped_posts_are_left_out(tmp_path):
    from siamese_news_desk.decide.new_order import read_verdicts

    path = tmp_path / "labels.csv"
    path.write_text("post,label\na,yes\na,no\nb,skip\nc,1\nc,relevant\nd,0\n")
    assert read_verdicts([path]) == {"c": True, "d": False}


def test_labels_of_the_top_alone_do_not_turn_the_order_over(tmp_path):
    """At the very top another story scores higher, so among labeled posts less score is better."""
    generator = np.random.default_rng(0)
    rows, truth = [], {}
    for number in range(1500):
        relevant = 60 <= number < 400 and generator.random() < 0.95
        word = "sandbags" if relevant and generator.random() < 0.5 else "today"
        story = "election" if number < 60 else "flood" if relevant else "holiday"
        text = " ".join([story, word, *generator.choice(WORDS, 5), str(number)])
        truth[f"p{number}"] = bool(relevant)
        rows.append(
            {
                "article": "a",
                "post": f"p{number}",
                "score": 3 - number / 500,
                "text": text,
                "rank": number + 1,
            }
        )
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "found.parquet")
    label(tmp_path / "labels.csv", truth, [f"p{n}" for n in range(0, 300, 2)])
    done = feedback(tmp_path)
    assert done.exit_code == 0, done.stderr
    assert "random posts from far down, taken as not relevant" in done.stdout
    assert (tmp_path / "learned.parquet").exists()
    after = {
        r["post"]: r["score"]
        for r in pq.read_table(tmp_path / "learned.parquet").to_pylist()
    }
    rest = [
        row for row in rows if int(row["post"][1:]) >= 300 or int(row["post"][1:]) % 2
    ]
    said = [truth[row["post"]] for row in rest]
    old = average_precision_score(said, [row["score"] for row in rest])
    new = average_precision_score(said, [after[row["post"]] for row in rest])
    assert new > old + 0.01


def test_relevant_labels_without_others_announce_nothing(tmp_path):
    truth = pool(tmp_path / "found.parquet", telling=True)
    best = pq.read_table(tmp_path / "found.parquet").column("post").to_pylist()[:200]
    label(tmp_path / "labels.csv", truth, [post for post in best if truth[post]])
    done = feedback(tmp_path)
    assert done.exit_code == 0 and "not a sure gain" in done.stdout
    assert not (tmp_path / "learned.parquet").exists()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["results.jsonl", "results.csv", "results.csv.gz"])
def test_results_and_the_learned_order_in_any_format(tmp_path, name):
    truth = pool(tmp_path / "found.parquet", telling=True, size=400)
    rows = pq.read_table(tmp_path / "found.parquet").to_pylist()
    rows[3] |= {"terms": ["mill lane", "flood"], "cluster_size": 2}
    format = name.removesuffix(".gz").rpartition(".")[2]
    with atomic_write(tmp_path / name) as stream:
        write_rows(stream, rows, format)
    label(tmp_path / "labels.csv", truth, [f"p{n}" for n in range(150)])
    assert feedback(tmp_path).exit_code == 0
    learned = tmp_path / f"learned-{name}"
    sheet = ("--labels", tmp_path / "labels.csv")
    done = run("feedback", "--results", tmp_path / name, *sheet, "--out", learned)
    assert done.exit_code == 0, done.stderr
    expected = pq.read_table(tmp_path / "learned.parquet").to_pylist()
    order = read_table(learned).to_pylist()
    for column in ("post", "rank", "rank_before", "score", "text"):
        values = [row[column] for row in order]
        assert list(map(str, values)) == [str(row[column]) for row in expected], column
    (clustered,) = [row for row in order if row["terms"]]
    assert clustered["terms"] == ["mill lane", "flood"]
    again = run("feedback", "--results", learned, *sheet, "--next", tmp_path / "n.csv")
    assert again.exit_code == 2 and "is an order learned from labels" in again.stderr


def test_what_no_order_can_be_written_to(tmp_path):
    truth = pool(tmp_path / "found.parquet", telling=True, size=50)
    label(tmp_path / "labels.csv", truth, ["p1"])
    options = (
        "--results",
        tmp_path / "found.parquet",
        "--labels",
        tmp_path / "labels.csv",
    )
    done = run("feedback", *options, "--out", tmp_path / "learned.xlsx")
    assert done.exit_code == 2
    assert "expected a name that ends with .parquet, .jsonl or .csv" in done.stderr


def test_labels_that_made_an_order_certify_nothing_over_it(tmp_path):
    """In files without the keys of its sheets; labels that were given in these count."""
    truth = pool(tmp_path / "found.parquet", telling=True)
    label(tmp_path / "labels.csv", truth, list(truth)[:300])
    assert feedback(tmp_path).exit_code == 0
    sheet = tmp_path / "sheet.csv"
    plan = ("--precision", ".5", "--budget", "40", "--at-least", "40")
    done = run(
        "sample", "--results", tmp_path / "learned.parquet", *plan, "--out", sheet
    )
    assert done.exit_code == 0, done.stderr
    with sheet.open(newline="", encoding="utf-8-sig") as stream:
        rows = list(csv.DictReader(stream))
    plan = ("--plan", tmp_path / "sheet.plan.json")
    done = run("certify", *plan, "--labels", tmp_path / "labels.csv")
    assert done.exit_code == 2 and "made the order" in done.stderr.replace("\n", " ")
    # The same labels in a sheet of `feedback --next`.
    keyed = [
        {"key": f"{FOR_LEARNING}{post}", "post": post} for post in list(truth)[:300]
    ]
    with (tmp_path / "next.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, ["key", "post", "label"])
        writer.writeheader()
        writer.writerows({**row, "label": "1"} for row in keyed)
    done = run("certify", *plan, "--labels", tmp_path / "next.csv")
    said = done.stderr.replace("\n", " ")
    assert done.exit_code == 2 and "is a sheet of feedback --next" in said
    # Where nothing but the column of former ranks says that the order was learned.
    (tmp_path / "learned.parquet.meta.json").unlink()
    done = run("certify", *plan, "--labels", tmp_path / "labels.csv")
    said = done.stderr.replace("\n", " ")
    assert done.exit_code == 2 and "may have made the order" in said, said
    with sheet.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(row | {"label": "1"} for row in rows)
    assert run("certify", "--labels", sheet).exit_code == 0


@pytest.mark.parametrize("has_meta", [True, False])
def test_an_id_that_a_spreadsheet_shortened_is_no_way_around(tmp_path, has_meta):
    posts = [f"9{n:03}8877665544332211" for n in range(60)]
    rows = [
        {
            "post": post,
            "score": 1 - n / 60,
            "text": f"text {n}",
            "rank": n + 1,
            "rank_before": 60 - n,
        }
        for n, post in enumerate(posts)
    ]
    results = tmp_path / "learned.jsonl"
    results.write_text("".join(json.dumps(row) + "\n" for row in rows))
    if has_meta:
        meta = {"feedback": {"learned_from": posts[:30]}}
        (tmp_path / "learned.jsonl.meta.json").write_text(json.dumps(meta))
    sheet = tmp_path / "sheet.csv"
    plan = ("--precision", ".5", "--budget", "60", "--at-least", "60")
    done = run("sample", "--results", results, *plan, "--out", sheet)
    assert done.exit_code == 0, done.stderr
    taught = tmp_path / "taught.csv"
    taught.write_text(f"post,label\n{posts[0][:15]}00000,1\n")
    plan = ("--plan", tmp_path / "sheet.plan.json")
    done = run("certify", *plan, "--labels", taught)
    assert done.exit_code == 2 and "made" in done.stderr, done.stderr
