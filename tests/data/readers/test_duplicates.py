from mmap import mmap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siamese_news.data.readers import duplicates
from siamese_news.data.readers.duplicates import SeenIds
from siamese_news.errors import InputError

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


@pytest.mark.parametrize(
    "hasher",
    [hash, len, lambda value: 0, lambda value: -len(value), lambda value: 2**14 * len(value)],
    ids=["hash", "few hashes", "one hash", "negative", "all in one slot"],
)
@given(blocks=st.lists(ids, max_size=6))
def test_it_is_a_set_even_where_hashes_collide(hasher, blocks):
    seen = SeenIds(hasher)
    assert [seen.add(block) for block in blocks] == list(expected(blocks))
    seen.close()


@pytest.mark.parametrize("hasher", [hash, len, lambda value: -(2**60) * len(value)])
@given(blocks=st.lists(ids, max_size=6))
def test_it_is_a_set_where_most_hashes_are_on_the_disk(hasher, blocks):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "_RECENT", 3)
        patch.setattr(duplicates, "_IN_MEMORY", 9)
        seen = SeenIds(hasher)
        assert [seen.add(block) for block in blocks] == list(expected(blocks))
        seen.close()


def test_what_is_in_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(duplicates, "_RECENT", 2**12)
    monkeypatch.setattr(duplicates, "_IN_MEMORY", 2**13)
    seen = SeenIds()
    for start in range(0, 100_000, 4000):
        assert seen.add([f"id-{n}" for n in range(start, start + 4000)]) == []
        assert len(seen._recent) < 2**13
    assert len(seen._runs) >= 6
    assert all(isinstance(run.hashes.base, mmap) for run in seen._runs[:-1])
    assert sum(run._bits.nbytes for run in seen._runs) < 2.2 * 100_000
    assert seen.add(["id-0", "new", "id-99999", "id-50000", "new"]) == [0, 2, 3, 4]
    seen.close()


def test_it_grows():
    seen = SeenIds()
    for start in range(0, 100_000, 8000):
        assert seen.add([f"id-{n}" for n in range(start, start + 8000)]) == []
    assert seen.add(["id-0", "new", "id-99999", "id-50000", "new"]) == [0, 2, 3, 4]
    seen.close()


def test_a_full_disk_is_named(monkeypatch):
    monkeypatch.setattr(duplicates, "_RECENT", 2**12)
    monkeypatch.setattr(duplicates, "_IN_MEMORY", 2**13)
    monkeypatch.setattr(
        duplicates.tempfile, "TemporaryFile", lambda: open("/dev/full", "r+b", buffering=0)
    )
    seen = SeenIds()
    with pytest.raises(InputError, match="cannot be kept there .*TMPDIR"):
        seen.add(["a"])
        seen.add([str(number) for number in range(20_000)])
    seen.close()
