"""Files that are small on disk and huge when they are read."""

import gzip
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from siamese_news.data.articles import read_articles
from siamese_news.data.readers import open_posts
from siamese_news.errors import InputError

PEAK = """
import re, sys
from siamese_news.data.readers import open_posts
from siamese_news.errors import InputError
try:
    print(sum(1 for _ in open_posts([sys.argv[1]])))
except InputError as error:
    print(error)
# The peak of this process alone; ru_maxrss would begin with what its parent held.
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024)
"""


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="needs /proc"
)


def peak(path):
    """What reading a file says in a process of its own, and its peak in MB."""
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(path)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert not done.returncode, done.stderr
    said, memory = done.stdout.splitlines()
    return said, int(memory)


@needs_proc
def test_a_parquet_file_that_repeats_a_megabyte_20_000_times_is_refused(tmp_path):
    path = tmp_path / "bomb.parquet"
    text = pa.DictionaryArray.from_arrays(
        pa.array([0] * 20_000, pa.int32()), pa.array(["flood " * 170_000])
    )
    ids = [str(number) for number in range(20_000)]
    pq.write_table(pa.table({"id": ids, "text": text}), path, store_schema=False)
    said, memory = peak(path)  # 20 GB when decoded
    assert "made to fill the memory" in said
    assert memory < 500


def test_a_parquet_page_of_zeros_is_refused_by_its_sizes(tmp_path, monkeypatch):
    monkeypatch.setattr("siamese_news.data.readers.parquet._CHUNK", 2**23)
    path = tmp_path / "bomb.parquet"
    texts = pa.array(["0" * 2**20]).take(pa.array([0] * 10))
    rows = pa.table({"id": [str(n) for n in range(10)], "text": texts})
    plain = {"use_dictionary": False, "write_statistics": False}
    pq.write_table(rows, path, compression="zstd", **plain)
    assert path.stat().st_size < 2**20
    with pytest.raises(InputError, match="made to fill the memory"):
        open_posts([path])


@needs_proc
def test_a_json_array_takes_no_more_memory_than_its_records(tmp_path):
    row = '{"id": "%d", "text": "' + "the river " * 100 + '", "user": {"name": "ann"}}'
    for count in (100, 40_000):
        path = tmp_path / f"{count}.json"
        path.write_text("[\n" + ",\n".join(row % n for n in range(count)) + "\n]\n")
        said, memory = peak(path)
        assert said == str(count)
        assert memory < 90


@needs_proc
@pytest.mark.parametrize("depth", [600, 100_000])
def test_json_nested_too_deeply_ends_the_file_and_no_more(tmp_path, depth):
    deep = "[" * depth + "]" * depth
    path = tmp_path / "posts.json"
    path.write_text(
        f'[{{"id": "1", "text": "a"}},\n{{"id": "2", "text": "b", "x": {deep}}}]'
    )
    said, memory = peak(path)
    assert said == "1"
    assert memory < 500


DOCTOR = """
import re, sys
from siamese_news.__main__ import main
from siamese_news.data.readers import excel
excel._ELEMENTS = 2**20  # it takes seconds to count to the limit of a real sheet
for path in sys.argv[1:]:
    open("/proc/self/clear_refs", "w").write("5")  # the peak begins anew
    sys.argv = ["siamese-news", "doctor", path]
    try:
        main()
    except SystemExit as end:
        print(end.code)
    print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024)
"""


def with_part(path, name, begin, repeated, times, end):
    """An office file with another part, most of which is one piece again and again."""
    with zipfile.ZipFile(path) as old:
        parts = {part: old.read(part) for part in old.namelist() if part != name}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new:
        for part, content in parts.items():
            new.writestr(part, content)
        with new.open(name, "w", force_zip64=True) as stream:
            stream.write(begin)
            piece = repeated * max(1, 2**20 // len(repeated))
            for _ in range(times):
                stream.write(piece)
            stream.write(end)


MAIN = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
SHEET = b'<worksheet xmlns="' + MAIN + b'"><sheetData>'
TEXT = b'<row r="2"><c r="A2" t="inlineStr"><is>%s'
ENTITIES = (
    b'<!DOCTYPE x [<!ENTITY a "'
    + b"flood " * 999
    + b'"><!ENTITY b "'
    + b"&a;" * 999
    + b'">]>'
)
SHEETS = {
    "text": (SHEET + TEXT % b"<t>", b"flood ", 180, b"</t></is></c></row>"),
    "marked text": (
        SHEET + TEXT % b"<t><![CDATA[",
        b"<row ",
        180,
        b"]]></t></is></c></row>",
    ),
    "attribute": (SHEET + b'<row r="2" x="', b"flood ", 180, b'"></row>'),
    "rows": (SHEET, b"<row/>", 12, b""),
    "pieces": (SHEET + TEXT % b"", b"<r><t>a</t></r>", 100, b"</is></c></row>"),
    "entities": (ENTITIES + SHEET + TEXT % b"<t>", b"&b;", 1, b"</t></is></c></row>"),
}


def made(folder, kind):
    """The path of an office file of a kind that is small on disk."""
    if kind in SHEETS:
        path = folder / "posts.xlsx"
        pytest.importorskip("openpyxl").Workbook().save(path)
        begin, repeated, times, end = SHEETS[kind]
        end += b"</sheetData></worksheet>"
        with_part(path, "xl/worksheets/sheet1.xml", begin, repeated, times, end)
    elif kind == "paragraphs":
        path = folder / "article.docx"
        pytest.importorskip("docx").Document().save(path)
        with zipfile.ZipFile(path) as archive:
            begin = (
                archive.read("word/document.xml").partition(b"<w:body>")[0]
                + b"<w:body>"
            )
        with_part(
            path, "word/document.xml", begin, b"<w:p/>", 60, b"</w:body></w:document>"
        )
    else:
        pypdf = pytest.importorskip("pypdf")
        path = folder / "article.pdf"
        writer, content = pypdf.PdfWriter(), pypdf.generic.DecodedStreamObject()
        content.set_data(b"q Q " * 2**23)
        page = writer.add_blank_page(width=595, height=842)
        page[pypdf.generic.NameObject("/Contents")] = writer._add_object(
            content.flate_encode()
        )
        writer.write(path)
    assert path.stat().st_size < 2**20
    return path


@needs_proc
@pytest.mark.parametrize(
    "kinds",
    [
        pytest.param(["entities", "page"], id="two"),
        pytest.param([*SHEETS, "paragraphs", "page"], id="all", marks=pytest.mark.slow),
    ],
)
def test_an_office_file_that_is_made_to_fill_the_memory_is_refused(tmp_path, kinds):
    paths = []
    for kind in kinds:
        (tmp_path / kind).mkdir()
        paths.append(str(made(tmp_path / kind, kind)))
    # What libraries map of their files is counted, too, and differs by how they were installed.
    plain = tmp_path / "plain.txt"
    plain.write_text("A river floods a town. Cellars are full of water.\n")
    done = subprocess.run(
        [sys.executable, "-c", DOCTOR, str(plain), *paths],
        capture_output=True,
        text=True,
    )
    assert not done.returncode, done.stderr
    (at_first, *_) = map(int, re.findall(r"^\d{2,}$", done.stdout, re.MULTILINE))
    for path in paths:
        _, found, rest = done.stdout.partition(f"cannot be read: {path}: ")
        assert found, f"{path}: {done.stdout}"
        said, *_, code, memory = rest.partition("cannot be read: ")[0].splitlines()
        assert code == "2" and int(memory) - at_first < 130, path
        reasons = ("more than a sheet holds", "more than an article has", "invalid XML")
        assert any(reason in said for reason in reasons), said


def test_brackets_and_constants_in_texts_are_text(tmp_path):
    path = tmp_path / "posts.json"
    texts = ["[{" * 2000, 'NaN "quoted" \\\\', "Infinity]", "\\" * 9]
    rows = [
        {"id": str(n), "text": text, "x": float("nan")} for n, text in enumerate(texts)
    ]
    path.write_text(json.dumps(rows * 1, indent=1))
    assert [post.text for post in open_posts([path])] == texts


def test_a_json_array_that_was_cut_off_gives_every_complete_record(tmp_path):
    path = tmp_path / "posts.json"
    path.write_text(
        '[{"id": "1", "text": "a"},\n {"id": "2", "text": "b"}, {"id": "3", "te'
    )
    stream = open_posts([path])
    assert [post.id for post in stream] == ["1", "2"]
    assert stream.counts.reasons == {"damaged file": 1}


def test_an_article_of_many_small_parts_is_refused(tmp_path):
    """Each of them is as small as a part may be without a look at its ratio."""
    path = tmp_path / "article.docx"
    pytest.importorskip("docx").Document().save(path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        for number in range(40):
            archive.writestr(f"word/media/{number}.xml", bytes(2**22))
    assert path.stat().st_size < 2**20
    with pytest.raises(InputError, match="its parts unpack to 16"):
        read_articles([path])


@pytest.mark.sampled(1)
@needs_proc
@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_words_that_unpack_to_gigabytes_are_refused(tmp_path, ending):
    path = tmp_path / f"words.txt.{ending}"
    piece = b"river\n" * 2**18
    if ending == "gz":
        packed = gzip.compress(piece, 1)
        path.write_bytes(packed * 800)
    else:
        path.write_bytes(zstandard.compress(piece * 800))
    assert path.stat().st_size < 2**23
    script = PEAK.replace(
        "sum(1 for _ in open_posts([sys.argv[1]]))",
        "Vocabulary.load(sys.argv[1], unknown='drop')",
    )
    script = "from siamese_news.text import Vocabulary\n" + script
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True
    )
    message, memory = done.stdout.splitlines()
    assert "expected a list of words" in message and int(memory) < 500


@needs_proc
def test_edits_and_inner_posts_take_a_bounded_memory(tmp_path):
    path = tmp_path / "posts.jsonl"
    inner = '{"id": "r%d", "text": "%s"}'
    row = f'{{"id": "%d", "text": "a", "edited_at": null, "replies": [{inner}]}}\n'
    with path.open("w") as stream:
        stream.writelines(row % (n, n, "the mill " * 200) for n in range(20_000))
    assert path.stat().st_size > 35_000_000
    count, memory = peak(path)
    assert count == "40000" and memory < 110
