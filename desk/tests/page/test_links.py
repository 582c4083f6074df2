"""Links to the originals: of the web alone, and nothing that a browser would run."""

import re
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import siamese_news
import siamese_news_desk

sys.path.insert(0, str(Path(__file__).parent))
from served import Served, found_before

LINKS = {
    "https://example.org/1?a=b&c=d": True,
    "HTTP://example.org/2": True,
    "javascript:alert(1)": False,
    " https://example.org": False,
    "data:text/html,x": False,
    "//example.org/3": False,
    '"><script>alert(1)</script>': False,
    "": False,
    'https://example.org/"onclick="alert(1)': True,
}


def test_only_addresses_of_the_web_become_links(tmp_path):
    found_before(tmp_path / "storm", relevant=20, other=20)
    path = tmp_path / "storm/searches/1/results.parquet"
    table = pq.read_table(path)
    given = (list(LINKS) * 5)[: len(table)]
    if "link" in table.column_names:
        table = table.drop_columns(["link"])
    pq.write_table(table.append_column("link", pa.array(given)), path)
    served = Served(tmp_path / "storm")
    try:
        html = served.json("/api/posts")["html"]
    finally:
        served.end()
    anchors = re.findall(r'<a class="original" href="([^"]*)" ([^>]*)>', html)
    wanted = [link for link in given if LINKS[link]]
    assert len(anchors) == html.count("<a ") == len(wanted)
    for (address, more), link in zip(anchors, wanted, strict=True):
        assert address == link.replace("&", "&amp;").replace('"', "&#34;")
        assert 'rel="noopener noreferrer"' in more
    assert "onclick" not in re.sub(r'href="[^"]*"', "", html)


def test_every_aria_attribute_of_the_templates_exists():
    roots = [
        Path(package.__file__).parent for package in (siamese_news, siamese_news_desk)
    ]
    known = {
        "current",
        "describedby",
        "hidden",
        "label",
        "labelledby",
        "live",
        "pressed",
    }
    used = {
        name
        for root in roots
        for path in root.rglob("*.j2")
        for name in re.findall(r"\baria-([a-z]+)=", path.read_text(encoding="utf-8"))
    }
    assert used <= known and used >= {"label", "labelledby", "live"}
