"""The README is one screen whose commands, targets and links are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_is_short():
    assert len(README.splitlines()) <= 60


def test_named_targets_are_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"\bmake ([a-z][a-z-]*)", README)):
        assert re.search(rf"^{target}:", makefile, flags=re.M), target


def within_two_clicks():
    """The README, and the pages of this repository that it or a page it links to leads to."""
    pages = {Path("README.md"): README}
    for _ in range(2):
        for page, text in list(pages.items()):
            for target in re.findall(r"\]\((?!\w+:)([^)#\s]+\.md)[^)]*\)", text):
                path = (ROOT / page.parent / target).resolve()
                if path.is_file():
                    pages.setdefault(
                        path.relative_to(ROOT), path.read_text(encoding="utf-8")
                    )
    return pages


@pytest.mark.parametrize(
    "words",
    [
        "LightningDataModule",
        "LightningModule",
        "SiameseDataModule(",
        "SiameseModule(",
        "triplet loss",
        "miner",
        "GloVe",
        "Hydra",
        "multirun",
        "DDP",
        "from siamese_news import StarEncoder",
    ],
)
def test_what_a_lightning_user_looks_for_is_on_the_first_page(words):
    assert words in README


@pytest.mark.parametrize(
    "words",
    [
        "StarEncoder",
        "CNNEncoder",
        "GRUEncoder",
        "TransformerEncoder",
        "BagEncoder",
        "`sparsemax`",
        "conf/",
        "python -m siamese_news.train -m encoder=",
        "trainer=ddp4",
        "load_from_checkpoint",
    ],
)
def test_the_rest_is_within_two_clicks(words):
    pages = within_two_clicks()
    assert Path("docs/library.md") in pages
    assert any(words in text for text in pages.values())


def test_every_kind_of_user_has_a_command_and_a_way_on():
    rows = re.findall(
        r"^\| an? \*\*(.+?)\*\*.*?\| `(.+?)` \| (.+) \|$", README, flags=re.M
    )
    assert [who for who, _, _ in rows] == ["social scientist", "researcher", "engineer"]
    assert all(links.count("](") >= 3 for _, _, links in rows)


def test_the_words_under_the_picture_are_few():
    (paragraph,) = re.findall(
        r"\(docs/quality\.svg\)\n\n(.*?)\n\[All figures", README, re.S
    )
    assert len(paragraph.split()) <= 45
    assert len(re.findall(r"\d+", paragraph)) <= 2
