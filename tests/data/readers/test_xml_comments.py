"""Comments in XML: what is around them, entities, sizes, damage."""

import gzip

import pytest

from siamese_news.data.lines import LINE_CAP
from siamese_news.data.readers import open_posts
from siamese_news.errors import InputError

DISQUS = (
    '<?xml version="1.0" encoding="{encoding}"?>{doctype}'
    '<disqus xmlns:dsq="urn:x">{posts}</disqus>'
)


def post(id, text, parent=""):
    return (
        f'<post dsq:id="{id}"><message>{text}</message><isSpam>false</isSpam>'
        "<createdAt>2026-03-02T08:00:00Z</createdAt>"
        f'<author><name>Zoë</name></author><thread dsq:id="5"/>{parent}</post>'
    )


def written(path, posts, encoding="utf-8", doctype=""):
    text = DISQUS.format(encoding=encoding, doctype=doctype, posts=posts)
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_comments_in_any_encoding(tmp_path, encoding):
    posts = "".join(
        post(n, f"&lt;p&gt;café {n}&lt;/p&gt;", f'<parent dsq:id="{n - 1}"/>')
        for n in range(1, 9)
    )
    stream = open_posts([written(tmp_path / "export.xml", posts, encoding)])
    found = list(stream)
    assert [p.text for p in found] == [f"café {n}" for n in range(1, 9)]
    assert found[3].metadata["reply_to"] == "3"
    assert found[0].metadata["author"] == "Zoë"


@pytest.mark.parametrize(
    "entity", ['a "ha"><!ENTITY f "&a;&a;&a;"', 'f SYSTEM "file:///etc/hostname"']
)
def test_entities_are_not_read(tmp_path, entity):
    doctype = f"<!DOCTYPE x [<!ENTITY {entity}>]>"
    with pytest.raises(InputError, match="with a document type"):
        open_posts([written(tmp_path / "a.xml", post(1, "&f;"), doctype=doctype)])
    # Nor where they come from nowhere.
    stream = open_posts(
        [written(tmp_path / "b.xml", post(1, "river") + post(2, "&f;"))]
    )
    assert [p.id for p in stream] == ["1"]
    assert stream.counts.reasons == {"damaged file": 1}


def test_half_a_download_keeps_the_comments_before_it(tmp_path):
    path = written(
        tmp_path / "export.xml", "".join(post(n, f"river {n}") for n in range(9999))
    )
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    stream = open_posts([path])
    count = len(list(stream))
    assert 4000 < count < 6000 and stream.counts.reasons == {"damaged file": 1}
    packed = tmp_path / "export.xml.gz"
    packed.write_bytes(gzip.compress(whole)[:-20000])
    stream = open_posts([packed])
    assert len(list(stream)) > 1000 and stream.counts.reasons == {"damaged file": 1}


def test_an_element_without_end_is_not_held(tmp_path):
    path = written(
        tmp_path / "a.xml", post(1, "river") + post(2, "x" * (LINE_CAP + 2**20))
    )
    stream = open_posts([path])
    assert [p.id for p in stream] == ["1"]
    assert stream.counts.reasons == {"record too long": 1}


def test_values_around_comments_take_a_bounded_memory(tmp_path):
    around = "".join(f"<n{n}>x</n{n}>" for n in range(999))
    path = written(
        tmp_path / "a.xml", around + post(1, "river") + around + post(2, "mill")
    )
    stream = open_posts([path])
    assert [p.id for p in stream] == ["1", "2"]


def test_deep_elements_are_a_fault(tmp_path):
    deep = "<b>" * 9999 + "</b>" * 9999
    stream = open_posts([written(tmp_path / "a.xml", post(1, "river") + post(2, deep))])
    assert [p.id for p in stream] == ["1"]
    assert stream.counts.reasons == {"damaged file": 1}


def test_a_feed_of_news_is_still_refused(tmp_path):
    path = tmp_path / "feed.xml"
    path.write_text(
        '<?xml version="1.0"?><rss version="2.0"><channel><item/></channel></rss>'
    )
    with pytest.raises(InputError, match="RSS or Atom feed"):
        open_posts([path])
