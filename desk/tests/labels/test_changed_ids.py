"""Labels whose ids a data frame or a spreadsheet changed belong to the posts that were meant."""

import pytest

from siamese_news_desk.labels.matching import _mangled


@pytest.mark.parametrize(
    ("shown", "real", "same"),
    [
        *(("17.0", "17", True), ("17,0", "17", True), ("17.00", "17", True)),
        *(("17.0", "18", False), ("17.5", "17", False), ("17.0", "a17", False)),
        ("1.859E+18", "1859031234567890123", True),
        ("1859031234567890000.0", "1859031234567890123", False),
    ],
)
def test_a_changed_id_is_that_of_the_post_that_was_meant(shown, real, same):
    assert _mangled(shown, real) is same
