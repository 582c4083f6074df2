"""One training step with every objective on the same global batch: ``one_step.py WORLD OUT``.

Lightning starts the other processes of the strategy ddp by running this file again.
"""

import sys
from collections import Counter
from functools import partial
from pathlib import Path

import pytorch_lightning as pl
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf

from siamese_news.data.beir import bundled
from siamese_news.encoders import CNNEncoder, TokenEmbedding
from siamese_news.model import Model
from siamese_news.text import Tokenizer, Vocabulary
from siamese_news.training.datamodule import SiameseDataModule
from siamese_news.training.module import SiameseModule

CONF = Path(__file__).parents[2] / "conf"
PAIRS = 16


def _model() -> Model:
    torch.manual_seed(0)
    stories = bundled()
    texts = [post.text for post in stories.posts.values()]
    texts += [article.full_text for article in stories.articles.values()]
    counts = Counter(" ".join(texts).lower().split())
    words = [word for word, _ in counts.most_common(2000)]
    options = {"filters": 8, "ngrams": [2, 3], "output_dim": 6}
    return Model(
        tokenizer=Tokenizer(words=words),
        vocabulary=Vocabulary(words, unknown="drop"),
        embedding=TokenEmbedding(torch.randn(len(words), 6), trainable=True),
        encoder=CNNEncoder(input_dim=6, **options),
        limits={"article_tokens": 60, "post_tokens": 20, "keep": "first"},
        config={},
    )


def main(world: int, out: Path) -> None:
    """Take the steps; the first process writes the parameters before and after each."""
    torch.set_num_threads(1)
    for path in sorted((CONF / "objective").glob("*.yaml")):
        objective = OmegaConf.load(path)
        objective.gather_across_devices = True
        model = _model()
        config = OmegaConf.to_container(OmegaConf.load(CONF / "data" / "stories.yaml"))
        config["batching"].update(kind="pairs", pairs_per_batch=PAIRS // world)
        data = SiameseDataModule(data=config, seed=0)
        module = SiameseModule(
            model=model,
            objective=instantiate(objective),
            optimizer=partial(torch.optim.SGD, lr=0.1),
        )
        before = {name: value.clone() for name, value in module.state_dict().items()}
        pl.Trainer(
            accelerator="cpu",
            devices=world,
            strategy="ddp" if world > 1 else "auto",
            precision="64-true",
            max_epochs=1,
            limit_train_batches=1,
            limit_val_batches=0,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            use_distributed_sampler=False,
        ).fit(module, datamodule=data)
        if module.global_rank == 0:
            saved = {"before": before, "after": module.state_dict()}
            torch.save(saved, out / f"{path.stem}.pt")


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
