"""The fit of relevance, on scores whose probabilities are known."""

import numpy as np
import pytest
from benchmarks.calibration import Scored, diagrams, fitted, judged, left_out, table_of

from siamese_news.data.records import Article
from siamese_news.model.calibration import Evidence

SEED = Article("a", "The river Asker burst its banks in Harlow Bridge on Sunday night.")


def pool(name, seed, *, events, wrong=False):
    """Scores whose posts are relevant with the probability of a known table."""
    generator = np.random.default_rng(seed)
    scores = np.sort(generator.uniform(0.001, 0.5, (20, 1500)), axis=1)[:, ::-1]
    alike = generator.uniform(0, 1, 20)
    shared, gap, checking = (0.2, 0.9, 0) if events else (0.01, 0.2, 6)
    thirtieth = generator.uniform(0.05, 0.5, 20) * gap * scores[:, 0]
    near = np.exp(generator.uniform(np.log(0.002), np.log(0.1), 20))
    evidence = [
        Evidence(
            alike=alike[row],
            shared=shared,
            apart=0.5,
            best=scores[row, 0],
            tenth=scores[row, 0] * gap,
            thirtieth=thirtieth[row],
            near=near[row],
            checking=checking,
        )
        for row in range(20)
    ]
    logs = np.log(scores + 0.005)
    above = logs - np.log(thirtieth + 0.005)[:, None]
    scarce = np.minimum(np.log((near + 1e-5) / 0.018), 0)[:, None]
    logits = 3 + 2 * logs + (4 + 1 * logs) * alike[:, None] + 0.5 * above + scarce
    if not events:
        logits = 1 + 2 * logs + above
    relevant = generator.uniform(size=scores.shape) < 1 / (1 + np.exp(-logits))
    return Scored(name, scores, relevant ^ wrong, evidence, [SEED] * 20, events, scores)


def test_the_weights_of_known_probabilities_are_found():
    table = fitted([pool(str(n), n, events=n < 3) for n in range(6)])
    many = list(table.weights["many"].values())
    np.testing.assert_allclose(many, [3, 2, 4, 1, 0.5, 1], atol=0.6)
    few = table.weights["few"]
    assert few["score"] == pytest.approx(2, abs=0.3)
    assert few["above"] == pytest.approx(1, abs=0.3)
    assert table.languages == ("en",)


def test_a_collection_of_which_there_are_two_pools_is_left_out_whole():
    pools = [pool(name, n, events=n < 2) for n, name in enumerate("abcd")]
    twin = pool("a, few", 7, events=True, wrong=True)
    with_twin = left_out([*pools, twin])
    assert with_twin[0] == left_out(pools)[0]
    assert with_twin[1].error > left_out(pools)[1].error


def test_a_pool_left_out_is_judged_by_the_others():
    results = left_out(
        [
            *(pool(name, n, events=True) for n, name in enumerate("abc")),
            pool("d", 4, events=False),
            pool("e", 5, events=False),
            pool("opposite", 3, events=True, wrong=True),
        ]
    )
    assert [one.name for one in results] == [*"abcde", "opposite"]
    (*good, bad) = results
    assert all(one.error < bad.error for one in good) and bad.error > 0.2
    some = [
        pool("a", 0, events=True),
        pool("b", 1, events=True),
        pool("d", 4, events=False),
    ]
    alone = judged(fitted(some), pool("c", 2, events=True))
    assert alone.error < 0.03 and alone.precision == pytest.approx(
        alone.expected, abs=0.05
    )
    assert "| opposite |" in table_of(results)
    picture = diagrams(results)
    assert picture.count("<polyline") == 6 and ">opposite<" in picture
