"""The loops in C: those of this version are used, any others are not, and a run says which."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from siamese_news.utils import compiled_loops, processor
from siamese_news.utils.compiled_loops import load_loops, loops_used, source_hash
from siamese_news.utils.provenance import provenance

ROOT = Path(__file__).parents[2]
needs_compiler = pytest.mark.skipif(
    shutil.which("gcc") is None, reason="there is no C compiler"
)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "sums.c"
    path.write_text(
        "#include <stdint.h>\nconst uint64_t SOURCE_HASH = HASH_OF_SOURCE;\n"
        "int64_t one(void) { return 1; }\n"
    )
    return path


def build(source, kind=""):
    path = source.with_name(f"{source.stem}{kind}.so")
    macro = f"-DHASH_OF_SOURCE={source_hash(source)}u"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", macro, str(source), "-o", str(path)], check=True
    )


@needs_compiler
def test_loops_of_the_same_source_are_used(source):
    build(source)
    loops, path = load_loops(source)
    assert loops.one() == 1 and path == "sums.so"
    assert "sums: sums.so" in loops_used() and "sums: sums.so" in provenance()["loops"]


@needs_compiler
def test_loops_of_another_source_are_not(source):
    build(source)
    source.write_text(source.read_text() + "\n")
    loops, why = load_loops(source)
    assert loops is None and "sums.so was built from an older source" in why


@needs_compiler
def test_loops_for_another_processor_are_not_looked_at(source, monkeypatch):
    build(source)
    source.with_name("sums_avx512.so").write_bytes(b"no library")
    monkeypatch.setattr(compiled_loops, "processor_flags", lambda: {"avx2", "fma"})
    assert load_loops(source)[1] == "sums.so"
    build(source, "_avx2")
    assert load_loops(source)[1] == "sums_avx2.so"


@pytest.mark.parametrize(
    ("content", "switch", "words"),
    [
        (None, "", "no compiled loops"),
        (None, "0", "SIAMESE_NEWS_COMPILE is 0"),
        (b"no library", "", "sums.so cannot be loaded"),
    ],
)
def test_without_loops_the_reason_is_said(source, monkeypatch, content, switch, words):
    monkeypatch.setenv(compiled_loops.SWITCH, switch)
    if content is not None:
        source.with_name("sums.so").write_bytes(content)
    loops, why = load_loops(source)
    assert loops is None and words in why and words in loops_used()


@needs_compiler
@pytest.mark.parametrize("compiler", ["false", "no-such-compiler"])
def test_a_compiler_that_fails_does_not_stop_the_installation(tmp_path, compiler):
    (tmp_path / "src" / "siamese_news").mkdir(parents=True)
    (tmp_path / "conf").mkdir()
    sources = sorted((ROOT / "src" / "siamese_news").glob("*/*.c"))
    assert len(sources) > 3
    for source in sources:
        copy = tmp_path / source.relative_to(ROOT)
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(source, copy)
    shutil.copy(ROOT / "setup.py", tmp_path)
    command = [sys.executable, "setup.py", "build_ext", "--inplace"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={"CC": compiler, "PATH": "/bin:/usr/bin"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.rglob("*.so"))


@pytest.mark.parametrize(
    ("flags", "device", "warned"),
    [
        ({"avx2", "fma"}, "cpu", True),
        ({"avx2", "avx512_bf16"}, "cpu", False),
        ({"asimd", "bf16"}, "cpu", False),
        ({"avx2"}, "cuda", False),
        (set(), "cpu", False),
    ],
)
def test_a_processor_without_bfloat16_is_named_once(
    monkeypatch, caplog, flags, device, warned
):
    monkeypatch.setattr(processor, "processor_flags", lambda: flags)
    processor.warn_of_slow_bfloat16.cache_clear()
    for _ in range(2):
        processor.warn_of_slow_bfloat16(device)
    assert len(caplog.records) == warned
    processor.warn_of_slow_bfloat16.cache_clear()
