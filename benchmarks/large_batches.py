"""Memory and time of a training step with and without gradient caching.

    MALLOC_MMAP_THRESHOLD_=1048576 python -m benchmarks.large_batches

The star encoder, articles of 500 tokens and posts of 20, one thread. Without the variable, glibc
keeps memory that was freed, and the figures are about five times as large.
"""

import time
from functools import partial

import torch
from hydra import compose, initialize_config_module
from hydra.utils import instantiate

from benchmarks.measure import machine, peak_bytes
from siamese_news.encoders import TokenEmbedding, build_encoder
from siamese_news.model import Model
from siamese_news.text import Tokenizer, Vocabulary
from siamese_news.training.module import SiameseModule

WORDS = [f"w{number}" for number in range(20_000)]
CASES = ((128, False), (128, True), (1024, True), (4096, True))


def module(objective: str, cache: bool) -> SiameseModule:
    """A new module with random vectors."""
    model = Model(
        tokenizer=Tokenizer(words=WORDS),
        vocabulary=Vocabulary(WORDS, unknown="drop"),
        embedding=TokenEmbedding(torch.randn(len(WORDS), 100), trainable=False),
        encoder=build_encoder("star", input_dim=100),
        limits={"article_tokens": 500, "post_tokens": 20, "keep": "first"},
        config={},
    )
    with initialize_config_module("siamese_news.conf", version_base="1.3"):
        config = compose(
            "train", [f"objective={objective}", f"objective.cache={cache}"]
        )
    optimizer = partial(torch.optim.SGD, lr=0.1)
    made = SiameseModule(
        model=model, objective=instantiate(config.objective), optimizer=optimizer
    )
    made.log = lambda *_, **__: None
    return made.train()


def batch(pairs: int) -> dict[str, torch.Tensor]:
    """Pairs of random words, each article once."""
    draw = torch.Generator().manual_seed(0)
    labels = torch.arange(pairs)
    ids = partial(torch.randint, 2, len(WORDS), generator=draw)
    return {
        "article_ids": ids((pairs, 500)),
        "post_ids": ids((pairs, 20)),
        "article_labels": labels,
        "post_labels": labels.clone(),
    }


def main() -> None:
    torch.set_num_threads(1)
    print(
        machine(),
        "\n| loss | pairs | cache | MB | ms a pair |\n|---|---:|---|---:|---:|",
    )
    for objective in ("supcon", "multisimilarity"):
        for pairs, cache in CASES:
            trained = module(objective, cache)
            data = batch(pairs)
            trained.training_step(batch(8), 0).backward()
            started = time.process_time()
            peak = peak_bytes(
                lambda m=trained, d=data: m.training_step(d, 0).backward()
            )
            took = 1000 * (time.process_time() - started) / pairs
            print(
                f"| {objective} | {pairs:,} | {cache} | {peak / 1e6:.0f} | {took:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
