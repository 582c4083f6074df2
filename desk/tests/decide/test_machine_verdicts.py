"""`siamese-news feedback --verdicts`: what a machine says, joined with the search."""

import csv
import json
import re

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.stats import binomtest
from sheet_commands import run
from sklearn.metrics import average_precision_score
from test_feedback import label, pool

from siamese_news_desk.decide.agreement import machine_lines
from siamese_news_desk.labels.machine import MachineVerdicts, read_machine


def write(path, values, column="verdict", **options):
    with path.open("w", newline="", **options) as stream:
        writer = csv.writer(stream)
        writer.writerow(["post", column])
        writer.writerows(values.items() if isinstance(values, dict) else values)


def machine(truth, recall, false_positives, seed=1):
    generator = np.random.default_rng(seed)
    chance = {True: recall, False: false_positives}
    return {
        post: int(generator.random() < chance[said]) for post, said in truth.items()
    }


def joined(folder, *more):
    return run(
        "feedback",
        "--results",
        folder / "found.parquet",
        "--verdicts",
        folder / "gpt.csv",
        "--name",
        "gpt",
        "--out",
        folder / "joined.parquet",
        *more,
    )


def precision(path, truth, without=()):
    rows = [
        row for row in pq.read_table(path).to_pylist() if row["post"] not in without
    ]
    return average_precision_score(
        [truth[r["post"]] for r in rows], [r["score"] for r in rows]
    )


@pytest.fixture
def truth(tmp_path):
    return pool(tmp_path / "found.parquet", telling=False)


def test_without_labels_an_order_comes_and_its_weight_is_said(tmp_path, truth):
    write(tmp_path / "gpt.csv", machine(truth, 0.9, 0.1))
    done = joined(tmp_path)
    assert done.exit_code == 0, done.stderr
    assert "gpt: labels of 900 of 900 posts." in done.stdout
    assert (
        "0 labels of people" in done.stdout
        and "1 times as much as the search" in done.stdout
    )
    assert "they cannot be compared" in done.stdout
    before = precision(tmp_path / "found.parquet", truth)
    assert precision(tmp_path / "joined.parquet", truth) > before + 0.1
    meta = json.loads((tmp_path / "joined.parquet.meta.json").read_text())["feedback"]
    assert meta["machine"] == "gpt" and meta["after"] is None


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("recall", "false_positives"), [(0.9, 0.1), (0.5, 0.5), (0.05, 0.95)]
)
def test_labels_of_people_decide_what_the_machine_counts(
    tmp_path, truth, recall, false_positives
):
    write(tmp_path / "gpt.csv", machine(truth, recall, false_positives))
    posts = [f"p{n}" for n in range(200)]
    label(tmp_path / "labels.csv", truth, posts)
    done = joined(tmp_path, "--labels", tmp_path / "labels.csv")
    assert done.exit_code == 0, done.stderr
    assert "200 posts labeled by people: precision" in done.stdout
    before = precision(tmp_path / "found.parquet", truth, posts)
    if recall == 0.9:
        assert precision(tmp_path / "joined.parquet", truth, posts) > before + 0.1
    elif (tmp_path / "joined.parquet").exists():
        assert precision(tmp_path / "joined.parquet", truth, posts) > before - 0.01
    else:
        assert "the order stays the same" in done.stdout


def test_a_machine_that_makes_it_worse_leaves_the_old_order(tmp_path, truth):
    """Right in what was labeled first is not enough; these labels show that it is wrong."""
    write(tmp_path / "gpt.csv", machine(truth, 0.0, 1.0))
    label(tmp_path / "labels.csv", truth, [f"p{n}" for n in range(300)])
    done = joined(tmp_path, "--labels", tmp_path / "labels.csv")
    assert done.exit_code == 0 and "the order stays the same" in done.stdout
    assert not (tmp_path / "joined.parquet").exists()


@pytest.mark.parametrize("posts", [["p0", "p1", "p2"], ["p1", "p2", "p3"], ["p0"]])
def test_three_labels_cannot_judge(tmp_path, truth, posts):
    write(tmp_path / "gpt.csv", machine(truth, 0.9, 0.1))
    label(tmp_path / "labels.csv", truth, posts)
    done = joined(tmp_path, "--labels", tmp_path / "labels.csv")
    number = "1 label" if len(posts) == 1 else f"{len(posts)} labels"
    assert done.exit_code == 0 and f"{number} of people" in done.stdout
    assert "cannot judge" in done.stdout and (tmp_path / "joined.parquet").exists()


def test_half_of_the_posts_unknown_ids_and_repeats_are_said(tmp_path, truth):
    said = machine(truth, 0.9, 0.1)
    rows = [(post, value) for post, value in said.items()][:450]
    write(tmp_path / "gpt.csv", [*rows, rows[0], ("unknown", 1), ("p899", "")])
    done = joined(tmp_path)
    assert done.exit_code == 0, done.stderr
    assert "labels of 450 of 900 posts; the others keep their scores" in done.stdout
    assert "not used, because the results do not have their posts: 1" in done.stdout
    assert "given twice, the same both times: 1" in done.stdout


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("column", ["verdict", "label", "probability", "score"])
def test_other_encodings_and_columns(tmp_path, encoding, column):
    path = tmp_path / "gpt.csv"
    path.write_bytes(f"post;{column};why\na;0,75;é\nb;0,5;\nc;10%;\n".encode(encoding))
    found = read_machine(path, "gpt", ["c", "b", "a"])
    assert found.values.tolist() == [0.1, 0.5, 0.75] and found.cut == 0.5


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            [("p1", 1), ("p2", 0), ("p1", 0)],
            "gpt.csv:4: post 'p1' has the verdict '0' here",
        ),
        ([("p1", 1), ("p2", 1)], "says 1 of all 2 posts"),
        ([("x1", 1), ("x2", 0)], "none of its 2 verdicts is of a post of the results"),
        ([("p1", "perhaps")], "gpt.csv:2: the verdict is 'perhaps'"),
        ([("p1", "nan")], "expected a number below"),
        ([("", 1)], "gpt.csv:2: has no post"),
        ([], "none of its 0 verdicts"),
    ],
)
def test_verdicts_that_cannot_be_used_write_nothing(tmp_path, truth, rows, words):
    write(tmp_path / "gpt.csv", rows)
    (tmp_path / "joined.parquet").write_text("mine")
    done = joined(tmp_path, "--force")
    assert done.exit_code == 2 and words in done.stderr
    assert (tmp_path / "joined.parquet").read_text() == "mine"


def test_a_file_without_a_column_of_verdicts(tmp_path, truth):
    write(tmp_path / "gpt.csv", {"p1": 1}, column="answer")
    done = joined(tmp_path)
    assert (
        done.exit_code == 2
        and "verdict or label or probability or score" in done.stderr
    )


def test_agreement_is_exact_in_all_and_by_band():
    generator = np.random.default_rng(0)
    said, own = generator.random((2, 90)) < 0.5
    verdicts = MachineVerdicts("gpt", own.astype(float), 0.5, 0, 0)
    people = dict(enumerate(said.tolist()))
    sentence, *lines = machine_lines(verdicts, people, generator.permutation(90) + 1)
    assert sentence == verdicts.sentence()
    assert len(lines) == 4 and ", ranks 61 to 90:" in lines[3]
    both = int((said & own).sum())
    for count, what in ((own.sum(), "precision"), (said.sum(), "recall")):
        exact = binomtest(both, int(count)).proportion_ci(0.95, method="exact")
        assert (
            f"{what} {both / count:.3f} ({both} of {count}; 95% interval {exact.low:.3f} to "
            f"{exact.high:.3f})"
        ) in lines[0]
    alike = MachineVerdicts("gpt", np.array([1.0, 1.0, 0.0]), 0.5, 0, 0)
    lines = machine_lines(alike, {0: True, 1: True}, np.arange(1, 4))
    assert "alpha not defined" in lines[1]


def test_the_joined_order_can_be_certified_by_labels_of_people_alone(tmp_path, truth):
    write(tmp_path / "gpt.csv", machine(truth, 0.95, 0.05))
    assert joined(tmp_path).exit_code == 0
    sheet = tmp_path / "sheet.csv"
    done = run(
        "sample",
        "--results",
        tmp_path / "joined.parquet",
        "--precision",
        ".8",
        "--out",
        sheet,
        "--budget",
        "100",
        "--at-least",
        "900",
    )
    assert done.exit_code == 0, done.stderr
    given = []
    while sheet.exists():  # a certificate asks for more labels until they are enough
        rows = list(csv.DictReader(sheet.open(encoding="utf-8-sig")))
        with sheet.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, rows[0])
            writer.writeheader()
            writer.writerows({**row, "label": int(truth[row["post"]])} for row in rows)
        given += ["--labels", sheet]
        done = run("certify", *given)
        assert done.exit_code == 0, done.stderr
        sheet = tmp_path / f"sheet.{len(given) // 2 + 1}.csv"
    kept, right = map(
        int, re.findall(r"(\d+) of 900 .* [Aa]t least (\d+)", done.stdout)[0]
    )
    listed = list(
        csv.DictReader((tmp_path / "sheet.certificate.csv").open(encoding="utf-8-sig"))
    )
    assert kept == len(listed) > 100
    assert sum(truth[row["post"]] for row in listed) >= right >= 0.8 * kept
