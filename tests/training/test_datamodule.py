import json

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import ModelCheckpoint

from siamese_news.errors import InputError
from siamese_news.training.datamodule import SiameseDataModule


class Words:
    """Ids by length of the word, or far above 2**31."""

    def __init__(self, offset=0):
        self.offset = offset

    def ids(self, tokens):
        return np.array([len(token) + self.offset for token in tokens], dtype=np.int64)


@pytest.fixture
def data(tmp_path, monkeypatch):
    folder = tmp_path / "made"
    (folder / "qrels").mkdir(parents=True)
    articles, posts, rows = [], [], {"train": [], "dev": [], "test": []}
    for a in range(16):
        split = "train" if a < 12 else ("dev" if a < 14 else "test")
        text = " ".join("x" * (1 + (a * i) % 9) for i in range(1, 4 + a))
        articles.append({"_id": f"a{a}", "title": "T", "text": text})
        for p in range(2 + a % 4):
            posts.append(
                {"_id": f"p{a}-{p}", "text": f"{'y' * (a + 1)} {'z' * (p + 1)}"}
            )
            rows[split].append(f"a{a}\tp{a}-{p}\t1\n")
    for name, records in (("queries", articles), ("corpus", posts)):
        (folder / f"{name}.jsonl").write_text(
            "".join(json.dumps(r) + "\n" for r in records)
        )
    for split, lines in rows.items():
        (folder / "qrels" / f"{split}.tsv").write_text("".join(lines))
    monkeypatch.setenv("SIAMESE_NEWS_DATA", str(tmp_path))
    return {
        "name": "made",
        "train": [{"folder": "made", "split": "train"}],
        "dev": {"folder": "made", "split": "dev"},
        "test": None,
        "split": {"by": "given", "fractions": [0.8, 0.1, 0.1], "seed": 0},
        "batching": {
            "kind": "articles",
            "articles_per_batch": 4,
            "posts_per_article": 2,
            "chunks_per_epoch": None,
            "pairs_per_batch": 5,
        },
        "limits": {"article_tokens": 8, "post_tokens": None, "keep": "first"},
    }


class Worded(SiameseDataModule):
    """Data whose words have ids by a rule instead of a vocabulary."""

    words = Words()

    def _words(self):
        return str.split, self.words


def module_of(data, **options):
    module = Worded(data, seed=3, **options)
    module.setup("fit")
    return module


class Recorder(pl.LightningModule):
    """Notes each batch it is trained on; can fail at a step."""

    def __init__(self, *, fail_at=None, peek=False):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.seen = []
        self.fail_at = fail_at
        self.peek = peek

    def training_step(self, batch, batch_idx):
        if self.fail_at is not None and self.global_step == self.fail_at:
            raise KeyboardInterrupt
        self.seen.append(
            (
                self.current_epoch,
                batch["post_ids"].tolist(),
                batch["article_labels"].tolist(),
            )
        )
        return self.layer(batch["post_labels"].float().mean().view(1, 1)).sum() * 1e-3

    def validation_step(self, batch, batch_idx):
        return None

    def configure_optimizers(self):
        if self.peek:
            assert self.trainer.estimated_stepping_batches > 0
        return torch.optim.SGD(self.parameters(), lr=0.1)


def fit(model, module, folder, *, resume=None, validate=False, limit=1.0, when="step"):
    saved = {"step": {"every_n_train_steps": 1}, "epoch": {"every_n_epochs": 1}}
    saved["train_end"] = {"every_n_epochs": 1, "save_on_train_epoch_end": True}
    checkpoint = ModelCheckpoint(
        dirpath=folder,
        save_top_k=-1,
        filename="{step}",
        enable_version_counter=False,
        **saved[when],
    )
    if validate:
        module.val_dataloader = lambda: torch.utils.data.DataLoader([1.0])
    trainer = pl.Trainer(
        max_epochs=3,
        limit_train_batches=limit,
        accelerator="cpu",
        devices=1,
        logger=False,
        callbacks=[checkpoint],
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    try:
        trainer.fit(model, datamodule=module, ckpt_path=resume, weights_only=True)
    except (KeyboardInterrupt, SystemExit):
        pass


# (what makes up a batch, options of `fit`)
RESUMED = [
    ("articles", {"limit": 3}),
    ("pairs", {}),
    ("articles", {}),
    ("articles", {"validate": True}),
    ("articles", {"when": "epoch", "validate": True}),
    ("articles", {"when": "train_end", "validate": True}),
    ("pairs", {"when": "epoch"}),
]


@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("kind", "options", "workers"),
    [
        *((*case, 0) for case in RESUMED),
        *((*case, 1) for case in RESUMED[:2]),
        # Each of its fits starts processes.
        *(pytest.param(*case, 1, marks=pytest.mark.slow) for case in RESUMED[2:]),
    ],
)
def test_a_run_resumes_with_the_next_batch(data, tmp_path, kind, options, workers):
    data["batching"]["kind"] = kind
    whole = Recorder(peek=True)
    module = module_of(data, num_workers=workers)
    fit(whole, module, tmp_path / "whole", **options)
    per_epoch = options.get("limit", len(module.train_dataloader()))
    assert per_epoch >= 3
    assert len(whole.seen) == 3 * per_epoch
    # Within the first epoch, at its end, at the start and in the middle of the second.
    steps = (2, per_epoch, per_epoch + 1, 2 * per_epoch - 1)
    for step in (per_epoch, 2 * per_epoch) if "when" in options else steps:
        rest = Recorder(peek=True)
        resume = tmp_path / "whole" / f"step={step}.ckpt"
        again = module_of(data, num_workers=workers)
        fit(rest, again, tmp_path / f"rest{step}", resume=resume, **options)
        assert rest.seen == whole.seen[step:], step


@pytest.mark.filterwarnings("ignore")
def test_an_interrupted_run_is_as_good_as_a_whole_one(data, tmp_path):
    whole = Recorder()
    fit(whole, module_of(data), tmp_path / "whole")
    first = Recorder(fail_at=5)
    fit(first, module_of(data, num_workers=1), tmp_path / "first")
    second = Recorder(fail_at=9)
    fit(
        second,
        module_of(data),
        tmp_path / "second",
        resume=tmp_path / "first" / "step=5.ckpt",
    )
    third = Recorder()
    fit(
        third,
        module_of(data),
        tmp_path / "third",
        resume=tmp_path / "second" / "step=9.ckpt",
    )
    assert first.seen + second.seen + third.seen == whole.seen
    assert len({str(batch) for _, *batch in whole.seen}) == len(whole.seen)


@pytest.mark.filterwarnings("ignore")
def test_resuming_in_other_data_is_refused(data, tmp_path):
    fit(Recorder(), module_of(data), tmp_path / "whole")
    resume = tmp_path / "whole" / "step=2.ckpt"
    other = {**data, "name": "other"}
    with pytest.raises(InputError, match="name 'made', this one has 'other'"):
        fit(Recorder(), module_of(other), tmp_path / "b", resume=resume)
    finer = {**data, "batching": {**data["batching"], "articles_per_batch": 2}}
    with pytest.raises(InputError, match="batches per epoch"):
        fit(Recorder(), module_of(finer), tmp_path / "c", resume=resume)


class Note(Recorder):
    """Writes the sizes and labels of each batch of each process to a file."""

    folder = None

    def on_train_end(self):
        (self.folder / f"{self.global_rank}.json").write_text(json.dumps(self.seen))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["articles", "pairs"])
def test_two_processes_share_every_batch(data, tmp_path, kind):
    data["batching"]["kind"] = kind
    model = Note()
    model.folder = tmp_path
    module = module_of(data)
    trainer = pl.Trainer(
        max_epochs=2,
        accelerator="cpu",
        devices=2,
        strategy="ddp_fork",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, datamodule=module)
    ranks = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1)]
    assert len(ranks[0]) == len(ranks[1]) >= 4
    for (epoch, posts, articles), (epoch2, posts2, articles2) in zip(
        *ranks, strict=True
    ):
        assert epoch == epoch2
        assert len(posts) == len(posts2)
        assert len(articles) == len(articles2)
        assert posts != posts2
        assert kind == "pairs" or not set(articles) & set(articles2)


def test_batches_and_sets(data):
    module = module_of(data)
    assert module.test is None
    assert module.dev is not None
    assert [a.id for a in module.dev.articles] == ["a12", "a13"]
    assert module.dev.qrels["a12"] == {"p12-0": 1, "p12-1": 1}
    assert {article.id for article in module.train_set.articles} == {
        f"a{n}" for n in range(12)
    }
    assert len({post.id for post in module.train_set.posts}) == 42
    assert len(list(module.train_set.texts())) == 12 + 42
    seen = []
    for batch in module.train_dataloader():
        articles = batch["article_labels"].tolist()
        posts = batch["post_labels"].tolist()
        assert len(set(articles)) == len(articles) == len(batch["article_ids"]) <= 4
        assert set(posts) == set(articles)
        assert batch["article_ids"].shape[1] <= 8
        seen += posts
    assert sorted(seen) == [a for a in range(12) for _ in range(2 + a % 4)]


@pytest.mark.parametrize(
    ("keep", "expected"), [("first", [1, 2, 3]), ("last", [3, 4, 5])]
)
def test_limits_keep_the_end_they_name(data, keep, expected):
    data["limits"].update(article_tokens=3, keep=keep)
    for batch in module_of(data).train_dataloader():
        labels = batch["article_labels"].tolist()
        if 1 in labels:
            # Title "T", then words of 2, 3, 4 and 5 letters.
            assert batch["article_ids"][labels.index(1)].tolist() == expected


def test_ids_of_hashed_words_survive(data):
    module = Worded(data, seed=0)
    module.words = Words(offset=2**60)
    batch = next(iter(module.train_dataloader()))
    assert int(batch["article_ids"].max()) > 2**60


def test_pairs_come_in_rows(data):
    data["batching"]["kind"] = "pairs"
    for batch in module_of(data).train_dataloader():
        assert batch["article_labels"].tolist() == batch["post_labels"].tolist()
        assert len(batch["article_ids"]) == len(batch["post_ids"])


def test_what_is_missing_is_said(data):
    with pytest.raises(
        InputError, match="the data module has no vectors, and no SiameseModule"
    ):
        SiameseDataModule(data).train_dataloader()
    with pytest.raises(InputError, match="for evaluation only"):
        module_of({**data, "train": []})
    with pytest.raises(InputError, match="has no split 'valid'"):
        module_of({**data, "train": [{"folder": "made", "split": "valid"}]})


def test_the_loader_leaves_the_global_random_state_alone(data):
    module = module_of(data)
    before = torch.get_rng_state()
    list(module.train_dataloader())
    assert torch.equal(before, torch.get_rng_state())


def test_real_data(data_dir, data):
    real = {**data, "train": [{"folder": "fnc1", "split": "train"}], "dev": None}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIAMESE_NEWS_DATA", str(data_dir))
        module = module_of(real)
        assert (
            sum(len(batch["post_labels"]) for batch in module.train_dataloader())
            == 2598
        )


def test_sizes_are_told_before_training_and_a_test_without_positives_is_refused(
    data, tmp_path
):
    data["test"] = {"folder": "made", "split": "test"}
    assert SiameseDataModule(data=data, seed=3).sizes() == "train 12, dev 2, test 2"
    path = tmp_path / "made" / "qrels" / "test.tsv"
    path.write_text(path.read_text().replace("\t1\n", "\t0\n"))
    with pytest.raises(InputError, match="split 'test' of 'made' has no relevant pair"):
        SiameseDataModule(data=data, seed=3).sizes()


def test_vectors_that_lack_most_words_are_refused(data):
    class Short(Words):
        def ids(self, tokens):
            return super().ids([token for token in tokens if len(token) < 4])

    module = Worded(data)
    module.words = Short()
    with pytest.raises(
        InputError, match=r"the vectors have \d+ of the \d+ words of the training"
    ):
        module.setup("fit")


@pytest.mark.parametrize(
    "batching",
    [
        {"articles_per_batch": 0},
        {"posts_per_article": -1},
        {"chunks_per_epoch": 0},
        {"kind": "pairs", "pairs_per_batch": 0},
    ],
)
def test_a_batch_without_room_is_refused_where_its_size_is_given(batching):
    (*_, name) = batching
    message = rf"data\.batching\.{name}=-?\d: expected a whole number, 1 or more"
    with pytest.raises(InputError, match=message):
        SiameseDataModule("stories", batching=batching)
