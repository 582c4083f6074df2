"""The wheel holds everything and works from another folder."""

import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_every_package_folder_is_listed():
    import tomllib

    listed = set(
        tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    )
    found = {
        ".".join(path.parent.relative_to(ROOT / "src").parts)
        for path in (ROOT / "src").rglob("__init__.py")
    }
    assert found | {"siamese_news.conf"} == listed


@pytest.mark.slow
def test_a_wheel_trains_from_another_folder(tmp_path):
    """Built, installed into a target folder, run from a third."""
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path / "dist", ROOT],
        check=True,
        capture_output=True,
    )
    wheel = next((tmp_path / "dist").glob("*.whl"))
    names = zipfile.ZipFile(wheel).namelist()
    for part in ("conf", "src/siamese_news"):
        for path in (ROOT / part).rglob("*"):
            if path.suffix in (".py", ".yaml", ".jsonl", ".tsv") and "egg-info" not in str(path):
                relative = path.relative_to(ROOT / part).as_posix()
                inside = f"siamese_news/{'conf/' if part == 'conf' else ''}{relative}"
                assert inside in names, inside
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / "bin" / "python"
    install = [python, "-m", "pip", "install", "-q", "--no-deps", wheel]
    subprocess.run(install, check=True, capture_output=True)
    # The package of the wheel, the dependencies of this environment behind it.
    (own,) = environment.glob("lib/python*/site-packages")
    (own / "dependencies.pth").write_text("\n".join(site.getsitepackages()))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def run(*arguments):
        return subprocess.run(
            [python, *arguments], cwd=elsewhere, check=True, capture_output=True, text=True
        ).stdout

    assert str(own) in run("-c", "import siamese_news; print(siamese_news.__file__)")
    run(
        "-m", "siamese_news.train", "encoder=bag", "task.bootstrap=10", "vectors.max_words=5000"
    )  # fmt: skip
    assert list(elsewhere.glob("outputs/*/evaluation/evaluation.md"))
    assert list(elsewhere.glob("outputs/*/row.json"))
