"""What the two classes refuse, each in one line, and the lines of the documentation."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from siamese_news import SiameseDataModule, SiameseModule
from siamese_news.encoders import ENCODERS, Encoder
from siamese_news.errors import InputError

from .test_contract import data_of, folder, module_of, trainer_of, vectors_of  # noqa: F401

pytestmark = pytest.mark.filterwarnings("ignore")
DOCS = Path(__file__).parents[2] / "docs"


class Wrong(Encoder):
    """Says that its vectors are wider than they are."""

    def __init__(self, *, input_dim):
        super().__init__(input_dim=input_dim, output_dim=input_dim + 1)

    def forward(self, embeddings, mask, weights=None):
        return embeddings.sum(1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such checkpoint; expected …/checkpoints/last.ckpt"),
        (b"not a checkpoint", "is damaged, or not a checkpoint of siamese_news"),
        (
            {"state_dict": {}},
            "is a checkpoint of another program, or of an earlier version",
        ),
        (
            {"state_dict": {}, "siamese_news": {"format": 9}},
            "has the format 9, expected 3; ",
        ),
        (
            {"state_dict": {}, "siamese_news": {"format": 3}},
            "its parts do not fit together",
        ),
        (
            {"state_dict": torch.nn.Linear},
            "is damaged, or not a checkpoint of siamese_news",
        ),
    ],
)
def test_a_checkpoint_that_is_none_of_ours_is_named(tmp_path, content, message):
    path = tmp_path / "x.ckpt"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        torch.save(content, path)
    with pytest.raises(InputError, match=message) as raised:
        SiameseModule.load_from_checkpoint(path)
    assert str(raised.value).startswith(str(path)) and "\n" not in str(raised.value)


def test_data_and_module_with_other_vectors_are_refused(folder, tmp_path):  # noqa: F811
    module = module_of(folder, "gru")
    other = {**vectors_of(folder), "unit_length": True}
    with pytest.raises(
        InputError, match=r"the data module has vectors='.*vectors.txt', the modul"
    ):
        trainer_of(tmp_path).fit(module, datamodule=data_of(folder, vectors=other))
    fewer = SiameseModule(
        module.hparams.encoder, vectors={**vectors_of(folder), "max_words": 30}
    ).model
    with pytest.raises(
        InputError, match=r"has the words of another model \(30\) than the module"
    ):
        trainer_of(tmp_path).fit(module, datamodule=data_of(folder, vectors=fewer))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoder": "lstm"}, "encoder=lstm: does not exist; expected one of bag, "),
        (
            {"encoder": "gru", "objective": "hinge"},
            "objective=hinge: does not exist; expected one",
        ),
        (
            {"encoder": "gru", "schedule": "never"},
            "task/schedule=never: does not exist; expected",
        ),
        (
            {"encoder": {"_target_": f"{__name__}.Wrong"}},
            r"\(1, 8\), but its output_dim is 9",
        ),
        (
            {"encoder": {"_target_": "torch.nn.Identity"}},
            "is not derived from siamese_news.encod",
        ),
        (
            {"encoder": {"heads": 4}},
            r"encoder is .*'heads': 4.*; expected the name of a file in co",
        ),
        (
            {"encoder": torch.nn.Identity()},
            r"encoder is Identity\(\); expected the name",
        ),
        (
            {"encoder": "gru", "schedule": 3},
            "schedule is 3; expected the name of a file in conf/t",
        ),
    ],
)
def test_impossible_modules_are_refused(folder, monkeypatch, options, message):  # noqa: F811
    monkeypatch.setitem(ENCODERS, "Wrong", Wrong)
    with pytest.raises(InputError, match=message):
        SiameseModule(**options, vectors=vectors_of(folder))


def test_a_name_of_data_that_does_not_exist_is_refused(monkeypatch):
    monkeypatch.delenv("SIAMESE_NEWS_DATA", raising=False)
    with pytest.raises(
        InputError, match="the data 'storys' is looked for in the folder"
    ):
        SiameseDataModule("storys")
    with pytest.raises(
        InputError, match=r"data\.folder: is unknown; expected in data one of name, "
    ):
        SiameseDataModule("stories", folder="x")


def test_a_package_that_is_imported_is_light():
    code = "import sys, siamese_news; print('torch' in sys.modules, 'hydra' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False False\n", done.stderr


def test_the_help_names_every_group_with_its_options(tmp_path):
    from tests.commands import python_m

    done = python_m("siamese_news.train", "--help", folder=tmp_path)
    assert done.returncode == 0 and done.stdout.count("siamese-train ") >= 3
    conf = DOCS.parent / "conf"
    for group in {
        path.parent.relative_to(conf).as_posix() for path in conf.rglob("*/*.yaml")
    }:
        assert re.search(rf"^  (.*\s)?{group}\s", done.stdout, flags=re.M), group
        if group != "hydra":
            assert re.search(rf"^{group}: \w", done.stdout, flags=re.M), group


def test_a_mapping_without_a_class_has_what_differs(folder):  # noqa: F811
    vectors = vectors_of(folder)
    small = {"_target_": "siamese_news.encoders.GRUEncoder", "hidden_dim": 3}
    supcon = {"_target_": "pytorch_metric_learning.losses.SupConLoss"}
    module = SiameseModule(
        small,
        vectors=vectors,
        objective={"loss": supcon, "anchors": "both"},
        optimizer={"weight_decay": 0.5},
        terms={"bigram_weight": 0.25},
        limits={"post_tokens": 7},
    )
    assert type(module.objective.loss).__name__ == "SupConLoss"
    assert type(module.objective.miner).__name__ == "MultiSimilarityMiner"
    saved = module.hparams
    # A class takes the place of the other class, with none of its values.
    assert saved.objective["loss"] == supcon and saved.objective["anchors"] == "both"
    assert saved.optimizer["weight_decay"] == 0.5 and module.lr == 0.001
    assert saved.terms["power"] == 1.5 and saved.terms["bigram_weight"] == 0.25
    assert saved.limits == {"article_tokens": 512, "post_tokens": 7, "keep": "first"}
    module = SiameseModule(small, vectors=vectors, objective={"loss": {"margin": 0.2}})
    assert module.objective.loss.margin == 0.2
    assert module.objective.loss.distance.power == 2
    for options, message in (
        (
            {"objective": {"los": {}}},
            "objective.los: is unknown; expected in objective",
        ),
        ({"optimizer": {"lr": "high"}}, "task.optimizer.lr=high: expected a number"),
        ({"schedule": {"warmup": 0.1}}, "task.schedule: names no class"),
        ({"vectors": {"sauce": "x"}}, "vectors.sauce: is unknown"),
        ({"tokenizer": {"emoji": "drop"}}, "tokenizer.emoji: is unknown"),
        ({"limits": {"posts": 30}}, "limits.posts is unknown"),
        ({"encoder": {"heads": 3}}, "encoder is {'heads': 3}; expected the name"),
    ):
        with pytest.raises(InputError, match=message):
            SiameseModule(**({"encoder": small, "vectors": vectors} | options))
