"""A folder of somebody else, with a file named like each module that a command may import."""

import sys
from importlib.metadata import packages_distributions
from pathlib import Path

# What `python -m` itself imports before it reads a line of ours: only `-P` protects from these.
OF_PYTHON = frozenset(
    "runpy importlib pkgutil contextlib warnings collections functools keyword operator reprlib "
    "weakref types typing inspect zipimport copyreg siamese_news".split()
)


class Planted:
    """Plants files with the names of all modules that a command may import."""

    def __init__(self, log: Path) -> None:
        self._log = log
        log.touch()

    def plant(self, folder: Path, without: frozenset[str] = frozenset()) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        names = {
            *sys.stdlib_module_names,
            *packages_distributions(),
            "siamese_news",
            "tests",
        }
        names |= {"sitecustomize", "usercustomize", "hydra_plugins"}
        for name in names - without:
            if name.isidentifier():
                says = f"open({str(self._log)!r}, 'a').write({f'{folder.name}/{name} '!r})\n"
                (folder / f"{name}.py").write_text(says)
        return folder

    def ran(self) -> str:
        return self._log.read_text()
