"""What is written, compared with loops that learn the window from its start each time."""

import json
import random

import pytest

from siamese_news.errors import InputError
from siamese_news.scoring import observe_all
from siamese_news.search.opened_query import open_query
from siamese_news.search.query import FILTER
from siamese_news.search.seeds import MILLION, Seeds
from siamese_news.search.watch import window as window_module
from siamese_news.search.watch.stream_sources import Batch
from siamese_news.search.watch.window import next_settling


@pytest.fixture
def quarters(monkeypatch):
    """Windows that move by a quarter, not by a tenth: they have moved after fewer updates."""
    monkeypatch.setattr(window_module, "_PARTS", 4)


def naive(posts, seeds, window, threshold=0.05, warm=(), parts=10):
    """Rows as (article, post, score, generation): each post alone, each window from its start."""
    opened = open_query(FILTER, Seeds(seeds, one_story=True))
    warm = warm[-window:]
    every = max(window // parts, 1)
    bounds = [*range(-len(warm), 0, every), 0]
    position, generation, rows = 0, 1, []
    stream = [*warm, *posts]
    while position < len(posts):
        scorer = opened.scorer()
        first = min(bound for bound in bounds if bound >= position - window)
        if position > first:
            learned = stream[first + len(warm) : position + len(warm)]
            scorer = observe_all(scorer, [post.text for post in learned])
        end = min(next_settling(position, window), len(posts))
        for post in posts[position:end]:
            scores, best = opened.seeds.combine(scorer.scores([post.text]))
            if scores[0, 0] >= round(threshold * MILLION):
                article = seeds[int(best[0])].id
                rows.append((article, post.id, int(scores[0, 0]) / MILLION, generation))
        position, generation = end, generation + 1
        bounds.append(position)
    return rows


def kept(rows):
    return [(r["article"], r["post"], r["score"], r["state"]) for r in rows]


def test_the_points_of_settling_depend_on_positions_alone():
    for window in (10, 95, 1000, 20_000, 1_000_000):
        every, points, position = window // 10, [], 0
        while position < 3 * window:
            position = next_settling(position, window)
            points.append(position)
        assert [point for point in points if point >= every] == list(
            range(every, points[-1] + 1, every)
        )
        early = [point for point in points if point < every]
        assert all(point >= 1000 for point in early)
        pairs = zip(early, [*early, every][1:], strict=True)
        assert all(2 * a <= b <= 2 * a + 1 for a, b in pairs)
        for between in range(points[2], points[3]):
            assert next_settling(between, window) == points[3]
            break


def test_rows_are_those_of_a_loop_that_learns_each_window_anew(
    watching, stories, quarters
):
    posts, articles = stories
    one = watching(many=160, window=100)
    rows = one.rows()
    assert kept(rows) == naive(posts[:160], articles[::24], 100, parts=4)
    assert len(rows) > 6
    assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
    assert one.counts["read"] == 160
    assert one.counts["found"] == len(rows)
    assert len({row["state"] for row in rows}) > 3


def test_a_warm_start_teaches_the_first_post(watching, stories):
    posts, articles = stories
    warm, rows = posts[:100], posts[100:140]
    one = watching(rows=rows, warm=warm, window=200)
    assert kept(one.rows()) == naive(rows, articles[::24], 200, warm=warm)
    more = watching(rows=rows, warm=warm, window=75, out="short.jsonl")
    assert kept(more.rows()) == naive(rows, articles[::24], 75, warm=warm)
    assert one.rows() and more.rows()


def test_batches_do_not_matter(watching, tmp_path, quarters):
    watching(many=80, window=60, out="whole.jsonl")
    whole = (tmp_path / "whole.jsonl").read_bytes()
    assert len({json.loads(line)["state"] for line in whole.splitlines()}) > 2
    for number, sizes in enumerate([(80,), (1, 3, 30, 1, 19)]):
        watching(many=80, window=60, sizes=sizes, out=f"other{number}.jsonl")
        assert (tmp_path / f"other{number}.jsonl").read_bytes() == whole


def test_a_post_that_comes_again_within_the_window_is_written_once(
    watching, stories, quarters
):
    posts, articles = stories
    again = [post for start in range(0, 90, 30) for post in (posts[start : start + 40])]
    one = watching(rows=again, sizes=(11,), window=100)
    assert one.counts["duplicates"] == 20
    assert kept(one.rows()) == naive(posts[:100], articles[::24], 100, parts=4)
    # Beyond the window an id is forgotten: memory is bounded.
    more = watching(rows=[*posts[:30], *posts[:5]], window=20, out="more.jsonl")
    assert more.counts["duplicates"] == 0


class Dies(Exception):
    pass


def dying(batches, after):
    for number, batch in enumerate(batches):
        if number == after:
            raise Dies
        yield batch


@pytest.mark.sampled(1)
@pytest.mark.parametrize("commit", [0.0, 1e9])
@pytest.mark.usefixtures("quarters")
def test_what_was_not_committed_is_written_again(
    watching, stories, tmp_path, monkeypatch, commit
):
    from siamese_news.search.watch import watcher

    posts = stories[0][:70]
    watching(rows=posts, window=48, out="whole.jsonl")
    monkeypatch.setattr(watcher, "_COMMIT", commit)
    dice = random.Random(0)
    at = 0
    for _ in range(4):
        sizes = (dice.randint(1, 6),)
        with pytest.raises(Dies):
            watching(
                dying(watching.batches(posts, sizes, at), dice.randint(1, 5)), window=48
            )
        path = tmp_path / "found.jsonl.watch" / "checkpoint.json"
        at = json.loads(path.read_bytes())["cursor"].get("at", 0)
        with (tmp_path / "found.jsonl").open("ab") as stream:
            stream.write(b"half a ro")
    assert at > 0 or commit
    watching(rows=posts, sizes=(13,), window=48)
    assert (tmp_path / "found.jsonl").read_bytes() == (
        tmp_path / "whole.jsonl"
    ).read_bytes()


@pytest.mark.parametrize("first", [10, 30])
def test_the_first_posts_stay_when_a_watch_is_continued(
    watching, stories, tmp_path, first
):
    posts = stories[0][:60]
    watching(rows=posts, out="whole.jsonl")
    watching(rows=posts[:first])
    earlier = (tmp_path / "found.jsonl.watch" / "window" / "000000.jsonl").read_bytes()
    assert earlier
    one = watching(rows=posts)
    again = (tmp_path / "found.jsonl.watch" / "window" / "000000.jsonl").read_bytes()
    assert again.startswith(earlier) and one.counts["read"] == 60
    assert (tmp_path / "found.jsonl").read_bytes() == (
        tmp_path / "whole.jsonl"
    ).read_bytes()


def test_another_watch_is_not_continued(watching, tmp_path):
    watching(many=50)
    for name, there, here in (("window", 250, 200), ("min_score", 0.05, 0.2)):
        said = rf"settings \({name}: {there} there, {here} here\).*another --out"
        with pytest.raises(InputError, match=said):
            watching(many=60, **{name: here})
    (tmp_path / "found.jsonl").write_text("")
    with pytest.raises(
        InputError, match="has 0 bytes, expected at least .* it was changed"
    ):
        watching(many=60)
    (tmp_path / "found.jsonl.watch" / "checkpoint.json").write_text("{")
    with pytest.raises(InputError, match="is damaged"):
        watching(many=60)


def test_an_error_of_the_source_keeps_what_came_before(watching, stories, tmp_path):
    def source():
        yield Batch(stories[0][:60], {"at": 60})
        raise InputError("the source is damaged")

    with pytest.raises(InputError, match="the source is damaged"):
        watching(source())
    saved = json.loads(
        (tmp_path / "found.jsonl.watch" / "checkpoint.json").read_bytes()
    )
    assert saved["cursor"] == {"at": 60}
    assert saved["counts"]["read"] == 60


def test_one_of_a_kind_is_counted_in_the_singular(watching, stories):
    posts = stories[0]
    one = watching(rows=[posts[0], posts[0]])
    assert one.said[-1].startswith("1 post, ") and "; 1 duplicate" in one.said[-1]
    assert "1 duplicates" not in one.said[-1]
    more = watching(rows=[*posts[:3], *posts[:2]], out="more.jsonl")
    assert more.said[-1].startswith("3 posts, ") and "; 2 duplicates" in more.said[-1]
