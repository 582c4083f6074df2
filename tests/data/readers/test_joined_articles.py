"""Several articles in one file: with codes before their fields, or joined by hand."""

import pytest

from siamese_news.data.articles import HEADLINES, SECTIONS, read_articles
from siamese_news.search.remarks import stub_remarks

ROWS = (
    ("Weir gives way", "The weir at Tansy Mill gave way.", "3 May 2026"),
    ("Fire at the mill", "By noon the fire was out.", "4 May 2026"),
)
CODED = [
    "SE\tNews\nHD\t{0}\nBY\tAnn Example\nPD\t{2}\nSN\tThe Tansy Post\nLP\t{1}\n"
    "AN\tDocument TANPST0020260503em530000{3}\n",
    "CLM\nLocks\nHD\n{0}\nPD\n{2}\nSN\nThe Tansy Post\nLP\n{1}\n\nTD\n\n"
    "NS\nFloods\nAN\nDocument TANPST0020260503em530000{3}\n",
    "{0}\nAnn Example\n9 words\n{2}\n10:05\nThe Tansy Post\nTANPST\nEnglish\n(c) 2026\n\n{1}\n\n"
    "Document TANPST0020260503em530000{3}\n",
    "{0}\nAnn Example\nThe Tansy Post\n{2}\nLength: 9 words\nBody\n{1}\nEnd of Document\n",
]


@pytest.mark.parametrize("form", CODED)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_every_article_of_a_file_is_a_seed(tmp_path, form, line_end):
    content = "".join(form.format(*row, number) for number, row in enumerate(ROWS, 1))
    (tmp_path / "two.txt").write_text(content, newline=line_end)
    articles = read_articles(tmp_path / "two.txt")
    assert [(a.id, a.title) for a in articles] == [
        (f"two-{n}", title) for n, (title, _, _) in enumerate(ROWS, 1)
    ]
    days = [article.metadata["created_at"][:10] for article in articles]
    assert days == ["2026-05-03", "2026-05-04"]
    assert [article.text.strip() for article in articles] == [row[1] for row in ROWS]
    sources = {article.metadata["source"] for article in articles}
    assert sources == {"The Tansy Post"}


@pytest.mark.parametrize(
    "divider",
    ["* * *", "---", "\f", "# What next", "© 2026 L'Écluse. Tous droits réservés."],
)
def test_one_article_with_parts_stays_one_and_long_parts_are_named(tmp_path, divider):
    part = "The lock keeper saw the water rise all night. " * 6
    for name, text in (("long", part), ("short", "It rose.")):
        content = f"A flood\n{text}\n{divider}\n{text}\n{divider}\n{text}\n{divider}\n"
        (tmp_path / f"{name}.md").write_text(content)
    articles = read_articles(tmp_path)
    assert [article.id for article in articles] == ["long", "short"]
    assert [article.metadata.get(SECTIONS) for article in articles] == [3, None]
    (remark,) = stub_remarks(articles)
    assert "'long'" in remark and "3 sections" in remark and "own file" in remark


@pytest.mark.parametrize(
    "page",
    [
        "429 Too Many Requests\nnginx",
        "Attention Required!\nPlease enable cookies.",
        "Please enable JS and disable any ad blocker",
        "Press & Hold to confirm you are human",
        "You don't have permission to access this. Reference #18.4f",
        "Accesso negato",
        "Страница не найдена",
        "ページが見つかりません",
        "451: Unavailable for legal reasons",
        "404 - Seite fehlt",
        "Dit artikel is alleen voor abonnees",
        "この記事は有料会員限定です",
    ],
)
def test_pages_of_servers_and_offers_are_named(tmp_path, page):
    (tmp_path / "a.txt").write_text(page)
    assert len(stub_remarks(read_articles(tmp_path / "a.txt"))) == 1


def test_a_long_list_of_rights_is_read_line_by_line(tmp_path):
    """Not each line up to the end of the text, which would take hours."""
    (tmp_path / "a.txt").write_text(
        "A flood\n" + "© 2026 The Tansy Post\nx\n" * 200_000
    )
    (article,) = read_articles(tmp_path)
    assert SECTIONS not in article.metadata


def test_an_article_that_begins_with_a_number_is_none(tmp_path):
    (tmp_path / "a.txt").write_text("404 cellars under water\nThe weir gave way.")
    assert stub_remarks(read_articles(tmp_path / "a.txt")) == []


def test_a_front_page_is_known_by_the_links_in_its_text(tmp_path):
    """Not by those around an article, and whatever elements its headlines are."""
    pytest.importorskip("trafilatura")
    news = [f"The lock keeper of weir number {n} tells his story" for n in range(12)]
    teasers = "".join(
        f"<li><a href='/{n}'><b>{t}</b></a></li>" for n, t in enumerate(news)
    )
    headings = "".join(f"<h3><a href='/{n}'>{t}</a></h3>" for n, t in enumerate(news))
    paragraph = (
        "<p>The weir at Tansy Mill gave way at five, and the lock keeper saw it.</p>"
    )
    pages = {
        "front": f"<main><ul>{teasers}</ul></main>",
        "article": f"<article><h1>Weir</h1>{paragraph * 6}</article><aside>{headings}</aside>",
    }
    for name, body in pages.items():
        (tmp_path / f"{name}.html").write_text(f"<html><body>{body}</body></html>")
    article, front = read_articles(tmp_path)
    assert front.metadata[HEADLINES] == 12
    assert HEADLINES not in article.metadata
    assert "lock keeper saw it" in article.text


FORMS = {
    "de": (
        "LÄNGE: 9 Wörter",
        "1 von 2 DOKUMENTEN",
        "SPRACHE: GERMAN",
        "Alle Rechte vorbehalten",
    ),
    "fr": (
        "LONGUEUR: 9 mots",
        "1 de 2 DOCUMENTS",
        "LANGUE: FRENCH",
        "Tous droits réservés",
    ),
    "nl": (
        "LENGTE: 9 woorden",
        "1 van 2 DOCUMENTEN",
        "TAAL: DUTCH",
        "Alle rechten voorbehouden",
    ),
}


@pytest.mark.parametrize("language", FORMS)
def test_the_lines_below_a_text_are_no_text_in_any_language(tmp_path, language):
    length, number, spoken, rights = FORMS[language]
    (tmp_path / "a.txt").write_text(
        f"{number}\nThe Tansy Post\n3 May 2026\nWeir gives way\n{length}\n"
        f"It gave way at five.\n{spoken}\nCopyright 2026 Tansy\n{rights}\n"
    )
    (article,) = read_articles(tmp_path / "a.txt")
    assert (article.title, article.text) == ("Weir gives way", "It gave way at five.")
