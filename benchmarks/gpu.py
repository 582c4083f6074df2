"""What a GPU makes of the ring and of entmax: python -m benchmarks.gpu [PART ...] [--out FILE].

`ring` compares ring attention with dense attention, `entmax` the forms of alpha-entmax, `data` says
how many texts and pairs a second the data modules make, `encode` how many bundled posts models/star
encodes, from text to vectors. Each figure is the median of 20 calls after
three others, in milliseconds unless its name says otherwise; the tensors are random. Without a GPU the
same runs on the CPU with a hundredth of the tokens, as a check that it runs.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from models.distillation.distil_data import TaughtTexts
from torch import Tensor, nn

from benchmarks.measure import machine
from siamese_news.attention import RingAttention
from siamese_news.data.sources import open_source
from siamese_news.encoders.transformer import DenseAttention
from siamese_news.model.siamese import Model
from siamese_news.model.text_model import Precision
from siamese_news.sparsity import AdaptiveEntmax, Softmax
from siamese_news.sparsity.entmax import entmax
from siamese_news.text.token_ids import TokenIds
from siamese_news.training.datamodule import SiameseDataModule
from siamese_news.utils.files import write_json
from siamese_news.utils.markdown import markdown_table
from siamese_news.utils.provenance import provenance

ROOT = Path(__file__).parents[1]
CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
#: Tokens of a batch, whatever the length of its texts.
TOKENS = 2**16 if CUDA else 2**16 // 100
WARM, REPEATS = (3, 20) if CUDA else (1, 2)
DIM, HEADS = 256, 8
LENGTHS = (80, 512, 4096)
ATTENTIONS = {
    "ring, softmax": (RingAttention, Softmax),
    "ring, adaptive": (RingAttention, AdaptiveEntmax),
    "dense, softmax": (DenseAttention, Softmax),
}
Row = dict[str, Any]


def milliseconds(run: Callable[[], Any]) -> float:
    """The median time of a call."""
    for _ in range(WARM):
        run()
    times = []
    for _ in range(REPEATS):
        if CUDA:
            torch.cuda.synchronize()
        started = time.perf_counter()
        run()
        if CUDA:
            torch.cuda.synchronize()
        times.append((time.perf_counter() - started) * 1000)
    return round(statistics.median(times), 3)


def _attention(kind: str) -> nn.Module:
    torch.manual_seed(0)
    layer, sparsity = ATTENTIONS[kind]
    radius = {"radius": 2} if layer is RingAttention else {}
    made: nn.Module = layer(
        dim=DIM, heads=HEADS, head_dim=DIM // HEADS, sparsity=sparsity, **radius
    )
    return made.to(DEVICE)


def ring() -> Iterator[Row]:
    """One layer of attention, without a gradient and with one."""
    for kind in ATTENTIONS:
        for length in LENGTHS:
            for precision in ("float32", "bf16"):
                for how in ("eager", "compiled"):
                    yield _attention_row(kind, length, precision, how)


def _attention_row(kind: str, length: int, precision: str, how: str) -> Row:
    torch.compiler.reset()  # or a compiled function of many shapes is left to Python
    encode, train = calls_of(kind, length, precision, how)
    return {
        "attention": kind,
        "tokens": length,
        "precision": precision,
        "how": how,
        "forward": milliseconds(encode),
        "forward + backward": milliseconds(train),
    }


def calls_of(
    kind: str, length: int, precision: str, how: str
) -> tuple[Callable[[], None], Callable[[], None]]:
    """One layer on a batch, without gradients, and with those of the tokens and its weights."""
    layer = _attention(kind)
    batch = max(1, TOKENS // length)
    nodes = torch.randn(batch, length, DIM, device=DEVICE)
    lengths = torch.randint(length // 2, length + 1, (batch, 1), device=DEVICE)
    mask = torch.arange(length, device=DEVICE) < lengths
    relay = (nodes.mean(1),) if isinstance(layer, RingAttention) else ()
    run: Callable[..., Tensor] = layer
    if how == "compiled":
        run = torch.compile(layer, dynamic=False)
    inputs = nodes.clone().requires_grad_()
    half = partial(torch.autocast, DEVICE, torch.bfloat16)
    surroundings = half if precision == "bf16" else nullcontext
    with torch.no_grad(), surroundings():
        upstream = torch.randn_like(layer(nodes, mask, *relay))

    def encode() -> None:
        with torch.no_grad(), surroundings():
            run(nodes, mask, *relay)

    def train() -> None:
        with surroundings():
            result = run(inputs, mask, *relay)
        torch.autograd.grad(result, [inputs, *layer.parameters()], upstream)

    return encode, train


def _plain(scores: Tensor, alpha: Tensor, dim: int, backend: str) -> Tensor:
    return entmax(scores, alpha, None, dim, backend)  # type: ignore[arg-type]


def solvers() -> Iterator[Row]:
    """The forms of alpha-entmax on the scores of a ring, of a star and of dense attention."""
    shapes = {
        "ring, 6 keys": ((1, HEADS, 6, TOKENS), 2),
        "star, 80 keys": ((TOKENS // 80, HEADS, 1, 80), 3),
        "dense, 512 keys": ((max(1, TOKENS // 4096), HEADS, 512, 512), 3),
    }
    for name, (shape, dim) in shapes.items():
        torch.manual_seed(0)
        scores = torch.randn(shape, device=DEVICE, requires_grad=True)
        alphas = torch.linspace(1.1, 1.9, HEADS, device=DEVICE).view(1, HEADS, 1, 1)
        alphas.requires_grad_()
        forms = {"eager": partial(_plain, backend="newton")}
        torch.compiler.reset()
        forms["compiled"] = torch.compile(forms["eager"], dynamic=False)
        for form, run in forms.items():
            figures = _solver_figures(run, scores, alphas, dim)
            yield {"scores": name, "form": form, **figures}


def _solver_figures(
    run: Callable[[Tensor, Tensor, int], Tensor],
    scores: Tensor,
    alphas: Tensor,
    dim: int,
) -> Row:
    upstream = torch.randn_like(scores)

    def forward() -> None:
        with torch.no_grad():
            run(scores, alphas, dim)

    def train() -> None:
        run(scores, alphas, dim).backward(upstream)

    with torch.no_grad():
        exact = _plain(scores.double(), alphas.double(), dim, "newton")
        error = float((run(scores, alphas, dim) - exact).abs().max())
    return {
        "forward": milliseconds(forward),
        "forward + backward": milliseconds(train),
        "largest error": f"{error:.1e}",
    }


def data() -> Iterator[Row]:
    """Batches of the data modules, on their way into the memory of the device."""
    texts, words = (500_000, 40_000) if CUDA else (20_000, 1000)
    draw = np.random.default_rng(0)
    lengths = np.minimum(draw.geometric(1 / 8, size=texts), 200)
    ids = TokenIds.of(
        np.split(draw.integers(0, words, size=lengths.sum()), np.cumsum(lengths)[:-1])
    )
    vectors = draw.normal(size=(texts, 384)).astype(np.float16)
    taught = TaughtTexts(ids, vectors)
    order = draw.permutation(texts)
    for size in (1024, 8192):
        batches = [
            order[start : start + size].tolist()
            for start in range(0, texts - size, size)
        ][:50]
        started = time.perf_counter()
        for batch in batches:
            {name: part.to(DEVICE) for name, part in taught.__getitems__(batch).items()}
        rate = sum(map(len, batches)) / (time.perf_counter() - started)
        yield {
            "data": f"task=distil, batches of {size:,}",
            "texts a second": round(rate),
        }
    module = SiameseDataModule("stories", vectors="glove50")
    module.setup("fit")
    posts, started = 0, time.perf_counter()
    for _ in range(20):
        for batch in module.train_dataloader():
            parts = {name: part.to(DEVICE) for name, part in batch.items()}
            posts += len(parts["post_ids"])
    rate = posts / (time.perf_counter() - started)
    yield {"data": "task=link, stories", "texts a second": round(rate)}


def encode() -> Iterator[Row]:
    """The bundled posts, again and again, from text to vectors; the best of three."""
    model = Model.load(ROOT / "models" / "star").to(DEVICE)
    stories = [post.text for post in open_source("stories").posts.values()]
    texts = list(islice(cycle(stories), 200_000 if CUDA else 4_000))
    for precision in get_args(Precision):
        for tokens in (4096, 65_536, 524_288):
            seconds = []
            for _ in range(3):
                started = time.perf_counter()
                model.encode_posts(texts, batch_tokens=tokens, precision=precision)
                seconds.append(time.perf_counter() - started)
            yield {
                "precision": precision,
                "batch_tokens": tokens,
                "posts a second": round(len(texts) / min(seconds)),
            }


PARTS = {"ring": ring, "entmax": solvers, "data": data, "encode": encode}


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "parts", nargs="*", help=f"among {', '.join(PARTS)}; none is all"
    )
    parser.add_argument("--out", type=Path, default=Path("gpu.json"))
    arguments = parser.parse_args()
    measured: dict[str, Any] = {}
    for name in arguments.parts or list(PARTS):
        rows = []
        for row in PARTS[name]():
            rows.append(row)
            print(row, flush=True)
        measured[name] = rows
        write_json(
            arguments.out, {**measured, "machine": machine(), "about": provenance()}
        )
    for rows in measured.values():
        print(markdown_table(rows))


if __name__ == "__main__":
    main()
