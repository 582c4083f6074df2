"""What a run says it trained is what it saved: selection, averages, compiled parts, options."""

import copy
import enum
import logging

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from omegaconf import OmegaConf
from pytorch_lightning.callbacks import EMAWeightAveraging, StochasticWeightAveraging
from pytorch_lightning.loggers import CSVLogger
from tests.training.test_contract import data_of, module_of, trainer_of, vectors_of

from siamese_news import InputError, SiameseDataModule, SiameseModule
from siamese_news.model import Model
from siamese_news.training.callbacks import load_selected, selection

pytestmark = pytest.mark.filterwarnings("ignore")
folder = pytest.importorskip("tests.training.test_contract").folder  # the fixture


class Spoil(pl.Callback):
    """Makes the encoder useless after the first of two validations of an epoch."""

    def __init__(self):
        self.figures = []

    def on_validation_end(self, trainer, pl_module):
        self.figures.append(float(trainer.callback_metrics["dev/map"]))

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if self.figures:
            with torch.no_grad():
                for parameter in pl_module.model.encoder.parameters():
                    parameter.zero_()


def test_a_validation_inside_an_epoch_selects_the_weights(folder, tmp_path):
    chosen = selection(
        tmp_path, monitor="dev/map", patience=None, keep_interrupted=True
    )
    spoil = Spoil()
    module = module_of(folder, "gru", lr=1e-9)
    data = data_of(folder)
    trainer = trainer_of(
        tmp_path,
        callbacks=[spoil, *chosen],
        max_epochs=1,
        val_check_interval=0.5,
        num_sanity_val_steps=0,
    )
    trainer.fit(module, datamodule=data)
    first, *others = spoil.figures
    assert others and max(others) < first
    load_selected(module, trainer)
    (dev,) = trainer.validate(module, datamodule=data, verbose=False)
    assert dev["dev/map"] == pytest.approx(first, abs=1e-6)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("part", ["encoder", "its gru"])
def test_a_compiled_part_keeps_the_names_of_its_weights(folder, tmp_path, part):
    module = module_of(folder, "gru")
    plain = {name: value.clone() for name, value in module.state_dict().items()}
    model = module.model

    def compiled(child):
        return torch.compile(child, backend="eager")

    if part == "encoder":
        model.encoder = compiled(model.encoder)
    else:
        name = next(name for name, _ in model.encoder.named_children())
        setattr(model.encoder, name, compiled(getattr(model.encoder, name)))
    assert module.state_dict().keys() == plain.keys()
    module.load_state_dict({name: value + 1 for name, value in plain.items()})
    for name, value in module.state_dict().items():
        torch.testing.assert_close(value, plain[name] + 1)
    trainer = trainer_of(tmp_path, max_epochs=0)
    trainer.fit(module, datamodule=data_of(folder))
    trainer.save_checkpoint(tmp_path / "last.ckpt")
    module.save(tmp_path / "model")
    again = SiameseModule.load_from_checkpoint(tmp_path / "last.ckpt")
    for opened in (Model.load(tmp_path / "model"), again.model):
        np.testing.assert_array_equal(
            opened.eval().encode_posts(["word1 word3"]),
            module.model.encode_posts(["word1 word3"]),
        )


def test_a_compiled_bag_is_encoded_and_saved(folder, tmp_path):
    module = SiameseModule("bag_idf", vectors=vectors_of(folder))
    vectors = module.model.encode_posts(["word1 word2"])
    module.model.encoder = torch.compile(module.model.encoder, backend="eager")
    np.testing.assert_array_equal(module.model.encode_posts(["word1 word2"]), vectors)
    module.save(tmp_path / "model")
    assert Model.load(tmp_path / "model").output_dim == 300


def test_a_model_that_could_not_be_opened_again_is_not_saved(folder, tmp_path):
    module = module_of(folder, "gru")
    module.save(tmp_path / "model")
    before = (tmp_path / "model" / "SHA256SUMS").read_text()
    module.model.encoder.extra = torch.nn.Linear(2, 3)
    with pytest.raises(InputError, match="not written, because it could not be opened"):
        module.save(tmp_path / "model")
    assert (tmp_path / "model" / "SHA256SUMS").read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def _run(folder, out, callbacks, *, epochs, ckpt_path=None, stop_after=None):
    module = module_of(folder, "gru", drop=False, lr=0.05)
    keep = selection(out, monitor="dev/map", patience=None, keep_interrupted=True)
    trainer = trainer_of(
        out,
        callbacks=[*callbacks, *keep],
        max_epochs=epochs,
        max_steps=stop_after or -1,
    )
    trainer.fit(
        module, datamodule=data_of(folder), ckpt_path=ckpt_path, weights_only=True
    )
    left = {name: value.clone() for name, value in module.state_dict().items()}
    load_selected(module, trainer)
    return left, module.state_dict(), trainer


def _equal(first, second):
    return all(torch.equal(first[name], second[name]) for name in first)


def test_the_stochastic_average_is_what_is_saved(folder, tmp_path, caplog):
    average = StochasticWeightAveraging(swa_lrs=0.05, swa_epoch_start=1)
    left, saved, trainer = _run(folder, tmp_path / "a", [average], epochs=4)
    best = torch.load(trainer.checkpoint_callback.best_model_path, weights_only=True)
    assert _equal(left, saved) and not _equal(best["state_dict"], saved)
    # It stops before the last epoch, where Lightning transfers nothing.
    average = StochasticWeightAveraging(swa_lrs=0.05, swa_epoch_start=1)
    _, saved, trainer = _run(folder, tmp_path / "b", [average], epochs=9, stop_after=7)
    sums = average.state_dict()
    assert sums["n_averaged"] > 1
    parameters = {name for name, _ in trainer.lightning_module.named_parameters()}
    for name in parameters:
        torch.testing.assert_close(saved[name], sums["average_model_state"][name])
    # It never begins.
    average = StochasticWeightAveraging(swa_lrs=0.05, swa_epoch_start=8)
    with caplog.at_level(logging.WARNING):
        _, saved, trainer = _run(
            folder, tmp_path / "c", [average], epochs=9, stop_after=12
        )
    assert "before stochastic weight averaging began" in caplog.text
    best = torch.load(trainer.checkpoint_callback.best_model_path, weights_only=True)
    assert _equal(best["state_dict"], saved)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "make",
    [
        lambda: EMAWeightAveraging(decay=0.7),
        lambda: StochasticWeightAveraging(swa_lrs=0.05, swa_epoch_start=1),
    ],
)
def test_an_average_continues_with_the_run(folder, tmp_path, make):
    _, whole, _ = _run(folder, tmp_path / "whole", [make()], epochs=4)
    _, none, _ = _run(folder, tmp_path / "none", [], epochs=4)
    assert not _equal(whole, none)
    _run(folder, tmp_path / "parts", [make()], epochs=4, stop_after=4)
    last = tmp_path / "parts" / "last.ckpt"
    _, resumed, _ = _run(
        folder, tmp_path / "parts", [make()], epochs=4, ckpt_path=str(last)
    )
    for name, value in whole.items():
        torch.testing.assert_close(resumed[name], value)


def test_a_model_that_is_compiled_as_a_whole_is_explained(folder, tmp_path):
    module = module_of(folder, "gru")
    trainer = trainer_of(tmp_path, max_epochs=1, limit_train_batches=1)
    whole = module.model
    module.model = torch.compile(whole, backend="eager")
    with pytest.raises(InputError, match=r"in place, with module\.model\.compile\(\)"):
        trainer.fit(module, datamodule=data_of(folder))
    module.model = whole
    module.model.compile(backend="eager")
    trainer.fit(module, datamodule=data_of(folder))
    module.save(tmp_path / "model")
    assert (
        Model.load(tmp_path / "model").state_dict().keys() == whole.state_dict().keys()
    )


class Weighted(SiameseModule):
    """Passes on what it does not take itself."""

    def __init__(self, *, my_weight=1.0, names=("a",), **options):
        super().__init__(**options)
        self.my_weight = my_weight
        self.names = names


class Fixed(SiameseModule):
    """Decides on its encoder itself, as a class of another project might."""

    def __init__(self, source, size=3):
        super().__init__(
            {"_target_": "siamese_news.encoders.GRUEncoder", "hidden_dim": size},
            vectors=source,
        )
        self.size = size


class Decided(SiameseModule):
    """Fixes some options, and passes the others on."""

    def __init__(self, source, my_weight=1.0, **options):
        super().__init__("bag_idf", vectors=source, schedule=None, **options)
        self.my_weight = my_weight


class Kind(enum.StrEnum):
    SMALL = "small"


class Doubled(SiameseModule):
    """Changes what it gets before it passes it on, one of them under the name of an option."""

    def __init__(self, size, lr=2.0, names=(), **options):
        size *= 2
        names = [*names, "and mine"]
        super().__init__("bag_idf", lr=lr / 1000, **options)
        self.size, self.names, self.rate = size, names, lr


class Scaled(Doubled):
    """Gives its parent a number that nobody else gave."""

    def __init__(self, scale, table=None, kind=Kind.SMALL, **options):
        super().__init__(size=scale * 10, **options)
        self.table = table


class HalfTheArticles(SiameseDataModule):
    """A data module that changes what it gets, one of them under the name of an option."""

    def __init__(self, data, share=0.5, **options):
        share = share / 2
        super().__init__(data["folder"], **options)
        self.share = share


def _checkpoint(module, folder, tmp_path):
    trainer = trainer_of(tmp_path, max_epochs=1, limit_val_batches=0)
    trainer.fit(module, datamodule=data_of(folder))
    trainer.save_checkpoint(tmp_path / "own.ckpt")
    return tmp_path / "own.ckpt"


def test_a_subclass_gets_its_own_arguments_back(folder, tmp_path, caplog):
    module = Weighted(
        my_weight=7.0, names=["x", "y"], encoder="bag_idf", vectors=vectors_of(folder)
    )
    module.model.encoder.output = None
    module = Weighted(my_weight=7.0, names=["x"], **_gru(folder))
    path = _checkpoint(module, folder, tmp_path)
    loaded = Weighted.load_from_checkpoint(path)
    assert (loaded.my_weight, loaded.names) == (7.0, ["x"])
    assert loaded.hparams.my_weight == 7.0
    assert Weighted.load_from_checkpoint(path, my_weight=3.0).my_weight == 3.0
    with pytest.raises(
        InputError, match=r"got learning_rate, lrr, which Weighted does"
    ):
        Weighted.load_from_checkpoint(path, learning_rate=0.5, lrr=3)
    with pytest.raises(InputError, match=r"got encoder, which the model in the check"):
        Weighted.load_from_checkpoint(path, encoder="gru")
    with caplog.at_level(logging.WARNING):
        SiameseModule.load_from_checkpoint(path)
    assert "saved with my_weight, names, which SiameseModule does not" in caplog.text


def test_a_subclass_that_makes_its_model_itself_is_opened(folder, tmp_path):
    path = _checkpoint(Fixed(vectors_of(folder), size=5), folder, tmp_path)
    loaded = Fixed.load_from_checkpoint(path)
    assert loaded.size == 5 and loaded.model.output_dim == 5
    assert loaded.model.trained_on.articles


def _gru(folder):
    encoder = {"_target_": "siamese_news.encoders.GRUEncoder", "hidden_dim": 4}
    return {"encoder": encoder, "vectors": vectors_of(folder), "lr": 0.01}


def test_hyperparameters_are_those_that_were_used(folder, tmp_path):
    data = data_of(folder, limits={"article_tokens": 7, "post_tokens": 5}, seed=4)
    module = SiameseModule(**_gru(folder))
    logger = CSVLogger(str(tmp_path))
    trainer = trainer_of(tmp_path, max_epochs=1, logger=logger)
    trainer.fit(module, datamodule=data)
    trainer.save_checkpoint(tmp_path / "last.ckpt")
    loaded = SiameseModule.load_from_checkpoint(tmp_path / "last.ckpt")
    for each in (module, loaded):
        assert each.hparams.encoder == _gru(folder)["encoder"]
        assert each.hparams.limits == {
            "article_tokens": 7,
            "post_tokens": 5,
            "keep": "first",
        }
        assert each.hparams.lr == 0.01
    logged = logger.log_dir + "/hparams.yaml"
    assert "article_tokens: 7" in open(logged).read()
    further = SiameseModule(model=loaded.model)
    assert further.hparams.encoder["class"] == "GRUEncoder"

    opened = SiameseDataModule.load_from_checkpoint(tmp_path / "last.ckpt")
    assert (opened.data, opened.seed) == (data.data, 4)
    assert opened.hparams == data.hparams and opened.sizes() == data.sizes()


def test_a_subclass_that_fixes_an_option_is_opened(folder, tmp_path):
    module = Decided(vectors_of(folder), my_weight=7.0, lr=0.25)
    loaded = Decided.load_from_checkpoint(_checkpoint(module, folder, tmp_path))
    assert (loaded.my_weight, loaded.lr) == (7.0, 0.25)
    with pytest.raises(InputError, match="Decided takes other arguments.*schedule"):
        Decided.load_from_checkpoint(tmp_path / "own.ckpt", schedule="cosine")
    states = (made.model.state_dict() for made in (module, loaded))
    torch.testing.assert_close(*states, rtol=0, atol=0)


def test_a_subclass_gets_back_what_its_caller_gave(folder, tmp_path, caplog):
    names = ["x"]
    module = Doubled(4, lr=30.0, names=names, vectors=vectors_of(folder))
    names.append("later")
    assert (module.hparams.lr, module.hparams.size) == (0.03, 4)
    path = _checkpoint(copy.deepcopy(module), folder, tmp_path)
    loaded = Doubled.load_from_checkpoint(path)
    assert (loaded.size, loaded.rate, loaded.lr) == (8, 30.0, 0.03)
    assert loaded.names == ["x", "and mine"]

    module = Scaled(3, vectors=vectors_of(folder))
    loaded = Scaled.load_from_checkpoint(_checkpoint(module, folder, tmp_path))
    assert loaded.size == 60 and "objects" not in caplog.text
    module = Scaled(3, table=torch.ones(2), vectors=vectors_of(folder))
    path = _checkpoint(module, folder, tmp_path)
    assert Scaled.load_from_checkpoint(path, table="mine").table == "mine"
    assert "objects" not in caplog.text
    assert Scaled.load_from_checkpoint(path).table is None
    assert "was made with objects as table, which no checkpoint holds" in caplog.text
    module = Doubled(np.ones(2), vectors=vectors_of(folder))
    path = _checkpoint(module, folder, tmp_path)
    with pytest.raises(
        InputError, match="Doubled takes .* options given here .*'size'"
    ):
        Doubled.load_from_checkpoint(path)

    described = {"folder": str(folder / "pairs.csv")}
    data = HalfTheArticles(
        described, share=0.25, seed=np.int64(4), batching={"articles_per_batch": 3}
    )
    trainer = trainer_of(tmp_path, max_epochs=1, limit_val_batches=0)
    trainer.fit(module, datamodule=data)
    trainer.save_checkpoint(path)
    opened = HalfTheArticles.load_from_checkpoint(path)
    assert (opened.share, opened.seed, opened.data) == (0.125, 4, data.data)
    assert opened.data["batching"]["articles_per_batch"] == 3


class Mixed:
    """Of another library: takes whatever comes, and passes it on."""

    def __init__(self, *positional, extra=0, **options):
        super().__init__(*positional, **options)
        self.extra = extra


class Idiomatic(Mixed, SiameseModule):
    """Saves its arguments as those of Lightning's documentation."""

    def __init__(self, *sizes, table=None, **options):
        super().__init__("bag_idf", **options)
        self.save_hyperparameters()
        self.sizes = sizes


class IdiomaticData(SiameseDataModule):
    def __init__(self, data, table=None, **options):
        super().__init__(data, **options)
        self.save_hyperparameters()


def test_objects_that_a_subclass_saves_itself_close_no_checkpoint(folder, tmp_path):
    module = Idiomatic(
        5, 6, table=np.ones(3), extra=7, lr=0.25, vectors=vectors_of(folder)
    )
    data = IdiomaticData(folder / "pairs.csv", table=Kind.SMALL)
    trainer = trainer_of(tmp_path, max_epochs=1, limit_val_batches=0)
    trainer.fit(module, datamodule=data)
    trainer.save_checkpoint(tmp_path / "own.ckpt")
    loaded = Idiomatic.load_from_checkpoint(tmp_path / "own.ckpt", table="mine")
    assert (loaded.sizes, loaded.extra, loaded.lr) == ((5, 6), 7, 0.25)
    opened = IdiomaticData.load_from_checkpoint(
        tmp_path / "own.ckpt", data=folder / "pairs.csv"
    )
    assert opened.data == data.data


def test_options_of_omegaconf_are_plain_values(folder, tmp_path):
    loss = {"_target_": "pytorch_metric_learning.losses.NTXentLoss"}
    target = "siamese_news.training.objective.SiameseObjective"
    options = OmegaConf.create(
        {
            "objective": {"_target_": target, "loss": loss, "matryoshka": [2]},
            "batching": {"articles_per_batch": 2},
            "train": [{"folder": "stories", "split": "train"}],
            "vectors": vectors_of(folder),
            "names": ["x", "${..lr}"],
            "lr": 0.25,
        }
    )
    described = {name: options.pop(name) for name in ("batching", "train")}
    assert SiameseDataModule("stories", **described).sizes().startswith("train 28")
    module = Weighted(**(_gru(folder) | dict(options)))
    loaded = Weighted.load_from_checkpoint(_checkpoint(module, folder, tmp_path))
    assert (loaded.names, loaded.lr) == (["x", 0.25], 0.25)
    assert loaded.objective.matryoshka == [2]
    assert type(loaded.objective.loss).__name__ == "NTXentLoss"


def test_numbers_of_numpy_are_numbers(folder, tmp_path):
    lr, weight = np.logspace(-2, -1, 2)
    module = Weighted(my_weight=weight, **(_gru(folder) | {"lr": lr}))
    data = data_of(folder, seed=np.int64(3))
    trainer = trainer_of(tmp_path, max_epochs=1, limit_val_batches=0)
    trainer.fit(module, datamodule=data)
    trainer.save_checkpoint(tmp_path / "numpy.ckpt")
    loaded = Weighted.load_from_checkpoint(tmp_path / "numpy.ckpt")
    assert (loaded.lr, loaded.my_weight) == (0.01, 0.1)
    opened = SiameseDataModule.load_from_checkpoint(tmp_path / "numpy.ckpt")
    assert opened.seed == 3
