"""The orders of a tail, against naive loops and where the right order is known."""

import numpy as np
import pytest
from benchmarks.tail_orders import costs, near_hits, nearest


def units(generator, shape):
    vectors = generator.normal(size=shape)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@pytest.mark.parametrize("count", [1, 3, 50])
def test_the_nearest_targets_are_those_of_a_loop(count):
    generator = np.random.default_rng(0)
    vectors, targets = units(generator, (1500, 4)), units(generator, (20, 4))
    expected = [np.sort(targets @ vector)[::-1][:count].mean() for vector in vectors]
    assert np.allclose(nearest(vectors, targets, count), expected)


def test_posts_near_hits_come_before_those_of_a_dense_region():
    """Posts of the dense region have the larger cosines with the hits, and with all posts."""
    generator = np.random.default_rng(1)
    hits = units(generator, 8)
    dense = units(generator, 8) + 2 * hits
    dense /= np.linalg.norm(dense)
    near, crowd = (
        units(generator, (count, 8)) * scale + direction
        for count, scale, direction in ((12, 0.9, hits), (300, 0.05, dense))
    )
    vectors = np.concatenate([near[:6], units(generator, (90, 8)), near[6:], crowd])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    is_hit = np.zeros(len(vectors), bool)
    is_hit[[*range(6), *range(96, 102)]] = True
    cosines, scores = (
        nearest(vectors[6:], vectors[:6], 3),
        near_hits(vectors, is_hit, 6),
    )
    assert cosines[90:96].mean() < cosines[96:].mean()
    assert scores[90:96].mean() > scores[96:].mean() + 0.2


def test_an_order_that_finds_them_first_costs_less():
    relevant = np.zeros(900, bool)
    relevant[:60] = True
    relevant[200::70] = True
    late = np.flatnonzero(relevant)[60:]
    first = np.zeros(900 - 60)
    first[late - 60] = 1
    orders = {"first": first, "search": -np.arange(900.0 - 60)}
    (_, quartiles, cost), (_, later, dearer) = costs(relevant, 60, orders)
    assert (quartiles < later).all() and cost < dearer
