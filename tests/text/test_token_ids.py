"""Token ids of many texts: as those of each text by itself."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_news.text import Tokenizer, Vocabulary
from siamese_news.text.token_ids import ChunkIds, TokenIds, truncate, truncated

ids = st.lists(st.lists(st.integers(0, 2**63 - 1), max_size=6), max_size=8)


@given(ids, st.integers(-9, 9), st.integers(-9, 9))
def test_it_is_a_sequence_of_the_texts(texts, start, stop):
    joined = TokenIds.of([np.array(text, np.int64) for text in texts])
    assert [text.tolist() for text in joined] == texts
    assert [joined[place].tolist() for place in range(len(joined))] == texts
    assert [text.tolist() for text in joined[start:stop]] == texts[start:stop]
    assert joined.lengths.tolist() == list(map(len, texts))
    assert joined.rows.tolist() == [row for row, text in enumerate(texts) for _ in text]
    assert TokenIds.of(joined) is joined


@given(ids, st.data())
def test_some_ids_of_each_text(texts, data):
    joined = TokenIds.of([np.array(text, np.int64) for text in texts])
    limits = {
        "post_tokens": data.draw(st.integers(1, 7)),
        "keep": data.draw(st.sampled_from(["first", "last"])),
    }
    kept = [[i for i in text if i % 3] for text in texts]
    odd = joined.where(joined.flat % 3 != 0)
    assert [text.tolist() for text in odd] == kept
    cut = [truncate(text, limits, "post") for text in kept]
    assert [text.tolist() for text in truncated(odd, limits, "post")] == cut


def test_no_place_beyond_the_texts():
    joined = TokenIds.of([np.array([1])])
    with pytest.raises(IndexError):
        joined[1]
    with pytest.raises(ValueError, match="step 2"):
        joined[::2]


WORDS = ["the", "river", "<unk>", "don't", "flood", "#flood", "洪水"]


def _named(vocabulary, tokenizer, text):
    tokens = tokenizer(text)
    ids = vocabulary.id_list(tokens)
    pairs = zip(ids, tokens, strict=True) if vocabulary.unknown == "hash" else ()
    return ids, {id: token for id, token in pairs if id >= len(vocabulary)}


@given(
    st.lists(
        st.text(max_size=20)
        | st.sampled_from(["the River\u2028 #Flood don't", "洪水警報 x"])
    ),
    st.sampled_from(["drop", "hash"]),
    st.integers(1, 12),
)
@settings(deadline=None)
def test_chunks_give_the_ids_of_the_whole_text(texts, unknown, longest):
    tokenizer = Tokenizer(words=WORDS, max_characters=longest)
    vocabulary = Vocabulary(WORDS, unknown=unknown)
    chunks = ChunkIds(partial(_named, vocabulary, tokenizer), len(WORDS))
    expected = [vocabulary.ids(tokenizer(text)).tolist() for text in texts]
    for _ in range(2):  # the second time from memory
        found = chunks.of(texts, longest)
        assert [text.tolist() for text in found] == expected
        words = {token for text in texts for token in tokenizer(text[:longest])}
        strange = words - set(WORDS) if unknown == "hash" else set()
        assert found.unknown == {vocabulary.ids([word])[0]: word for word in strange}


def test_what_it_remembers_is_bounded_and_stays_at_home():
    chunks = ChunkIds(
        partial(_named, Vocabulary(WORDS, unknown="hash"), list), len(WORDS), 3
    )
    first = chunks.of(["a b c d e f https://t.co/abc"], 100)
    assert set(chunks.of(["xy", "a b"], 100).unknown.values()) == set("abxy")
    assert 0 < len(chunks) <= 3 and not any(
        chunk.startswith("http") for chunk in chunks
    )
    again = chunks.of(["a b c d e f https://t.co/abc"], 100)
    assert again[0].tolist() == first[0].tolist()


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=6), max_size=12))
@settings(deadline=None)
def test_forgetting_chunks_never_changes_a_result(batches):
    vocabulary = Vocabulary(WORDS, unknown="hash")
    chunks = ChunkIds(partial(_named, vocabulary, str.split), len(WORDS), capacity=2)
    for batch in batches:
        token_ids = chunks.of(["  ".join(batch)], 100)
        assert token_ids.flat.tolist() == vocabulary.id_list(batch)
        assert token_ids.unknown == {
            vocabulary.id_list([word])[0]: word for word in set(batch)
        }
