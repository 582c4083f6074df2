"""SipHash-2-4 of many texts at once, for the random order of posts.

A keyed pseudorandom function (Aumasson and Bernstein, Indocrypt 2012): without the key its values
cannot be told from random numbers, however regular the ids are. It works on whole arrays, because a
pool has millions of ids.
"""

import numpy as np
from numpy.typing import NDArray

from siamese_news.utils.strings import Strings

_PIECE = 2**15  # texts whose state stays in the processor's cache
_START = (
    0x736F6D6570736575,
    0x646F72616E646F6D,
    0x6C7967656E657261,
    0x7465646279746573,
)
_WORD = 8  # bytes

_Words = NDArray[np.uint64]


def siphash(texts: Strings, key: bytes) -> NDArray[np.uint64]:
    """SipHash-2-4 (n,) of each text, with a key of 16 bytes."""
    hashes = np.empty(len(texts), np.uint64)
    for begin in range(0, len(texts), _PIECE):
        offsets = texts.starts[begin : begin + _PIECE + 1].astype(np.int64)
        piece = texts.content[offsets[0] : offsets[-1]]
        hashes[begin : begin + len(offsets) - 1] = _piece(
            piece, offsets - offsets[0], key
        )
    return hashes


def _piece(data: NDArray[np.uint8], offsets: NDArray[np.int64], key: bytes) -> _Words:
    padded = np.concatenate([data, np.zeros(_WORD, np.uint8)])
    # A word at every byte, so that a text may begin anywhere.
    words: _Words = np.ndarray((len(data) + 1,), "<u8", padded, strides=(1,))
    starts = offsets[:-1]
    lengths = np.diff(offsets)
    n_words = lengths // _WORD
    key_low, key_high = np.frombuffer(key, "<u8").tolist()
    state = np.empty((4, len(lengths)), np.uint64)
    for index, value in enumerate(_START):
        state[index] = value ^ (key_high if index % 2 else key_low)
    shortest = int(n_words.min())
    for number in range(int(n_words.max())):
        if number < shortest:
            _take(state, words[starts + _WORD * number])
        else:
            rows = np.flatnonzero(n_words > number)
            longer = state[:, rows]
            _take(longer, words[starts[rows] + _WORD * number])
            state[:, rows] = longer
    n_bytes = (lengths - _WORD * n_words).astype(np.uint64)
    final_word = words[starts + _WORD * n_words]
    final_word &= (np.uint64(1) << (np.uint64(8) * n_bytes)) - np.uint64(1)
    final_word |= lengths.astype(np.uint64) << np.uint64(56)
    _take(state, final_word)
    state[2] ^= np.uint64(0xFF)
    _rounds(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _take(state: _Words, words: _Words) -> None:
    state[3] ^= words
    _rounds(state, 2)
    state[0] ^= words


def _rounds(state: _Words, count: int) -> None:
    v0, v1, v2, v3 = state
    spare = np.empty_like(v0)
    for _ in range(count):
        v0 += v1
        _rotate(v1, 13, spare)
        v1 ^= v0
        _rotate(v0, 32, spare)
        v2 += v3
        _rotate(v3, 16, spare)
        v3 ^= v2
        v0 += v3
        _rotate(v3, 21, spare)
        v3 ^= v0
        v2 += v1
        _rotate(v1, 17, spare)
        v1 ^= v2
        _rotate(v2, 32, spare)


def _rotate(words: _Words, bits: int, spare: _Words) -> None:
    np.right_shift(words, np.uint64(64 - bits), out=spare)
    np.left_shift(words, np.uint64(bits), out=words)
    words |= spare
