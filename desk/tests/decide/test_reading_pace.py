"""The curve of relevant posts found against posts read."""

from siamese_news.search.report.charts import curve_chart
from siamese_news_desk.decide.reading_pace import found_against_read, pace_sentence
from siamese_news_desk.labels.journal import LabelJournal


def test_posts_count_once_in_the_order_in_which_they_were_read(tmp_path):
    log = LabelJournal(tmp_path / "labels.jsonl")
    assert found_against_read(log) == [(0, 0)]
    log.add("a", "yes", "ana", copies=("a2", "a3"))  # nobody read these two
    log.add("b", "no", "ana")
    log.add("c", "yes", "ana")
    log.add("a", "yes", "ben")
    log.add("c", "no", "ben")  # the two of them disagree: not relevant so far
    log.add("d", "skip", "ben")
    assert found_against_read(log) == [(0, 0), (1, 1), (2, 1), (3, 1), (4, 1)]
    log.add("b", "yes", "ana")
    log.undo("ben")
    assert found_against_read(log) == [(0, 0), (1, 1), (2, 2), (3, 2)]
    assert pace_sentence(found_against_read(log)) == "3 posts read, 2 relevant."
    log.add("a2", "yes", "ben")
    assert found_against_read(log)[-1] == (4, 3)


def test_the_pace_is_that_of_the_last_posts():
    points = [(read, min(read, 30)) for read in range(71)]
    words = "70 posts read, 30 relevant. Of the last 50, 10 are relevant."
    assert pace_sentence(points) == words


def test_a_curve_of_many_points_ends_where_they_end():
    chart = curve_chart([(read, read // 3) for read in range(10_001)])
    even, curve = (
        [tuple(map(float, place.split(","))) for place in line.split()]
        for line in chart.curves
    )
    assert len(curve) <= 301 and curve[0] == even[0] == (chart.x_min, chart.bottom)
    assert curve[-1][0] == chart.x_max and curve[-1][1] == even[-1][1] > chart.top
    assert curve == sorted(curve) and [y for _, y in curve] == sorted(
        (y for _, y in curve), reverse=True
    )
    assert chart.rows[-1] == ("10,000", 3333) and len(chart.rows) <= 13
    assert [tick.label for tick in curve_chart([(0, 0), (1, 0)]).x_ticks] == ["0", "1"]
