"""Ring and star against naive Python loops, and against the equations."""

import math
from itertools import product

import pytest
import torch
from benchmarks.equations import RingEquations, StarEquations
from entmax import entmax_bisect

from siamese_news.attention import RingAttention, StarAttention, compiled
from siamese_news.attention import ring as ring_module
from siamese_news.attention.compiled import library
from siamese_news.encoders.transformer import DenseAttention
from siamese_news.sparsity import SPARSITIES, AdaptiveEntmax, Softmax

OPTIONS = {
    "dim": 6,
    "heads": 3,
    "head_dim": 2,
    "sparsity": AdaptiveEntmax,
    "similarity": "dot",
    "scale": None,
    "bias": True,
}


def mha(module, query, keys):
    """Multi-head attention of one query (E,) over a list of key states, head by head."""
    if not keys:
        return module.output.bias.clone()
    heads = []
    alphas = [module.sparsity.alpha[h] for h in range(module.heads)]
    for head in range(module.heads):
        rows = slice(head * module.head_dim, (head + 1) * module.head_dim)
        q = module.query.weight[rows] @ query + module.query.bias[rows]
        scores = []
        for key in keys:
            k = module.key.weight[rows] @ key
            similarity = q @ k
            if module.similarity == "cosine":
                similarity = similarity / (q.norm() * k.norm())
            scores.append(similarity * module.scale)
        weights = attention_row(torch.stack(scores), alphas[head])
        heads.append(
            sum(
                w * (module.value.weight[rows] @ key)
                for w, key in zip(weights, keys, strict=True)
            )
        )
    return module.output.weight @ torch.cat(heads) + module.output.bias


def attention_row(scores, alpha):
    from entmax import entmax_bisect

    return entmax_bisect(scores, alpha, dim=-1, n_iter=60)


def make(kind, **options):
    torch.manual_seed(5)
    return kind(**{**OPTIONS, **options}).double()


def batch(lengths=(7, 1, 0, 4), dim=6):
    torch.manual_seed(2)
    width = max(lengths) + 2
    nodes = torch.randn(len(lengths), width, dim, dtype=torch.float64)
    mask = torch.arange(width) < torch.tensor(lengths)[:, None]
    relay = torch.randn(len(lengths), dim, dtype=torch.float64)
    return nodes, mask, relay


@pytest.mark.sampled(6)
@pytest.mark.parametrize("radius", [0, 1, 2, 9])
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_ring_against_a_loop(radius, own, similarity):
    rings = [
        make(kind, radius=radius, similarity=similarity)
        for kind in (RingAttention, RingEquations)
    ]
    nodes, mask, relay = batch()
    embeddings = torch.randn_like(nodes)
    results = [ring(nodes, mask, relay, embeddings if own else None) for ring in rings]
    for text, length in enumerate((7, 1, 0, 4)):
        for i in range(length):
            context = [
                nodes[text, j]
                for j in range(i - radius, i + radius + 1)
                if 0 <= j < length
            ]
            context += [embeddings[text, i]] if own else []
            truth = mha(rings[0], nodes[text, i], [*context, relay[text]])
            for updated in results:
                torch.testing.assert_close(updated[text, i], truth, rtol=0, atol=1e-12)


@pytest.mark.parametrize("itself", [False, True])
@pytest.mark.parametrize("similarity", ["dot", "cosine"])
@pytest.mark.parametrize("kind", [StarAttention, StarEquations])
def test_star_against_a_loop(itself, similarity, kind):
    star = make(kind, attends_itself=itself, similarity=similarity)
    nodes, mask, relay = batch()
    updated = star(relay, nodes, mask)
    for text, length in enumerate((7, 1, 0, 4)):
        keys = [*nodes[text, :length], *([relay[text]] if itself else [])]
        truth = mha(star, relay[text], keys)
        torch.testing.assert_close(updated[text], truth, rtol=0, atol=1e-12)


def test_dense_against_a_loop():
    dense = make(DenseAttention)
    nodes, mask, _ = batch()
    updated = dense(nodes, mask)
    for text, length in enumerate((7, 1, 0, 4)):
        for i in range(length):
            truth = mha(dense, nodes[text, i], list(nodes[text, :length]))
            torch.testing.assert_close(updated[text, i], truth, rtol=0, atol=1e-12)


def test_dense_softmax_is_the_same_recorded_or_not():
    dense = make(DenseAttention, sparsity=Softmax)
    nodes, mask, _ = batch()
    quick = dense(nodes, mask)
    dense.record = True
    torch.testing.assert_close(
        dense(nodes, mask)[mask], quick[mask], rtol=0, atol=1e-12
    )
    assert quick.isfinite().all()


@pytest.mark.sampled(20)
@pytest.mark.parametrize("sparsity", SPARSITIES.values())
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("similarity", ["dot", "cosine"])
@pytest.mark.parametrize("radius", [0, 2, 20])
def test_the_ring_and_its_equations_agree(sparsity, own, similarity, radius):
    results = []
    for kind in (RingAttention, RingEquations):
        ring = make(kind, radius=radius, similarity=similarity, sparsity=sparsity)
        nodes, mask, relay = batch()
        inputs = [
            nodes.requires_grad_(),
            relay.requires_grad_(),
            torch.randn_like(nodes),
        ]
        inputs[2].requires_grad_()
        updated = ring(nodes, mask, relay, inputs[2] if own else None)[mask]
        torch.manual_seed(9)
        wanted = [*inputs[: 2 + own], *ring.parameters()]
        grads = torch.autograd.grad((updated * torch.randn_like(updated)).sum(), wanted)
        results.append((updated, grads))
    (fast, fast_grads), (slow, slow_grads) = results
    torch.testing.assert_close(fast, slow, rtol=0, atol=1e-12)
    for one, other in zip(fast_grads, slow_grads, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize("sparsity", SPARSITIES.values())
@pytest.mark.parametrize("itself", [False, True])
@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_the_star_and_its_equations_agree(sparsity, itself, similarity):
    results = []
    for kind in (StarAttention, StarEquations):
        star = make(
            kind, attends_itself=itself, similarity=similarity, sparsity=sparsity
        )
        nodes, mask, relay = batch()
        inputs = [nodes.requires_grad_(), relay.requires_grad_()]
        updated = star(relay, nodes, mask)
        torch.manual_seed(9)
        loss = (updated * torch.randn_like(updated)).sum()
        results.append(
            (updated, torch.autograd.grad(loss, [*inputs, *star.parameters()]))
        )
    (fast, fast_grads), (slow, slow_grads) = results
    torch.testing.assert_close(fast, slow, rtol=0, atol=1e-12)
    for one, other in zip(fast_grads, slow_grads, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize("tile", [1, 2, 5, 7, 1000])
@pytest.mark.parametrize("radius", [0, 2, 11])
def test_tiles_change_nothing(monkeypatch, tile, radius):
    ring = make(RingAttention, radius=radius)
    nodes, mask, relay = batch((7, 1, 0, 4, 9, 3))
    whole = ring(nodes, mask, relay, nodes)
    monkeypatch.setattr(ring_module, "TILE", tile)
    with torch.no_grad():
        tiled = ring(nodes, mask, relay, nodes)
    torch.testing.assert_close(tiled, whole, rtol=0, atol=1e-13)


def test_holes_in_the_mask_are_no_keys():
    ring = make(RingAttention, radius=2)
    nodes, mask, relay = batch((9,))
    mask[0, 3] = False
    changed = nodes.clone()
    changed[0, 3] += 100
    before, after = ring(nodes, mask, relay), ring(changed, mask, relay)
    torch.testing.assert_close(before[mask], after[mask], rtol=0, atol=0)


def test_recorded_weights_are_those_of_the_equations():
    recorded = []
    for kind in (RingAttention, RingEquations):
        ring = make(kind, radius=2)
        ring.record = True
        nodes, mask, relay = batch()
        ring(nodes, mask, relay, nodes)
        recorded.append(ring.recorded.transpose(1, 2)[mask])
    assert recorded[0].shape == (12, 3, 7)
    torch.testing.assert_close(*recorded, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("ring_kind", "star_kind"),
    [(RingAttention, StarAttention), (RingEquations, StarEquations)],
)
def test_gradcheck(ring_kind, star_kind):
    ring = make(ring_kind, radius=1)
    star = make(star_kind, attends_itself=True)
    nodes, mask, relay = batch((3, 1))
    inputs = (nodes.requires_grad_(), relay.requires_grad_())
    torch.autograd.gradcheck(lambda n, r: ring(n, mask, r, n)[mask], inputs)
    torch.autograd.gradcheck(lambda n, r: star(r, n, mask), inputs)


needs_loops = pytest.mark.skipif(
    library()[0] is None,
    reason="loops.c is not built: python setup.py build_ext --inplace",
)


@pytest.fixture
def no_loop(monkeypatch):
    """Without the compiled loop."""
    monkeypatch.setattr(compiled, "library", lambda: (None, "off"))


# Texts of three vectors of 16 tokens and a rest meet every branch; texts of one vector or less have
# only some of them, so the maps take turns there.
MAPS, OWN, RADII = list(SPARSITIES.values()), ["none", "itself", "others"], [0, 2, 6]
SHORT = [
    (MAPS[turn % len(MAPS)], own, radius, length)
    for turn, (own, radius, length) in enumerate(product(OWN, RADII, [1, 5, 16]))
]


@pytest.mark.sampled(20)
@needs_loops
@pytest.mark.parametrize(
    ("sparsity", "own", "radius", "length"), [*product(MAPS, OWN, RADII, [53]), *SHORT]
)
def test_the_compiled_loop_against_float64(monkeypatch, sparsity, own, radius, length):
    options = {
        "dim": 20,
        "heads": 4,
        "head_dim": 5,
        "radius": radius,
        "sparsity": sparsity,
    }
    exact = make(RingAttention, **options)
    loop = make(RingAttention, **options).float()
    torch.manual_seed(length)
    nodes, others = torch.randn(2, 7, length, 20)
    relay, mask = torch.randn(7, 20), torch.rand(7, length) > 0.3
    results = []
    for ring, kind in ((exact, torch.float64), (loop, torch.float32)):
        inputs = [part.to(kind).requires_grad_() for part in (nodes, relay, others)]
        embeddings = {"none": None, "itself": inputs[0], "others": inputs[2]}[own]
        updated = ring(inputs[0], mask, inputs[1], embeddings)
        upstream = torch.cos(torch.arange(updated.numel())).view(updated.shape).to(kind)
        loss = (updated * upstream)[mask].sum()
        wanted = [*inputs[: 2 + (own == "others")], *ring.parameters()]
        results.append([updated[mask], *torch.autograd.grad(loss, wanted)])
        with monkeypatch.context() as patch, torch.no_grad():
            patch.setattr(ring_module, "TILE", 16)
            tiled = ring(inputs[0], mask, inputs[1], embeddings)
        torch.testing.assert_close(tiled[mask], updated[mask], rtol=0, atol=2e-6)
    for one, other in zip(*results, strict=True):
        error = (one - other).abs().max() if one.numel() else torch.tensor(0.0)
        assert error <= 1e-5 * max(one.abs().max().item() if one.numel() else 0, 1)


@pytest.mark.sampled(16)
@needs_loops
@pytest.mark.parametrize("sparsity", MAPS)
@pytest.mark.parametrize("itself", [False, True])
@pytest.mark.parametrize("length", [1, 15, 16, 700])
def test_the_compiled_star_against_float64(sparsity, itself, length):
    options = {
        "dim": 20,
        "heads": 4,
        "head_dim": 5,
        "attends_itself": itself,
        "scale": 3.0,
    }
    exact = make(StarAttention, sparsity=sparsity, **options)
    compiled_star = make(StarAttention, sparsity=sparsity, **options).float()
    torch.manual_seed(length)
    relay = torch.randn(7, 20)
    nodes = torch.randn(7, length, 20)
    mask = torch.rand(7, length) > 0.3
    mask[0] = False
    with torch.no_grad():
        wanted = exact(relay.double(), nodes.double(), mask)
        updated = compiled_star(relay, nodes, mask)
        torch.testing.assert_close(updated.double(), wanted, rtol=0, atol=3e-6)
        nodes[1, 0], mask[1, 0] = math.nan, True
        assert torch.equal(
            compiled_star(relay, nodes, mask).isnan().all(1), torch.arange(7) == 1
        )


@pytest.mark.sampled(24)
@needs_loops
@pytest.mark.parametrize("keys", [1, 16, 4096])
@pytest.mark.parametrize("alpha", [1.0, 1.01, 1.05, 1.5, 1.95, 2.0])
@pytest.mark.parametrize("spread", [0.0, 1e-3, 1.5, 50.0])
def test_compiled_weights_of_many_keys_are_exact(keys, alpha, spread):
    scores = torch.randn(3, 2, keys) * spread
    mask = torch.ones(3, keys, dtype=torch.bool)
    weights = compiled.row_weights(scores, mask, torch.tensor([alpha, alpha]))
    wide = scores.double()
    wanted = wide.softmax(2) if alpha == 1 else entmax_bisect(wide, alpha, n_iter=100)
    torch.testing.assert_close(weights.double(), wanted, rtol=2e-5, atol=1e-6)


@needs_loops
def test_the_compiled_loop_is_the_same_with_more_threads(monkeypatch):
    ring = make(RingAttention, radius=2).float()
    nodes, relay = torch.randn(3, 400, 6), torch.randn(3, 6)
    mask = torch.ones(3, 400, dtype=torch.bool)
    monkeypatch.setattr(compiled, "SMALL", 1)
    results = []
    for threads in (1, 3):
        monkeypatch.setattr(torch, "get_num_threads", lambda: threads)  # noqa: B023
        updated = ring(nodes, mask, relay)
        results.append(
            [updated, *torch.autograd.grad(updated.square().sum(), ring.parameters())]
        )
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


@needs_loops
@pytest.mark.parametrize("head_dim", [1, 2])
def test_the_compiled_loop_takes_any_strides_and_default_dtype(monkeypatch, head_dim):
    ring = make(RingAttention, radius=2, head_dim=head_dim, sparsity=Softmax).float()
    nodes, relay = torch.randn(6, 1, 18).permute(1, 2, 0), torch.randn(6, 1).t()
    mask = torch.rand(1, 36)[:, ::2] > 0.3
    results = []
    torch.set_default_dtype(torch.float64)
    try:
        results.append(ring(nodes, mask, relay))
        monkeypatch.setattr(compiled, "library", lambda: (None, "off"))
        results.append(ring(nodes, mask, relay))
    finally:
        torch.set_default_dtype(torch.float32)
    torch.testing.assert_close(*(one[mask] for one in results), rtol=0, atol=1e-6)


@needs_loops
@pytest.mark.parametrize("broken", ["query", "key", "value"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_broken_weights_give_nan_not_a_number(broken, value):
    ring = make(RingAttention, radius=1).float()
    getattr(ring, broken).weight.data[1] = value
    nodes, mask, relay = (
        part.float() if part.dtype != torch.bool else part for part in batch()
    )
    with torch.no_grad():
        assert not ring(nodes, mask, relay)[mask].isfinite().any()


@pytest.mark.parametrize("kind", [RingAttention, StarAttention])
@pytest.mark.usefixtures("no_loop")
def test_autocast_keeps_scores_in_float32(kind):
    extra = {"radius": 2} if kind is RingAttention else {"attends_itself": True}
    module = make(kind, **extra).float()
    seen = []
    module.sparsity.register_forward_hook(lambda m, i, o: seen.append(o.dtype))
    nodes, mask, relay = (
        part.float() if part.dtype != torch.bool else part for part in batch()
    )
    run = (
        (lambda: module(nodes, mask, relay))
        if kind is RingAttention
        else (lambda: module(relay, nodes, mask))
    )
    exact = run()
    with torch.autocast("cpu", torch.bfloat16):
        rough = run()
        with torch.no_grad():
            torch.testing.assert_close(run(), rough.detach(), check_dtype=False)
    rough.float().sum().backward()
    assert seen == [torch.float32] * 3
    assert torch.cosine_similarity(rough.float().flatten(), exact.flatten(), 0) > 0.999
    assert all(p.grad.isfinite().all() for p in module.parameters())


def test_default_scales():
    assert make(RingAttention, radius=1).scale == pytest.approx(1 / math.sqrt(2))
    assert make(RingAttention, radius=1, similarity="cosine").scale == 1
    assert make(RingAttention, radius=1, scale=3.0).scale == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"similarity": "l2"}, "dot, cosine"),
        ({"heads": 0}, "heads=0"),
        ({"radius": -1}, "radius=-1"),
        ({"scale": -1.0}, "scale=-1.0"),
    ],
)
def test_wrong_options_say_what_is_right(options, words):
    with pytest.raises(ValueError, match=words):
        make(RingAttention, **{"radius": 2, **options})
