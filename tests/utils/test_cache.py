"""What lies in the cache is used only if nobody else can have put it there, and if it is whole."""

import ctypes
import hashlib
import os
import shutil
import stat

import numpy as np
import pytest

from siamese_news.attention import compiled
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
needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("gcc", "clang", "cc"))), reason="there is no C compiler"
)
needs_root = pytest.mark.skipif(
    os.name == "posix" and os.getuid() != 0,
    reason="only root can give a file to somebody else",
)
NOBODY = 65534


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("SIAMESE_NEWS_CACHE", str(tmp_path / "cache"))
    cache._warn.cache_clear()
    return tmp_path / "cache"


@pytest.fixture
def short(tmp_path, monkeypatch):
    """A source that compiles at once."""
    source = tmp_path / "loops.c"
    source.write_text("int forward(void) { return 0; }\n")
    monkeypatch.setattr(compiled, "SOURCE", source)


def load_library():
    """The compiled loops as a new process would load them, and how."""
    return compiled.library.__wrapped__()


def loops(root):
    (path,) = (root / "compiled").glob("*.so")
    return path


@needs_compiler
@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("damage", ["half", "empty", "one byte", "no checksum"])
def test_a_damaged_loop_is_compiled_again(root, damage):
    assert isinstance(load_library()[0], ctypes.CDLL)
    path = loops(root)
    whole = path.read_bytes()
    if damage == "no checksum":
        path.with_suffix(".sha256").unlink()
    else:
        changed = whole[:-1] + bytes([whole[-1] ^ 1])
        path.unlink()  # not changed in place, because this process has loaded it
        path.write_bytes(
            {"half": whole[: len(whole) // 2], "empty": b""}.get(damage, changed)
        )
    library, how = load_library()
    assert isinstance(library, ctypes.CDLL), how
    assert path.read_bytes() == whole
    assert path.with_suffix(".sha256").exists()


@needs_compiler
@pytest.mark.usefixtures("short")
def test_a_loop_that_others_could_write_is_compiled_again(root):
    load_library()
    path = loops(root)
    path.chmod(0o666)
    before = path.stat().st_ino
    assert isinstance(load_library()[0], ctypes.CDLL)
    assert path.stat().st_ino != before
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@needs_compiler
@pytest.mark.usefixtures("short")
@needs_root
def test_a_loop_of_somebody_else_never_runs(root):
    load_library()
    path = loops(root)
    path.unlink()  # a loaded library that changes in place ends the process with a bus error
    path.write_bytes(b"planted")
    path.with_suffix(".sha256").write_text(hashlib.sha256(b"planted").hexdigest())
    os.chown(path, NOBODY, NOBODY)
    assert isinstance(load_library()[0], ctypes.CDLL)
    assert path.stat().st_uid == 0
    for folder in (path.parent, root):
        os.chown(folder, NOBODY, NOBODY)
        library, how = load_library()
        assert library is None
        assert "is not a folder that only this user can write to" in how


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
