"""The report: what is on the page, and that nothing else can be."""

import base64
import hashlib
import json
import math
import sys
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from siamese_news.cli import app
from siamese_news.data.records import Article, Post
from siamese_news.errors import InputError
from siamese_news.search.ranked_posts import RankedPost
from siamese_news.search.report import (
    ReportData,
    ReportPost,
    Seed,
    read_results,
    render,
    write_report,
)
from siamese_news.search.report.charts import histogram_chart, timeline_chart
from siamese_news.search.report.page import COPIES, SHOWN, pieces, visible
from siamese_news.search.result_files import row_of, write_rows

sys.path.insert(0, str(Path(__file__).parent))
from hostile import HOSTILE, hostile_text


class Page(HTMLParser):
    """The elements of a page with their attributes, and the text inside some of them."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.texts, self.raw, self._open = [], [], {}, []
        self.words = ""
        self.feed(page)
        self.close()
        self.words = " ".join(self.words.split())

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.words += " " * (tag in ("td", "dd"))
        if dict(attributes).get("class") == "text":
            self.texts.append("")
        if tag not in ("meta", "link", "input", "img"):
            self._open.append((tag, dict(attributes).get("class")))

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        if self._open and self._open[-1][0] in ("script", "style"):
            self.raw.setdefault(self._open[-1][0], []).append(data)
            return
        self.words += data
        if ("p", "text") in self._open:
            self.texts[-1] += data

    def attributes(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def post(number, text="the old bridge", **options):
    given = {"rank": number + 1, "score": 1 - number / 10_000, "cluster": number}
    given |= {"cluster_size": 1, "seed": "s"} | options
    return ReportPost(id=f"p{number}", text=text, **given)


def data(posts=(), **options):
    given = {"title": "A title", "command": "siamese-news filter", "provenance": {}}
    given |= {"seeds": [Seed("s", "The bridge")], "posts": list(posts)} | options
    return ReportData(**given)


HOSTILE_PAGE = data(
    [
        post(
            i,
            text,
            created_at=text[:40],
            lang=text[:40],
            terms=[text[:12], "window", "("],
        )
        for i, text in enumerate(map(hostile_text, range(60)))
    ],
    title=HOSTILE[0] + HOSTILE[4],
    command=HOSTILE[1],
    provenance={HOSTILE[4]: HOSTILE[5], "versions": {HOSTILE[2]: [HOSTILE[6]]}},
    seeds=[Seed("s", HOSTILE[5]), Seed(HOSTILE[4], HOSTILE[7])],
    counts={"read": 1, HOSTILE[0]: 2},
    remarks=[HOSTILE[8]],
    threshold=0.5,
    histogram={"edges": [0, 0.5, 1], "counts": [3, 4]},
    histogram_note=HOSTILE[10],
)


def test_nothing_of_a_hostile_post_becomes_an_element_or_an_attribute():
    page = Page(render(HOSTILE_PAGE))
    once = ("html", "head", "body", "main", "form", "input", "script", "style")
    never = ("base", "embed", "iframe", "img", "link", "object")
    assert [len(page.attributes(tag)) for tag in once] == [1] * len(once)
    assert [len(page.attributes(tag)) for tag in never] == [0] * len(never)
    assert len(page.attributes("meta")) == 6 and len(page.attributes("a")) == 6
    assert len(page.attributes("button")) == 5
    for _, attributes in page.elements:
        for name, value in attributes.items():
            assert not name.startswith("on")
            assert name not in (
                "src",
                "srcdoc",
                "style",
                "action",
                "srcset",
                "xlink:href",
            )
            assert name != "href" or value.startswith("#")
            assert "owned" not in (value or "")


def test_hostile_texts_are_on_the_page_as_they_are():
    shown = Page(render(HOSTILE_PAGE)).texts
    for text in HOSTILE:
        if len(text) < 700:
            marked = pieces(text, [text[:12], "window", "("])
            expected = "".join(visible(piece) for _, piece in marked)
            assert expected.strip() in [line.strip() for line in shown]


def test_a_page_can_be_written_whatever_the_texts(tmp_path):
    write_report(tmp_path / "page.html", HOSTILE_PAGE)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "\x00" not in page
    assert "{{7*7}} {% for x in range(9) %}" in Page(page).texts[13]


def test_only_its_own_style_and_script_are_allowed():
    page = Page(render(data([post(0)])))
    policy = next(
        m["content"]
        for m in page.attributes("meta")
        if m.get("http-equiv", "").endswith("Policy")
    )
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy and "http" not in policy
    for name in ("style", "script"):
        digest = hashlib.sha256("".join(page.raw[name]).encode()).digest()
        assert f"{name}-src 'sha256-{base64.b64encode(digest).decode()}'" in policy


def test_every_id_is_there_once_and_every_link_and_label_has_its_end():
    page = Page(render(data([post(i) for i in range(5)], threshold=0.2)))
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    wanted = [a["href"][1:] for a in page.attributes("a")]
    wanted += [
        n for _, a in page.elements for n in a.get("aria-labelledby", "").split()
    ]
    assert {*wanted} <= set(ids)


def test_clusters_stand_in_the_order_of_their_best_rank():
    posts = [
        post(0, "first", cluster=7, cluster_size=3),
        post(1, "second", cluster=1, cluster_size=1),
        post(2, "first!", cluster=7, cluster_size=3),
    ]
    page = Page(render(data(posts)))
    assert page.texts == ["first", "first!", "second"]
    items = [a for a in page.attributes("li") if a.get("class") == "cluster"]
    assert [item["data-size"] for item in items] == ["3", "1"]
    assert "3 posts in this cluster" in page.words
    assert "1 more is not listed here" in page.words


def test_the_best_ranked_post_represents_its_cluster_and_copies_count_posts():
    given = [("a", 2, 0), ("b", 1, 0), ("c", 1, 1), ("d", 1, 0), ("c", 2, 1)]
    posts = [
        ReportPost(rank, id, 0.5, id, cluster, 1, seed="s")
        for id, rank, cluster in given
    ]
    page = Page(render(data(posts)))
    assert page.texts == ["d", "a", "b", "c"]  # one post for two seeds is no copy
    items = [a for a in page.attributes("li") if a.get("class") == "cluster"]
    assert [item["data-size"] for item in items] == ["3", "1"]


def test_a_long_result_is_cut_and_the_page_says_so(monkeypatch):
    monkeypatch.setattr("siamese_news.search.report.page.SHOWN", SHOWN // 20)
    _check_a_long_result(SHOWN // 20)


@pytest.mark.slow
def test_the_longest_result_that_a_page_shows_is_cut_there():
    _check_a_long_result(SHOWN)


def _check_a_long_result(size):
    many = [post(i, f"{i}", cluster=i % (size + 10)) for i in range(size + 20)]
    page = Page(render(data(many)))
    words = page.words
    assert len(page.texts) == size
    assert f"The page lists the first {size - 10:,} of {size + 10:,} clusters" in words
    copies = [
        post(i, f"{i}", cluster=0, cluster_size=COPIES + 5) for i in range(COPIES + 5)
    ]
    page = Page(render(data(copies)))
    assert len(page.texts) == COPIES + 1
    assert "4 more are not listed here" in page.words


def test_what_is_missing_is_said():
    words = Page(render(data())).words
    for part in ("There is no histogram", "There is no timeline"):
        assert part in words
    assert "Attention of the model" not in words


def test_what_was_done_is_said():
    page = Page(
        render(
            data(
                [
                    post(0, created_at="2026-03-04T18:00:00Z", score=0.5),
                    post(1, created_at="soon"),
                ],
                provenance={
                    "date": "today",
                    "versions": {"torch": "2.13"},
                    "sha256": "abc",
                },
                counts={"read": 1234567, "kept": 2},
                remarks=["One thing."],
                threshold=0.6,
                histogram={"edges": [0, 0.5, 1], "counts": [7, 3]},
            )
        )
    )
    words = page.words
    expected = (
        "1,234,567",
        "siamese-news filter",
        "versions: torch 2.13",
        "sha256 abc",
        "One thing.",
        "threshold 0.6",
        "1 post in the results reaches it",
        "1 post without a date is not included",
        "04 Mar 18:00",
    )
    for part in expected:
        assert part in words, part


@given(st.text(), st.lists(st.text(max_size=6), max_size=4))
def test_pieces_make_up_the_text(text, terms):
    found = pieces(text, terms)
    assert "".join(piece for _, piece in found) == text
    lowered = {term.lower() for term in terms} | {term.upper() for term in terms}
    for marked, piece in found:
        assert not marked or piece.lower() in lowered or piece.upper() in lowered


def test_terms_are_marked_as_whole_words():
    found = pieces("Flood, floods: #flood c++ FLOOD", ["flood", "#flood", "c++"])
    assert [piece for marked, piece in found if marked] == [
        "Flood",
        "#flood",
        "c++",
        "FLOOD",
    ]


@given(st.text(st.characters(exclude_categories=())))
def test_visible_text_hides_nothing_and_can_be_written(text):
    shown = visible(text)
    shown.encode("utf-8")
    assert not set(shown) & set(
        map(chr, [*range(9), *range(11, 32), *range(0x7F, 0xA0)])
    )
    assert not set(shown) & set(
        "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b"
    )
    assert visible(shown) == shown
    if text.isprintable() and "marks" not in shown:
        assert shown == text


def test_marks_that_stack_without_end_are_counted():
    assert (
        visible("Z" + "\u0301" * 500 + "!") == "Z" + "\u0301" * 8 + "⟨492 more marks⟩!"
    )
    assert visible("e\u0301\u0323") == "e\u0301\u0323"


def test_joiners_that_letters_and_emoji_need_stay():
    for text in ("👩‍👩‍👧‍👦", "می‌خواهم", "क्‍ष"):
        assert visible(text) == text


def test_the_histogram_has_a_log_axis_and_the_threshold():
    chart = histogram_chart(
        {"edges": [0, 0.25, 0.5, 0.75, 1], "counts": [1000, 100, 0, 10]}, 0.25
    )
    heights = [bar.height for bar in chart.bars]
    assert [bar.row[1] for bar in chart.bars] == [1000, 100, 10]
    assert heights[0] - heights[1] == pytest.approx(heights[1] - heights[2])
    assert [bar.above for bar in chart.bars] == [False, True, True]
    width = chart.x_max - chart.x_min
    assert chart.line.at == pytest.approx(chart.x_min + width / 4)
    assert [tick.label for tick in chart.y_ticks] == ["1", "10", "100", "1,000"]


def test_a_threshold_beyond_all_scores_is_still_on_the_axis():
    chart = histogram_chart({"edges": [0, 0.1], "counts": [1]}, 0.9)
    assert chart.line.at == pytest.approx(chart.x_max)
    assert all(bar.x + bar.width <= chart.x_max for bar in chart.bars)


@given(
    st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=20),
    st.none() | st.floats(-1e12, 1e12),
)
def test_any_histogram_can_be_drawn(edges, threshold):
    edges = sorted({*edges, max(edges) + 1})
    chart = histogram_chart(
        {"edges": edges, "counts": list(range(len(edges) - 1))}, threshold
    )
    marks = [*chart.bars, *chart.x_ticks, *chart.y_ticks]
    assert len(chart.bars) == len(edges) - 2
    assert all(math.isfinite(getattr(m, "x", getattr(m, "at", 0))) for m in marks)
    assert len(chart.x_ticks) <= 10


@given(st.lists(st.datetimes(), min_size=1, max_size=30))
def test_the_timeline_counts_every_date(dates):
    chart = timeline_chart(dates)
    assert sum(bar.row[1] for bar in chart.bars) == len(dates)
    assert all(
        chart.x_min <= bar.x and bar.x + bar.width <= chart.x_max + 1
        for bar in chart.bars
    )
    assert len(chart.x_ticks) <= 10


@pytest.mark.parametrize(
    ("last", "unit", "bars"),
    [
        (datetime(2026, 3, 4, 20), "hour", 2),
        (datetime(2026, 5, 4), "day", 2),
        (datetime(2030, 5, 4), "month", 2),
        (datetime(2400, 1, 1), "year", 2),
    ],
)
def test_the_span_of_the_dates_sets_the_unit(last, unit, bars):
    chart = timeline_chart([datetime(2026, 3, 4, 18), last, last])
    assert (chart.unit, len(chart.bars)) == (unit, bars)
    assert timeline_chart([]) is None


COPIED = "Old bridge is down in the town"
ROWS = [
    {
        "article": "a",
        "rank": 1,
        "score": 0.9,
        "post": "9007199254740993",
        "text": COPIED,
    },
    {"article": "a", "rank": 2, "score": 0.8, "post": "-2", "text": "=1+1 the vote"},
    {"article": "b", "rank": 1, "score": 0.7, "post": "3", "text": f"RT @x: {COPIED}!"},
]


def written(folder, name, rows=ROWS):
    path = folder / name
    if path.suffix == ".jsonl":
        path.write_text(
            "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
        )
    elif path.suffix == ".csv":
        # As rank writes it, formula guard and all.
        ranking = [
            RankedPost(Article(article, ""), rank, score, Post(post, text))
            for article, rank, score, post, text in (row.values() for row in rows)
        ]
        with path.open("w", encoding="utf-8-sig", newline="") as stream:
            write_rows(stream, [row_of(one) for one in ranking], "csv")
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows), path)
    return path


@pytest.mark.parametrize("name", ["r.jsonl", "r.csv", "r.parquet"])
def test_results_are_read_in_every_form(tmp_path, name):
    found = read_results(written(tmp_path, name))
    assert [(p.seed, p.rank, p.score, p.id, p.text) for p in found.posts] == [
        tuple(row.values()) for row in ROWS
    ]
    assert [p.cluster_size for p in found.posts] == [2, 1, 2]
    assert found.posts[0].cluster == found.posts[2].cluster != found.posts[1].cluster
    assert [seed.id for seed in found.seeds] == ["a", "b"]
    assert sum(found.histogram["counts"]) == 3
    assert "the posts in the results only" in found.histogram_note
    assert (
        found.provenance["sha256 of the results"]
        == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
    )


def test_columns_that_are_there_are_used(tmp_path):
    more = {"cluster": 4, "cluster_size": 9, "lang": "en", "x": 1.5, "y": 2}
    more |= {"created_at": "2026-03-04T18:00:00Z", "terms": ["old", "bridge"]}
    (found,) = read_results(written(tmp_path, "r.jsonl", [ROWS[0] | more])).posts
    assert (found.cluster_size, found.lang) == (9, "en")
    assert (found.created_at, list(found.terms)) == (
        "2026-03-04T18:00:00Z",
        ["old", "bridge"],
    )
    path = tmp_path / "r.csv"
    path.write_text(
        "article,rank,score,post,text,terms,lang\na,1,0.5,p,old bridge,old;bridge,\n"
    )
    (found,) = read_results(path).posts
    assert (list(found.terms), found.lang) == (["old", "bridge"], None)


META = {
    "command": "siamese-news filter --threshold 0.5",
    "provenance": {"machine": "a laptop"},
    "counts": {"read": 10, "kept": 3},
    "histogram": {"edges": [0, 0.5, 1], "counts": [7, 3]},
    "threshold": 0.5,
    "titles": {"a": "The bridge"},
}


def test_what_the_search_left_beside_its_results_is_used(tmp_path):
    path = written(tmp_path, "r.jsonl")
    (tmp_path / "r.jsonl.meta.json").write_text(json.dumps(META))
    found = read_results(path)
    assert found.command == META["command"]
    assert found.provenance["machine"] == "a laptop"
    assert (found.threshold, found.histogram["counts"]) == (0.5, [7, 3])
    assert found.seeds == [Seed("a", "The bridge"), Seed("b")]
    assert "scanned" in found.histogram_note


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("r.jsonl", "", "empty"),
        ("r.txt", "x", "unknown format"),
        ("r.jsonl", '{"article": "a", "rank": 1}\n', "r.jsonl:1: 'score' is missing"),
        (
            "r.jsonl",
            json.dumps(ROWS[0] | {"score": "high"}),
            "r.jsonl:1: 'score' is 'high'",
        ),
        ("r.jsonl", json.dumps(ROWS[0] | {"rank": 1.5}), "r.jsonl:1: 'rank' is '1.5'"),
        ("r.jsonl", json.dumps(ROWS[0] | {"rank": "1,000"}), "'rank' is '1,000'"),
        (
            "r.csv",
            "article,rank,score,post,text\na,1,0.5,p\n",
            "r.csv:2: 'text' is missing",
        ),
        (
            "r.csv",
            "article,rank,score,post,text\na,1,0.5,p,x,y\n",
            "r.csv:2: has more cells",
        ),
        ("r.csv", "article,rank,score,post,text\n", "no row"),
        ("r.csv", "article;rank;score\na;1;0,5\n", "expected commas between the cells"),
        ("r.csv", 'article\n"a', "not a CSV file"),
        ("r.parquet", "PAR1 it is not", "not a Parquet file"),
        ("r.jsonl.meta.json", "{", "meta.json: not as a search writes it (Expecting"),
        ("r.jsonl.meta.json", "[]", "meta.json: not as a search writes it (Expected"),
        (
            "r.jsonl.meta.json",
            '{"counts": {"read": "many"}}',
            "(field counts[...]: Expected int, got str); remove it or search again",
        ),
        (
            "r.jsonl.meta.json",
            '{"threshold": NaN}',
            "(field threshold: Expected float >= ",
        ),
        (
            "r.jsonl.meta.json",
            '{"histogram": {"edges": [0], "counts": [1]}}',
            "one edge more",
        ),
        (
            "r.jsonl.meta.json",
            '{"histogram": {"counts": []}}',
            "field histogram: Object missing required field edges",
        ),
    ],
)
def test_bad_results_are_named_and_nothing_is_written(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content)
    if name.endswith("meta.json"):
        path = written(tmp_path, "r.jsonl")
    out = tmp_path / "page.html"
    out.write_text("old")
    done = CliRunner().invoke(
        app, ["report", "--results", str(path), "--out", str(out), "--force"]
    )
    assert done.exit_code == 2, done.output
    assert message in done.output
    assert out.read_text() == "old"


def test_an_output_cannot_be_in_a_file(tmp_path):
    path = written(tmp_path, "r.jsonl")
    out = path / "folder" / "page.html"
    done = CliRunner().invoke(
        app, ["report", "--results", str(path), "--out", str(out)]
    )
    assert done.exit_code == 2
    assert f"{out}: {path} is a file, not a folder; name another file" in done.output


def test_a_folder_is_not_a_results_file(tmp_path):
    with pytest.raises(
        InputError, match="is a folder; expected a file that rank or filter wrote"
    ):
        read_results(tmp_path)


def test_the_command_writes_the_page(tmp_path):
    path, out = written(tmp_path, "r.jsonl"), tmp_path / "page.html"
    arguments = [
        "report",
        "--results",
        str(path),
        "--out",
        str(out),
        "--title",
        "Bridge & town",
    ]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    page = Page(out.read_text(encoding="utf-8"))
    assert "Bridge & town" in page.words
    assert "There is no r.jsonl.meta.json" in page.words
    (tmp_path / "r.jsonl.meta.json").write_text(json.dumps({"threshold": 0.75}))
    done = CliRunner().invoke(app, [*arguments, "--force"])
    assert done.exit_code == 0, done.output
    assert "threshold 0.75" in Page(out.read_text(encoding="utf-8")).words
    (tmp_path / "r.jsonl.meta.json").write_text('{"threshold": Infinity}')
    with pytest.raises(InputError, match="field threshold: Expected float <= "):
        read_results(path)


@settings(deadline=None, max_examples=30)
@given(
    st.lists(
        st.text(st.characters(exclude_categories=()), max_size=50),
        min_size=1,
        max_size=8,
    )
)
def test_any_texts_give_a_page(texts):
    page = Page(
        render(data([post(i, t, terms=t.split()) for i, t in enumerate(texts)]))
    )
    assert [line.strip() for line in page.texts] == [
        visible(text).strip() for text in texts
    ]


def test_a_report_is_a_web_page_by_its_name(tmp_path):
    out = tmp_path / "page.pdf"
    done = CliRunner().invoke(
        app, ["report", "--results", "found.jsonl", "--out", str(out)]
    )
    assert done.exit_code == 2
    assert ".html" in done.stderr
    assert not out.exists()


def test_the_original_is_linked_where_a_browser_opens_it(tmp_path):
    path = tmp_path / "r.jsonl"
    row = {"article": "a", "rank": 1, "score": 0.5, "post": "p", "text": "x"}
    links = ["https://a.example/1?x=1&y=2", "javascript:alert(1)", None]
    rows = [
        row | {"post": f"p{n}", "rank": n + 1, "link": link}
        for n, link in enumerate(links)
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    page = render(read_results(path))
    assert page.count('class="original"') == 1
    assert 'href="https://a.example/1?x=1&amp;y=2" rel="noopener noreferrer"' in page
    assert "javascript:alert" not in page


@pytest.fixture
def small_bounds(monkeypatch):
    """A page of at most 20 posts, and near-duplicates among at most 50."""
    for module in ("report_data", "page"):
        monkeypatch.setattr(f"siamese_news.search.report.{module}.SHOWN", 20)
    monkeypatch.setattr("siamese_news.search.report.report_data.CLUSTERED", 50)


def long_file(path, count, **columns):
    """Rows in no order of their ranks; the texts are copies of each other."""
    ranks = [(number * 37) % count + 1 for number in range(count)]
    rows = [
        {
            "article": "a",
            "rank": rank,
            "score": 1 - rank / 1000,
            "post": f"p{rank:04}",
            "text": "the same words of a bridge",
            "terms": ["words"],
        }
        | {name: value(rank) for name, value in columns.items()}
        for rank in ranks
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_long_file_is_not_searched_for_copies(tmp_path, small_bounds):
    data = read_results(long_file(tmp_path / "many.jsonl", 101))
    assert "more than 50 posts, too many to look for near-duplicates" in str(
        data.remarks
    )
    assert len({post.cluster for post in data.posts}) == 101
    # The texts that the page shows are held, in whatever order the ranks come.
    assert {post.rank for post in data.posts if post.text} == set(range(1, 21))
    page = render(data)
    assert page.count("of a bridge") == 20
    assert "p0020" in page and "p0021" not in page
    assert "101" in page
    few = read_results(long_file(tmp_path / "few.jsonl", 49))
    assert len({post.cluster for post in few.posts}) == 1
    assert all(post.text for post in few.posts)


def test_a_comparison_of_groups_reads_all_texts(tmp_path, small_bounds):
    path = long_file(tmp_path / "many.jsonl", 101)
    assert all(post.text for post in read_results(path, all_texts=True).posts)


def test_a_long_file_with_clusters_keeps_them(tmp_path, small_bounds):
    path = long_file(tmp_path / "many.jsonl", 101, cluster=lambda rank: f"c{rank % 7}")
    data = read_results(path)
    assert len({post.cluster for post in data.posts}) == 7
    assert "too many" not in str(data.remarks)


def test_clusters_that_begin_late_are_named(tmp_path, small_bounds):
    path = long_file(
        tmp_path / "many.jsonl",
        101,
        cluster=lambda rank: "c" if rank == (99 * 37) % 101 + 1 else None,
    )
    with pytest.raises(InputError, match="its row 100 has a cluster.*in all rows or"):
        read_results(path)


@pytest.mark.parametrize(
    ("relevance", "meta", "sentence"),
    [
        (
            [0.86, 0.5],
            {"about": {"s": "event"}},
            "is about the event. It was estimated",
        ),
        (
            [0.86, None],
            {"about": {"s": "article"}},
            "is about the very article. It was estimated from other pools",
        ),
        (
            [0.86, 0.5],
            {"about": {"s": "between"}, "relevance_map": {"labels": 20}},
            "about the event or the very article. It was estimated from labels of its posts",
        ),
        ([None, None], {"about": {"s": "event"}}, "relevance of the posts is unknown"),
    ],
)
def test_a_report_says_what_relevance_is_to_and_whose_it_is(
    tmp_path, relevance, meta, sentence
):
    path = tmp_path / "found.jsonl"
    rows = [
        {
            "article": "s",
            "rank": rank,
            "score": 1 / rank,
            "post": f"p{rank}",
            "text": f"a text of its own {rank}",
            "relevance": value,
        }
        for rank, value in enumerate(relevance, 1)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    path.with_name("found.jsonl.meta.json").write_text(json.dumps(meta))
    page = Page(render(read_results(path)))
    assert sentence in page.words
    numbers = [
        attributes
        for name, attributes in page.elements
        if dict(attributes).get("class") == "relevance"
    ]
    assert len(numbers) == sum(value is not None for value in relevance)
