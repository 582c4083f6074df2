"""Python as it runs without some packages, begun with the imports of a search done."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

# A finder: what it blocks is as if it were not installed.
_BLOCK = """
import os, sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in os.environ["BLOCKED"].split(","):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Block())
"""

# Says what it has imported; then each line that it reads makes a copy of it, which runs a module.
_TEMPLATE = """
import json, os, runpy, sys
import siamese_news.cli.rank, siamese_news.cli.filter, siamese_news.data.readers
import siamese_news.scoring, siamese_news.search.searcher, siamese_news.search.filter
import siamese_news.search.watch, typer._adapters
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})), flush=True)
for line in sys.stdin:
    process = os.fork()
    if not process:
        break
    _, status = os.waitpid(process, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
else:
    sys.exit()
run = json.loads(line)
for number, path in enumerate((os.devnull, run["output"], run["errors"])):
    os.dup2(os.open(path, os.O_RDWR), number)
os.environ.update(run["environment"])
os.chdir(run["folder"])
sys.path[:0] = [run["folder"], run["site"]]
exec(run["block"])
sys.argv = [run["module"], *run["arguments"]]
runpy.run_module(run["module"], run_name="__main__", alter_sys=True)
"""


class BareProcesses:
    """Starts Python without some packages; ``python -m`` as a copy of one process where it can be.

    It can unless that process has imported what shall be absent or another one.
    """

    def __init__(self) -> None:
        self._template = subprocess.Popen(
            [sys.executable, "-c", _TEMPLATE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._loaded: set[str] = set(json.loads(self._line()))

    def close(self) -> None:
        """End the process that is copied."""
        self._template.communicate()

    def run(
        self, folder: Path, blocked: str, arguments: Sequence[object]
    ) -> subprocess.CompletedProcess[str]:
        """Run Python in a folder.

        Args:
            folder: the current one; modules in its folder ``site`` come before installed ones.
            blocked: names of packages that are absent, with commas.
            arguments: of Python.
        """
        words = [str(argument) for argument in arguments]
        site = folder / "site"
        site.mkdir(exist_ok=True)
        others = {*blocked.split(","), *(path.stem for path in site.iterdir())}
        if words[0] != "-m" or others & self._loaded:
            (site / "sitecustomize.py").write_text(_BLOCK)
            path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
            return subprocess.run(
                [sys.executable, *words],
                env=os.environ | {"PYTHONPATH": path, "BLOCKED": blocked},
                cwd=folder,
                capture_output=True,
                text=True,
            )
        output, errors = folder / "site.out", folder / "site.err"
        output.touch()
        errors.touch()
        run = {
            "module": words[1],
            "arguments": words[2:],
            "folder": str(folder),
            "site": str(site),
            "block": _BLOCK,
            "environment": dict(os.environ) | {"BLOCKED": blocked},
            "output": str(output),
            "errors": str(errors),
        }
        self._template.stdin.write(json.dumps(run) + "\n")
        self._template.stdin.flush()
        code = int(self._line())
        said = [path.read_text(encoding="utf-8") for path in (output, errors)]
        output.unlink()
        errors.unlink()
        return subprocess.CompletedProcess(words, code, *said)

    def _line(self) -> str:
        return self._template.stdout.readline()
