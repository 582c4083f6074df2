"""alpha-entmax against bisection in float64, the entmax package, and finite differences."""

import math

import entmax as package
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_news.sparsity import (
    SPARSITIES,
    AdaptiveEntmax,
    Entmax15,
    Softmax,
    Sparsemax,
)
from siamese_news.sparsity.entmax import entmax

ALPHAS = (1.01, 1.05, 1.2, 1.5, 1.8, 1.95, 2.0)


def bisect(scores, alpha, steps=200):
    """alpha-entmax of one row by bisection, in Python floats."""
    top = max(scores)
    scaled = [(alpha - 1) * (score - top) for score in scores]
    low, high = -1.0, 0.0
    for _ in range(steps):
        tau = (low + high) / 2
        mass = sum(max(score - tau, 0.0) ** (1 / (alpha - 1)) for score in scaled)
        low, high = (tau, high) if mass >= 1 else (low, tau)
    weights = [max(score - low, 0.0) ** (1 / (alpha - 1)) for score in scaled]
    return [weight / sum(weights) for weight in weights]


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.floats(-30, 30), min_size=1, max_size=12),
    st.sampled_from(ALPHAS) | st.floats(1.01, 2),
)
def test_against_bisection_in_plain_python(scores, alpha):
    truth = torch.tensor(bisect(scores, alpha), dtype=torch.float64)
    row = torch.tensor(scores, dtype=torch.float64)
    got = entmax(row, torch.full((1,), alpha, dtype=torch.float64))
    torch.testing.assert_close(got, truth, rtol=0, atol=1e-12)
    torch.testing.assert_close(entmax(row, alpha), truth, rtol=0, atol=1e-12)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("keys", [1, 2, 7, 64, 512, 4096])
@pytest.mark.parametrize("scale", [0.1, 1, 4, 30])
def test_against_the_package(keys, scale):
    generator = torch.Generator().manual_seed(keys)
    rows = (torch.randn(8, keys, generator=generator) * scale).double()
    for alpha in ALPHAS:
        truth = package.entmax_bisect(rows, alpha, dim=-1, n_iter=100)
        per_row = torch.full((8, 1), alpha, dtype=torch.float64)
        for given_alpha in (alpha, per_row):
            exact = entmax(rows, given_alpha)
            torch.testing.assert_close(exact, truth, rtol=0, atol=1e-12)
        if alpha >= 1.05:
            single = entmax(rows.float(), per_row.float()).double()
            torch.testing.assert_close(single, truth, rtol=0, atol=1e-6)


HARD = {
    "linear": lambda i, n: -i / n,
    "harmonic": lambda i, n: 1 / (1 + i),
    "log": lambda i, n: -math.log1p(i),
    "sqrt": lambda i, n: -math.sqrt(i),
    "geometric": lambda i, n: 0.9**i,
    "ties": lambda i, n: float(i % 2),
    "one-hot": lambda i, n: 10.0 * (i == 0),
    "equal": lambda i, n: 1.0,
}


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("keys", [7, 4096])
def test_hard_inputs(kind, keys):
    row = torch.tensor(
        [[HARD[kind](i, keys) for i in range(keys)]], dtype=torch.float64
    )
    for alpha in ALPHAS:
        truth = package.entmax_bisect(row, alpha, dim=-1, n_iter=100)
        torch.testing.assert_close(entmax(row, alpha), truth, rtol=0, atol=1e-12)
        if alpha >= 1.05:
            single = entmax(row.float(), alpha).double()
            truth = package.entmax_bisect(
                row.float().double(), alpha, dim=-1, n_iter=100
            )
            torch.testing.assert_close(single, truth, rtol=0, atol=1e-6)


def test_special_alphas_are_the_packages_exact_maps():
    rows = torch.randn(5, 3, 9, dtype=torch.float64)
    torch.testing.assert_close(
        Sparsemax(heads=3)(rows), package.sparsemax(rows, dim=-1), rtol=0, atol=1e-12
    )
    torch.testing.assert_close(
        Entmax15(heads=3)(rows), package.entmax15(rows, dim=-1), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("dim", [0, 1, 2, 3, -1])
def test_gradcheck_of_scores_and_alpha(dim):
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(2, 3, 4, 5, dtype=torch.float64, generator=generator)
    scores = (scores * 0.7).requires_grad_()
    shape = [1, 3, 1, 1]
    shape[dim] = 1
    alpha = torch.full(shape, 1.0, dtype=torch.float64) + torch.linspace(
        0.15, 0.8, math.prod(shape), dtype=torch.float64
    ).view(shape)
    alpha.requires_grad_()
    torch.autograd.gradcheck(lambda z, a: entmax(z, a, None, dim), (scores, alpha))
    torch.autograd.gradcheck(lambda z: entmax(z, 1.5, None, dim), scores)


def test_gradient_equals_the_packages():
    scores = torch.randn(4, 3, 7, 11, dtype=torch.float64, requires_grad=True)
    alpha = (
        torch.tensor([1.1, 1.5, 1.9], dtype=torch.float64)
        .view(1, 3, 1, 1)
        .requires_grad_()
    )
    upstream = torch.randn(4, 3, 7, 11, dtype=torch.float64)
    grads = [
        torch.autograd.grad(
            (entmax(scores, alpha, None, 2, backend) * upstream).sum(), inputs
        )
        for backend in ("newton", "entmax")
        for inputs in [(scores, alpha)]
    ]
    for ours, theirs in zip(*grads, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", SPARSITIES)
@pytest.mark.parametrize("dim", [2, 3])
def test_masked_equals_shorter_and_empty_rows_are_zero(kind, dim):
    sparsity = SPARSITIES[kind](heads=3)
    scores = torch.randn(2, 3, 6, 6, dtype=torch.float64, requires_grad=True)
    mask = torch.ones(1, 1, 6, 6, dtype=torch.bool)
    mask.select(dim, 4).fill_(False)
    mask.select(dim, 1).fill_(False)
    keep = [0, 2, 3, 5]
    weights = sparsity(scores, mask, dim)
    shorter = sparsity(scores.index_select(dim, torch.tensor(keep)), None, dim)
    torch.testing.assert_close(weights.index_select(dim, torch.tensor(keep)), shorter)
    assert (weights.select(dim, 4) == 0).all()
    nothing = sparsity(scores, torch.zeros_like(mask), dim)
    assert (nothing == 0).all()
    (grad,) = torch.autograd.grad((weights * 2 + nothing).square().sum(), scores)
    assert grad.isfinite().all()


@pytest.mark.parametrize("kind", SPARSITIES)
@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64]
)
def test_hostile_scores(kind, dtype):
    sparsity = SPARSITIES[kind](heads=1)
    scores = torch.tensor(
        [
            [1e4, -1e4, 0, 1e4],
            [-math.inf, 3, -math.inf, -1e4],
            [-math.inf] * 4,
            [-1e4] * 4,
            [0, -math.inf, -math.inf, -math.inf],
        ],
        dtype=dtype,
    ).view(1, 1, 5, 4)
    scores.requires_grad_()
    weights = sparsity(scores)
    assert weights.dtype == dtype
    sums = weights.sum(-1).view(-1).double()
    torch.testing.assert_close(
        sums,
        torch.tensor([1, 1, 0, 1, 1]).double(),
        rtol=0,
        atol=1e-2 if dtype.itemsize == 2 else 1e-6,
    )
    assert weights[0, 0, 1].tolist() == [0, 1, 0, 0]
    (weights * torch.arange(4)).sum().backward()
    assert scores.grad.isfinite().all()
    for parameter in sparsity.parameters():
        assert parameter.grad.isfinite().all()


@pytest.mark.parametrize("kind", SPARSITIES)
def test_autocast_computes_in_float32(kind):
    sparsity = SPARSITIES[kind](heads=2)
    scores = torch.randn(2, 2, 300)
    with torch.autocast("cpu", torch.bfloat16):
        weights = sparsity(scores)
    assert weights.dtype == torch.float32
    torch.testing.assert_close(weights, sparsity(scores), rtol=0, atol=1e-7)


@pytest.mark.parametrize("kind", SPARSITIES)
def test_no_rows_and_no_keys(kind):
    sparsity = SPARSITIES[kind](heads=2)
    assert sparsity(torch.zeros(0, 2, 5)).shape == (0, 2, 5)
    assert sparsity(torch.zeros(3, 2, 0)).shape == (3, 2, 0)
    assert (sparsity(torch.randn(3, 2, 1)) == 1).all()


@pytest.mark.parametrize("pre_alpha", [-1e9, -1e3, 0.0, 1e3, 1e9])
def test_alpha_pushed_to_its_bounds(pre_alpha):
    sparsity = AdaptiveEntmax(heads=2)
    with torch.no_grad():
        sparsity.pre_alpha.fill_(pre_alpha)
    scores = torch.randn(4, 2, 9, requires_grad=True)
    weights = sparsity(scores)
    weights.square().sum().backward()
    assert ((sparsity.alphas() >= 1.01) & (sparsity.alphas() <= 2)).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(4, 2))
    assert scores.grad.isfinite().all()
    assert sparsity.pre_alpha.grad.isfinite().all()


@pytest.mark.parametrize("start", [-7.0, -4.6, 9.0])
def test_a_head_at_its_bound_comes_back(start):
    """alpha at 1.01 or 2, taught weights of alpha 1.5."""
    scores = torch.randn(64, 1, 9, generator=torch.Generator().manual_seed(0))
    target = Entmax15(heads=1)(scores)
    sparsity = AdaptiveEntmax(heads=1)
    with torch.no_grad():
        sparsity.pre_alpha.fill_(start)
    assert sparsity.alphas().item() == pytest.approx(1.01 if start < 0 else 2, abs=1e-3)
    optimizer = torch.optim.Adam(sparsity.parameters(), lr=0.1)
    for _ in range(300):
        optimizer.zero_grad()
        (sparsity(scores) - target).square().sum().backward()
        optimizer.step()
    assert sparsity.alphas().item() == pytest.approx(1.5, abs=0.05)


def test_alpha_is_the_clamped_sigmoid_to_the_digit():
    sparsity = AdaptiveEntmax(heads=2000)
    with torch.no_grad():
        sparsity.pre_alpha.copy_(torch.linspace(-20, 20, 2000))
    expected = (1 + sparsity.pre_alpha.sigmoid()).clamp(1.01, 2)
    assert torch.equal(sparsity.alphas(), expected)


def test_adaptive_draws_as_its_sources():
    torch.manual_seed(0)
    uniform = AdaptiveEntmax(heads=4000, init="uniform").alphas()
    assert abs(uniform.mean() - 1.5) < 0.02
    assert abs((uniform < 1.25).float().mean() - 0.25) < 0.03
    normal = AdaptiveEntmax(heads=4000, init="normal").pre_alpha
    assert abs(normal.std() - 1) < 0.05


def test_softmax_is_softmax():
    scores = torch.randn(2, 3, 4)
    torch.testing.assert_close(Softmax(heads=3)(scores), scores.softmax(-1))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: AdaptiveEntmax(heads=0), "heads=0"),
        (lambda: AdaptiveEntmax(heads=2, init="zero"), "'uniform'"),
        (lambda: Entmax15(heads=2, backend="sort"), "newton, entmax"),
        (lambda: entmax(torch.zeros(2, 3), torch.full((3,), 1.5)), "size 1 along dim"),
        (
            lambda: entmax(torch.zeros(2, 3), torch.full((1, 3), 1.5)),
            "size 1 along dim",
        ),
    ],
)
def test_wrong_arguments_say_what_is_right(make, words):
    with pytest.raises(ValueError, match=words):
        make()
