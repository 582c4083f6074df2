"""Speed of the rerankers on one CPU core.

    OMP_NUM_THREADS=1 python benchmarks/rerank_speed.py

Training and scoring of PAtt against MP-HCNN, the attention of PAtt against a loop over query
tokens, and the time to rerank 1,000 posts for one query. Pairs of the collection's mean shape:
4 query words, 15 post words, 75 trigrams. CPU time of one thread; the variants take turns, and the
fastest turn counts, so that other work on the machine touches them alike.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn.functional import conv1d, normalize

from siamese_news.encoders.embedding import TokenEmbedding
from siamese_news.model.reranker import TextRanker
from siamese_news.rerankers import MPHCNN, Pair, PAtt
from siamese_news.text.vocabulary import Vocabulary
from siamese_news.utils.markdown import markdown_table
from siamese_news.utils.provenance import provenance

PATT = {
    "filters": 250, "widths": [2], "padding": "full", "dropout": 0.5, "hidden": 200,
    "head_hidden": 100, "head_order": "relu-norm", "head_dropout": 0.5,
}  # fmt: skip
MP = {
    "levels": 4, "filters": 256, "word_width": 2, "trigram_width": 4, "trigram_dim": 100,
    "buckets": 16384, "max_query_words": 10, "max_query_trigrams": 60, "weighted_levels": 2,
    "url": False, "dropout": 0.1, "hidden": [150, 50],
}  # fmt: skip


class LoopPAtt(PAtt):
    """PAtt with one convolution per query token, as the equations are written."""

    def context_vectors(self, pair, post, post_mask):
        """Compute the equations of the paper, token by token."""
        encoder = self.post_context
        width, filters = encoder.widths[0], encoder.filters
        kernel = encoder.kernels[0].weight.view(width, filters, -1).permute(1, 2, 0)
        unit = normalize(pair.per_post(pair.query), dim=-1, eps=1e-6)
        cosines = unit @ normalize(post, dim=-1, eps=1e-6).transpose(1, 2)
        total = 0
        for token in range(unit.shape[1]):
            weighted = (post * cosines[:, token, :, None]).transpose(1, 2)
            convolved = conv1d(weighted, kernel, encoder.biases[0], padding=width - 1)
            total = total + encoder.linear(encoder.dropout(torch.relu(convolved).amax(dim=2)))
        return [total / unit.shape[1]]


class Attention(nn.Module):
    """The attention vector of a ranker alone, in the shape of a ranker's output."""

    def __init__(self, ranker: PAtt) -> None:
        super().__init__()
        self.ranker = ranker

    def forward(self, pair: Pair) -> torch.Tensor:
        """(B, D)."""
        return self.ranker.context_vectors(pair, pair.post, pair.post_mask)[0]


def make_pair(posts: int, query_words: int, post_words: int = 15, size: int = 100) -> Pair:
    queries = 40
    return Pair(
        query=torch.randn(queries, query_words, size),
        query_mask=torch.ones(queries, query_words, dtype=torch.bool),
        post=torch.randn(posts, post_words, size),
        post_mask=torch.ones(posts, post_words, dtype=torch.bool),
        group=torch.randint(0, queries, (posts,)),
        query_trigrams=torch.randint(0, 16384, (queries, 6 * query_words)),
        post_trigrams=torch.randint(0, 16384, (posts, 5 * post_words)),
    )


def step(model: nn.Module, pair: Pair, train: bool) -> Callable[[], None]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def training() -> None:
        model.train()
        optimizer.zero_grad()
        (-model(pair)[:, 1].mean()).backward()
        optimizer.step()

    def scoring() -> None:
        model.eval()
        with torch.no_grad():
            model(pair)

    return training if train else scoring


def fastest(variants: dict[str, Callable[[], None]], turns: int) -> dict[str, float]:
    """Seconds of the fastest turn of each, the variants taking turns."""
    for run in variants.values():
        run()
    best = dict.fromkeys(variants, float("inf"))
    for _ in range(turns):
        for name, run in variants.items():
            started = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - started)
    return best


def one_query(turns: int) -> float:
    """Seconds to rerank 1,000 tokenised posts for one query of 4 words: words in, scores out."""
    draw = np.random.default_rng(0)
    words = [f"w{i}" for i in range(20_000)]
    matrix = torch.from_numpy(draw.normal(size=(len(words), 100)).astype(np.float32))
    model = TextRanker(
        vocabulary=Vocabulary(words, unknown="hash"),
        embedding=TokenEmbedding(matrix, trainable=False),
        ranker={"class": "PAtt", **PATT}, exact_match=True,
    )  # fmt: skip
    posts = [
        [f"w{i}" for i in draw.integers(0, 22_000, max(1, int(draw.normal(15, 6))))]
        for _ in range(1000)
    ]
    query = ["w1", "w2", "w3", "w21000"]
    return fastest({"": lambda: model.score(query, posts)}, turns)[""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--out", type=Path, help="JSON file to write")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    turns, rows = arguments.turns, []

    def compare(what: str, slow: str, variants: dict[str, Callable[[], None]], pairs: int) -> None:
        seconds = fastest(variants, turns)
        for name, value in seconds.items():
            rows.append(
                {"what": what, "system": name, "ms/pair": 1000 * value / pairs,
                 "times faster": seconds[slow] / value}
            )  # fmt: skip

    patt, mphcnn = PAtt(input_dim=100, **PATT), MPHCNN(input_dim=100, **MP)
    loop = LoopPAtt(input_dim=100, **PATT)
    loop.load_state_dict(patt.state_dict())
    loop.eval(), patt.eval()
    with torch.no_grad():
        torch.testing.assert_close(loop(make := make_pair(8, 4)), patt(make), atol=1e-4, rtol=1e-4)
    for train in (True, False):
        what, pair = "train" if train else "score", make_pair(128, 4)
        compare(
            what, "MP-HCNN",
            {"PAtt": step(patt, pair, train), "MP-HCNN": step(mphcnn, pair, train)}, 128,
        )  # fmt: skip
        for words in (4, 10):
            pair, slow = make_pair(256, words), "loop over query words"
            for part, wrap in (("whole model", lambda model: model), ("attention", Attention)):
                compare(
                    f"{what}, {words} query words, {part}", slow,
                    {"PAtt": step(wrap(patt), pair, train), slow: step(wrap(loop), pair, train)},
                    256,
                )  # fmt: skip
    seconds = one_query(turns)
    print(markdown_table(rows))
    print(f"\n1,000 posts for one query: {1000 * seconds:.1f} ms")
    if arguments.out:
        document = {"provenance": provenance(), "rows": rows, "1000 posts ms": 1000 * seconds}
        arguments.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
