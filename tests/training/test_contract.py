"""The two classes with the user's own Trainer: what Lightning offers, on three encoders."""

import json

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import (
    EarlyStopping,
    LearningRateMonitor,
    ModelCheckpoint,
    StochasticWeightAveraging,
)
from pytorch_lightning.loggers import CSVLogger
from pytorch_lightning.tuner import Tuner

from siamese_news import InputError, SiameseDataModule, SiameseModule
from siamese_news.model import Model

pytestmark = pytest.mark.filterwarnings("ignore")
WORDS = [f"word{number}" for number in range(40)]
SMALL = {
    "star": {"heads": 2, "head_dim": 3, "dropout": 0.1},
    "gru": {"hidden_dim": 6},
    "two_head_bag": {"output_dim": 5},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Ten articles of twelve words, three posts of each, and vectors of the words."""
    root = tmp_path_factory.mktemp("contract")
    draw = np.random.default_rng(0)
    rows = ["article,post,split"]
    for number in range(10):
        words = draw.choice(WORDS, 12, replace=False)
        split = "train" if number < 6 else "dev" if number < 8 else "test"
        for _ in range(3):
            rows.append(f"{' '.join(words)},{' '.join(draw.choice(words, 4))},{split}")
    (root / "pairs.csv").write_text("\n".join(rows) + "\n")
    lines = (
        f"{w} {' '.join(f'{x:.4f}' for x in draw.normal(size=8))}\n" for w in WORDS
    )
    (root / "vectors.txt").write_text("".join(lines))
    return root


def data_of(folder, **options):
    batching = {"articles_per_batch": 3, "posts_per_article": 2}
    return SiameseDataModule(folder / "pairs.csv", batching=batching, **options)


def vectors_of(folder):
    return {
        "source": str(folder / "vectors.txt"),
        "max_words": None,
        "trainable": False,
        "unit_length": False,
        "remove_components": 0,
        "project_to": None,
        "unknown": "hash",
        "dropout": 0.0,
    }


def module_of(folder, name, *, drop=True, **options):
    """A small module; `drop=False` where two runs are compared that draw their dropout apart."""
    from siamese_news.training.plain_options import composed

    pl.seed_everything(0, verbose=False)
    encoder = composed(f"encoder={name}")["encoder"] | SMALL[name]
    if not drop and "dropout" in encoder:
        encoder["dropout"] = 0.0
    options = {"objective": "ntxent", "lr": 0.01, **options}
    return SiameseModule(encoder, vectors=vectors_of(folder), **options)


def trainer_of(out, **options):
    quiet = {
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "log_every_n_steps": 1,
    }
    base = {"accelerator": "cpu", "devices": 1, "max_epochs": 2, "logger": False}
    return pl.Trainer(default_root_dir=out, **{**base, **quiet, **options})


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", SMALL)
def test_fit_validate_test_predict_and_a_checkpoint_by_its_path(folder, tmp_path, name):
    best = ModelCheckpoint(tmp_path, monitor="dev/map", mode="max", save_last=True)
    callbacks = [
        best,
        EarlyStopping("dev/map", mode="max", patience=3),
        LearningRateMonitor(),
        StochasticWeightAveraging(swa_lrs=0.01, swa_epoch_start=1),
    ]
    logger = CSVLogger(str(tmp_path))
    more = {"accumulate_grad_batches": 2, "gradient_clip_val": 1.0, "logger": logger}
    trainer = trainer_of(tmp_path, callbacks=callbacks, **more)
    module, data = module_of(folder, name), data_of(folder)
    before = {key: value.clone() for key, value in module.state_dict().items()}
    trainer.fit(module, datamodule=data)
    moved = [
        key
        for key, value in module.state_dict().items()
        if not torch.equal(value, before[key])
    ]
    assert any("encoder" in key for key in moved)
    header = (
        (tmp_path / "lightning_logs" / "version_0" / "metrics.csv")
        .read_text()
        .split("\n")[0]
    )
    assert {"train/loss", "dev/map", "dev/micro_ap", "dev/auc"} <= set(
        header.split(",")
    )

    (dev,) = trainer.validate(
        module, datamodule=data, ckpt_path=best.best_model_path, verbose=False
    )
    (test,) = trainer.test(
        module, datamodule=data, ckpt_path=best.best_model_path, verbose=False
    )
    assert dev["dev/map"] == pytest.approx(float(best.best_model_score), abs=1e-6)
    (scores,) = trainer.predict(module, datamodule=data, ckpt_path=best.best_model_path)
    assert scores.shape == (2, 6) and torch.isfinite(scores).all()

    loaded = SiameseModule.load_from_checkpoint(best.best_model_path)
    assert loaded.lr == 0.01 and loaded.model.limits == module.model.limits
    fresh = trainer_of(tmp_path)
    assert fresh.test(loaded, datamodule=data_of(folder), verbose=False) == [test]
    loaded.save(tmp_path / "model")
    text = data.test.articles[0].full_text
    opened = Model.load(tmp_path / "model")
    vectors = [model.encode_articles([text]) for model in (loaded.model, opened)]
    np.testing.assert_allclose(*vectors, atol=1e-6)
    assert opened.trained_on.has_articles(
        "pairs", [a.id for a in data.train_set.articles]
    ).all()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", SMALL)
def test_a_run_continues_from_its_checkpoint(folder, tmp_path, name):
    whole = module_of(folder, name, drop=False)
    keep = ModelCheckpoint(tmp_path, save_top_k=-1, filename="{epoch}")
    trainer_of(tmp_path, callbacks=[keep]).fit(whole, datamodule=data_of(folder))
    rest = module_of(folder, name, drop=False)
    torch.manual_seed(0)
    path = tmp_path / "epoch=0.ckpt"
    trainer_of(tmp_path).fit(rest, datamodule=data_of(folder), ckpt_path=path)
    for key, value in whole.state_dict().items():
        torch.testing.assert_close(rest.state_dict()[key], value)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("name", "precision"),
    [
        *((name, "bf16-mixed") for name in SMALL),
        *(("star", precision) for precision in ("bf16-true", "64-true")),
        *(
            pytest.param(name, precision, marks=pytest.mark.slow)
            for name in ("gru", "two_head_bag")
            for precision in ("bf16-true", "64-true")
        ),
    ],
)
def test_precisions(folder, tmp_path, name, precision):
    module = module_of(folder, name)
    trainer = trainer_of(
        tmp_path, precision=precision, max_epochs=1, enable_checkpointing=False
    )
    trainer.fit(module, datamodule=data_of(folder))
    assert torch.isfinite(trainer.callback_metrics["train/loss"])
    assert 0 < trainer.callback_metrics["dev/map"] <= 1
    module.save(tmp_path / "model")
    assert np.isfinite(
        Model.load(tmp_path / "model").encode_posts(["word1 word2", ""])
    ).all()


@pytest.mark.parametrize("name", SMALL)
def test_overfitting_repeats_its_batches_and_brings_the_loss_down(
    folder, tmp_path, name
):
    module = module_of(folder, name, lr=0.05)
    losses = []

    class Losses(pl.Callback):
        def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
            losses.append((batch["post_ids"].tolist(), float(outputs["loss"])))

    options = {"overfit_batches": 1, "max_epochs": 8, "enable_checkpointing": False}
    trainer_of(tmp_path, callbacks=[Losses()], **options).fit(
        module, datamodule=data_of(folder)
    )
    assert len({str(batch) for batch, _ in losses}) == 1
    assert losses[-1][1] < losses[0][1]


@pytest.mark.parametrize(
    "optimizer, precision, fused",
    [
        ("adam", "32-true", True),
        ("sgd", "32-true", True),
        # Lightning cannot clip for a fused optimizer there, with or without a scaler.
        ("adamw", "bf16-mixed", False),
    ],
)
def test_an_optimizer_is_fused_where_gradients_can_be_clipped_for_it(
    folder, tmp_path, optimizer, precision, fused
):
    module = module_of(folder, "star", optimizer=optimizer)
    options = {"max_epochs": 1, "limit_val_batches": 0, "gradient_clip_val": 0.5}
    trainer = trainer_of(
        tmp_path, precision=precision, enable_checkpointing=False, **options
    )
    trainer.fit(module, datamodule=data_of(folder))
    assert trainer.optimizers[0].defaults["fused"] is fused


@pytest.mark.sampled(1)
@pytest.mark.parametrize("schedule", ["step", "cosine", "one_cycle"])
def test_schedules_and_groups_without_decay(folder, tmp_path, schedule):
    rates = []

    class Rates(pl.Callback):
        def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
            rates.append(trainer.optimizers[0].param_groups[0]["lr"])

    module = module_of(folder, "star", optimizer="sgd", schedule=schedule)
    options = {"max_epochs": 12, "limit_val_batches": 0, "enable_checkpointing": False}
    trainer = trainer_of(tmp_path, callbacks=[Rates()], **options)
    trainer.fit(module, datamodule=data_of(folder))
    matrices, vectors = trainer.optimizers[0].param_groups
    assert matrices["weight_decay"] > 0 and vectors["weight_decay"] == 0
    assert all(p.dim() > 1 for p in matrices["params"])
    alphas = [p for n, p in module.named_parameters() if "alpha" in n]
    assert alphas and all(
        any(p is other for other in vectors["params"]) for p in alphas
    )
    assert max(rates) == pytest.approx(0.01, rel=0.05)
    if schedule == "step":  # after 5 epochs, and after 10
        assert [round(rate / 0.01, 4) for rate in dict.fromkeys(rates)] == [
            1,
            0.75,
            0.5625,
        ]
    else:
        assert rates[0] < max(rates) > rates[-1]


def test_the_learning_rate_finder_sets_lr(folder, tmp_path):
    module = module_of(folder, "gru")
    trainer = trainer_of(tmp_path, max_epochs=5)
    found = Tuner(trainer).lr_find(
        module, datamodule=data_of(folder), num_training=10, early_stop_threshold=None
    )
    assert len(found.results["lr"]) == 10
    assert module.lr == found.suggestion() or found.suggestion() is None


def test_workers_give_the_same_batches(folder):
    batches = []
    for workers in (0, 2):
        data = data_of(folder, vectors=vectors_of(folder), num_workers=workers)
        data.setup("fit")
        batches.append(
            [batch["post_ids"].tolist() for batch in data.train_dataloader()]
        )
    assert batches[0] == batches[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_two_processes_give_the_figures_of_one(folder, tmp_path, name):
    figures = []
    for devices, strategy in ((1, "auto"), (2, "ddp_spawn")):
        module = module_of(folder, name, drop=False, optimizer="sgd")
        batching = {"articles_per_batch": 6 // devices, "posts_per_article": 3}
        data = SiameseDataModule(folder / "pairs.csv", batching=batching)
        trainer = trainer_of(tmp_path, devices=devices, strategy=strategy)
        trainer.fit(module.train(), datamodule=data)
        figures.append({k: float(v) for k, v in trainer.callback_metrics.items()})
    one, two = figures
    assert two == pytest.approx(one, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_a_compiled_module_trains(folder, tmp_path, name):
    module = module_of(folder, name)
    trainer = trainer_of(tmp_path, max_epochs=1, enable_checkpointing=False)
    trainer.fit(torch.compile(module), datamodule=data_of(folder))
    assert torch.isfinite(trainer.callback_metrics["train/loss"])
    module.save(tmp_path / "model")
    assert json.loads((tmp_path / "model" / "config.json").read_text())["encoder"]


def test_a_module_without_anything_to_train_says_what_to_change(folder, tmp_path):
    module = SiameseModule(encoder="bag", vectors=vectors_of(folder))
    with pytest.raises(InputError, match=r"nothing to train.*vectors\.trainable=true"):
        trainer_of(tmp_path).fit(module, datamodule=data_of(folder))
