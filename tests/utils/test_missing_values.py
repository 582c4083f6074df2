"""What counts as a missing value."""

import numpy as np
import pandas
import pytest

from siamese_news.utils.missing_values import is_missing


@pytest.mark.parametrize(
    "value",
    [None, float("nan"), np.float32("nan"), np.ma.masked, pandas.NA, pandas.NaT],
    ids=repr,
)
def test_values_that_stand_for_a_missing_one(value):
    assert is_missing(value)


@pytest.mark.parametrize(
    "value", [0, 0.0, False, "", "nan", np.float32(0), [], np.nan_to_num(0)]
)
def test_values_that_are_there(value):
    assert not is_missing(value)
