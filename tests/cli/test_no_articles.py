"""Pages that are not the article that was meant: notices, offers, front pages, bare addresses."""

import pytest
from typer.testing import CliRunner

from siamese_news.cli import app
from siamese_news.data.articles import read_articles
from siamese_news.search.remarks import stub_remarks

HEADLINE = '<article><h2 class="c"><a href="/s/{n}">{title} {n}</a></h2><p>{teaser}</p></article>'
LINK_FIRST = (
    '<div><a class="x" href="/s/{n}"><h3>{title} {n}</h3></a><p>{teaser}</p></div>'
)
TEASER = (
    "The ferry was late again on Monday, and those who waited had much to say about it."
)
STORY = " ".join(
    ["The pump of the mill failed at five and the lane was under water by six."] * 9
)


def page(body, kind="website"):
    return (
        f'<html><head><title>The Gazette</title><meta property="og:type" content="{kind}"></head>'
        f"<body><main>{body}</main></body></html>"
    )


@pytest.mark.parametrize("card", [HEADLINE, LINK_FIRST])
def test_a_front_page_gets_a_remark(tmp_path, card):
    pytest.importorskip("trafilatura")
    cards = (
        card.format(n=n, title="Ferry number", teaser=f"{n}: {TEASER}")
        for n in range(11)
    )
    path = tmp_path / "front.html"
    path.write_text(page("".join(cards)))
    (remark,) = stub_remarks(read_articles([path]))
    assert "looks like a front page (11 headlines)" in remark


@pytest.mark.parametrize(
    "headline", ["水库大坝开裂", "水門が壊れた", "Плотина дала трещину"]
)
def test_headlines_of_few_signs_are_headlines(tmp_path, headline):
    pytest.importorskip("trafilatura")
    cards = (
        LINK_FIRST.format(n=n, title=headline, teaser=f"{n}: {TEASER}")
        for n in range(9)
    )
    path = tmp_path / "front.html"
    path.write_text(page("<!-- a card -->".join(cards)))
    (remark,) = stub_remarks(read_articles([path]))
    assert "looks like a front page (9 headlines)" in remark


@pytest.mark.parametrize("kind", ["article", "website"])
def test_an_article_that_links_to_others_gets_none(tmp_path, kind):
    pytest.importorskip("trafilatura")
    links = "".join(HEADLINE.format(n=n, title="More", teaser="") for n in range(20))
    path = tmp_path / "story.html"
    path.write_text(
        page(f"<article><h1>A flood</h1><p>{STORY}</p></article>{links}", kind)
    )
    assert stub_remarks(read_articles([path])) == []


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (
            "Before you continue\nWe value your privacy and that of our partners.",
            "a notice",
        ),
        ("One moment\nSolve the captcha to go to the page.", "a notice"),
        ("Gazette\nPage not found. It may have moved.", "a notice"),
        ("Oops\nError 404", "a notice"),
        (
            "A flood in Mill Lane\nSubscribe now to continue reading.",
            "a paywalled article",
        ),
        ("https://gazette.example/2026/03/flood", "only addresses"),
        ("WWW.a.example\n\nhttps://b.example/2\nftp://c.example", "only addresses"),
    ],
)
def test_a_page_that_came_instead_gets_a_remark(tmp_path, text, finding):
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "p.csv").write_text("id,text\n1,the captcha was hard\n2,a flood\n")
    arguments = ("--articles", tmp_path / "a.txt", "--posts", tmp_path / "p.csv")
    done = CliRunner().invoke(app, ["rank", *map(str, arguments)])
    assert done.exit_code == 0 and finding in " ".join(done.output.split())


def test_too_many_seeds_are_refused_from_their_number(tmp_path, monkeypatch):
    """Before the posts are opened: their file does not exist."""
    from siamese_news.search import seeds

    monkeypatch.setattr(seeds, "MOST", 30)
    rows = "".join(f"{n},storm number {n}\n" for n in range(31))
    (tmp_path / "seeds.csv").write_text(f"id,text\n{rows}")
    (tmp_path / "p.csv").write_text("id,text\n1,a storm\n")
    out = tmp_path / "out.csv"
    arguments = (
        "--articles",
        tmp_path / "seeds.csv",
        "--posts",
        tmp_path / "p.csv",
        "--out",
        out,
    )
    done = CliRunner().invoke(app, ["rank", *map(str, arguments)])
    assert done.exit_code == 2 and "posts read" not in done.output
    assert "31 seed articles came, expected 30 at most" in done.output
    assert "are articles and posts exchanged?" in done.output
    assert not out.exists()


@pytest.mark.parametrize(
    ("text", "is_notice"),
    [
        ("Net 960,143 dlrs vs 1,404 dlrs", False),
        ("Revs 404,345 vs 8", False),
        ("Prices fell by 404 points.", False),
        ("404\nWe lost this page", True),
        ("Oops! Error 404", True),
    ],
)
def test_a_number_is_no_notice(tmp_path, text, is_notice):
    (tmp_path / "a.txt").write_text(text)
    assert bool(stub_remarks(read_articles([tmp_path / "a.txt"]))) == is_notice
