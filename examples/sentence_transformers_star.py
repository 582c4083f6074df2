"""A model folder as a `SentenceTransformer`, for every tool that takes one: FOLDER [MODEL].

Writes FOLDER with modules.json; where this file can be imported, SentenceTransformer(FOLDER,
trust_remote_code=True) opens it. That library asks for the word wherever a module is not its own;
no code comes from the folder. A query is read as an article.
"""

import sys
from pathlib import Path

from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import InputModule
from torch.nn.functional import normalize

from siamese_news import Model
from siamese_news.data.collate import pad


class Star(InputModule):
    save_in_root = False

    def __init__(self, model):
        super().__init__()
        self.model = model

    def preprocess(self, inputs, prompt=None, task=None, **_):
        texts = [(prompt or "") + text for text in inputs]
        side = "article" if task == "query" else "post"
        return {
            "input_ids": pad(list(self.model.cut(self.model.token_ids(texts), side)))
        }

    def forward(self, features, **_):
        ids = features["input_ids"]
        vectors = normalize(self.model(ids)) * (ids >= 0).any(1, keepdim=True)
        return {**features, "sentence_embedding": vectors}

    def save(self, output_path, *_, **__):
        self.model.save(Path(output_path) / "model", card="# A model of siamese_news")

    @classmethod
    def load(cls, model_name_or_path, subfolder="", **_):
        return cls(Model.load(Path(model_name_or_path) / subfolder / "model"))


if __name__ == "__main__":
    model = Model.load(sys.argv[2]) if len(sys.argv) > 2 else Model.pretrained()
    SentenceTransformer(modules=[Star(model)], device="cpu").save(sys.argv[1])
    opened = SentenceTransformer(sys.argv[1], trust_remote_code=True, device="cpu")
    texts = ["the river is in my cellar", "", "no trains today"]
    difference = abs(opened.encode_query(texts) - model.encode_articles(texts)).max()
    print("difference:", difference)
