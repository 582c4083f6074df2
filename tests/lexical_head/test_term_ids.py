"""Which ids are among the features of the seeds, and where."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from siamese_news.lexical_head.term_ids import places_among

# Many of these have the same last bits.
IDS = st.builds(
    lambda last, first: last + (first << 16), st.integers(0, 3), st.integers(0, 5)
)


@given(st.sets(IDS), st.lists(IDS))
def test_ids_are_found_among_columns_by_their_value_alone(columns, ids):
    in_order = sorted(columns)
    is_among, places = places_among(
        np.array(in_order, np.int64), np.array(ids, np.int64)
    )
    assert is_among.tolist() == [id in columns for id in ids]
    assert places.tolist() == [in_order.index(id) for id in ids if id in columns]
