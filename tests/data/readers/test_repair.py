"""Texts that were encoded twice or written as escapes: repaired where certain, else counted."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siamese_news.data.readers import open_posts
from siamese_news.data.readers.repair import repaired, suspicious

from ...commands import siamese_news as process

TEXTS = [
    "L’écluse de Tanaisie cède : déjà 3 € « perdus » – évacuée 🌊",
    "Wehr in Köln: größte Flut",
    "La presa cedió en la noche, ¡mañana más!",
    "плотина прорвана ночью",
    "انهار السد في الليل",
    "नदी का बाँध टूट गया",
    "堤防が決壊した。避難する",
    "🌊🌊 weir down 🙏🏽",
]


def as_cp1252(data):
    """Bytes as a program shows them that takes UTF-8 for cp1252."""
    return "".join(bytes([n]).decode("cp1252", "ignore") or chr(n) for n in data)


DAMAGES = {
    "cp1252": lambda text: as_cp1252(text.encode()),
    "latin-1": lambda text: text.encode().decode("latin-1"),
    "twice": lambda text: as_cp1252(as_cp1252(text.encode()).encode()),
    "bytes": lambda text: repr(text.encode()),
    "JSON": lambda text: json.dumps(text)[1:-1],
    "R": lambda text: "".join(c if c.isascii() else f"<U+{ord(c):04X}>" for c in text),
    "R on Windows": lambda text: "".join(
        c if c.isascii() else "".join(f"<{n:02x}>" for n in c.encode()) for c in text
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("text", TEXTS)
def test_a_damaged_text_is_what_it_was(damage, text):
    damaged = DAMAGES[damage](text)
    assert damaged != text
    assert suspicious(["something else", damaged, "and more"])
    assert repaired(damaged) == (text, "repaired")


@pytest.mark.parametrize(
    "text",
    [
        *TEXTS,
        *(
            "LE CAFÉ”",
            "“AMANHÔ",
            "IL Y MARQUÉ…",
            "TRÈS BIEN »",
            "À…",
            "Ã",
            "Â",
            "SÃO PAULO – AÇÃO",
        ),
        *("AMANHÃ» disse ela", "MANHÃ… linda", "MANHÃ™ a marca", "IRMÃ\xa0!", "HÂ± 5"),
        "In R prints <U+0641> for the letter fa",
        "the folder C:\\users\\u00e4 is full",
        *(
            "use \\u0041 now",
            "the sign \\u00e9 alone",
            r"C:\users\x",
            "b'unclosed",
            "<3 ><",
            "a<b><c>",
        ),
        *("b'two' + b'parts'", "<U+110000>", "<c3><28>", "\\ud83c alone", "Ø 5 §"),
    ],
)
def test_a_text_that_is_right_stays(text):
    assert repaired(text) == (text, "whole" if "<U+" not in text else "garbled")


@given(
    st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), max_size=80)
)
def test_no_text_fails_and_a_repaired_one_is_whole(text):
    plain, state = repaired(text)
    assert (plain == text) == (state != "repaired")
    assert repaired(plain)[1] != "repaired"


@given(st.text(st.characters(max_codepoint=0x2122), max_size=60))
def test_only_suspicious_texts_are_repaired(text):
    if not suspicious([text]):
        assert repaired(text)[1] == "whole"


def test_the_command_counts_what_was_repaired_and_what_was_left(tmp_path):
    texts = [
        as_cp1252("Le barrage de Tanaisie cède : « fuyez »".encode()),
        "b'le barrage c\\xc3\\xa8de'",
        as_cp1252("it’s".encode()) + " a café",
        "a plain café",
    ]
    rows = "".join(
        json.dumps({"id": str(n), "text": t}) + "\n" for n, t in enumerate(texts)
    )
    (tmp_path / "posts.jsonl").write_text(rows)
    (tmp_path / "seed.txt").write_text("Le barrage de Tanaisie cède dans la nuit.\n")
    rank = (
        "rank",
        "--articles",
        "seed.txt",
        "--posts",
        "posts.jsonl",
        "--out",
        "list.jsonl",
    )
    done = process(*rank, folder=tmp_path)
    assert "2 texts repaired (encoded twice, or in escapes)" in done.stderr
    assert "1 text left that may be encoded twice" in done.stderr
    found = {
        row["post"]: row["text"]
        for row in map(json.loads, open(tmp_path / "list.jsonl"))
    }
    assert found["0"] == "Le barrage de Tanaisie cède : « fuyez »"
    assert found["1"] == "le barrage cède" and found["2"] == texts[2]


def test_joined_texts_keep_the_lengths_of_their_parts(tmp_path):
    row = {"id": "1", "text": "b'x'", "note": as_cp1252("cède".encode())}
    (tmp_path / "posts.jsonl").write_text(json.dumps(row) + "\n")
    stream = open_posts(tmp_path / "posts.jsonl", text_field=["text", "note"])
    (post,) = stream
    assert sum(length for _, length in post.metadata["@fields"]) + 1 == len(post.text)
    assert stream.counts.repaired == 0
