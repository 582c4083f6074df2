import pytest
from hypothesis import given
from hypothesis import strategies as st

from siamese_news.data.readers import open_posts
from siamese_news.data.readers.values import LOST, UNREAD, iso_date, put
from siamese_news.errors import InputError


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2018-10-10T20:19:24Z", "2018-10-10T20:19:24Z"),
        ("2018-10-10T20:19:24.000Z", "2018-10-10T20:19:24Z"),
        ("2018-10-10T20:19:24.123456+02:00", "2018-10-10T18:19:24Z"),
        ("2018-10-10 20:19:24", "2018-10-10T20:19:24Z"),
        ("2018-10-10 20:19:24 UTC", "2018-10-10T20:19:24Z"),
        ("2018-10-10", "2018-10-10T00:00:00Z"),
        ("20181010", "2018-10-10T00:00:00Z"),
        ("20181010201924", "2018-10-10T20:19:24Z"),
        (20181010, "2018-10-10T00:00:00Z"),
        (20181010201924, "2018-10-10T20:19:24Z"),
        ("Wed Oct 10 20:19:24 +0000 2018", "2018-10-10T20:19:24Z"),
        ("Wed, 10 Oct 2018 20:19:24 GMT", "2018-10-10T20:19:24Z"),
        (1539202764, "2018-10-10T20:19:24Z"),
        ("1539202764", "2018-10-10T20:19:24Z"),
        ("1539202764.0", "2018-10-10T20:19:24Z"),
        (1539202764123, "2018-10-10T20:19:24Z"),
        (1539202764123456, "2018-10-10T20:19:24Z"),
        (-86400, None),  # -1, 0 and the like are no dates of posts
        (0, None),
        ("2014", "2014-01-01T00:00:00Z"),
        (2014, "2014-01-01T00:00:00Z"),
        ("0999", None),
        ("0.0", None),
        (46346.4375, "2026-11-20T10:30:00Z"),  # Excel
        ("46346.4375", "2026-11-20T10:30:00Z"),
        ("46346,4375", "2026-11-20T10:30:00Z"),
        ("43383.8449537037", "2018-10-10T20:16:44Z"),
        (43383, "2018-10-10T00:00:00Z"),
        (636747995640000000, "2018-10-10T20:19:24Z"),  # .NET
        (131836763640000000, "2018-10-10T20:19:24Z"),  # Windows
        (13183676364000000, "2018-10-10T20:19:24Z"),  # Chrome
        (1539202764123456789, "2018-10-10T20:19:24Z"),
        (201810102019, "2018-10-10T20:19:00Z"),
        (2**63 - 1, None),
        (253402300799, None),  # 9999, as seconds
        (
            "10 Oct 18 20:19:24 GMT",
            "2018-10-10T20:19:24Z",
        ),  # e-mail's years of two digits
        ("10/11/18", None),
        ("18-10-10", None),
        ("10/11/2018", None),
        ("10-Nov-2018 08:19PM", "2018-11-10T20:19:00Z"),
        ("10-Nov-2018 28:19PM", None),
        ("2018-13-45T20:19:24Z", None),
        ("2018-10-10T20:19:2xZ", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("yesterday", None),
        ("13/11/2026", "2026-11-13T00:00:00Z"),
        ("11/13/2026 2:03 PM", "2026-11-13T14:03:00Z"),
        ("12:05 AM, 11/13/2026", "2026-11-13T00:05:00Z"),
        ("20.11.26 14:05", "2026-11-20T14:05:00Z"),
        ("17-May-20 02:21 PM", "2020-05-17T14:21:00Z"),
        ("Dec 3, 2026, 7:08 a.m.", "2026-12-03T07:08:00Z"),
        ("3. Dezember 2026 um 07:08 Uhr", "2026-12-03T07:08:00Z"),
        ("jeudi 3 décembre 2026 à 7h08", "2026-12-03T07:08:00Z"),
        ("3 de diciembre de 2026", "2026-12-03T00:00:00Z"),
        ("3 декабря 2026 г., 07:08", "2026-12-03T07:08:00Z"),
        ("2026年12月3日 7時08分", "2026-12-03T07:08:00Z"),
        ("2026년 12월 3일", "2026-12-03T00:00:00Z"),
        ("٢٣/١٢/٢٠٢٦", "2026-12-23T00:00:00Z"),
        ("23/12/2026 às 07:08", "2026-12-23T07:08:00Z"),
        ("23 Dec 2026 07:08 -0500", "2026-12-23T12:08:00Z"),
        ("23 Dec 2026 07:08 EST", "2026-12-23T12:08:00Z"),
        ("23 Dec 2026 07:08 IST", None),  # of India, Israel or Ireland
        ("Wed Dec 23 07:08:00 CST 2026", None),  # of China or Chicago
        ("23 ธ.ค. 69 07:08", "2026-12-23T07:08:00Z"),
        ("4 มีนาคม 50", "2007-03-04T00:00:00Z"),
        ("4 มีนาคม 2026", "2026-03-04T00:00:00Z"),
        ("9 มี.ค. 07", None),  # 1964 or 2007
        ("31/02/2026", None),
        ("3 listopad 2026", None),  # October in Croatian, November in Polish
        ("5 people of 20", None),
        ("", None),
        (True, None),
        (float("nan"), None),
        ([1], None),
    ],
)
def test_every_shape_becomes_one(value, expected):
    assert iso_date(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        *("1970-01-01T00:00:00Z", "1970-01-01", 0, "0", "1969-12-31T19:00:00-05:00"),
        *(
            "0001-01-01T00:00:00Z",
            "1601-01-01",
            "1899-12-30",
            "1900-01-01",
            "1904-01-01",
        ),
        *("30/02/2026", "2026-04-31 10:00", "2026.13.45", "2026-09-24 25:61"),
        *(
            "2026/02/31",
            "31 February 2026",
            "2026-02-31T10:00:00Z",
            "45/99/2026",
            "31.6. 2026",
        ),
        *(
            "30 февраля 2026",
            "Feb 30, 2026, 2:05 PM",
            "24/09/2026 24:30",
            "24/09/2026 10:75",
        ),
        *("9999-12-31T23:59:59Z", "2199-01-01T00:00:00Z", "2098-05-05", 2**63 - 1, -1),
    ],
)
def test_a_date_that_means_none_is_left_out_and_counted(value):
    metadata = {}
    put(metadata, "created_at", value)
    assert metadata == {LOST: ["created_at"]}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("13-11-2026", "2026-11-13T00:00:00Z"),  # the year is not an offset
        ("Nov 20, 2026, 2:05:07\u202fPM", "2026-11-20T14:05:07Z"),
        ("2026/11/20 2:05 PM", "2026-11-20T14:05:00Z"),
        ("2026.11.20. 14:05", "2026-11-20T14:05:00Z"),
        (
            "Fri Nov 20 2026 14:05:07 GMT+0100 (Central European Standard Time)",
            "2026-11-20T13:05:07Z",
        ),
        ("2026年11月20日 午後2時5分", "2026-11-20T14:05:00Z"),
        ("2026년 11월 20일 오전 12:05", "2026-11-20T00:05:00Z"),
        ("๒๐ พฤศจิกายน ๒๕๖๙", "2026-11-20T00:00:00Z"),  # of the Buddhist era
        ("9 tháng 4 năm 2026 08:15", "2026-04-09T08:15:00Z"),
        ("30 Thg 12, 2026", "2026-12-30T00:00:00Z"),
        ("3 \u05d1\u05d3\u05e6\u05de\u05d1\u05e8 2026", "2026-12-03T00:00:00Z"),
        ("7 Listopada 2026, 09:30", "2026-11-07T09:30:00Z"),  # Polish
        ("7. listopada 2026.", "2026-10-07T00:00:00Z"),  # Croatian
        # Halves of the day, as spreadsheets of several countries write them.
        ("24/9/2026 3:40:10 p. m.", "2026-09-24T15:40:10Z"),
        ("24/09/2026 12:40:10 a. m.", "2026-09-24T00:40:10Z"),
        ("24/09/2026 03:40 م", "2026-09-24T15:40:00Z"),
        ("24 Σεπτεμβρίου 2026, 3:40 μ.μ.", "2026-09-24T15:40:00Z"),
        ("24.09.2026 ÖS 3:40", "2026-09-24T15:40:00Z"),
        ("24/09/2026 3:40 CH", "2026-09-24T15:40:00Z"),
        ("2026-09-24 PM 3:40", "2026-09-24T15:40:00Z"),
        ("3:40 de 24 septiembre 2026", "2026-09-24T03:40:00Z"),  # no Hungarian morning
        ("२४ मार्च २०२६", "2026-03-24T00:00:00Z"),
        ("24 ก.ย. 2569", "2026-09-24T00:00:00Z"),
        ("24. syyskuuta 2026 klo 15.40", "2026-09-24T15:40:00Z"),
        ("4. okt. 2026 21.07.30", "2026-10-04T21:07:30Z"),
        ("24.09.2026, 15.40", "2026-09-24T15:40:00Z"),
        ("2026. 10. 04. du. 3:25", "2026-10-04T15:25:00Z"),
        ("03/10 du 2026 2:05", None),
        ("24 sept. 2026 à 15 h 40", "2026-09-24T15:40:00Z"),
        ("24 Maret 2026 pukul 15.40 WIB", "2026-03-24T08:40:00Z"),
        ("mar. 8 sept. 2026", "2026-09-08T00:00:00Z"),  # a Tuesday, not March
        ("2026-11-20 25:61", None),
        ("2026/11/20 28:05", None),
        # Of languages that few of us read.
        ("24/09/2026 3:40 ਬਾ.ਦੁ.", "2026-09-24T15:40:00Z"),
        ("24/09/2026 ጥዋት 12:40", "2026-09-24T00:40:00Z"),
        ("24/09/2026 3:40 т.к.", "2026-09-24T15:40:00Z"),
        ("24/09/2026 3:40 e.m.", "2026-09-24T15:40:00Z"),
        ("24 september 2026 kl. 3:40 em", "2026-09-24T15:40:00Z"),
        ("\u200f24/09/2026 3:40 م", "2026-09-24T15:40:00Z"),
        ("24/09/2026 3:40 de la tarde", "2026-09-24T15:40:00Z"),
        ("24 сентября 2026 г., 3:40 дня", "2026-09-24T15:40:00Z"),
        ("24/09/2026 a las 12:40", "2026-09-24T12:40:00Z"),
        ("24/09/2026 3p.m.", "2026-09-24T15:00:00Z"),
        ("24.09.2026 15 Uhr", "2026-09-24T15:00:00Z"),
        ("24.09.98 15:40", "1998-09-24T15:40:00Z"),
        # Zones, and the end of a day.
        ("24/09/2026 15:40 GMT-3", "2026-09-24T18:40:00Z"),
        ("24/09/2026 15:40 (UTC+05:30)", "2026-09-24T10:10:00Z"),
        ("2026-09-24 3:40 PM EST", "2026-09-24T20:40:00Z"),
        ("Thu Sep 24 15:40:00 EST 2026", "2026-09-24T20:40:00Z"),
        ("24/09/2026 24:00", "2026-09-25T00:00:00Z"),
        ("24/09/2026 15:40:07,123", "2026-09-24T15:40:07Z"),
        # Months as regions, months of two words, and a letter in front of a name.
        ("24 juill. 2026 à 15 h 40", "2026-07-24T15:40:00Z"),
        ("24. Jän. 2026", "2026-01-24T00:00:00Z"),
        ("24 كانون الأول 2026", "2026-12-24T00:00:00Z"),
        ("24 كانون الثاني 2026, 3:40 م", "2026-01-24T15:40:00Z"),
        ("24 دجنبر 2026", "2026-12-24T00:00:00Z"),
        ("24 באוק׳ 2026, 15:40", "2026-10-24T15:40:00Z"),
        ("24 tháng mười một 2026", "2026-11-24T00:00:00Z"),
        ("24 Disyembre 2026", "2026-12-24T00:00:00Z"),
        ("24 ሴፕቴምበር 2026", "2026-09-24T00:00:00Z"),
        # A word that could move the time.
        ("24/09/2026 3:40 foo", None),
        ("24/09/2026 foo 3:40", None),
        ("24/09/2026 3:40 noche", None),
        ("24/09/2026 15:40 мск", None),
        ("24/09/2026 15:40 Eastern Time", None),
        ("24/09/2026 15:40 AM", None),
        ("3:40 em 24/09/2026", None),  # Portuguese for on, or a Swedish afternoon
        ("24.09.2026 Sa 12:40", None),  # a Saturday, or a Vietnamese morning
        (
            "24/09/2026 Mo 3:40",
            "2026-09-24T03:40:00Z",
        ),  # a Monday, no afternoon of Gusii
        ("24/09/2026 1540", None),
    ],
)
def test_dates_as_programs_of_several_languages_write_them(value, expected):
    assert iso_date(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        *(
            "some day",
            "10/11/2018",
            "2026-11",
            "24/09/2026 3:40 foo",
            "9999-12-31 24:00",
        ),
        *({"seconds": 1726000000}, [2026, 9, 24]),
        *("1405/07/02", "1448-04-12", "2569-09-24"),  # years of Iran, Islam, Buddhism
    ],
)
def test_a_date_that_is_not_understood_is_counted_apart(value):
    metadata = {}
    put(metadata, "created_at", value)
    assert metadata == {LOST: [UNREAD]}


def rows_of(folder, dates, **options):
    lines = "".join(f'{n},a flood,"{date}"\n' for n, date in enumerate(dates))
    (folder / "p.csv").write_text(f"id,text,date\n{lines}")
    stream = open_posts(folder / "p.csv", **options)
    days = [post.metadata.get("created_at", "")[:10] for post in stream]
    return days, stream


@pytest.mark.parametrize("late", [False, True])
def test_the_whole_column_decides_which_number_is_the_day(tmp_path, late):
    """Though the first hundred rows tell nothing."""
    many = ["05/06/2026 10:00"] * (150 if late else 1)
    days, _ = rows_of(tmp_path, [*many, "25/06/2026", "6/7/26"])
    assert days == ["2026-06-05"] * len(many) + ["2026-06-25", "2026-07-06"]
    days, stream = rows_of(tmp_path, [*many, "06/25/2026"])
    assert days == ["2026-05-06"] * len(many) + ["2026-06-25"]
    assert not stream.detected[0].remarks


def test_a_column_of_times_next_to_days_is_named(tmp_path):
    for day, remarks in (("24/09/2026", 1), ("24/09/2026 15:40", 0)):
        (tmp_path / "p.csv").write_text(f"id,text,date,time\n1,a flood,{day},15:40\n")
        found = open_posts(tmp_path / "p.csv").detected[0].remarks
        assert len(found) == remarks and all(
            "'time' is not used" in line for line in found
        )


def test_days_that_nothing_tells_are_asked_for(tmp_path):
    dates = ["05/06/2026", "07/08/2026"]
    days, stream = rows_of(tmp_path, dates)
    assert days == ["", ""]
    assert "2 dates not understood (--date-format" in str(stream.counts)
    assert "--date-format dmy, mdy or ymd" in stream.detected[0].remarks[0]
    assert rows_of(tmp_path, dates, date_format="mdy")[0] == [
        "2026-05-06",
        "2026-07-08",
    ]
    assert rows_of(tmp_path, dates, date_format="%d/%m/%Y")[0][0] == "2026-06-05"
    assert rows_of(tmp_path, ["26-06-05"], date_format="ymd")[0] == ["2026-06-05"]
    with pytest.raises(InputError, match="--date-format dd.mm: expected dmy"):
        rows_of(tmp_path, dates, date_format="dd.mm")


@pytest.mark.parametrize("sign", "/.-")
@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("24/09/19 24/09/03 24/07/08", "2024-09-19 2024-09-03 2024-07-08"),
        ("24/09/28 24/09/30", "2024-09-28 2024-09-30"),  # no year is to come
        ("19/09/24 03/09/24 08/07/24", "2024-09-19 2024-09-03 2024-07-08"),
        ("31/12/98", "1998-12-31"),
        ("19/09/24 30/09/24 00/00/00", "2024-09-19 2024-09-30 "),
        ("24/09/19", ""),  # a year or a day in front
        ("19/09/24 20/10/23", " "),
        ("18/02/20 19/03/21 20/04/22 21/05/23", "   "),
    ],
)
@pytest.mark.parametrize("many", [1, 120])
def test_the_column_tells_whether_a_short_year_is_in_front(
    tmp_path, column, expected, sign, many
):
    dates = [f"{day.replace('/', sign)} 10:00" for day in column.split()]
    days, stream = rows_of(tmp_path, [*dates[:1] * many, *dates[1:]])
    assert days[many - 1 :] == expected.split(" ")
    unread = [remark for remark in stream.detected[0].remarks if "ymd" in remark]
    assert len(unread) == (not expected.strip())
    assert expected.strip() or "not understood" in str(stream.counts)


def test_a_month_in_front_of_short_years_is_told(tmp_path):
    assert rows_of(tmp_path, ["9/19/24", "9/3/24"])[0] == ["2024-09-19", "2024-09-03"]


@pytest.mark.parametrize("before", [0, 150])
def test_columns_with_both_orders_decide_nothing_and_say_so(tmp_path, before):
    dates = ["03/04/2026"] * before + ["25/06/2026", "06/25/2026", "01/02/2026"]
    days, stream = rows_of(tmp_path, dates)
    assert days == [""] * before + ["2026-06-25", "2026-06-25", ""]
    (remark,) = stream.detected[0].remarks
    assert "'date': the day comes first in some dates" in remark


@pytest.mark.parametrize("value", ["", None, "nan", "NaT", "None", float("nan")])
def test_no_date_is_not_lost(value):
    metadata = {}
    put(metadata, "created_at", value)
    assert not metadata


@given(st.datetimes(timezones=st.timezones()))
def test_a_moment_with_a_zone_is_the_same_moment_in_utc(moment):
    from datetime import UTC, datetime

    try:
        expected = moment.astimezone(UTC).replace(microsecond=0)
        written = moment.isoformat()
        datetime.fromisoformat(written)
    except (OverflowError, ValueError):
        return
    if (
        datetime.fromisoformat(written).astimezone(UTC).replace(microsecond=0)
        != expected
    ):
        return  # an ambiguous hour, or an offset with fractions of a second
    assert iso_date(written) == expected.replace(tzinfo=None).isoformat() + "Z"


@given(st.text() | st.floats() | st.integers() | st.none() | st.binary())
def test_whatever_comes_is_a_date_or_none(value):
    result = iso_date(value)
    assert result is None or (
        len(result) == 20 and result[10] == "T" and result[-1] == "Z"
    )


def test_every_half_of_the_day_of_dateparser_is_known():
    """In each of our languages, with its points and blanks, behind a time."""
    from siamese_news.data.readers.dates import _LANGUAGES, _names_in

    for language in _LANGUAGES:
        for half, hour in (("am", "03"), ("pm", "15")):
            for name in _names_in(language, half):
                assert (
                    iso_date(f"24/09/2026 3:40 {name}") == f"2026-09-24T{hour}:40:00Z"
                )


@given(st.text(st.characters(categories=["L", "M"]), min_size=1, max_size=8))
def test_an_unknown_word_never_leaves_a_time_in_the_morning(word):
    from siamese_news.data.readers.dates import _halves, _known_words, _words

    if {*_words(word)} & ({*_halves()} | _known_words()):
        return
    if _words(word):
        assert iso_date(f"24/09/2026 3:40 {word}") is None
        assert iso_date(f"24/09/2026 {word} 3:40") is None
