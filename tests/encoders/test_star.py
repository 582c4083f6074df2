"""The star encoder: it computes its equations, and its options do what they say."""

import pytest
import torch
from benchmarks.equations import as_equations

from siamese_news.attention.word_projections import Words
from siamese_news.encoders import build_encoder
from siamese_news.errors import InputError

CHOICES = [
    {},
    {"context_includes_embedding": True, "relay_attends_itself": True},
    {"similarity": "cosine", "scale": 4.0, "pooling": "max_relay"},
    {"layer_norm": True, "activation": "leaky_relu", "residual": "add"},
    {"positions": "sinusoidal", "pooling": "mean_relay", "activation": "gelu"},
    {"heads": 3, "head_dim": 2, "output_projection": False, "similarity": "cosine"},
    {"feed_forward": 2, "pre_norm": True, "residual": "block", "cycles": 2},
    {"feed_forward": 1, "residual": "zero_init", "context_includes_embedding": True},
    {"window": 0, "cycles": 3, "bias": False, "activation": "relu", "residual": "none"},
]


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("kind", ["softmax", "adaptive"])
def test_it_computes_its_equations(config, texts, choice, kind):
    results = []
    for change in (torch.nn.Module.train, as_equations):
        torch.manual_seed(1)
        encoder = change(build_encoder({**config("star", kind, 6), **choice}).double())
        for residual in encoder.residuals:
            if residual.factor is not None:
                torch.nn.init.normal_(residual.factor)
        embeddings, mask, weights = texts([9, 1, 0, 4])
        vectors = encoder(embeddings.requires_grad_(), mask, weights)
        inputs = [embeddings, *encoder.parameters()]
        grads = torch.autograd.grad(
            (vectors * torch.linspace(-1, 2, 24).view(4, 6)).sum(), inputs
        )
        results.append((vectors, grads))
    (fast, fast_grads), (slow, slow_grads) = results
    torch.testing.assert_close(fast, slow, rtol=0, atol=1e-12)
    for one, other in zip(fast_grads, slow_grads, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("change", [torch.nn.Module.eval, as_equations])
def test_looked_up_words_are_the_same_tokens(config, texts, choice, change):
    options = {**config("star", "adaptive", 6), **choice}
    encoder = change(build_encoder(options).double().eval())
    for residual in encoder.residuals:
        if residual.factor is not None:
            torch.nn.init.normal_(residual.factor)
    vectors = texts([5])[0][0]
    words = Words(vectors)
    for lengths in ([9, 1, 0, 4], [3, 3]):
        mask = torch.arange(9) < torch.tensor(lengths)[:, None]
        rows = torch.randint(
            0, 5, mask.shape, generator=torch.Generator().manual_seed(3)
        )
        weights = rows.double().add(1).sqrt() * mask
        with torch.no_grad():
            expected = encoder(vectors[rows] * mask[:, :, None], mask, weights)
            found = encoder.encode_words(words, rows, mask, weights)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("lead", [None, 2.5])
def test_the_block_by_its_equations(config, texts, lead):
    """The lines of the docstring of `StarEncoder`, with the attention of the equations."""
    options = {**config("star_feed_forward", "adaptive", 6), "lead": lead}
    encoder = as_equations(build_encoder(options).double())
    embeddings, mask, weights = texts([9, 1, 4])
    shares = weights
    if lead is not None:
        shares = weights * torch.tensor([1 / (1 + place / lead) for place in range(9)])
    shares = shares / shares.sum(1, keepdim=True)
    start = (shares[:, :, None] * embeddings).sum(1)
    h, s = embeddings, start
    for cycle in range(2):
        ring_norm, star_norm, forward_norm = encoder.norms[3 * cycle : 3 * cycle + 3]
        h = h + encoder.rings[cycle](ring_norm(h), mask, ring_norm(s))
        s = s + encoder.stars[cycle](star_norm(s), star_norm(h), mask)
        first, _, second = encoder.feed_forwards[cycle]
        assert first.out_features == 24
        h = h + second(torch.nn.functional.gelu(first(forward_norm(h))))
    assert encoder.block_factor.item() == pytest.approx(0.3)
    h = embeddings + 0.3 * (h - embeddings)
    s = start + 0.3 * (s - start)
    expected = ((shares[:, :, None] * h).sum(1) + s) / 2
    torch.testing.assert_close(
        encoder(embeddings, mask, weights), expected, rtol=0, atol=1e-7
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"feed_forward": -1}, "feed_forward=-1"),
        ({"pre_norm": True, "layer_norm": True}, "expected one of them"),
        ({"residual": "blocks"}, "zero_init, block"),
        ({"lead": 0}, "lead=0"),
        ({"lead": float("nan")}, "lead=nan"),
    ],
)
def test_wrong_options_of_the_block(config, change, words):
    with pytest.raises(InputError, match=words):
        build_encoder({**config("star", "softmax", 6), **change})


def test_solver_backends_agree(config, texts):
    results = []
    for backend in ("newton", "entmax"):
        torch.manual_seed(1)
        options = config("star_reference", "adaptive", 6)
        options["sparsity"]["backend"] = backend
        encoder = build_encoder(options).double()
        vectors = encoder(*texts([9, 1, 0, 4]))
        grads = torch.autograd.grad(vectors.square().sum(), list(encoder.parameters()))
        results.append((vectors, *grads))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)


def test_zero_init_starts_as_its_pooling(config, texts):
    encoder = build_encoder(config("star", "adaptive", 6)).double()
    embeddings, mask, weights = texts([9, 1, 0, 4])
    shares = weights / weights.sum(1, keepdim=True).clamp(min=1e-12)
    mean = (shares[:, :, None] * embeddings).sum(1)
    torch.testing.assert_close(encoder(embeddings, mask, weights), mean)


def test_paper_pooling_by_hand(config, texts):
    encoder = build_encoder(config("star_paper", "adaptive", 6)).double()
    embeddings, mask, _ = texts([5])
    nodes, relay = embeddings, embeddings.mean(1)
    for ring, star in zip(encoder.rings, encoder.stars, strict=True):
        nodes = ring(nodes, mask, relay, None)
        relay = star(relay, nodes, mask)
    torch.testing.assert_close(encoder(embeddings, mask), (nodes.amax(1) + relay) / 2)


def test_reads_beyond_its_window_through_the_relay(config, texts):
    encoder = build_encoder(config("star_paper", "softmax", 6)).double()
    embeddings, mask, _ = texts([30])
    embeddings.requires_grad_()
    encoder(embeddings, mask).sum().backward()
    assert (embeddings.grad.abs().sum(2) > 0).all()


@pytest.mark.parametrize("length", [1, 2, 1023, 1024, 1025, 2500])
def test_lengths_around_the_tile(config, texts, length):
    encoder = build_encoder(config("star_reference", "adaptive", 6)).double()
    inputs = texts([length, 3])
    with torch.no_grad():
        tiled = encoder(*inputs)
    torch.testing.assert_close(tiled, encoder(*inputs), rtol=0, atol=1e-12)


def test_dropout_only_in_training(config, texts):
    encoder = build_encoder(
        {**config("star_paper", "adaptive", 6), "dropout": 0.5}
    ).double()
    inputs = texts([9, 4])
    assert not torch.equal(encoder(*inputs), encoder(*inputs))
    encoder.eval()
    assert torch.equal(encoder(*inputs), encoder(*inputs))


@pytest.mark.slow
def test_compiles_whole_and_agrees(config, texts):
    encoder = build_encoder(config("star_reference", "adaptive", 6)).float()
    compiled = torch.compile(encoder, fullgraph=True, dynamic=True)
    for lengths in ([9, 1, 0, 4], [30, 7]):
        embeddings, mask, _ = texts(lengths, dtype=torch.float32)
        with torch.no_grad():
            torch.testing.assert_close(
                compiled(embeddings, mask), encoder(embeddings, mask), rtol=0, atol=2e-6
            )
        grads = [
            torch.autograd.grad(
                run(embeddings, mask).square().sum(), list(encoder.parameters())
            )
            for run in (compiled, encoder)
        ]
        for one, other in zip(*grads, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


def test_without_output_projection_the_heads_are_the_state(config, texts):
    """Eq. 3 as printed: the relay's update is its heads side by side, and no weight maps them."""
    options = {
        **config("star", "softmax", 6),
        "heads": 3,
        "head_dim": 2,
        "residual": "none",
    }
    encoder = build_encoder({**options, "output_projection": False}).double()
    assert not [name for name, _ in encoder.named_parameters() if "output" in name]
    embeddings, mask, _ = texts([4])
    star = encoder.stars[0]
    nodes = embeddings.double()
    relay = embeddings.double().mean(1)
    heads = []
    for head in range(3):
        rows = slice(2 * head, 2 * head + 2)
        query = star.query.weight[rows] @ relay[0] + star.query.bias[rows]
        keys, values = (
            nodes[0] @ linear.weight[rows].T for linear in (star.key, star.value)
        )
        heads.append((keys @ query * star.scale).softmax(0) @ values)
    torch.testing.assert_close(
        star(relay, nodes, mask)[0], torch.cat(heads), rtol=0, atol=1e-12
    )
    with pytest.raises(ValueError, match="heads \\* head_dim = 300 for states of 6"):
        build_encoder(
            {**options, "heads": 10, "head_dim": 30, "output_projection": False}
        )
