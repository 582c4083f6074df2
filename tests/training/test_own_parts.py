"""Parts of one's own: encoders by class and by name, losses, callbacks and their figures."""

import copy
import csv
import pickle
import sys
from functools import partial

import numpy as np
import pytest
import torch
from pytorch_lightning.callbacks import EMAWeightAveraging, ModelCheckpoint
from tests.commands import python_m
from tests.training.test_contract import (
    data_of,
    folder,  # noqa: F401  (a fixture)
    trainer_of,
    vectors_of,
)
from torchmetrics.retrieval import (
    RetrievalHitRate,
    RetrievalMAP,
    RetrievalNormalizedDCG,
)

from siamese_news import InputError, SiameseDataModule, SiameseModule
from siamese_news.encoders import (
    CNNEncoder,
    Encoder,
    StarEncoder,
    TwoHeadEncoder,
    build_encoder,
    register_encoder,
)
from siamese_news.model import Model
from siamese_news.sparsity import AdaptiveEntmax, Softmax
from siamese_news.training import link, negatives
from siamese_news.training.build import instantiate
from siamese_news.training.callbacks import selection
from siamese_news.training.evaluator import Evaluator
from siamese_news.training.module import ranking_figures
from siamese_news.training.plain_options import composed

pytestmark = pytest.mark.filterwarnings("ignore")
HITS = [
    "+module.metrics.hits._target_=torchmetrics.retrieval.RetrievalHitRate",
    "+module.metrics.hits.top_k=3",
]
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


def test_an_instance_trains_and_opens(folder, tmp_path):  # noqa: F811
    sys.modules.setdefault(__name__, sys.modules[Middle.__module__])
    _fitted(folder, tmp_path / "own", Middle(8, 3, bias=False))
    sparse = partial(AdaptiveEntmax, init="uniform")
    star = StarEncoder(input_dim=8, heads=2, head_dim=3, sparsity=sparse, dropout=0.0)
    _fitted(folder, tmp_path / "star", star)
    _fitted(folder, tmp_path / "cnn", CNNEncoder(input_dim=8, filters=3, ngrams=(1, 2)))
    pickle.loads(
        pickle.dumps(
            StarEncoder(input_dim=8, sparsity=lambda heads: Softmax(heads=heads))
        )
    )
    with pytest.raises(
        InputError, match="has input_dim=5, but the word vectors have 8"
    ):
        SiameseModule(Middle(5), vectors=vectors_of(folder))
    with pytest.raises(InputError, match="is a copy, which does not know"):
        SiameseModule(copy.deepcopy(Middle(8)), vectors=vectors_of(folder))
    held = TwoHeadEncoder(input_dim=8, context=partial(StarEncoder, heads=2))
    with pytest.raises(InputError, match="was made with context=.*no model folder can"):
        SiameseModule(held, vectors=vectors_of(folder))


def test_metrics_of_torchmetrics_read_the_same_ranking(folder, tmp_path):  # noqa: F811
    hits = {"_target_": "torchmetrics.retrieval.RetrievalHitRate", "top_k": 2}
    module = SiameseModule(
        {"_target_": "siamese_news.encoders.GRUEncoder", "hidden_dim": 3},
        vectors=vectors_of(folder),
        metrics={"ap": RetrievalMAP(), "hit": hits, "ndcg": RetrievalNormalizedDCG()},
    )
    best = ModelCheckpoint(tmp_path, monitor="dev/hit", mode="max")
    trainer = trainer_of(tmp_path, callbacks=[best], max_epochs=2)
    data = data_of(folder)
    trainer.fit(module, datamodule=data)
    (dev,) = trainer.validate(module, datamodule=data, verbose=False)
    assert dev["dev/ap"] == pytest.approx(dev["dev/map"], abs=1e-6)
    scores = torch.cat(trainer.predict(module, datamodule=data_of(folder)), 1)
    grades = torch.tensor(
        [
            [data.test.qrels[a.id].get(p.id, 0) for p in data.test.posts]
            for a in data.test.articles
        ]
    )
    rows = torch.arange(len(grades))[:, None].expand_as(grades)
    (figures,) = trainer.test(module, datamodule=data, verbose=False)
    for name, metric in (
        ("hit", RetrievalHitRate(top_k=2)),
        ("ndcg", RetrievalNormalizedDCG()),
    ):
        # Scores above 0: torchmetrics takes a negative one for irrelevant.
        metric.update((scores + 2).flatten(), grades.flatten(), indexes=rows.flatten())
        assert figures[f"test/{name}"] == pytest.approx(float(metric.compute()))


def test_a_callback_evaluates_on_any_set(folder, tmp_path):  # noqa: F811
    module = SiameseModule(
        {"_target_": "siamese_news.encoders.GRUEncoder", "hidden_dim": 3},
        vectors=vectors_of(folder),
    )
    other = Evaluator("stories", split="dev", name="stories")
    best = ModelCheckpoint(tmp_path, monitor="stories/map", mode="max")
    trainer = trainer_of(tmp_path, callbacks=[other, best], max_epochs=1)
    trainer.fit(module, datamodule=data_of(folder))
    expected = ranking_figures(module.model, other.evaluation)
    assert {"map", "micro_ap", "auc"} <= expected.keys()
    for name, value in expected.items():
        assert trainer.callback_metrics[f"stories/{name}"] == pytest.approx(value)
    assert best.best_model_score == pytest.approx(expected["map"])
    with pytest.raises(InputError, match="no split 'nowhere'|nowhere"):
        Evaluator("stories", split="nowhere")


@pytest.mark.parametrize("averaged_first", [True, False])
def test_a_callback_evaluates_averaged_weights(folder, tmp_path, averaged_first):  # noqa: F811
    module = SiameseModule(
        {"_target_": "siamese_news.encoders.GRUEncoder", "hidden_dim": 3},
        vectors=vectors_of(folder),
        lr=0.5,
    )
    other = Evaluator("stories", split="dev", name="stories")
    callbacks = [EMAWeightAveraging(decay=0.9), other]
    trainer = trainer_of(
        tmp_path, callbacks=callbacks if averaged_first else callbacks[::-1]
    )
    trainer.fit(module, datamodule=data_of(folder))
    # At the end the averages are the weights.
    for name, value in ranking_figures(module.model, other.evaluation).items():
        assert trainer.callback_metrics[f"stories/{name}"] == pytest.approx(value)


def test_a_callback_evaluates_on_a_table_with_other_names(tmp_path):
    table = tmp_path / "pairs.csv"
    table.write_text(
        "headline,tweet,split\nFlood in Harlow,a river in my cellar,test\n"
        "Tea is late,where is my tea,test\n"
    )
    columns = {"article": "headline", "post": "tweet"}
    assert len(Evaluator(str(table), columns=columns).evaluation.posts) == 2
    with pytest.raises(InputError, match="columns: got 'tweet'; expected the names"):
        SiameseDataModule(table, columns="tweet")


def test_hard_negatives_are_a_table(tmp_path):
    options = ["task=negatives", "data.hard_negatives.per_article=2"]
    config = composed(*options)
    row = negatives.run(config, tmp_path)
    with (tmp_path / "negatives.csv").open(encoding="utf-8", newline="") as stream:
        table = list(csv.DictReader(stream))
    train = SiameseDataModule("stories").train_set
    assert row["rows"] == len(table)
    relevant = {
        article.id: {train.posts[post].id for post in posts}
        for article, posts in zip(train.articles, train.posts_of, strict=True)
    }
    assert {line["article_id"] for line in table} == relevant.keys()
    for article, own in relevant.items():
        lines = [line for line in table if line["article_id"] == article]
        assert {line["post_id"] for line in lines} == own
        mined = {line["negative_id"] for line in lines}
        assert len(mined) == 2 and not mined & own
    config["data"]["hard_negatives"]["per_article"] = 0
    with pytest.raises(InputError, match="per_article is 0; expected how many"):
        negatives.run(config, tmp_path / "none")


def without_its_package(**_):
    raise ModuleNotFoundError("Requirement 'mlflow>=1' not met. Try pip install mlflow")


def test_a_logger_without_its_package_names_it():
    sys.modules.setdefault(__name__, sys.modules[Middle.__module__])
    option = {"_target_": f"{__name__}.without_its_package"}
    with pytest.raises(
        InputError, match=r"logger\.mlflow: Requirement 'mlflow>=1' not"
    ):
        instantiate(option, "logger.mlflow")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["task.monitor=dev/mapp"], r"task\.monitor=dev/mapp: no validation logs"),
        (["task.monitor=dev/hits"], "expected one of dev/auc, dev/map, dev/micro_ap"),
        pytest.param([*HITS, "task.monitor=dev/hits"], None, marks=pytest.mark.slow),
        (
            ["task.monitor=dev/odd", "data.dev=null"],
            "nothing is validated, because data",
        ),
        pytest.param(
            ["task.monitor=train/loss", "task.mode=min"], None, marks=pytest.mark.slow
        ),
    ],
)
def test_a_misspelled_monitor_is_refused_before_training(tmp_path, options, message):
    config = composed(
        *("encoder=bag_idf", "encoder.output_dim=8", "task.epochs=1"),
        *("task.bootstrap=0", "vectors.max_words=4000", "logger=none", *options),
    )
    if message is None:
        row = link.run(config | {"labels": {}}, tmp_path)
        assert options[-1].partition("=")[2] in row or "train/loss" in row
        return
    with pytest.raises(InputError, match=message):
        link.run(config | {"labels": {}}, tmp_path)
    assert not list(tmp_path.rglob("*.ckpt"))


class Odd(SiameseModule):
    """Logs a figure that is best after the second of three epochs."""

    def training_step(self, batch, batch_idx):
        self.log("train/odd", [3.0, 1.0, 2.0][self.current_epoch])
        return super().training_step(batch, batch_idx)


def test_without_a_validation_a_figure_of_training_selects(tmp_path):
    sys.modules.setdefault(__name__, sys.modules[Middle.__module__])
    config = composed(
        *("encoder=bag_idf", "encoder.output_dim=8", "task.epochs=5", "data.dev=null"),
        *("task.monitor=train/odd", "task.mode=min", "task.patience=1", "logger=none"),
        *("task.bootstrap=0", "vectors.max_words=4000"),
        f"module._target_={__name__}.Odd",
    )
    row = link.run(config | {"labels": {}}, tmp_path)
    assert (row["epochs"], row["train/odd"]) == (3, 1.0)
    best = torch.load(tmp_path / "checkpoints" / "best.ckpt", weights_only=True)
    assert best["epoch"] == 1
    saved = Model.load(tmp_path / "model").state_dict()
    name = "encoder.output.weight"
    torch.testing.assert_close(saved[name], best["state_dict"][f"model.{name}"])


@pytest.mark.parametrize("monitor", [None, "train/loss"])
@pytest.mark.parametrize("mode", ["min", "max"])
def test_checkpoints_are_told_apart(tmp_path, monitor, mode):
    best, newest, *_ = selection(
        tmp_path, monitor=monitor, patience=None, keep_interrupted=False, mode=mode
    )
    assert best.state_key != newest.state_key
