"""Ids that come twice, in little memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siamese_news.data.readers import duplicates
from siamese_news.data.readers.duplicates import SeenIds

ids = st.lists(st.text("abé1", min_size=1, max_size=4), max_size=40)


def expected(blocks):
    seen = set()
    for block in blocks:
        again = []
        for index, value in enumerate(block):
            if value in seen:
                again.append(index)
            seen.add(value)
        yield again


@pytest.mark.parametrize("recent", [3, 2**19])
@given(blocks=st.lists(ids, max_size=6))
def test_it_is_a_set(recent, blocks):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "_RECENT", recent)
        seen = SeenIds()
        assert [seen.add(block) for block in blocks] == list(expected(blocks))


def test_what_is_in_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(duplicates, "_RECENT", 2**12)
    seen = SeenIds()
    for start in range(0, 100_000, 4000):
        assert seen.add([f"id-{n}" for n in range(start, start + 4000)]) == []
        assert len(seen._recent) < 2**13
    assert seen._sorted.nbytes <= 8 * 100_000
    assert seen.add(["id-0", "new", "id-99999", "id-50000", "new"]) == [0, 2, 3, 4]
