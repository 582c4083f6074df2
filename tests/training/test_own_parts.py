"""Parts of one's own: encoders by class and by name, losses, callbacks and their figures."""

import sys

import numpy as np
import pytest
import torch
from tests.commands import python_m
from tests.training.test_contract import (
    data_of,
    folder,  # noqa: F401  (a fixture)
    trainer_of,
    vectors_of,
)

from siamese_news import InputError, SiameseModule
from siamese_news.encoders import (
    CNNEncoder,
    Encoder,
    build_encoder,
    register_encoder,
)
from siamese_news.model import Model
from siamese_news.training.plain_options import composed

pytestmark = pytest.mark.filterwarnings("ignore")
OWN = '''
import torch
from pytorch_lightning.callbacks import Callback
from siamese_news.encoders import Encoder


class MaxEncoder(Encoder):
    def __init__(self, *, input_dim, output_dim=6, scale=1.0):
        super().__init__(input_dim=input_dim, output_dim=output_dim)
        self.linear = torch.nn.Linear(input_dim, output_dim)
        self.scale = scale

    def forward(self, embeddings, mask, weights=None):
        states = self.linear(embeddings).masked_fill(~mask[:, :, None], -1e9)
        return self.scale * states.amax(1).clamp(min=-100)


class Distance(torch.nn.Module):
    """Pulls an article and its posts together and all else apart."""

    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = torch.nn.Parameter(torch.tensor(margin))

    def forward(self, vectors, labels, indices=None, ref_emb=None, ref_labels=None):
        distances = torch.cdist(vectors, ref_emb)
        same = labels[:, None] == ref_labels[None]
        return distances[same].mean() + (self.margin - distances[~same]).relu().mean()


class Say(Callback):
    def __init__(self, text):
        self.text = text

    def on_fit_start(self, trainer, pl_module):
        print(f"own callback: {self.text}", flush=True)

    def on_validation_epoch_end(self, trainer, pl_module):
        pl_module.log("mine", 4.5)
'''


class Middle(Encoder):
    """The middle token, by a linear map."""

    def __init__(self, input_dim, size=4, *, bias=True):
        super().__init__(input_dim=input_dim, output_dim=size)
        self.linear = torch.nn.Linear(input_dim, size, bias=bias)

    def forward(self, embeddings, mask, weights=None):
        place = (mask.sum(1) // 2).clamp(max=max(mask.shape[1] - 1, 0))
        picked = embeddings[torch.arange(len(mask)), place]
        return self.linear(picked * mask.any(1, keepdim=True))


def _fitted(folder, tmp_path, encoder):  # noqa: F811
    module = SiameseModule(encoder, vectors=vectors_of(folder), objective="ntxent")
    trainer = trainer_of(tmp_path, max_epochs=1)
    trainer.fit(module, datamodule=data_of(folder))
    trainer.save_checkpoint(tmp_path / "own.ckpt")
    module.save(tmp_path / "model")
    vectors = module.model.eval().encode_posts(["word1 word5 word9"])
    for opened in (
        Model.load(tmp_path / "model"),
        SiameseModule.load_from_checkpoint(tmp_path / "own.ckpt").model.eval(),
    ):
        assert type(opened.encoder) is type(module.model.encoder)
        np.testing.assert_allclose(
            opened.encode_posts(["word1 word5 word9"]), vectors, atol=1e-6
        )
    return module


def test_a_class_and_a_registered_name_train_and_open(folder, tmp_path):  # noqa: F811
    here = {"_target_": f"{__name__}.Middle", "size": 5}
    sys.modules.setdefault(__name__, sys.modules[Middle.__module__])
    _fitted(folder, tmp_path / "class", here)
    register_encoder(Middle)
    assert composed("encoder=Middle")["encoder"]["size"] == 4
    _fitted(folder, tmp_path / "name", "Middle")
    assert build_encoder("Middle", input_dim=3, size=2).output_dim == 2
    for wrong in (torch.nn.Linear, CNNEncoder):
        with pytest.raises(InputError, match="expected a class of your own"):
            register_encoder(wrong)


def test_nothing_from_a_folder_is_imported(tmp_path, monkeypatch):
    (tmp_path / "trap_of_a_stranger.py").write_text("raise SystemExit('it ran')\n")
    monkeypatch.syspath_prepend(tmp_path)
    config = {"class": "Trap", "module": "trap_of_a_stranger", "input_dim": 3}
    with pytest.raises(InputError, match="is not imported here.*import it before you"):
        build_encoder(config)
    with pytest.raises(InputError, match="is not imported here"):
        build_encoder({"class": "Linear", "module": "torch.nn", "input_dim": 3})


def test_own_parts_on_the_command_line(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(OWN)
    options = [
        "~encoder",
        *("+encoder._target_=mine.MaxEncoder", "+encoder.scale=2.0"),
        *("~objective.loss", "+objective.loss._target_=mine.Distance"),
        "objective.miner=null",
        *("+callbacks.say._target_=mine.Say", "+callbacks.say.text=hello"),
        *("task.monitor=mine", "task.mode=min"),
        *("task.epochs=1", "task.bootstrap=0", "logger=csv", "hydra.run.dir=out"),
        *("vectors.max_words=5000", "data.limits.article_tokens=60"),
        *("trainer.limit_train_batches=2", "trainer.threads=1"),
    ]
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = python_m("siamese_news.train", *options, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "own callback: hello" in done.stdout
    assert '"mine": 4.5' in (tmp_path / "out" / "row.json").read_text()
    config = (tmp_path / "out" / "model" / "config.json").read_text()
    assert '"module": "mine"' in config
    with pytest.raises(InputError, match="module 'mine', which is not imported here"):
        Model.load(tmp_path / "out" / "model")
