"""Speed of the rerankers on one CPU core.

    OMP_NUM_THREADS=1 python benchmarks/rerank_speed.py

Training and scoring of PAtt against MP-HCNN, the attention of PAtt against a loop over query
tokens, and the time to rerank 1,000 posts for one query. Pairs of the collection's mean shape:
4 query words, 15 post words, 75 trigrams. CPU time of one thread; the variants take turns, and the
fastest turn counts, so that other work on the machine touches them alike.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from papers.samcnn.speed import fastest, make_pair, measure, settings, step
from torch import nn
from torch.nn.functional import conv1d, normalize

from siamese_news.encoders.embedding import TokenEmbedding
from siamese_news.model.reranker import TextRanker
from siamese_news.rerankers import Pair, PAtt
from siamese_news.text.vocabulary import Vocabulary
from siamese_news.utils.markdown import markdown_table
from siamese_news.utils.provenance import provenance


class LoopPAtt(PAtt):
    """PAtt with one convolution per query token, as the equations are written."""

    def context_vectors(self, pair, posts):
        """Compute the equations of the paper, token by token."""
        post = posts.vectors(posts.words)
        encoder = self.post_context
        width = encoder.widths[0]
        filters = encoder.filters
        kernel = encoder.kernels[0].weight.view(width, filters, -1).permute(1, 2, 0)
        unit = normalize(pair.per_post(pair.query), dim=-1, eps=1e-6)
        cosines = unit @ normalize(post, dim=-1, eps=1e-6).transpose(1, 2)
        total = 0
        for token in range(unit.shape[1]):
            weighted = (post * cosines[:, token, :, None]).transpose(1, 2)
            convolved = conv1d(weighted, kernel, encoder.biases[0], padding=width - 1)
            total = total + encoder.linear(
                encoder.dropout(torch.relu(convolved).amax(dim=2))
            )
        return [total / unit.shape[1]]


class Attention(nn.Module):
    """The attention vector of a ranker alone, in the shape of a ranker's output."""

    def __init__(self, ranker: PAtt) -> None:
        super().__init__()
        self.ranker = ranker

    def forward(self, pair: Pair) -> torch.Tensor:
        """(B, D)."""
        return self.ranker.context_vectors(pair, pair.texts_of_posts())[0]


def one_query(turns: int) -> float:
    """Seconds to rerank 1,000 tokenized posts for one query of 4 words: words in, scores out."""
    draw = np.random.default_rng(0)
    words = [f"w{i}" for i in range(20_000)]
    matrix = torch.from_numpy(draw.normal(size=(len(words), 100)).astype(np.float32))
    model = TextRanker(
        vocabulary=Vocabulary(words, unknown="hash"),
        embedding=TokenEmbedding(matrix, trainable=False),
        ranker={"class": "PAtt", **settings("patt")},
        exact_match=True,
    )
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
    turns = arguments.turns
    rows = measure(turns)

    def compare(
        what: str, slow: str, variants: dict[str, Callable[[], None]], pairs: int
    ) -> None:
        seconds = fastest(variants, turns)
        for name, value in seconds.items():
            rows.append(
                {
                    "what": what,
                    "system": name,
                    "ms/pair": 1000 * value / pairs,
                    "times faster": seconds[slow] / value,
                }
            )

    patt = PAtt(input_dim=100, **settings("patt"))
    loop = LoopPAtt(input_dim=100, **settings("patt"))
    loop.load_state_dict(patt.state_dict())
    loop.eval(), patt.eval()
    with torch.no_grad():
        torch.testing.assert_close(
            loop(make := make_pair(8, 4)), patt(make), atol=1e-4, rtol=1e-4
        )
    for train in (True, False):
        what = "train" if train else "score"
        for words in (4, 10):
            pair = make_pair(256, words)
            slow = "loop over query words"
            for part, wrap in (
                ("whole model", lambda model: model),
                ("attention", Attention),
            ):
                compare(
                    f"{what}, {words} query words, {part}",
                    slow,
                    {
                        "PAtt": step(wrap(patt), pair, train),
                        slow: step(wrap(loop), pair, train),
                    },
                    256,
                )
    seconds = one_query(turns)
    print(markdown_table(rows))
    print(f"\n1,000 posts for one query: {1000 * seconds:.1f} ms")
    if arguments.out:
        document = {
            "provenance": provenance(),
            "rows": rows,
            "1000 posts ms": 1000 * seconds,
        }
        arguments.out.write_text(
            json.dumps(document, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
