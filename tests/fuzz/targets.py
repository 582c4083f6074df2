"""What strangers may hand over, as functions of bytes: anything but an `InputError` is a crash."""

import csv
import io
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from siamese_news.errors import InputError

POSTS = (
    ".jsonl",
    ".json",
    ".csv",
    ".tsv",
    ".js",
    ".jsonl.gz",
    ".jsonl.zst",
    ".json.gz",
    ".parquet",
    ".ndjson",
    ".xlsx",
    ".geojson",
    ".txt",
    ".xml",
)
ARTICLES = (".txt", ".html", ".json", ".jsonl", ".csv", ".md", ".docx", ".json.gz")
RESULTS = (".jsonl", ".csv", ".jsonl.gz", ".parquet")
SHEETS = (".csv", ".jsonl", ".json")
MODEL = (
    "config.json",
    "model.safetensors",
    "vocab.txt",
    "trained_on.bin",
    "SHA256SUMS",
)
LONGEST = 1 << 16


class Choices:
    """Bytes as a row of choices."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data[:LONGEST], 0

    def below(self, count: int) -> int:
        """A number from 0; 0 where the bytes are used up."""
        size = 1 if count <= 256 else 4
        part = self._data[self._at : self._at + size]
        self._at += size
        return int.from_bytes(part, "little") % count

    def rest(self) -> bytes:
        """What is left."""
        return self._data[self._at :]

    def spliced(self, old: bytes) -> bytes:
        """Other bytes with what is left in place of some of them, or instead of them."""
        if self.below(4) == 0:
            return self.rest()
        start = self.below(len(old) + 1)
        length = self.below(64)
        return old[:start] + self.rest() + old[start + length :]

    def changed(self, value: Any) -> Any:
        """A value of JSON with another one at some place in it."""
        new = json.loads(json.dumps(value))
        place = new
        while True:
            names = list(place) if isinstance(place, dict) else list(range(len(place)))
            name = names[self.below(len(names))]
            if isinstance(place[name], dict | list) and place[name] and self.below(4):
                place = place[name]
                continue
            if self.below(8) == 0:
                del place[name]
            else:
                place[name] = self.plain()
            return new

    def plain(self) -> Any:
        """Some value of JSON."""
        known = (
            None,
            True,
            False,
            0,
            1,
            -1,
            0.5,
            "",
            "a",
            [],
            {},
            [1],
            {"a": 1},
            1e308,
            -5,
            3,
            2.0,
            "0.5",
            "1e-9",
            10**18,
            float("nan"),
            float("inf"),
            [None],
            "\ud800",
            "../x",
            "\x00",
        )
        if number := self.below(len(known) + 1):
            return known[number - 1]
        with suppress(ValueError, RecursionError):
            return json.loads(self.rest())
        return self.rest().decode("utf-8", "replace")


@cache
def folder() -> Path:
    """A folder of this process, in memory where there is such a place."""
    quick = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="fuzz-", dir=quick if quick.is_dir() else None))


def written(name: str, content: bytes) -> Path:
    """A file with this content."""
    path = folder() / name
    path.write_bytes(content)
    return path


def posts(data: bytes) -> None:
    """A file of posts."""
    choices = Choices(data)
    _read(written("posts" + POSTS[choices.below(len(POSTS))], choices.rest()))


def workbook(data: bytes) -> None:
    """An Excel file, of which one part of XML is another, in an archive that is whole."""
    choices, parts = Choices(data), _parts()
    names = [
        name
        for name in parts
        if name.endswith(("sheet1.xml", "Strings.xml", "book.xml"))
    ]
    name = names[choices.below(len(names))]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for part, content in parts.items():
            archive.writestr(
                part, choices.spliced(content) if part == name else content
            )
    _read(written("posts.xlsx", out.getvalue()))


def docx(data: bytes) -> None:
    """A Word file, of which one part is another, in an archive that is whole."""
    from siamese_news.data.articles import read_articles

    choices, parts = Choices(data), _word_parts()
    names = [name for name in sorted(parts) if name.endswith((".xml", ".rels"))]
    name = names[choices.below(len(names))]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for part, content in parts.items():
            archive.writestr(
                part, choices.spliced(content) if part == name else content
            )
    path = written("article.docx", out.getvalue())
    try:
        with suppress(InputError):
            read_articles([path], set_aside=len)
    finally:
        path.unlink()


@cache
def _word_parts() -> dict[str, bytes]:
    import docx as python_docx

    out, document = io.BytesIO(), python_docx.Document()
    for line in (
        "1 of 2 DOCUMENTS",
        "The Courier",
        "2 March 2026",
        "A flood",
        "It rains.",
    ):
        document.add_paragraph(line)
    document.save(out)
    with zipfile.ZipFile(out) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def html(data: bytes) -> None:
    """A saved page: parts of one again, in another order, with some bytes changed."""
    choices = Choices(data)
    pieces = [
        HTML[choices.below(len(HTML))] * (1 + choices.below(40))
        for _ in range(choices.below(24))
    ]
    _read_articles(written("page.html", choices.spliced(b"".join(pieces))))


def jsonl(data: bytes) -> None:
    """Rows of JSON of no known format, with other values and fields."""
    choices = Choices(data)
    rows = [ROW for _ in range(1 + choices.below(6))]
    changed = [choices.changed(row) for row in rows for _ in range(2)]
    lines = "".join(json.dumps(row) + "\n" for row in changed)
    _read(written("posts.jsonl", choices.spliced(lines.encode())))


HTML = (
    b"<html><head><meta charset=utf-8><title>Flood</title></head>",
    b'<meta property="og:title" content="Flood &amp; fire">',
    b'<script type="application/ld+json">{"@type": "NewsArticle", "headline": "x"}</script>',
    b"<body><article><h1>Flood</h1>",
    b"<p>The river took the bridge of the town, and nobody slept that night.</p>",
    b"<h2><a href='/a'>Another headline of the day</a></h2>",
    b"<ul><li><a href=x><b>A headline with a mark</b></a></li></ul>",
    b"<table><tr><td>cell</td></tr></table><!-- comment --><br>",
    b"<div><span><em>word",
    b"&#x110000;&nbsp;&amp;",
    "<p>Ü\u0301\u0301 水 \u202e</p>".encode(),
    b"</article></body></html>",
)
ROW = {
    "id": "900001",
    "text": "The river &amp; the <br> bridge",
    "created_at": "20/11/2026 \u00e0s 10:30",
    "edited_at": "2026-11-21T10:00:00Z",
    "author": {"name": "ann", "id": 7},
    "metadata": {"lang": "en"},
    "replies": [{"id": "r1", "text": "yes", "replies": [{"id": 2, "body": "no"}]}],
    "quoted_post": {"id": "q1", "text": "a flood"},
    "edges": [{"node": {"id": "e1", "text": "in an edge"}}],
    "embed": {"title": "words of a card that nobody reads"},
    "answers": '[{"id": "a1", "text": "written as a text"}]',
}


def packed(data: bytes) -> None:
    """A gz or zst file of posts with some bytes changed behind its packing, or in front of it."""
    import gzip

    import zstandard

    choices = Choices(data)
    rows = b"".join(
        b'{"id": "%d", "text": "the river %d", "edited_at": null, "replies": []}\n'
        % (n, n)
        for n in range(40)
    )
    table = b"id,text,date\n" + b"".join(
        b'%d,"the ""river""",2026-03-02\n' % n for n in range(40)
    )
    name, content = (
        ("posts.jsonl", rows),
        ("posts.json", b"[" + rows.replace(b"}\n", b"},")[:-1] + b"]"),
        ("posts.csv", table),
    )[choices.below(3)]
    compress = (gzip.compress, zstandard.compress)[choices.below(2)]
    if choices.below(2):
        whole = compress(choices.spliced(content))
    else:
        whole = choices.spliced(compress(content))
    _read(written(f"{name}.gz", whole))


@cache
def _parts() -> dict[str, bytes]:
    import openpyxl

    out, book = io.BytesIO(), openpyxl.Workbook()
    for row in (
        ["Export"],
        ["id", "text", "date"],
        ["1", "flood", 45000.5],
        [2, "river", None],
    ):
        book.active.append(row)
    book.save(out)
    with zipfile.ZipFile(out) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _read(path: Path) -> None:
    from siamese_news.data.readers import open_posts

    try:
        with suppress(InputError):
            stream = open_posts([path])
            for _ in range(2):
                for post in stream:
                    assert post.id and isinstance(post.text, str)
                    (post.id + post.text).encode()
                    json.dumps(dict(post.metadata))
    finally:
        path.unlink()


def articles(data: bytes) -> None:
    """A file of seed articles."""
    choices = Choices(data)
    ending = ARTICLES[choices.below(len(ARTICLES))]
    _read_articles(written(f"article{ending}", choices.rest()))


def _read_articles(path: Path) -> None:
    from siamese_news.data.articles import read_articles

    try:
        with suppress(InputError):
            for article in read_articles([path], set_aside=len):
                assert article.id and article.full_text.strip()
                article.full_text.encode()
    finally:
        path.unlink()


def tokens(data: bytes) -> None:
    """A text."""
    from siamese_news.data.records import Article, clean_text
    from siamese_news.search.explain.explainer import sentence_spans
    from siamese_news.text import Tokenizer
    from siamese_news.text.content_words import content_words
    from siamese_news.text.languages import language_of, language_of_seed

    text = (
        clean_text(
            data.decode("utf-8", "surrogatepass" if data[:1] < b"\x80" else "replace")
        )
        if _decodes(data)
        else clean_text(data.decode("utf-8", "replace"))
    )
    found = _tokenizer(Tokenizer)(text)
    assert all(token and not token.isspace() for token in found)
    content_words(found)
    language_of(text)
    language_of_seed(text)
    if text.strip():
        spans = sentence_spans(Article("a", "", text))
        assert all(0 <= start < end <= len(text) for start, end in spans)


def _decodes(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


@cache
def _tokenizer(kind: Any) -> Any:
    return kind(words=["flood", "river", "bridge"])


def model(data: bytes) -> None:
    """A model folder, of which one file is another, and the checksums fit."""
    from siamese_news.model import Model
    from siamese_news.scoring import observe_all, open_scorer

    target = _strange_folder(data, _model_folder())
    with suppress(InputError):
        loaded = Model.load(target)
        loaded.trained_on.has_articles("x", ["a1"])
        posts = ["flood in the town", "a bridge", "river", ""]
        scorer = open_scorer(loaded, ["The river floods the town."])
        scorer = observe_all(scorer, posts)
        assert scorer.scores(posts).shape == (1, 4)


def reranker(data: bytes) -> None:
    """The same of a reranker."""
    from siamese_news.model.reranker import TextRanker

    target = _strange_folder(data, _reranker_folder())
    with suppress(InputError):
        loaded = TextRanker.load(target)
        tokens = loaded.tokenizer()("the river of the town")
        assert len(loaded.score(tokens, [tokens, ["flood"], []])) == 3


def _strange_folder(data: bytes, whole: Path) -> Path:
    """A copy of a model folder in which one file is another."""
    import torch

    from siamese_news.utils.files import file_sha256

    torch.set_num_threads(1)
    choices = Choices(data)
    target = folder() / "model"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(whole, target)
    names = [name for name in MODEL if (target / name).is_file()]
    name = names[choices.below(len(names))]
    content = (target / name).read_bytes()
    if name == "config.json" and choices.below(2):
        changed = choices.changed(json.loads(content))
        content = json.dumps(changed).encode()
    else:
        content = choices.spliced(content)
    (target / name).write_bytes(content)
    if name != "SHA256SUMS":
        listed = (target / "SHA256SUMS").read_text().splitlines()
        sums = [f"{file_sha256(target / line[66:])}  {line[66:]}" for line in listed]
        (target / "SHA256SUMS").write_text("\n".join(sums) + "\n")
    return target


WORDS = ["the", "flood", "river", "town", "bridge"]


@cache
def _model_folder() -> Path:
    import numpy as np
    import torch

    from siamese_news.encoders import BagEncoder, TokenEmbedding
    from siamese_news.lexical_head.head import TermHead, empty_bigram_counters
    from siamese_news.lexical_head.options import TermOptions
    from siamese_news.model import Model
    from siamese_news.text import Tokenizer, Vocabulary

    small = Model(
        tokenizer=Tokenizer(words=WORDS),
        vocabulary=Vocabulary(WORDS, unknown="drop"),
        embedding=TokenEmbedding(
            torch.arange(20.0).reshape(5, 4),
            trainable=False,
            token_weights=torch.ones(5),
        ),
        encoder=BagEncoder(input_dim=4, weighting="idf", output_dim=None),
        limits={"article_tokens": 50, "post_tokens": 20, "keep": "first"},
        config={
            "class": "BagEncoder",
            "input_dim": 4,
            "weighting": "idf",
            "output_dim": None,
        },
        terms=TermHead(
            np.ones(5),
            empty_bigram_counters(),
            texts=9,
            typical=[2.0, 1.0],
            options=TermOptions(),
        ),
    )
    small.trained_on.add("x", articles=["a1"], posts=["p1"])
    path = folder() / "whole-model"
    small.save(path, card="")
    return path


@cache
def _reranker_folder() -> Path:
    import torch

    from siamese_news.encoders import TokenEmbedding
    from siamese_news.model.reranker import TextRanker
    from siamese_news.text import Vocabulary

    small = TextRanker(
        vocabulary=Vocabulary(WORDS, unknown="hash"),
        embedding=TokenEmbedding(
            torch.arange(20.0).reshape(5, 4) / 20, trainable=False
        ),
        ranker={
            "class": "PAtt",
            "filters": 6,
            "widths": [2],
            "dropout": 0.0,
            "hidden": 5,
            "head_hidden": 4,
            "head_order": "relu-norm",
            "head_dropout": 0.0,
        },
        exact_match=True,
        tokenizer={"hashtags": "both"},
    )
    path = folder() / "whole-reranker"
    small.save(path, card="")
    return path


def results(data: bytes) -> None:
    """A file of results with its metadata, for a report."""
    from siamese_news.search.report import read_results, write_report

    choices = Choices(data)
    suffix = RESULTS[choices.below(len(RESULTS))]
    content, _, meta = choices.rest().partition(b"\n\x00\n")
    path = written("results" + suffix, content)
    beside = written("results" + suffix + ".meta.json", meta) if meta else None
    try:
        with suppress(InputError):
            write_report(folder() / "report.html", read_results(path))
            (folder() / "report.html").read_text(encoding="utf-8")
    finally:
        path.unlink()
        if beside:
            beside.unlink()


@cache
def _sampled() -> Path:
    """A folder with a scored pool, a plan, its drawn posts, a labeled sheet and a certificate."""
    from typer.testing import CliRunner

    from siamese_news.cli import app

    place = folder() / "sampled"
    place.mkdir()
    os.environ.setdefault("XDG_STATE_HOME", str(folder() / "state"))
    rows = [
        {
            "article": "all",
            "rank": n + 1,
            "score": round(0.9 - n / 200, 6),
            "post": f"p{n}",
            "text": f"text {n}",
        }
        for n in range(120)
    ]
    (place / "scored.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sample = [
        "sample",
        "--results",
        "scored.jsonl",
        "--precision",
        ".7",
        "--out",
        "sheet.csv",
    ]
    before = Path.cwd()
    os.chdir(place)
    try:
        assert CliRunner().invoke(app, sample).exit_code == 0
        with open("sheet.csv", encoding="utf-8-sig", newline="") as stream:
            sheet = list(csv.DictReader(stream))
        out = io.StringIO()
        writer = csv.DictWriter(out, list(sheet[0]))
        writer.writeheader()
        writer.writerows({**row, "label": "1"} for row in sheet)
        Path("sheet.csv").write_text(out.getvalue())
        done = CliRunner().invoke(app, ["certify", "--labels", "sheet.csv"])
        assert done.exit_code == 0, done.output
    finally:
        os.chdir(before)
    return place


@cache
def _labeled(place: Path, ending: str) -> bytes:
    """The labeled sheet as a spreadsheet, Prodigy or Label Studio saves it."""
    if ending == ".csv":
        return (place / "sheet.csv").read_bytes()
    with (place / "sheet.csv").open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    if ending == ".jsonl":
        answers = [
            {"text": row["text"], "answer": "accept", "meta": row} for row in rows
        ]
        return b"\n".join(json.dumps(answer).encode() for answer in answers)
    said = [{"result": [{"value": {"choices": ["relevant"]}}], "was_cancelled": False}]
    tasks = [{"id": n, "data": row, "annotations": said} for n, row in enumerate(rows)]
    return json.dumps(tasks).encode()


def sheets(data: bytes) -> None:
    """A sheet of labels, and the same as a machine's verdicts."""
    from siamese_news_desk.decide.plan.sealed_files import SEAL, read_sealed
    from siamese_news_desk.labels.machine import read_machine
    from siamese_news_desk.labels.matching import SampledPosts, read_labels

    choices, place = Choices(data), _sampled()
    ending = SHEETS[choices.below(len(SHEETS))]
    path = written("sheet" + ending, b"")
    rows = _labeled(place, ending)
    if ending == ".csv" or choices.below(2):
        path.write_bytes(choices.spliced(rows))
    else:
        lines = rows.splitlines() if ending == ".jsonl" else [rows]
        changed = [json.dumps(choices.changed(json.loads(line))) for line in lines[:3]]
        path.write_text("\n".join(changed))
    with suppress(InputError):
        seal = read_sealed(place / "sheet.plan.json", "plan")[SEAL]
        read_labels([path], SampledPosts(place / "sheet.drawn.jsonl", seal)).remarks()
    with suppress(InputError):
        read_machine(path, "machine", [f"p{n}" for n in range(120)]).sentence()


def sealed(data: bytes) -> None:
    """A plan, a certificate or drawn posts of a stranger, with a seal that fits."""
    from typer.testing import CliRunner

    from siamese_news.cli import app
    from siamese_news_desk.decide.plan.sealed_files import SEAL, write_sealed

    choices, place = Choices(data), folder() / "strange"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(_sampled(), place)
    name = (
        "sheet.plan.json",
        "sheet.certificate.json",
        "sheet.drawn.jsonl",
        "scored.jsonl",
    )[choices.below(4)]
    path = place / name
    if path.suffix == ".jsonl":
        path.write_bytes(choices.spliced(path.read_bytes()))
    else:
        content = choices.changed(json.loads(path.read_text()))
        try:
            seal = write_sealed(path, content)
        except (UnicodeEncodeError, TypeError):
            return
        if name == "sheet.plan.json":
            drawn = place / "sheet.drawn.jsonl"
            old = json.loads((_sampled() / name).read_text())[SEAL]
            drawn.write_text(drawn.read_text().replace(old, seal))
    check = ["certify", "--check", str(place / "sheet.certificate.json")]
    for command in (check, ["certify", "--labels", str(place / "sheet.csv")]):
        done = CliRunner().invoke(app, command)
        if done.exit_code not in (0, 2) or (
            done.exception and not _exit(done.exception)
        ):
            raise done.exception or AssertionError(done.output)


def _exit(error: BaseException) -> bool:
    return isinstance(error, SystemExit)


TARGETS: dict[str, Callable[[bytes], None]] = {
    function.__name__: function
    for function in (
        posts,
        workbook,
        docx,
        html,
        jsonl,
        packed,
        articles,
        tokens,
        model,
        reranker,
        results,
        sheets,
        sealed,
    )
}

OF_THE_DESK = ("sheets", "sealed")


def seeds(target: str) -> list[bytes]:
    """Inputs to begin with."""
    if target == "posts":
        found = []
        samples = Path(__file__).parents[1] / "data" / "readers" / "samples"
        for path in sorted(samples.glob("*/*")):
            ending = next(
                n for n, suffix in enumerate(POSTS) if path.name.endswith(suffix)
            )
            found.append(bytes([ending]) + path.read_bytes())
        return [*found, b'\0{"id": 1, "text": "flood"}\n{"id": "2", "text": null}\n']
    if target == "articles":
        page = b"<html><title>Flood</title><body><article><p>A river floods a town.</p></article>"
        row = b'{"_id": "a", "title": "Flood", "text": "A river."}'
        return [
            b"\0Flood\n\nA river floods a town.\n",
            b"\1" + page,
            b"\2[" + row + b"]",
            b"\3" + row + b"\n",
            b"\4id,title,text\n1,Flood,A river\n",
        ]
    if target == "tokens":
        texts = (
            "RT @a: #FloodWatch https://t.co/x :-) 3,000 don't",
            "洪水 #大雨# カラモ市 ไทย",
            "😀🏽‍🚒",
        )
        return [text.encode() for text in texts]
    if target == "results":
        row = {
            "article": "a",
            "rank": 1,
            "score": 0.5,
            "post": "p",
            "text": "x",
            "cluster": 1,
            "cluster_size": 1,
            "lang": "en",
            "created_at": "2013-04-15T10:00:00Z",
            "terms": ["x"],
            "link": "https://a.b/c",
        }
        meta = {
            "command": "c",
            "provenance": {"date": "d", "versions": {}},
            "threshold": 0.1,
            "counts": {"read": 3},
            "histogram": {"edges": [0, 1], "counts": [3]},
            "titles": {"a": "t"},
            "remarks": ["r"],
        }
        line = json.dumps(row).encode() + b"\n"
        table = b"article,rank,score,post,text\na,1,0.5,p,x\n"
        return [
            b"\0" + line,
            b"\1" + table,
            b"\0" + line + b"\n\0\n" + json.dumps(meta).encode(),
        ]
    return [b"", bytes(range(32)), b"\1\1\1\1\1\1\1\1", b"\2\3\5\7\13\17"]
