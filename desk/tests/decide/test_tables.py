"""The tables spend what they may and not more, by another program's account."""

import math
import os
import sys
from fractions import Fraction

import numpy as np
import pexpect
import pytest
from scipy.stats import hypergeom
from sheet_commands import scored

from siamese_news_desk.decide.bounds import tables as tables_module
from siamese_news_desk.decide.bounds.tables import Tables, spent_by, turn_of
from siamese_news_desk.decide.plan.design import least_errors

CASES = [
    (size, target, budget)
    for size in (100, 200, 1500)
    for target in (".5", ".8", ".9", ".95", ".99")
    for budget in (50, 300)
]


def crossing(size, errors, bounds):
    """Chance of ever being at or below the bounds: whole numbers, by counting sequences.

    Of all orders of the posts, those with x errors among the first t are equally likely; so it is
    enough to count the sequences that have not crossed before.
    """
    total = math.comb(size, errors)
    paths, crossed = {0: 1}, []
    for look in range(1, len(bounds)):
        nxt = {}
        for x, count in paths.items():
            nxt[x] = nxt.get(x, 0) + count
            if x < errors:
                nxt[x + 1] = nxt.get(x + 1, 0) + count
        rest = size - look
        gone = Fraction(0)
        for x in list(nxt):
            if x <= bounds[look]:
                gone += Fraction(nxt.pop(x) * math.comb(rest, errors - x), total)
        crossed.append(gone)
        paths = nxt
    return crossed


@pytest.mark.parametrize(("size", "target", "budget"), CASES)
def test_crossing_probability_is_within_the_budget_and_uses_it(size, target, budget):
    errors = least_errors(size, Fraction(target))
    looks = min(size, budget)
    turn = turn_of(budget)
    bounds = Tables([size], [errors], error=0.05, turn=turn).bounds(0, looks).tolist()
    sums = np.cumsum([float(p) for p in crossing(size, errors, bounds)])
    allowed = spent_by(np.arange(1, looks + 1), size, 0.05, turn)
    assert (sums <= allowed + 1e-12).all()
    assert sums[-1] <= 0.05
    # One error more at any look would spend more than it may there.
    exact = [Fraction(0), *crossing(size, errors, bounds)]
    for look in sorted({1, looks // 4, looks // 2, looks}):
        if look and bounds[look] + 1 < errors:
            raised = [*bounds[:look], bounds[look] + 1]
            again = sum(crossing(size, errors, raised))
            assert float(again) > allowed[look - 1]
    assert sum(exact) == sum(crossing(size, errors, bounds))


@pytest.mark.parametrize(
    ("size", "target"), [(1500, ".9"), (4000, ".8"), (20000, ".95")]
)
def test_what_may_be_spent_is_nearly_spent(size, target):
    errors = least_errors(size, Fraction(target))
    bounds = Tables([size], [errors], error=0.05, turn=225).bounds(0, 300).tolist()
    spent = float(sum(crossing(size, errors, bounds)))
    allowed = spent_by(np.array([300]), size, 0.05, 225)[0]
    assert allowed - 0.006 < spent <= allowed


def test_the_published_examples():
    """Numbers of labels after which 0, 1, 2, ... errors are few enough (budget 300)."""
    for size, target, expected in (
        (1500, ".95", [78, 118, 148, 176, 202, 227, 286]),
        (200, ".95", [62, 90, 112, 130, 147]),
        (4000, ".8", [24, 35, 44, 52, 59]),
    ):
        errors = least_errors(size, Fraction(target))
        bounds = Tables([size], [errors], error=0.05, turn=turn_of(300)).bounds(0, 300)
        assert [int(np.argmax(bounds >= x)) for x in range(len(expected))] == expected


def test_ten_million_posts_against_scipy():
    """No underflow: the first look is a hypergeometric tail, and the sum is a probability."""
    size, errors = 10_000_000, least_errors(10_000_000, Fraction(".5"))
    bounds = Tables([size], [errors], error=0.05, turn=2250).bounds(0, 3000)
    first = int(np.argmax(bounds >= 0))
    allowed = spent_by(np.arange(1, 3001), size, 0.05, 2250)
    assert hypergeom.cdf(0, size, errors, first) <= allowed[first - 1]
    assert hypergeom.cdf(0, size, errors, first - 1) > allowed[first - 2]
    # Being at or below the table at one look is no likelier than ever having been so.
    for look in (100, 1000, 3000):
        assert hypergeom.cdf(bounds[look], size, errors, look) <= allowed[look - 1]
    assert bounds[3000] > 1350  # and not far below the median, 1500


def test_a_wholly_labeled_set_is_certified_by_what_is_known():
    for size, target in ((100, ".9"), (200, ".55"), (37, ".8")):
        errors = least_errors(size, Fraction(target))
        bounds = Tables([size], [errors], error=0.05, turn=225).bounds(0, size)
        assert bounds[size] == errors - 1
        assert (np.diff(bounds) >= 0).all()


def test_a_longer_table_begins_like_a_shorter_one():
    sizes = [200, 220, 5000]
    nulls = [least_errors(n, Fraction(".9")) for n in sizes]
    short = Tables(sizes, nulls, error=0.05, turn=225)
    long = Tables(sizes, nulls, error=0.05, turn=225)
    for number in range(3):
        assert (
            short.bounds(number, 100) == long.bounds(number, 150 + 100 * number)[:101]
        ).all()


def test_one_table_does_not_depend_on_its_neighbors():
    sizes = list(range(200, 3000, 20))
    nulls = [least_errors(n, Fraction(".9")) for n in sizes]
    many = Tables(sizes, nulls, error=0.05, turn=225)
    for number in (0, 63, 64, 139):
        alone = Tables([sizes[number]], [nulls[number]], error=0.05, turn=225)
        assert (many.bounds(number, 300) == alone.bounds(0, 300)).all()


@pytest.mark.parametrize("target", [".5", ".8", ".95"])
def test_no_table_is_above_its_ceiling(target):
    sizes = [37, 100, 1500, 20_000]
    nulls = [least_errors(n, Fraction(target)) for n in sizes]
    for error in (0.05, 0.5):
        tables = Tables(sizes, nulls, error=error, turn=225)
        for number, size in enumerate(sizes):
            labels = min(size, 1200)
            assert (
                tables.bounds(number, labels) <= tables.ceiling(number, labels)
            ).all()


def test_far_beyond_the_budget_a_table_is_the_same():
    sizes = [200, 5000, 5100]
    nulls = [least_errors(n, Fraction(".9")) for n in sizes]
    tables = Tables(sizes, nulls, error=0.05, turn=75)
    near = tables.bounds(1, 225)
    assert (tables.bounds(1, 2000)[:226] == near).all()
    wide = Tables(sizes, nulls, error=0.05, turn=75)
    assert (tables.bounds(1, 2000)[:101] == wide.bounds(1, 100)).all()


@pytest.mark.slow
def test_tables_that_take_long_are_computed_under_a_progress_bar(tmp_path):
    scored(tmp_path / "scored.jsonl", size=12_000, cut=6000)
    files = ["--results", "scored.jsonl", "--out", "sheet.csv"]
    child = pexpect.spawn(
        sys.executable,
        [
            "-m",
            "siamese_news",
            "sample",
            *files,
            "--precision",
            ".9",
            "--budget",
            "8000",
        ],
        cwd=str(tmp_path),
        env={**os.environ, "SIAMESE_NEWS_CACHE": str(tmp_path)},
        encoding="utf-8",
        timeout=60,
    )
    child.expect("computing exact tables")
    child.expect("sheet.csv: 25 posts to label of 12,000")
    child.expect(pexpect.EOF)


def test_tables_that_take_long_are_kept_by_what_they_are_made_of(tmp_path, monkeypatch):
    monkeypatch.setenv("SIAMESE_NEWS_CACHE", str(tmp_path))
    monkeypatch.setattr(tables_module, "_LONG", 0)
    told = []

    def made(null=60):
        known = {
            "error": 0.05,
            "turn": 75,
            "with_progress": lambda looks: told.append(1) or looks,
        }
        return Tables([100, 400], [20, null], **known).bounds(1, 90).tolist()

    first = made()
    assert first == made() and len(told) == 1
    assert first != made(80) and len(told) == 2
    for path in (tmp_path / "tables").iterdir():
        path.write_bytes(path.read_bytes()[:100])
    assert first == made() and len(told) == 3
