"""Text files as Excel and old programs write them."""

import pytest

from siamese_news.data.readers import open_posts
from siamese_news.errors import InputError

WESTERN = [
    "Die Brücke über den Fluß",
    "El río creció",
    "la forêt brûlée",
    "plain words",
]
RUSSIAN = [
    "Река поднялась ночью",
    "мост унесло водой",
    "город остался без света",
    "выборы мэра",
]
POLISH = [
    "rzeka zabrała most",
    "żółta łódka na wodzie",
    "źródło wiadomości",
    "ślad po powodzi",
]


def written(tmp_path, texts, encoding, name="posts.csv"):
    path = tmp_path / name
    rows = "".join(f'{number},"{text}"\n' for number, text in enumerate(texts))
    path.write_bytes(f"id,text\n{rows}".encode(encoding))
    return path


@pytest.mark.parametrize(
    ("texts", "encoding", "said"),
    [
        (WESTERN, "utf-8", "CSV"),
        (WESTERN, "utf-8-sig", "CSV"),
        (WESTERN, "cp1252", "CSV, cp1252"),
        (WESTERN, "utf-16", "CSV, utf-16"),
        (WESTERN, "utf-16-le", "CSV, utf-16-le"),
        (WESTERN, "utf-16-be", "CSV, utf-16-be"),
        (WESTERN, "utf-32", "CSV, utf-32"),
        (RUSSIAN, "utf-16", "CSV, utf-16"),
    ],
)
def test_what_a_table_is_written_in_is_seen_and_said(tmp_path, texts, encoding, said):
    stream = open_posts([written(tmp_path, texts, encoding)], strict=True)
    assert [post.text for post in stream] == texts
    assert stream.detected[0].described == said


@pytest.mark.parametrize(
    ("texts", "encoding"), [(RUSSIAN, "cp1251"), (POLISH, "cp1250")]
)
def test_a_code_page_can_be_named(tmp_path, texts, encoding):
    path = written(tmp_path, texts, encoding)
    stream = open_posts([path], encoding=encoding)
    assert [post.text for post in stream] == texts
    assert open_posts([path]).detected[0].encoding not in ("utf-8", "cp1252")


CZECH = ["Most strhla řeka", "náměstí je pod vodou", "hasiči čerpají sklepy dál"]
TURKISH = ["köprü yıkıldı ve yol kapandı", "çarşı sular altında", "şimdi elektrik yok"]
LITHUANIAN = [
    "upė užliejo pievas",
    "tiltas uždarytas",
    "žmonės išvežti iš namų",
    "šiandien vanduo kyla greičiau nei vakar",
    "ugniagesiai dirba visą naktį",
]


@pytest.mark.parametrize(
    ("texts", "encoding"),
    [
        (CZECH, "cp1250"),
        (POLISH, "cp1250"),
        (TURKISH, "cp1254"),
        (LITHUANIAN, "cp1257"),
        (["le café est fermé", "où sont les pompiers"], "cp1252"),
        (["áin flæddi yfir veginn", "brúin er farin", "það rignir enn þá"], "cp1252"),
    ],
)
def test_the_language_tells_the_code_page_of_excel(tmp_path, texts, encoding):
    stream = open_posts([written(tmp_path, texts, encoding)], strict=True)
    assert [post.text for post in stream] == texts
    assert stream.detected[0].encoding == encoding


def test_a_few_broken_lines_do_not_make_another_encoding(tmp_path):
    path = tmp_path / "posts.csv"
    rows = [f"{n},Brücke {n}\n".encode() for n in range(50)]
    rows[3] = b"3,Br\xfccke 3\n"
    path.write_bytes(b"id,text\n" + b"".join(rows))
    stream = open_posts([path])
    assert len(list(stream)) == 49
    assert stream.counts.reasons == {"not UTF-8": 1}


def test_json_in_utf_16_and_an_encoding_that_is_none(tmp_path):
    path = tmp_path / "posts.jsonl"
    path.write_bytes('{"id": "1", "text": "Brücke"}\n'.encode("utf-16"))
    assert [post.text for post in open_posts([path])] == ["Brücke"]
    with pytest.raises(InputError, match="--encoding is 'klingon'"):
        open_posts([path], encoding="klingon")
