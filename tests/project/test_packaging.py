"""What is built and installed: everything is in it, without a warning, and it works elsewhere."""

import ast
import importlib.util
import os
import re
import shutil
import site
import subprocess
import sys
import tarfile
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from tests.docs.test_examples import PRINTED

from siamese_news.utils.extras import EXTRAS

ROOT = Path(__file__).parents[2]
# What setuptools says of a folder of data that is not among the packages.
WARNINGS = re.compile(
    r"absent from|namespace package|SetuptoolsDeprecation|setuptools.*Warning"
)
SUFFIXES = {
    ".py",
    ".yaml",
    ".jsonl",
    ".tsv",
    ".md",
    ".j2",
    ".css",
    ".js",
    ".typed",
    ".txt",
}


def test_no_message_points_to_a_page_that_a_wheel_lacks():
    """The folder docs/ is not in a wheel: a message names the page on the web."""
    found = []
    for path in (*ROOT.glob("src/**/*.py"), *ROOT.glob("desk/src/**/*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                bare = re.search(
                    r"(?<!blob/main/)\b(docs|benchmarks)/[\w-]+\.md", node.value
                )
                if bare:
                    found.append(f"{path.name}: {bare[0]}")
    assert not found


def shipped():
    """The names in a wheel of all files of src/ and conf/."""
    for part in ("conf", "src/siamese_news"):
        for path in (ROOT / part).rglob("*"):
            if path.suffix in SUFFIXES and "egg-info" not in str(path):
                relative = path.relative_to(ROOT / part).as_posix()
                yield f"siamese_news/{'conf/' if part == 'conf' else ''}{relative}"


def run(*arguments, cwd=ROOT, **options):
    done = subprocess.run(
        [str(part) for part in arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        **options,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The sources alone: building leaves nothing in the checkout."""
    folder = tmp_path_factory.mktemp("copy") / "project"
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info", "*.so")
    for name in ("src", "conf"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignore)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def dist(copy, tmp_path_factory):
    """(wheel, sdist, what was said), the wheel built from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    said = run(sys.executable, "-m", "build", "--outdir", folder, copy)
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz")), said


def environment(folder, *wheels, behind=()):
    """A fresh venv with wheels alone in it, and other folders behind them on the path."""
    run(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "--no-deps", *wheels)
    (own,) = folder.glob("lib/python*/site-packages")
    (own / "dependencies.pth").write_text("\n".join(map(str, behind)))
    return python, own


def closure(*names):
    """The installed distributions that these need, themselves among them."""
    found, waiting = {}, list(names)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        try:
            found[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # for another platform
        for requirement in map(Requirement, found[name].requires or []):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
    return found


def only(folder, *names):
    """A folder with links to these distributions and to what they need."""
    folder.mkdir()
    for distribution in closure(*names).values():
        base = Path(str(distribution.locate_file("")))
        for top in {
            file.parts[0] for file in distribution.files or [] if file.parts[0] != ".."
        }:
            if not (folder / top).exists() and (base / top).exists():
                (folder / top).symlink_to(base / top)
    return folder


OURS = {"siamese-news", "siamese-news-desk"}


def of_the_desk():
    import tomllib

    text = (ROOT / "desk" / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["project"]


def test_the_two_packages_are_released_together():
    import siamese_news

    root = ROOT / "desk" / "src" / "siamese_news_desk" / "__init__.py"
    version = re.search(r'^__version__ = "(.+)"$', root.read_text(), flags=re.M)[1]
    assert siamese_news.__version__ == version
    (ours,) = [
        requirement
        for requirement in map(Requirement, of_the_desk()["dependencies"])
        if requirement.name == "siamese-news"
    ]
    assert str(ours.specifier) == f"=={siamese_news.__version__}"


def test_every_command_is_registered_and_named_as_its_function():
    for project in (ROOT / "pyproject.toml", ROOT / "desk" / "pyproject.toml"):
        text = project.read_text(encoding="utf-8")
        commands = re.findall(
            r'^(\w+) = "(siamese_news\S*\.cli)\.(\w+):(\w+)"', text, flags=re.M
        )
        folder = next(iter({package for _, package, _, _ in commands})).split(".")
        files = (project.parent / "src").joinpath(*folder).glob("*.py")
        defined = {
            path.stem
            for path in files
            if re.search(rf"^def {path.stem}\(", path.read_text(), flags=re.M)
        }
        assert {name for name, *_ in commands} == defined
        assert all(name == module == function for name, _, module, function in commands)


def test_constraints_name_everything_that_is_needed():
    """Every package that the extras and the tests bring, as far as it is installed here."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = [name for group in project["dependency-groups"].values() for name in group]
    asked = [
        *project["project"]["dependencies"],
        *(n for n in groups if isinstance(n, str)),
    ]
    for requirements in project["project"]["optional-dependencies"].values():
        asked += requirements
    asked += of_the_desk()["dependencies"]
    names = {re.match(r"[\w.-]+", requirement)[0] for requirement in asked} - OURS
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {
        re.sub(r"[-_.]+", "-", line.partition("==")[0]).lower()
        for line in lines
        if "==" in line
    }
    own = {"pip", "setuptools", "wheel"}
    assert {re.sub(r"[-_.]+", "-", name).lower() for name in names} <= pinned
    # torch for CUDA brings triton; the versions here are those of torch for the CPU
    assert set(closure(*names)) - own - {"triton"} <= pinned


@pytest.mark.slow
def test_wheel_and_sdist_hold_everything_and_setuptools_says_nothing(dist):
    wheel, sdist, said = dist
    assert not WARNINGS.search(said), WARNINGS.search(said)
    inside = set(zipfile.ZipFile(wheel).namelist())
    assert set(shipped()) <= inside
    if shutil.which("gcc"):
        assert re.search(r"-py3-none-\w+_\w+\.whl$", wheel.name)
        loops = {"siamese_news/text/chunks.so", "siamese_news/scoring/neighbors.so"}
        assert loops <= inside
        assert any(name.startswith("siamese_news/attention/loops") for name in inside)
    assert "siamese_news/py.typed" in set(shipped())
    with tarfile.open(sdist) as files:
        inside = {name.partition("/")[2] for name in files.getnames()}
    assert {
        "setup.py",
        "src/siamese_news/text/chunks.c",
        "conf/train.yaml",
        "src/siamese_news/pretrained/vocab.txt",
    } <= inside


@pytest.mark.slow
def test_a_wheel_of_the_desk_holds_its_pages(tmp_path):
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "desk", tmp_path / "desk", ignore=ignore)
    out = tmp_path / "dist"
    said = run(sys.executable, "-m", "build", "--outdir", out, tmp_path / "desk")
    assert not WARNINGS.search(said), WARNINGS.search(said)
    sources = ROOT / "desk" / "src"
    wanted = {
        path.relative_to(sources).as_posix()
        for path in (sources / "siamese_news_desk").rglob("*")
        if path.suffix in SUFFIXES
    }
    names = set(zipfile.ZipFile(next(out.glob("*.whl"))).namelist())
    assert wanted <= names and "siamese_news_desk/page/pages/desk.css" in wanted


@pytest.mark.slow
@pytest.mark.parametrize("editable", [(), ("-e",)])
def test_pip_installs_without_a_warning(copy, tmp_path, editable):
    python, _ = environment(tmp_path / "venv", "setuptools>=77")
    said = run(python, "-m", "pip", "install", "-v", "--no-deps", *editable, copy)
    assert not WARNINGS.search(said), WARNINGS.search(said)
    code = (
        "import siamese_news, importlib.resources as r; root = r.files('siamese_news');"
        "print(all((root / n).is_file() for n in ('py.typed', 'pretrained/vocab.txt',"
        "'data/stories/qrels/test.tsv', 'search/report/style.css')),"
        "(r.files('siamese_news.conf') / 'encoder' / 'star.yaml').is_file())"
    )
    assert run(python, "-c", code, cwd=tmp_path).strip() == "True True"


@pytest.mark.slow
def test_a_wheel_trains_from_another_folder(dist, tmp_path):
    """Installed into a fresh venv, run from a third folder."""
    # The package of the wheel, the dependencies of this environment behind it.
    behind = [
        *site.getsitepackages(),
        *[p for p in sys.path if p.endswith("site-packages")],
    ]
    python, own = environment(tmp_path / "venv", dist[0], behind=behind)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    where = run(
        python, "-c", "import siamese_news; print(siamese_news.__file__)", cwd=elsewhere
    )
    assert str(own) in where
    run(
        python,
        "-m",
        "siamese_news.train",
        "encoder=bag",
        "task.bootstrap=10",
        "vectors.max_words=5000",
        cwd=elsewhere,
    )
    assert list(elsewhere.glob("outputs/*/evaluation/evaluation.md"))
    assert list(elsewhere.glob("outputs/*/row.json"))


@pytest.mark.slow
@pytest.mark.parametrize("installed", ["wheel", "editable", "editable, strict"])
def test_strict_type_checkers_pass_a_client(request, copy, tmp_path, installed):
    """They read py.typed of each; a plain editable installation has a path and no hook."""
    needed = [p for extra in ("", "encoders", "eval", "train") for p in EXTRAS[extra]]
    behind = [only(tmp_path / "behind", *needed)]
    packages = ["setuptools>=77"]
    if installed == "wheel":
        packages.append(request.getfixturevalue("dist")[0])
    python, _ = environment(tmp_path / "venv", *packages, behind=behind)
    if installed != "wheel":
        mode = ("--config-settings", "editable_mode=strict") * ("strict" in installed)
        run(python, "-m", "pip", "install", "-q", "--no-deps", *mode, "-e", copy)
    client = tmp_path / "client.py"
    shutil.copy(Path(__file__).with_name("strict_client.py"), client)
    strict = ["--strict", "--python-executable", python, client]
    run(sys.executable, "-m", "mypy", *strict, cwd=tmp_path)
    if importlib.util.find_spec("pyright"):
        (tmp_path / "pyrightconfig.json").write_text(
            '{"typeCheckingMode": "strict", "include": ["client.py"]}'
        )
        run(sys.executable, "-m", "pyright", "--pythonpath", python, cwd=tmp_path)


# The extras of an example, and a library that its user has.
EXAMPLES = {
    "plain_torch": (["encoders"], []),
    "lora": (["encoders"], ["peft"]),
    "sentence_transformers_module": (["encoders"], ["sentence-transformers"]),
    "own_trainer": (["train", "glove"], []),
}
PRESENT = """
import importlib.util
for name in ("peft", "sentence_transformers", "pytorch_lightning", "hydra", "gensim"):
    print(name if importlib.util.find_spec(name) else "")
"""
ALONE = """
import importlib.util, torch
others = ("numpy", "scipy", "hydra", "pytorch_lightning", "gensim", "typer", "safetensors")
gone = [name for name in others if importlib.util.find_spec(name)]
assert not gone, gone
from siamese_news import InputError, StarEncoder, build_encoder
from siamese_news.encoders import preset_names
from siamese_news.sparsity import SPARSITIES
mask = torch.arange(9) < torch.tensor([[9], [4], [0]])
for name in preset_names():
    encoder = build_encoder(name, input_dim=40)
    encoder(torch.randn(3, 9, 40), mask).sum().backward() if name != "bag" else None
print(tuple(StarEncoder(input_dim=40)(torch.randn(3, 9, 40), mask).shape))
"""


@pytest.mark.slow
def test_the_encoders_of_a_wheel_run_with_their_extra_alone(dist, tmp_path):
    """A venv that holds the wheel, and what the extra needs, and nothing else."""
    behind = only(tmp_path / "behind", "torch", "entmax", "pyyaml")
    python, _ = environment(tmp_path / "venv", dist[0], behind=[behind])
    said = run(python, "-W", "ignore", "-c", ALONE, cwd=tmp_path)
    assert said.strip() == "(3, 40)"
    for arguments, extra in (
        (["-m", "siamese_news", "rank"], ""),
        (["-m", "siamese_news.train"], "[train]"),
        (["-m", "siamese_news.evaluate"], "[eval]"),
        (["-c", "import siamese_news.evaluate"], "[eval]"),
    ):
        done = subprocess.run(
            [python, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env=os.environ,
        )
        assert done.returncode in (1, 2)
        last = done.stderr.strip().splitlines()[-1]
        assert last.replace("'", "").endswith(f"run pip install siamese-news{extra}"), (
            last
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_where_its_extras_alone_are_installed(dist, tmp_path, name):
    """A venv with the wheel, what its extras and the library of the example bring, and no more."""
    needed, libraries = EXAMPLES[name]
    packages = [package for extra in ("", *needed) for package in EXTRAS[extra]]
    behind = only(tmp_path / "behind", *packages, *libraries)
    python, own = environment(tmp_path / "venv", dist[0], behind=[behind])
    where = run(
        python, "-c", "import siamese_news; print(siamese_news.__file__)", cwd=tmp_path
    )
    assert str(own) in where
    done = subprocess.run(
        [python, "-c", PRESENT], capture_output=True, text=True, cwd=tmp_path
    )
    present = set(done.stdout.split())
    others = {"peft", "sentence_transformers", "pytorch_lightning", "hydra", "gensim"}
    expected = (
        {"pytorch_lightning", "hydra", "gensim"} if "train" in needed else {*libraries}
    )
    assert present & others == {library.replace("-", "_") for library in expected}
    said = run(
        python, ROOT / "examples" / f"{name}.py", tmp_path / "made", cwd=tmp_path
    )
    assert re.search(PRINTED[name][0], said), said


@pytest.mark.slow
def test_two_builds_are_equal_byte_for_byte(copy, tmp_path):
    """At another time, in another folder, from files of another date and order."""
    other = tmp_path / "other" / "project"
    other.mkdir(parents=True)
    for path in sorted(copy.rglob("*"), reverse=True):
        if path.is_file() and ".egg-info" not in str(path):
            target = other / path.relative_to(copy)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            os.utime(target, (10**9, 10**9))
    found = []
    for number, folder in enumerate((copy, other)):
        out = tmp_path / f"dist{number}"
        environ = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
        run(sys.executable, "-m", "build", "--outdir", out, folder, env=environ)
        found.append({path.name: path.read_bytes() for path in sorted(out.iterdir())})
    assert len(found[0]) == 2
    assert found[0] == found[1]


def test_the_lock_file_has_every_pin_with_its_hashes():
    import tomllib

    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    locked = {}
    for entry in re.split(r"\n(?=[a-z0-9])", text[text.index("\n") :]):
        found = re.match(r"\s*([A-Za-z0-9._-]+)==(\S+)", entry)
        if found:
            assert "--hash=sha256:" in entry, found[1]
            locked[re.sub(r"[-_.]+", "-", found[1]).lower()] = found[2]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if "==" in line)
    pins = {
        re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pins.items()
    }
    assert {n: v for n, v in locked.items() if n in pins and pins[n] != v} == {}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = project["dependency-groups"]
    asked = [*project["project"]["dependencies"], *groups["docs"]]
    asked += [one for one in groups["dev"] if isinstance(one, str)]
    for requirements in project["project"]["optional-dependencies"].values():
        asked += requirements
    asked += of_the_desk()["dependencies"]
    names = {re.match(r"[\w.-]+", requirement)[0].lower() for requirement in asked}
    assert {re.sub(r"[-_.]+", "-", name) for name in names} - OURS <= set(locked)
    assert "://" not in text
