"""The compiled loop over the chunks of texts: the same token ids as Python's.

To look for reads and writes out of bounds, build with CFLAGS=-fsanitize=address,undefined, and set
LD_PRELOAD to libasan.so and ASAN_OPTIONS to detect_leaks=0.
"""

import copy
import pickle
import random
import string
import sys
from functools import partial
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_news import open_model
from siamese_news.data.readers import open_posts
from siamese_news.text import Tokenizer, chunk_table, stable_hash, word_table
from siamese_news.text.chunk_table import ChunkTable, Reading, chunk_ids
from siamese_news.text.content_words import STOP_WORDS, content_words
from siamese_news.text.token_ids import ChunkIds
from siamese_news.utils import compiled_loops

WORDS = ["the", "river", "<unk>", "don't", "flood", "#flood", "洪水", "so", "mr", ","]
LONGEST = 200_000
ROOT = Path(__file__).parents[2]
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
    chunk_table.loops() is None,
    reason="chunks.c is not built: python setup.py build_ext --inplace",
)


def _named(ids, unknown, stop_words, tokenizer, chunk):
    """The ids of a chunk by their definition, and its hashed words."""
    tokens = tokenizer.chunk_tokens(chunk)
    tokens = tokens if stop_words is None else content_words(tokens)
    if unknown == "gap":
        return [ids.get(token, -1) for token in tokens], {}
    hashed = {
        len(ids) + stable_hash(token): token for token in tokens if token not in ids
    }
    if unknown == "drop":
        return [ids[token] for token in tokens if token in ids], {}
    numbers = {token: id for id, token in hashed.items()}
    return [ids[t] if t in ids else numbers[t] for t in tokens], hashed


def both(tokenizer=None, unknown="hash", most=1 << 18, words=WORDS, stop_words=None):
    """The same memory of chunks, compiled and in Python."""
    tokenizer = tokenizer or Tokenizer(words=WORDS)
    ids = {word: id for id, word in enumerate(words)}
    tokenize = partial(_named, ids, unknown, stop_words, tokenizer)
    reading = Reading(words, unknown, stop_words, tokenizer.shapes)
    return ChunkTable(tokenize, reading, most), ChunkIds(tokenize, len(words), most)


def alone(ids, **options):
    """The table of a function of chunks; the loop leaves those beyond ASCII to it."""
    return ChunkTable(ids, Reading([], "hash", None, Tokenizer().shapes), **options)


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
    st.sampled_from(["drop", "hash", "gap"]),
    st.sampled_from([1, 2, 5, 1 << 18]),
    st.sampled_from([4, 1 << 21]),
    st.sampled_from([WORDS, None]),
)
@settings(deadline=None)
def test_it_gives_the_ids_that_python_gives(
    calls, urls, mentions, unknown, most, batch_bytes, words
):
    tokenizer = Tokenizer(words=words, urls=urls, mentions=mentions)
    table, reference = both(tokenizer, unknown, most)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunk_table, "_BATCH", batch_bytes)
        for call in [*calls, *calls]:
            check_same(table.of(call, 60), reference.of(call, 60))
            assert len(table) <= most


@pytest.mark.slow
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
        return [-1], {}

    table = alone(note)
    letters = [character for character in every if not character.isspace()]
    # Chunks in ASCII never reach the callback.
    table.of([blank.join(["é", "à"]) for blank in blanks], LONGEST)
    assert pieces == ["é", "à"]
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


@pytest.mark.sampled(4)
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


def test_chunks_are_forgotten_when_there_are_too_many():
    tokenized = []

    def ids(chunk):
        tokenized.append(chunk)
        return [-len(chunk)], {}

    table = alone(ids, capacity=4)
    for text in ("thé rivér thé rivér", "à flöod", "thé böat", "thé rivér"):
        assert (-table.of([text], LONGEST).flat).tolist() == list(
            map(len, text.split())
        )
    assert tokenized == ["thé", "rivér", "à", "flöod", "thé", "böat", "rivér"]
    assert len(table) <= 4


def test_long_chunks_are_bounded_too():
    table, reference = both(most=20)
    calls = [[f"{letter * 60}{number}" for number in range(9)] for letter in "abcb"]
    for call in calls:
        check_same(table.of(call, LONGEST), reference.of(call, LONGEST))
        assert table._ends[len(table)] <= len(table._keys)


def test_chunks_of_very_many_tokens_are_bounded_too():
    table = alone(lambda chunk: ([-1] * 50, {}), capacity=40)
    for _ in range(9):
        table.of(["ä ß ç d", "é f"], LONGEST)
        assert len(table._ids.flat) < 1_000


def test_an_interrupted_call_leaves_no_trace():
    table, reference = both()
    whole = table._tokenize

    def interrupted(chunk):
        if chunk == "#boat":
            raise KeyboardInterrupt
        return whole(chunk)

    table._tokenize = interrupted
    with pytest.raises(KeyboardInterrupt):
        table.of(["the river", "a #boat on the river"], LONGEST)
    table._tokenize = whole
    call = ["the river floods", "a #boat"]
    check_same(table.of(call, LONGEST), reference.of(call, LONGEST))


def test_a_model_travels_to_an_installation_without_loops(monkeypatch):
    model = open_model()
    call = ["the river", "a boat, @name"]
    expected = model.token_ids(call)
    assert isinstance(model._chunks, ChunkTable)
    there = pickle.loads(pickle.dumps(model))
    monkeypatch.setattr(chunk_table, "loops", lambda: None)
    check_same(there.token_ids(call), expected)
    assert isinstance(there._chunks, ChunkIds)


def test_the_longest_key_and_hashtag_are_those_of_the_source():
    source = word_table.SOURCE.read_text(encoding="utf-8")
    assert f"#define LONGEST_KEY {chunk_table._LONGEST_KEY} " in source
    assert f"#define LONGEST_TAG {word_table.LONGEST_TAG} " in source


def test_the_loops_are_off_where_the_user_says_so(monkeypatch):
    monkeypatch.setenv(compiled_loops.SWITCH, "0")
    monkeypatch.setattr(chunk_table, "loops", chunk_table.loops.__wrapped__)
    reading = Reading(["a"], "hash", None, Tokenizer().shapes)
    assert isinstance(chunk_ids(lambda chunk: ([0], {}), reading), ChunkIds)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    "signal1m crisislex-boston trec-microblog events-dev claims-dev dast-da factcheck-dev "
    "fox-comments politifact-dev webis-clickbait usatoday-cnn".split(),
)
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


# Letters, digits and signs in the mixture of posts, more often next to each other than there.
ALPHABET = (
    "aaeinorsttu" * 4
    + "BHPST" * 2
    + "0123579" * 2
    + "''-..,,::;!!??()\""
    + "#@&_/\\*%~$[]+=<"
)
ENDINGS = "n't 's 're 've 'll 'd 'm 'd've ... .. ! !! ? : ; , . ) \" -- - 's. n't! ' s' %".split()
BEGINNINGS = "' \" ( # @ - -- . .. $ 'em 'tis '90s 'til. 'Cause, 'n' ''em 'ems".split()


def generated_chunks(model, count, seed=0):
    """Words of the vocabulary and random ones with signs around them, and no words at all."""
    dice = random.Random(seed)
    words = model.vocabulary.words
    for _ in range(count):
        kind = dice.randrange(4)
        letters = "".join(dice.choices(ALPHABET, k=dice.randint(1, 12)))
        if kind == 0:
            yield letters
            continue
        word = dice.choice(words) if kind < 3 else letters
        word = dice.choice([str.lower, str.upper, str.title])(word)
        joint = dice.choice(["", "-", "'", "_", ".", "/", ":", *ALPHABET])
        tail = dice.choice(words) if dice.random() < 0.3 else ""
        start = dice.choice(BEGINNINGS) if dice.random() < 0.2 else ""
        end = dice.choice(ENDINGS) if dice.random() < 0.6 else ""
        yield f"{start}{word}{joint if tail else ''}{tail}{end}"


def check_reading(chunks, unknown="hash", stop_words=STOP_WORDS, **options):
    """That the loop reads chunks as the tokenizer does; return the share that it left to Python."""
    model = open_model()
    words = model.vocabulary.words
    tokenizer = Tokenizer(**{"words": words, **options})
    table, reference = both(tokenizer, unknown, words=words, stop_words=stop_words)
    asked = []
    tokenize = table._tokenize
    table._tokenize = lambda chunk: (asked.append(chunk), tokenize(chunk))[1]
    check_same(table.of(chunks, LONGEST), reference.of(chunks, LONGEST))
    return len(asked) / len(set(chunks))


def test_generated_chunks_are_read_as_the_tokenizer_reads_them():
    chunks = list(generated_chunks(open_model(), 6_000))
    assert check_reading(chunks) < 0.4
    for unknown in ("hash", "drop", "gap"):
        assert check_reading(chunks[:2_000], unknown, None) < 0.4
    assert check_reading(chunks[:2_000], numbers="mark") < 0.6
    # A tokenizer that knows no words, as that of keywords.
    assert check_reading(chunks, "gap", None, words=None, hashtags="keep") < 0.4


@pytest.mark.slow
def test_very_many_generated_chunks_are_read_as_the_tokenizer_reads_them():
    chunks = list(generated_chunks(open_model(), 100_000, seed=1))
    assert check_reading(chunks) < 0.4
    check_reading(chunks, "gap", None)
    check_reading(chunks, "gap", None, words=None, hashtags="keep")


def test_every_text_of_the_repository_is_read_as_the_tokenizer_reads_it():
    folders = ("src", "desk/src", "docs", "examples")
    paths = [
        path
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in (".md", ".jsonl", ".tsv", ".txt", ".py")
        and "vocab" not in path.name
    ]
    chunks = {
        chunk for path in paths for chunk in path.read_text(encoding="utf-8").split()
    }
    assert len(chunks) > 10_000 and check_reading(sorted(chunks)) < 0.9


def test_hashtags_are_cut_as_in_python(monkeypatch):
    words = open_model().vocabulary.words
    dice = random.Random(0)
    tags = [
        "".join(dice.choices(words[:3_000], k=dice.randint(1, 4)))
        + dice.choice(["", "2013", "g20", "xyzzy"])
        for _ in range(500)
    ]
    tags = [tag[:100] for tag in tags if tag.isalnum() and tag.isascii()]
    compiled = Tokenizer(words=words)
    python = Tokenizer(words=words)
    assert python._split_hashtag is compiled._split_hashtag  # it is costly to make
    in_python = copy.copy(python._split_hashtag)
    monkeypatch.setattr(in_python, "_compiled", None)
    monkeypatch.setattr(python, "_split_hashtag", in_python)
    for tag in [*tags, "a" * 100, "1" * 100, "0a" * 50]:
        assert compiled(f"#{tag}") == python(f"#{tag}"), tag
