"""Values are taken as they are: paths with any sign, any logged figure as the monitor."""

import sys

import pytest
from tests.training.test_contract import (
    data_of,
    folder,  # noqa: F401  (a fixture)
    module_of,
    trainer_of,
)

from siamese_news import InputError, SiameseDataModule
from siamese_news.training.callbacks import load_selected, selection
from siamese_news.training.launch import composition_errors
from siamese_news.training.plain_options import composed

pytestmark = pytest.mark.filterwarnings("ignore")
AWKWARD = 'a${b} c\'s \\\\${x} "d",{e}'


def test_a_path_is_a_path_whatever_its_signs(tmp_path, monkeypatch):
    rows = "article,post\n" + "".join(f"Article {n},post {n}\n" for n in range(20))
    for name in ("O'Brien", "a${b}c", AWKWARD, "x=1, [y]", "back\\\\slash\\"):
        place = tmp_path / name
        place.mkdir()
        (place / "pairs.csv").write_text(rows)
        data = SiameseDataModule(place / "pairs.csv")
        assert data.sizes() == "train 12, dev 3, test 5"
        assert data.data["name"] == str(place / "pairs.csv")
        assert data.data["dev"]["folder"] == data.data["name"]
    monkeypatch.setenv("HOME", str(tmp_path / "O'Brien"))
    assert SiameseDataModule("~/pairs.csv").sizes() == "train 12, dev 3, test 5"
    changes = {"train": [{"folder": "~/pairs.csv", "split": "train"}]}
    data = SiameseDataModule({**data.data, **changes}, dev=None, test=None)
    assert data.sizes() == "train 12"


@pytest.mark.parametrize(("mode", "chosen"), [("max", 1), ("min", 0)])
def test_any_figure_that_a_callback_logs_selects(folder, tmp_path, mode, chosen):  # noqa: F811
    import pytorch_lightning as pl

    class Logs(pl.Callback):
        def on_validation_epoch_end(self, trainer, pl_module):
            pl_module.log("mine", [2.0, 5.0, 3.0][trainer.current_epoch])

    choice = selection(
        tmp_path, monitor="mine", patience=None, keep_interrupted=True, mode=mode
    )
    module = module_of(folder, "gru")
    trainer = trainer_of(
        tmp_path, callbacks=[Logs(), *choice], max_epochs=3, num_sanity_val_steps=0
    )
    trainer.fit(module, datamodule=data_of(folder))
    import torch

    best = torch.load(trainer.checkpoint_callback.best_model_path, weights_only=True)
    assert best["epoch"] == chosen
    load_selected(module, trainer)
    for name, value in best["state_dict"].items():
        assert torch.equal(module.state_dict()[name], value)


def test_options_apart_are_one_line(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train", "seed=1", "-m", "encoder=gru,cnn"])
    with pytest.raises(
        InputError, match="encoder=gru,cnn: is separated from the other"
    ):
        with composition_errors():
            pass


def test_the_objective_of_a_sweeper(tmp_path, monkeypatch):
    """What Hydra passes to a sweeper is the figure that selected the weights."""
    import json

    from hydra.core.utils import JobReturn
    from hydra.experimental.callback import Callback
    from tests.composed import option  # noqa: F401  (composes as Hydra does)

    assert composed("task.mode=min")["task"]["mode"] == "min"
    done = tmp_path / "out"
    command = [
        *("train", "encoder=bag_idf", "encoder.output_dim=8", "task.epochs=1"),
        *("task.bootstrap=0", "logger=none", f"hydra.run.dir={done}"),
        *("vectors.max_words=5000", "data.limits.article_tokens=40"),
        *("trainer.limit_train_batches=2", "trainer.enable_progress_bar=false"),
    ]
    monkeypatch.setattr(sys, "argv", command)
    returned = []

    class Keep(Callback):
        def on_job_end(self, config, job_return: JobReturn, **options):
            returned.append(job_return.return_value)

    monkeypatch.setattr(
        "siamese_news.training.launch.ResultFolder.on_job_end", Keep.on_job_end
    )
    from siamese_news.train import main

    monkeypatch.setenv(
        "PYTHONSAFEPATH", "1"
    )  # as the command sets it, until the test ends
    main()
    row = json.loads((done / "row.json").read_text())
    assert returned == [row["dev/map"]] and 0 < row["dev/map"] < 1
