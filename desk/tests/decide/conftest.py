"""Makes the helpers of this folder importable, and tables of sizes that come again."""

import sys
from pathlib import Path

import pytest

from siamese_news_desk.decide import answers
from siamese_news_desk.decide.bounds import tables

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session", autouse=True)
def tables_once():
    """Tables are computed once for all tests: most of them plan for the same numbers of posts."""
    compute, computed = tables._computed, {}

    def found(sizes, nulls, *numbers):
        key = (sizes.tobytes(), nulls.tobytes(), *numbers)
        if key not in computed:
            computed[key] = compute(sizes, nulls, *numbers)
            computed[key].flags.writeable = False
        return computed[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "_computed", found)
        yield


@pytest.fixture(scope="module", autouse=True)
def few_points(request):
    """A certificate shows the way to its list at 3 numbers of labels, each with all claims anew.

    It is whole in the tests of what it says, and where other processes read it.
    """
    with pytest.MonkeyPatch.context() as patch:
        if request.path.stem not in ("test_answers", "test_sealed", "test_walk"):
            patch.setattr(answers, "_POINTS", 3)
        yield
