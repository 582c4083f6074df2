"""What the table of invented pools counts."""

from benchmarks.promises import family_cell


def test_a_pool_with_few_positives_has_nothing_certified():
    """Its lists are not empty: they have the relevant posts that were labeled."""
    cell = family_cell("few positives", ".9", 100, 4, seed=0)
    assert cell["nothing"] == cell["runs"] == 4
    assert cell["wrong"] == 0


def test_a_pool_with_a_good_head_has_certified_sets():
    assert family_cell("easy", ".9", 100, 4, seed=0)["nothing"] == 0
