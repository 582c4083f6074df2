"""Late interaction: MaxSim over the token vectors of a star, next to its pooled vectors.

Each token of an article takes its most similar token of a post, and the similarities are summed
(ColBERT; Khattab and Zaharia 2020). Needs siamese-news[train] for the figures alone.
"""

import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from siamese_news import Model, SiameseDataModule
from siamese_news.data.collate import pad
from siamese_news.metrics import blocks_of, evaluate_blocks


@torch.inference_mode()
def token_vectors(model, texts, side):
    """Unit vectors (S, E) of the tokens of each text, after the last cycle of ring and star."""
    star = getattr(model.encoder, "encoder", model.encoder)  # of a whitened one
    rows = []
    for ids in model.cut(list(model.token_ids(texts)), side):
        embeddings, mask, weights = model.embedding(pad([ids]))
        nodes, _ = star.states(embeddings, mask, weights)
        rows.append(F.normalize(nodes[0], dim=1))
    return rows


def max_sim(articles, posts):
    """(A, P): the mean over the article's tokens of the highest similarity to a post's token."""
    scores = np.zeros((len(articles), len(posts)), np.float32)
    for column, post in enumerate(posts):
        if len(post):
            for row, article in enumerate(articles):
                scores[row, column] = (article @ post.T).amax(1).mean()
    return scores


if __name__ == "__main__":
    star = Path(__file__).parents[1] / "models" / "star"
    model = Model.load(sys.argv[2] if len(sys.argv) > 2 else star).eval()
    dev = SiameseDataModule("stories").dev
    seeds = [article.full_text for article in dev.articles]
    texts = [post.text for post in dev.posts]
    sides = token_vectors(model, seeds, "article"), token_vectors(model, texts, "post")
    for name, scores in (
        ("pooled", model.encode_articles(seeds) @ model.encode_posts(texts).T),
        ("MaxSim", max_sim(*sides)),
    ):
        figures = evaluate_blocks(
            blocks_of(lambda a, b, table=scores: table[:, a:b], len(texts)),
            article_ids=[article.id for article in dev.articles],
            post_ids=[post.id for post in dev.posts],
            qrels=dev.qrels,
            bootstrap=0,
        )
        print(f"{name} MAP {figures.macro['AP']:.3f}")
