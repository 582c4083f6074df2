import gzip
import json

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from siamese_news.data import jsonl, lines
from siamese_news.data.articles import read_articles
from siamese_news.data.beir import read_corpus
from siamese_news.data.jsonl import read_jsonl
from siamese_news.data.lines import BadRow, read_lines
from siamese_news.data.readers import open_posts
from siamese_news.errors import InputError

GOOD = '{"_id": "1", "text": "a post"}\n'


def read_posts(path):
    """Posts as a prepared collection has them: the first bad line is an error."""
    return list(read_corpus(path.parent).values())


def write(folder, content, name="corpus.jsonl"):
    path = folder / name
    data = content if isinstance(content, bytes) else content.encode()
    if name.endswith(".gz"):
        data = gzip.compress(data)
    if name.endswith(".zst"):
        data = zstandard.ZstdCompressor().compress(data)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_plain_and_compressed_read_alike(tmp_path, ending):
    path = write(
        tmp_path, GOOD + "\r\n" + GOOD.replace("1", "2"), f"corpus.jsonl{ending}"
    )
    assert [(p.id, p.text) for p in read_posts(path)] == [
        ("1", "a post"),
        ("2", "a post"),
    ]


def test_bom_and_crlf(tmp_path):
    path = write(tmp_path, b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert [p.id for p in read_posts(path)] == ["1"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{not json}", r":2: not JSON"),
        ('{"_id": "2", "text": "x"', r":2: not JSON"),
        ('["a"]', r":2: a list, expected a JSON object"),
        ("7", r":2: a number, expected a JSON object"),
        ("NaN", r":2: null, expected a JSON object"),
        ('{"text": "x"}', r":2: field '_id' is missing"),
        ('{"_id": "2"}', r":2: field 'text' is missing"),
        ('{"_id": "2", "text": 5}', r":2: field 'text' is a number, expected a string"),
        ('{"_id": "2", "text": null}', r":2: field 'text' is null"),
        ('{"_id": "2", "text": NaN}', r":2: field 'text' is null"),
        ('{"_id": NaN, "text": ""}', r":2: field '_id' is null"),
        (
            '{"_id": "2", "text": "", "metadata": 3}',
            r":2: field 'metadata' is a number",
        ),
        ('{"_id": 1.5, "text": ""}', r":2: field '_id' is a number"),
        ('{"_id": true, "text": ""}', r":2: field '_id' is a boolean"),
        ('{"_id": "", "text": ""}', r":2: field '_id' is empty"),
        (
            '{"_id": "a b", "text": ""}',
            r":2: field '_id' is 'a b', which contains white space",
        ),
        ('{"_id": "a\\u0000", "text": ""}', r":2: field '_id' is"),
        ('{"_id": "\\ud800", "text": ""}', r":2: field '_id' is"),
        ('{"_id": "2", "text": "", "title": 5}', r":2: field 'title' is a number"),
        ("[" * 100_000, r":2: (nested too deeply|not JSON)"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, message):
    path = write(tmp_path, GOOD + line + "\n")
    with pytest.raises(InputError, match=r"corpus\.jsonl" + message):
        list(read_posts(path))


def test_missing_empty_and_blank_files(tmp_path):
    with pytest.raises(InputError, match=r"no\.jsonl: no such file"):
        list(read_jsonl(tmp_path / "no.jsonl"))
    with pytest.raises(InputError, match="is empty"):
        list(read_jsonl(write(tmp_path, "")))
    with pytest.raises(InputError, match="no record"):
        list(read_jsonl(write(tmp_path, "\n \n")))
    with pytest.raises(InputError, match="no record"):
        list(read_jsonl(write(tmp_path, "", "corpus.jsonl.gz")))
    with pytest.raises(InputError, match="is a folder"):
        list(read_jsonl(tmp_path))


def test_truncated_and_damaged_gzip(tmp_path):
    lines = "".join(
        json.dumps({"_id": str(n), "text": str(n**9)}) + "\n" for n in range(5000)
    )
    path = write(tmp_path, lines, "corpus.jsonl.gz")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(
        InputError, match=r"corpus\.jsonl\.gz:\d+: .*damaged or cut off"
    ):
        list(read_posts(path))
    path.write_bytes(whole[:5000] + bytes(50) + whole[5050:])
    with pytest.raises(InputError, match=r"corpus\.jsonl\.gz:\d+:"):
        list(read_posts(path))
    path.write_bytes(b"\x1f\x8bno gzip at all")
    with pytest.raises(InputError, match="damaged"):
        list(read_posts(path))


def test_damaged_zst(tmp_path):
    path = tmp_path / "corpus.jsonl.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfdno zst at all")
    with pytest.raises(InputError, match="damaged"):
        list(read_posts(path))


def test_a_line_may_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "LINE_CAP", 1000)
    path = write(tmp_path, GOOD + "x" * 5000 + "\n")
    with pytest.raises(InputError, match=r":2: the line is longer than 1,000 bytes"):
        list(read_lines(path))
    exact = write(tmp_path, "x" * 999 + "\n")
    assert len(list(read_lines(exact))) == 1


def test_bytes_that_are_not_utf8(tmp_path):
    with pytest.raises(InputError, match=r":2: byte 2 is not UTF-8"):
        list(read_lines(write(tmp_path, b"ab\nab\xff\n")))


def test_ids_keep_every_digit(tmp_path):
    number = 2**53 + 1
    content = (
        f'{{"_id": {number}, "text": "a"}}\n{{"_id": {"9" * 4000}, "text": "b"}}\n'
    )
    first, second = read_posts(write(tmp_path, content))
    assert first.id == "9007199254740993"
    assert type(first.id) is str
    assert second.id == "9" * 4000
    with pytest.raises(InputError, match=r":1: a number has more than 4,300 digits"):
        list(
            read_posts(write(tmp_path, content.replace("9007199254740993", "9" * 6000)))
        )


def test_metadata_numbers_are_numbers(tmp_path):
    content = '{"_id": "1", "text": "a", "metadata": {"n": 9007199254740993, "l": [1, 2.5]}}\n'
    (post,) = read_posts(write(tmp_path, content))
    assert post.metadata == {"n": 9007199254740993, "l": [1, 2.5]}


def test_texts_are_cleaned(tmp_path):
    content = b'{"_id": "1", "text": "a\\u0000b \\ud83d c \\ud83d\\ude00 d\x00e"}\n'
    (post,) = read_posts(write(tmp_path, content))
    assert post.text == "a b \ufffd c \U0001f600 d e"
    post.text.encode()


def test_a_long_post_and_an_empty_one_are_read(tmp_path):
    content = (
        json.dumps({"id": "1", "text": "x" * 10**6}) + '\n{"id": "2", "text": ""}\n'
    )
    assert [len(p.text) for p in read_posts(write(tmp_path, content))] == [10**6, 0]


def test_fields_of_tweet_dumps(tmp_path):
    content = '{"id": 10, "id_str": "11", "text": "cut…", "full_text": "not cut"}\n'
    (post,) = read_posts(write(tmp_path, content))
    assert (post.id, post.text) == ("11", "not cut")


def test_articles_from_text_files(tmp_path):
    one = write(tmp_path, "\nThe title\n\nFirst.\nSecond.\n", "the story.txt")
    two = write(tmp_path, "Only one line.", "b.v2.txt.gz")
    first, second = read_articles([one, two])
    assert (first.id, first.title, first.text) == (
        "the-story",
        "The title",
        "First.\nSecond.",
    )
    assert first.full_text == "The title\nFirst.\nSecond."
    assert (second.id, second.title, second.text) == ("b.v2", "", "Only one line.")
    assert second.full_text == second.text


def test_articles_from_records(tmp_path):
    content = (
        '{"url": "https://a.example/1", "article": "Body", "title": null}\n'
        '{"_id": "x", "text": "T", "title": "H"}\n'
    )
    first, second = read_articles([write(tmp_path, content, "seeds.jsonl")])
    assert (first.id, first.text, first.title) == ("https://a.example/1", "Body", "")
    assert second.full_text == "H\nT"


def test_articles_that_are_refused(tmp_path):
    with pytest.raises(InputError, match="the article is empty"):
        read_articles([write(tmp_path, " \n", "a.txt")])
    with pytest.raises(InputError, match=r"q\.jsonl:1: field 'text' is empty"):
        read_articles([write(tmp_path, '{"_id": "1", "text": " "}', "q.jsonl")])
    with pytest.raises(InputError, match=r"ends in '\.epub'"):
        read_articles([write(tmp_path, "x", "a.epub")])
    with pytest.raises(InputError, match="not a PDF that can be read"):
        read_articles([write(tmp_path, "x", "a.pdf")])
    with pytest.raises(InputError, match="no article came"):
        read_articles([])
    a, other = write(tmp_path, "x", "a.txt"), write(tmp_path, "y", "a.md")
    with pytest.raises(
        InputError, match=r"a\.md: the id 'a' was already used at .*a\.txt"
    ):
        read_articles([a, other])


values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=6,
)
records = st.fixed_dictionaries(
    {}, optional={"_id": values, "text": values, "title": values, "metadata": values}
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    content=st.binary(max_size=200) | st.lists(records, max_size=3),
    ascii_only=st.booleans(),
)
def test_whatever_comes_is_read_or_refused_by_line(
    tmp_path_factory, content, ascii_only
):
    if isinstance(content, list):
        lines = "".join(json.dumps(r, ensure_ascii=ascii_only) + "\n" for r in content)
        content = lines.encode("utf-8", "surrogatepass")
    path = tmp_path_factory.getbasetemp() / "corpus.jsonl"
    path.write_bytes(content)
    for read in (read_posts, lambda p: read_articles([p])):
        try:
            for record in read(path):
                f"{record.id}\t{record.text}".encode()
                assert len(record.id.split()) == 1
        except InputError as error:
            assert str(error).startswith(str(path))


NUMBERS = st.from_regex(
    r"-?[0-9]{1,25}(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True
)
STRINGS = st.lists(
    st.characters()
    | st.sampled_from(
        ["\\ud83d", "\\ude00", "\\u0000", "\\n", "\\x", "\x01", '"', "\\"]
    )
).map(lambda parts: f'"{"".join(parts)}"')
VALUES = st.recursive(
    NUMBERS
    | STRINGS
    | st.sampled_from(["null", "true", "NaN", "-Infinity", "nul", ""]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda some: f"[{','.join(some)}]")
        | st.lists(st.tuples(STRINGS, inner), max_size=3).map(
            lambda pairs: f"{{{', '.join(f'{key}: {value}' for key, value in pairs)}}}"
        )
    ),
    max_leaves=6,
)
SPACES = st.text(" \t\r\n\x0b\u00a0\ufeff", max_size=2)


@settings(deadline=None, max_examples=150)
@given(st.tuples(SPACES, VALUES, SPACES).map("".join), st.binary(max_size=1))
def test_any_line_is_read_as_the_json_module_reads_it(text, byte):
    line = text.encode("utf-8", "surrogatepass") + byte
    try:
        expected = repr(jsonl._DECODER.decode(line.decode().strip()))
    except ValueError:
        expected = None
    try:
        value = repr(jsonl.decode_value(line))
    except BadRow:
        value = None
    assert value == expected


def test_numbers_beyond_64_bits_name_authors_and_threads(tmp_path):
    """They were rounded to floating-point numbers, and left out as such."""
    row = {"id": 2**70, "text": "a post", "author": 2**71, "in_reply_to_id": 2**72}
    path = write(tmp_path, json.dumps(row) + "\n", "posts.jsonl")
    (post,) = open_posts([path])
    assert post.id == str(2**70) and post.metadata["author"] == str(2**71)
    assert post.metadata["reply_to"] == str(2**72)
