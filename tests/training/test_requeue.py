"""A signal of SLURM in the middle of a step: what is saved is the state after a whole one."""

import os
import signal

import pytest
import torch
from pytorch_lightning.plugins.environments import SLURMEnvironment
from tests.training.test_contract import data_of, folder, module_of, trainer_of  # noqa: F401

from siamese_news.training.callbacks import Requeued, RequeueOnSignal, selection

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="no SIGUSR1 on Windows"),
]
STEP = 3


class Signalled(torch.optim.SGD):
    """Gets the signal of SLURM in its third step, when half of the weights are new."""

    steps = 0

    @torch.no_grad()
    def step(self, closure):
        loss = closure()
        self.steps += 1
        parameters = self.param_groups[0]["params"]
        for number, parameter in enumerate(parameters):
            if self.steps == STEP and number == len(parameters) // 2:
                os.kill(os.getpid(), signal.SIGUSR1)
            parameter -= 0.1 * parameter.grad
        return loss


def _weights(folder, out, steps=-1, **options):  # noqa: F811
    """Those after some steps, or in the checkpoint that a signal leaves."""
    module = module_of(folder, "gru", drop=False, optimizer=Signalled)
    trainer = trainer_of(out, max_epochs=3, max_steps=steps, **options)
    trainer.fit(module, datamodule=data_of(folder))
    return module.state_dict()


def _slurm(monkeypatch, tmp_path):
    scontrol = tmp_path / "scontrol"
    scontrol.write_text("#!/bin/sh\n")
    scontrol.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for name, value in {"JOB_ID": 4711, "NTASKS": 1, "PROCID": 0, "LOCALID": 0}.items():
        monkeypatch.setenv(f"SLURM_{name}", str(value))
    monkeypatch.setenv("SLURM_JOB_NAME", "train")
    monkeypatch.setenv("SLURM_NODEID", "0")


def _differences(state, expected):
    return [
        name
        for name, value in expected.items()
        if name.startswith("model.") and not torch.equal(state[name], value)
    ]


@pytest.fixture
def expected(folder, tmp_path, monkeypatch):  # noqa: F811
    """The weights after the step in which the signal comes, without one."""
    monkeypatch.setattr(os, "kill", lambda *_: None)
    weights = _weights(folder, tmp_path / "quiet", STEP)
    monkeypatch.undo()
    return weights


def test_a_signal_in_a_step_is_answered_after_it(folder, tmp_path, expected):  # noqa: F811
    keep = selection(tmp_path, monitor=None, patience=None, keep_interrupted=True)
    with pytest.raises(Requeued):
        _weights(folder, tmp_path, callbacks=[RequeueOnSignal(), *keep])
    saved = torch.load(tmp_path / "last.ckpt", weights_only=True)
    assert saved["global_step"] == STEP
    assert not _differences(saved["state_dict"], expected)


def test_lightning_answers_in_the_middle_of_a_step(
    folder,  # noqa: F811
    tmp_path,
    expected,
    monkeypatch,
):
    """Why `RequeueOnSignal` is here: once this fails, Lightning's own requeue can replace it."""
    _slurm(monkeypatch, tmp_path)
    slurm = SLURMEnvironment(auto_requeue=True)
    _weights(folder, tmp_path, STEP + 1, plugins=[slurm])
    (saved,) = tmp_path.glob("hpc_ckpt_*.ckpt")
    half = torch.load(saved, weights_only=True)["state_dict"]
    names = [name for name in expected if name.startswith("model.encoder.")]
    different = _differences(half, expected)
    assert {*different} < {*names} and different
