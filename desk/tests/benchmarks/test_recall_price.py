"""The bound for even draws, where it is known otherwise and next to a rule that keeps it."""

import numpy as np
import pytest
from benchmarks.recall_price import EvenDraws, least, random_part
from scipy.stats import hypergeom

from siamese_news_desk.decide.bounds.few_missing import FewMissing

REST, RECALL, ERROR = 300, 0.8, 0.05


@pytest.mark.parametrize("found", [12, 40])
def test_without_a_hit_it_is_the_number_of_posts_that_rules_out_the_others(found):
    test = FewMissing(found, REST, RECALL, ERROR)
    broken = test.breaking(0)
    labels = least(lambda m: hypergeom.pmf(0, REST, broken, m) <= ERROR, 0, REST)
    assert labels - 1 <= EvenDraws(test, 0, REST).labels(ERROR) <= labels


@pytest.mark.parametrize("missing", [3, 8])
def test_no_test_takes_fewer_labels_and_the_looks_take_hardly_more(missing):
    test = FewMissing(40, REST, RECALL, ERROR)
    bound = EvenDraws(test, missing, REST).labels(ERROR)
    generator = np.random.default_rng(0)
    drawn = [random_part(test, missing, REST, generator) for _ in range(400)]
    mean, spread = np.mean(drawn), np.std(drawn) / 20
    assert bound <= mean + 3 * spread
    assert mean <= 1.15 * bound + 3 * spread
