"""A folder with unfinished training goes on with its own configuration alone."""

import pytest

from siamese_news import InputError
from siamese_news.training.job import claim


def test_values_that_may_differ_may_be_lists(tmp_path):
    config = {"resume": "last", "callbacks": ["a"], "task": {"rates": [1, 2]}}
    claim(config, tmp_path, continues=True)
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "last.ckpt").touch()
    claim(config | {"callbacks": ["b"]}, tmp_path, continues=True)
    with pytest.raises(
        InputError, match=r"task\.rates \(\[1, 2\] there, \[1, 3\] here"
    ):
        claim(config | {"task": {"rates": [1, 3]}}, tmp_path, continues=True)
