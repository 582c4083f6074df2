"""Ids, the three ways with unknown words, and the file."""

import copy
import pickle
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_news.errors import InputError
from siamese_news.text import PAD, Vocabulary, stable_hash

WORDS = ["the", "boston", "<unk>", "marathon"]
TOKENS = ["boston", "xyz", "the", "abc", "xyz"]


def test_drop_leaves_unknown_words_out() -> None:
    ids = Vocabulary(WORDS, unknown="drop").ids(TOKENS)
    assert ids.dtype == np.int64
    assert ids.tolist() == [1, 0]


def test_hash_gives_the_same_word_the_same_id() -> None:
    ids = Vocabulary(WORDS, unknown="hash").ids(TOKENS)
    expected = [
        1,
        4 + stable_hash("xyz"),
        0,
        4 + stable_hash("abc"),
        4 + stable_hash("xyz"),
    ]
    assert ids.tolist() == expected


def test_hash_is_the_same_everywhere() -> None:
    # Written down once: a model folder holds ids that were made on another machine.
    assert stable_hash("tsarnaev") == 1843534556906004975
    script = "from siamese_news.text import stable_hash; print(stable_hash('tsarnaev'))"
    for seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert int(done.stdout) == stable_hash("tsarnaev")


@given(st.text())
def test_hash_fits(word: str) -> None:
    assert 0 <= stable_hash(word) < 2**62


@pytest.mark.parametrize("unknown", ["drop", "hash"])
def test_no_tokens(unknown: str) -> None:
    ids = Vocabulary(WORDS, unknown=unknown).ids([])
    assert ids.shape == (0,) and ids.dtype == np.int64
    assert PAD == -1


@given(st.lists(st.lists(st.sampled_from([*WORDS, "abc", "xyz"]))))
@settings(deadline=None)
def test_document_frequencies_count_texts(lists: list[list[str]]) -> None:
    for unknown in ("drop", "hash"):
        truth = Counter(word for tokens in lists for word in set(tokens))
        found = Vocabulary(WORDS, unknown=unknown).document_frequencies(iter(lists))
        assert found.dtype == np.int64
        assert found.tolist() == [truth[word] for word in WORDS]


WORD = st.text(min_size=1).filter(lambda word: "\n" not in word and word.isprintable())
ODD = st.sampled_from(
    ["\r", " ", "\u2028", "\x85", "\ufeff", "a\tb", "\x00", "é", "e\u0301"]
)


@given(st.lists(WORD | ODD, min_size=1, unique=True))
@settings(deadline=None)
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, words: list
) -> None:
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    vocabulary = Vocabulary(words, unknown="hash")
    vocabulary.save(path)
    again = Vocabulary.load(path, unknown="hash")
    assert again == vocabulary
    assert again.words == tuple(words)
    assert again != Vocabulary(words, unknown="drop")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no words"),
        (["a", "b", "a"], r"word 3: 'a' is a duplicate of word 1"),
        (["a", ""], "word 2: '' is empty"),
        (["a\nb"], "line feed"),
        (["a", "\ud800"], "not valid Unicode"),
        (["a", 5], "is not a string"),
        ("abc", "one string"),
    ],
)
def test_bad_words(words: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Vocabulary(words, unknown="drop")


def test_bad_options() -> None:
    with pytest.raises(InputError, match="drop, hash"):
        Vocabulary(["a"], unknown="keep")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nb\na\n", "vocab.txt:3: 'a' is a duplicate of word"),
        (b"a\n\nb\n", "vocab.txt:2: '' is empty"),
        (b"a\nb\xff\n", "vocab.txt:2: not UTF-8"),
        (b"", "vocab.txt: the file is empty"),
        (b"\n", "vocab.txt:1: '' is empty"),
    ],
)
def test_bad_files(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        Vocabulary.load(path, unknown="drop")


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        Vocabulary.load(tmp_path / "none.txt", unknown="drop")


def test_copies_and_membership() -> None:
    vocabulary = Vocabulary(WORDS, unknown="hash")
    for twin in (pickle.loads(pickle.dumps(vocabulary)), copy.deepcopy(vocabulary)):
        assert twin == vocabulary and hash(twin) == hash(vocabulary)
        assert (twin.ids(TOKENS) == vocabulary.ids(TOKENS)).all()
    assert "boston" in vocabulary and "xyz" not in vocabulary and len(vocabulary) == 4
    vocabulary.ids(["xyz"])
    assert "xyz" not in vocabulary and vocabulary != "words"
    assert repr(vocabulary) == "Vocabulary(4 words, unknown='hash')"
