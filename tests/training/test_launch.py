"""Which process writes, where, and what is refused, by the environment of each launcher."""

import shlex
import sys

import pytest
import torch
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser

from siamese_news.errors import InputError
from siamese_news.training import launch
from siamese_news.training.plain_options import composed
from siamese_news.training.trainer import make_trainer

SLURM = {
    "SLURM_JOB_ID": "4711",
    "SLURM_STEP_ID": "3",
    "SLURM_NTASKS": "8",
    "SLURM_PROCID": "0",
    "SLURM_JOB_NAME": "train",
}
TORCHRUN = {
    "TORCHELASTIC_RUN_ID": "x",
    "WORLD_SIZE": "8",
    "RANK": "0",
    "LOCAL_RANK": "0",
}
LIGHTNING = {"LOCAL_RANK": "0", "NODE_RANK": "0", "WORLD_SIZE": "8"}


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    for name in {*SLURM, *TORCHRUN, *LIGHTNING, launch.STAMP}:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("environment", "first"),
    [
        ({}, True),
        (SLURM, True),
        (
            {**SLURM, "SLURM_PROCID": "4", "SLURM_LOCALID": "0"},
            False,
        ),  # first of the second node
        (TORCHRUN, True),
        ({**TORCHRUN, "RANK": "4"}, False),  # first of the second node
        (LIGHTNING, True),
        ({**LIGHTNING, "LOCAL_RANK": "1"}, False),
        ({**LIGHTNING, "NODE_RANK": "1"}, False),
        ({**SLURM, "SLURM_JOB_NAME": "bash", "SLURM_PROCID": "1"}, True),  # at a prompt
    ],
)
def test_one_process_of_all_nodes_writes(environment, first):
    assert launch.is_first_process(environment) is first


def test_a_slurm_step_names_its_folder_and_a_stamp_that_is_there_stays(monkeypatch):
    for name, value in SLURM.items():
        monkeypatch.setenv(name, value)
    launch.share_stamp()
    assert launch.os.environ[launch.STAMP] == "slurm-4711.3"
    monkeypatch.setenv(launch.STAMP, "mine")
    launch.share_stamp()
    assert launch.os.environ[launch.STAMP] == "mine"


def test_nodes_that_share_nothing_are_refused(monkeypatch):
    monkeypatch.setenv("NODE_RANK", "1")
    with pytest.raises(InputError, match="torchrun"):
        launch.share_stamp()
    monkeypatch.setenv(launch.STAMP, "mine")
    launch.share_stamp()


def test_another_process_neither_logs_to_a_file_nor_writes_the_configuration(
    monkeypatch,
):
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv(launch.STAMP, "mine")
    monkeypatch.setattr(sys, "argv", ["train", "hydra.output_subdir=null"])
    launch.prepare_command()
    assert sys.argv == ["train", "hydra.output_subdir=null", "hydra/job_logging=stdout"]


def test_processes_that_the_trainer_does_not_expect_are_refused(monkeypatch):
    for name, value in TORCHRUN.items():
        monkeypatch.setenv(name, value)
    options = {"accelerator": "cpu", "devices": 1, "num_nodes": 1, "strategy": "auto"}
    with pytest.raises(
        InputError, match="8 processes were started.*expect 1; .*ddp_nodes"
    ):
        make_trainer(options, logger=False)


@pytest.mark.skipif(torch.cuda.is_available(), reason="the devices are there")
def test_devices_that_are_not_there_are_an_error_of_one_line():
    options = {"accelerator": "cuda", "devices": 4, "num_nodes": 1, "strategy": "auto"}
    with pytest.raises(InputError, match="trainer.accelerator=cuda.*trainer=cpu"):
        make_trainer(options, logger=False)


def test_a_restart_is_told_by_either_launcher():
    assert not launch.was_restarted({"SLURM_RESTART_COUNT": "0"})
    assert launch.was_restarted({"SLURM_RESTART_COUNT": "2"})
    assert launch.was_restarted({"TORCHELASTIC_RESTART_COUNT": "1"})


@pytest.mark.parametrize(
    "argument",
    [
        "objective.loss={_target_: x.MarginLoss}",
        "objective.loss={beta: 2, _target_: x.MarginLoss}",
        "objective.miner={_target_: x.Miner, margin: 0.1}",
    ],
)
def test_a_mapping_with_a_class_replaces_an_option(monkeypatch, argument):
    """Merged into it, as Hydra does, another loss would have the values of the first one."""
    monkeypatch.setattr(sys, "argv", ["train", argument, "task.epochs=1"])
    launch.prepare_command()
    name, value = argument.split("=", 1)
    option = composed(*(word for word in sys.argv[1:] if "hydra" not in word))
    assert option["objective"][name.partition(".")[2]] == yaml.safe_load(value)


@pytest.mark.parametrize(
    "argument", ["+callbacks.mine={_target_: x.Y}", "hydra.launcher={_target_: x.Y}"]
)
def test_other_arguments_stay(monkeypatch, argument):
    monkeypatch.setattr(sys, "argv", ["train", argument])
    launch.prepare_command()
    assert sys.argv[1] == argument


@pytest.mark.parametrize(
    "text",
    [
        *("~/pairs.csv", "O'Brien/a b.csv", "café/日本.csv", "a(1)&b;c.csv", "x=y.csv"),
        *('the "best".csv', 'a\\"b', "~\\", "{odd", "[1, 2", "50 % of #1!", "<>^`’€"),
    ],
)
def test_a_text_that_hydra_cannot_read_is_printed_as_it_can(text):
    """Quoted for Hydra and for a shell, it is the same text."""
    parser = OverridesParser.create()
    with pytest.raises(InputError) as told:
        composed(f"data.name={text}")
    message = str(told.value)
    assert message.startswith(f"data.name={text}: ") and "\n" not in message
    (argument,) = shlex.split(message.partition("for the shell: ")[2])
    assert parser.parse_override(argument).value() == text
    assert composed("data=my_pairs", argument)["data"]["name"] == text


def test_what_is_no_option_gets_no_quotes():
    with pytest.raises(InputError, match="expected NAME=VALUE$"):
        composed("~/pairs.csv")
