"""A client of the library, which strict type checkers pass; nothing here runs."""

from pathlib import Path

import pytorch_lightning as pl
import torch
from torch import Tensor

from siamese_news import (
    Article,
    InputError,
    Model,
    Post,
    Searcher,
    SiameseDataModule,
    SiameseModule,
    StarEncoder,
    build_encoder,
    open_posts,
    read_articles,
)
from siamese_news.encoders import Encoder, register_encoder
from siamese_news.sparsity import Sparsemax
from siamese_news.training.evaluator import Evaluator


@register_encoder
class FirstToken(Encoder):
    """The first token."""

    def forward(
        self, embeddings: Tensor, mask: Tensor, weights: Tensor | None = None
    ) -> Tensor:
        return embeddings[:, 0] * mask[:, :1]


def train(folder: Path) -> float:
    """Train, save, open and search."""
    data = SiameseDataModule("stories", batching={"articles_per_batch": 8})
    encoder = StarEncoder(input_dim=50, heads=5, sparsity=Sparsemax)
    module = SiameseModule(encoder, vectors="glove50", objective="ntxent", lr=1e-3)
    trainer = pl.Trainer(max_epochs=1, callbacks=[Evaluator("stories")])
    trainer.fit(module, datamodule=data)
    module.save(folder, card="# Mine")
    figures = trainer.test(module, datamodule=data)
    vectors: Tensor = encoder(torch.zeros(1, 2, 50), torch.ones(1, 2))
    named: Encoder = build_encoder("FirstToken", input_dim=50, output_dim=50)
    size: int = named.output_dim + vectors.shape[1]
    model = Model.load(folder)
    model.truncate(8)
    try:
        rows = Searcher(folder).rank(
            ["A river floods a town."], ["so wet", "new phone"]
        )
    except InputError:
        return 0.0
    articles: list[Article] = list(read_articles(folder))
    posts: list[Post] = list(open_posts(folder))
    similarity = (
        model.encode_posts(["so wet"]) @ Model.pretrained().encode_posts(["so wet"]).T
    )
    return (
        float(similarity[0, 0])
        + size
        + len(rows)
        + len(articles)
        + len(posts)
        + len(figures)
    )
