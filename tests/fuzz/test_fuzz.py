"""Bytes from strangers: changed samples, and everything that once crashed."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from targets import OF_THE_DESK, TARGETS, seeds
from tests.installed import WITH_DESK

INSTALLED = [name for name in TARGETS if WITH_DESK or name not in OF_THE_DESK]
CRASHERS = [
    path
    for path in sorted((Path(__file__).parent / "crashers").glob("[a-z]*-*"))
    if path.name.partition("-")[0] in INSTALLED
]


@pytest.mark.parametrize("path", CRASHERS, ids=lambda path: path.name)
def test_what_crashed_once_is_refused_or_read(path):
    TARGETS[path.name.partition("-")[0]](path.read_bytes())


@st.composite
def changed(draw, target):
    """A sample with some of its bytes replaced."""
    data = draw(st.sampled_from(seeds(target)))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 12)))
        data = data[:start] + draw(st.binary(max_size=12)) + data[end:]
    return data


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", INSTALLED)
def test_changed_bytes_are_refused_or_read(target):
    @settings(max_examples=40, suppress_health_check=list(HealthCheck))
    @given(changed(target))
    def run(data):
        TARGETS[target](data)

    run()
