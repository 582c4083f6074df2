"""What ends the page's server: Ctrl-C, SIGTERM and a closed terminal, each without a traceback."""

import signal
import time

import pytest
from served import Served


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGHUP, 143),
        pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_the_server_with_one_line(tmp_path, number, code):
    served = Served(tmp_path / "project")
    served.ask("/")
    time.sleep(0.5)  # the server waits in its loop
    assert served.end(number) == code, served.said()
    assert "Traceback" not in served.said()
    assert "labels are saved" in served.said()
