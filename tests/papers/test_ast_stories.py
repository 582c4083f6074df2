"""The whole paper on the bundled stories, as a user without any data runs it."""

import os
import subprocess
import sys

import pytest
from papers import Setting, choose


@pytest.mark.slow
def test_the_whole_paper_on_the_bundled_stories(tmp_path):
    command = [sys.executable, "-m", "papers", "paper=ast", "fresh=true"]
    command += [f"made={tmp_path / 'made'}"]
    command += [f"hydra.run.dir={tmp_path / 'out'}"]
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith("SIAMESE_NEWS_")
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "runs are missing" in done.stdout + done.stderr
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    exhibits = choose("ast")
    with_runs = [
        exhibit for exhibit in exhibits if exhibit.jobs(Setting("stories", (0,)))
    ]
    assert page.count("Made on the bundled stories") == len(with_runs)
    assert "Missing:" not in page
    for exhibit in exhibits:
        if exhibit.key == "authors":  # of the shared data alone
            continue
        assert list((tmp_path / "out").glob(f"{exhibit.name}*.csv")), exhibit.name
    # What is there is not run again.
    again = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (
        again.returncode == 0 and "runs are missing" not in again.stdout + again.stderr
    )
