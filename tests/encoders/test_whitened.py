"""The whitened encoder against its equation, and against what it is for."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_news.attention.word_projections import Words
from siamese_news.encoders import BagEncoder, WhitenedEncoder, build_encoder
from siamese_news.errors import InputError


def cone(count=2000, size=6, seed=0):
    """Vectors with a long mean and variances from 1 to 1/100."""
    draws = np.random.default_rng(seed).normal(size=(count, size))
    return 2.0 + draws * np.geomspace(1.0, 0.1, size)


@pytest.mark.parametrize("power", [0.0, 0.25, 0.5])
def test_it_computes_its_equation(texts, power):
    vectors = cone()
    encoder = WhitenedEncoder.fitted(BagEncoder(input_dim=6), vectors, power).double()
    embeddings, mask, weights = texts([4, 1, 7], extra=2, garbage=9.0)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    mean = units.mean(0)
    covariance = sum(np.outer(unit - mean, unit - mean) for unit in units) / len(units)
    drawn = 6 / (6 + len(units))
    covariance = (1 - drawn) * covariance + drawn * np.eye(6) * np.trace(covariance) / 6
    variances, axes = np.linalg.eigh(covariance)
    for row, length in enumerate([4, 1, 7]):
        x = embeddings[row, :length].mean(0).numpy()
        wanted = axes @ np.diag(variances**-power) @ axes.T
        wanted = wanted @ (x / np.linalg.norm(x) - mean)
        got = encoder(embeddings, mask, weights)[row].numpy()
        # Only the direction counts: the matrix has norm 1.
        cosine = got @ wanted / np.linalg.norm(got) / np.linalg.norm(wanted)
        assert cosine == pytest.approx(1, abs=1e-9)


@settings(max_examples=8)
@given(
    seed=st.integers(0, 100), size=st.integers(2, 8), power=st.sampled_from([0.3, 0.5])
)
def test_the_texts_it_is_fitted_on_become_centered_and_rounder(seed, size, power):
    vectors = cone(3000, size, seed)
    encoder = WhitenedEncoder.fitted(BagEncoder(input_dim=size), vectors, power)
    one_word_each = torch.from_numpy(vectors[:, None]).float()
    mapped = encoder(one_word_each, torch.ones(len(vectors), 1, dtype=torch.bool))
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    # Unit vectors of D dimensions around their mean: the least axis holds next to nothing.
    before = np.linalg.eigvalsh(np.cov(units, rowvar=False))
    after = np.linalg.eigvalsh(np.cov(mapped.numpy(), rowvar=False))
    assert np.abs(mapped.numpy().mean(0)).max() < 1e-5
    assert after[0] / after[-1] > 1.5 * before[0] / before[-1]


@pytest.mark.parametrize("name", ["star", "cnn", "bigru", "transformer", "bag"])
def test_it_holds_any_encoder_of_one_head(config, texts, name):
    inner = build_encoder(config(name, "adaptive", 6)).double().eval()
    embeddings, mask, weights = texts([7, 1, 0, 4])
    encoder = WhitenedEncoder.fitted(inner, cone(size=inner.output_dim), 0.3).double()
    vectors = encoder(embeddings, mask, weights)
    assert vectors.shape == (4, inner.output_dim)
    assert (vectors[2] == 0).all()  # a text without a token
    flat = embeddings.reshape(-1, 6)
    rows = torch.arange(len(flat)).view(mask.shape)
    looked_up = encoder.encode_words(Words(flat), rows, mask, weights)
    torch.testing.assert_close(looked_up, vectors)


def test_a_model_folder_has_it_as_plain_values(config, texts):
    plain = config("star", "adaptive", 6)
    del plain["input_dim"]
    built = build_encoder(
        {"class": "WhitenedEncoder", "input_dim": 6, "encoder": plain}
    ).double()
    fitted = WhitenedEncoder.fitted(built.encoder, cone(), 0.3).double()
    built.load_state_dict(fitted.state_dict())
    inputs = texts([7, 1, 0, 4])
    torch.testing.assert_close(built(*inputs), fitted(*inputs))
    names = {name for name, _ in fitted.named_buffers()}
    assert {"mean", "matrix"} <= names
    assert not {"mean", "matrix"} & {name for name, _ in fitted.named_parameters()}


@pytest.mark.parametrize("towards", [None, torch.linspace(-1, 2, 12).view(2, 6)])
def test_words_explain_a_vector_but_for_the_mean(texts, towards):
    """Of a linear encoder: the parts and that of the mean are the whole product."""
    encoder = WhitenedEncoder.fitted(BagEncoder(input_dim=6), cone(), 0.3).double()
    embeddings, mask, _ = texts([5, 3])
    explanation = encoder.explain(embeddings, mask, towards=towards)
    vectors = encoder(embeddings, mask)
    torch.testing.assert_close(explanation.vectors, vectors)
    if towards is None:
        towards = vectors / vectors.square().sum(1, keepdim=True)
    of_the_mean = -(encoder.mean @ encoder.matrix * towards).sum(1)
    torch.testing.assert_close(
        explanation.contributions.sum(1) + of_the_mean, (vectors * towards).sum(1)
    )
    assert (explanation.contributions[~mask] == 0).all()


def test_attention_and_alphas_are_those_of_its_encoder(config, texts):
    star = build_encoder(config("star", "adaptive", 6)).double()
    encoder = WhitenedEncoder.fitted(star, cone(), 0.3).double()
    inputs = texts([5, 3])
    explanation, plain = encoder.explain(*inputs), star.explain(*inputs)
    assert explanation.attention.keys() == plain.attention.keys()
    for name, weights in plain.attention.items():
        torch.testing.assert_close(explanation.attention[name], weights)


def test_few_texts_still_give_a_defined_matrix():
    fitted = WhitenedEncoder.fitted(BagEncoder(input_dim=40), cone(3, 40), 0.5)
    assert fitted.matrix.isfinite().all()
    assert np.linalg.norm(fitted.matrix.numpy(), 2) == pytest.approx(1, abs=1e-5)


def test_texts_without_a_known_word_do_not_count():
    vectors = cone(50)
    padded = np.concatenate([np.zeros((7, 6)), vectors])
    bag = BagEncoder(input_dim=6)
    with_zeros = WhitenedEncoder.fitted(bag, padded, 0.3)
    torch.testing.assert_close(
        with_zeros.mean, WhitenedEncoder.fitted(bag, vectors, 0.3).mean
    )


def test_a_double_encoder_stays_double(config, texts):
    star = build_encoder(config("star", "softmax", 6)).double()
    vectors = WhitenedEncoder.fitted(star, cone(), 0.3)(*texts([5, 3]))
    assert vectors.dtype == torch.float64


def test_one_dimension_is_centered():
    encoder = WhitenedEncoder.fitted(BagEncoder(input_dim=1), cone(9, 1) - 2, 0.3)
    assert encoder.matrix.shape == (1, 1)


@pytest.mark.parametrize("power", [-0.1, 0.6, float("nan")])
def test_another_power_is_refused(power):
    with pytest.raises(ValueError, match="from 0 to 0.5"):
        WhitenedEncoder.fitted(BagEncoder(input_dim=6), cone(), power)


@pytest.mark.parametrize(
    "vectors", [np.zeros((5, 6)), np.ones((5, 6)), np.ones((1, 6)), np.zeros((0, 6))]
)
def test_vectors_that_do_not_differ_are_refused(vectors):
    with pytest.raises(ValueError, match="do not differ"):
        WhitenedEncoder.fitted(BagEncoder(input_dim=6), vectors, 0.3)


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        (np.full((5, 6), np.nan), "NaN or infinity"),
        (np.ones((5, 7)), r"shape \(5, 7\); expected \(N, 6\)"),
        (np.ones(6), r"shape \(6,\)"),
    ],
)
def test_what_are_no_vectors_is_named(vectors, words):
    with pytest.raises(ValueError, match=words):
        WhitenedEncoder.fitted(BagEncoder(input_dim=6), vectors, 0.3)


@pytest.mark.parametrize("inner", ["two_head", "WhitenedEncoder"])
def test_two_heads_and_a_second_whitening_are_refused(inner):
    plain = {"class": inner} if inner[0] == "W" else {"class": "TwoHeadEncoder"}
    with pytest.raises(InputError, match="one head that is not whitened"):
        build_encoder({"class": "WhitenedEncoder", "input_dim": 6, "encoder": plain})
