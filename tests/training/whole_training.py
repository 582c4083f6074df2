"""Whole trainings with losses that learn themselves: ``whole_training.py WORLD OUT``.

The global batches are the same for any number of processes. Lightning starts the other processes
of the strategy ddp by running this file again.
"""

import sys
from functools import partial
from pathlib import Path

import pytorch_lightning as pl
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf
from pytorch_metric_learning import losses
from tests.training.one_step import CONF, PAIRS, _model

from siamese_news.training.datamodule import SiameseDataModule
from siamese_news.training.module import SiameseModule
from siamese_news.training.objective import SiameseObjective

ARTICLES = 28  # that the bundled stories train on


def _objectives():
    yield "margin", SiameseObjective(loss=losses.MarginLoss(beta=0.8, learn_beta=True))
    proxies = losses.ProxyAnchorLoss(num_classes=ARTICLES, embedding_size=6)
    yield "proxies", SiameseObjective(loss=proxies, anchors="both")
    paper = OmegaConf.load(CONF / "objective" / "paper.yaml")
    paper.gather_across_devices = True
    yield "paper", instantiate(paper)


def main(world: int, out: Path) -> None:
    """Train three epochs; the first process writes the parameters and the figures of dev."""
    torch.set_num_threads(1)
    for name, objective in _objectives():
        model = _model()
        config = OmegaConf.to_container(OmegaConf.load(CONF / "data" / "stories.yaml"))
        config["batching"].update(kind="pairs", pairs_per_batch=PAIRS // world)
        data = SiameseDataModule(data=config, seed=0)
        module = SiameseModule(
            model=model,
            objective=objective.double(),
            optimizer=partial(torch.optim.AdamW, lr=0.01),
        )
        before = {key: value.clone() for key, value in module.state_dict().items()}
        trainer = pl.Trainer(
            accelerator="cpu",
            devices=world,
            strategy="ddp" if world > 1 else "auto",
            precision="64-true",
            max_epochs=3,
            num_sanity_val_steps=0,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            use_distributed_sampler=False,
        )
        trainer.fit(module, datamodule=data)
        figures = {key: float(value) for key, value in trainer.callback_metrics.items()}
        if module.global_rank == 0:
            saved = {"before": before, "after": module.state_dict(), "figures": figures}
            torch.save(saved, out / f"{name}.pt")


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
