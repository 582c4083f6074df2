"""Lightning with two gloo processes takes the step that one process takes on the global batch."""

from functools import partial

import pytest
import pytorch_lightning as pl
import torch
from pytorch_metric_learning import distances, losses, miners

from siamese_news.encoders import BagEncoder, TokenEmbedding
from siamese_news.model import Model
from siamese_news.text import Tokenizer, Vocabulary
from siamese_news.training.module import SiameseModule
from siamese_news.training.objective import SiameseObjective

WORDS = [f"w{i}" for i in range(40)]


def _batch(rows):
    generator = torch.Generator().manual_seed(3)
    articles = torch.randint(0, 40, (6, 9), generator=generator)
    posts = torch.randint(0, 40, (12, 5), generator=generator)
    labels = torch.arange(6)
    a = torch.tensor(rows)
    p = torch.tensor([2 * row + i for row in rows for i in (0, 1)])
    return {
        "article_ids": articles[a],
        "post_ids": posts[p],
        "article_labels": labels[a],
        "post_labels": labels.repeat_interleave(2)[p],
    }


class Halves(pl.LightningDataModule):
    """One global batch; uneven shares of it for two ranks."""

    def train_dataloader(self):
        shares = [[0, 1, 2, 3], [4, 5]]
        world = self.trainer.world_size
        rows = shares[self.trainer.global_rank] if world == 2 else list(range(6))
        return torch.utils.data.DataLoader([_batch(rows)], batch_size=None)


def _module():
    torch.manual_seed(0)
    model = Model(
        tokenizer=Tokenizer(words=WORDS),
        vocabulary=Vocabulary(WORDS, unknown="drop"),
        embedding=TokenEmbedding(torch.randn(40, 6), trainable=True),
        encoder=BagEncoder(input_dim=6, weighting="mean", output_dim=5),
        limits={"article_tokens": None, "post_tokens": None, "keep": "first"},
        config={},
    )
    objective = SiameseObjective(
        loss=losses.TripletMarginLoss(
            margin=1.0,
            distance=distances.LpDistance(p=2, power=2, normalize_embeddings=False),
        ),
        miner=miners.MultiSimilarityMiner(epsilon=0.1),
    )
    return SiameseModule(
        model=model, objective=objective, optimizer=partial(torch.optim.SGD, lr=1.0)
    )


def _fit(tmp_path, **options):
    module = _module()
    trainer = pl.Trainer(
        accelerator="cpu",
        max_epochs=1,
        logger=pl.loggers.CSVLogger(str(tmp_path)),
        log_every_n_steps=1,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
        **options,
    )
    trainer.fit(module, datamodule=Halves())
    return module.state_dict(), float(trainer.callback_metrics["train/loss"])


@pytest.mark.slow
def test_two_processes_step_as_one(tmp_path):
    start = _module().state_dict()
    one, loss_one = _fit(tmp_path / "one", devices=1)
    two, loss_two = _fit(tmp_path / "two", devices=2, strategy="ddp_spawn")
    assert loss_two == pytest.approx(loss_one, rel=1e-6)
    moved = 0
    for name, value in one.items():
        torch.testing.assert_close(two[name], value, rtol=1e-5, atol=1e-6)
        moved += int(not torch.equal(value, start[name]))
    assert moved == 2  # word vectors and map; the bias cancels in every distance
