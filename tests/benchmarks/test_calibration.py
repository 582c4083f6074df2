"""The fit of relevance, on scores whose probabilities are known."""

import numpy as np
import pytest

from benchmarks.calibration import Scored, diagrams, fitted, judged, left_out, table_of
from siamese_news.model.calibration import Evidence


def pool(name, seed, *, wrong=False):
    """Scores whose posts are relevant with the probability of a known table."""
    generator = np.random.default_rng(seed)
    scores = np.sort(generator.uniform(0.001, 0.5, (20, 1500)), axis=1)[:, ::-1]
    alike = generator.uniform(0, 1, 20)
    logs = np.log(scores + 0.005)
    logits = 3 + 2 * logs + (4 + 1 * logs) * alike[:, None]
    relevant = generator.uniform(size=scores.shape) < 1 / (1 + np.exp(-logits))
    return Scored(name, scores, relevant ^ wrong, [Evidence(a) for a in alike], ["en"] * 20)


def test_the_weights_of_known_probabilities_are_found():
    table = fitted([pool(str(n), n) for n in range(3)])
    found = [table.weights[name] for name in ("constant", "score", "alike", "score_alike")]
    np.testing.assert_allclose(found, [3, 2, 4, 1], atol=0.6)


def test_a_pool_left_out_is_judged_by_the_others():
    results = left_out([pool("a", 0), pool("b", 1), pool("c", 2), pool("opposite", 3, wrong=True)])
    assert [one.name for one in results] == ["a", "b", "c", "opposite"]
    (*good, bad) = results
    assert all(one.error < bad.error for one in good) and bad.error > 0.2
    alone = judged(fitted([pool("a", 0), pool("b", 1)]), pool("c", 2))
    assert alone.error < 0.03 and alone.precision == pytest.approx(alone.expected, abs=0.05)
    assert "| opposite |" in table_of(results)
    picture = diagrams(results)
    assert picture.count("<polyline") == 4 and ">opposite<" in picture
