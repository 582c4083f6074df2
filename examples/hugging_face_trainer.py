"""A model under the Trainer of Hugging Face; needs siamese-news[train], transformers and accelerate."""

import sys

import torch
import torch.nn.functional as F
from transformers import Trainer, TrainingArguments

from siamese_news import SiameseDataModule, SiameseModule
from siamese_news.data.collate import pad
from siamese_news.training.module import ranking_figures


class Siamese(torch.nn.Module):
    """Cross-entropy over the posts of a batch, for one Hugging Face calls a labeled batch."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, articles, posts, labels):
        left, right = (F.normalize(self.model(ids), dim=1) for ids in (articles, posts))
        logits = left @ right.T / 0.05
        return {"loss": F.cross_entropy(logits, labels), "logits": logits}


def collate(pairs):
    """Token ids of both sides; the post of an article is in its row."""
    articles, posts = zip(*pairs, strict=True)
    batch = {"articles": pad(articles), "posts": pad(posts)}
    return batch | {"labels": torch.arange(len(pairs))}


if __name__ == "__main__":
    data = SiameseDataModule("stories")
    module = SiameseModule({"_target_": "siamese_news.encoders.CNNEncoder"})
    module.learn_words(data)
    model, train, dev = module.model, data.train_set, data.dev

    def ids(texts, side):
        """Token ids of texts, cut to the limit of the side."""
        return model.cut(list(model.token_ids(texts)), side)

    articles = ids([article.full_text for article in train.articles], "article")
    posts = ids([post.text for post in train.posts], "post")
    pairs = [
        (articles[row], posts[post])
        for row, own in enumerate(train.posts_of)
        for post in own
    ]
    before = ranking_figures(model, dev)["map"]
    arguments = TrainingArguments(
        sys.argv[1],
        num_train_epochs=2,
        learning_rate=3e-4,
        per_device_train_batch_size=32,
        remove_unused_columns=False,
        report_to="none",
        use_cpu=True,
        seed=0,
        save_strategy="epoch",
        disable_tqdm=True,
    )
    trainer = Trainer(Siamese(model), arguments, collate, train_dataset=pairs)
    trainer.train()
    figures = ranking_figures(model.eval(), dev)
    print(f"dev MAP {before:.3f} -> {figures['map']:.3f}")
    model.save(f"{sys.argv[1]}/model", card="# Trained by the Trainer of Hugging Face")
