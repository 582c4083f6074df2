"""A certificate from an array of scores and a function that labels."""

import json
from pathlib import Path

import numpy as np
import pytest
from sheet_commands import run

from siamese_news import InputError
from siamese_news_desk import certify_scores
from siamese_news_desk.decide.plan.sealed_files import read_sealed, write_sealed


def ranked(posts, seed=0):
    """Scores in random order, and which items are relevant: almost all at the top, none below."""
    generator = np.random.default_rng(seed)
    scores = generator.random(posts)
    relevant = generator.random(posts) < scores**2
    return scores, relevant


def labeler(relevant, asked=None):
    def label(rows):
        if asked is not None:
            asked.append(rows)
        return [bool(relevant[row]) for row in rows]

    return label


def names(posts):
    return [f"item {number}" for number in range(posts)]


def test_the_sets_are_those_of_the_commands(tmp_path):
    scores, relevant = ranked(4000)
    asked = []
    done = certify_scores(
        scores,
        names(4000),
        tmp_path,
        label=labeler(relevant, asked),
        precision=[0.7, "0.8"],
        budget=150,
        criteria="about the storm",
    )
    assert done.labels == sum(map(len, asked)) <= 150
    assert done.next_rows == []
    assert max(map(len, asked)) > 1
    for named in (done.certificate, tmp_path):
        checked = run("certify", "--check", str(named))
        assert checked.exit_code == 0, checked.stderr
        assert f"{done.certificate}: holds" in checked.stderr
    written = json.loads(done.certificate.read_text())
    assert written["criteria"] == "about the storm"
    for part, claim in zip(done.sets, written["claims"], strict=True):
        assert (part.precision, part.threshold) == (claim["target"], claim["threshold"])
        assert len(part.rows) == claim["posts"] > 0
        assert f"{claim['posts']:,} of 4,000 posts are certified" in part.sentence
        certified = scores[part.rows] >= part.threshold
        assert (np.diff(scores[part.rows[certified]]) <= 0).all()
        assert relevant[part.rows[~certified]].all()
    listed = (tmp_path / "sheet.certificate.csv").read_text().splitlines()[1:]
    assert len(listed) == len(np.union1d(*[part.rows for part in done.sets]))


def test_labels_may_come_a_call_at_a_time(tmp_path):
    scores, relevant = ranked(2000)
    once = certify_scores(
        scores,
        names(2000),
        tmp_path / "once",
        label=labeler(relevant),
        precision=0.8,
        budget=60,
    )
    options = {"precision": 0.8, "budget": 60, "another_plan": True}
    labels = {}
    while True:
        done = certify_scores(
            scores, names(2000), tmp_path / "parts", labels=labels, **options
        )
        if not done.next_rows:
            break
        labels = {row: bool(relevant[row]) for row in done.next_rows[:7]}
    assert done.labels == 60
    # Asked in smaller batches, the order is the same and the result as valid.
    assert len(done.sets[0].rows) >= 0.8 * len(once.sets[0].rows)
    assert "another" in done.sets[0].sentence or "plan" in done.sets[0].sentence
    again = certify_scores(scores, names(2000), tmp_path / "parts", **options)
    assert again.sets[0].rows.tolist() == done.sets[0].rows.tolist()


def test_without_a_certified_set_the_relevant_items_are_the_set(tmp_path):
    scores, _ = ranked(1000)
    relevant = np.arange(1000) % 3 == 0
    done = certify_scores(
        scores, names(1000), tmp_path, label=labeler(relevant), budget=40
    )
    (part,) = done.sets
    assert part.threshold is None and len(part.rows) and relevant[part.rows].all()
    assert "Nothing is certified beyond them" in part.sentence


@pytest.mark.sampled(2)
@pytest.mark.parametrize("budget", [100, 300])
@pytest.mark.parametrize("precision", ["0.8", "0.95"])
def test_grades_are_certified_down_to_the_last_good_one(tmp_path, budget, precision):
    """Eleven different scores: the set before the jump has no error that could be found."""
    generator = np.random.default_rng(0)
    relevant = generator.random(5000) < 0.1
    grades = np.where(relevant, 7, 3) + generator.integers(-3, 4, 5000)
    label = labeler(relevant)
    done = certify_scores(
        grades, names(5000), tmp_path, label=label, precision=precision, budget=budget
    )
    (certified,) = done.sets
    assert certified.threshold == 7.0
    assert set(np.flatnonzero(grades >= 7)) <= set(certified.rows)
    assert relevant[certified.rows].all()


@pytest.mark.parametrize(
    "items, relevant, copies, sentence",
    [
        (
            1,
            1,
            False,
            "1 of 1 post is certified: that with a score of 1 or more. It is relevant",
        ),
        (1, 1, False, "This is certain, because it was labeled."),
        (1, 0, False, "The 1 post was labeled and is not relevant as judged"),
        (2, 0, False, "Every one of the 2 posts was labeled and none is relevant"),
        (
            2,
            2,
            False,
            "2 of 2 posts are certified: those with a score of 1 or more. At least 2 ",
        ),
        (
            2,
            2,
            True,
            "The verdicts on all 2 posts come from 1 label, because copies of a text",
        ),
        (3, 1, False, "not relevant. It is relevant as judged by the annotator"),
        (2, 1, False, "1 of 2 posts is certified: that with a score of"),
    ],
)
def test_nouns_follow_their_numbers(tmp_path, items, relevant, copies, sentence):
    done = certify_scores(
        range(items, 0, -1),
        names(items),
        tmp_path,
        label=lambda rows: [row < relevant for row in rows],
        texts=["a text"] * items if copies else None,
    )
    assert sentence in done.sets[0].sentence
    checked = run("certify", "--check", str(done.certificate))
    assert checked.exit_code == 0, checked.stderr


def test_a_list_of_one_labeled_item(tmp_path):
    done = certify_scores(
        range(1000, 0, -1),
        names(1000),
        tmp_path,
        label=lambda rows: [row == rows[0] and row < 100 for row in rows],
        budget=1,
    )
    assert "The list is the 1 post that was labeled relevant: it is" in (
        done.sets[0].sentence
    )
    assert "because it was labeled (precision 1). Nothing is certified beyond it." in (
        done.sets[0].sentence
    )


def test_items_with_one_text_share_a_label(tmp_path):
    scores, relevant = ranked(600)
    texts = [f"text {row // 3}" for row in range(600)]
    asked = []
    certify_scores(
        scores,
        names(600),
        tmp_path,
        label=labeler(relevant, asked),
        texts=texts,
        budget=90,
    )
    labeled = [texts[row] for rows in asked for row in rows]
    assert len(set(labeled)) == len(labeled)


class Unset:
    """What pandas has for a missing text."""

    def __bool__(self):
        raise TypeError("boolean value of NA is ambiguous")

    __eq__ = __ne__ = __bool__


Unset.__name__ = "NAType"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "missing", [None, float("nan"), np.float32("nan"), Unset(), "", " \n\t"]
)
def test_items_without_a_text_share_nothing(tmp_path, missing):
    """A missing text is not known, so it is not that of another item."""
    options = {"label": labeler(np.arange(2000) < 300), "budget": 60}
    scores = np.arange(2000)[::-1]
    without = certify_scores(scores, names(2000), tmp_path / "without", **options)
    with_missing = certify_scores(
        scores,
        names(2000),
        tmp_path / "with",
        texts=[missing] * 2000,
        another_plan=True,
        **options,
    )
    assert with_missing.sets[0].rows.tolist() == without.sets[0].rows.tolist()
    assert 0 < len(without.sets[0].rows) < 400


def test_a_missing_text_among_others(tmp_path):
    scores, relevant = ranked(600)
    texts = [None if row % 2 else f"text {row // 4}" for row in range(600)]
    asked = []
    label = labeler(relevant, asked)
    certify_scores(scores, names(600), tmp_path, label=label, texts=texts, budget=90)
    labeled = [texts[row] for rows in asked for row in rows]
    worded = [text for text in labeled if text is not None]
    assert len(set(worded)) == len(worded)
    assert labeled.count(None) > 1


def test_texts_are_taken_by_position(tmp_path):
    """A pandas Series looks up ``texts[row]`` in its index."""

    class Series(list):
        def __getitem__(self, label):
            return super().__getitem__(len(self) - 1 - label)

    texts = Series(f"text {row}" for row in range(300))
    certify_scores(range(300), names(300), tmp_path, texts=texts, budget=20)
    first = json.loads((tmp_path / "scores.jsonl").read_text().splitlines()[0])
    assert first["text"] == "text 0"


def test_undecided_items_count_as_not_relevant(tmp_path):
    scores, _ = ranked(500)
    done = certify_scores(
        scores, names(500), tmp_path, label=lambda rows: [None] * len(rows), budget=30
    )
    assert not len(done.sets[0].rows)
    assert json.loads(done.certificate.read_text())["labels"]["skipped"] == done.labels


def test_another_list_needs_another_folder(tmp_path):
    scores, _ = ranked(300)
    done = certify_scores(scores, names(300), tmp_path, budget=20)
    assert done.next_rows and not done.labels
    with pytest.raises(InputError, match="other scores, ids or texts.*another folder"):
        certify_scores(scores + 1, names(300), tmp_path, budget=20)
    with pytest.raises(InputError, match="another plan"):
        certify_scores(scores, names(300), tmp_path, budget=21)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"budget": 0}, "budget is 0; expected the number of labels"),
        ({"budget": -1}, "budget is -1"),
        ({"budget": "100"}, "budget is '100'"),
        ({"budget": 1.5}, "budget is 1.5"),
        ({"budget": True}, "budget is True"),
        ({"budget": None}, "budget is None"),
        ({"budget": 10**30}, "settings.budget: Expected int <= "),
        ({"seed": -(2**63) - 1}, "no plan can have this value .field settings.seed: "),
        ({"precision": 0}, "precision is 0; expected a share between 0 and 1"),
        ({"precision": 1}, "precision is 1; expected a share between 0 and 1"),
        ({"precision": 2.0}, "precision is 2.0; expected a share between 0 and 1"),
        ({"precision": -0.5}, "precision is '-0.5'"),
        ({"precision": float("nan")}, "precision is 'nan'"),
        ({"precision": True}, "precision is 'True'"),
        ({"precision": None}, "precision is 'None'"),
        ({"precision": []}, "expected one or several precisions"),
        ({"precision": [0.9, None]}, "precision is 'None'"),
        ({"precision": [0.9, "90%"]}, "the same target twice"),
        ({"precision": "many"}, "precision is 'many'; expected a share such as .9 or"),
        ({"confidence": 0}, "confidence is 0"),
        ({"confidence": 1}, "confidence is 1"),
        ({"confidence": 0.3}, "confidence is 0.3 for 1 target; expected at least .5"),
        ({"confidence": None}, "confidence is 'None'"),
        ({"seed": "a"}, "seed is 'a'"),
        ({"seed": None}, "seed is None"),
        ({"criteria": None}, "criteria is None; expected a string"),
        ({"annotator": 5}, "annotator is 5; expected a string"),
        ({"label": 5}, "label is 5; expected a function"),
        ({"annotator": " "}, "annotator is ' '; expected a name"),
        ({"labels": {True: True}}, "labels has the key True"),
        ({"labels": {"item 2": True}}, r"'item 2'.*ids\[2\] has the row 2"),
        ({"labels": [1, 0]}, r"labels is \[1, 0\]; expected verdicts by row"),
        ({"labels": {0: True}}, "row 0, which no call has asked for"),
        ({"labels": {0: "yes"}}, "row 0 is 'yes'; expected True, False or None"),
        ({"texts": "t" * 300}, "texts is 't.*expected a list"),
        ({"texts": ["t", 5] * 150}, r"texts\[1\] is 5, of type int; expected a string"),
        ({"texts": [b"t"] * 300}, r"texts\[0\] is b't', of type bytes"),
    ],
)
def test_a_refused_argument_leaves_nothing(tmp_path, monkeypatch, options, message):
    state = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    folder = tmp_path / "folder"
    with pytest.raises(InputError, match=message):
        certify_scores(range(300), names(300), folder, **options)
    assert not folder.exists() and not state.exists()
    assert certify_scores(range(300), names(300), folder, budget=20).next_rows


@pytest.mark.parametrize(
    "folder, message",
    [
        (None, "folder is None; expected the path of a folder"),
        (5, "folder is 5"),
        ("", "folder is ''"),
        ("a\0b", "folder is 'a.x00b'"),
        ("a file", "a file: is a file; expected the path of a folder"),
        (
            "a file/folder",
            "a file/folder: cannot be written .Not a directory.; name another",
        ),
    ],
)
def test_what_is_no_folder(tmp_path, monkeypatch, folder, message):
    monkeypatch.chdir(tmp_path)
    Path("a file").write_text("mine")
    with pytest.raises(InputError, match=message):
        certify_scores(range(300), names(300), folder)
    assert [path.name for path in tmp_path.iterdir()] == ["a file"]
    assert Path("a file").read_text() == "mine"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["{}", "post {}"])
@pytest.mark.parametrize("has_texts", [True, False])
def test_studies_whose_items_are_numbered_are_studies_of_their_own(
    tmp_path, name, has_texts
):
    for study in range(3):
        texts = [f"study {study}, item {n}" for n in range(500)] if has_texts else None
        done = certify_scores(
            np.random.default_rng(study).random(500),
            [name.format(n) for n in range(500)],
            tmp_path / str(study),
            label=lambda rows: [True] * len(rows),
            texts=texts,
            budget=60,
        )
        assert "The confidence is 0.95: " in done.sets[0].sentence
        assert "earlier plan" not in done.sets[0].sentence


def test_a_refused_plan_is_explained_in_arguments(tmp_path):
    """Each way to a refusal that a command would explain in its options."""
    scores, _ = ranked(300)

    def refusal(folder, **options):
        with pytest.raises(InputError) as refused:
            certify_scores(scores, names(300), folder, **{"budget": 20, **options})
        assert "--" not in str(refused.value)
        return str(refused.value)

    first = certify_scores(scores, names(300), tmp_path / "first", budget=20)
    message = refusal(tmp_path / "second", budget=21)
    assert "pass another_plan=True, which adds the error of the earlier" in message
    assert "with its folder and its arguments" in message
    assert "criteria= of their own" in message
    assert not (tmp_path / "second" / "scores.jsonl").exists()
    message = refusal(tmp_path / "first", budget=21)
    assert "name another folder, or pass the arguments of the first call" in message
    plan = read_sealed(first.plan, "plan")
    write_sealed(first.plan, {**plan, "method": "another"})
    message = refusal(tmp_path / "first")
    assert "make a new plan in another folder with another_plan=True" in message


@pytest.mark.parametrize("precision", [0.9, "90%", 90, 90.0, "0,9", np.float64(0.9)])
def test_shares_are_read_as_on_the_command_line(tmp_path, precision):
    done = certify_scores(
        range(300),
        names(300),
        tmp_path,
        precision=precision,
        confidence="95%",
        budget=np.int64(20),
    )
    settings = json.loads(done.plan.read_text())["settings"]
    assert [float(target) for target in settings["targets"]] == [0.9]
    assert settings["confidence"] == "0.95"
    assert settings["budget"] == 20


@pytest.mark.parametrize(
    "scores, ids, options, message",
    [
        ([], [], {}, r"scores has the shape \(0,\)"),
        ([[1.0]], ["a"], {}, r"shape \(1, 1\)"),
        (["a", "b"], ["a", "b"], {}, r"scores is \['a', 'b'\]; expected a list or an"),
        (None, ["a", "b"], {}, r"scores has the shape \(\)"),
        ([1j, 2j], ["a", "b"], {}, "complex numbers have no order"),
        ([1.0, 0.5], None, {}, "ids is None; expected a list with a value for each of"),
        ([1.0, 0.5], "ab", {}, "ids is 'ab'; expected a list"),
        ([1.0, 0.5], {"a", "b"}, {}, "ids is {.*}; expected a list"),
        (
            [1.0, 0.5],
            ["a", None],
            {},
            r"ids\[1\] is None; expected an id for each item",
        ),
        (
            [1.0, 0.5],
            ["a", "b\tc"],
            {},
            r"ids\[1\] is 'b.tc'; expected an id without tabs",
        ),
        (
            [1.0, 0.5],
            ["a", "b\ud83d"],
            {},
            r"ids\[1\] is .*; expected an id without tabs",
        ),
        ([1.0, float("nan")], ["a", "b"], {}, r"scores\[1\] is nan"),
        ([1.0, 0.5], ["a"], {}, "ids has 1 value for 2 scores"),
        ([1.0, 0.5], ["a", "a"], {}, r"ids\[0\] and ids\[1\] are both 'a'"),
        ([1.0, 0.5], ["a", "b"], {"texts": ["t"]}, "texts has 1 value for 2"),
        ([1.0, 0.5], ["a", "b"], {"precision": 1.5}, "precision"),
        ([1.0, 0.5], ["a", "b"], {"labels": {9: True}}, "row 9, which no call"),
        ([1.0, 0.5], ["a", "b"], {"label": lambda rows: []}, "returned 0 verdicts"),
        (
            [1.0, 0.5],
            ["a", "b"],
            {"label": lambda rows: None},
            "label returned None for 2",
        ),
        (
            [1.0, 0.5],
            ["a", "b"],
            {"label": lambda rows: ["yes"] * len(rows)},
            "is 'yes'; expected True, False or None",
        ),
    ],
)
def test_bad_input_is_named(tmp_path, scores, ids, options, message):
    with pytest.raises(InputError, match=message):
        certify_scores(scores, ids, tmp_path, **options)


def test_a_folder_to_check_has_one_certificate(tmp_path):
    done = run("certify", "--check", str(tmp_path))
    assert done.exit_code == 2 and "has no certificate; expected one" in done.stderr
    for name in ("a", "b"):
        (tmp_path / f"{name}.certificate.json").write_text("{}")
    done = run("certify", "--check", str(tmp_path))
    assert done.exit_code == 2
    assert "has a.certificate.json, b.certificate.json; expected one" in done.stderr
