"""The rows of the table: each measures one thing and returns lines."""

import os
import statistics
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from entmax import entmax_bisect
from torch import Tensor

from benchmarks.measure import peak_bytes, ratio, side_by_side
from benchmarks.original import star
from siamese_news.encoders import build_encoder
from siamese_news.sparsity.entmax import entmax
from siamese_news.utils.compiled_loops import SWITCH

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Line(NamedTuple):
    """One line of the table; `met` is None where there is no target."""

    what: str
    target: str
    got: str
    met: bool | None


def at_least(what: str, target: float, got: float, note: str = "") -> Line:
    return Line(what, f">= {target:g}x", f"{got:.1f}x{note}", got >= target)


def at_most(
    what: str, target: float, got: float, unit: str = "x", note: str = ""
) -> Line:
    return Line(what, f"<= {target:g}{unit}", f"{got:.2f}{unit}{note}", got <= target)


def _scores(shape: tuple[int, ...]) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(shape, generator=generator) * 1.5
    alpha = 1.05 + 0.9 * torch.rand(1, shape[1], 1, 1, generator=generator)
    return (
        scores.to(DEVICE),
        alpha.to(DEVICE),
        torch.randn(shape, generator=generator).to(DEVICE),
    )


def _solver(name: str, shape: tuple[int, ...], dim: int, target: float) -> list[Line]:
    scores, alpha, upstream = _scores(shape)

    def both(solve: Callable[[Tensor, Tensor], Tensor]) -> None:
        z = scores.clone().requires_grad_()
        a = alpha.clone().requires_grad_()
        torch.autograd.grad(solve(z, a), (z, a), upstream)

    def ours(z: Tensor, a: Tensor) -> Tensor:
        return entmax(z, a, None, dim)

    def bisection(z: Tensor, a: Tensor) -> Tensor:
        return entmax_bisect(z, a, dim=dim, n_iter=50)

    forward = side_by_side(
        {"ours": lambda: ours(scores, alpha), "b50": lambda: bisection(scores, alpha)},
        15,
    )
    backward = side_by_side(
        {"ours": lambda: both(ours), "b50": lambda: both(bisection)}, 15
    )
    truth = entmax_bisect(scores.double(), alpha.double(), dim=dim, n_iter=100)
    error = (ours(scores, alpha).double() - truth).abs().max().item()
    took = f" ({statistics.median(forward['ours']) * 1e3:.1f} ms)"
    return [
        at_least(
            f"{name}: forward, eager", target, ratio(forward, "b50", "ours"), took
        ),
        at_least(
            f"{name}: forward + backward, eager", target, ratio(backward, "b50", "ours")
        ),
        Line(
            f"{name}: largest error, alpha 1.05-1.95",
            "<= 1e-6",
            f"{error:.1e}",
            error <= 1e-6,
        ),
    ]


def solver_compiled() -> list[Line]:
    scores, alpha, _ = _scores((32, 10, 7, 512))
    compiled = torch.compile(lambda z, a: entmax(z, a, None, 2), fullgraph=True)
    softmax = torch.compile(lambda z: z.softmax(2))
    with torch.no_grad():
        times = side_by_side(
            {
                "ours": lambda: compiled(scores, alpha),
                "b50": lambda: entmax_bisect(scores, alpha, dim=2, n_iter=50),
                "softmax": lambda: softmax(scores),
                "eager softmax": lambda: scores.softmax(2),
            },
            15,
        )
        truth = entmax_bisect(scores.double(), alpha.double(), dim=2, n_iter=100)
        error = (compiled(scores, alpha).double() - truth).abs().max().item()
    name = "solver, ring, compiled"
    took = f" ({statistics.median(times['ours']) * 1e3:.1f} ms)"
    return [
        at_least(f"{name}: forward", 18, ratio(times, "b50", "ours"), took),
        at_most(
            f"{name}: time against compiled softmax",
            10,
            ratio(times, "ours", "softmax"),
        ),
        at_most(
            f"{name}: time against eager softmax",
            10,
            ratio(times, "ours", "eager softmax"),
        ),
        Line(f"{name}: largest error", "<= 1e-6", f"{error:.1e}", error <= 1e-6),
    ]


def _batch(batch: int, length: int, dim: int) -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    embeddings = torch.randn(batch, length, dim, device=DEVICE)
    return embeddings, torch.ones(batch, length, dtype=torch.bool, device=DEVICE)


def _floor(batch: int, length: int, how: str = "") -> list[Line]:
    """The encoder against its own matrix products alone: QKV and O, 4 d^2 for each token.

    The ideal is these products and one pass over the memory that attention reads and writes: what
    no encoder of this width can be faster than.
    """
    dim = 300
    tokens = batch * length
    if how == "expressions":
        os.environ[SWITCH] = "0"
    encoder = star(dim).to(DEVICE)
    embeddings, mask = _batch(batch, length, dim)
    qkv, out = (
        torch.randn(n * dim, dim, device=DEVICE, requires_grad=True) for n in (3, 1)
    )
    inputs = embeddings.clone().requires_grad_()
    parameters = [inputs, *encoder.parameters()]
    run: Callable[..., Tensor] = encoder
    if how == "torch.compile":
        run = torch.compile(encoder, fullgraph=True)

    def products(states: Tensor) -> Tensor:
        return out @ (qkv @ states.view(tokens, dim).t())[:dim]

    def train_products() -> None:
        result = products(inputs)
        torch.autograd.grad(result, (inputs, qkv, out), torch.ones_like(result))

    def train() -> None:
        result = run(inputs, mask)
        torch.autograd.grad(result, parameters, torch.ones_like(result))

    def encode() -> Tensor:
        with torch.no_grad():
            return run(embeddings, mask)

    def multiply() -> Tensor:
        with torch.no_grad():
            return products(embeddings)

    def pass_over() -> Tensor:
        with torch.no_grad():
            query, key, value = (qkv @ embeddings.view(tokens, dim).t()).chunk(3)
            return out @ torch.addcmul(value, query, key)

    forward = side_by_side({"ours": encode, "floor": multiply, "ideal": pass_over}, 15)
    name = f"encoder d=300, {batch} x {length} tokens" + (f", {how}" if how else "")
    took = f" ({statistics.median(forward['ours']) / tokens * 1e6:.1f} us/token)"
    lines = [
        at_most(
            f"{name}: forward / products",
            1.3,
            ratio(forward, "ours", "floor"),
            note=took,
        ),
        at_most(f"{name}: forward / ideal", 1.3, ratio(forward, "ours", "ideal")),
    ]
    if how != "torch.compile":
        backward = side_by_side({"ours": train, "floor": train_products}, 15)
        took = f" ({statistics.median(backward['ours']) / tokens * 1e6:.1f} us/token)"
        got = ratio(backward, "ours", "floor")
        lines.append(
            at_most(f"{name}: forward + backward / products", 1.6, got, note=took)
        )
    return lines


def bf16() -> list[Line]:
    """The encoder under autocast against float32: time, and how far the vectors move."""
    encoder = star(300).to(DEVICE)
    embeddings, mask = _batch(4, 1024, 300)

    def encode(enabled: bool) -> Tensor:
        with torch.no_grad(), torch.autocast(DEVICE, torch.bfloat16, enabled=enabled):
            return encoder(embeddings, mask).float()

    def train(enabled: bool) -> None:
        with torch.autocast(DEVICE, torch.bfloat16, enabled=enabled):
            result = encoder(embeddings, mask)
        torch.autograd.grad(result.float().sum(), list(encoder.parameters()))

    cosine = torch.cosine_similarity(encode(True), encode(False)).min().item()
    name = "encoder d=300, 4 x 1024 tokens, bf16 against float32"
    lines = []
    for what, run in (("forward", encode), ("forward + backward", train)):
        turns = {"bf16": partial(run, True), "float32": partial(run, False)}
        faster = ratio(side_by_side(turns, 15), "float32", "bf16")
        lines.append(Line(f"{name}: {what}", "", f"{faster:.2f}x as fast", None))
    return [*lines, Line(f"{name}: smallest cosine", "", f"{cosine:.5f}", None)]


def linear_time() -> list[Line]:
    """Time a token at several lengths, against a dense Transformer layer with feed-forward."""
    encoder = star(300).to(DEVICE)
    dense = build_encoder(
        {
            "class": "TransformerEncoder",
            "input_dim": 300,
            "layers": 1,
            "heads": 10,
            "head_dim": 30,
            "hidden_dim": 1200,
            "positions": False,
            "dropout": 0.0,
            "sparsity": {"class": "Softmax"},
        }
    ).to(DEVICE)
    each: dict[int, float] = {}
    lines = []
    targets = {128: 2.5, 512: None, 2048: 6.0, 8192: None, 16384: 30.0}
    with torch.no_grad():
        for length, target in targets.items():
            embeddings, mask = _batch(max(1, 2048 // length), length, 300)
            ours = side_by_side({"ours": lambda: encoder(embeddings, mask)}, 15)["ours"]  # noqa: B023
            each[length] = statistics.median(ours) / mask.numel() * 1e6
            if target is not None:
                runs: dict[str, Callable[[], Any]] = {
                    "ours": partial(encoder, embeddings, mask),
                    "dense": partial(dense, embeddings, mask),
                }
                times = side_by_side(runs, 15 if length < 16384 else 3)
                got = ratio(times, "dense", "ours")
                lines.append(
                    at_least(
                        f"dense Transformer layer / star, {length} tokens", target, got
                    )
                )
    spread = max(each.values()) / min(each.values())
    note = " (" + ", ".join(f"{n}: {us:.1f}" for n, us in each.items()) + " us/token)"
    return [
        at_most("star, time a token, longest / shortest", 1.2, spread, note=note),
        *lines,
    ]


def _memory(train: bool, original: bool) -> list[Line]:
    length = 2048 if original else 16384
    encoder = star(300, original)
    embeddings, mask = _batch(1, length, 300)
    parameters = list(encoder.parameters())

    def run() -> None:
        if train:
            result = encoder(embeddings, mask)
            torch.autograd.grad(result, parameters, torch.ones_like(result))
        else:
            with torch.no_grad():
                encoder(embeddings, mask)

    small = embeddings[:, :64], mask[:, :64]
    encoder(*small).sum().backward()  # libraries, buffers of the matrix products
    kilobytes = peak_bytes(run) / length / 1000
    what = f"peak memory a token, d=300, {length} tokens, {'training' if train else 'inference'}"
    if original:
        return [Line(f"{what}, original recipe", "", f"{kilobytes:.1f} KB", None)]
    return [at_most(what, 12 if train else 2.5, kilobytes, " KB")]


def optimizer() -> list[Line]:
    """The step of Adam over a table of word vectors, as training takes it and by single operations."""

    def step(fused: bool) -> Callable[[], Any]:
        words = torch.nn.Parameter(torch.randn(30_000, 300, device=DEVICE))
        words.grad = torch.randn_like(words)
        return torch.optim.Adam([words], fused=fused, foreach=False).step

    times = side_by_side({"fused": step(True), "plain": step(False)}, 20)
    took = {name: statistics.median(each) * 1e3 for name, each in times.items()}
    gain = f"{took['fused']:.1f} ms against {took['plain']:.1f}"
    return [Line("Adam over 30,000 x 300 word vectors, fused", "", gain, None)]


ROWS: dict[str, Callable[[], list[Line]]] = {
    "solver_ring": partial(
        _solver, "solver, ring (32,10,7,512)", (32, 10, 7, 512), 2, 10
    ),
    "solver_star_512": partial(
        _solver, "solver, star (32,10,1,512)", (32, 10, 1, 512), 3, 8
    ),
    "solver_star_4096": partial(
        _solver, "solver, star (8,10,1,4096)", (8, 10, 1, 4096), 3, 8
    ),
    "solver_compiled": solver_compiled,
    "floor_128": partial(_floor, 32, 128),
    "floor_1024": partial(_floor, 4, 1024),
    "floor_16384": partial(_floor, 1, 16384),
    "floor_1024_expressions": partial(_floor, 4, 1024, "expressions"),
    "floor_1024_torch_compile": partial(_floor, 4, 1024, "torch.compile"),
    "optimizer": optimizer,
    "bf16": bf16,
    "linear_time": linear_time,
    "memory_inference": partial(_memory, train=False, original=False),
    "memory_training": partial(_memory, train=True, original=False),
    "memory_original_inference": partial(_memory, train=False, original=True),
    "memory_original_training": partial(_memory, train=True, original=True),
}
