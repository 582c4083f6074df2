"""The case study: counts at thresholds, effort, searches, and the whole on the bundled stories."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from papers import Setting
from papers.ast import boston, case_study
from papers.ast.case_study import EFFORT, expected_reading, threshold_rows
from papers.jobs import Store


def test_what_is_kept_and_missed():
    scores = np.array([0.9, 0.8, 0.5, 0.1])
    relevant = np.array([True, False, True, False])
    values = boston.summarize(scores, ["a", "b", "c", "d"], relevant)
    rows = {row["threshold"]: row for row in threshold_rows(values)}
    assert rows["0.5"] == {
        "threshold": "0.5",
        "relevant kept": 2,
        "relevant missed": 0,
        "irrelevant kept": 1,
        "irrelevant left out": 1,
        "precision": 2 / 3,
        "recall": 1.0,
    }
    assert [post["id"] for post in values["most similar"]] == ["a", "b", "c", "d"]
    assert [post["id"] for post in values["least similar"]] == ["d", "c", "b", "a"]
    assert values["AP"] == pytest.approx((1 + 2 / 3) / 2)
    assert sum(values["relevant"]) == sum(values["irrelevant"]) == 2


@given(
    st.floats(-2, 2, allow_nan=False),
    st.floats(1e-4, 4, allow_nan=False, allow_infinity=False),
)
def test_thresholds_are_round_and_cover_the_scores(low, width):
    thresholds = boston.round_thresholds(low, low + width)
    assert 10 <= len(thresholds) <= 45
    assert low - 1e-6 <= thresholds[0] and thresholds[-1] <= low + width + 1e-6
    steps = np.diff(thresholds)
    assert np.allclose(steps, steps[0], rtol=0.2, atol=2e-6)


def test_effort_of_a_list_is_where_the_relevant_posts_stand():
    scores = np.linspace(1, 0, 40)
    relevant = np.zeros(40, dtype=bool)
    relevant[[0, 3, *range(5, 14)]] = True
    values = boston.summarize(scores, [str(n) for n in range(40)], relevant)
    assert values["effort"] == [[10, 13]]


def test_expected_reading_agrees_with_simulation():
    rng = np.random.default_rng(0)
    relevant, read, target = 7, 30, 4
    places = [
        np.sort(rng.permutation(read)[:relevant])[target - 1] + 1 for _ in range(4000)
    ]
    assert expected_reading(target, relevant, read) == pytest.approx(
        np.mean(places), 0.02
    )
    assert expected_reading(8, relevant, read) is None


def test_the_headline_counts_both_ends_of_every_list():
    def ends(top, bottom):
        return {
            which: [{"relevant": place < count} for place in range(5)]
            for which, count in (("most similar", top), ("least similar", bottom))
        }

    says = case_study._at_both_ends([ends(5, 0), ends(2, 0)])
    assert "at least 2 of the five most similar" in says and "none of the five" in says
    assert "at most 1 of" in case_study._at_both_ends([ends(4, 1), ends(3, 0)])


def test_the_case_study_runs_on_the_stories(tmp_path):
    """The searches and the shipped model, through the store; nothing of a text is kept."""
    setting = Setting("stories", (0,))
    store = Store(saved=tmp_path, made=tmp_path, paper="ast")
    wanted = [boston.WORDS, boston.model_name("shipped")]
    jobs = [job for job in boston.case_jobs(setting) if job.name in wanted]
    assert [job.name for job in store.make(setting, jobs)] == wanted
    results = store.results(setting, jobs)
    assert results[boston.WORDS]["relevant"] == 46
    values = results[boston.model_name("shipped")]
    assert values["totals"]["relevant"] == 46
    assert values["AP"] > 0.5
    content = EFFORT.lay_out(results)
    assert "the shipped model" in content.tables[0].rows[0]
    assert content.figures[0].draw() is not None
