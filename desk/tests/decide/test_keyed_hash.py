"""SipHash of many texts against its published values and against one text at a time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from siamese_news.utils.strings import Strings
from siamese_news_desk.decide.plan import keyed_hash

MASK = 2**64 - 1


def plain(data, key):
    """SipHash-2-4 as the paper states it, one message at a time."""
    k0, k1 = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    v0, v1 = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D
    v2, v3 = k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573

    def rounds(state, count):
        def turned(value, bits):
            return (value << bits | value >> (64 - bits)) & MASK

        a, b, c, d = state
        for _ in range(count):
            a, c = (a + b) & MASK, (c + d) & MASK
            b, d = turned(b, 13) ^ a, turned(d, 16) ^ c
            a = turned(a, 32)
            c, a = (c + b) & MASK, (a + d) & MASK
            b, d = turned(b, 17) ^ c, turned(d, 21) ^ a
            c = turned(c, 32)
        return a, b, c, d

    end = len(data) - len(data) % 8
    words = [int.from_bytes(data[n : n + 8], "little") for n in range(0, end, 8)]
    words.append(int.from_bytes(data[end:], "little") | (len(data) & 255) << 56)
    for word in words:
        v0, v1, v2, v3 = rounds((v0, v1, v2, v3 ^ word), 2)
        v0 ^= word
    v0, v1, v2, v3 = rounds((v0, v1, v2 ^ 255, v3), 4)
    return v0 ^ v1 ^ v2 ^ v3


def test_the_published_values():
    """Appendix A of the paper (15 bytes), and the first value of the authors' test vectors."""
    key = bytes(range(16))
    texts = Strings.of(["", "".join(map(chr, range(15)))])
    assert keyed_hash.siphash(texts, key).tolist() == [
        0x726FDB47DD0E0E31,
        0xA129CA6149BE45E5,
    ]


@given(
    st.lists(st.text(max_size=40), max_size=30),
    st.binary(min_size=16, max_size=16),
    st.integers(0, 3),
)
def test_many_texts_are_hashed_as_one_is(texts, key, start):
    column = Strings.of(texts)[start:]
    found = keyed_hash.siphash(column, key)
    assert found.tolist() == [plain(text.encode(), key) for text in texts[start:]]


def test_pieces_do_not_matter(monkeypatch):
    texts = Strings.of([str(n**3) for n in range(1000)])
    whole = keyed_hash.siphash(texts, bytes(16))
    monkeypatch.setattr(keyed_hash, "_PIECE", 7)
    assert np.array_equal(keyed_hash.siphash(texts, bytes(16)), whole)
