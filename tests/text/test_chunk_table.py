"""The compiled loop over the chunks of texts: the same token ids as Python's.

To look for reads and writes out of bounds, build with CFLAGS=-fsanitize=address,undefined, and set
LD_PRELOAD to libasan.so and ASAN_OPTIONS to detect_leaks=0.
"""

import pickle
import string
import sys
from functools import partial
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_news import open_model
from siamese_news.data.readers import open_posts
from siamese_news.text import Tokenizer, Vocabulary, chunk_table
from siamese_news.text.chunk_table import ChunkTable, chunk_ids
from siamese_news.text.token_ids import ChunkIds
from siamese_news.utils import compiled_loops

WORDS = ["the", "river", "<unk>", "don't", "flood", "#flood", "洪水", "so", "mr", ","]
LONGEST = 200_000
PIECES = [
    *"the RIVER Mr. mr U.S. etc. time. soooo don't flood, flood! flood; x\u00ad".split(),
    *"@name @name: @na_me9! @name's @ @: #FloodAlert #flood, ;) :-)) 洪水警報".split(),
    *"https://t.co/aB1 http://x. https: http:/ https://t.co/a, HTTPS://T.CO/A".split(),
    *"&amp; 1,000 20% 🌊🌊 é e\u0301 \ud83d \ud83d\ude00 \x00 a\x00b \x7f ．".split(),
    "x" * 64,
    "y" * 65,
    "#" + "z" * 70,
    "https://" + "a" * 300,
    "\x1c",
    "\x85",
    "\u3000",
    "\n",
]

pytestmark = pytest.mark.skipif(
    chunk_table.library() is None,
    reason="chunks.c is not built: python setup.py build_ext --inplace",
)


def _named(vocabulary, tokenizer, chunk):
    tokens = tokenizer.chunk_tokens(chunk)
    ids = vocabulary.id_list(tokens)
    pairs = zip(ids, tokens, strict=True) if vocabulary.unknown == "hash" else ()
    return ids, {id: token for id, token in pairs if id >= len(vocabulary)}


def both(tokenizer=None, unknown="hash", most=1 << 18):
    """The same memory of chunks, compiled and in Python."""
    tokenizer = tokenizer or Tokenizer(words=WORDS)
    tokenize = partial(_named, Vocabulary(WORDS, unknown=unknown), tokenizer)
    table = ChunkTable(tokenize, len(WORDS), tokenizer.shapes, most)
    return table, ChunkIds(tokenize, len(WORDS), most)


def check_same(left, right):
    assert left.flat.tolist() == right.flat.tolist()
    assert left.offsets.tolist() == right.offsets.tolist()
    assert list(left.unknown.items()) == list(right.unknown.items())


texts = st.lists(
    st.lists(
        st.text(max_size=8)
        | st.sampled_from(PIECES)
        | st.text(string.ascii_letters + "'@#:.,!-/ ", max_size=8),
        max_size=12,
    ).flatmap(lambda pieces: st.sampled_from([" ".join(pieces), "".join(pieces)])),
    max_size=6,
)


@given(
    st.lists(texts, max_size=4),
    st.sampled_from(["drop", "mark", "keep"]),
    st.sampled_from(["drop", "mark", "keep"]),
    st.sampled_from(["drop", "hash"]),
    st.sampled_from([1, 2, 5, 1 << 18]),
    st.sampled_from([4, 1 << 21]),
)
@settings(deadline=None)
def test_it_gives_the_ids_that_python_gives(
    calls, urls, mentions, unknown, most, batch_bytes
):
    tokenizer = Tokenizer(words=WORDS, urls=urls, mentions=mentions)
    table, reference = both(tokenizer, unknown, most)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunk_table, "_BATCH", batch_bytes)
        for call in [*calls, *calls]:
            check_same(table.of(call, 60), reference.of(call, 60))
            assert len(table) <= most


def test_every_character_is_a_blank_or_part_of_a_chunk_as_in_python():
    table, reference = both()
    every = [chr(code) for code in range(sys.maxunicode + 1)]
    sides = "".join(
        character for character in every if character.isspace() or ord(character) < 256
    )
    call = [f"a{character}b" for character in sides]
    check_same(table.of(call, LONGEST), reference.of(call, LONGEST))
    blanks = [chunk for chunk in every if chunk.isspace()]
    pieces = []

    def note(chunk):
        pieces.append(chunk)
        return [0], {}

    table = ChunkTable(note, 1, Tokenizer().shapes)
    letters = [character for character in every if not character.isspace()]
    table.of([blank.join(["a", "b"]) for blank in blanks], LONGEST)
    assert pieces == ["a", "b"]
    # No other character begins or ends a chunk.
    for start in range(0, len(letters), 50):
        table.of(["0" + "0".join(letters[start : start + 50])], LONGEST)
    assert "".join(pieces[2:]) == "".join(f"0{character}" for character in letters)


SIGNS = [chr(code) for code in range(128) if not chr(code).isspace()]
PAIRS = [left + right for left in SIGNS for right in SIGNS]
# One of each kind that the loop tells apart, and those that belong to links or to names.
TELLING_SIGNS = "aZ0_@#&-'.,:!/?\x00"
TELLING_PAIRS = [left + right for left in TELLING_SIGNS for right in TELLING_SIGNS]
# Those before which every pair of signs is tried, then more of each shape.
STEMS = ["word", "@name", "https://t.co/a"]
MORE_STEMS = [
    *("", "Mr", "dec", "Trump", "u", "@a_1", "@", "so" + "o" * 9),
    *("http:", "https:", "httpx:", "http://"),
]
TOKENIZERS = [
    Tokenizer(words=WORDS),
    Tokenizer(),
    Tokenizer(mentions="mark", urls="keep"),
]


def check_shapes(tokenizer, stems, ends):
    table, reference = both(tokenizer)
    call = [f"{stem}{end}" for stem in stems for end in ends]
    check_same(table.of(call, LONGEST), reference.of(call, LONGEST))


def test_the_shapes_that_it_takes_apart_are_those_of_the_tokenizer():
    check_shapes(TOKENIZERS[0], STEMS, [*PAIRS, *SIGNS])
    check_shapes(TOKENIZERS[0], MORE_STEMS, [*TELLING_PAIRS, *SIGNS])
    for tokenizer in TOKENIZERS[1:]:
        check_shapes(tokenizer, [*STEMS, *MORE_STEMS], [*TELLING_PAIRS, *SIGNS])


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(TOKENIZERS)))
def test_every_pair_of_signs_after_every_stem_is_as_in_the_tokenizer(number):
    check_shapes(TOKENIZERS[number], [*STEMS, *MORE_STEMS], [*PAIRS, *SIGNS])


def test_keys_that_collide_cost_memory_at_most():
    table, reference = both()
    table._chunks.places = 4
    call = [" ".join(f"w{number} x{number}," for number in range(300))] * 2
    for _ in range(2):
        check_same(table.of(call, LONGEST), reference.of(call, LONGEST))
    assert len(table) == 4


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "x " * 500_000,
        " " * 1_000_000,
        "\x00" * 1_000_000,
        "\ud800" * 300_000,
        "#a" * 500_000,
        ".,!" * 300_000,
        "https://" + "a" * 1_000_000,
        "@" + "é" * 500_000,
        "\u3000é" * 300_000,
    ],
    ids=lambda text: text[:3].encode("unicode_escape").decode(),
)
def test_texts_of_a_megabyte(text):
    table, reference = both()
    for longest in (1_000, LONGEST):
        check_same(
            table.of([text, "the river"], longest),
            reference.of([text, "the river"], longest),
        )


def test_the_chunks_that_came_least_are_forgotten():
    tokenized = []

    def ids(chunk):
        tokenized.append(chunk)
        return [len(chunk)], {}

    table = ChunkTable(ids, 99, Tokenizer().shapes, most=4)
    for text in ("the river the river", "a flood", "the boat", "the river"):
        assert table.of([text], LONGEST).flat.tolist() == list(map(len, text.split()))
    assert tokenized == ["the", "river", "a", "flood", "boat"]
    assert len(table) <= 4


def test_long_chunks_are_bounded_too():
    table, reference = both(most=20)
    calls = [[f"{letter * 60}{number}" for number in range(9)] for letter in "abcb"]
    for call in calls:
        check_same(table.of(call, LONGEST), reference.of(call, LONGEST))
        assert table._ends[len(table)] <= len(table._keys)


def test_chunks_of_very_many_tokens_are_bounded_too():
    table = ChunkTable(lambda chunk: ([1] * 50, {}), 2, Tokenizer().shapes, most=40)
    for _ in range(9):
        table.of(["a b c d", "e f"], LONGEST)
        assert len(table._flat) < 1_000


def test_an_interrupted_call_leaves_no_trace():
    table, reference = both()
    whole = table._tokenize

    def interrupted(chunk):
        if chunk == "boat":
            raise KeyboardInterrupt
        return whole(chunk)

    table._tokenize = interrupted
    with pytest.raises(KeyboardInterrupt):
        table.of(["the river", "a boat on the river"], LONGEST)
    table._tokenize = whole
    call = ["the river floods", "a boat"]
    check_same(table.of(call, LONGEST), reference.of(call, LONGEST))


def test_it_travels_to_an_installation_without_loops(monkeypatch):
    table, _ = both()
    call = ["the river", "a boat, @name"]
    expected = table.of(call, LONGEST)
    there = pickle.loads(pickle.dumps(table))
    assert isinstance(there, ChunkTable) and not len(there)
    check_same(there.of(call, LONGEST), expected)
    monkeypatch.setattr(chunk_table, "library", lambda: None)
    python = pickle.loads(pickle.dumps(table))
    assert isinstance(python, ChunkIds)
    check_same(python.of(call, LONGEST), expected)


def test_the_longest_key_is_that_of_the_source():
    source = chunk_table.SOURCE.read_text(encoding="utf-8")
    assert f"#define LONGEST_KEY {chunk_table._LONGEST_KEY} " in source


def test_the_loops_are_off_where_the_user_says_so(monkeypatch):
    monkeypatch.setenv(compiled_loops.SWITCH, "0")
    monkeypatch.setattr(chunk_table, "library", chunk_table.library.__wrapped__)
    chunks = chunk_ids(lambda chunk: ([0], {}), 1, Tokenizer().shapes)
    assert isinstance(chunks, ChunkIds)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["signal1m", "crisislex-boston", "trec-microblog"])
def test_real_posts_have_the_same_ids(data_dir, name):
    path = data_dir / name / "corpus.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"{name} is not in SIAMESE_NEWS_DATA")
    model = open_model()
    assert isinstance(model._chunks, ChunkTable)
    reference = ChunkIds(model._chunk_ids, len(model.vocabulary))
    posts = iter(open_posts(path))
    while block := [post.text for post in islice(posts, 8192)]:
        check_same(model.token_ids(block), reference.of(block, LONGEST))
