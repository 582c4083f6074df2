"""What lies in the cache is used only if nobody else can have put it there, and if it is whole."""

import os
import stat

import numpy as np
import pytest

from siamese_news.utils import cache
from siamese_news.utils.cache import (
    is_trusted,
    load_arrays,
    private_folder,
    save_arrays,
)

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="owners and modes are those of POSIX"
)


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("SIAMESE_NEWS_CACHE", str(tmp_path / "cache"))
    cache._warn.cache_clear()
    return tmp_path / "cache"


def test_folders_are_private_and_those_of_others_are_not_used(
    root, monkeypatch, caplog
):
    folder = private_folder("tables")
    assert folder == root / "tables"
    assert (
        stat.S_IMODE(root.stat().st_mode)
        == stat.S_IMODE(folder.stat().st_mode)
        == 0o700
    )
    folder.chmod(0o777)
    assert private_folder("tables") == folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    monkeypatch.setattr(os, "getuid", lambda: 4711)
    monkeypatch.setattr(cache, "_is_ours", lambda status: status.st_uid == 4711)
    assert private_folder("tables") is None
    assert "belongs to another user" in caplog.text


def test_arrays_that_are_damaged_or_open_to_others_are_made_again(root):
    path = private_folder("tables") / "x.npz"
    save_arrays(path, numbers=np.arange(1000))
    assert (load_arrays(path)["numbers"] == np.arange(1000)).all()
    whole = path.read_bytes()
    for place in (300, 4000):  # a number, in the middle of the array
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 8]) + whole[place + 1 :])
        assert load_arrays(path) is None
    path.write_bytes(whole)
    path.chmod(0o622)
    assert load_arrays(path) is None
    path.chmod(0o600)
    link = path.with_name("link.npz")
    link.symlink_to(path)
    assert load_arrays(link) is None and not is_trusted(link)
