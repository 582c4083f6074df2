"""An encoder in a sentence-transformers model; needs siamese-news[encoders] and that library."""

import sys

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import (
    MultipleNegativesRankingLoss,
)
from sentence_transformers.sentence_transformer.modules import Module, WordEmbeddings
from sentence_transformers.sentence_transformer.modules.tokenizer import (
    WhitespaceTokenizer,
)

from siamese_news import Model, build_encoder


class Star(Module):
    def __init__(self):
        super().__init__()
        self.encoder = build_encoder("star_feed_forward", input_dim=64)

    def forward(self, features, **_):
        states, mask = features["token_embeddings"], features["attention_mask"].bool()
        return {**features, "sentence_embedding": self.encoder(states, mask)}

    def save(self, folder, *_, **__):
        self.save_torch_weights(folder)

    @classmethod
    def load(cls, folder, subfolder="", **_):
        return cls.load_torch_weights(folder, subfolder, model=cls())


if __name__ == "__main__":
    shipped = Model.pretrained()  # its words and their vectors
    words = WhitespaceTokenizer(shipped.vocabulary.words, do_lower_case=True)
    modules = [WordEmbeddings(words, shipped.embedding.matrix), Star()]
    model = SentenceTransformer(modules=modules, device="cpu")
    loss = MultipleNegativesRankingLoss(model)
    optimizer = torch.optim.AdamW(loss.parameters(), lr=1e-3)
    pairs = (
        ["A river flooded the town.", "Fire in a mill."],
        ["water in my cellar", "smoke here"],
    )
    for _ in range(20):
        optimizer.zero_grad()
        loss([model.preprocess(side) for side in pairs], torch.arange(2)).backward()
        optimizer.step()
    model.save(sys.argv[1])
    loaded = SentenceTransformer(sys.argv[1], trust_remote_code=True, device="cpu")
    print("difference:", abs(loaded.encode(pairs[1]) - model.encode(pairs[1])).max())
