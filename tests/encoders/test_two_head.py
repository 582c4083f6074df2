"""The factors of the two-headed encoder: what they start as, when they are exactly zero, and the
contract of every encoder for them too."""

import pytest
import torch

from siamese_news.encoders import BagEncoder, StarEncoder, TwoHeadEncoder, build_encoder
from siamese_news.errors import InputError

KINDS = ("softmax", "entmax15", "sparsemax", "adaptive")
NAMES = ("two_head", "two_head_mean", "two_head_bag")
cells = pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name in NAMES for kind in KINDS]
)


@pytest.fixture
def fresh(config):
    def build(name, kind, **changes):
        torch.manual_seed(5)
        return build_encoder({**config(name, kind, 6), **changes}).double()

    return build


@pytest.fixture
def encoder(name, kind, fresh):
    """As if trained: nothing is zero."""
    built = fresh(name, kind)
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.normal_(std=0.5)
    return built


@cells
def test_every_factor_starts_at_exactly_one(name, kind, fresh, texts):
    embeddings, mask, weights = texts([7, 1, 0, 4], extra=2, garbage=9.0)
    factors = fresh(name, kind).heads(embeddings, mask, weights)[1]
    assert torch.equal(factors, mask.double())


@pytest.mark.parametrize("name", NAMES)
def test_the_dense_head_starts_as_the_weighted_mean(name, fresh, texts):
    inputs = texts([7, 1, 0, 4])
    bag = BagEncoder(input_dim=6, weighting="idf", output_dim=None)
    star = fresh("two_head", "adaptive").context
    for output_dim in (None, 6):
        found = fresh(name, "adaptive", output_dim=output_dim)(*inputs)
        torch.testing.assert_close(found, bag(*inputs))
        torch.testing.assert_close(found, star(*inputs))


@cells
def test_the_heads_are_those_of_forward(encoder, texts):
    inputs = texts([7, 1, 0, 4])
    vectors, factors = encoder.heads(*inputs)
    assert torch.equal(vectors, encoder(*inputs))
    assert torch.equal(factors, encoder.heads(*inputs)[1])
    assert factors.shape == inputs[1].shape
    assert (factors >= 0).all()


@cells
def test_padding_changes_no_factor(encoder, texts):
    short = encoder.heads(*texts([7, 1, 0, 4]))[1]
    padded = encoder.heads(*texts([7, 1, 0, 4], extra=5, garbage=3.0))[1]
    torch.testing.assert_close(padded[:, :7], short, rtol=0, atol=1e-12)
    assert (padded[:, 7:] == 0).all()


@cells
def test_other_texts_change_no_factor(encoder, texts):
    embeddings, mask, weights = texts([7, 1, 0, 4])
    together = encoder.heads(embeddings, mask, weights)[1]
    for row, length in enumerate([7, 1, 0, 4]):
        cut = slice(0, max(length, 1))
        alone = encoder.heads(
            embeddings[row : row + 1, cut],
            mask[row : row + 1, cut],
            weights[row : row + 1, cut],
        )[1]
        torch.testing.assert_close(together[row, cut], alone[0], rtol=1e-11, atol=1e-12)


@pytest.mark.sampled(2)
@cells
def test_gradcheck_of_the_factors(name, kind, fresh, texts):
    encoder = fresh(name, kind)
    with torch.no_grad():  # small scores: away from the kink at zero
        for parameter in encoder.parameters():
            parameter.uniform_(-0.2, 0.2)
    embeddings, mask, weights = texts([4, 1, 0])
    names, values = zip(
        *(
            item
            for item in encoder.named_parameters()
            if not item[0].startswith("context")
        ),
        strict=True,
    )
    assert (encoder.heads(embeddings, mask, weights)[1][mask] > 0.05).all()

    def factors(real, *parameters):
        inputs = embeddings.index_put((mask,), real), mask, weights
        return torch.func.functional_call(
            encoder, dict(zip(names, parameters, strict=True)), inputs, {}
        )[1]

    encoder.forward = encoder.heads
    torch.autograd.gradcheck(factors, (embeddings[mask].requires_grad_(), *values))


@pytest.mark.parametrize(("kind", "alpha"), [("entmax15", 1.5), ("sparsemax", 2.0)])
def test_a_bag_drops_words_exactly_where_the_formula_says(kind, alpha, fresh, texts):
    encoder = fresh("two_head_bag", kind)
    with torch.no_grad():
        encoder.query.copy_(torch.tensor([2.0 * 6**0.5, 0, 0, 0, 0, 0]))
    embeddings, mask, weights = texts([40, 9])
    factors = encoder.heads(embeddings, mask, weights)[1]
    scores = 2 * embeddings[:, :, 0]
    dropped = (scores <= -1 / (alpha - 1)) & mask
    assert dropped.any()
    assert (factors[dropped] == 0).all()
    assert (factors[mask & ~dropped] > 0).all()
    kept = (1 + (alpha - 1) * scores[mask & ~dropped]) ** (1 / (alpha - 1))
    torch.testing.assert_close(factors[mask & ~dropped], kept)


def test_softmax_is_the_exponential_and_drops_nothing(fresh, texts):
    encoder = fresh("two_head_bag", "softmax")
    with torch.no_grad():
        encoder.query.normal_()
    embeddings, mask, weights = texts([40])
    factors = encoder.heads(embeddings, mask, weights)[1]
    torch.testing.assert_close(factors, (embeddings @ encoder.query / 6**0.5).exp())


def test_a_dropped_word_comes_to_no_nan_in_the_gradient(fresh, texts):
    encoder = fresh("two_head_bag", "adaptive")
    with torch.no_grad():
        encoder.query.fill_(-50.0)
    embeddings, mask, weights = texts([9])
    factors = encoder.heads(embeddings.abs(), mask, weights)[1]
    assert (factors == 0).all()
    factors.sum().backward()
    for parameter in (encoder.query, encoder.sparsity.pre_alpha):
        assert parameter.grad.isfinite().all()


def test_a_factor_reads_the_other_words_unless_it_is_by_word(config, texts):
    embeddings, mask, weights = texts([7])
    changed = embeddings.clone()
    changed[0, 3] += 1
    for name in NAMES:
        torch.manual_seed(0)
        encoder = build_encoder(config(name, "softmax", 6)).double()
        with torch.no_grad():
            for parameter in encoder.parameters():
                parameter.normal_(std=0.5)
        before, after = (
            encoder.heads(some, mask, weights)[1][0] for some in (embeddings, changed)
        )
        others = torch.arange(7) != 3
        assert torch.equal(before[others], after[others]) == encoder.by_word
        assert encoder.by_word == (name == "two_head_bag")
        assert before[3] != after[3]


def test_the_context_is_built_from_plain_values(config):
    encoder = build_encoder(config("two_head", "sparsemax", 6))
    assert isinstance(encoder, TwoHeadEncoder)
    assert isinstance(encoder.context, StarEncoder)
    assert encoder.context.rings[0].heads == 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"class": "Ring"}, "StarEncoder"),
        ({"cycles": 0}, "cycles=0"),
        ({"wings": 1}, "wings"),
    ],
)
def test_a_wrong_context_says_what_is_right(config, change, words):
    options = config("two_head", "softmax", 6)
    with pytest.raises(InputError, match=words):
        build_encoder({**options, "context": {**options["context"], **change}})
    with pytest.raises(InputError, match="StarEncoder"):
        bag = {"class": "BagEncoder", "weighting": "idf", "output_dim": None}
        build_encoder({**options, "context": bag})
