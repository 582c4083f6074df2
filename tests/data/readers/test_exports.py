"""A file that a database of news exports is as many seeds as it has articles."""

import json
import quopri

import pytest

from siamese_news.data.articles import read_articles
from siamese_news.errors import InputError

TEXTS = (
    "The weir at Tansy Mill gave way.\nHundreds fled.",
    "By noon the fire was out.",
)
TITLES = ("Weir gives way", "Fire at the mill")
DAYS = ("3 May 2026", "May 4, 2026 Monday")


def nexis(title, text, day, number):
    return (
        f"\n\n   {number} of 2 DOCUMENTS\n\n   The Tansy Post\n\n   {day}\n\n{title}\n\n"
        f"BYLINE: Ann Example\n\nLENGTH: 9 words\n\n{text}\n\nLOAD-DATE: May 9, 2026\n\n"
        "   Copyright 2026 The Tansy Post\n   All Rights Reserved\n"
    )


def nexis_end(title, text, day, number):
    return (
        f"{title}\nThe Tansy Post\n{day}\nCopyright 2026 The Tansy Post\nLength: 9 words\nBody\n"
        f"{text}\nLoad-Date: May 9, 2026\nEnd of Document\n"
    )


def nexis_spanish(title, text, day, number):
    form = nexis_end(title, text, day, number).replace("Body", "Cuerpo")
    return form.replace("End of Document", "Fin del documento")


def nexis_french(title, text, day, number):
    form = nexis_end(title, text, day, number).replace("Body", "Corps")
    return form.replace("End of Document", "FIN DU DOCUMENT")


def factiva(title, text, day, number):
    return (
        f"{title}\nBy Ann Example\n9 words\n{day}\n10:05\nThe Tansy Post\nTANPST\nEnglish\n"
        f"Copyright 2026 The Tansy Post\n\n{text}\n\nDocument TANPST0020260503em530000{number}\n\n"
    )


def nexis_german(title, text, day, number):
    return (
        f"\n\nDokument {number} von 2\n\nThe Tansy Post\n\n{day}\n\n{title}\n\n"
        f"LÄNGE: 9 Wörter\n\n{text}\n"
    )


def lexis_uni(title, text, day, number):
    return f"Page {number} of 2\n\n{nexis_end(title, text, day, number)}"


def factiva_codes(title, text, day, number):
    return (
        f"HD  {title}\nBY  Ann Example\nWC  9 words\nPD  {day}\nSN  The Tansy Post\nLA  English\n"
        f"LP  {text}\nNS  Floods\nAN  Document TANPST0020260503em530000{number}\n\n"
    )


@pytest.mark.parametrize(
    "form",
    [
        *(
            nexis,
            nexis_end,
            nexis_spanish,
            nexis_french,
            factiva,
            nexis_german,
            lexis_uni,
        ),
        factiva_codes,
    ],
)
def test_every_article_of_an_export_is_a_seed(tmp_path, form):
    rows = list(zip(TITLES, TEXTS, DAYS, (1, 2), strict=True))
    path = tmp_path / "two.txt"
    path.write_text("".join(form(*row) for row in rows))
    articles = read_articles(path)
    assert [article.id for article in articles] == ["two-1", "two-2"]
    assert [article.title for article in articles] == list(TITLES)
    assert [article.text for article in articles] == list(TEXTS)
    dates = [article.metadata["created_at"][:10] for article in articles]
    assert dates == ["2026-05-03", "2026-05-04"]
    assert {article.metadata["source"] for article in articles} == {"The Tansy Post"}


def test_an_export_of_one_article_has_the_name_of_its_file(tmp_path):
    (tmp_path / "one.txt").write_text(factiva(TITLES[0], TEXTS[0], DAYS[0], 1))
    (article,) = read_articles(tmp_path / "one.txt")
    assert (article.id, article.title, article.text) == ("one", TITLES[0], TEXTS[0])


def test_an_article_that_mentions_documents_is_one(tmp_path):
    text = "A leak\n3 of 5 DOCUMENTS were real, said the mayor.\nBody\nThe end.\n"
    (tmp_path / "a.txt").write_text(text)
    (article,) = read_articles(tmp_path / "a.txt")
    assert article.title == "A leak"
    assert article.text == text.partition("\n")[2].strip()


def test_articles_come_in_any_encoding(tmp_path):
    text = "Überschwemmung\nDas Wasser stieg über die Brücke, sagt Frau Müller."
    for name in ("utf-8-sig", "cp1252", "utf-16"):
        (tmp_path / f"{name}.txt").write_text(text, encoding=name)
    articles = read_articles(tmp_path)
    assert {article.full_text for article in articles} == {text}


def test_articles_of_proquest(tmp_path):
    rows = zip(TITLES, TEXTS, (1, 2), strict=True)
    path = tmp_path / "two.txt"
    path.write_text(
        "".join(
            f"{'_' * 60}\n\nDocument {number} of 2\n\n{title}\n\nAuthor: Example, Ann\n\n"
            f"ProQuest document link\n\nFull text: {text}\n\n"
            for title, text, number in rows
        )
    )
    articles = read_articles(path)
    assert [(a.title, a.text) for a in articles] == list(
        zip(TITLES, TEXTS, strict=True)
    )


def test_articles_of_proquest_without_numbers(tmp_path):
    """Lines are between them, and dates and newspapers below the texts."""
    path = tmp_path / "lines.txt"
    path.write_text(
        "".join(
            f"{'_' * 60}\n\nTitle: {title}\n\nPublication info: The Quay ; Dunmoor. 0{n} May 2026.\n"
            f"ProQuest document link\n\nFull text: {text}\n\nSubject: Locks\n\nTitle: {title}\n\n"
            f"Publication title: The Quay\n\nPublication date: May {n}, 2026\n\n"
            for n, (title, text) in enumerate(zip(TITLES, TEXTS, strict=True), 1)
        )
        + f"{'_' * 60}\n\nContact us at: example\n"
    )
    articles = read_articles(path)
    rows = [(a.title, a.text, a.metadata["created_at"][:10]) for a in articles]
    dates = ["2026-05-01", "2026-05-02"]
    assert rows == list(zip(TITLES, TEXTS, dates, strict=True))
    assert {a.metadata["source"] for a in articles} == {"The Quay"}


def test_a_title_above_its_newspaper_under_numbers(tmp_path):
    rows = zip(TITLES, TEXTS, (1, 2), strict=True)
    (tmp_path / "a.txt").write_text(
        "".join(
            f"Dokument {n} von 2\n\n{title}\n\nDer Kai\n{n}. Mai 2026\n\n{text}\n\n"
            for title, text, n in rows
        )
    )
    articles = read_articles(tmp_path / "a.txt")
    assert [a.title for a in articles] == list(TITLES)
    assert {a.metadata["source"] for a in articles} == {"Der Kai"}


RIS = (
    "Provider: A database\n\nTY  - NEWS\nT1  - {0}\nA1  - Example, Ann\nJF  - The Tansy Post\n"
    "Y1  - {2}/\nN2  - {1}\nUR  - https://tansy.example/1\nER  - \n",
    "TY  - NEWS\nAU  - Example, Ann\nAU  - Example, Ben\nTI  - {0}\nT2  - The Tansy Post\n"
    "DA  - {2}\nPY  - 2026\nAB  - {1}\nKW  - Locks\nER  -\n\n",
)


@pytest.mark.parametrize("form", RIS)
@pytest.mark.parametrize("ending", [".ris", ".txt"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_every_reference_of_ris_is_a_seed(tmp_path, form, ending, line_end):
    rows = zip(TITLES, TEXTS, ("2026/05/03", "2026/05/04"), strict=True)
    content = "".join(form.format(*row) for row in rows)
    path = tmp_path / f"two{ending}"
    path.write_text(content, newline=line_end)
    articles = read_articles(path)
    assert [article.id for article in articles] == ["two-1", "two-2"]
    assert [article.title for article in articles] == list(TITLES)
    assert [article.text for article in articles] == list(TEXTS)
    days = [article.metadata["created_at"][:10] for article in articles]
    assert days == ["2026-05-03", "2026-05-04"]
    assert {article.metadata["source"] for article in articles} == {"The Tansy Post"}


def test_a_reference_with_a_title_and_a_year_alone(tmp_path):
    (tmp_path / "a.ris").write_text(
        "TY  - NEWS\nTI  - Weir gives way\nDA  - 2026///\nER  -"
    )
    (article,) = read_articles(tmp_path / "a.ris")
    assert (article.id, article.title, article.text) == ("a", "Weir gives way", "")
    assert "created_at" not in article.metadata  # the day would be invented
    (tmp_path / "b.ris").write_text("TY  - NEWS\nAU  - Example, Ann\nER  -")
    with pytest.raises(InputError, match="'text' is empty, and so is the title"):
        read_articles(tmp_path / "b.ris")


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8"])
def test_pages_and_json_without_a_word_about_their_encoding(tmp_path, encoding):
    text = "Die Schleuse brach am frühen Morgen, sagte Jürgen Groß vom Wasseramt. " * 9
    body = f"<html><body><article><h1>Dämme</h1><p>{text}</p></article></body></html>"
    rows = [{"id": f"a{n}", "title": "Dämme", "text": text} for n in range(3)]
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    for name, content in (
        ("page.html", body),
        ("lines.jsonl", lines),
        ("list.json", json.dumps(rows, ensure_ascii=False)),
    ):
        if encoding == "cp1252" and name != "page.html":
            continue  # JSON is always Unicode
        (tmp_path / name).write_text(content, encoding=encoding)
        articles = read_articles(tmp_path / name)
        assert len(articles) == (1 if name == "page.html" else 3)
        assert {a.title for a in articles} == {"Dämme"}
        assert {" ".join(a.text.split()) for a in articles} == {text.strip()}


COVER = (
    "User Name: Ann Example\nDate and Time: Friday, November 20, 2026 2:05:00 PM EST\n"
    "Job Number: 1234567\nDocuments (2)\n1. Weir gives way\nClient/Matter: -None-\n"
    "Search Terms: weir\nSearch Type: Terms and Connectors\nNarrowed by:\n2. Fire at the mill\n"
    "Client/Matter: -None-\nSearch Terms: weir\nSearch Type: Terms and Connectors\n"
)
SUMMARY = (
    "Search Summary\nText\nweir and mill\nDate\nIn the last 3 months\nSource\nAll Sources\n"
    "Results Found\n2\nTimestamp\n20 November 2026 14:05\n"
)


@pytest.mark.parametrize(
    ("form", "above", "below", "page"),
    [
        (nexis_end, COVER, "", "User Name"),
        (
            nexis_end,
            COVER.replace("1. Weir gives way", "1. Weir gives"),
            "",
            "User Name",
        ),
        (lexis_uni, COVER, "", "User Name"),
        (
            nexis_end,
            "Nome utente: A\nDocumenti (2)\n1. Weir gives way\nTermini: x\n",
            "",
            "Nome",
        ),
        (factiva, "", SUMMARY, "Search Summary"),
        (factiva, "", "Resumen de la búsqueda\nTexto\nweir\n", "Resumen"),
        (nexis, "Time of Request: May 9\nJob Number: 1\n", "", "Time of Request"),
    ],
)
def test_a_page_about_an_export_is_no_seed_and_is_named(
    tmp_path, form, above, below, page
):
    rows = list(zip(TITLES, TEXTS, DAYS, (1, 2), strict=True))
    path = tmp_path / "two.txt"
    path.write_text(above + "".join(form(*row) for row in rows) + below)
    aside = []
    articles = read_articles(path, set_aside=aside.append)
    assert [(a.title, a.text) for a in articles] == list(
        zip(TITLES, TEXTS, strict=True)
    )
    assert [a.metadata["created_at"][:10] for a in articles] == [
        "2026-05-03",
        "2026-05-04",
    ]
    (remark,) = aside
    assert f"no text of an article on the page that begins with '{page}" in remark
    assert len(read_articles(path)) == 2


@pytest.mark.parametrize("page", [COVER, SUMMARY])
def test_a_file_that_is_only_such_a_page_is_no_seed(tmp_path, page):
    (tmp_path / "list.txt").write_text(page)
    (tmp_path / "a.txt").write_text("A flood\nIt rains.")
    aside = []
    assert [a.id for a in read_articles(tmp_path, set_aside=aside.append)] == ["a"]
    assert len(aside) == 1
    with pytest.raises(
        InputError, match="every article is empty|no text of an article"
    ):
        read_articles(tmp_path / "list.txt")


def test_the_last_article_of_a_file_that_is_cut_off_is_a_seed(tmp_path):
    text = " ".join(["The mill at the weir was under water by noon."] * 4)
    whole = "".join(
        factiva(*row) for row in zip(TITLES, TEXTS, DAYS, (1, 2), strict=True)
    )
    (tmp_path / "a.txt").write_text(
        f"{whole}{factiva('A third', text, DAYS[0], 3)}".rpartition("Doc")[0]
    )
    assert [a.title for a in read_articles(tmp_path / "a.txt")] == [*TITLES, "A third"]


@pytest.mark.parametrize(
    "header", ["From: <Saved by Blink>", 'From: "Saved by Windows"', "Subject: x"]
)
@pytest.mark.parametrize("charset", ["utf-8", "cp1252"])
def test_a_web_archive_is_an_article(tmp_path, header, charset):
    pytest.importorskip("trafilatura")
    story = "Die Brücke über die Asker gab nach, und die Fähre fährt nicht. " * 9
    page = f'<html><head><meta charset="{charset}"><title>Brücke</title></head><body>'
    page += f"<article><h1>Brücke</h1><p>{story}</p></article></body></html>"
    coded = quopri.encodestring(page.encode(charset)).decode()
    (tmp_path / "a.mhtml").write_text(
        f"{header}\nMIME-Version: 1.0\nContent-Type: multipart/related; boundary=XX\n\n--XX\n"
        "Content-Type: image/png\nContent-Transfer-Encoding: base64\n\nAAAA\n--XX\n"
        f"Content-Type: text/html\nContent-Transfer-Encoding: quoted-printable\n\n{coded}\n--XX--\n"
    )
    (article,) = read_articles(tmp_path / "a.mhtml")
    assert (article.id, article.title) == ("a", "Brücke")
    assert "Die Brücke über die Asker gab nach" in article.text
    (tmp_path / "b.mht").write_bytes(b"MIME-Version: 1.0\n\n\xff\x00")
    with pytest.raises(InputError, match="has no page in HTML"):
        read_articles(tmp_path / "b.mht")
